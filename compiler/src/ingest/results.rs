//! What a recorder wrote down as a result → what the server returned.
//!
//! Harnesses wrap results: JSON in a string in a text block in a string, or what Python's `print` shows of a result object. The wrappers are
//! taken off, at most four of them. What is inside is the server's, and stays as it is: JSON in a text block stays text.

use super::python;
use crate::trace::{Body, Outcome};
use ltc_workflow::json;
use ltc_workflow::{Object, Value};

/// The most wrappers that are taken off.
const WRAPPERS: usize = 4;

/// A result, and what the wrappers said about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// What the server returned.
    pub body: Body,
    /// Whether a wrapper marked it as an error.
    pub is_error: bool,
    /// Whether the recorder cut it off.
    pub cut: bool,
}

impl Answer {
    /// A result that is one text.
    pub fn text(text: &str) -> Answer {
        Answer { body: Body::text(text), ..Answer::default() }
    }

    /// The same, marked as an error.
    pub fn marked(self) -> Answer {
        Answer { is_error: true, ..self }
    }

    /// The outcome, where `flag` says whether the format marks it as an error.
    pub fn outcome(self, flag: bool) -> Outcome {
        if flag || self.is_error { Outcome::ToolError(self.body) } else { Outcome::Result(self.body) }
    }
}

/// A `CallToolResult` as it is: nothing is taken off. An object that is none counts as structured content.
pub(crate) fn tool_result(value: &Value) -> Answer {
    match value {
        Value::Object(object) => as_tool_result(object).unwrap_or_else(|| structured(value)),
        Value::String(text) => Answer::text(text),
        Value::Array(items) if items.iter().all(is_block) => blocks(items),
        Value::Null => Answer::default(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => structured(value),
    }
}

/// A result as a harness wrote it down: its wrappers are taken off.
pub(crate) fn peel(value: &Value) -> Answer {
    let mut answer = tool_result(value);
    for _ in 0..WRAPPERS {
        let Some(inner) = only_text(&answer.body).and_then(unwrap_text) else {
            break;
        };
        answer = Answer { body: inner.body, is_error: answer.is_error || inner.is_error, cut: answer.cut || inner.cut };
    }
    if let Some(inner) = only_text(&answer.body).filter(|_| answer.cut).and_then(unwrap_cut) {
        answer.body = Body::text(inner);
    }
    answer.cut |= only_text(&answer.body).is_some_and(is_cut);
    answer
}

/// The text of the first block of a result object in JSON that was cut off inside of it.
fn unwrap_cut(text: &str) -> Option<String> {
    let (head, rest) = text.split_once("\"text\": \"").or_else(|| text.split_once("\"text\":\""))?;
    if !head.trim_start().starts_with('{') || !head.contains("\"content\"") || head.len() > 200 {
        return None;
    }
    // What ends in the middle of an escape is cut until it ends well: the longest escape has twelve letters.
    let ends = rest.char_indices().map(|(at, _)| at).rev().take(14);
    std::iter::once(rest.len()).chain(ends).find_map(|end| {
        let value = json::parse(format!("\"{}\"", rest.get(..end)?).as_bytes()).ok()?;
        value.as_str().map(str::to_owned)
    })
}

/// A result in an attribute or a field that holds JSON in a string: a `CallToolResult` or its blocks in JSON are what they say, a text is
/// a text.
pub(crate) fn from_json_text(value: &Value) -> Answer {
    let parsed = value.as_str().and_then(parse_container);
    match &parsed {
        Some(Value::Object(object)) if holds_blocks(object) => as_tool_result(object).unwrap_or_else(|| tool_result(value)),
        Some(Value::Array(items)) if !items.is_empty() && items.iter().all(is_block) => blocks(items),
        _ => tool_result(value),
    }
}

/// Whether the content, if there is any, is of blocks that are known: documents of other kinds have a `content` of typed parts as well.
fn holds_blocks(object: &Object) -> bool {
    object.get("content").and_then(Value::as_array).is_none_or(|items| items.iter().all(is_block))
}

fn parse_container(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['{', '[']).then(|| json::parse(text.as_bytes()).ok())?
}

fn structured(value: &Value) -> Answer {
    Answer { body: Body { content: Vec::new(), structured: Some(value.clone()) }, ..Answer::default() }
}

fn blocks(items: &[Value]) -> Answer {
    Answer { body: Body { content: items.iter().map(block).collect(), structured: None }, ..Answer::default() }
}

/// Whether this is a content block, as MCP or a provider's API has it.
fn is_block(value: &Value) -> bool {
    match value.get("type").and_then(Value::as_str) {
        Some("text" | "input_text" | "output_text") => value.get("text").and_then(Value::as_str).is_some(),
        Some("image" | "audio" | "resource" | "resource_link" | "input_image" | "image_url" | "document" | "search_result") => true,
        Some("tool_reference") | None | Some(_) => false,
    }
}

/// A block as MCP has it: a provider's names for text become `text`, and what only a provider or a recorder adds goes.
fn block(value: &Value) -> Value {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "text" | "input_text" | "output_text") {
        return value.clone();
    }
    let kept = value.as_object().into_iter().flat_map(Object::iter).filter(|(key, value)| match key.as_str() {
        "type" | "cache_control" | "citations" => false,
        "annotations" | "_meta" | "meta" => !(value.is_null() || value.as_array().is_some_and(<[Value]>::is_empty)),
        _ => true,
    });
    let entries = kept.map(|(key, value)| (key.clone(), value.clone()));
    std::iter::once(("type".into(), Value::from("text"))).chain(entries).collect::<Object>().into()
}

/// The object as a `CallToolResult`, if it has the shape of one: a list of blocks under `content`, and no key that a result cannot have.
fn as_tool_result(object: &Object) -> Option<Answer> {
    let known = ["content", "structuredContent", "structured_content", "isError", "is_error", "_meta", "meta", "resultType", "_type"];
    if !object.keys().all(|key| known.contains(&key.as_str())) {
        return None;
    }
    let content = object.get("content").filter(|c| !c.is_null());
    let items = content.map(|c| c.as_array().filter(|items| items.iter().all(|i| i.get("type").and_then(Value::as_str).is_some())));
    let (structured, is_error) = (either(object, "structuredContent", "structured_content"), either(object, "isError", "is_error"));
    let content = match items {
        Some(items) => items?.iter().map(block).collect(),
        None if structured.is_some() || is_error.is_some() => Vec::new(),
        None => return None,
    };
    let body = Body { content, structured: structured.cloned() };
    Some(Answer { body, is_error: is_error == Some(&Value::Bool(true)), cut: false })
}

fn either<'o>(object: &'o Object, key: &str, other: &str) -> Option<&'o Value> {
    object.get(key).filter(|v| !v.is_null()).or_else(|| object.get(other).filter(|v| !v.is_null()))
}

fn only_text(body: &Body) -> Option<&str> {
    match (body.content.as_slice(), &body.structured) {
        ([only], None) => only.get("text").and_then(Value::as_str),
        _ => None,
    }
}

/// What a text holds, if it is unmistakably a wrapper: a result object in JSON or in Python's spelling, a single text block, a list of blocks.
fn unwrap_text(text: &str) -> Option<Answer> {
    let start = text.trim_start();
    if start.starts_with("meta=") || start.starts_with("_meta=") || start.starts_with("content=[") {
        let (pairs, cut) = python::parse_pairs(start)?;
        return as_tool_result(&pairs).map(|answer| Answer { cut, ..answer });
    }
    match parse_container(text)? {
        Value::Object(object) if is_text_block(&object) => {
            let is_error = object.get("error") == Some(&Value::Bool(true));
            object.get("text").and_then(Value::as_str).map(|text| Answer { is_error, ..Answer::text(text) })
        }
        Value::Object(object) if object.contains_key("content") && object.contains_key("isError") => as_tool_result(&object),
        Value::Array(items) if !items.is_empty() && items.iter().all(|i| i.as_object().is_some_and(is_text_block)) => Some(blocks(&items)),
        _ => None,
    }
}

fn is_text_block(object: &Object) -> bool {
    object.get("type").and_then(Value::as_str) == Some("text")
        && object.get("text").and_then(Value::as_str).is_some()
        && object.keys().all(|key| matches!(key.as_str(), "type" | "text" | "annotations" | "meta" | "_meta" | "error"))
}

/// The marks that recorders leave where they cut: Toolathlon's notice at the end, Claude Code's at the beginning.
fn is_cut(text: &str) -> bool {
    text.starts_with("<persisted-output>") || text.contains("\n\n(The output of the tool call (shortuuid identifier:")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_text_is_a_text() {
        for text in ["hi", "{\"a\":1}", "[1]", "{\"content\":[]}", "meta=1", "[]", "{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}"] {
            assert_eq!(peel(&Value::from(text)), Answer::text(text), "{text}");
        }
    }

    #[test]
    fn four_layers_of_a_harness() {
        let innermost = r#"{"rows":[1]}"#;
        let result = format!(r#"{{"meta":null,"content":[{{"type":"text","text":{}}}],"isError":false}}"#, json::quote(innermost));
        let wrapped = format!(r#"{{"type":"text","text":{},"annotations":null}}"#, json::quote(&result));
        assert_eq!(peel(&Value::from(wrapped.as_str())), Answer::text(innermost));
    }

    #[test]
    fn python_around_json() {
        let inner = r#"{"_meta": null, "content": [{"type": "text", "text": "done", "annotations": null}], "isError": true}"#;
        let printed = format!("meta=None content=[TextContent(type='text', text='{inner}', annotations=None)] isError=False");
        assert_eq!(peel(&Value::from(printed.as_str())), Answer { is_error: true, ..Answer::text("done") });
        let cut = peel(&Value::from("meta=None content=[TextContent(type='text', text='half of"));
        assert_eq!(cut, Answer { cut: true, ..Answer::text("half of") });
        let cut = peel(&Value::from(
            r#"meta=None content=[TextContent(type='text', text='{"_meta": null, "content": [{"type": "text", "text": "a \\"b\\u00"#,
        ));
        assert_eq!(cut, Answer { cut: true, ..Answer::text("a \"b") });
    }

    #[test]
    fn results_as_they_are() {
        let raw =
            value(r#"{"content":[{"type":"text","text":"{\"content\":[],\"isError\":true}"}],"structuredContent":{"a":1},"isError":true}"#);
        let answer = tool_result(&raw);
        assert!(answer.is_error);
        assert_eq!(answer.body.structured, Some(value(r#"{"a":1}"#)));
        assert_eq!(answer.body.content, vec![value(r#"{"type":"text","text":"{\"content\":[],\"isError\":true}"}"#)]);
        assert_eq!(tool_result(&value(r#"{"content":"a page"}"#)).body.structured, Some(value(r#"{"content":"a page"}"#)));
        assert_eq!(from_json_text(&Value::from(r#"[{"type":"text","text":"x"}]"#)), Answer::text("x"));
        for text in [r#"[{"id":1}]"#, r#"{"content":[{"type":"paragraph","text":"x"}]}"#, r#"{"output":1}"#] {
            assert_eq!(from_json_text(&Value::from(text)), Answer::text(text));
        }
    }

    #[test]
    fn an_error_mark_of_a_wrapper() {
        let answer = peel(&Value::from(r#"{"type":"text","text":"no such row","error":true}"#));
        assert_eq!(answer, Answer { is_error: true, ..Answer::text("no such row") });
    }
}
