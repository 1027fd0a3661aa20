//! What is looked for: every value that is used, and its parts.

use super::hashes::tree_hash;
use super::windows::{MOST_TOKENS_OF_A_TEXT, may_be_cut, shaped_windows, spelling, windows};
use super::{MOST_LAYERS, open_json};
use crate::script::Script;
use crate::text::{hash, tokens};
use crate::weight::bits;
use ltc_workflow::Value;
use rustc_hash::{FxHashMap, FxHashSet};

/// Longer texts are not looked for in another case, in bytes.
pub(super) const LONGEST_FOLDED: usize = 80;
/// How much a part of a text must say to be looked for inside other texts.
const LEAST_BITS_IN_PROSE: f64 = 10.0;

/// What is looked for.
#[derive(Default)]
pub(super) struct Wanted {
    pub texts: FxHashSet<u64>,
    /// In lower case: texts that have one case throughout.
    pub folded: FxHashSet<u64>,
    /// The words of texts that may be another text in another shape, `login-fails-on-safari`.
    pub spelled: FxHashSet<u64>,
    pub trees: FxHashSet<u64>,
    /// For the first token of each part of a text: of how many tokens the parts are.
    pub starts: FxHashMap<u64, Vec<usize>>,
}

impl Wanted {
    /// What a script uses: its arguments and output.
    pub fn of(script: &Script) -> Wanted {
        let mut wanted = Wanted::default();
        for call in &script.calls {
            call.arguments.iter().for_each(|(_, value)| wanted.add(value, 0));
        }
        script.output.iter().for_each(|value| wanted.add(value, 0));
        wanted
    }

    /// Looks for `value`, and for what it holds.
    pub fn add(&mut self, value: &Value, layers: usize) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                self.texts.insert(hash(number.as_str()));
                if let Some(before) = number.as_i64().and_then(|n| n.checked_sub(1)) {
                    self.texts.insert(hash(&before.to_string()));
                }
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
                for (key, item) in object.iter() {
                    // An object with an entry for each item has their names for its keys.
                    if object.len() > 1 && may_be_data(key) {
                        self.add_text(key, layers);
                    }
                    self.add(item, layers);
                }
            }
        }
    }

    fn add_text(&mut self, text: &str, layers: usize) {
        self.texts.insert(hash(text));
        if text.len() <= LONGEST_FOLDED && has_one_case(text) {
            self.folded.insert(hash(&text.to_lowercase()));
        }
        if may_be_cut(text) {
            self.add_start(text);
        }
        for (start, end) in shaped_windows(text) {
            self.spelled.insert(spelling(text.get(start..end).unwrap_or_default()));
        }
        for (start, end) in windows(text) {
            let part = text.get(start..end).unwrap_or_default();
            // A part that was seen before wants nothing new.
            if self.texts.insert(hash(part)) && may_be_cut(part) && bits(part) >= LEAST_BITS_IN_PROSE {
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

/// Whether the key of an object may be a value: names of fields have neither digits nor signs other than `_`.
pub fn may_be_data(key: &str) -> bool {
    key.bytes().any(|b| b.is_ascii_digit()) || key.contains(['.', '/', ':', '@', ' ', '-'])
}

/// Whether the letters of a text are all small or all capitals.
fn has_one_case(text: &str) -> bool {
    let lower = text.chars().any(char::is_lowercase);
    let upper = text.chars().any(char::is_uppercase);
    lower != upper
}
