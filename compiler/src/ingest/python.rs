//! Python's `repr` → values: some recorders write what `print` shows instead of JSON.
//!
//! Literals become values; `Name(key=value, …)` becomes an object of its keys, with positional arguments under `0`, `1` …; pydantic's
//! `key=value key=value` at the top becomes an object as well. What is not understood, or has a key twice, is no value at all, so that the text stays text.

use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;

/// Deeper nesting is not read.
const DEPTH: usize = 48;

/// The value of the literal that fills `text`.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text.trim(), cut: false, forgive: false };
    let value = reader.value(0)?;
    reader.rest.trim().is_empty().then_some(value)
}

/// The pairs of `key=value key=value`, and whether the text ends in the middle of one.
pub(crate) fn parse_pairs(text: &str) -> Option<(Object, bool)> {
    let mut reader = Reader { rest: text.trim(), cut: false, forgive: true };
    let mut pairs = Vec::new();
    while !reader.rest.is_empty() {
        let key = reader.word()?;
        reader.rest = reader.rest.strip_prefix('=')?;
        let value = reader.value(0)?;
        pairs.push((key, value));
        reader.blanks();
    }
    (!pairs.is_empty()).then(|| (pairs.into_iter().collect(), reader.cut))
}

struct Reader<'t> {
    rest: &'t str,
    /// Whether the text ended inside of something.
    cut: bool,
    /// Whether that is forgiven.
    forgive: bool,
}

impl<'t> Reader<'t> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, mark: char) -> bool {
        self.blanks();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// True where the text ends here and that is forgiven.
    fn ends(&mut self) -> bool {
        self.blanks();
        let ends = self.forgive && self.rest.is_empty();
        self.cut |= ends;
        ends
    }

    fn word(&mut self) -> Option<&'t str> {
        self.blanks();
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEPTH {
            return None;
        }
        if self.ends() {
            return Some(Value::Null);
        }
        let first = self.rest.chars().next()?;
        match first {
            '\'' | '"' => self.string(false).map(Value::String),
            '[' => self.sequence('[', ']', depth),
            '(' => self.sequence('(', ')', depth),
            '{' => self.mapping(depth),
            '-' | '0'..='9' => self.number(),
            'b' | 'r' | 'u' if self.rest.get(1..).is_some_and(|r| r.starts_with(['\'', '"'])) => {
                self.rest = self.rest.get(1..)?;
                self.string(first == 'r').map(Value::String)
            }
            _ => self.name(depth),
        }
    }

    fn number(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c))).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        match Number::parse(digits) {
            None if self.ends() => Some(Value::Null),
            number => number.map(Value::Number),
        }
    }

    fn name(&mut self, depth: usize) -> Option<Value> {
        match self.word()? {
            "None" => Some(Value::Null),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            _ if self.take('(') => self.fields(depth),
            _ if self.ends() => Some(Value::Null),
            _ => None,
        }
    }

    /// The inside of `Name(…)`.
    fn fields(&mut self, depth: usize) -> Option<Value> {
        let mut fields: Vec<(SmolStr, Value)> = Vec::new();
        loop {
            if self.ends() || self.take(')') {
                return Some(fields.into_iter().collect::<Object>().into());
            }
            let before = self.rest;
            let key = match self.word() {
                Some(word) if self.rest.starts_with('=') => {
                    self.rest = self.rest.strip_prefix('=')?;
                    SmolStr::new(word)
                }
                _ => {
                    self.rest = before;
                    SmolStr::new(fields.len().to_string())
                }
            };
            fields.push((key, self.value(depth + 1)?));
            if !self.take(',') && !self.ends() {
                return self.take(')').then(|| fields.into_iter().collect::<Object>().into());
            }
        }
    }

    fn sequence(&mut self, open: char, close: char, depth: usize) -> Option<Value> {
        self.take(open);
        let mut items = Vec::new();
        loop {
            if self.ends() || self.take(close) {
                return Some(Value::array(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.take(',') && !self.ends() {
                return self.take(close).then(|| Value::array(items));
            }
        }
    }

    /// A dictionary, or a set.
    fn mapping(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let (mut entries, mut items) = (Vec::new(), Vec::new());
        loop {
            if self.ends() || self.take('}') {
                break;
            }
            let key = self.value(depth + 1)?;
            if self.take(':') {
                let key = match key {
                    Value::String(key) => key,
                    Value::Number(number) => SmolStr::new(number.as_str()),
                    Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
                };
                entries.push((key, self.value(depth + 1)?));
            } else {
                items.push(key);
            }
            if !self.take(',') && !self.ends() {
                if self.take('}') {
                    break;
                }
                return None;
            }
        }
        match (entries.is_empty(), items.is_empty()) {
            (_, true) => {
                let (count, object) = (entries.len(), entries.into_iter().collect::<Object>());
                (object.len() == count).then(|| object.into())
            }
            (true, false) => Some(Value::array(items)),
            (false, false) => None,
        }
    }

    /// A string in quotes, with its escapes.
    fn string(&mut self, raw: bool) -> Option<SmolStr> {
        let quote = self.rest.chars().next()?;
        let mut chars = self.rest.char_indices();
        chars.next();
        let mut text = String::new();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.rest = self.rest.get(at + c.len_utf8()..)?;
                return Some(text.into());
            }
            if c != '\\' || raw {
                text.push(c);
                continue;
            }
            let Some((_, escape)) = chars.next() else {
                break;
            };
            match escape {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'a' => text.push('\u{7}'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'v' => text.push('\u{b}'),
                '0' => text.push('\0'),
                '\n' => {}
                '\\' | '\'' | '"' => text.push(escape),
                'x' | 'u' | 'U' => {
                    let digits = if escape == 'x' {
                        2
                    } else if escape == 'u' {
                        4
                    } else {
                        8
                    };
                    let hex: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                    match u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32) {
                        Some(c) => text.push(c),
                        None if self.forgive => {}
                        None => return None,
                    }
                }
                other => text.extend(['\\', other]),
            }
        }
        self.rest = "";
        self.cut = true;
        self.forgive.then(|| text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    fn same(python: &str, expected: &str) {
        assert_eq!(parse(python).map(|v| json::to_string(&v)).as_deref(), Some(expected), "{python}");
    }

    #[test]
    fn literals() {
        same("{'a': 1, 'b': [True, None, 2.50], 3: ('x',)}", r#"{"a":1,"b":[true,null,2.50],"3":["x"]}"#);
        same(r#"'it\'s \x41\u00e9\n'"#, r#""it's Aé\n""#);
        same("[Decimal('3.2'), datetime.date(2024, 1, 2)]", r#"[{"0":"3.2"},{"0":2024,"1":1,"2":2}]"#);
        same("{'a', 'b'}", r#"["a","b"]"#);
        same("[]", "[]");
        same("b'raw'", r#""raw""#);
    }

    #[test]
    fn what_is_no_literal() {
        for text in ["hello world", "[1", "{'a': }", "1 2", "nan", "<object at 0x7f>", "", "{'a': 1, 'b'}", "'open"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
    }

    #[test]
    fn pairs_at_the_top() {
        let (pairs, cut) = parse_pairs("meta=None content=[Text(type='text', text='a b')] isError=False").unwrap();
        assert_eq!(json::to_string(&pairs.into()), r#"{"meta":null,"content":[{"type":"text","text":"a b"}],"isError":false}"#);
        assert!(!cut);
        let (pairs, cut) = parse_pairs(r"meta=None content=[Text(type='text', text='a b\n").unwrap();
        assert_eq!(json::to_string(&pairs.into()), r#"{"meta":null,"content":[{"type":"text","text":"a b\n"}]}"#);
        assert!(cut);
        assert!(parse_pairs("no pairs here").is_none());
    }
}
