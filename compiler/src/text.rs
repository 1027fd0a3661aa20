//! What a text is made of: tokens, the places where it may be cut, and what it looks like.

pub use ltc_workflow::secret::is_border;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A run of letters and digits in a text, as byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The tokens of `text`, in order.
pub fn tokens(text: &str) -> Vec<Token> {
    tokens_from(text, 0).collect()
}

/// The tokens of `text` from `at` on, one by one.
pub fn tokens_from(text: &str, at: usize) -> Tokens<'_> {
    Tokens { text, at }
}

/// An iterator over the tokens of a text.
pub struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let start = self.skip(false)?;
        let end = self.skip(true).unwrap_or(self.text.len());
        Some(Token { start, end })
    }
}

impl Tokens<'_> {
    /// Goes on while characters are alphanumeric or not, as told; where it stops.
    fn skip(&mut self, alphanumeric: bool) -> Option<usize> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if byte.is_ascii() {
                if byte.is_ascii_alphanumeric() != alphanumeric {
                    return Some(self.at);
                }
                self.at += 1;
            } else {
                let c = self.text.get(self.at..).and_then(|rest| rest.chars().next())?;
                if c.is_alphanumeric() != alphanumeric {
                    return Some(self.at);
                }
                self.at += c.len_utf8();
            }
        }
        None
    }
}

/// The hash of a text, the same in every run.
pub fn hash(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Whether `text` is opaque: made by a machine, not by a person; such a value means nothing by itself and may be another one tomorrow.
pub fn is_opaque(text: &str) -> bool {
    let strong = tokens(text).iter().any(|t| {
        let token = text.get(t.start..t.end).unwrap_or_default();
        let digits = token.bytes().filter(u8::is_ascii_digit).count();
        let letters = token.bytes().filter(u8::is_ascii_alphabetic).count();
        (digits > 0 && letters > 0 && token.len() >= 5) || digits >= 5
    });
    strong && !text.contains(char::is_whitespace)
}

/// Whether `text` has what words of a language have not: digits, or signs that tie its tokens together, as in addresses and paths.
pub fn is_specific(text: &str) -> bool {
    let tied = || text.char_indices().any(|(at, c)| "/._-@:#".contains(c) && at > 0 && at + 1 < text.len());
    text.bytes().any(|b| b.is_ascii_digit()) || text.contains('@') || (!text.contains(char::is_whitespace) && tied())
}

/// Whether `text` may be a name: every word begins with a capital letter.
pub fn is_name(text: &str) -> bool {
    let words = tokens(text);
    !words.is_empty() && words.iter().all(|t| text.get(t.start..).and_then(|w| w.chars().next()).is_some_and(char::is_uppercase))
}

/// Whether `text` is prose or code that somebody wrote, rather than a token: it has blanks, or is long.
pub fn is_free_text(text: &str) -> bool {
    text.contains(char::is_whitespace) || text.chars().count() > 40
}

/// Whether `text` starts with a date, or is one: `2026-03-05`, with or without a time.
pub fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let dash = |i: usize| bytes.get(i) == Some(&b'-');
    let date = [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(digit) && dash(4) && dash(7);
    let in_range =
        |from: usize, most: u32| text.get(from..from + 2).and_then(|t| t.parse::<u32>().ok()).is_some_and(|n| n >= 1 && n <= most);
    let timed = || matches!(bytes.get(10), Some(b'T' | b' ')) && digit(11) && digit(12) && bytes.get(13) == Some(&b':');
    date && in_range(5, 12) && in_range(8, 31) && (bytes.len() == 10 || (bytes.len() <= 35 && timed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_between_words() {
        assert!(is_border("r_12", 2) && !is_border("r_12", 3));
        assert!(is_border("a", 0) && is_border("a", 1) && !is_border("größe", 3));
    }

    #[test]
    fn dates_are_seen() {
        assert!(is_date("2026-03-05") && is_date("2026-03-05T10:00:00Z"));
        assert!(!is_date("2026-03-05 Weekly") && !is_date("2026-03-05 12 guests"));
        assert!(!is_date("2026-13-05") && !is_date("20260305") && !is_date("2026-03-051"));
    }
}
