//! VS Code chat: exported sessions, the mutation logs that newer versions keep, and exports of prompt logs (`*.chatreplay.json`).
//!
//! A call stands twice in a session: as a part of the response, with the server's label, the confirmation and the details of the result,
//! and in the rounds of tool calls, which have the order and the turns. They are joined by id.

use super::names::Name;
use super::node::Node;
use super::problems::Notes;
use super::recorder::{Asked, Recorder};
use super::results::{self, Answer};
use super::{Format, Sample, mutations, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Body, Outcome, Trace};
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const VSCODE_CHAT: Format = Format {
    name: "vscode-chat",
    summary: "VS Code chat sessions (exports, mutation logs) and prompt logs (`*.chatreplay.json`)",
    detect,
    read,
};

fn detect(sample: &Sample) -> bool {
    let has_requests = |value: &Value| {
        let requests = value.get("requests").and_then(Value::as_array);
        requests.is_some_and(|r| r.iter().any(|r| r.get("response").is_some() || r.get("requestId").is_some()))
    };
    let is_replay = |value: &Value| value.get("prompts").is_some() && value.get("totalLogEntries").is_some();
    sample.head().iter().any(|r| has_requests(r) || is_replay(r)) || mutations::is_log(&sample.head())
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    if mutations::is_log(&sample.head()) {
        let session = mutations::apply(&sample.records())?;
        return read_session(&Node::root(&session, None), notes).map(|trace| vec![trace]).map_err(|error| vec![error]);
    }
    let sessions = sample.records();
    let traces = sessions.iter().map(|session| match session.get("prompts") {
        Some(prompts) => read_replay(&prompts, notes),
        None => read_session(session, notes),
    });
    traces.collect::<Result<_, _>>().map_err(|error| vec![error])
}

fn read_session(session: &Node<'_>, notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut recorder = Recorder::default();
    recorder.id = session.str("sessionId").map(SmolStr::new);
    for request in session.list("requests")? {
        if let Some(text) = request.get("message").and_then(|m| m.raw("text")) {
            words::keep(&mut recorder, text);
        }
        read_request(&mut recorder, &request)?;
    }
    Ok(recorder.finish(notes))
}

fn read_request(recorder: &mut Recorder, request: &Node<'_>) -> Result<(), Diagnostic> {
    let parts = request.get("response").filter(|r| r.value.as_array().is_some());
    let parts: Vec<Node<'_>> = parts.iter().flat_map(Node::items).filter(|p| p.str("kind") == Some("toolInvocationSerialized")).collect();
    let by_id: BTreeMap<&str, &Node<'_>> = parts.iter().filter_map(|p| Some((short_id(p.str("toolCallId")?), p))).collect();
    let metadata = request.get("result").and_then(|r| r.get("metadata"));
    let results = metadata.as_ref().and_then(|m| m.get("toolCallResults"));
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for round in metadata.iter().filter_map(|m| m.get("toolCallRounds")).flat_map(|r| r.items()) {
        let calls = round.list("toolCalls")?;
        let turn = (!calls.is_empty()).then(|| recorder.next_turn());
        for call in calls {
            let (id, tool) = (call.text("id")?, call.need_text("name")?);
            let part = id.as_deref().and_then(|id| by_id.get(short_id(id)).copied());
            let part_id = part.and_then(|p| p.str("toolCallId"));
            done.extend(part_id.map(short_id));
            let name = name_of(recorder, part, &tool);
            let result = results.as_ref().and_then(|r| id.as_deref().and_then(|id| r.raw(id)));
            let index = recorder.ask(Asked { id, started_at: None, turn }, &name, call.raw("arguments"), &call.place());
            if let Some(index) = index {
                recorder.end(index, outcome_of(part, result), None);
            }
        }
    }
    for part in parts.iter().filter(|p| !p.str("toolCallId").is_some_and(|id| done.contains(short_id(id)))) {
        let name = name_of(recorder, Some(part), part.str("toolId").unwrap_or_default());
        let asked = Asked { id: part.text("toolCallId")?, ..Asked::default() };
        let given =
            part.get("resultDetails").and_then(|d| d.raw("input")).or_else(|| part.get("toolSpecificData").and_then(|d| d.raw("rawInput")));
        if let Some(index) = recorder.ask(asked, &name, given, &part.place()) {
            recorder.end(index, outcome_of(Some(part), None), None);
        }
    }
    Ok(())
}

/// The id without the suffix that VS Code puts behind the ids of models.
fn short_id(id: &str) -> &str {
    id.split_once("__vscode-").map_or(id, |(id, _)| id)
}

/// The server's label stands in the part; the tool is what is left of `mcp_label_tool`, where the label may be cut short.
fn name_of(recorder: &mut Recorder, part: Option<&Node<'_>>, tool: &str) -> Name {
    let source = part.and_then(|p| p.get("source")).filter(|s| s.str("type") == Some("mcp"));
    let label = source.as_ref().and_then(|s| s.str("serverLabel").or(s.str("label")));
    let Some(label) = label else {
        return recorder.split(tool);
    };
    let rest = tool.strip_prefix("mcp_").unwrap_or(tool);
    let lower = slug(label);
    let is_label = |at: usize| rest.get(..at).is_some_and(|head| !head.is_empty() && lower.starts_with(&head.to_lowercase()));
    let cut = rest.match_indices('_').map(|(at, _)| at).rev().find(|at| is_label(*at));
    let tool = cut.and_then(|at| rest.get(at + 1..)).filter(|t| !t.is_empty()).unwrap_or(rest);
    Name::of(label, tool)
}

/// A label as VS Code writes it in names: in lower case, with one `_` for each run of other letters than `a-z0-9_.-`.
fn slug(label: &str) -> String {
    let mut slug = String::new();
    for c in label.chars().flat_map(char::to_lowercase) {
        let is_kept = c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if is_kept {
            slug.push(c);
        } else if !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug
}

/// How a call ended: refused by the person, or with the details of the part, or with the result of the round.
fn outcome_of(part: Option<&Node<'_>>, result: Option<&Value>) -> Outcome {
    if part.is_some_and(is_refused) {
        return Outcome::Refused;
    }
    let details = part.and_then(|p| p.get("resultDetails")).filter(|d| d.get("output").is_some());
    if let Some(details) = details {
        let content = details.get("output").iter().flat_map(Node::items).map(|o| output_block(&o)).collect();
        let body = Body { content, structured: None };
        return Answer { body, ..Answer::default() }.outcome(details.bool("isError") == Some(true));
    }
    match result {
        Some(result) => {
            let parts = result.get("content").and_then(Value::as_array).unwrap_or_default();
            let texts = parts.iter().map(|p| p.get("value").filter(|v| v.as_str().is_some()).map_or_else(|| p.clone(), text_block));
            Answer { body: Body { content: texts.collect(), structured: None }, ..Answer::default() }.outcome(false)
        }
        None if part.is_some_and(|p| p.bool("isComplete") == Some(true)) => Outcome::Result(Body::default()),
        None => Outcome::Missing,
    }
}

/// The kinds of confirmation in which the call did not happen: denied, skipped.
fn is_refused(part: &Node<'_>) -> bool {
    const REFUSED: [i64; 2] = [0, 5];
    match part.raw("isConfirmed") {
        Some(Value::Bool(confirmed)) => !confirmed,
        Some(Value::Object(kind)) => {
            let kind = kind.get("type").and_then(Value::as_number).and_then(Number::as_i64);
            kind.is_some_and(|kind| REFUSED.contains(&kind))
        }
        _ => false,
    }
}

fn text_block(text: &Value) -> Value {
    [("type", Value::from("text")), ("text", text.clone())].into_iter().collect::<Object>().into()
}

fn output_block(output: &Node<'_>) -> Value {
    match output.raw("value") {
        Some(text) if output.bool("isText") == Some(true) => text_block(text),
        _ => output.value.clone(),
    }
}

/// The prompt log: prompts, each with what was logged for it.
fn read_replay(prompts: &Node<'_>, notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut recorder = Recorder::default();
    for prompt in prompts.items() {
        if let Some(text) = prompt.raw("prompt") {
            words::keep(&mut recorder, text);
        }
        for log in prompt.list("logs")?.iter().filter(|log| log.str("kind") == Some("toolCall")) {
            let name = recorder.split(&log.need_text("tool")?);
            let asked = Asked { id: log.text("id")?, ..Asked::default() };
            let Some(index) = recorder.ask(asked, &name, log.raw("args"), &log.place()) else {
                continue;
            };
            let outcome = match log.raw("response") {
                Some(Value::Array(texts)) => {
                    let content = texts.iter().map(|t| if t.as_str().is_some() { text_block(t) } else { t.clone() }).collect();
                    Outcome::Result(Body { content, structured: None })
                }
                Some(response) => results::tool_result(response).outcome(false),
                None => Outcome::Missing,
            };
            recorder.end(index, outcome, None);
        }
    }
    Ok(recorder.finish(notes))
}
