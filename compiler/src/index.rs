//! Where values stand in a script: for each text that a use might come from, the places that hold it.
//!
//! Before: arguments and outputs to be explained, inputs and results that might explain them. After: a lookup from text to places. The
//! values that are looked for are collected first, so that a walk over the results keeps only what may matter: memory follows the
//! arguments, not the results.

use crate::placeholders::is_reserved;
use crate::script::Script;
use crate::text::{hash, is_date, is_name, is_specific, tokens, tokens_from};
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::parse_python;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Where a value can come from, earliest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The structured input of the run.
    Input,
    /// The text of the task.
    Task,
    /// The result of a call, by its index in the script.
    Call(usize),
}

/// A step on the way into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStep {
    /// Into an object.
    Key(SmolStr),
    /// Into a list.
    Index(usize),
    /// Through a text that is JSON.
    Json,
    /// Through a text that is a Python literal.
    Python,
}

/// A way into a value.
pub type Path = Rc<[PathStep]>;

/// A place that holds a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// In what.
    pub source: Source,
    /// The way to it.
    pub path: Path,
    /// The part of the text there, in bytes; `None` is the whole value.
    pub span: Option<(usize, usize)>,
}

/// For each text that was looked for, the places that hold it, earliest first.
#[derive(Debug, Default)]
pub struct Index {
    texts: FxHashMap<u64, Vec<Place>>,
    trees: FxHashMap<u64, Vec<Place>>,
    in_lists: BTreeSet<(Source, Vec<PathStep>)>,
}

/// The most places that are kept for one text: one that stands everywhere is no evidence.
const MOST_PLACES: usize = 64;
/// The most tokens of a window: longer parts of a text are found as a whole value or not at all.
const MOST_TOKENS: usize = 16;
/// The most tokens of one text that are looked at for windows.
const MOST_TOKENS_OF_A_TEXT: usize = 4_000;
/// How much a part of a text must say to be looked for inside other texts.
const LEAST_BITS_IN_PROSE: f64 = 10.0;
/// How long a date is: `2026-03-05`.
const DATE: usize = 10;
/// How many layers of JSON in text are opened.
const MOST_LAYERS: usize = 4;

/// The index of a script: what its arguments and output hold, and the keys by which items of lists may have been picked.
pub fn build(script: &Script) -> Index {
    let index = Index::of(script, &[]);
    let keys = index.keys_of_items(script);
    if keys.is_empty() { index } else { Index::of(script, &keys) }
}

/// The most items whose fields are looked for.
const MOST_ITEMS: usize = 2_000;

impl Index {
    /// The scalar fields of the list items that hold something that is used: an item may have been picked by one of them.
    fn keys_of_items(&self, script: &Script) -> Vec<Value> {
        let mut keys = Vec::new();
        for (source, path) in &self.in_lists {
            let Source::Call(call) = source else { continue };
            let Some(item) = script.calls.get(*call).and_then(|c| follow(&c.value, path)) else { continue };
            for (_, value) in item.as_object().into_iter().flat_map(|o| o.sorted()) {
                match value {
                    Value::String(text) if text.len() <= 80 => keys.push(value.clone()),
                    Value::Number(_) => keys.push(value.clone()),
                    _ => {}
                }
            }
        }
        keys
    }

    /// The places that hold what is used in `script`: its arguments and output, and `more` values.
    pub fn of(script: &Script, more: &[Value]) -> Index {
        let mut wanted = Wanted::default();
        for call in &script.calls {
            for (_, value) in call.arguments.iter() {
                wanted.add(value, 0);
            }
        }
        for value in script.output.iter().chain(more) {
            wanted.add(value, 0);
        }
        let mut walk =
            Walk { wanted: &wanted, index: Index::default(), path: Vec::new(), source: Source::Input, volatile: None, layers: 0 };
        walk.value(&Value::Object(script.input.clone()));
        if let Some(task) = &script.task {
            walk.source = Source::Task;
            walk.text(task);
        }
        for (at, call) in script.calls.iter().enumerate() {
            walk.source = Source::Call(at);
            walk.volatile = script.hints(&call.server).map(|h| &h.volatile).filter(|v| !v.is_empty());
            walk.value(&call.value);
        }
        walk.index
    }

    /// The places that hold the scalar that `text` spells, as a whole or as a part of a text.
    pub fn places(&self, text: &str) -> &[Place] {
        self.texts.get(&hash(text)).map_or(&[], Vec::as_slice)
    }

    /// The places that hold an object or a list that may be equal to `value`.
    pub fn trees(&self, value: &Value) -> &[Place] {
        self.trees.get(&tree_hash(value)).map_or(&[], Vec::as_slice)
    }
}

/// A scalar as the text by which it is found: a string is itself, a number its digits.
pub fn scalar_text(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.as_str()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a text says enough to be cut out of prose: words of a language stand in every prose.
pub fn may_be_cut(text: &str) -> bool {
    is_specific(text) || (is_name(text) && text.contains(' '))
}

/// The parts of `text` between borders that may come from somewhere: all runs of up to sixteen tokens, with at most one separator at
/// either end. The whole text is not among them.
pub fn windows(text: &str) -> Vec<(usize, usize)> {
    let tokens: Vec<_> = tokens_from(text, 0).take(MOST_TOKENS_OF_A_TEXT).collect();
    let mut found = Vec::new();
    if text.len() > DATE && is_date(text) {
        found.push((0, DATE));
    }
    for (i, first) in tokens.iter().enumerate() {
        for last in tokens.iter().skip(i).take(MOST_TOKENS) {
            let starts = [Some(first.start), separator_before(text, first.start)];
            for start in starts.into_iter().flatten() {
                for end in [Some(last.end), separator_after(text, last.end)].into_iter().flatten() {
                    if (start, end) != (0, text.len()) {
                        found.push((start, end));
                    }
                }
            }
        }
    }
    found
}

fn separator_before(text: &str, at: usize) -> Option<usize> {
    let c = text.get(..at)?.chars().next_back()?;
    (!c.is_alphanumeric() && !c.is_whitespace()).then(|| at - c.len_utf8())
}

fn separator_after(text: &str, at: usize) -> Option<usize> {
    let c = text.get(at..)?.chars().next()?;
    (!c.is_alphanumeric() && !c.is_whitespace()).then(|| at + c.len_utf8())
}

/// What is looked for.
#[derive(Default)]
struct Wanted {
    texts: FxHashSet<u64>,
    trees: FxHashSet<u64>,
    /// For the first token of each part of a text: of how many tokens the parts are.
    starts: FxHashMap<u64, Vec<usize>>,
}

impl Wanted {
    fn add(&mut self, value: &Value, layers: usize) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                self.texts.insert(hash(number.as_str()));
                if number.as_str().len() > 2 {
                    self.add_start(number.as_str());
                }
            }
            Value::String(text) => self.add_text(text, layers),
            Value::Array(items) => {
                self.trees.insert(tree_hash(value));
                items.iter().for_each(|item| self.add(item, layers));
            }
            Value::Object(object) => {
                self.trees.insert(tree_hash(value));
                object.iter().for_each(|(_, item)| self.add(item, layers));
            }
        }
    }

    fn add_text(&mut self, text: &str, layers: usize) {
        self.texts.insert(hash(text));
        if may_be_cut(text) {
            self.add_start(text);
        }
        for (start, end) in windows(text) {
            let part = text.get(start..end).unwrap_or_default();
            self.texts.insert(hash(part));
            if may_be_cut(part) && bits(part) >= LEAST_BITS_IN_PROSE {
                self.add_start(part);
            }
        }
        if layers < MOST_LAYERS
            && let Some(inner) = open_json(text)
        {
            self.add(&inner, layers + 1);
        }
    }

    fn add_start(&mut self, part: &str) {
        let tokens = tokens(part);
        if tokens.len() > MOST_TOKENS_OF_A_TEXT {
            return;
        }
        if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
            self.texts.insert(hash(part.get(first.start..last.end).unwrap_or_default()));
            let counts = self.starts.entry(hash(part.get(first.start..first.end).unwrap_or_default())).or_default();
            if !counts.contains(&tokens.len()) {
                counts.push(tokens.len());
            }
        }
    }
}

struct Walk<'w> {
    wanted: &'w Wanted,
    index: Index,
    path: Vec<PathStep>,
    source: Source,
    volatile: Option<&'w std::collections::BTreeSet<SmolStr>>,
    layers: usize,
}

impl Walk<'_> {
    fn place(&self, span: Option<(usize, usize)>) -> Place {
        Place { source: self.source, path: Rc::from(self.path.as_slice()), span }
    }

    fn found(&mut self, key: u64, span: Option<(usize, usize)>) {
        let place = self.place(span);
        let places = self.index.texts.entry(key).or_default();
        if places.len() < MOST_PLACES {
            if let Some(last) = place.path.iter().rposition(|s| matches!(s, PathStep::Index(_)))
                && self.index.in_lists.len() < MOST_ITEMS
            {
                self.index.in_lists.insert((place.source, place.path.iter().take(last + 1).cloned().collect()));
            }
            places.push(place);
        }
    }

    /// Notes what is wanted of `value` and returns its hash.
    fn value(&mut self, value: &Value) -> u64 {
        let is_input = self.source == Source::Input && self.path.is_empty();
        let key = match value {
            Value::Null | Value::Bool(_) => return tree_hash(value),
            Value::Number(number) => {
                let key = hash(number.as_str());
                if self.wanted.texts.contains(&key) {
                    self.found(key, None);
                }
                return tree_hash(value);
            }
            Value::String(text) => {
                self.text(text);
                return tree_hash(value);
            }
            Value::Array(items) => {
                let mut key = LIST;
                for (at, item) in items.iter().enumerate() {
                    self.path.push(PathStep::Index(at));
                    key = mix(key, self.value(item));
                    self.path.pop();
                }
                key
            }
            Value::Object(object) => {
                let mut key = OBJECT;
                for (name, item) in object.sorted() {
                    let inner = if self.volatile.is_some_and(|v| v.contains(name)) || is_reserved(name) {
                        tree_hash(item)
                    } else {
                        self.path.push(PathStep::Key(name.clone()));
                        let inner = self.value(item);
                        self.path.pop();
                        inner
                    };
                    key = key.wrapping_add(mix(hash(name), inner));
                }
                key
            }
        };
        // The object of all inputs is no value: it grows with the inputs.
        if self.wanted.trees.contains(&key) && !is_input {
            let place = self.place(None);
            let places = self.index.trees.entry(key).or_default();
            if places.len() < MOST_PLACES {
                places.push(place);
            }
        }
        key
    }

    fn text(&mut self, text: &str) {
        let whole = hash(text);
        if self.wanted.texts.contains(&whole) {
            self.found(whole, None);
        }
        if self.layers < MOST_LAYERS {
            let opened = open_json(text).map(|v| (PathStep::Json, v)).or_else(|| open_python(text).map(|v| (PathStep::Python, v)));
            if let Some((step, inner)) = opened {
                self.path.push(step);
                self.layers += 1;
                self.value(&inner);
                self.layers -= 1;
                self.path.pop();
                return;
            }
        }
        if text.len() > DATE && is_date(text) {
            let day = hash(text.get(..DATE).unwrap_or_default());
            if self.wanted.texts.contains(&day) {
                self.found(day, Some((0, DATE)));
            }
        }
        self.parts(text);
    }

    fn parts(&mut self, text: &str) {
        let wanted = self.wanted;
        for token in tokens_from(text, 0) {
            let Some(counts) = wanted.starts.get(&hash(text.get(token.start..token.end).unwrap_or_default())) else { continue };
            for count in counts {
                let Some(last) = tokens_from(text, token.start).nth(count - 1) else { continue };
                let span = (token.start, last.end);
                let key = hash(text.get(span.0..span.1).unwrap_or_default());
                if span != (0, text.len()) && wanted.texts.contains(&key) {
                    self.found(key, Some(span));
                }
            }
        }
    }
}

/// The object or list that `text` spells in JSON.
pub fn open_json(text: &str) -> Option<Value> {
    match ltc_workflow::outcome::decode_text(text) {
        Value::String(_) => None,
        value => Some(value),
    }
}

/// The dict or list that `text` spells in Python, where it is no JSON.
pub fn open_python(text: &str) -> Option<Value> {
    let start = text.trim_start();
    (start.starts_with(['{', '[']) && text.contains(['\'', 'N', 'T', 'F', '('])).then(|| parse_python(text).ok()).flatten()
}

const LIST: u64 = 0x6c69_7374;
const OBJECT: u64 = 0x6f62_6a65;

fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A hash of a value in which the order of keys does not count.
fn tree_hash(value: &Value) -> u64 {
    match value {
        Value::Null => 1,
        Value::Bool(b) => 2 + u64::from(*b),
        Value::Number(n) => mix(4, hash(n.as_str())),
        Value::String(s) => mix(5, hash(s)),
        Value::Array(items) => items.iter().fold(LIST, |key, item| mix(key, tree_hash(item))),
        Value::Object(object) => object.iter().fold(OBJECT, |key, (name, item)| key.wrapping_add(mix(hash(name), tree_hash(item)))),
    }
}

/// The value at `path` in `root`, through texts that are JSON or Python where the path says so.
pub fn follow(root: &Value, path: &[PathStep]) -> Option<Value> {
    let mut value = root.clone();
    for step in path {
        value = match step {
            PathStep::Key(key) => value.get(key)?.clone(),
            PathStep::Index(at) => value.at(*at)?.clone(),
            PathStep::Json => open_json(value.as_str()?)?,
            PathStep::Python => open_python(value.as_str()?)?,
        };
    }
    Some(value)
}
