//! Parts of a text that may come from somewhere.

use crate::text::{hash, is_date, is_name, is_specific, tokens_from};
use crate::weight::bits;

/// The most tokens of a window: longer parts of a text are found as a whole value or not at all.
const MOST_TOKENS: usize = 16;
/// The most tokens of one text that are looked at for windows.
pub(super) const MOST_TOKENS_OF_A_TEXT: usize = 4_000;
/// How long a date is: `2026-03-05`.
pub(super) const DATE: usize = 10;

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

/// Longer texts hold nothing in another shape, in bytes.
pub(super) const LONGEST_SHAPED: usize = 400;
/// A text in another shape has so many words at least: fewer are looked for in another case alone.
const FEWEST_SHAPED: usize = 2;
/// What a text must say to be taken for another one in another shape: a place, and which shape.
pub const LEAST_BITS_IN_ANOTHER_SHAPE: f64 = 13.0;

/// The parts of `text` without blanks that may be another text in another shape: a slug, percent-encoded, or in another case. The whole may be
/// among them.
pub fn shaped_windows(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if text.len() > LONGEST_SHAPED {
        return found;
    }
    let tokens: Vec<_> = tokens_from(text, 0).collect();
    for (at, first) in tokens.iter().enumerate() {
        for last in tokens.iter().skip(at + FEWEST_SHAPED - 1).take(MOST_TOKENS) {
            let part = text.get(first.start..last.end).unwrap_or_default();
            if part.contains(char::is_whitespace) {
                break;
            }
            if bits(part) >= LEAST_BITS_IN_ANOTHER_SHAPE {
                found.push((first.start, last.end));
            }
        }
    }
    found
}

/// A hash of the words of a text, whatever is between them and whatever their case: a text and its slug have the same.
pub fn spelling(text: &str) -> u64 {
    let decoded = if text.contains('%') { percent_decoded(text) } else { None };
    let text = decoded.as_deref().unwrap_or(text);
    let words: Vec<String> = tokens_from(text, 0).filter_map(|t| text.get(t.start..t.end)).map(str::to_lowercase).collect();
    hash(&words.join("-"))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(rest.get(..at)?.as_bytes());
        bytes.push(u8::from_str_radix(rest.get(at + 1..at + 3)?, 16).ok()?);
        rest = rest.get(at + 3..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

fn separator_before(text: &str, at: usize) -> Option<usize> {
    let c = text.get(..at)?.chars().next_back()?;
    (!c.is_alphanumeric() && !c.is_whitespace()).then(|| at - c.len_utf8())
}

fn separator_after(text: &str, at: usize) -> Option<usize> {
    let c = text.get(at..)?.chars().next()?;
    (!c.is_alphanumeric() && !c.is_whitespace()).then(|| at + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_and_its_shapes_have_one_spelling() {
        let title = "Backups of EU nodes: restore fails (again)";
        for shape in [
            "backups-of-eu-nodes-restore-fails-again",
            "BACKUPS OF EU NODES RESTORE FAILS AGAIN",
            "Backups%20of%20EU%20nodes%3A%20restore%20fails%20%28again%29",
        ] {
            assert_eq!(spelling(title), spelling(shape), "{shape}");
        }
        assert_ne!(spelling(title), spelling("backups-of-eu-nodes"));
        assert_ne!(spelling("100%"), spelling("100-x"));
    }

    #[test]
    fn what_may_be_a_shape_has_no_blanks_and_says_enough() {
        let text = "see fix/login-fails-on-safari now";
        let found: Vec<&str> = shaped_windows(text).into_iter().filter_map(|(start, end)| text.get(start..end)).collect();
        assert!(found.contains(&"login-fails-on-safari"));
        assert!(found.iter().all(|part| !part.contains(' ')));
        assert!(shaped_windows("on-off").is_empty());
    }
}
