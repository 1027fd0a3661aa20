//! A limit on nesting, so that a trace that was read can be written down and read again.

use super::problems::{self, Notes};
use crate::diagnostics::Diagnostic;
use crate::trace::{Body, Outcome, Trace};
use ltc_workflow::Value;
use ltc_workflow::json::MAX_DEPTH;

/// So much deeper than the value itself is its place in a trace, at most.
const AROUND: usize = 8;

/// Refuses traces whose arguments, results or output are nested too deep; drops schemas that are.
pub(crate) fn check(traces: &mut [Trace], notes: &mut Notes) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Vec::new();
    for trace in traces {
        let mut refuse = |place: String, value: &Value| {
            if !is_shallow(value, MAX_DEPTH - AROUND) {
                errors.push(problems::too_deep(place));
            }
        };
        for (key, value) in [("input", trace.input.clone().map(Value::Object)), ("output", trace.output.clone())] {
            value.iter().for_each(|value| refuse(format!("the run's {key}"), value));
        }
        for call in &trace.calls {
            let place = |what: &str| format!("{what} of call {}", call.id.escape_debug());
            call.arguments.iter().for_each(|(_, value)| refuse(place("arguments"), value));
            if let Outcome::Result(Body { content, structured }) | Outcome::ToolError(Body { content, structured }) = &call.outcome {
                content.iter().chain(structured).for_each(|value| refuse(place("result"), value));
            }
        }
        for server in &mut trace.servers {
            for tool in &mut server.tools {
                for schema in [&mut tool.input_schema, &mut tool.output_schema] {
                    if schema.as_ref().is_some_and(|s| !is_shallow(s, MAX_DEPTH - AROUND)) {
                        *schema = None;
                        notes.push(problems::schema_left_out(format!("{}/{}", server.name.escape_debug(), tool.name.escape_debug())));
                    }
                }
            }
        }
    }
    errors.truncate(20);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Whether `value` has at most `levels` levels.
fn is_shallow(value: &Value, levels: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_shallow(item, levels - 1)),
        Value::Object(object) => levels > 0 && object.iter().all(|(_, item)| is_shallow(item, levels - 1)),
    }
}
