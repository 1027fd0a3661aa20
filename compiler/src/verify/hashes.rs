//! Hashes of values, for lookups: equal values have equal hashes, in every run, whatever the order of their keys.

use ltc_workflow::{Object, Value};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// The hash of a value.
pub fn of(value: &Value) -> u64 {
    match value {
        Value::Null => 1,
        Value::Bool(b) => one(&(2_u8, *b)),
        Value::Number(number) => one(&(3_u8, number.as_str())),
        Value::String(text) => one(&(4_u8, text.as_str())),
        Value::Array(items) => items.iter().fold(one(&(5_u8, items.len())), |sum, item| one(&(sum, of(item)))),
        Value::Object(object) => of_object(object),
    }
}

/// The hash of an object.
pub fn of_object(object: &Object) -> u64 {
    object.iter().fold(6, |sum: u64, (key, value)| sum.wrapping_add(one(&(key.as_str(), of(value)))))
}

/// The hash of a call: its server, its tool and its arguments.
pub fn of_call(server: &str, tool: &str, arguments: &Object) -> u64 {
    one(&(server, tool, of_object(arguments)))
}

fn one(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    #[test]
    fn the_order_of_keys_does_not_count_and_the_spelling_of_numbers_does() {
        let hash = |text: &str| of(&json::parse(text.as_bytes()).unwrap());
        assert_eq!(hash(r#"{"a":1,"b":[2,{"c":null}]}"#), hash(r#"{"b":[2,{"c":null}],"a":1}"#));
        for (a, b) in [("1", "1.0"), ("1", "\"1\""), ("[1,2]", "[2,1]"), (r#"{"a":1,"b":2}"#, r#"{"a":2,"b":1}"#), ("[]", "{}")] {
            assert_ne!(hash(a), hash(b), "{a} {b}");
        }
    }
}
