//! What a person gives beside a recording, the servers (`.mcp.json`) and their hints, → into the trace.

use super::names::{Name, split_by_known};
use super::node::Node;
use super::problems;
use super::recorder::settle;
use super::server::server_of;
use crate::diagnostics::{Diagnostic, call_place};
use crate::hints::Hints;
use crate::trace::{Call, DEFAULT_SERVER, Server, Tool, Trace};
use ltc_workflow::Value;
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet};

/// Fills in how the servers of `trace` are reached, and their tools and hints where the file has them, from a `.mcp.json`
/// (`{"mcpServers": {…}}`, VS Code's `{"servers": {…}}`, or the bare map). Calls whose names could be split in several ways
/// (`mcp_server_tool`, `server-tool`) are split anew against the servers of the file. Servers that no call is for are left out.
///
/// Returns what was wrong with the file, and what was renamed.
pub fn apply_servers(trace: &mut Trace, mcp_json: &Value) -> Vec<Diagnostic> {
    let root = Node::root(mcp_json, None);
    let map = root.get("mcpServers").or_else(|| root.get("servers")).unwrap_or(root);
    if map.value.as_object().is_none() {
        return vec![map.wrong("an object of servers")];
    }
    let mut diagnostics = Vec::new();
    let mut given: BTreeMap<SmolStr, Server> = BTreeMap::new();
    for (name, node) in map.entries() {
        let (server, mut errors) = server_of(name, &node, None);
        diagnostics.append(&mut errors);
        given.insert(name.clone(), server);
    }
    rename(trace, &given, &mut diagnostics);
    settle(trace);
    for server in &mut trace.servers {
        if let Some(given) = given.remove(&server.name) {
            fill(server, given);
        }
    }
    diagnostics
}

/// The file knows better how a server is reached; of its tools it only knows what it says.
fn fill(server: &mut Server, given: Server) {
    server.transport = given.transport.or(server.transport.take());
    if !given.tools.is_empty() {
        server.tools = given.tools;
    }
    for tag in given.tags {
        if !server.tags.contains(&tag) {
            server.tags.push(tag);
        }
    }
    if given.hints != Hints::default() {
        server.hints = given.hints;
    }
}

fn rename(trace: &mut Trace, given: &BTreeMap<SmolStr, Server>, diagnostics: &mut Vec<Diagnostic>) {
    let known: BTreeSet<SmolStr> = given.keys().cloned().collect();
    let mut names: BTreeMap<(SmolStr, SmolStr), Option<Name>> = BTreeMap::new();
    for call in &mut trace.calls {
        let key = (call.server.clone(), call.tool.clone());
        let new = names.entry(key).or_insert_with(|| new_name(call, given, &known));
        if let Some(name) = new {
            diagnostics.push(problems::split_by_servers(call_place(&call.id, &call.server, &call.tool), &name.server, &name.tool));
            (call.server, call.tool) = (name.server.clone(), name.tool.clone());
        }
    }
    rename_tools(&mut trace.servers, &names);
    let nobody = trace.calls.iter().all(|c| c.server == DEFAULT_SERVER);
    if let ([(only, _)], true) = (given.iter().collect::<Vec<_>>().as_slice(), nobody) {
        trace.calls.iter_mut().for_each(|call| call.server = (*only).clone());
        trace.servers.iter_mut().filter(|s| s.name == DEFAULT_SERVER).for_each(|server| server.name = (*only).clone());
        diagnostics.push(problems::only_server(only));
    }
}

/// What a call of a server that the file does not know is called by the servers that it knows: by how its name begins, or because only
/// one of them says that it has this tool.
fn new_name(call: &Call, given: &BTreeMap<SmolStr, Server>, known: &BTreeSet<SmolStr>) -> Option<Name> {
    if known.contains(&call.server) {
        return None;
    }
    let (server, tool) = (&call.server, &call.tool);
    let names = match server.as_str() {
        DEFAULT_SERVER => vec![tool.clone()],
        _ => vec![format_smolstr!("{server}__{tool}"), format_smolstr!("{server}_{tool}"), format_smolstr!("{server}-{tool}")],
    };
    let mut having = given.iter().filter(|(_, server)| server.tools.iter().any(|t| t.name == *tool));
    let by_tool = match (server.as_str(), having.next(), having.next()) {
        (DEFAULT_SERVER, Some((name, _)), None) => Some(Name::of(name, tool)),
        _ => None,
    };
    // A name that was split too early gets a longer server, never a shorter one: `issues-server` is not a tool of `issues`.
    let reaches = |name: &Name| *server == DEFAULT_SERVER || name.server.len() >= server.len();
    names.iter().find_map(|name| split_by_known(name, known).filter(reaches)).or(by_tool)
}

/// The descriptions of tools follow the calls.
fn rename_tools(servers: &mut Vec<Server>, names: &BTreeMap<(SmolStr, SmolStr), Option<Name>>) {
    let mut moved: BTreeMap<SmolStr, Vec<Tool>> = BTreeMap::new();
    for server in servers.iter_mut() {
        let tools = std::mem::take(&mut server.tools);
        for tool in tools {
            match names.get(&(server.name.clone(), tool.name.clone())) {
                Some(Some(name)) => moved.entry(name.server.clone()).or_default().push(Tool { name: name.tool.clone(), ..tool }),
                _ => server.tools.push(tool),
            }
        }
    }
    let left: BTreeSet<&SmolStr> = names.iter().filter(|(_, new)| new.is_some()).map(|((server, _), _)| server).collect();
    let stays: BTreeSet<&SmolStr> = names.iter().filter(|(_, new)| new.is_none()).map(|((server, _), _)| server).collect();
    servers.retain(|s| !s.tools.is_empty() || s.transport.is_some() || !left.contains(&s.name) || stays.contains(&s.name));
    for (name, tools) in moved {
        match servers.iter_mut().find(|s| s.name == name) {
            Some(server) => server.tools.extend(tools),
            None => servers.push(Server { name, tools, ..Server::default() }),
        }
    }
}

/// Gives the servers of `trace` their hints, in place of those that the recording had. Returns a warning for each server that the trace
/// does not have.
pub fn apply_hints(trace: &mut Trace, hints: BTreeMap<SmolStr, Hints>) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for (name, hints) in hints {
        match trace.servers.iter_mut().find(|s| s.name == name) {
            Some(server) => server.hints = hints,
            None => {
                let known = trace.servers.iter().map(|s| s.name.as_str());
                diagnostics.push(problems::unknown_server(&name, known));
            }
        }
    }
    diagnostics
}
