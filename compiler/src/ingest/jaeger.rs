//! Jaeger's JSON: `{"data": [{"traceID", "spans": […], "processes": {…}}]}`, with times in microseconds and attributes as tags.

use super::moments;
use super::node::Node;
use super::problems::Notes;
use super::spans::{Kind, Span, assemble};
use super::{Format, Sample};
use crate::diagnostics::Diagnostic;
use crate::trace::Trace;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

pub(super) const JAEGER: Format =
    Format { name: "jaeger", summary: "Jaeger's JSON, from its UI or its API, with the conventions that `otlp` knows", detect, read };

fn detect(sample: &Sample) -> bool {
    let is_trace = |trace: &Value| trace.get("traceID").is_some() && trace.get("spans").is_some();
    let holds = |record: &Value| record.get("data").and_then(Value::as_array).is_some_and(|data| data.iter().any(is_trace));
    sample.head().iter().any(|record| is_trace(record) || holds(record))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let mut spans = Vec::new();
    for record in sample.records() {
        let traces = if record.get("spans").is_some() { Ok(vec![record]) } else { record.list("data") };
        let read = traces.and_then(|traces| traces.iter().try_for_each(|trace| collect(trace, &mut spans)));
        read.map_err(|error| vec![error])?;
    }
    Ok(assemble(&spans, notes))
}

fn collect(trace: &Node<'_>, spans: &mut Vec<Span>) -> Result<(), Diagnostic> {
    let processes = trace.get("processes");
    let services = processes.iter().flat_map(Node::entries).filter_map(|(id, p)| Some((id.clone(), SmolStr::new(p.str("serviceName")?))));
    let services: BTreeMap<SmolStr, SmolStr> = services.collect();
    for node in trace.list("spans")? {
        spans.push(span(&node, &services)?);
    }
    Ok(())
}

fn span(node: &Node<'_>, services: &BTreeMap<SmolStr, SmolStr>) -> Result<Span, Diagnostic> {
    let start = node.raw("startTime").and_then(|t| moments::scaled(t, 3));
    let took = node.raw("duration").and_then(|t| moments::scaled(t, 3));
    let tags = node.get("tags");
    let tags = tags.iter().flat_map(Node::items).filter_map(|tag| Some((SmolStr::new(tag.str("key")?), tag.raw("value")?.clone())));
    let mut references = node.list("references")?.into_iter();
    let parent = references.find(|r| r.str("refType") == Some("CHILD_OF")).and_then(|r| r.str("spanID").map(SmolStr::new));
    let mut span = Span {
        trace: node.text("traceID")?.unwrap_or_default(),
        id: node.text("spanID")?.unwrap_or_default(),
        parent: parent.unwrap_or_default(),
        name: node.text("operationName")?.unwrap_or_default(),
        start,
        end: start.zip(took).map(|(start, took)| start + took),
        attributes: tags.collect(),
        service: node.str("processID").and_then(|id| services.get(id).cloned()),
        place: node.place(),
        ..Span::default()
    };
    for log in node.get("logs").iter().flat_map(Node::items) {
        let fields = log.get("fields");
        let fields = fields.iter().flat_map(Node::items).filter_map(|f| Some((SmolStr::new(f.str("key")?), f.raw("value")?.clone())));
        span.events.push(fields.collect::<Object>().into());
    }
    span.kind = Kind::of(span.get("span.kind"));
    span.is_error = span.get("error").is_some_and(|e| e.as_bool() == Some(true) || e.as_str() == Some("true"))
        || span.str("otel.status_code") == Some("ERROR");
    span.message = span.str("otel.status_description").map(SmolStr::new);
    Ok(span)
}
