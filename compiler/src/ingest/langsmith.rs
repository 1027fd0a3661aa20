//! LangSmith: runs, as they are exported and as clients send them (`{"post": […], "patch": […]}`, where a patch adds to the run of its id).

use super::moments;
use super::node::Node;
use super::problems::Notes;
use super::spans::{Span, assemble};
use super::{Format, Sample};
use crate::diagnostics::Diagnostic;
use crate::trace::Trace;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

pub(super) const LANGSMITH: Format = Format { name: "langsmith", summary: "LangSmith runs: exports, and what clients send", detect, read };

fn detect(sample: &Sample) -> bool {
    let is_run =
        |record: &Value| record.get("run_type").is_some() && (record.get("inputs").is_some() || record.get("dotted_order").is_some());
    let holds = |record: &Value, key: &str| record.get(key).and_then(Value::as_array).is_some_and(|runs| runs.iter().any(is_run));
    sample.head().iter().any(|record| is_run(record) || ["post", "runs", "child_runs"].iter().any(|key| holds(record, key)))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let mut runs = Runs::default();
    for record in sample.records() {
        runs.collect(&record, 0).map_err(|error| vec![error])?;
    }
    let spans: Vec<Span> = runs.list.iter().map(|(run, place)| span(run, place)).collect();
    Ok(assemble(&spans, notes))
}

/// A run, field by field.
type Run = BTreeMap<SmolStr, Value>;

/// Children in children are followed so deep.
const DEPTH: usize = 64;

#[derive(Default)]
struct Runs {
    list: Vec<(Run, String)>,
    by_id: BTreeMap<SmolStr, usize>,
}

impl Runs {
    fn collect(&mut self, node: &Node<'_>, depth: usize) -> Result<(), Diagnostic> {
        let is_batch =
            node.get("post").is_some() || node.get("patch").is_some() || (node.get("runs").is_some() && node.get("run_type").is_none());
        if is_batch {
            for key in ["post", "patch", "runs"] {
                node.list(key)?.iter().try_for_each(|run| self.collect(run, depth))?;
            }
            return Ok(());
        }
        let Some(object) = node.value.as_object() else {
            return Err(node.wrong("a run, which is an object"));
        };
        let id = node.text("id")?.unwrap_or_default();
        match self.by_id.get(&id).and_then(|at| self.list.get_mut(*at)) {
            Some((run, _)) => patch(run, object),
            None => {
                self.by_id.insert(id, self.list.len());
                self.list.push((object.iter().map(|(key, value)| (key.clone(), value.clone())).collect(), node.place()));
            }
        }
        match node.get("child_runs").filter(|_| depth < DEPTH) {
            Some(children) => children.items().try_for_each(|child| self.collect(&child, depth + 1)),
            None => Ok(()),
        }
    }
}

/// Puts what a patch says into the run; what it does not say stays.
fn patch(run: &mut Run, patch: &Object) {
    let said = patch.iter().filter(|(_, value)| !value.is_null() && value.as_object().is_none_or(|o| !o.is_empty()));
    run.extend(said.map(|(key, value)| (key.clone(), value.clone())));
}

/// The order in which runs began is the order of `dotted_order`: what it begins with is the time, to the microsecond.
fn span(run: &Run, place: &str) -> Span {
    let text = |key: &str| run.get(key).and_then(Value::as_str).map(SmolStr::new).unwrap_or_default();
    let mut span = Span {
        trace: text("trace_id"),
        id: text("id"),
        parent: text("parent_run_id"),
        name: text("name"),
        start: run.get("start_time").and_then(moments::any),
        end: run.get("end_time").and_then(moments::any),
        is_tool: text("run_type") == "tool",
        is_error: text("status") == "error" || run.get("error").is_some_and(|e| !e.is_null()),
        message: run.get("error").and_then(Value::as_str).map(SmolStr::new),
        place: place.to_owned(),
        ..Span::default()
    };
    for (from, to) in [("inputs", "input.value"), ("outputs", "output.value")] {
        if let Some(value) = run.get(from).filter(|v| v.as_object().is_none_or(|o| !o.is_empty())) {
            span.attributes.insert(to.into(), value.clone());
        }
    }
    let invocation = run.get("extra").and_then(|e| e.get("invocation_params").or_else(|| e.get("metadata")?.get("invocation_params")));
    if let Some(tools) = invocation.and_then(|i| i.get("tools")).or_else(|| run.get("inputs")?.get("tools")) {
        span.attributes.insert("gen_ai.tool.definitions".into(), tools.clone());
    }
    let message_id = || run.get("outputs")?.get("output")?.get("tool_call_id");
    let id = run.get("extra").and_then(|e| e.get("tool_call_id")).or_else(message_id);
    if let Some(id) = id.filter(|id| span.is_tool && id.as_str().is_some()) {
        span.attributes.insert("gen_ai.tool.call.id".into(), id.clone());
    }
    span
}
