//! long-tail's execution export: the events of a run, in which an activity is a call of the model or of a tool.
//!
//! Order is that of `execution_index`; the clocks are those of replays, and are not kept. Every activity has its own arguments and its own result, so the
//! ids in the model's answers are used for the turns only. Results are values that were taken out of their text, and count as structured
//! content; an object of `error` and nothing but what belongs to it is what the activity returns where a call failed.

use super::node::Node;
use super::problems::Notes;
use super::recorder::{Asked, Recorder};
use super::results;
use super::{Format, Sample, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Body, Outcome, Trace};
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;

pub(super) const LONGTAIL: Format =
    Format { name: "longtail", summary: "execution exports of hotmeshio/long-tail, with `enrich_inputs`", detect, read };

fn detect(sample: &Sample) -> bool {
    let is_event = |event: &Value| event.get("event_type").is_some() && event.get("attributes").is_some();
    let is_export = |record: &&Value| record.get("events").and_then(Value::as_array).is_some_and(|events| events.iter().any(is_event));
    sample.head().iter().any(is_export)
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    sample.records().iter().map(|record| read_run(record, notes)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

fn read_run(record: &Node<'_>, notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut recorder = Recorder::default();
    recorder.id = record.str("workflow_id").map(SmolStr::new);
    let mut events = record.list("events")?;
    events.sort_by_key(|event| place_of(event));
    for event in &events {
        read_event(&mut recorder, event)?;
    }
    Ok(recorder.finish(notes))
}

/// The start comes first and the end last; between them the execution index counts.
fn place_of(event: &Node<'_>) -> (u8, i64) {
    let index = event.get("attributes").and_then(|a| a.raw("execution_index").and_then(Value::as_number).and_then(Number::as_i64));
    match event.str("event_type") {
        Some("workflow_execution_started") => (0, 0),
        Some("workflow_execution_completed" | "workflow_execution_failed") => (2, 0),
        _ => (1, index.unwrap_or(i64::MAX)),
    }
}

fn read_event(recorder: &mut Recorder, event: &Node<'_>) -> Result<(), Diagnostic> {
    let Some(attributes) = event.get("attributes") else {
        return Ok(());
    };
    match event.str("event_type") {
        Some("workflow_execution_started") => {
            let input = attributes.get("input");
            if let Some(prompt) = input.as_ref().and_then(|i| i.raw("prompt").or_else(|| i.get("data")?.raw("prompt"))) {
                words::keep(recorder, prompt);
            }
            Ok(())
        }
        Some("activity_task_completed" | "activity_task_failed") => activity(recorder, event, &attributes),
        _ => Ok(()),
    }
}

fn activity(recorder: &mut Recorder, event: &Node<'_>, attributes: &Node<'_>) -> Result<(), Diagnostic> {
    let kind = attributes.need_text("activity_type")?;
    let input: Vec<Node<'_>> = attributes.get("input").iter().flat_map(Node::items).collect();
    if kind.ends_with("LLM") {
        if !recorder.has_words() {
            let messages = input.first().iter().flat_map(|m| m.items()).filter(|m| m.str("role") == Some("user")).collect::<Vec<_>>();
            messages.iter().filter_map(|m| m.raw("content")).for_each(|content| words::keep(recorder, content));
        }
        if attributes.get("result").and_then(|r| r.get("tool_calls")).is_some() {
            recorder.next_turn();
        }
        return Ok(());
    }
    let is_tool = matches!(&*kind, "callMcpTool" | "callTriageTool" | "callDbTool" | "callVisionTool");
    let (name, given) = match kind.strip_prefix("mcp_").filter(|_| !is_tool) {
        Some(_) => (recorder.split(&kind), input.first()),
        None if is_tool => {
            let name = input.first().and_then(|n| n.value.as_str());
            let name = name.ok_or_else(|| attributes.missing("input"))?;
            (recorder.split(name), input.get(1))
        }
        None => return Ok(()),
    };
    let turn = recorder.turn();
    let index = recorder.ask(Asked { id: None, started_at: None, turn }, &name, given.map(|g| g.value), &event.place());
    if let Some(index) = index {
        recorder.end(index, outcome_of(attributes), None);
    }
    Ok(())
}

fn outcome_of(attributes: &Node<'_>) -> Outcome {
    if let Some(failure) = attributes.raw("failure") {
        return results::tool_result(failure.get("message").unwrap_or(failure)).outcome(true);
    }
    match attributes.value.get("result") {
        None => Outcome::Missing,
        Some(Value::String(text)) => Outcome::Result(Body::text(text.clone())),
        Some(Value::Object(result)) if is_error(result) => match result.get("error") {
            Some(error) => results::tool_result(error).outcome(true),
            None => Outcome::Missing,
        },
        Some(result) => Outcome::Result(Body { content: Vec::new(), structured: Some(result.clone()) }),
    }
}

/// Only the activity's own error object: a text under `error`, and beside it at most what was called.
fn is_error(result: &Object) -> bool {
    let is_text = result.get("error").is_some_and(|e| e.as_str().is_some());
    is_text && result.keys().all(|key| matches!(key.as_str(), "error" | "tool" | "args" | "code"))
}
