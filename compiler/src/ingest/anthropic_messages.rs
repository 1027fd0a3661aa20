//! Anthropic Messages: requests, responses, logs of them, and conversations, with client tools and with the MCP connector's blocks.
//!
//! Client tools have their server in their name (`mcp__server__tool`), the connector's blocks have it in `server_name`. A result is an error
//! where `is_error` says so; a refusal in the client's own words is no error, but a call that did not happen.

use super::names::Name;
use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::{Asked, Recorder};
use super::results;
use super::runs::{self, Run};
use super::{Format, Sample, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Outcome, Trace};
use ltc_workflow::Value;
use ltc_workflow::document::Transport;
use ltc_workflow::outcome::text_of;
use std::collections::BTreeMap;

pub(super) const ANTHROPIC_MESSAGES: Format = Format {
    name: "anthropic-messages",
    summary: "Anthropic Messages requests and responses, with client tools or the MCP connector, and logs of them",
    detect,
    read,
};

fn detect(sample: &Sample) -> bool {
    runs::have_message(sample, |m| m.get("content").iter().flat_map(Node::items).any(|b| is_tool_block(&b)))
}

fn is_tool_block(block: &Node<'_>) -> bool {
    matches!(block.str("type"), Some("tool_use" | "tool_result" | "mcp_tool_use" | "mcp_tool_result" | "server_tool_use"))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let runs = runs::of(sample).map_err(|error| vec![error])?;
    runs.iter().map(|run| read_run(run, notes)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

fn read_run(run: &Run<'_>, notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut recorder = Recorder::default();
    for server in run.holder.list("mcp_servers")? {
        let Some(name) = server.text("name")? else { continue };
        if let Some(url) = server.text("url")? {
            // The token that may stand beside the URL is a secret, and stays out of the trace.
            recorder.transport(&name, Transport::Http { url: url.to_string(), headers: BTreeMap::new(), sse: false });
        }
        recorder.knows(&name);
    }
    recorder.tools(run.holder.get("tools").iter().flat_map(Node::items));
    for message in &run.messages {
        match message.str("role") {
            Some("user") => {
                if let Some(content) = message.raw("content") {
                    words::keep(&mut recorder, content);
                }
                blocks(&mut recorder, message, None)?;
            }
            Some("assistant") => blocks(&mut recorder, message, None)?,
            _ => {}
        }
    }
    Ok(recorder.finish(notes))
}

/// The calls and results among the blocks of a message. All calls of one message are one turn, except that the connector runs its calls
/// before the message goes on: those that follow a result are another turn.
pub(super) fn blocks(recorder: &mut Recorder, message: &Node<'_>, at: Option<i128>) -> Result<(), Diagnostic> {
    let mut turn = None;
    for block in message.get("content").iter().flat_map(Node::items) {
        match block.str("type") {
            Some("tool_use" | "server_tool_use") => {
                let turn = *turn.get_or_insert_with(|| recorder.next_turn());
                let (id, name) = (block.text("id")?, block.need_text("name")?);
                let name = recorder.split(&name);
                recorder.ask(Asked { id, started_at: at, turn: Some(turn) }, &name, block.raw("input"), &block.place());
            }
            Some("mcp_tool_use") => {
                let turn = *turn.get_or_insert_with(|| recorder.next_turn());
                let (id, name) = (block.text("id")?, block.need_text("name")?);
                let name = match block.text("server_name")? {
                    Some(server) => Name::of(&server, &name),
                    None => recorder.split(&name),
                };
                recorder.ask(Asked { id, started_at: at, turn: Some(turn) }, &name, block.raw("input"), &block.place());
            }
            Some(kind) if block.get("tool_use_id").is_some() && kind.ends_with("tool_result") => {
                turn = None;
                result(recorder, &block, None, at)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A result block. `structured` is what stands beside it, where a format has that.
pub(super) fn result(recorder: &mut Recorder, block: &Node<'_>, structured: Option<&Value>, at: Option<i128>) -> Result<(), Diagnostic> {
    let id = block.need_text("tool_use_id")?;
    let mut answer = results::peel(block.raw("content").unwrap_or(&Value::Null));
    if answer.cut {
        recorder.notes.push(problems::cut_result(block.place()));
    }
    answer.body.structured = structured.cloned().or(answer.body.structured);
    let is_error = block.bool("is_error") == Some(true);
    let refused = is_error && words::is_refusal(&text_of(&answer.body.content));
    let outcome = if refused { Outcome::Refused } else { answer.outcome(is_error) };
    recorder.result(&id, outcome, at, block.place());
    Ok(())
}
