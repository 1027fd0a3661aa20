//! An entry of `.mcp.json`, and of the servers of a trace, which have the same shape.

use super::node::Node;
use super::problems::{self, Notes};
use super::tools;
use crate::diagnostics::Diagnostic;
use crate::hints;
use crate::trace::Server;
use ltc_workflow::Value;
use ltc_workflow::document::Transport;
use smol_str::SmolStr;
use std::collections::BTreeMap;

const KNOWN: [&str; 11] = ["type", "transport", "command", "args", "env", "cwd", "url", "headers", "tools", "tags", "compile_hints"];

/// Reads a server, and complains about everything that is wrong with it. Unknown fields are noted where there are `notes`.
pub(crate) fn server_of(name: &str, node: &Node<'_>, notes: Option<&mut Notes>) -> (Server, Vec<Diagnostic>) {
    let mut server = Server { name: name.into(), ..Server::default() };
    let mut errors = Vec::new();
    if node.value.is_null() {
        return (server, errors);
    }
    if node.value.as_object().is_none() {
        return (server, vec![node.wrong("a server, which is an object")]);
    }
    if let Some(notes) = notes {
        for (key, node) in node.entries().into_iter().filter(|(key, _)| !KNOWN.contains(&key.as_str())) {
            let _ = key;
            notes.push(problems::unknown_field(node.place()));
        }
    }
    match transport(node) {
        Ok(transport) => server.transport = transport,
        Err(error) => errors.push(error),
    }
    match node.list("tools") {
        Err(error) => errors.push(error),
        Ok(list) => {
            for node in list {
                match tools::read(&node) {
                    Some(tool) => server.tools.push(tool),
                    None => errors.push(node.missing("name")),
                }
            }
        }
    }
    match texts(node, "tags") {
        Ok(tags) => server.tags = tags.iter().map(SmolStr::new).collect(),
        Err(error) => errors.push(error),
    }
    if let Some(node) = node.get("compile_hints") {
        match hints::read(node.value, &node.place()) {
            Ok(hints) => server.hints = hints,
            Err(mut wrong) => errors.append(&mut wrong),
        }
    }
    (server, errors)
}

/// How a server is reached: by `command`, or by `url`; nothing where it says neither.
fn transport(node: &Node<'_>) -> Result<Option<Transport>, Diagnostic> {
    if let Some(command) = node.text("command")? {
        let cwd = node.text("cwd")?.map(|t| t.to_string());
        let (args, env) = (texts(node, "args")?, map(node, "env")?);
        return Ok(Some(Transport::Stdio { command: command.to_string(), args, env, cwd }));
    }
    let Some(url) = node.text("url")? else {
        return Ok(None);
    };
    let kind = node.text("type")?.or(node.text("transport")?);
    Ok(Some(Transport::Http { url: url.to_string(), headers: map(node, "headers")?, sse: kind.as_deref() == Some("sse") }))
}

fn texts(node: &Node<'_>, key: &str) -> Result<Vec<String>, Diagnostic> {
    node.list(key)?.iter().map(|item| item.value.as_str().map(str::to_owned).ok_or_else(|| item.wrong("a string"))).collect()
}

/// Names and values; a number or a boolean counts as its text, as it does in the environment.
fn map(node: &Node<'_>, key: &str) -> Result<BTreeMap<String, String>, Diagnostic> {
    let Some(node) = node.get(key) else {
        return Ok(BTreeMap::new());
    };
    if node.value.as_object().is_none() {
        return Err(node.wrong("an object of strings"));
    }
    let text = |node: &Node<'_>| match node.value {
        Value::String(text) => Ok(text.to_string()),
        Value::Number(number) => Ok(number.as_str().to_owned()),
        Value::Bool(b) => Ok(b.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(node.wrong("a string")),
    };
    node.entries().iter().map(|(key, node)| Ok((key.to_string(), text(node)?))).collect()
}
