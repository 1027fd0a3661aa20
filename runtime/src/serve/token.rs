//! The token that clients over HTTP show, compared without telling how much of it is right.

use crate::problem::Problem;
use std::fmt;

/// What a client must show. Its text is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A shorter token could be guessed.
const SHORTEST_TOKEN: usize = 16;

impl Token {
    /// The token with this text.
    ///
    /// # Errors
    /// `bad-token`, where it is short or cannot stand in a header.
    pub fn new(text: &str) -> Result<Token, Problem> {
        let problem = |message: String| Err(Problem::new("bad-token", "token", message));
        if text.len() < SHORTEST_TOKEN {
            return problem(format!("a token has at least {SHORTEST_TOKEN} characters, so that nobody guesses it"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return problem("a token has only visible ASCII characters, and no spaces".to_owned());
        }
        Ok(Token(text.to_owned()))
    }

    /// Whether `given` is it. The time that this takes says nothing about how much of it is right.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let other = (0..own.len()).fold(own.len() ^ given.len(), |other, at| {
            let theirs = given.get(at).copied().unwrap_or_default();
            std::hint::black_box(other | usize::from(own[at] ^ theirs))
        });
        other == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_only_itself() {
        let token = Token::new("0123456789abcdef").expect("long enough");
        assert!(token.is(b"0123456789abcdef"));
        for other in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
            assert!(!token.is(other.as_bytes()), "{other}");
        }
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn a_token_that_can_be_guessed_or_sent_by_no_header_is_refused() {
        for text in ["", "short", "0123456789 abcdef", "0123456789abcdéf", "0123456789abcdef\n"] {
            assert_eq!(Token::new(text).expect_err(text).code, "bad-token");
        }
    }
}
