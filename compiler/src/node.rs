//! A value with its place in the file: what a reader walks along, so that every complaint can say where.

use crate::diagnostics::{Diagnostic, Severity};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

/// A value and where it stands: the line of its document in a file of JSON lines, and the JSON Pointer inside of it.
#[derive(Clone, Debug)]
pub(crate) struct Node<'v> {
    pub value: &'v Value,
    line: Option<usize>,
    pointer: String,
}

impl<'v> Node<'v> {
    /// The root of a document; `line` is where it begins in a file that has several.
    pub fn root(value: &'v Value, line: Option<usize>) -> Node<'v> {
        Node { value, line, pointer: String::new() }
    }

    /// A node at a line and a pointer that the caller knows.
    pub fn within(value: &'v Value, line: Option<usize>, pointer: &str) -> Node<'v> {
        Node { value, line, pointer: pointer.to_owned() }
    }

    /// Where it stands, for messages.
    pub fn place(&self) -> String {
        match (self.line, self.pointer.as_str()) {
            (None, "") => "/".to_owned(),
            (None, pointer) => pointer.to_owned(),
            (Some(line), "") => format!("line {line}"),
            (Some(line), pointer) => format!("line {line}, {pointer}"),
        }
    }

    /// The line and the pointer of its place: what [`Node::within`] takes.
    pub fn origin(&self) -> (Option<usize>, &str) {
        (self.line, &self.pointer)
    }

    fn step(&self, value: &'v Value, token: &str) -> Node<'v> {
        let token = token.replace('~', "~0").replace('/', "~1");
        Node { value, line: self.line, pointer: format!("{}/{token}", self.pointer) }
    }

    /// What is under `key`; a missing key and `null` are both nothing.
    pub fn get(&self, key: &str) -> Option<Node<'v>> {
        self.value.get(key).filter(|v| !v.is_null()).map(|v| self.step(v, key))
    }

    /// The raw value under `key`; a missing key and `null` are both nothing.
    pub fn raw(&self, key: &str) -> Option<&'v Value> {
        self.value.get(key).filter(|v| !v.is_null())
    }

    /// The string under `key`, if it is one.
    pub fn str(&self, key: &str) -> Option<&'v str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// The boolean under `key`, if it is one.
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.value.get(key).and_then(Value::as_bool)
    }

    /// The string under `key`; anything else that is there is an error.
    pub fn text(&self, key: &str) -> Result<Option<SmolStr>, Diagnostic> {
        match self.get(key) {
            None => Ok(None),
            Some(node) => match node.value {
                Value::String(text) => Ok(Some(text.clone())),
                _ => Err(node.wrong("a string")),
            },
        }
    }

    /// The string under `key`, which has to be there.
    pub fn need_text(&self, key: &str) -> Result<SmolStr, Diagnostic> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    /// The object under `key`; anything else that is there is an error.
    pub fn object(&self, key: &str) -> Result<Option<Object>, Diagnostic> {
        match self.get(key) {
            None => Ok(None),
            Some(node) => match node.value {
                Value::Object(object) => Ok(Some(object.clone())),
                _ => Err(node.wrong("an object")),
            },
        }
    }

    /// The items of the list under `key`: none where it is missing; anything else that is there is an error.
    pub fn list(&self, key: &str) -> Result<Vec<Node<'v>>, Diagnostic> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(node) if node.value.as_array().is_some() => Ok(node.items().collect()),
            Some(node) => Err(node.wrong("a list")),
        }
    }

    /// The items, where it is a list.
    pub fn items(&self) -> impl Iterator<Item = Node<'v>> + use<'v> {
        let (line, pointer) = (self.line, self.pointer.clone());
        let items = self.value.as_array().unwrap_or_default();
        items.iter().enumerate().map(move |(i, value)| Node { value, line, pointer: format!("{pointer}/{i}") })
    }

    /// The entries, where it is an object.
    pub fn entries(&self) -> Vec<(&'v SmolStr, Node<'v>)> {
        let object = self.value.as_object();
        object.map(|o| o.iter().map(|(k, v)| (k, self.step(v, k))).collect()).unwrap_or_default()
    }

    /// The complaint that `key` is not there.
    pub fn missing(&self, key: &str) -> Diagnostic {
        missing(self.place(), key)
    }

    /// The complaint that this is something else than `wanted`.
    pub fn wrong(&self, wanted: &str) -> Diagnostic {
        wrong_type(self.place(), wanted, self.value)
    }
}

/// A name for a type, as people say it.
fn a_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn wrong_type(place: String, wanted: &str, found: &Value) -> Diagnostic {
    Diagnostic::new(Severity::Error, "wrong-type", place, format!("here is {}, where {wanted} belongs", a_type(found)))
}

fn missing(place: String, key: &str) -> Diagnostic {
    Diagnostic::new(Severity::Error, "missing-field", place, format!("`{key}` is missing"))
}
