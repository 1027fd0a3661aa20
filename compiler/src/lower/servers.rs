//! The servers that a workflow calls: how they are reached, and what their tools looked like. A secret in a configuration is replaced by
//! the name of a variable.

use crate::diagnostics::{Diagnostic, Severity};
use crate::identifiers::server_name;
use crate::names::words_as_they_are;
use crate::plan::Plan;
use crate::script::{self, Script};
use crate::secrecy::{has_secret_shape, looks_secret};
use crate::tree::{NodeId, NodeKind};
use ltc_workflow::document::{Server, Transport};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The servers of all calls that are alive, by name.
pub fn servers(plan: &Plan, scripts: &[Script], alive: &BTreeSet<NodeId>, diagnostics: &mut Vec<Diagnostic>) -> Vec<(SmolStr, Server)> {
    let mut used: BTreeMap<SmolStr, (SmolStr, BTreeSet<SmolStr>)> = BTreeMap::new();
    for node in alive {
        if let Some(NodeKind::Call { server, tool, .. }) = plan.tree.node(*node).map(|n| &n.kind) {
            used.entry(server_name(server)).or_insert((server.clone(), BTreeSet::new())).1.insert(tool.clone());
        }
    }
    let mut found = Vec::new();
    for (name, (recorded, tools)) in used {
        let known = scripts.iter().find_map(|s| s.servers.iter().find(|s| s.name == recorded));
        let transport = known.and_then(|s| s.transport.clone()).map(|t| without_secrets(&name, t, diagnostics));
        let mut server = Server { transport, ..Server::default() };
        for tool in tools {
            if let Some(known) = known.and_then(|s| script::tool(s, &tool)) {
                server.tools.insert(
                    tool.clone(),
                    ltc_workflow::digest::of_tool(&known.name, known.input_schema.as_ref(), known.output_schema.as_ref()),
                );
            }
            if let (effect, true) = script::effect(known, &tool) {
                server.effects.insert(tool, effect);
            }
        }
        found.push((name, server));
    }
    found
}

fn without_secrets(server: &SmolStr, transport: Transport, diagnostics: &mut Vec<Diagnostic>) -> Transport {
    let mut replace = |key: &str, value: String| -> String {
        if value.contains("${")
            || !(looks_secret(key) || words_as_they_are(key).last().is_some_and(|w| w == "token" || w == "key") || has_secret_shape(&value))
        {
            return value;
        }
        let variable: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
        let variable = if variable.starts_with(|c: char| c.is_ascii_alphabetic()) { variable } else { format!("VAR_{variable}") };
        diagnostics.push(secret_in_configuration(server, key, &variable));
        format!("${{{variable}}}")
    };
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let env = env.into_iter().map(|(key, value)| (key.clone(), replace(&key, value))).collect();
            let args = args.into_iter().map(|arg| if has_secret_shape(&arg) { replace("TOKEN", arg) } else { arg }).collect();
            Transport::Stdio { command, args, env, cwd }
        }
        Transport::Http { url, headers, sse } => {
            let headers = headers.into_iter().map(|(key, value)| (key.clone(), replace(&key, value))).collect();
            Transport::Http { url, headers, sse }
        }
    }
}

fn secret_in_configuration(server: &str, key: &str, variable: &str) -> Diagnostic {
    Diagnostic::new(
        Severity::Warning,
        "secret-in-configuration",
        format!("server {server}"),
        format!("the value of {key} is a secret; the workflow reads `${{{variable}}}` instead"),
    )
    .help(format!("set {variable} in the environment in which the workflow runs"))
}
