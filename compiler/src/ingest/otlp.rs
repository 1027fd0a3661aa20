//! OpenTelemetry and OpenInference: OTLP in JSON (lines, lists, Tempo's batches), and spans as plain objects with their attributes in a map
//! (SDK exporters, AWS ADOT, Phoenix).

use super::moments;
use super::node::Node;
use super::problems::Notes;
use super::spans::{Kind, Span, assemble};
use super::{Format, Sample};
use crate::diagnostics::Diagnostic;
use crate::trace::Trace;
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;

pub(super) const OTLP: Format = Format {
    name: "otlp",
    summary: "OpenTelemetry spans with the GenAI or MCP conventions or a dialect of them: OTLP JSON, Tempo batches, plain span objects",
    detect: |sample| sample.head().iter().any(|r| is_export(r) || is_spans(r)),
    read,
};

pub(super) const OPENINFERENCE: Format = Format {
    name: "openinference",
    summary: "OpenInference spans as plain objects: Phoenix exports, SDK exporters",
    detect: |sample| sample.head().iter().any(|r| is_openinference(r)),
    read,
};

/// Keys under which spans stand in each other's lists.
const INSIDE: [&str; 7] =
    ["resourceSpans", "resource_spans", "batches", "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "spans"];

fn is_export(record: &Value) -> bool {
    ["resourceSpans", "resource_spans", "batches"].iter().any(|key| record.get(key).is_some_and(|list| list.as_array().is_some()))
}

fn is_span(record: &Value) -> bool {
    let has_id = ["span_id", "spanId"].iter().any(|key| record.get(key).is_some())
        || record.get("context").is_some_and(|c| c.get("span_id").is_some());
    has_id && record.get("attributes").is_some() && record.get("name").is_some()
}

fn is_spans(record: &Value) -> bool {
    is_span(record) || record.get("spans").and_then(Value::as_array).is_some_and(|spans| spans.iter().any(is_span))
}

fn is_openinference(record: &Value) -> bool {
    let marked = |span: &Value| {
        let attributes = span.get("attributes");
        let dotted = attributes.and_then(Value::as_object).is_some_and(|a| a.keys().any(|key| key.starts_with("openinference.")));
        let scope =
            span.get("scope").and_then(|s| s.get("name")).and_then(Value::as_str).is_some_and(|name| name.starts_with("openinference."));
        is_span(span)
            && (dotted || scope || span.get("span_kind").is_some() || attributes.is_some_and(|a| a.get("openinference").is_some()))
    };
    marked(record) || record.get("spans").and_then(Value::as_array).is_some_and(|spans| spans.iter().take(64).any(marked))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let mut spans = Vec::new();
    for record in sample.records() {
        collect(&record, &Context::default(), &mut spans).map_err(|error| vec![error])?;
    }
    Ok(assemble(&spans, notes))
}

/// What the lists around a span say about it.
#[derive(Clone, Default)]
struct Context {
    service: Option<SmolStr>,
}

fn collect(node: &Node<'_>, context: &Context, spans: &mut Vec<Span>) -> Result<(), Diagnostic> {
    if node.value.as_array().is_some() {
        return node.items().try_for_each(|item| collect(&item, context, spans));
    }
    let mut context = context.clone();
    if let Some(resource) = node.get("resource") {
        context.service = service(&resource).or(context.service);
    }
    if is_span(node.value) || node.get("spanId").is_some() || node.get("span_id").is_some() {
        spans.push(span(node, &context)?);
        return Ok(());
    }
    for key in INSIDE {
        node.list(key)?.iter().try_for_each(|inner| collect(inner, &context, spans))?;
    }
    Ok(())
}

fn service(resource: &Node<'_>) -> Option<SmolStr> {
    let attributes = attributes(&resource.get("attributes").unwrap_or_else(|| resource.clone()));
    attributes.into_iter().find(|(key, _)| key == "service.name").and_then(|(_, value)| value.as_str().map(SmolStr::new))
}

fn span(node: &Node<'_>, context: &Context) -> Result<Span, Diagnostic> {
    let inner = node.get("context");
    let text = |keys: &[&str]| {
        let direct = keys.iter().find_map(|key| node.str(key));
        direct.or_else(|| inner.as_ref().and_then(|c| keys.iter().find_map(|key| c.str(key)))).map(SmolStr::new).unwrap_or_default()
    };
    let time = |keys: &[&str]| keys.iter().find_map(|key| node.raw(key)).and_then(moments::any);
    let mut span = Span {
        trace: text(&["traceId", "trace_id"]),
        id: text(&["spanId", "span_id"]),
        parent: text(&["parentSpanId", "parent_span_id", "parent_id", "parentId"]),
        name: node.text("name")?.unwrap_or_default(),
        kind: Kind::of(node.raw("kind")),
        start: time(&["startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime"]),
        end: time(&["endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"]),
        is_tool: node.str("span_kind").is_some_and(|kind| kind.eq_ignore_ascii_case("tool")),
        service: node.get("resource").and_then(|r| service(&r)).or_else(|| context.service.clone()),
        place: node.place(),
        ..Span::default()
    };
    if let Some(given) = node.get("attributes") {
        span.attributes.extend(attributes(&given));
    }
    for event in ["events", "span_events"].iter().filter_map(|key| node.get(key)).flat_map(|events| events.items()) {
        if let Some(given) = event.get("attributes") {
            span.events.push(attributes(&given).into_iter().collect::<Object>().into());
        }
        if let Some(body) = event.raw("body") {
            span.events.push(body.clone());
        }
    }
    let status = node.get("status");
    let code = status.as_ref().and_then(|s| s.raw("code").or(Some(s.value))).or(node.raw("status_code"));
    span.is_error = code.is_some_and(is_error);
    span.message =
        status.and_then(|s| s.str("message").map(SmolStr::new)).or(node.str("status_message").map(SmolStr::new)).filter(|m| !m.is_empty());
    Ok(span)
}

fn is_error(code: &Value) -> bool {
    match code {
        Value::String(word) => matches!(word.as_str(), "ERROR" | "STATUS_CODE_ERROR" | "Error" | "StatusCode.ERROR"),
        Value::Number(number) => number.as_i64() == Some(2),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Attributes as a map, or as OTLP's list of keys and typed values.
fn attributes(node: &Node<'_>) -> Vec<(SmolStr, Value)> {
    if node.value.as_array().is_some() {
        let pair = |item: Node<'_>| Some((SmolStr::new(item.str("key")?), typed(item.raw("value")?)));
        return node.items().filter_map(pair).collect();
    }
    node.entries().into_iter().map(|(key, node)| (key.clone(), node.value.clone())).collect()
}

/// The value inside of `{"stringValue": …}` and its like; integers stand there as strings.
fn typed(value: &Value) -> Value {
    let Some(object) = value.as_object() else {
        return value.clone();
    };
    let Some((kind, inner)) = object.iter().next() else {
        return Value::Null;
    };
    match kind.as_str() {
        "stringValue" | "string_value" | "boolValue" | "bool_value" | "doubleValue" | "double_value" | "bytesValue" | "bytes_value" => {
            inner.clone()
        }
        "intValue" | "int_value" => match inner {
            Value::String(digits) => Number::parse(digits).map_or_else(|| inner.clone(), Value::Number),
            _ => inner.clone(),
        },
        "arrayValue" | "array_value" => inner.get("values").and_then(Value::as_array).unwrap_or_default().iter().map(typed).collect(),
        "kvlistValue" | "kvlist_value" => {
            let entries = inner.get("values").and_then(Value::as_array).unwrap_or_default().iter();
            let entries = entries.filter_map(|e| Some((e.get("key")?.as_str()?.to_owned(), typed(e.get("value")?))));
            entries.collect::<Object>().into()
        }
        _ => value.clone(),
    }
}
