//! How a key and an item are taken out of a value, for expressions and for Rust that the compiler writes.

use super::eval::{count, fail, with_article};
use crate::advance::Failure;
use crate::nearest::nearest_few;
use crate::value::{Object, Value};
use smol_str::SmolStr;

/// What a message calls the value that something is taken out of.
pub(crate) type Told<'t> = &'t dyn Fn() -> String;

/// The value under `key`; `None` where the object lacks it. What is no object has no keys to look for.
pub(crate) fn key<'v>(subject: &'v Value, key: &str, told: Told) -> Result<Option<&'v Value>, Failure> {
    match subject {
        Value::Object(object) => Ok(object.get(key)),
        Value::Null => Err(fail("no-such-key", format!("{} is null, so it has no key `{key}`", told()))),
        Value::Array(_) => Err(fail("wrong-type", format!("{} is a list, so it has no key `{key}`; its items have", told()))),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(fail("wrong-type", format!("{} is {}, so it has no key `{key}`", told(), with_article(subject.type_name()))))
        }
    }
}

/// The items of a list.
pub(crate) fn list<'v>(subject: &'v Value, told: Told) -> Result<&'v [Value], Failure> {
    let wrong = || fail("wrong-type", format!("{} is {}, no list", told(), with_article(subject.type_name())));
    subject.as_array().ok_or_else(wrong)
}

/// The place of `index` in a list of so many items, from the end where it is negative.
pub(crate) fn place(index: i64, items: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
    if index < 0 { items.checked_sub(distance) } else { Some(distance).filter(|at| *at < items) }
}

/// The object lacks the key.
pub(crate) fn no_such_key(told: Told, key: &str, object: &Object) -> Failure {
    let keys = nearest_few(key, object.keys().map(SmolStr::as_str), 3);
    let keys: Vec<String> = keys.iter().map(|k| format!("`{}`", k.chars().take(60).collect::<String>())).collect();
    let has = match (keys.is_empty(), object.len() - keys.len()) {
        (true, _) => "it is empty".to_string(),
        (false, 0) => format!("it has {}", keys.join(", ")),
        (false, more) => format!("it has {} and {more} more", keys.join(", ")),
    };
    fail("no-such-key", format!("{} has no key `{key}`; {has}", told()))
}

/// The list has no item there.
pub(crate) fn no_such_item(told: Told, index: i64, items: usize) -> Failure {
    fail("no-such-item", format!("{} has {}, so none at [{index}]", told(), count(items, "item")))
}

/// No item of the list has the field.
pub(crate) fn none_matches(items: usize, test: &str) -> Failure {
    fail("none-matches", format!("none of {} matches `{test}`", count(items, "item")))
}

/// Several items of the list have the field.
pub(crate) fn several_match(matches: usize, items: usize, test: &str) -> Failure {
    fail("several-match", format!("{matches} of {} match `{test}`, which takes exactly one", count(items, "item")))
}

/// What is neither true nor false.
pub(crate) fn not_boolean(told: Told, value: &Value) -> Failure {
    fail("not-boolean", format!("{} is neither true nor false, but {}", told(), with_article(value.type_name())))
}
