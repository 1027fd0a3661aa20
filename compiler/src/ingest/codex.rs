//! Codex: rollouts of the CLI (lines in envelopes, and the bare items of old ones), and what `codex exec --json` prints.
//!
//! The record without loss of an MCP call is the event `mcp_tool_call_end`; the `function_call` and its output with the same `call_id` are
//! the same call. Without the event, the output is the text of the structured content or of the list of blocks. The prompt is the event
//! `user_message`, else what is left of the user's messages without the context that the program puts in front.

use super::names::Name;
use super::node::Node;
use super::problems::Notes;
use super::recorder::{Asked, Recorder};
use super::results;
use super::{Format, Sample, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Body, Outcome, Trace, instant};
use ltc_workflow::outcome::text_of;
use ltc_workflow::{Number, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const CODEX: Format =
    Format { name: "codex", summary: "Codex CLI rollouts, old and new, and `codex exec --json`", detect, read };

fn detect(sample: &Sample) -> bool {
    let head = sample.head();
    let kind = |record: &Value| record.get("type").and_then(Value::as_str).map(str::to_owned);
    let in_envelope = |record: &&Value| {
        let known = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
        record.get("payload").is_some() && kind(record).is_some_and(|k| known.contains(&k.as_str()))
    };
    let is_exec = |record: &&Value| {
        kind(record).as_deref() == Some("thread.started")
            || (kind(record).is_some_and(|k| k.starts_with("item.")) && record.get("item").is_some())
    };
    let is_old = head
        .first()
        .is_some_and(|first| first.get("instructions").is_some() && first.get("timestamp").is_some() && first.get("id").is_some());
    is_old || head.iter().any(|r| in_envelope(r) || is_exec(r) || r.get("record_type").is_some())
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let records = sample.records();
    let has_events = records.iter().any(|r| r.get("payload").is_some_and(|p| p.str("type") == Some("user_message")));
    let ended = records.iter().filter_map(|r| r.get("payload")).filter(|p| p.str("type") == Some("mcp_tool_call_end"));
    let ended = ended.filter_map(|p| p.str("call_id").map(SmolStr::new)).collect();
    let mut reader = Reader { has_events, ended, ..Reader::default() };
    for record in &records {
        reader.line(record).map_err(|error| vec![error])?;
    }
    Ok(vec![reader.recorder.finish(notes)])
}

#[derive(Default)]
struct Reader {
    recorder: Recorder,
    has_events: bool,
    /// Calls whose event says how they ended.
    ended: BTreeSet<SmolStr>,
    /// Calls that were read, by `call_id`, and whether their event has told how they ended.
    calls: BTreeMap<SmolStr, (usize, bool)>,
    turn: Option<u32>,
}

impl Reader {
    fn line(&mut self, line: &Node<'_>) -> Result<(), Diagnostic> {
        let at = line.str("timestamp").and_then(instant::parse);
        match (line.str("type"), line.get("payload"), line.get("item")) {
            (Some("session_meta"), Some(payload), _) => {
                self.recorder.id = self.recorder.id.take().or(payload.text("id")?);
                Ok(())
            }
            (Some("event_msg"), Some(payload), _) => self.event(&payload, at),
            (Some("response_item"), Some(payload), _) => self.item(&payload, at),
            (Some("thread.started"), ..) => {
                self.recorder.id = line.text("thread_id")?;
                Ok(())
            }
            (Some("item.completed"), _, Some(item)) => self.exec_item(&item),
            (_, None, None) if line.get("instructions").is_some() || line.get("git").is_some() => {
                self.recorder.id = line.text("id")?;
                Ok(())
            }
            (Some(_), None, None) => self.item(line, at),
            _ => Ok(()),
        }
    }

    fn event(&mut self, event: &Node<'_>, at: Option<i128>) -> Result<(), Diagnostic> {
        match event.str("type") {
            Some("user_message") => {
                let text = event.str("message").filter(|t| !words::is_injected(t));
                self.recorder.words(text.unwrap_or_default());
                Ok(())
            }
            Some("mcp_tool_call_begin") => self.begin(event, at).map(|_| ()),
            Some("mcp_tool_call_end") => self.end(event, at),
            _ => Ok(()),
        }
    }

    /// The call that an event is about, which a `function_call` may have begun.
    fn begin(&mut self, event: &Node<'_>, at: Option<i128>) -> Result<Option<usize>, Diagnostic> {
        let id = event.need_text("call_id")?;
        if let Some((index, false)) = self.calls.get(&id) {
            return Ok(Some(*index));
        }
        let Some(invocation) = event.get("invocation") else {
            return Ok(None);
        };
        let name = Name::of(&invocation.need_text("server")?, &invocation.need_text("tool")?);
        let asked = Asked { id: Some(id.clone()), started_at: at, turn: None };
        let index = self.recorder.ask(asked, &name, invocation.raw("arguments"), &event.place());
        if let Some(index) = index {
            self.calls.insert(id, (index, false));
        }
        Ok(index)
    }

    fn end(&mut self, event: &Node<'_>, at: Option<i128>) -> Result<(), Diagnostic> {
        let started = at.zip(took(event)).map(|(at, took)| at - took).or(at);
        let Some(index) = self.begin(event, started)? else {
            return Ok(());
        };
        if let Some(invocation) = event.get("invocation") {
            let name = Name::of(&invocation.need_text("server")?, &invocation.need_text("tool")?);
            if let Some(call) = self.recorder.get_mut(index) {
                (call.server, call.tool) = (name.server, name.tool);
            }
        }
        let outcome = match event.get("result") {
            None => Outcome::Missing,
            Some(result) => match (result.raw("Ok").or(result.raw("ok")), result.raw("Err").or(result.raw("err"))) {
                (Some(ok), _) => results::tool_result(ok).outcome(false),
                (None, Some(error)) => failed(error),
                (None, None) => results::tool_result(result.value).outcome(false),
            },
        };
        self.recorder.end(index, outcome, at);
        if let Some(entry) = event.str("call_id").and_then(|id| self.calls.get_mut(id)) {
            entry.1 = true;
        }
        Ok(())
    }

    fn item(&mut self, item: &Node<'_>, at: Option<i128>) -> Result<(), Diagnostic> {
        let kind = item.str("type").unwrap_or("message");
        if !matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call") {
            self.turn = None;
        }
        match kind {
            "message" if item.str("role") == Some("user") && !self.has_events => {
                if let Some(content) = item.raw("content") {
                    words::keep(&mut self.recorder, content);
                }
                Ok(())
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => self.call(item, at),
            "function_call_output" | "custom_tool_call_output" => self.output(item, at),
            _ => Ok(()),
        }
    }

    fn call(&mut self, item: &Node<'_>, at: Option<i128>) -> Result<(), Diagnostic> {
        let id = item.text("call_id")?.or(item.text("id")?);
        let given = ["arguments", "action"].iter().find_map(|key| item.raw(key));
        let input = item.raw("input").map(|input| [("input", input.clone())].into_iter().collect());
        let turn = Some(*self.turn.get_or_insert_with(|| self.recorder.next_turn()));
        // A call whose event came first is known already; all that this adds is its turn.
        let begun = id.as_ref().filter(|id| self.ended.contains(*id)).and_then(|id| self.calls.get(id).copied());
        if let Some((index, _)) = begun {
            if let Some(call) = self.recorder.get_mut(index) {
                call.turn = turn;
            }
            return Ok(());
        }
        let name = match (item.text("name")?, item.text("namespace")?) {
            (Some(name), Some(namespace)) => Name::of(namespace.strip_prefix("mcp__").unwrap_or(&namespace), &name),
            (Some(name), None) => self.recorder.split(&name),
            (None, _) => Name::plain(item.str("type").unwrap_or_default().trim_end_matches("_call")),
        };
        let asked = Asked { id: id.clone(), started_at: at, turn };
        let index = match (given, input) {
            (None, Some(input)) => Some(self.recorder.call(asked, &name, input, &item.place())),
            (given, _) => self.recorder.ask(asked, &name, given, &item.place()),
        };
        if let (Some(id), Some(index)) = (id, index) {
            self.calls.insert(id, (index, false));
        }
        Ok(())
    }

    /// An output: what the event said is better, where there is one.
    fn output(&mut self, item: &Node<'_>, at: Option<i128>) -> Result<(), Diagnostic> {
        let id = item.need_text("call_id")?;
        if self.ended.contains(&id) && self.calls.contains_key(&id) {
            return Ok(());
        }
        let (value, success) = match item.raw("output") {
            Some(Value::Object(output)) if output.contains_key("content") => {
                (output.get("content").cloned().unwrap_or_default(), output.get("success").and_then(Value::as_bool))
            }
            output => (output.cloned().unwrap_or_default(), item.bool("success")),
        };
        let answer = results::from_json_text(&value);
        let outcome =
            if words::is_refusal(&text_of(&answer.body.content)) { Outcome::Refused } else { answer.outcome(success == Some(false)) };
        self.recorder.result(&id, outcome, at, item.place());
        Ok(())
    }

    /// An item of `codex exec --json`.
    fn exec_item(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        let asked = Asked { id: item.text("id")?, ..Asked::default() };
        match item.str("type") {
            Some("mcp_tool_call") => {
                let name = Name::of(&item.need_text("server")?, &item.need_text("tool")?);
                let Some(index) = self.recorder.ask(asked, &name, item.raw("arguments"), &item.place()) else {
                    return Ok(());
                };
                let is_failed = item.str("status") == Some("failed");
                let outcome = match (item.raw("error"), item.raw("result")) {
                    (Some(error), _) => failed(error.get("message").unwrap_or(error)),
                    (None, Some(result)) => results::tool_result(result).outcome(is_failed),
                    (None, None) if is_failed => Outcome::ToolError(Body::default()),
                    (None, None) => Outcome::Missing,
                };
                self.recorder.end(index, outcome, None);
            }
            Some("command_execution") => {
                let arguments = [("command", item.raw("command").cloned().unwrap_or_default())].into_iter().collect();
                let index = self.recorder.call(asked, &Name::plain("command_execution"), arguments, &item.place());
                let output = item.raw("aggregated_output").map(results::tool_result).unwrap_or_default();
                self.recorder.end(index, output.outcome(item.str("status") == Some("failed")), None);
            }
            _ => {}
        }
        Ok(())
    }
}

/// A call that came back with no result: the person said no, or the client says why.
fn failed(error: &Value) -> Outcome {
    let answer = results::tool_result(error);
    if words::is_refusal(&text_of(&answer.body.content)) { Outcome::Refused } else { answer.outcome(true) }
}

/// How long a call took, in nanoseconds: `{secs, nanos}`.
fn took(event: &Node<'_>) -> Option<i128> {
    let duration = event.get("duration")?;
    let part = |key: &str| duration.raw(key).and_then(Value::as_number).and_then(Number::as_i64).map(i128::from);
    Some(part("secs")? * 1_000_000_000 + part("nanos").unwrap_or_default())
}
