//! The tokens of an expression, one at a time, each with its place.

use super::parse::ExprError;
use crate::value::Number;
use smol_str::SmolStr;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A letter or `_`, then letters, digits and `_`; keywords too.
    Name(SmolStr),
    /// A number without a sign.
    Number(Number),
    /// A quoted text, unescaped.
    Text(SmolStr),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Longer ones stand before their beginnings.
const SYMBOLS: &[&str] = &["==", "!=", "<=", ">=", "??", "<", ">", "+", "-", "*", "(", ")", "[", "]", "{", "}", ",", ".", ":"];

/// What other languages write, and what to write here.
const FOREIGN: &[(&str, &str)] = &[
    ("&&", "write `and`"),
    ("||", "write `or`"),
    ("!", "write `not`"),
    ("=", "write `==` to compare; a value cannot be set in an expression"),
    ("|", "functions are called as `function(value)`"),
    ("?", "write `??` for a value in place of a missing one; there is no `? :`"),
    ("/", "there is no division"),
    ("%", "there is no remainder"),
];

/// Reads tokens from a text.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    /// The text from the byte `from`.
    pub(super) fn rest_from(&self, from: usize) -> &'t str {
        self.text.get(from..).unwrap_or_default()
    }

    /// An error at the byte `at`.
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> ExprError {
        let before = self.text.get(..at).unwrap_or(self.text);
        ExprError { column: before.chars().count() + 1, message: message.into(), help: None }
    }

    /// The next token with the byte that it starts at and the byte behind it.
    pub(super) fn next(&mut self) -> Result<(Token, usize, usize), ExprError> {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
        self.at += self.rest_from(self.at).chars().take_while(|c| blank(*c)).count();
        let start = self.at;
        let rest = self.rest_from(start);
        let token = match rest.chars().next() {
            None => Token::End,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                Token::Name(SmolStr::new(self.take(length)))
            }
            Some(c) if c.is_ascii_digit() => self.number(start)?,
            Some(quote @ ('\'' | '"')) => {
                self.at += 1;
                Token::Text(self.quoted(start, quote)?)
            }
            Some(c) => match SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
                Some(symbol) => {
                    self.at += symbol.len();
                    Token::Symbol(symbol)
                }
                None => return Err(self.foreign(start, rest, c)),
            },
        };
        Ok((token, start, self.at))
    }

    fn take(&mut self, length: usize) -> &'t str {
        let from = self.at;
        self.at += length;
        self.text.get(from..self.at).unwrap_or_default()
    }

    fn foreign(&self, at: usize, rest: &str, c: char) -> ExprError {
        let known = FOREIGN.iter().find(|(sign, _)| rest.starts_with(sign));
        let sign = known.map_or_else(|| c.escape_debug().to_string(), |(sign, _)| (*sign).to_string());
        let mut error = self.error(at, format!("`{sign}` means nothing in an expression"));
        error.help = match known {
            Some((_, help)) => Some((*help).to_string()),
            None if c.is_alphabetic() => Some("a key with such letters stands in brackets: `['…']`".to_string()),
            None => None,
        };
        error
    }

    fn number(&mut self, start: usize) -> Result<Token, ExprError> {
        let bytes = self.rest_from(start).as_bytes();
        let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
        let mut length = digits(0);
        if bytes.get(length) == Some(&b'.') && digits(length + 1) > 0 {
            length += 1 + digits(length + 1);
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits(length + 1 + sign);
            length += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        let joined = bytes.get(length).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let text = self.take(length);
        match Number::parse(text) {
            Some(number) if !joined => Ok(Token::Number(number)),
            Some(_) => Err(self.error(start + length, "a letter directly behind a number")),
            None => Err(self.error(start, format!("`{text}` is not a number as JSON spells them"))),
        }
    }

    fn quoted(&mut self, start: usize, quote: char) -> Result<SmolStr, ExprError> {
        let mut out = String::new();
        let mut high: Option<u32> = None;
        loop {
            let at = self.at;
            let c = self.char().ok_or_else(|| self.error(start, "a text without its closing quote"))?;
            let unit = match c {
                c if c == quote && high.is_none() => return Ok(SmolStr::from(out)),
                '\\' => self.escape(at)?,
                c => u32::from(c),
            };
            // Two `\u` escapes of a surrogate pair are one character, as in JSON.
            match (high.take(), unit) {
                (Some(first), low @ 0xDC00..=0xDFFF) => {
                    out.extend(char::from_u32(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00)));
                }
                (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(self.error(at, "half of a surrogate pair is no character")),
                (None, first @ 0xD800..=0xDBFF) => high = Some(first),
                (None, unit) => match char::from_u32(unit) {
                    Some(c) => out.push(c),
                    None => return Err(self.error(at, "an escape of no character")),
                },
            }
        }
    }

    fn escape(&mut self, at: usize) -> Result<u32, ExprError> {
        let c = self.char().ok_or_else(|| self.error(at, "`\\` at the end"))?;
        Ok(match c {
            '\\' | '\'' | '"' | '/' => u32::from(c),
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            'u' => return self.code_point(at),
            _ => {
                let mut error = self.error(at, format!("`\\{}` is no escape", c.escape_debug()));
                error.help = Some(r"the escapes are \\ \' \n \r \t \uXXXX and \u{X}; a backslash itself is written `\\`".to_string());
                return Err(error);
            }
        })
    }

    fn code_point(&mut self, at: usize) -> Result<u32, ExprError> {
        let rest = self.rest_from(self.at);
        let (digits, length) = match rest.strip_prefix('{') {
            Some(inner) => {
                let digits = inner.split('}').next().unwrap_or_default();
                (digits, digits.len() + 2)
            }
            None => (rest.get(..4).unwrap_or_default(), 4),
        };
        let hexadecimal = (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(unit) if hexadecimal && rest.len() >= length => {
                self.at += length;
                Ok(unit)
            }
            _ => Err(self.error(at, r"`\u` wants four hexadecimal digits, or up to six in braces")),
        }
    }

    fn char(&mut self) -> Option<char> {
        let c = self.rest_from(self.at).chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }
}
