//! JSON values as they were written: a number keeps its digits, an object keeps the order of its keys.
//!
//! `serde_json::Value` turns integers past 64 bits into floats, and its lossless mode changes the shape of a number for every other
//! serializer. Here a number is its text: `1`, `1.0` and `1e0` are three numbers, and all of them leave as they came. Cloning is cheap:
//! arrays and objects are shared.

use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A JSON value. Equality is that of JSON documents: the order of keys does not count, the spelling of a number does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// A string.
    String(SmolStr),
    /// A list of values.
    Array(Arc<Vec<Value>>),
    /// Keys and values, in the order in which they were written.
    Object(Object),
}

/// A JSON number: its text, never rounded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Number(SmolStr);

/// A JSON object. Keys are unique and keep their order; equality ignores the order.
#[derive(Clone, Debug, Default)]
pub struct Object(Arc<Vec<(SmolStr, Value)>>);

impl Number {
    /// The number that `text` spells, if JSON's grammar allows the spelling.
    pub fn parse(text: &str) -> Option<Number> {
        is_json_number(text).then(|| Number(SmolStr::new(text)))
    }

    /// The number as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is spelled as an integer (no point, no exponent).
    pub fn is_integer(&self) -> bool {
        self.0.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    }

    /// The value as an `i64`, where it is spelled as an integer and fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The nearest `f64`.
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }
}

impl Default for Number {
    /// Zero.
    fn default() -> Number {
        Number(SmolStr::new_static("0"))
    }
}

impl fmt::Display for Number {
    /// The number as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<i64> for Number {
    fn from(n: i64) -> Number {
        Number(SmolStr::new(n.to_string()))
    }
}

impl From<usize> for Number {
    fn from(n: usize) -> Number {
        Number(SmolStr::new(n.to_string()))
    }
}

/// JSON's own grammar: `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
fn is_json_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && bytes.get(at) == Some(&b'0')) {
        return false;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return false;
        }
        at += 1 + fraction;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return false;
        }
        at += exponent;
    }
    at == bytes.len()
}

impl Object {
    /// The entries in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&SmolStr, &Value)> + ExactSizeIterator {
        self.0.iter().map(|(k, v)| (k, v))
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Whether there is a value under `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys in their order.
    pub fn keys(&self) -> impl Iterator<Item = &SmolStr> {
        self.0.iter().map(|(k, _)| k)
    }

    /// Sets `key`: in its place if it is there, else at the end.
    pub fn insert(&mut self, key: impl Into<SmolStr>, value: Value) {
        let key = key.into();
        let entries = Arc::make_mut(&mut self.0);
        match entries.iter_mut().find(|(k, _)| *k == key) {
            Some(entry) => entry.1 = value,
            None => entries.push((key, value)),
        }
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(Arc::make_mut(&mut self.0).remove(at).1)
    }

    /// The entries, sorted by key: the form in which order does not count.
    pub fn sorted(&self) -> Vec<(&SmolStr, &Value)> {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_by(|a, b| a.0.cmp(b.0));
        entries
    }

    /// The object of these entries; a later one replaces an earlier one with its key, in its place.
    pub fn from_entries(entries: Vec<(SmolStr, Value)>) -> Object {
        entries.into_iter().collect()
    }

    /// An object of entries whose keys the caller knows to be unique.
    pub(crate) fn from_unique(entries: Vec<(SmolStr, Value)>) -> Object {
        Object(Arc::new(entries))
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        if self.len() != other.len() {
            return false;
        }
        if self.iter().zip(other.iter()).all(|(a, b)| a.0 == b.0) {
            return self.iter().zip(other.iter()).all(|(a, b)| a.1 == b.1);
        }
        self.sorted() == other.sorted()
    }
}

impl Eq for Object {}

impl<K: Into<SmolStr>> FromIterator<(K, Value)> for Object {
    /// Later values replace earlier ones under the same key.
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Object {
        let mut places: BTreeMap<SmolStr, usize> = BTreeMap::new();
        let mut unique: Vec<(SmolStr, Value)> = Vec::new();
        for (key, value) in entries {
            let key = key.into();
            match places.get(&key).and_then(|place| unique.get_mut(*place)) {
                Some(entry) => entry.1 = value,
                None => {
                    places.insert(key.clone(), unique.len());
                    unique.push((key, value));
                }
            }
        }
        Object::from_unique(unique)
    }
}

impl Value {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(o) => Some(o),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(n) => Some(n),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value under `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The item at `index`, if this is a list that has it.
    pub fn at(&self, index: usize) -> Option<&Value> {
        self.as_array()?.get(index)
    }

    /// A word for its type, as JSON Schema has it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(n) if n.is_integer() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    /// A string value.
    pub fn string(text: impl Into<SmolStr>) -> Value {
        Value::String(text.into())
    }

    /// A list value.
    pub fn array(items: Vec<Value>) -> Value {
        Value::Array(Arc::new(items))
    }
}

/// A value equals a text where it is that text.
impl PartialEq<str> for Value {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == Some(text)
    }
}

/// A value equals a text where it is that text.
impl PartialEq<&str> for Value {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == Some(*text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(SmolStr::new(text))
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Value {
        Value::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Value {
        Value::Number(n.into())
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Value {
        Value::Number(n.into())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Object(object)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Value {
        Value::array(items.into_iter().collect())
    }
}
