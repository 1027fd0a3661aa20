//! What stands in a text among other text: JSON, lines, and all that is between two marks.

use super::budget::Budget;
use super::eval::fail;
use super::text;
use crate::advance::Failure;
use crate::json;
use crate::value::Value;

/// The most places in a text that are tried.
const MOST_STARTS: usize = 200;

/// The first object or list in JSON that stands in `text`.
///
/// # Errors
/// `no-json` where there is none.
pub fn find_json(text: &str) -> Result<Value, Failure> {
    let mut starts = text.char_indices().filter(|(_, c)| matches!(c, '{' | '[')).map(|(at, _)| at).take(MOST_STARTS);
    let value_at = |at: usize| {
        let rest = text.get(at..)?;
        json::parse(rest.get(..length(rest)?)?.as_bytes()).ok()
    };
    starts.find_map(value_at).ok_or_else(|| fail("no-json", "there is no object or list in JSON in the text"))
}

/// How long the object or list is that `text` starts with, by its brackets.
fn length(text: &str) -> Option<usize> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => depth += 1,
            b'}' | b']' if !in_text => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The lines of `text` that are not blank, without their ends.
pub fn lines(text: &str) -> Value {
    Value::array(text.lines().filter(|line| !line.trim().is_empty()).map(Value::from).collect())
}

/// Every part of `text` that stands between `before` and `after`, in order.
///
/// # Errors
/// Where one of the marks is empty, or there are too many parts.
pub fn all_between(text: &str, before: &str, after: &str) -> Result<Value, Failure> {
    text::all_between(text, before, after, &mut Budget::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_where_text_stands_around_it() {
        let found = |text: &str| find_json(text).map_or_else(|f| f.code.to_string(), |v| json::to_string(&v));
        assert_eq!(found("Found 2 of them:\n\n[{\"a\": \"}]\"}, {\"a\": 1.0}]\n\nThat is all."), r#"[{"a":"}]"},{"a":1.0}]"#);
        assert_eq!(found("```json\n{\"b\": [1, {\"c\": \"\\\"\"}]}\n```"), r#"{"b":[1,{"c":"\""}]}"#);
        assert_eq!(found("see [the docs] first: {\"a\": null}"), r#"{"a":null}"#);
        assert_eq!(found("none [here"), "no-json");
        assert_eq!(found("0 hits: []"), "[]");
    }

    #[test]
    fn lines_are_those_that_say_something() {
        assert_eq!(json::to_string(&lines("a\r\n\n  b \n \n")), r#"["a","  b "]"#);
        assert_eq!(json::to_string(&lines("")), "[]");
    }
}
