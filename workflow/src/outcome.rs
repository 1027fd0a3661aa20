//! From a tool's result to the value that a workflow sees.
//!
//! MCP carries a result as `structuredContent`, as JSON in a text block, or as prose. The compiler and the engine both look through
//! [`decode`], so that a workflow sees in a run what the compiler saw in the recording:
//!
//! 1. `structuredContent`, where it is there. An object with the single key `result` that the text does not show as well is a wrapper that
//!    some servers put around everything that is no object: its inside counts.
//! 2. Else the text: an object or a list in JSON is that value, any other text stays text (`007` and `12` too). So does JSON that is nested
//!    deeper than a value of a workflow may be: whatever is decoded can be used.
//! 3. Several blocks are a list; a block that is no text stays the block that it is.

use crate::expr::eval::MAX_VALUE_DEPTH;
use crate::json;
use crate::value::Value;

/// The value of a successful `CallToolResult` with this `content` and `structuredContent`.
pub fn decode(content: &[Value], structured: Option<&Value>) -> Value {
    let Some(structured) = structured.filter(|s| !s.is_null()) else {
        return decode_content(content);
    };
    match structured.as_object() {
        Some(object) if object.len() == 1 && !content.is_empty() => match object.get("result") {
            Some(inner) if decode_content(content) != *structured => decode_string(inner, 0),
            _ => structured.clone(),
        },
        _ => structured.clone(),
    }
}

fn decode_content(content: &[Value]) -> Value {
    match content {
        [] => Value::Null,
        [block] => decode_block(block, 0),
        blocks => blocks.iter().map(|block| decode_block(block, 1)).collect(),
    }
}

fn decode_block(block: &Value, around: usize) -> Value {
    match block.get("text") {
        Some(text) if block.get("type").and_then(Value::as_str).is_none_or(|t| t == "text") => decode_string(text, around),
        _ => block.clone(),
    }
}

fn decode_string(value: &Value, around: usize) -> Value {
    match value {
        Value::String(text) => decode_inside(text, around),
        _ => value.clone(),
    }
}

/// An object or a list where `text` is one in JSON that is no deeper than [`MAX_VALUE_DEPTH`]; else the text itself.
pub fn decode_text(text: &str) -> Value {
    decode_inside(text, 0)
}

/// The value of a text that has `around` lists around it.
fn decode_inside(text: &str, around: usize) -> Value {
    let start = text.trim_start_matches([' ', '\t', '\r', '\n']);
    if start.starts_with(['{', '['])
        && let Ok(value) = json::parse_within(text.as_bytes(), MAX_VALUE_DEPTH + 1 - around)
    {
        return value;
    }
    Value::from(text)
}

/// The text of a result's blocks, one a line: what a person reads, and what a failure says.
pub fn text_of(content: &[Value]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(|b| b.get("text").and_then(Value::as_str)).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).expect("valid JSON in a test")
    }

    fn decoded(result: &str) -> Value {
        let result = value(result);
        decode(result.get("content").and_then(Value::as_array).unwrap_or_default(), result.get("structuredContent"))
    }

    #[test]
    fn structured_content_comes_first() {
        assert_eq!(decoded(r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":2}}"#), value(r#"{"a":2}"#));
        assert_eq!(decoded(r#"{"content":[],"structuredContent":{"result":2}}"#), value(r#"{"result":2}"#));
    }

    #[test]
    fn a_wrapper_around_the_text_is_taken_off() {
        assert_eq!(decoded(r#"{"content":[{"type":"text","text":"hi"}],"structuredContent":{"result":"hi"}}"#), value(r#""hi""#));
        assert_eq!(
            decoded(r#"{"content":[{"type":"text","text":"{\"result\":7}"}],"structuredContent":{"result":7}}"#),
            value(r#"{"result":7}"#)
        );
    }

    #[test]
    fn text_is_json_only_where_it_is_an_object_or_a_list() {
        assert_eq!(decoded(r#"{"content":[{"type":"text","text":" [1, 2.0]\n"}]}"#), value("[1,2.0]"));
        for text in ["007", "12", "true", "{broken", "[cut", "null"] {
            assert_eq!(decode_text(text), Value::from(text));
        }
        assert_eq!(
            decoded(r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"x"}]}"#),
            value(r#"["a",{"type":"image","data":"x"}]"#)
        );
        assert_eq!(decoded(r#"{"content":[]}"#), Value::Null);
    }

    #[test]
    fn what_is_decoded_can_be_used_and_what_is_too_deep_stays_text() {
        use crate::expr::eval::Budget;
        use crate::expr::measure;
        let text = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let block = |levels: usize| value(&format!(r#"{{"type":"text","text":"{}"}}"#, text(levels)));
        let is_usable = |value: &Value| measure(value, &mut Budget::default()).is_ok();
        assert_eq!(decode_text(&text(MAX_VALUE_DEPTH)), value(&text(MAX_VALUE_DEPTH)));
        assert!(is_usable(&decode_text(&text(MAX_VALUE_DEPTH))));
        let deep = text(MAX_VALUE_DEPTH + 1);
        assert_eq!(decode_text(&deep), Value::from(deep.as_str()));
        assert!(!is_usable(&value(&deep)), "the limit is not lower than it has to be");
        // Several blocks are a list, which is a level of its own.
        let several = decode(&[block(MAX_VALUE_DEPTH - 1), block(MAX_VALUE_DEPTH)], None);
        assert!(is_usable(&several));
        assert_eq!(several.at(0), Some(&value(&text(MAX_VALUE_DEPTH - 1))));
        assert_eq!(several.at(1), Some(&Value::string(text(MAX_VALUE_DEPTH))));
    }
}
