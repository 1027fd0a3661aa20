//! ATIF, the trajectory format of Harbor: steps with calls, and the observations that answer them by `source_call_id`.
//!
//! There is no mark for errors, and the server of a tool stands in its name, if anywhere.

use super::moments;
use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::{Asked, Recorder};
use super::results;
use super::{Format, Sample, words};
use crate::diagnostics::Diagnostic;
use crate::trace::Trace;
use ltc_workflow::Value;

pub(super) const ATIF: Format = Format { name: "atif", summary: "ATIF trajectories of Harbor", detect, read };

fn detect(sample: &Sample) -> bool {
    let is_atif = |record: &&Value| record.get("schema_version").and_then(Value::as_str).is_some_and(|v| v.starts_with("ATIF"));
    sample.head().iter().any(is_atif)
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    sample.records().iter().map(|record| read_run(record, notes)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

fn read_run(record: &Node<'_>, notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut recorder = Recorder::default();
    recorder.id = record.text("session_id")?;
    let definitions = record.get("agent").and_then(|agent| agent.get("tool_definitions"));
    recorder.tools(definitions.iter().flat_map(Node::items));
    for step in record.list("steps")? {
        if let Some(message) = step.raw("message").filter(|_| step.str("source") == Some("user")) {
            words::keep(&mut recorder, message);
        }
        let calls = step.list("tool_calls")?;
        let turn = (!calls.is_empty()).then(|| recorder.next_turn());
        let started_at = step.raw("timestamp").and_then(moments::any);
        for call in calls {
            let name = recorder.split(&call.need_text("function_name")?);
            let asked = Asked { id: call.text("tool_call_id")?, started_at, turn };
            recorder.ask(asked, &name, call.raw("arguments"), &call.place());
        }
        for result in step.get("observation").iter().filter_map(|o| o.get("results")).flat_map(|r| r.items()) {
            let answer = results::peel(result.raw("content").unwrap_or(&Value::Null));
            if answer.cut {
                recorder.notes.push(problems::cut_result(result.place()));
            }
            match result.text("source_call_id")? {
                Some(id) => recorder.result(&id, answer.outcome(false), None, result.place()),
                None => recorder.notes.push(problems::left_out(result.place(), "an observation that answers no call")),
            }
        }
    }
    Ok(recorder.finish(notes))
}
