//! Where values stand in a script: for each text that a use might come from, the places that hold it.
//!
//! Before: arguments and outputs to be explained, inputs and results that might explain them. After: a lookup from text to places. The
//! values that are looked for are collected first, so that a walk over the results keeps only what may matter: memory follows the
//! arguments, not the results.

mod hashes;
mod opened;
mod walk;
mod wanted;
mod windows;

use crate::script::Script;
use crate::text::hash;
use hashes::tree_hash;
use ltc_workflow::Value;
pub use opened::{Opening, follow, is_in_part, open_json};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeSet;
use std::rc::Rc;
use wanted::Wanted;
pub use wanted::may_be_data;
pub use windows::{may_be_cut, shaped_windows, windows};

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
    /// Through a text that holds more than a text.
    Open(Opening),
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
    /// By the hash of the text in lower case: where a text stands that is used in lower or upper case throughout.
    folded: FxHashMap<u64, Vec<Place>>,
    /// By the words of a text: where a text stands that is used in another shape.
    spelled: FxHashMap<u64, Vec<Place>>,
    in_lists: BTreeSet<(Source, Vec<PathStep>)>,
}

/// How many layers of JSON in text are opened.
const MOST_LAYERS: usize = 4;

/// The index of a script: what its arguments and output hold, and the keys by which items of lists may have been picked.
pub fn build(script: &Script) -> Index {
    let mut wanted = Wanted::of(script);
    let index = walk::walk(script, &wanted);
    let keys = index.keys_of_items(script);
    if keys.is_empty() {
        return index;
    }
    keys.iter().for_each(|key| wanted.add(key, 0));
    walk::walk(script, &wanted)
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

    /// The places that hold the scalar that `text` spells, as a whole or as a part of a text.
    pub fn places(&self, text: &str) -> &[Place] {
        self.texts.get(&hash(text)).map_or(&[], Vec::as_slice)
    }

    /// The places that hold, as a whole, what `text` is but for the case of its letters.
    pub fn places_in_any_case(&self, text: &str) -> &[Place] {
        self.folded.get(&hash(&text.to_lowercase())).map_or(&[], Vec::as_slice)
    }

    /// The places that hold, as a whole, a text of the words of `text`.
    pub fn places_spelled(&self, text: &str) -> &[Place] {
        self.spelled.get(&windows::spelling(text)).map_or(&[], Vec::as_slice)
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
