//! Secrets that the recording holds and the verifier is not told: each is a marker until a recorded call shows what it was.
//!
//! Before: `{"password": "<marker of PASSWORD>"}`. After: `{"password": "hunter2"}`, once a recorded call has that text in its place. Inputs that
//! nothing tells the value of are found out in the same way. No message shows what was found out of a secret.

use crate::index::scalar_text;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

const OPEN: &str = "\u{1}ltc:";
const CLOSE: char = '\u{1}';

/// The text that stands for a value that is not known yet.
pub fn marker(name: &str) -> SmolStr {
    SmolStr::new(format!("{OPEN}{name}{CLOSE}"))
}

/// What was found out of markers so far.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    values: BTreeMap<SmolStr, Value>,
}

impl Learned {
    /// `value` with every marker that is known replaced, and whether there are others.
    pub fn fill(&self, value: &Value) -> (Value, bool) {
        match value {
            Value::String(text) if text.contains(OPEN) => {
                let pieces = pieces(text);
                if let [Piece::Marker(name)] = pieces.as_slice() {
                    return self.values.get(*name).map_or_else(|| (value.clone(), true), |known| (known.clone(), false));
                }
                let mut out = String::new();
                let mut open = false;
                for piece in pieces {
                    match piece {
                        Piece::Fixed(fixed) => out.push_str(fixed),
                        Piece::Marker(name) => match self.text_of(name) {
                            Some(known) => out.push_str(known),
                            None => {
                                out.push_str(&marker(name));
                                open = true;
                            }
                        },
                    }
                }
                (Value::string(out), open)
            }
            Value::Array(items) => {
                let filled: Vec<(Value, bool)> = items.iter().map(|item| self.fill(item)).collect();
                let open = filled.iter().any(|(_, open)| *open);
                (filled.into_iter().map(|(item, _)| item).collect(), open)
            }
            Value::Object(object) => {
                let (object, open) = self.fill_object(object);
                (Value::Object(object), open)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (value.clone(), false),
        }
    }

    /// The same for all entries of an object.
    pub fn fill_object(&self, object: &Object) -> (Object, bool) {
        let mut open = false;
        let entry = |(key, value): (&SmolStr, &Value)| {
            let (value, is_open) = self.fill(value);
            open |= is_open;
            (key.clone(), value)
        };
        (object.iter().map(entry).collect(), open)
    }

    /// Whether `recorded` is `made` with some text for each marker, the same text for the same marker; what was found out is kept.
    pub fn matches(&mut self, made: &Value, recorded: &Value) -> bool {
        let mut learned = self.clone();
        let fits = learned.fit(made, recorded);
        if fits {
            *self = learned;
        }
        fits
    }

    fn fit(&mut self, made: &Value, recorded: &Value) -> bool {
        match (made, recorded) {
            (Value::String(made), recorded) if made.contains(OPEN) => match (pieces(made).as_slice(), recorded) {
                ([Piece::Marker(name)], recorded) => {
                    scalar_text(recorded) != Some("")
                        && self.values.entry(SmolStr::new(*name)).or_insert_with(|| recorded.clone()) == recorded
                }
                (pieces, Value::String(recorded)) => self.fit_text(pieces, recorded),
                (_, _) => false,
            },
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.fit(a, b)),
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| self.fit(value, other)))
            }
            (made, recorded) => made == recorded,
        }
    }

    fn fit_text(&mut self, pieces: &[Piece], recorded: &str) -> bool {
        let mut rest = recorded;
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Fixed(fixed) => match rest.strip_prefix(fixed) {
                    Some(after) => rest = after,
                    None => return false,
                },
                Piece::Marker(name) => {
                    let value = match (self.text_of(name).map(SmolStr::new), pieces.get(at + 1)) {
                        (Some(known), _) => known,
                        (None, Some(Piece::Fixed(next))) if at + 2 < pieces.len() => match rest.find(next) {
                            Some(end) => SmolStr::new(rest.get(..end).unwrap_or_default()),
                            None => return false,
                        },
                        (None, Some(Piece::Fixed(last))) => match rest.strip_suffix(last) {
                            Some(value) => SmolStr::new(value),
                            None => return false,
                        },
                        (None, Some(Piece::Marker(_)) | None) => SmolStr::new(rest),
                    };
                    match rest.strip_prefix(value.as_str()) {
                        Some(after) if !value.is_empty() => rest = after,
                        Some(_) | None => return false,
                    }
                    self.values.entry(SmolStr::new(*name)).or_insert(Value::String(value));
                }
            }
        }
        rest.is_empty()
    }

    fn text_of(&self, name: &str) -> Option<&str> {
        scalar_text(self.values.get(name)?)
    }

    /// `text` without the values of `secrets` that were found out, and without markers.
    pub fn hide(&self, text: &str, secrets: &[SmolStr]) -> String {
        let mut out = text.to_owned();
        for name in secrets {
            if let Some(value) = self.text_of(name) {
                out = out.replace(value, &format!("(the value of {name})"));
            }
        }
        out.replace(OPEN, "(the value of ").replace("\\u0001ltc:", "(the value of ").replace(CLOSE, ")").replace("\\u0001", ")")
    }

    /// With values that are known from the start, which no message may show.
    pub fn knowing(values: &BTreeMap<SmolStr, SmolStr>) -> Learned {
        let known = values.iter().filter(|(_, value)| !value.is_empty() && !value.contains(OPEN));
        Learned { values: known.map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect() }
    }
}

/// Whether `value` holds a marker.
pub fn is_open(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(OPEN),
        Value::Array(items) => items.iter().any(is_open),
        Value::Object(object) => object.iter().any(|(_, item)| is_open(item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

enum Piece<'t> {
    Fixed(&'t str),
    Marker(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let Some((name, behind)) = after.split_once(CLOSE) else { break };
        if !before.is_empty() {
            found.push(Piece::Fixed(before));
        }
        found.push(Piece::Marker(name));
        rest = behind;
    }
    if !rest.is_empty() {
        found.push(Piece::Fixed(rest));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(made: &str) -> Value {
        Value::string(made.replace("<A>", &marker("A")).replace("<B>", &marker("B")))
    }

    #[test]
    fn a_marker_is_any_text_and_then_always_the_same() {
        let mut learned = Learned::default();
        assert!(!learned.matches(&text("Bearer <A>"), &Value::from("Basic 12")));
        assert!(learned.matches(&text("Bearer <A>."), &Value::from("Bearer s3cret.")));
        assert!(!learned.matches(&text("<A>"), &Value::from("other")));
        assert_eq!(learned.fill(&text("x=<A>&y=<B>")), (Value::string(format!("x=s3cret&y={}", marker("B"))), true));
        assert!(learned.matches(&text("<A>:<B>!"), &Value::from("s3cret:b!!")));
        assert_eq!(learned.fill(&text("<B>")), (Value::from("b!"), false));
        assert!(!Learned::default().matches(&text("<A>"), &Value::from("")));
    }

    #[test]
    fn a_marker_alone_is_any_value() {
        let mut learned = Learned::default();
        assert!(learned.matches(&text("<A>"), &Value::from(7_i64)));
        assert!(!learned.matches(&text("<A>"), &Value::from("7")));
        assert!(learned.matches(&text("n=<A>"), &Value::from("n=7")));
        assert_eq!(learned.fill(&text("<A>")), (Value::from(7_i64), false));
    }

    #[test]
    fn no_message_shows_a_value() {
        let mut learned = Learned::default();
        assert!(learned.matches(&text("<A>"), &Value::from("s3cret")));
        assert_eq!(learned.hide("sent \"s3cret\"", &["A".into()]), "sent \"(the value of A)\"");
        assert_eq!(learned.hide(&marker("B"), &[]), "(the value of B)");
    }
}
