//! A trace → `ltc.trace/1`, such that reading it gives the same trace.

use super::{Body, Call, FORMAT, Outcome, Server, Tool, Trace, instant};
use crate::hints::{self, Hints};
use ltc_workflow::document::Transport;
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// `trace` in our own format; what it does not say is left out.
pub fn to_json(trace: &Trace) -> Value {
    let servers: Object = trace.servers.iter().map(|s| (s.name.clone(), server(s))).collect();
    object([
        ("format", Some(Value::from(FORMAT))),
        ("id", trace.id.as_ref().map(string)),
        ("task", trace.task.as_deref().map(Value::from)),
        ("input", trace.input.clone().map(Value::Object)),
        ("output", trace.output.clone()),
        ("servers", (!servers.is_empty()).then_some(Value::Object(servers))),
        ("calls", Some(trace.calls.iter().map(call).collect())),
    ])
}

fn object<'k>(fields: impl IntoIterator<Item = (&'k str, Option<Value>)>) -> Value {
    fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()
}

fn string(text: &SmolStr) -> Value {
    Value::String(text.clone())
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|t| Value::from(t.as_str())).collect()
}

fn map(texts: &BTreeMap<String, String>) -> Option<Value> {
    (!texts.is_empty()).then(|| texts.iter().map(|(k, v)| (k.as_str(), Value::from(v.as_str()))).collect::<Object>().into())
}

fn server(server: &Server) -> Value {
    let mut fields: Vec<(&str, Option<Value>)> = match &server.transport {
        None => Vec::new(),
        Some(Transport::Stdio { command, args, env, cwd }) => vec![
            ("command", Some(Value::from(command.as_str()))),
            ("args", (!args.is_empty()).then(|| texts(args))),
            ("env", map(env)),
            ("cwd", cwd.as_deref().map(Value::from)),
        ],
        Some(Transport::Http { url, headers, sse }) => {
            vec![("type", sse.then(|| Value::from("sse"))), ("url", Some(Value::from(url.as_str()))), ("headers", map(headers))]
        }
    };
    fields.push(("tools", (!server.tools.is_empty()).then(|| server.tools.iter().map(tool).collect())));
    fields.push(("tags", (!server.tags.is_empty()).then(|| server.tags.iter().map(string).collect())));
    fields.push(("compile_hints", (server.hints != Hints::default()).then(|| hints::to_json(&server.hints))));
    object(fields)
}

/// A tool as `tools/list` has it.
fn tool(tool: &Tool) -> Value {
    let annotations = [
        ("readOnlyHint", tool.read_only.map(Value::from)),
        ("idempotentHint", tool.idempotent.map(Value::from)),
        ("destructiveHint", tool.destructive.map(Value::from)),
    ];
    let annotations = object(annotations);
    object([
        ("name", Some(string(&tool.name))),
        ("description", tool.description.as_deref().map(Value::from)),
        ("inputSchema", tool.input_schema.clone()),
        ("outputSchema", tool.output_schema.clone()),
        ("annotations", (annotations.as_object().is_some_and(|a| !a.is_empty())).then_some(annotations)),
    ])
}

fn call(call: &Call) -> Value {
    let (result, error, refused) = match &call.outcome {
        Outcome::Result(body) => (Some(tool_result(body, false)), None, None),
        Outcome::ToolError(body) => (Some(tool_result(body, true)), None, None),
        Outcome::RpcError { code, message } => {
            let error = object([("code", Some(Value::from(*code))), ("message", Some(Value::from(message.as_str())))]);
            (None, Some(error), None)
        }
        Outcome::Refused => (None, None, Some(Value::Bool(true))),
        Outcome::Missing => (None, None, None),
    };
    object([
        ("id", Some(string(&call.id))),
        ("server", Some(string(&call.server))),
        ("tool", Some(string(&call.tool))),
        ("arguments", Some(Value::Object(call.arguments.clone()))),
        ("result", result),
        ("error", error),
        ("refused", refused),
        ("started_at", call.started_at.map(moment)),
        ("ended_at", call.ended_at.map(moment)),
        ("turn", call.turn.map(|t| Value::from(i64::from(t)))),
    ])
}

fn tool_result(body: &Body, is_error: bool) -> Value {
    object([
        ("content", Some(Value::array(body.content.clone()))),
        ("structuredContent", body.structured.clone()),
        ("isError", is_error.then_some(Value::Bool(true))),
    ])
}

/// An instant in words, or in nanoseconds where the calendar has no words for it.
fn moment(nanos: i128) -> Value {
    match instant::print(nanos) {
        Some(text) => Value::string(text),
        None => Number::parse(&nanos.to_string()).map(Value::Number).unwrap_or_default(),
    }
}
