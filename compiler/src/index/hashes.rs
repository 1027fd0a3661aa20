//! Hashes of values in which the order of keys does not count.

use crate::text::hash;
use ltc_workflow::Value;

/// Where the hash of a list begins.
pub(super) const LIST: u64 = 0x6c69_7374;
/// The same of an object.
pub(super) const OBJECT: u64 = 0x6f62_6a65;

/// Two hashes as one.
pub(super) fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A hash of a value in which the order of keys does not count.
pub(super) fn tree_hash(value: &Value) -> u64 {
    match value {
        Value::Null => 1,
        Value::Bool(b) => 2 + u64::from(*b),
        Value::Number(n) => mix(4, hash(n.as_str())),
        Value::String(s) => mix(5, hash(s)),
        Value::Array(items) => items.iter().fold(LIST, |key, item| mix(key, tree_hash(item))),
        Value::Object(object) => object.iter().fold(OBJECT, |key, (name, item)| key.wrapping_add(mix(hash(name), tree_hash(item)))),
    }
}
