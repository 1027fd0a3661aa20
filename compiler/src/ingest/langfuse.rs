//! Langfuse: exports of traces with their observations. The raw attributes of OpenTelemetry stand in the metadata of an observation; its own
//! input and output are those of the tool. Any of them may be JSON in a string.

use super::moments;
use super::node::Node;
use super::problems::Notes;
use super::spans::{Span, assemble};
use super::{Format, Sample};
use crate::diagnostics::Diagnostic;
use crate::trace::Trace;
use ltc_workflow::Value;
use ltc_workflow::json;
use smol_str::SmolStr;

pub(super) const LANGFUSE: Format = Format { name: "langfuse", summary: "Langfuse exports: traces with observations", detect, read };

fn detect(sample: &Sample) -> bool {
    let is_observation = |o: &Value| {
        o.get("type").is_some() && (o.get("traceId").is_some() || o.get("parentObservationId").is_some() || o.get("startTime").is_some())
    };
    let holds = |record: &Value| record.get("observations").and_then(Value::as_array).is_some_and(|o| o.iter().any(is_observation));
    sample
        .head()
        .iter()
        .any(|record| holds(record) || (is_observation(record) && record.get("traceId").is_some() && record.get("level").is_some()))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let mut spans = Vec::new();
    for record in sample.records() {
        collect(&record, &mut spans).map_err(|error| vec![error])?;
    }
    Ok(assemble(&spans, notes))
}

fn collect(record: &Node<'_>, spans: &mut Vec<Span>) -> Result<(), Diagnostic> {
    if record.get("observations").is_none() {
        spans.push(span(record, "")?);
        return Ok(());
    }
    let trace = record.get("trace").unwrap_or_else(|| record.clone());
    let id = trace.text("id")?.unwrap_or_default();
    // What the trace was given is what the user said: a span before all others carries it.
    if let Some(input) = trace.raw("input") {
        let mut root = Span { trace: id.clone(), place: trace.place(), start: Some(0), ..Span::default() };
        root.attributes.insert("input.value".into(), input.clone());
        spans.push(root);
    }
    record.list("observations")?.iter().try_for_each(|observation| {
        spans.push(span(observation, &id)?);
        Ok(())
    })
}

fn span(node: &Node<'_>, trace: &str) -> Result<Span, Diagnostic> {
    let time = |key: &str| node.raw(key).and_then(moments::any);
    let mut span = Span {
        trace: node.text("traceId")?.filter(|t| trace.is_empty() && !t.is_empty()).unwrap_or_else(|| trace.into()),
        id: node.text("id")?.unwrap_or_default(),
        parent: node.text("parentObservationId")?.unwrap_or_default(),
        name: node.text("name")?.unwrap_or_default(),
        start: time("startTime"),
        end: time("endTime"),
        is_error: node.str("level") == Some("ERROR"),
        is_tool: node.str("type") == Some("TOOL"),
        message: node.str("statusMessage").map(SmolStr::new).filter(|m| !m.is_empty()),
        place: node.place(),
        ..Span::default()
    };
    let metadata = node.raw("metadata").map(opened).unwrap_or_default();
    if let Some(attributes) = metadata.get("attributes").map(opened) {
        span.take_attributes(&Node::root(&attributes, None));
    }
    for (from, to) in [("input", "input.value"), ("output", "output.value")] {
        if let Some(value) = node.raw(from).filter(|v| v.as_str() != Some("")) {
            span.attributes.insert(to.into(), value.clone());
        }
    }
    Ok(span)
}

/// The value in a string of JSON, or the value itself.
fn opened(value: &Value) -> Value {
    value.as_str().and_then(|text| json::parse(text.as_bytes()).ok()).unwrap_or_else(|| value.clone())
}
