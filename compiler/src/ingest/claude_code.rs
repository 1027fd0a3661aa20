//! Claude Code: session transcripts, transcripts of subagents, and what `claude -p --output-format stream-json` prints (lines or one list).
//!
//! - One message of the model stands on several lines, one block each, with one `message.id`: those calls are one turn.
//! - The prompt is what the user typed: lines that are `isMeta`, summaries, echoes of commands and reminders are not. In the transcript of a
//!   subagent it is the task that it was given.
//! - What a subagent did is part of the run: its lines in the transcript, or its messages in the `progress` lines of its parent.
//! - `mcpMeta.structuredContent` is the structured content of the result beside it.
//! - A result with `is_error` that says in the client's own words that the user did not want the call is a refusal. `<tool_use_error>` is the
//!   client's wrapper around its own errors; its inside is the message.

use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::{Asked, Recorder};
use super::results;
use super::{Format, Sample, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Body, Outcome, Trace, instant};
use ltc_workflow::Value;
use ltc_workflow::outcome::text_of;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CLAUDE_CODE: Format = Format {
    name: "claude-code",
    summary: "Claude Code session transcripts, those of subagents, and `claude -p --output-format stream-json`",
    detect,
    read,
};

fn detect(sample: &Sample) -> bool {
    let is_line = |record: &&&Value| {
        let kind = record.get("type").and_then(Value::as_str);
        let has_message = matches!(kind, Some("user" | "assistant")) && record.get("message").is_some_and(|m| m.get("role").is_some());
        let is_init = kind == Some("system") && record.get("subtype").is_some() && record.get("session_id").is_some();
        is_init || (has_message && ["uuid", "sessionId", "session_id", "parentUuid"].iter().any(|key| record.get(key).is_some()))
    };
    sample.head().iter().any(|record| is_line(&record))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let records = sample.records();
    let mut reader = Reader { is_subagent: is_subagent(&records), ..Reader::default() };
    for record in &records {
        reader.line(record).map_err(|error| vec![error])?;
    }
    Ok(vec![reader.recorder.finish(notes)])
}

/// Whether the whole file is the transcript of a subagent.
fn is_subagent(records: &[Node<'_>]) -> bool {
    let mut messages = records.iter().filter(|r| r.get("message").is_some()).peekable();
    messages.peek().is_some() && messages.all(|r| r.bool("isSidechain") == Some(true))
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    is_subagent: bool,
    /// The turns of the messages that have calls.
    turns: BTreeMap<SmolStr, u32>,
    /// Blocks that were read: a subagent's stand in its own lines and in those of its parent.
    seen: BTreeSet<SmolStr>,
}

impl Reader {
    fn line(&mut self, line: &Node<'_>) -> Result<(), Diagnostic> {
        if self.recorder.id.is_none() {
            self.recorder.id = line.str("sessionId").or(line.str("session_id")).map(SmolStr::new);
        }
        match line.str("type") {
            Some("assistant") => self.assistant(line),
            Some("user") => self.user(line, false),
            Some("system") => {
                for server in line.get("mcp_servers").iter().flat_map(Node::items) {
                    self.recorder.knows(server.str("name").unwrap_or_default());
                }
                Ok(())
            }
            Some("progress") => self.progress(line),
            _ => Ok(()),
        }
    }

    /// A message of a subagent, in a line of its parent.
    fn progress(&mut self, line: &Node<'_>) -> Result<(), Diagnostic> {
        let data = line.get("data").filter(|d| d.str("type") == Some("agent_progress"));
        match data.and_then(|d| d.get("message")) {
            Some(message) if message.str("type") == Some("assistant") => self.assistant(&message),
            Some(message) if message.str("type") == Some("user") => self.user(&message, true),
            _ => Ok(()),
        }
    }

    fn assistant(&mut self, line: &Node<'_>) -> Result<(), Diagnostic> {
        let Some(message) = line.get("message") else {
            return Ok(());
        };
        let started_at = line.str("timestamp").and_then(instant::parse);
        let mut own_turn = None;
        for block in message.get("content").iter().flat_map(Node::items) {
            if !matches!(block.str("type"), Some("tool_use" | "server_tool_use" | "mcp_tool_use")) {
                continue;
            }
            let (id, name) = (block.text("id")?, block.need_text("name")?);
            if !id.as_ref().is_none_or(|id| self.is_new(line, "call", id)) {
                continue;
            }
            let turn = match message.str("id") {
                Some(id) => *self.turns.entry(id.into()).or_insert_with(|| self.recorder.next_turn()),
                None => *own_turn.get_or_insert_with(|| self.recorder.next_turn()),
            };
            let name = self.recorder.split(&name);
            self.recorder.ask(Asked { id, started_at, turn: Some(turn) }, &name, block.raw("input"), &block.place());
        }
        Ok(())
    }

    /// Whether a block comes for the first time: the same block of the same message does not count twice.
    fn is_new(&mut self, line: &Node<'_>, kind: &str, id: &str) -> bool {
        let message = line.get("message").and_then(|m| m.str("id").map(SmolStr::new)).unwrap_or_default();
        self.seen.insert(format!("{kind} {message} {id}").into())
    }

    fn user(&mut self, line: &Node<'_>, in_progress: bool) -> Result<(), Diagnostic> {
        let Some(message) = line.get("message") else {
            return Ok(());
        };
        let typed = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"].iter().all(|key| line.bool(key) != Some(true));
        let to_subagent = in_progress || line.bool("isSidechain") == Some(true) || line.get("parent_tool_use_id").is_some();
        if let Some(content) = message.raw("content").filter(|_| typed && (self.is_subagent || !to_subagent)) {
            words::keep(&mut self.recorder, content);
        }
        for block in
            message.get("content").iter().flat_map(Node::items).filter(|b| b.str("type").is_some_and(|t| t.ends_with("tool_result")))
        {
            self.result(line, &block)?;
        }
        Ok(())
    }

    fn result(&mut self, line: &Node<'_>, block: &Node<'_>) -> Result<(), Diagnostic> {
        let id = block.need_text("tool_use_id")?;
        if !self.seen.insert(format!("result {id} {}", line.str("uuid").unwrap_or_default()).into()) {
            return Ok(());
        }
        let mut answer = results::tool_result(block.raw("content").unwrap_or(&Value::Null));
        answer.body.structured = line.get("mcpMeta").and_then(|m| m.raw("structuredContent").cloned()).or(answer.body.structured);
        let text = text_of(&answer.body.content);
        let inner = text.trim().strip_prefix("<tool_use_error>").and_then(|t| t.strip_suffix("</tool_use_error>"));
        let is_error = block.bool("is_error") == Some(true) || inner.is_some();
        if text.starts_with("<persisted-output>") {
            self.recorder.notes.push(problems::cut_result(block.place()));
        }
        let outcome = match inner {
            _ if is_error && words::is_refusal(&text) => Outcome::Refused,
            Some(inner) => Outcome::ToolError(Body::text(inner)),
            None => answer.outcome(is_error),
        };
        let at = line.str("timestamp").and_then(instant::parse);
        self.recorder.result(&id, outcome, at, block.place());
        Ok(())
    }
}
