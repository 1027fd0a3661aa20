//! The dialects of span attributes: where each producer writes the name of a tool, its arguments, its result and its id.

use super::{Kind, Span, Told};
use crate::ingest::arguments;
use crate::ingest::python;
use crate::ingest::results::{self, Answer};
use crate::trace::{Body, Outcome};
use ltc_workflow::json;
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;

/// The semantic conventions, OpenInference, the Vercel AI SDK, Traceloop, mcpsnoop.
const NAMES: [&str; 5] = ["gen_ai.tool.name", "tool.name", "ai.toolCall.name", "mcpsnoop.call.tool_name", "traceloop.entity.name"];

/// The semantic conventions, Google ADK and kagent, pydantic-ai, the Vercel AI SDK, OpenInference, Traceloop.
const ARGUMENTS: [&str; 6] = [
    "gen_ai.tool.call.arguments",
    "gcp.vertex.agent.tool_call_args",
    "tool_arguments",
    "ai.toolCall.args",
    "input.value",
    "traceloop.entity.input",
];

const RESULTS: [&str; 6] = [
    "gen_ai.tool.call.result",
    "gcp.vertex.agent.tool_response",
    "tool_response",
    "ai.toolCall.result",
    "output.value",
    "traceloop.entity.output",
];

const IDS: [&str; 4] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id"];

const PREFIXES: [&str; 4] = ["execute_tool ", "tools/call ", "running tool: ", "tool."];

/// What a span tells of a call; nothing where it is no span of a tool.
pub(super) fn told(span: &Span) -> Option<Told> {
    let name = name(span)?;
    let id = IDS.iter().find_map(|key| span.str(key)).map(SmolStr::new);
    Some(Told {
        id,
        name: name.into(),
        server: server(span),
        arguments: arguments_of(span),
        outcome: outcome(span),
        has_result: recorded(span).is_some(),
    })
}

/// The name of the tool, where this is the span of one.
pub(super) fn name(span: &Span) -> Option<&str> {
    if !is_tool(span) {
        return None;
    }
    let plain = PREFIXES.iter().find_map(|prefix| span.name.strip_prefix(prefix)).unwrap_or(&span.name);
    let name = NAMES.iter().find_map(|key| span.str(key)).unwrap_or_else(|| plain.strip_suffix(".tool").unwrap_or(plain));
    Some(name).filter(|name| !name.is_empty())
}

fn is_tool(span: &Span) -> bool {
    if let Some(method) = span.str("mcp.method.name").or(span.str("rpc.method").filter(|_| span.str("rpc.system") == Some("mcp"))) {
        return method == "tools/call";
    }
    let operation = span.str("gen_ai.operation.name").or(span.str("ai.operationId"));
    let kind = ["openinference.span.kind", "traceloop.span.kind", "aws.genai.span_kind", "langsmith.span.kind"]
        .iter()
        .find_map(|key| span.str(key));
    match (operation, kind) {
        (Some("execute_tool" | "ai.toolCall"), _) => true,
        (_, Some(kind)) => kind.eq_ignore_ascii_case("tool"),
        (Some(_), None) => span.is_tool,
        (None, None) => span.is_tool || span.str("gen_ai.tool.name").is_some() || span.str("tool.name").is_some(),
    }
}

/// There is no attribute for the name of an MCP server: its address, then its session, then the service that opened the server's span stand
/// in for it. `server.address` of other spans is that of the model's provider.
fn server(span: &Span) -> Option<SmolStr> {
    if let Some(name) = span.str("mcp.server.name") {
        return Some(name.into());
    }
    if !span.attributes.keys().any(|key| key.starts_with("mcp.")) {
        return None;
    }
    let port = span.get("server.port").map(|port| port.as_str().map_or_else(|| json::to_string(port), str::to_owned));
    let address = span.str("server.address").map(|address| match port {
        Some(port) => SmolStr::new(format!("{address}:{port}")),
        None => address.into(),
    });
    let session = || span.str("mcp.session.id").map(SmolStr::new);
    address.or_else(session).or_else(|| span.service.clone().filter(|_| span.kind == Kind::Server))
}

/// The arguments; those of smolagents, of LangSmith's exporter and of LangChain's text tools (a dictionary as Python prints it, under one
/// key) are in a wrapper. What OpenInference calls `tool.parameters` is the schema
/// with some producers and the arguments with others, so that it comes last, and only where it is no schema.
fn arguments_of(span: &Span) -> Option<Value> {
    let given = ARGUMENTS.iter().find_map(|key| span.get(key)).or_else(|| span.get("tool.parameters").filter(|p| !is_schema(p)))?;
    let object = match (arguments::read(Some(given)), given.as_str()) {
        (Ok(object), _) => object,
        (Err(_), Some(text)) => [("input", Value::from(text))].into_iter().collect(),
        (Err(_), None) => return Some(given.clone()),
    };
    Some(unwrap_arguments(span, object).into())
}

fn is_schema(value: &Value) -> bool {
    let parsed = value.as_str().and_then(|text| json::parse(text.as_bytes()).ok());
    let object = parsed.as_ref().unwrap_or(value).as_object();
    object.is_none_or(|o| o.contains_key("properties") || o.iter().all(|(_, v)| v.get("type").is_some()))
}

fn unwrap_arguments(span: &Span, object: Object) -> Object {
    if let (Some(Value::Array(list)), Some(Value::Object(named)), true) =
        (object.get("args"), object.get("kwargs"), object.contains_key("sanitize_inputs_outputs"))
    {
        let schema = span.str("tool.parameters").and_then(|text| json::parse(text.as_bytes()).ok());
        let names: Vec<SmolStr> = schema.iter().filter_map(Value::as_object).flat_map(Object::keys).cloned().collect();
        let positional = names.into_iter().zip(list.iter().cloned());
        return positional.chain(named.iter().map(|(k, v)| (k.clone(), v.clone()))).collect();
    }
    let from_langsmith = span.attributes.keys().any(|key| key.starts_with("langsmith."));
    let inner = ["input", "tool_input", "input_str"].iter().find_map(|key| object.get(key)).filter(|_| object.len() == 1);
    match inner {
        Some(Value::Object(inner)) if from_langsmith => inner.clone(),
        Some(Value::String(text)) if text.starts_with("{'") => match arguments::read(inner) {
            Ok(inner) => inner,
            Err(_) => object,
        },
        _ => object,
    }
}

/// The result, with the key that it stands under.
fn recorded(span: &Span) -> Option<(&'static str, &Value)> {
    RESULTS.iter().find_map(|key| Some((*key, span.get(key)?)))
}

/// How the call ended; nothing where the span does not say. An error is what the status, `error.type` or the result itself says.
fn outcome(span: &Span) -> Option<Outcome> {
    let result = recorded(span);
    let is_error = span.is_error || span.str("error.type").is_some();
    let code = span.get("rpc.response.status_code").or_else(|| span.get("rpc.jsonrpc.error_code"));
    let code = code.and_then(|c| c.as_number().and_then(Number::as_i64).or_else(|| c.as_str()?.parse().ok())).filter(|code| *code < 0);
    let message = span.message.as_deref().or(span.str("rpc.jsonrpc.error_message")).or(span.str("exception.message"));
    match (result, is_error) {
        (None, true) => {
            let words = message.or_else(|| exception(span)).or(span.str("error.type")).unwrap_or_default();
            Some(match code {
                Some(code) => Outcome::RpcError { code, message: words.to_owned() },
                None => Outcome::ToolError(if words.is_empty() { Body::default() } else { Body::text(words) }),
            })
        }
        (Some((key, value)), is_error) => Some(answer(span, key, value).outcome(is_error)),
        (None, false) => None,
    }
}

/// What the exception that a span recorded says.
fn exception(span: &Span) -> Option<&str> {
    span.events.iter().find_map(|event| event.get("exception.message").and_then(Value::as_str))
}

fn answer(span: &Span, key: &str, value: &Value) -> Answer {
    let parsed = value.as_str().filter(|text| text.trim_start().starts_with(['{', '['])).and_then(|text| json::parse(text.as_bytes()).ok());
    let object = parsed.as_ref().unwrap_or(value).as_object();
    if let Some(inner) = object.and_then(|o| unwrap_answer(span, key, o)) {
        return inner;
    }
    let quoted = value.as_str().filter(|text| text.starts_with('"')).and_then(|text| json::parse(text.as_bytes()).ok());
    results::from_json_text(quoted.as_ref().filter(|q| q.as_str().is_some()).unwrap_or(value))
}

/// The wrappers of frameworks: LangChain's tool message and its `output`, ADK's `{"result": …}` around what a function returned.
pub(crate) fn unwrap_answer(span: &Span, key: &str, object: &Object) -> Option<Answer> {
    if let Some(content) = object.get("content").filter(|_| object.contains_key("tool_call_id")) {
        let is_error = object.get("status").and_then(Value::as_str) == Some("error");
        let answer = results::from_json_text(content);
        return Some(if is_error { answer.marked() } else { answer });
    }
    if let (Some(output), 1, "output.value") = (object.get("output"), object.len(), key) {
        return match output {
            Value::Object(inner) => Some(unwrap_answer(span, key, inner).unwrap_or_else(|| results::tool_result(output))),
            Value::String(text) => Some(python_message(text).unwrap_or_else(|| results::from_json_text(output))),
            _ => Some(results::tool_result(output)),
        };
    }
    let is_function = span.str("gen_ai.tool.type") == Some("FunctionTool") && key == "gcp.vertex.agent.tool_response";
    object.get("result").filter(|_| is_function && object.len() == 1).map(results::from_json_text)
}

/// LangChain's tool message as Python prints it: `content='…' name='…' tool_call_id='…'`.
fn python_message(text: &str) -> Option<Answer> {
    let (pairs, cut) = text.starts_with("content=").then(|| python::parse_pairs(text)).flatten()?;
    let content = pairs.get("content").filter(|_| pairs.contains_key("tool_call_id"))?;
    let is_error = pairs.get("status").and_then(Value::as_str) == Some("error");
    Some(Answer { cut, is_error, ..results::from_json_text(content) })
}
