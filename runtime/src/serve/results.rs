//! Outputs and refusals as results of tools: the text is the JSON, and the same stands beside it as structured content. A text that nobody could take for
//! JSON is itself.

use super::wire::exact;
use crate::approximate::{Inexact, to_serde};
use crate::service::Refusal;
pub use crate::stdio::shown::of;
use crate::upstream::ToolResult;
use ltc_workflow::{Object, Value, json};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};

/// What a tool that runs a workflow answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The run, as the operations show it.
    Run,
    /// The output of the run; where there is none, the run.
    Output {
        /// Whether the tool has an output schema, which whatever is no error must fit.
        is_promised: bool,
        /// Whether the client takes structured content that is no object.
        takes_any: bool,
    },
}

/// A run that the call waited for.
pub fn run(run: &Value, shape: Shape) -> CallToolResult {
    let status = run.get("status").and_then(Value::as_str).unwrap_or_default();
    let has_failed = matches!(status, "failed" | "cancelled");
    match shape {
        Shape::Output { takes_any, .. } if status == "done" => output(run, takes_any),
        // What is no output must not look like one.
        Shape::Output { is_promised, .. } => of(run, has_failed || is_promised),
        Shape::Run => of(run, has_failed),
    }
}

fn output(run: &Value, takes_any: bool) -> CallToolResult {
    let output = run.get("output").cloned().unwrap_or_default();
    let mut result = of(&output, false);
    if output.as_object().is_none() && !takes_any {
        result.structured_content = None;
    }
    if let Some(id) = run.get("run_id").and_then(Value::as_str) {
        let mut meta = MetaObject::new();
        meta.0.insert("ltc/run".to_owned(), id.into());
        result.meta = Some(meta);
    }
    result
}

/// What a tool of another server answered, as it answered. A block that the protocol does not know is shown as the JSON that it is.
pub fn upstream(answer: &ToolResult) -> CallToolResult {
    let block = |block: &Value| {
        serde_json::from_value(to_serde(block, Inexact::Nearest)).unwrap_or_else(|_| ContentBlock::text(json::to_string(block)))
    };
    let mut result = CallToolResult::success(answer.content.iter().map(block).collect());
    result.structured_content = answer.structured.as_ref().map(exact);
    result.is_error = Some(answer.is_error);
    result
}

/// A refusal: what is wrong, with every place, so that an agent can do better.
pub fn refusal(refusal: &Refusal) -> CallToolResult {
    let text = serde_json::to_string(refusal).unwrap_or_default();
    let value = json::parse(text.as_bytes()).unwrap_or_else(|_| {
        let words = Object::from_iter([("message", Value::from(refusal.message.as_str()))]);
        words.into()
    });
    of(&value, true)
}
