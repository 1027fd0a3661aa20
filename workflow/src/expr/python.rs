//! Python literals → values: what `repr` prints of dicts, lists, tuples, sets, texts, bytes, numbers, `True`, `False`, `None`.
//!
//! `Decimal('3.2')` is the number. What else looks like a call, a name or `<a repr>` stays as the text that it is written as.
//! Keys of dicts that are no texts become texts as in `json.dumps`; a later key replaces an earlier one, as in Python.

use super::eval::fail;
use super::functions::scalar_text;
use crate::advance::Failure;
use crate::value::{Number, Object, Value};
use num_bigint::BigInt;
use smol_str::SmolStr;

const MAX_DEPTH: usize = 100;

/// The value that the whole of `text` spells as a Python literal.
///
/// # Errors
/// `not-python`-like failures that name what is wrong.
pub fn parse(text: &str) -> Result<Value, Failure> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at == text.len() { Ok(value) } else { Err(reader.wrong("more text behind the value")) }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token);
        self.at += if there { token.len() } else { 0 };
        there
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len();
    }

    fn wrong(&self, what: &str) -> Failure {
        let column = self.text.get(..self.at).unwrap_or_default().chars().count() + 1;
        fail("not-python", format!("the text is no Python literal: {what} at character {column}"))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failure> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("more than 100 levels of nesting"));
        }
        self.blanks();
        let start = self.at;
        match self.peek() {
            Some('[') => Ok(Value::array(self.items("[", "]", depth)?.0)),
            Some('(') => {
                let (mut items, comma) = self.items("(", ")", depth)?;
                // `(x)` is x in parentheses; `(x,)` is a tuple.
                match items.pop() {
                    Some(item) if items.is_empty() && !comma => Ok(item),
                    Some(item) => {
                        items.push(item);
                        Ok(Value::array(items))
                    }
                    None => Ok(Value::array(items)),
                }
            }
            Some('{') => self.braces(depth),
            Some('\'' | '"') => self.texts(),
            Some('<') => self.opaque(start),
            Some(c) if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.word(start),
            Some(_) => Err(self.wrong("an unknown sign")),
            None => Err(self.wrong("the end where a value should be")),
        }
    }

    /// The items between brackets, and whether a comma stands behind the last.
    fn items(&mut self, open: &str, close: &str, depth: usize) -> Result<(Vec<Value>, bool), Failure> {
        self.eat(open);
        let (mut items, mut comma) = (Vec::new(), false);
        loop {
            self.blanks();
            if self.eat(close) {
                return Ok((items, comma));
            }
            if !items.is_empty() && !comma {
                return Err(self.wrong("no `,` between two items"));
            }
            items.push(self.value(depth + 1)?);
            self.blanks();
            comma = self.eat(",");
        }
    }

    /// A dict, or a set, which becomes a list.
    fn braces(&mut self, depth: usize) -> Result<Value, Failure> {
        self.eat("{");
        let (mut entries, mut items, mut comma) = (Vec::new(), Vec::new(), true);
        loop {
            self.blanks();
            if self.eat("}") {
                break;
            }
            if !comma {
                return Err(self.wrong("no `,` between two entries"));
            }
            let start = self.at;
            let first = self.value(depth + 1)?;
            let source = self.text.get(start..self.at).unwrap_or_default();
            self.blanks();
            if self.eat(":") {
                entries.push((key_text(&first, source), self.value(depth + 1)?));
            } else {
                items.push(first);
            }
            self.blanks();
            comma = self.eat(",");
        }
        match (entries.is_empty(), items.is_empty()) {
            (_, true) => Ok(Value::Object(Object::from_entries(entries))),
            (true, false) => Ok(Value::array(items)),
            (false, false) => Err(self.wrong("an entry without a value in a dict that ends")),
        }
    }

    fn number(&mut self) -> Result<Value, Failure> {
        let start = self.at;
        let negative = self.peek() == Some('-');
        if matches!(self.peek(), Some('-' | '+')) {
            self.next();
            self.blanks();
        }
        if self.peek().is_some_and(char::is_alphabetic) {
            // `-inf` stays the text that it is.
            return self.word(start);
        }
        let length = |text: &str| {
            let mut before = ' ';
            text.char_indices()
                .find(|(_, c)| {
                    let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
                    let part = c.is_ascii_alphanumeric() || *c == '.' || *c == '_' || sign;
                    before = *c;
                    !part
                })
                .map_or(text.len(), |(at, _)| at)
        };
        let prefix = self.rest().get(..2).unwrap_or_default().to_ascii_lowercase();
        let radix = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find(|(p, _)| *p == prefix).map(|(_, radix)| radix);
        let end = match radix {
            Some(_) => self.rest().bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count(),
            None => length(self.rest()),
        };
        let digits = self.rest().get(..end).unwrap_or_default().replace('_', "");
        self.at += end;
        let plain = match radix {
            Some(radix) => digits.get(2..).and_then(|d| BigInt::parse_bytes(d.as_bytes(), radix)).map(|n| n.to_string()),
            None => Some(as_json_number(&digits)),
        };
        let number = plain.and_then(|p| Number::parse(&if negative { format!("-{p}") } else { p }));
        number.map(Value::Number).ok_or_else(|| self.wrong("something that is no number"))
    }

    /// Texts that stand side by side are one.
    fn texts(&mut self) -> Result<Value, Failure> {
        let mut out = String::new();
        loop {
            self.text_literal(&mut out)?;
            let behind = self.at;
            self.blanks();
            if !matches!(self.peek(), Some('\'' | '"')) && !self.at_prefixed_text() {
                self.at = behind;
                return Ok(Value::string(out));
            }
        }
    }

    fn at_prefixed_text(&self) -> bool {
        let prefix = self.rest().chars().take_while(|c| "rRbBuUfF".contains(*c)).count();
        (1..=2).contains(&prefix) && matches!(self.rest().chars().nth(prefix), Some('\'' | '"'))
    }

    fn text_literal(&mut self, out: &mut String) -> Result<(), Failure> {
        let mut raw = false;
        while let Some(c) = self.peek().filter(|c| c.is_ascii_alphabetic()) {
            raw |= matches!(c, 'r' | 'R');
            self.next();
        }
        let quote = if self.eat("'''") {
            "'''"
        } else if self.eat("\"\"\"") {
            "\"\"\""
        } else if self.eat("'") {
            "'"
        } else if self.eat("\"") {
            "\""
        } else {
            return Err(self.wrong("no quote"));
        };
        let mut high: Option<u32> = None;
        while !self.eat(quote) {
            let unit = match self.next() {
                None => return Err(self.wrong("a text without its closing quote")),
                Some('\n') if quote.len() == 1 => return Err(self.wrong("a text without its closing quote")),
                Some('\\') if raw => {
                    out.push('\\');
                    out.extend(self.next());
                    continue;
                }
                Some('\\') => match self.escape(out)? {
                    Some(unit) => unit,
                    None => continue,
                },
                Some(c) => u32::from(c),
            };
            let c = match (high.take(), unit) {
                (None, 0xD800..=0xDBFF) => {
                    high = Some(unit);
                    continue;
                }
                (Some(first), 0xDC00..=0xDFFF) => char::from_u32(0x10000 + ((first - 0xD800) << 10) + (unit - 0xDC00)),
                (Some(_), _) => None,
                (None, unit) => char::from_u32(unit),
            };
            out.push(c.ok_or_else(|| self.wrong("half of a surrogate pair"))?);
        }
        if high.is_some() { Err(self.wrong("half of a surrogate pair")) } else { Ok(()) }
    }

    /// The character of an escape; `None` where it was written out already.
    fn escape(&mut self, out: &mut String) -> Result<Option<u32>, Failure> {
        let c = self.next().ok_or_else(|| self.wrong("`\\` at the end"))?;
        let unit = match c {
            '\\' | '\'' | '"' => u32::from(c),
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0C,
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            'v' => 0x0B,
            '\n' => return Ok(None),
            'x' => self.hexadecimal(2)?,
            'u' => self.hexadecimal(4)?,
            'U' => self.hexadecimal(8)?,
            '0'..='7' => {
                let mut unit = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|d| d.to_digit(8)) else { break };
                    unit = unit * 8 + digit;
                    self.next();
                }
                unit
            }
            other => {
                // Python keeps an escape that it does not know.
                out.push('\\');
                out.push(other);
                return Ok(None);
            }
        };
        Ok(Some(unit))
    }

    fn hexadecimal(&mut self, length: usize) -> Result<u32, Failure> {
        let digits = self.rest().get(..length).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|d| u32::from_str_radix(d, 16).ok()).ok_or_else(|| self.wrong("an incomplete escape"))?;
        self.at += length;
        Ok(unit)
    }

    /// A name, a constant, a text with a prefix, or a call.
    fn word(&mut self, start: usize) -> Result<Value, Failure> {
        if self.at_prefixed_text() {
            return self.texts();
        }
        while self.peek().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
            self.next();
        }
        let name = self.text.get(start..self.at).unwrap_or_default();
        match name {
            "True" => return Ok(Value::Bool(true)),
            "False" => return Ok(Value::Bool(false)),
            "None" => return Ok(Value::Null),
            _ => {}
        }
        if self.peek() != Some('(') {
            return Ok(Value::from(name));
        }
        let open = self.at;
        self.balanced('(', ')')?;
        let inside = self.text.get(open + 1..self.at - 1).unwrap_or_default();
        if name == "Decimal" || name.ends_with(".Decimal") {
            let digits = inside.trim().trim_matches(['\'', '"']);
            if let Some(number) = Number::parse(&as_json_number(digits)) {
                return Ok(Value::Number(number));
            }
        }
        match (name, inside.trim()) {
            ("set" | "frozenset", "") => Ok(Value::array(Vec::new())),
            _ => Ok(Value::from(self.text.get(start..self.at).unwrap_or_default())),
        }
    }

    /// `<a repr of something>` as its text.
    fn opaque(&mut self, start: usize) -> Result<Value, Failure> {
        self.balanced('<', '>')?;
        Ok(Value::from(self.text.get(start..self.at).unwrap_or_default()))
    }

    /// Goes behind the bracket that closes the one here; texts in quotes are passed over.
    fn balanced(&mut self, open: char, close: char) -> Result<(), Failure> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some('\'' | '"') if open == '(' => {
                    self.text_literal(&mut String::new())?;
                    continue;
                }
                Some(c) if c == open => depth += 1,
                Some(c) if c == close => depth -= 1,
                Some(_) => {}
                None => return Err(self.wrong("a bracket that is not closed")),
            }
            self.next();
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

/// `1.` → `1.0`, `.5` → `0.5`, `+1` → `1`; what is none stays none.
fn as_json_number(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.strip_prefix('+').unwrap_or(digits)), |rest| ("-", rest));
    let (mantissa, exponent) = digits.find(['e', 'E']).and_then(|at| digits.split_at_checked(at)).unwrap_or((digits, ""));
    let zero_before = if mantissa.starts_with('.') { "0" } else { "" };
    let zero_after = if mantissa.ends_with('.') { "0" } else { "" };
    format!("{sign}{zero_before}{mantissa}{zero_after}{exponent}")
}

fn key_text(key: &Value, source: &str) -> SmolStr {
    match key {
        Value::Null => SmolStr::new_static("null"),
        Value::Array(_) | Value::Object(_) => SmolStr::new(source),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => scalar_text(key).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        parse(text).map_or_else(|f| f.code.to_string(), |v| crate::json::to_string(&v))
    }

    #[test]
    fn literals_become_values() {
        assert_eq!(read(r#"{'a': 1, "b": [True, False, None], 'c': (1, 2)}"#), r#"{"a":1,"b":[true,false,null],"c":[1,2]}"#);
        assert_eq!(read("[(1), (1,), (), {}, {1, 2}, set()]"), "[1,[1],[],{},[1,2],[]]");
        assert_eq!(
            read("[12345678901234567890123, -1.50, 1., .5, 1e+16, 0x1F, 1_000, +3]"),
            "[12345678901234567890123,-1.50,1.0,0.5,1e+16,31,1000,3]"
        );
        assert_eq!(
            read(
                r#"['it\'s', "say \"hi\"", '''a
b''', r'\d', b'\x00', 'a' "b", '\u00e9\N{DASH}', '\ud83d\ude00', '\101']"#
            ),
            "[\"it's\",\"say \\\"hi\\\"\",\"a\\nb\",\"\\\\d\",\"\\u0000\",\"ab\",\"é\\\\N{DASH}\",\"😀\",\"A\"]"
        );
        assert_eq!(
            read("[Decimal('3.2'), decimal.Decimal('10'), datetime.date(2020, 1, 2), nan, -inf, f(')')]"),
            r#"[3.2,10,"datetime.date(2020, 1, 2)","nan","-inf","f(')')"]"#
        );
        assert_eq!(read("{'s': <Color.RED: 1>, 1: 'x', None: 2, (1, 2): 3}"), r#"{"s":"<Color.RED: 1>","1":"x","null":2,"(1, 2)":3}"#);
    }

    #[test]
    fn what_is_no_literal_is_refused() {
        for text in ["", "{'a': 1", "[1 2]", "'abc", "{'a': 1, 2}", "1 2", "f(", "'\\ud83d'", "01", "@", "1+2j", "'a\nb'"] {
            assert_eq!(read(text), "not-python", "{text}");
        }
        assert_eq!(read(&"[".repeat(100_000)), "not-python");
        assert_eq!(read(&"f(".repeat(100_000)), "not-python");
    }
}
