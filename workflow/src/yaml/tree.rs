//! YAML events → a tree in which every node knows its place.

use super::Problem;
use crate::nearest;
use crate::value::{Number, Object, Value};
use granit_parser::{Event, Parser, ScalarStyle, Span};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The deepest nesting that is read: a JSON value of full depth, inside of a step inside of loops.
const MAX_DEPTH: usize = crate::json::MAX_DEPTH + 32;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// The places of the values of a text, by JSON Pointer: `""`, `/servers/github/args/0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<String, (Place, Place)>);

impl Places {
    /// Where the value at `pointer` starts.
    pub fn value(&self, pointer: &str) -> Option<Place> {
        self.0.get(pointer).map(|(_, value)| *value)
    }

    /// Where the key of the entry at `pointer` starts; where the value does, if it has none.
    pub fn key(&self, pointer: &str) -> Option<Place> {
        self.0.get(pointer).map(|(key, _)| *key)
    }
}

/// A value with its place.
#[derive(Debug)]
pub(super) struct Node {
    pub place: Place,
    pub content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub key: SmolStr,
    pub place: Place,
    pub value: Node,
}

/// A scalar as it was written.
#[derive(Debug)]
pub(super) struct Scalar {
    pub text: SmolStr,
    pub style: ScalarStyle,
    /// Where its source text is.
    pub bytes: Range<usize>,
}

/// A comment with its place, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    pub place: Place,
    /// The text behind `#`.
    pub text: String,
}

/// Reads one YAML document as a value, with the places of all its parts.
///
/// # Errors
/// Every mistake that was found.
pub fn read_value(text: &str) -> Result<(Value, Places), Vec<Problem>> {
    let tree = parse(text)?;
    let mut places = BTreeMap::new();
    tree.root.collect_places(String::new(), tree.root.place, &mut places);
    Ok((tree.root.value(), Places(places)))
}

impl Node {
    /// The value, by the rules for scalars.
    pub(super) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => scalar.value(),
            Content::List(items) => items.iter().map(Node::value).collect(),
            Content::Map(entries) => Value::Object(Object::from_unique(entries.iter().map(|e| (e.key.clone(), e.value.value())).collect())),
        }
    }

    fn collect_places(&self, pointer: String, key: Place, places: &mut BTreeMap<String, (Place, Place)>) {
        match &self.content {
            Content::Scalar(_) => {}
            Content::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    item.collect_places(format!("{pointer}/{at}"), item.place, places);
                }
            }
            Content::Map(entries) => {
                for entry in entries {
                    let escaped = entry.key.replace('~', "~0").replace('/', "~1");
                    entry.value.collect_places(format!("{pointer}/{escaped}"), entry.place, places);
                }
            }
        }
        places.insert(pointer, (key, self.place));
    }
}

impl Scalar {
    fn value(&self) -> Value {
        if self.style != ScalarStyle::Plain {
            return Value::String(self.text.clone());
        }
        match self.text.as_str() {
            "" | "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => Number::parse(text).map_or_else(|| Value::String(self.text.clone()), Value::Number),
        }
    }
}

/// A document.
#[derive(Debug)]
pub(super) struct Tree {
    pub root: Node,
    pub comments: Vec<Comment>,
}

/// Reads the tree of a text that holds one document.
pub(super) fn parse(text: &str) -> Result<Tree, Vec<Problem>> {
    let mut options = granit_parser::options! {
        emit_unresolved_aliases: true,
        disallow_directives: true,
        max_buffered_comment_events: usize::MAX,
        // Keys of any length: a value may have them.
        simple_key_max_lookahead: usize::MAX,
    };
    options.set_emit_comments(true);
    let mut builder = Builder::default();
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((event, span)) => {
                if !builder.event(event, &span) {
                    break;
                }
            }
            Err(error) => {
                let mark = error.marker();
                let place = Place { line: mark.line(), column: mark.col() + 1 };
                builder.problem("yaml", place, format!("the text is no YAML: {}", error.info()));
                break;
            }
        }
    }
    if builder.problems.is_empty() && builder.root.is_none() {
        builder.problem("empty", Place { line: 1, column: 1 }, "the document is empty");
    }
    match builder.root {
        Some(root) if builder.problems.is_empty() => Ok(Tree { root, comments: builder.comments }),
        _ => Err(builder.problems),
    }
}

/// A collection whose end has not come yet.
enum Open {
    List { place: Place, items: Vec<Node> },
    Map { place: Place, entries: Vec<Entry>, seen: BTreeSet<SmolStr>, key: Option<(SmolStr, Place)> },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    comments: Vec<Comment>,
    problems: Vec<Problem>,
}

impl Builder {
    fn problem(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        self.problems.push(Problem { line: place.line, column: place.column, code, message: message.into(), help: None });
    }

    /// Takes an event; false where reading on makes no sense.
    fn event(&mut self, event: Event, span: &Span) -> bool {
        let place = Place { line: span.start.line(), column: span.start.col() + 1 };
        let bytes = span.byte_range().unwrap_or_default();
        let (anchor, tagged) = match &event {
            Event::Scalar(_, _, anchor, tag) | Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag) => {
                (*anchor != 0, tag.is_some())
            }
            _ => (false, false),
        };
        if anchor {
            self.problem("no-anchors", place, "anchors (`&name`) and aliases (`*name`) are not part of this language; write the value out");
        }
        if tagged {
            self.problem("no-tags", place, "tags (`!type`) are not part of this language; a text in quotes is always a text");
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.problem("several-documents", place, "a second document starts here; a file holds one");
                    return false;
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.problem(
                    "no-anchors",
                    place,
                    "anchors (`&name`) and aliases (`*name`) are not part of this language; write the value out",
                );
                self.complete(Node {
                    place,
                    content: Content::Scalar(Scalar { text: SmolStr::default(), style: ScalarStyle::Plain, bytes }),
                });
            }
            Event::Comment(text, _) => self.comments.push(Comment { place, text: text.into_owned() }),
            Event::Scalar(text, style, ..) => {
                // Where there is nothing at all, the parser says `~`.
                let text = if bytes.is_empty() && style == ScalarStyle::Plain { SmolStr::default() } else { SmolStr::new(text) };
                let scalar = Scalar { text, style, bytes };
                self.complete(Node { place, content: Content::Scalar(scalar) });
            }
            Event::SequenceStart(..) => self.open.push(Open::List { place, items: Vec::new() }),
            Event::MappingStart(..) => {
                self.open.push(Open::Map { place, entries: Vec::new(), seen: BTreeSet::new(), key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List { place, items }) => self.complete(Node { place, content: Content::List(items) }),
                Some(Open::Map { place, entries, .. }) => self.complete(Node { place, content: Content::Map(entries) }),
                None => {}
            },
            _ => {}
        }
        if self.open.len() > MAX_DEPTH {
            self.problem("too-deep", place, format!("more than {MAX_DEPTH} levels of nesting"));
            return false;
        }
        true
    }

    /// Puts a finished node where it belongs.
    fn complete(&mut self, node: Node) {
        let place = node.place;
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, seen, key, .. }) => match (key.take(), node.content) {
                (Some((key, at)), content) => entries.push(Entry { key, place: at, value: Node { place, content } }),
                (None, Content::Scalar(scalar)) => {
                    let is_new = seen.insert(scalar.text.clone());
                    *key = Some((scalar.text.clone(), place));
                    if !is_new {
                        self.problem("duplicate-key", place, format!("the key `{}` is there twice", shorten(&scalar.text)));
                    }
                }
                (None, Content::List(_) | Content::Map(_)) => {
                    *key = Some((SmolStr::default(), place));
                    self.problem("bad-key", place, "a key is a text, not a list or a map");
                }
            },
        }
    }
}

/// A text from a document, short enough for a message.
pub(super) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(60).flat_map(|c| c.escape_debug().take(8)).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    short
}

/// The help of an unknown name.
pub(super) fn did_you_mean<'c>(name: &str, known: impl IntoIterator<Item = &'c str>) -> Option<String> {
    nearest::did_you_mean(name, known)
}
