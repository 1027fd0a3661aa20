//! Where two values part: the places, by JSON Pointer.

use ltc_workflow::{Value, json};

/// A place at which two values differ. What is missing on one side is `None` there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The place: a JSON Pointer (RFC 6901); empty for the whole value.
    pub pointer: String,
    /// What was expected there.
    pub expected: Option<Value>,
    /// What is there.
    pub made: Option<Value>,
}

/// The first `most` places at which `made` is not what was `expected`, in the order of the expected value.
pub fn differences(expected: &Value, made: &Value, most: usize) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(expected, made, &mut String::new(), most, &mut found);
    found
}

fn walk(expected: &Value, made: &Value, pointer: &mut String, most: usize, found: &mut Vec<Difference>) {
    if found.len() >= most {
        return;
    }
    match (expected, made) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a.iter() {
                inside(pointer, key, |pointer| match b.get(key) {
                    Some(other) => walk(value, other, pointer, most, found),
                    None => push(found, pointer, Some(value), None, most),
                });
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(key)) {
                inside(pointer, key, |pointer| push(found, pointer, None, Some(value), most));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for at in 0..a.len().max(b.len()) {
                inside(pointer, &at.to_string(), |pointer| match (a.get(at), b.get(at)) {
                    (Some(value), Some(other)) => walk(value, other, pointer, most, found),
                    (value, other) => push(found, pointer, value, other, most),
                });
            }
        }
        (a, b) if a == b => {}
        (a, b) => push(found, pointer, Some(a), Some(b), most),
    }
}

fn push(found: &mut Vec<Difference>, pointer: &str, expected: Option<&Value>, made: Option<&Value>, most: usize) {
    if found.len() < most {
        found.push(Difference { pointer: pointer.to_owned(), expected: expected.cloned(), made: made.cloned() });
    }
}

/// Runs `visit` with `pointer` one step further in.
pub fn inside(pointer: &mut String, key: &str, visit: impl FnOnce(&mut String)) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    visit(pointer);
    pointer.truncate(length);
}

/// `value` for a message: on one line, cut where it is long.
pub fn shown(value: &Value) -> String {
    const MOST: usize = 80;
    let text = json::to_string(value);
    if text.chars().count() <= MOST { text } else { format!("{}…", text.chars().take(MOST).collect::<String>()) }
}

impl Difference {
    /// What was expected, in words.
    pub fn expected_text(&self) -> String {
        self.expected.as_ref().map_or_else(|| "nothing".to_owned(), shown)
    }

    /// What is there, in words.
    pub fn made_text(&self) -> String {
        self.made.as_ref().map_or_else(|| "nothing".to_owned(), shown)
    }

    /// The place in words: ` at /a/0`, or nothing for the whole.
    pub fn place_text(&self) -> String {
        if self.pointer.is_empty() { String::new() } else { format!(" at {}", self.pointer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expected: &str, made: &str) -> Vec<String> {
        let value = |text: &str| json::parse(text.as_bytes()).unwrap();
        let describe = |d: Difference| format!("{}: {} → {}", d.pointer, d.expected_text(), d.made_text());
        differences(&value(expected), &value(made), 9).into_iter().map(describe).collect()
    }

    #[test]
    fn each_place_is_told_by_its_pointer() {
        assert_eq!(found(r#"{"a/b":[1,{"~":2}],"c":3}"#, r#"{"c":3,"a/b":[1,{"~":2}]}"#), Vec::<String>::new());
        assert_eq!(found(r#"{"a/b":[1,{"~":2}]}"#, r#"{"a/b":[1,{"~":"2"}]}"#), ["/a~1b/1/~0: 2 → \"2\""]);
        assert_eq!(found("[1,2]", "[1]"), ["/1: 2 → nothing"]);
        assert_eq!(found("{}", r#"{"x":null}"#), ["/x: nothing → null"]);
        assert_eq!(found("10", "10.0"), [": 10 → 10.0"]);
        assert_eq!(found("[1,2,3]", r#"{"a":1}"#), [": [1,2,3] → {\"a\":1}"]);
    }
}
