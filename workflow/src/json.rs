//! JSON in and out, without loss.
//!
//! Reading refuses what two readers could understand in two ways: duplicate keys, `NaN`, bytes that are no UTF-8, text after the end, and
//! nesting deeper than [`MAX_DEPTH`]. Every refusal names its line and column. Writing gives back each number with the digits it came with.

use crate::value::{Number, Object, Value};
use jiter::{Jiter, JiterError, Peek};
use smol_str::SmolStr;
use std::collections::BTreeSet;
use std::fmt;

/// The deepest nesting that is read: as deep as other JSON readers go, and shallow enough for any stack.
pub const MAX_DEPTH: usize = 128;

/// Why a text is no JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.message, self.line, self.column)
    }
}

impl std::error::Error for JsonError {}

/// Reads one JSON value that fills the whole of `bytes`.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    parse_within(bytes, MAX_DEPTH)
}

/// As [`parse`], with at most `levels` of nesting; a scalar alone is one.
///
/// # Errors
/// As those of [`parse`].
pub(crate) fn parse_within(bytes: &[u8], levels: usize) -> Result<Value, JsonError> {
    let mut reader = Reader { jiter: Jiter::new(bytes), levels };
    let peek = reader.jiter.peek().map_err(|e| reader.syntax(&e))?;
    let value = reader.value(peek, 0)?;
    reader.jiter.finish().map_err(|e| reader.syntax(&e))?;
    Ok(value)
}

struct Reader<'j> {
    jiter: Jiter<'j>,
    levels: usize,
}

impl Reader<'_> {
    fn value(&mut self, peek: Peek, depth: usize) -> Result<Value, JsonError> {
        if depth >= self.levels {
            return Err(self.here(format!("more than {} levels of nesting", self.levels)));
        }
        match peek {
            Peek::Null => self.jiter.known_null().map(|()| Value::Null).map_err(|e| self.syntax(&e)),
            Peek::True | Peek::False => self.jiter.known_bool(peek).map(Value::Bool).map_err(|e| self.syntax(&e)),
            Peek::String => {
                let text = self.jiter.known_str().map(SmolStr::new);
                text.map(Value::String).map_err(|e| self.syntax(&e))
            }
            Peek::Array => self.array(depth),
            Peek::Object => self.object(depth),
            _ => self.number(peek),
        }
    }

    fn number(&mut self, peek: Peek) -> Result<Value, JsonError> {
        let digits = self.jiter.known_number_bytes(peek).map(|b| String::from_utf8_lossy(b).into_owned());
        let digits = digits.map_err(|e| self.syntax(&e))?;
        Number::parse(&digits).map(Value::Number).ok_or_else(|| self.here(format!("`{digits}` is not a number in JSON")))
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        let mut next = self.jiter.known_array().map_err(|e| self.syntax(&e))?;
        while let Some(peek) = next {
            items.push(self.value(peek, depth + 1)?);
            next = self.jiter.array_step().map_err(|e| self.syntax(&e))?;
        }
        items.shrink_to_fit();
        Ok(Value::array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        let mut entries: Vec<(SmolStr, Value)> = Vec::new();
        let mut seen: BTreeSet<SmolStr> = BTreeSet::new();
        let mut next = self.jiter.known_object().map(|k| k.map(SmolStr::new)).map_err(|e| self.syntax(&e))?;
        while let Some(key) = next {
            if is_duplicate(&entries, &mut seen, &key) {
                return Err(self.here(format!("the key {} is there twice", quote(&key))));
            }
            let peek = self.jiter.peek().map_err(|e| self.syntax(&e))?;
            let value = self.value(peek, depth + 1)?;
            entries.push((key, value));
            next = self.jiter.next_key().map(|k| k.map(SmolStr::new)).map_err(|e| self.syntax(&e))?;
        }
        entries.shrink_to_fit();
        Ok(Value::Object(Object::from_unique(entries)))
    }

    fn here(&self, message: String) -> JsonError {
        let place = self.jiter.current_position();
        JsonError { line: place.line, column: place.column, message }
    }

    fn syntax(&self, error: &JiterError) -> JsonError {
        let place = error.get_position(&self.jiter);
        let what = error.error_type.to_string();
        JsonError { line: place.line, column: place.column, message: what }
    }
}

/// Few keys are compared one by one; many go through a set, so that a hostile object costs no square.
fn is_duplicate(entries: &[(SmolStr, Value)], seen: &mut BTreeSet<SmolStr>, key: &SmolStr) -> bool {
    const FEW: usize = 24;
    if entries.len() < FEW {
        return entries.iter().any(|(k, _)| k == key);
    }
    if entries.len() == FEW {
        seen.extend(entries.iter().map(|(k, _)| k.clone()));
    }
    !seen.insert(key.clone())
}

/// `text` as a JSON string literal.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    out
}

/// `value` on one line, without blanks.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, None, 0, false);
    out
}

/// `value` over several lines, indented by two blanks.
pub fn to_string_pretty(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, Some(2), 0, false);
    out
}

/// `value` on one line with sorted keys: the form that is hashed and compared.
pub fn to_canonical_string(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, None, 0, true);
    out
}

fn write_value(out: &mut String, value: &Value, indent: Option<usize>, depth: usize, sorted: bool) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(n.as_str()),
        Value::String(s) => write_string(out, s),
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Object(object) if object.is_empty() => out.push_str("{}"),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                separate(out, i, indent, depth + 1);
                write_value(out, item, indent, depth + 1, sorted);
            }
            line_break(out, indent, depth);
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            let entries = if sorted { object.sorted() } else { object.iter().collect() };
            for (i, (key, item)) in entries.into_iter().enumerate() {
                separate(out, i, indent, depth + 1);
                write_string(out, key);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write_value(out, item, indent, depth + 1, sorted);
            }
            line_break(out, indent, depth);
            out.push('}');
        }
    }
}

fn separate(out: &mut String, index: usize, indent: Option<usize>, depth: usize) {
    if index > 0 {
        out.push(',');
    }
    line_break(out, indent, depth);
}

fn line_break(out: &mut String, indent: Option<usize>, depth: usize) {
    if let Some(width) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', width * depth));
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str) -> String {
        match parse(text.as_bytes()) {
            Ok(value) => to_string(&value),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn numbers_keep_their_digits() {
        for number in ["0", "-0", "1.0", "1.00", "1e3", "1E+3", "123456789012345678901234567890", "0.1000000000000000055511151231257827"] {
            assert_eq!(round(number), number);
        }
    }

    #[test]
    fn what_is_ambiguous_is_refused_with_its_place() {
        for text in ["NaN", "[Infinity]", "01", "1.", "{\"a\":1,\"a\":2}", "[1,]", "[1] 2", "\"\\ud800\"", "", "[", "{\"a\"", "\"abc", "-"]
        {
            let error = parse(text.as_bytes()).expect_err(text);
            assert!(error.line >= 1, "{text}: {error}");
        }
        assert!(parse(b"\"\xff\"").is_err());
        assert!(parse("[".repeat(100_000).as_bytes()).is_err());
        let many: String = (0..100).map(|i| format!("\"k{}\":0,", i % 60)).collect();
        assert!(parse(format!("{{{many}\"z\":1}}").as_bytes()).is_err());
    }

    #[test]
    fn order_of_keys_is_kept_and_does_not_count() {
        assert_eq!(round(r#"{"b":1,"a":{"z":[],"y":{}}}"#), r#"{"b":1,"a":{"z":[],"y":{}}}"#);
        assert_eq!(parse(br#"{"b":1,"a":2}"#), parse(br#"{"a":2,"b":1}"#));
        assert_ne!(parse(b"1.0"), parse(b"1"));
    }
}
