//! Messages of models, as spans and runs carry them → words, calls and results, in the shapes of the conventions, of the providers, of
//! LangChain and of OpenInference's flattened attributes.

use super::Span;
use ltc_workflow::json;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Wrappers around messages are opened so many deep.
const WRAPPERS: usize = 12;

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// Words of the user.
    Words(SmolStr),
    /// A call of a tool.
    Call { id: Option<SmolStr>, name: SmolStr, arguments: Value },
    /// What a call returned.
    Result { id: SmolStr, value: Value, is_error: bool },
}

/// All that is said in `value`: messages, a list of them, JSON of them in a string, or an object that holds them.
pub(crate) fn read(value: &Value) -> Vec<Said> {
    let mut said = Vec::new();
    wrapper(value, 0, &mut said);
    said
}

fn wrapper(value: &Value, depth: usize, said: &mut Vec<Said>) {
    if depth > WRAPPERS {
        return;
    }
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            if let Ok(value) = json::parse(text.as_bytes()) {
                wrapper(&value, depth + 1, said);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| wrapper(item, depth + 1, said)),
        Value::Object(object) => {
            if is_message(object) {
                message(object, depth, said);
                return;
            }
            let inner = ["messages", "contents", "new_message", "input", "output", "kwargs", "message", "choices", "generations"];
            inner.iter().filter_map(|key| object.get(key)).for_each(|value| wrapper(value, depth + 1, said));
            if let Some(Value::String(prompt)) = object.get("prompt") {
                said.push(Said::Words(prompt.clone()));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn role(object: &Object) -> Option<&str> {
    let role = object.get("role").and_then(Value::as_str);
    let kind = || object.get("type").and_then(Value::as_str).filter(|t| matches!(*t, "human" | "ai" | "tool" | "system"));
    role.or_else(kind).filter(|_| ["content", "parts", "tool_calls"].iter().any(|key| object.contains_key(key)))
}

/// Messages have a role, parts, calls, or the call that they answer; LangChain's constructors keep theirs inside.
fn is_message(object: &Object) -> bool {
    let answers = object.contains_key("tool_call_id") && object.contains_key("content");
    let calls = object.get("tool_calls").is_some_and(|calls| calls.as_array().is_some());
    role(object).is_some() || answers || calls || object.contains_key("parts") || is_item(object)
}

fn is_item(object: &Object) -> bool {
    matches!(object.get("type").and_then(Value::as_str), Some("function_call" | "function_call_output"))
}

fn message(object: &Object, depth: usize, said: &mut Vec<Said>) {
    let role = role(object).unwrap_or_default();
    let is_user = matches!(role, "user" | "human");
    if is_item(object) {
        part(object, false, said);
        return;
    }
    if let (Some(id), Some(content)) = (text(object, "tool_call_id"), object.get("content")) {
        let is_error = object.get("status").and_then(Value::as_str) == Some("error");
        said.push(Said::Result { id, value: content.clone(), is_error });
        return;
    }
    for key in ["parts", "content"] {
        match object.get(key) {
            Some(Value::String(text)) if is_wrapper(text) => wrapper(&Value::String(text.clone()), depth + 1, said),
            Some(Value::String(words)) if is_user => said.push(Said::Words(words.clone())),
            Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_object).for_each(|p| part(p, is_user, said)),
            _ => {}
        }
    }
    for call in object.get("tool_calls").and_then(Value::as_array).unwrap_or_default() {
        let call = call.get("tool_call").unwrap_or(call);
        let function = call.get("function").unwrap_or(call).as_object();
        if let Some((function, name)) = function.and_then(|f| Some((f, text(f, "name")?))) {
            let arguments = function.get("arguments").or_else(|| function.get("args")).cloned().unwrap_or_default();
            said.push(Said::Call { id: call.as_object().and_then(|c| text(c, "id")), name, arguments });
        }
    }
}

/// Whether the text of a message is itself messages: LangChain's results and states in JSON, as some collectors write them down.
fn is_wrapper(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(2_000).collect();
    start.starts_with('{') && ["\"generations\":", "\"messages\":", "\"tool_call_id\":"].iter().any(|key| start.contains(key))
}

/// A part of a message.
fn part(part: &Object, is_user: bool, said: &mut Vec<Said>) {
    let id = |keys: &[&str]| keys.iter().find_map(|key| text(part, key));
    let value = |keys: &[&str]| keys.iter().find_map(|key| part.get(key)).cloned().unwrap_or_default();
    match part.get("type").and_then(Value::as_str) {
        Some("tool_call" | "tool_use" | "function_call") => {
            if let Some(name) = text(part, "name") {
                said.push(Said::Call { id: id(&["call_id", "id"]), name, arguments: value(&["arguments", "input", "args"]) });
            }
        }
        Some("tool_call_response" | "tool_result" | "function_call_output") => {
            if let Some(id) = id(&["call_id", "tool_use_id", "tool_call_id", "id"]) {
                let is_error = part.get("is_error") == Some(&Value::Bool(true));
                said.push(Said::Result { id, value: value(&["result", "response", "output", "content"]), is_error });
            }
        }
        _ => {
            if let Some(call) = part.get("functionCall").or_else(|| part.get("function_call")).and_then(Value::as_object) {
                if let Some(name) = text(call, "name") {
                    said.push(Said::Call { id: text(call, "id"), name, arguments: call.get("args").cloned().unwrap_or_default() });
                }
            } else if let Some(words) = text(part, "text").or_else(|| text(part, "content")).filter(|_| is_user) {
                said.push(Said::Words(words));
            }
        }
    }
}

fn text(object: &Object, key: &str) -> Option<SmolStr> {
    object.get(key).and_then(Value::as_str).map(|text| SmolStr::new(text.trim())).filter(|text| !text.is_empty())
}

/// What went into a model, and what came out, by the attributes of its span. OpenInference and Traceloop flatten messages into attributes.
pub(super) fn of_span(span: &Span) -> (Vec<Said>, Vec<Said>) {
    const INPUTS: [&str; 8] = [
        "llm.input_messages",
        "gen_ai.input.messages",
        "pydantic_ai.all_messages",
        "all_messages_events",
        "ai.prompt.messages",
        "ai.prompt",
        "gcp.vertex.agent.llm_request",
        "input.value",
    ];
    const OUTPUTS: [&str; 3] = ["llm.output_messages", "gen_ai.output.messages", "output.value"];
    let flat =
        |prefixes: [&str; 2]| prefixes.iter().map(|prefix| unflatten(span, prefix)).find(|v| v.as_array().is_some_and(|a| !a.is_empty()));
    let (mut input, mut output) = (Vec::new(), Vec::new());
    match flat(["llm.input_messages", "gen_ai.prompt"]) {
        Some(messages) => input.extend(read(&messages)),
        None => input.extend(INPUTS.iter().filter_map(|key| span.get(key)).map(read).find(|said| !said.is_empty()).unwrap_or_default()),
    }
    match flat(["llm.output_messages", "gen_ai.completion"]) {
        Some(messages) => output.extend(read(&messages)),
        None => output.extend(OUTPUTS.iter().filter_map(|key| span.get(key)).map(read).find(|said| !said.is_empty()).unwrap_or_default()),
    }
    for event in &span.events {
        let of = |keys: [&str; 2]| keys.into_iter().filter_map(|key| event.get(key)).flat_map(read).collect::<Vec<Said>>();
        input.extend(of(["gen_ai.input.messages", "input"]));
        output.extend(of(["gen_ai.output.messages", "output"]));
    }
    (input, output)
}

/// The list under `prefix.0.…`, `prefix.1.…`: attributes that were flattened, as the values that they were.
fn unflatten(span: &Span, prefix: &str) -> Value {
    let dotted = format!("{prefix}.");
    let mut tree = Tree::default();
    for (key, value) in span.attributes.range::<str, _>((Bound::Included(dotted.as_str()), Bound::Unbounded)) {
        let Some(path) = key.strip_prefix(&dotted) else {
            break;
        };
        let mut place = &mut tree;
        for step in path.split('.').filter(|step| !matches!(*step, "message" | "message_content")).take(10) {
            place = place.inner.entry(step.into()).or_default();
        }
        place.value = Some(value.clone());
    }
    tree.into_value()
}

/// Values by the steps to them.
#[derive(Default)]
struct Tree {
    value: Option<Value>,
    inner: BTreeMap<SmolStr, Tree>,
}

impl Tree {
    /// Steps that are all numbers make a list, others an object.
    fn into_value(self) -> Value {
        if self.inner.is_empty() {
            return self.value.unwrap_or_default();
        }
        if self.inner.keys().all(|key| key.parse::<usize>().is_ok()) {
            let mut items: Vec<(usize, Tree)> = self.inner.into_iter().filter_map(|(k, tree)| Some((k.parse().ok()?, tree))).collect();
            items.sort_by_key(|(number, _)| *number);
            return items.into_iter().map(|(_, tree)| tree.into_value()).collect();
        }
        let entries = self.inner.into_iter().map(|(key, tree)| (if key == "contents" { "content".into() } else { key }, tree.into_value()));
        entries.collect::<Object>().into()
    }
}
