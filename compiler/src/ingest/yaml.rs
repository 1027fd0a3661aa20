//! YAML → a value, for cassettes of HTTP traffic and for traces that are written by hand. Recorders write aliases, which the reader of
//! workflow documents refuses, and megabytes, of which it would keep every place.
//!
//! Plain scalars that JSON would read as a number, a boolean or `null` are that; every other scalar is a string. Duplicate keys, keys that
//! are no scalars, several documents, and documents that aliases blow up are refused.

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use ltc_workflow::json::MAX_DEPTH;
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The most values that a document can have once its aliases are written out.
const VALUES: usize = 20_000_000;

/// Why a text is no YAML that can be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// A value with the number of values in it and their depth, which is what an alias to it costs.
#[derive(Clone)]
struct Sized {
    value: Value,
    values: usize,
    depth: usize,
}

/// A list or a mapping that is not closed yet.
struct Open {
    anchor: usize,
    values: usize,
    depth: usize,
    items: Vec<Value>,
    entries: Vec<(SmolStr, Value)>,
    keys: BTreeSet<SmolStr>,
    key: Option<SmolStr>,
    is_mapping: bool,
}

/// Reads the only document of `text`.
pub(crate) fn parse(text: &str) -> Result<Value, YamlError> {
    let mut reader = Reader { stack: Vec::new(), anchors: BTreeMap::new(), root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| scan_error(&e))?;
        reader.event(&event).map_err(|message| at(&span, message))?;
    }
    Ok(reader.root.unwrap_or_default())
}

fn scan_error(error: &ScanError) -> YamlError {
    YamlError { line: error.marker().line(), column: error.marker().col() + 1, message: error.info() }
}

fn at(span: &Span, message: &str) -> YamlError {
    YamlError { line: span.start.line(), column: span.start.col() + 1, message: message.to_owned() }
}

struct Reader {
    stack: Vec<Open>,
    anchors: BTreeMap<usize, Sized>,
    root: Option<Value>,
}

impl Reader {
    fn event(&mut self, event: &Event<'_>) -> Result<(), &'static str> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_string = *style != ScalarStyle::Plain || tag.is_some();
                if self.takes_key() {
                    return self.key(text);
                }
                let value = if is_string { Value::from(&**text) } else { plain(text) };
                self.value(*anchor, Sized { value, values: 1, depth: 0 })
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(anchor).cloned().ok_or("this alias stands inside of what it names")?;
                self.value(0, value)
            }
            Event::SequenceStart(_, anchor, _) => self.open(*anchor, false),
            Event::MappingStart(_, anchor, _) => self.open(*anchor, true),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::DocumentStart(..) if self.root.is_some() => Err("a second document begins here"),
            _ => Ok(()),
        }
    }

    fn takes_key(&self) -> bool {
        self.stack.last().is_some_and(|open| open.is_mapping && open.key.is_none())
    }

    fn key(&mut self, text: &str) -> Result<(), &'static str> {
        let key = SmolStr::new(text);
        if let Some(open) = self.stack.last_mut() {
            if !open.keys.insert(key.clone()) {
                return Err("this key is there twice");
            }
            open.key = Some(key);
        }
        Ok(())
    }

    fn open(&mut self, anchor: usize, is_mapping: bool) -> Result<(), &'static str> {
        if self.takes_key() {
            return Err("a key has to be a scalar");
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err("there are too many levels of nesting");
        }
        let (items, entries, keys) = (Vec::new(), Vec::new(), BTreeSet::new());
        self.stack.push(Open { anchor, values: 1, depth: 0, items, entries, keys, key: None, is_mapping });
        Ok(())
    }

    fn close(&mut self) -> Result<(), &'static str> {
        let Some(open) = self.stack.pop() else {
            return Ok(());
        };
        let value = if open.is_mapping { open.entries.into_iter().collect::<Object>().into() } else { Value::array(open.items) };
        self.value(open.anchor, Sized { value, values: open.values, depth: open.depth + 1 })
    }

    fn value(&mut self, anchor: usize, sized: Sized) -> Result<(), &'static str> {
        if self.takes_key() {
            return Err("a key has to be a scalar");
        }
        if self.stack.len() + sized.depth > MAX_DEPTH {
            return Err("there are too many levels of nesting");
        }
        if anchor != 0 {
            self.anchors.insert(anchor, sized.clone());
        }
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(sized.value);
            return Ok(());
        };
        open.values = open.values.saturating_add(sized.values);
        open.depth = open.depth.max(sized.depth);
        if open.values > VALUES {
            return Err("the aliases up to here make the document too big");
        }
        match open.key.take() {
            Some(key) => open.entries.push((key, sized.value)),
            None => open.items.push(sized.value),
        }
        Ok(())
    }
}

fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => Number::parse(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    fn same(yaml: &str, expected: &str) {
        assert_eq!(parse(yaml).map(|v| json::to_string(&v)), Ok(expected.to_owned()), "{yaml}");
    }

    #[test]
    fn values() {
        same("a: 1\nb: [yes, '2', 1.50, ~, true]\nc: {}\n", r#"{"a":1,"b":["yes","2",1.50,null,true],"c":{}}"#);
        same("- |-\n  x\n  y\n- 007\n", r#"["x\ny","007"]"#);
        same("a: &x [1]\nb: *x\n", r#"{"a":[1],"b":[1]}"#);
        same("n: 123456789012345678901234567890", r#"{"n":123456789012345678901234567890}"#);
    }

    #[test]
    fn what_is_refused() {
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for i in 1..10 {
            bomb.push_str(&format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 10].join(",")));
        }
        for yaml in ["a: 1\na: 2", "? [1]\n: 2", "a: *nobody", "a: 1\n---\nb: 2", "a: [", bomb.as_str(), &"[".repeat(100_000)] {
            let error = parse(yaml).expect_err(&yaml[..yaml.len().min(40)]);
            assert!(error.line >= 1, "{error:?}");
        }
    }
}
