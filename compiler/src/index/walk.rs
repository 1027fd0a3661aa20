//! A walk over inputs and results that notes where what is wanted stands.

use super::hashes::{LIST, OBJECT, mix, tree_hash};
use super::wanted::{LONGEST_FOLDED, Wanted};
use super::windows::{DATE, LONGEST_SHAPED, spelling};
use super::{Index, MOST_ITEMS, MOST_LAYERS, Opening, Path, PathStep, Place, Source, is_in_part};
use crate::placeholders::is_reserved;
use crate::script::Script;
use crate::text::{hash, is_date, tokens_from};
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::rc::Rc;

/// The most places that are kept for one text: one that stands everywhere is no evidence.
const MOST_PLACES: usize = 64;
/// The most places of one text inside others: it is cut out at one of the first, or nowhere.
const MOST_PLACES_IN_TEXTS: usize = 16;

/// The places in a script that hold what is wanted.
pub(super) fn walk(script: &Script, wanted: &Wanted) -> Index {
    let mut walk = Walk {
        wanted,
        index: Index::default(),
        path: Vec::new(),
        here: None,
        noted: false,
        source: Source::Input,
        volatile: None,
        layers: 0,
    };
    walk.value(&Value::Object(script.input.clone()));
    if let Some(task) = &script.task {
        walk.go_to(Source::Task);
        walk.text(task);
    }
    for (at, call) in script.calls.iter().enumerate() {
        walk.go_to(Source::Call(at));
        walk.volatile = script.hints(&call.server).map(|h| &h.volatile).filter(|v| !v.is_empty());
        walk.value(&call.value);
    }
    walk.index
}

struct Walk<'w> {
    wanted: &'w Wanted,
    index: Index,
    path: Vec<PathStep>,
    /// The same, shared by all places that are found here.
    here: Option<Path>,
    /// Whether it is noted that the item of a list that this stands in holds something that is used.
    noted: bool,
    source: Source,
    volatile: Option<&'w std::collections::BTreeSet<SmolStr>>,
    layers: usize,
}

impl Walk<'_> {
    fn go_to(&mut self, source: Source) {
        self.source = source;
        self.here = None;
        self.noted = false;
    }

    /// Goes one step further in, or back out.
    fn enter(&mut self, step: PathStep) {
        self.path.push(step);
        self.here = None;
        self.noted = false;
    }

    fn leave(&mut self) {
        self.path.pop();
        self.here = None;
        self.noted = false;
    }

    fn place(&mut self, span: Option<(usize, usize)>) -> Place {
        let path = self.here.get_or_insert_with(|| Rc::from(self.path.as_slice())).clone();
        Place { source: self.source, path, span }
    }

    /// Notes that an item of a list holds something that is used.
    fn note_item(&mut self) {
        if std::mem::replace(&mut self.noted, true) {
            return;
        }
        if let Some(last) = self.path.iter().rposition(|s| matches!(s, PathStep::Index(_)))
            && self.index.in_lists.len() < MOST_ITEMS
        {
            self.index.in_lists.insert((self.source, self.path.iter().take(last + 1).cloned().collect()));
        }
    }

    fn found(&mut self, key: u64, span: Option<(usize, usize)>) {
        if self.index.texts.get(&key).is_some_and(|places| places.len() >= MOST_PLACES) {
            return;
        }
        let in_texts = |places: &Vec<Place>| places.iter().filter(|p| p.span.is_some()).count();
        if span.is_some() && self.index.texts.get(&key).is_some_and(|places| in_texts(places) >= MOST_PLACES_IN_TEXTS) {
            return;
        }
        self.note_item();
        let place = self.place(span);
        self.index.texts.entry(key).or_default().push(place);
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
                    self.enter(PathStep::Index(at));
                    key = mix(key, self.value(item));
                    self.leave();
                }
                key
            }
            Value::Object(object) => {
                let mut key = OBJECT;
                for (name, item) in object.sorted() {
                    let inner = if self.volatile.is_some_and(|v| v.contains(name)) || is_reserved(name) {
                        tree_hash(item)
                    } else {
                        self.enter(PathStep::Key(name.clone()));
                        let inner = self.value(item);
                        self.leave();
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
        if text.len() <= LONGEST_FOLDED && !self.wanted.folded.is_empty() {
            let key = hash(&text.to_lowercase());
            if self.wanted.folded.contains(&key) && self.index.folded.get(&key).is_none_or(|places| places.len() < MOST_PLACES_IN_TEXTS) {
                let place = self.place(None);
                self.index.folded.entry(key).or_default().push(place);
            }
        }
        if text.len() <= LONGEST_SHAPED && !self.wanted.spelled.is_empty() {
            let key = spelling(text);
            if self.wanted.spelled.contains(&key) && self.index.spelled.get(&key).is_none_or(|places| places.len() < MOST_PLACES_IN_TEXTS) {
                let place = self.place(None);
                self.index.spelled.entry(key).or_default().push(place);
            }
        }
        if self.layers < MOST_LAYERS {
            if let Some((opening, inner)) = Opening::whole(text) {
                return self.opened(opening, &inner);
            }
            if !is_in_part(&self.path) {
                Opening::inside(text).into_iter().for_each(|(opening, inner)| self.opened(opening, &inner));
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

    /// What a text holds, read in some way.
    fn opened(&mut self, opening: Opening, inner: &Value) {
        self.enter(PathStep::Open(opening));
        self.layers += 1;
        self.value(inner);
        self.layers -= 1;
        self.leave();
    }

    fn parts(&mut self, text: &str) {
        let wanted = self.wanted;
        let tokens: Vec<_> = tokens_from(text, 0).collect();
        for (at, token) in tokens.iter().enumerate() {
            let Some(counts) = wanted.starts.get(&hash(text.get(token.start..token.end).unwrap_or_default())) else { continue };
            for count in counts {
                let Some(last) = tokens.get(at + count - 1) else { continue };
                let span = (token.start, last.end);
                let key = hash(text.get(span.0..span.1).unwrap_or_default());
                if span != (0, text.len()) && wanted.texts.contains(&key) {
                    self.found(key, Some(span));
                }
            }
        }
    }
}
