//! Gemini CLI: chat sessions, as one JSON file (older) or as JSON lines (newer), in which later lines replace, patch and rewind earlier ones.
//!
//! A call and its result are one record, and the status says how it ended: `cancelled` is a person's no. The names `mcp_server_tool` can be
//! split in several ways; the servers given beside the recording decide.

use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::{Asked, Recorder};
use super::results::{self, Answer};
use super::{Format, Sample, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Body, Outcome, Trace, instant};
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::collections::BTreeMap;

pub(super) const GEMINI_CLI: Format =
    Format { name: "gemini-cli", summary: "Gemini CLI chat sessions, in JSON or JSON lines", detect, read };

fn detect(sample: &Sample) -> bool {
    let is_session = |record: &&Value| record.get("sessionId").is_some() && record.get("projectHash").is_some();
    sample.head().iter().any(is_session)
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let records = sample.records();
    let sessions: Vec<Vec<Node<'_>>> = match records.as_slice() {
        sessions if sessions.iter().all(|s| s.get("messages").is_some()) => {
            sessions.iter().map(|s| s.list("messages")).collect::<Result<_, _>>().map_err(|error| vec![error])?
        }
        lines => vec![replay(lines)],
    };
    let ids = records.iter().filter_map(|r| r.str("sessionId"));
    let sessions = sessions.iter().zip(ids.map(Some).chain(std::iter::repeat(None)));
    sessions.map(|(messages, id)| read_session(messages, id, notes)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

/// The messages that are left after all lines: a line with the id of an earlier one replaces it, `$rewindTo` drops a message and all
/// behind it, and `$set` patches the head of the file, or sets all messages anew.
fn replay<'v>(lines: &[Node<'v>]) -> Vec<Node<'v>> {
    let mut messages: Vec<Node<'v>> = Vec::new();
    let mut places: BTreeMap<&'v str, usize> = BTreeMap::new();
    for line in lines {
        if let Some(id) = line.str("$rewindTo") {
            if let Some(at) = place_of(&messages, &places, id) {
                messages.truncate(at);
            }
            continue;
        }
        let all = line.get("$set").and_then(|set| set.get("messages")).or_else(|| line.get("messages"));
        if let Some(all) = all {
            messages = all.items().collect();
            places = messages.iter().enumerate().filter_map(|(i, m)| Some((m.str("id")?, i))).collect();
            continue;
        }
        if line.str("type").is_none() {
            continue;
        }
        match line.str("id").map(|id| (id, place_of(&messages, &places, id))) {
            Some((_, Some(at))) => {
                if let Some(place) = messages.get_mut(at) {
                    *place = line.clone();
                }
            }
            Some((id, None)) => {
                places.insert(id, messages.len());
                messages.push(line.clone());
            }
            None => messages.push(line.clone()),
        }
    }
    messages
}

/// Where the message of this id stands; a place from before a rewind does not count.
fn place_of(messages: &[Node<'_>], places: &BTreeMap<&str, usize>, id: &str) -> Option<usize> {
    places.get(id).copied().filter(|at| messages.get(*at).is_some_and(|m| m.str("id") == Some(id)))
}

fn read_session(messages: &[Node<'_>], id: Option<&str>, notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut recorder = Recorder::default();
    recorder.id = id.map(SmolStr::new);
    for message in messages {
        match message.str("type") {
            Some("user") => {
                if let Some(content) = message.raw("content") {
                    words::keep(&mut recorder, content);
                }
            }
            Some("gemini" | "model") => {
                let calls = message.list("toolCalls")?;
                if !calls.is_empty() {
                    let turn = recorder.next_turn();
                    calls.iter().try_for_each(|call| read_call(&mut recorder, call, turn))?;
                }
            }
            _ => {}
        }
    }
    Ok(recorder.finish(notes))
}

fn read_call(recorder: &mut Recorder, call: &Node<'_>, turn: u32) -> Result<(), Diagnostic> {
    let name = recorder.split(&call.need_text("name")?);
    let at = call.str("timestamp").and_then(instant::parse);
    let asked = Asked { id: call.text("id")?, started_at: None, turn: Some(turn) };
    let Some(index) = recorder.ask(asked, &name, call.raw("args"), &call.place()) else {
        return Ok(());
    };
    let answer = call.raw("result").map(answer_of);
    let outcome = match call.str("status") {
        Some("cancelled") => Outcome::Refused,
        Some("error") => answer.unwrap_or_default().outcome(true),
        Some("success") if answer.is_none() => {
            recorder.notes.push(problems::no_result(call.place(), &name.tool));
            Outcome::Result(Body::default())
        }
        _ => answer.map_or(Outcome::Missing, |answer| answer.outcome(false)),
    };
    recorder.end(index, outcome, at);
    Ok(())
}

/// The result: the response to the function, and the parts behind it that are no responses (images).
fn answer_of(result: &Value) -> Answer {
    let mut answer = Answer::default();
    let parts = match result {
        Value::Array(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    for part in parts {
        let response = part.get("functionResponse").map(|f| f.get("response").unwrap_or(f));
        let found = match response {
            None => Answer { body: Body { content: vec![part.clone()], structured: None }, ..Answer::default() },
            Some(response) => match (response.get("output"), response.get("error")) {
                (Some(output), _) => results::tool_result(output),
                (None, Some(error)) => results::tool_result(error).marked(),
                (None, None) => results::tool_result(response),
            },
        };
        answer.is_error |= found.is_error;
        answer.body.content.extend(found.body.content);
        answer.body.structured = answer.body.structured.or(found.body.structured);
    }
    answer
}
