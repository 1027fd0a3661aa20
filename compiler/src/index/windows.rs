//! Parts of a text that may come from somewhere.

use crate::text::{is_date, is_name, is_specific, tokens_from};

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

fn separator_before(text: &str, at: usize) -> Option<usize> {
    let c = text.get(..at)?.chars().next_back()?;
    (!c.is_alphanumeric() && !c.is_whitespace()).then(|| at - c.len_utf8())
}

fn separator_after(text: &str, at: usize) -> Option<usize> {
    let c = text.get(at..)?.chars().next()?;
    (!c.is_alphanumeric() && !c.is_whitespace()).then(|| at + c.len_utf8())
}
