//! Opaque tokens: what a machine made up, and would make up differently tomorrow. They are found in any text, and replaced in any value.
//!
//! A token is a run of letters and digits. It is opaque where it has both (`fe9ubkpk`, not `oauth2` or `1080p`), where it is
//! a long row of digits (`177120`, not `2026` or `1000000`), or where its letters make no word (`xkqjvbzd`). Dates, instants and fractions are none. A replacement has the same length, letters where
//! there were letters and digits where there were digits; it is found whatever the case of the letters, and keeps that case, so that it makes no
//! difference whether a text is renamed before or after it is put into lower case, percent-encoded, or written as JSON.

use crate::weight::is_drawn;
use ltc_workflow::{Number, Object, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

/// Sees every opaque token in `text`, by its bytes.
pub fn scan(text: &str, see: &mut dyn FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    let has_escapes = text.trim_start().starts_with(['{', '[']);
    let is = |at: usize, test: fn(&u8) -> bool| bytes.get(at).is_some_and(test);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' && is(at + 1, u8::is_ascii_hexdigit) && is(at + 2, u8::is_ascii_hexdigit) {
            at += 3;
            continue;
        }
        if has_escapes && *byte == b'\\' && is(at + 1, u8::is_ascii) {
            at += if bytes.get(at + 1) == Some(&b'u') { 2 + (2..6).take_while(|i| is(at + i, u8::is_ascii_hexdigit)).count() } else { 2 };
            continue;
        }
        let width = word(text, at);
        if width == 0 {
            at += text.get(at..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8);
            continue;
        }
        if let Some(length) = instant(bytes, at) {
            at += length;
            continue;
        }
        let start = at;
        while word(text, at) > 0 {
            at += word(text, at);
        }
        let token = text.get(start..at).unwrap_or_default();
        let fraction = (start > 1 && bytes.get(start - 1) == Some(&b'.') && is(start - 2, u8::is_ascii_digit))
            || (bytes.get(at) == Some(&b'.') && is(at + 1, u8::is_ascii_digit));
        if is_opaque(token) && !(fraction && token.bytes().all(|b| b.is_ascii_digit())) {
            see(start, at);
        }
    }
}

/// The length of the letter or digit at `at`; 0 where there is none.
fn word(text: &str, at: usize) -> usize {
    match text.as_bytes().get(at) {
        Some(byte) if byte.is_ascii() => usize::from(byte.is_ascii_alphanumeric()),
        Some(_) => text.get(at..).and_then(|t| t.chars().next()).filter(|c| c.is_alphanumeric()).map_or(0, char::len_utf8),
        None => 0,
    }
}

/// Whether a run of letters and digits was made up by a machine.
fn is_opaque(token: &str) -> bool {
    if !token.is_ascii() || token.len() < 5 {
        return false;
    }
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    if digits == token.len() {
        return digits >= 6 && !token.ends_with("000");
    }
    if digits == 0 {
        return token.len() >= SHORTEST_OF_LETTERS && is_drawn(token);
    }
    !is_technical(token, digits)
}

/// Shorter letters that make no word may be an abbreviation of a few.
const SHORTEST_OF_LETTERS: usize = 7;

/// Words with a number, and numbers with a unit: the same in every run.
fn is_technical(token: &str, digits: usize) -> bool {
    const WORDS: &[&str] =
        &["amd", "arm", "base", "es", "float", "h", "http", "int", "ipv", "mp", "oauth", "python", "rfc", "sha", "uint", "utf", "win", "x"];
    const UNITS: &[&str] = &["seconds", "minutes", "hours", "days", "weeks", "months", "years", "pixels", "bytes"];
    let token = key(token);
    let leading = token.bytes().take_while(u8::is_ascii_digit).count();
    let trailing = token.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (Some(word), Some(unit)) = (token.get(..token.len() - trailing), token.get(leading..)) else { return false };
    let numbered = digits == trailing && ((digits <= 5 && WORDS.contains(&word)) || (digits == 1 && reads_like_a_word(word)));
    numbered || (digits == leading && digits <= 4 && (unit.len() <= 2 || UNITS.contains(&unit)))
}

/// Whether letters can be spoken: `session`, not `onpmauq`.
fn reads_like_a_word(letters: &str) -> bool {
    let is_vowel = |b: &u8| matches!(b, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let vowels = letters.bytes().filter(|b| is_vowel(b)).count();
    let longest = letters.as_bytes().split(is_vowel).map(<[u8]>::len).max().unwrap_or(0);
    let lone_q = letters.contains('q') && !letters.contains("qu");
    letters.len() >= 5 && vowels * 4 >= letters.len() && vowels * 3 <= letters.len() * 2 && longest <= 3 && !lone_q
}

/// The length of the date or instant that starts at `at`.
fn instant(bytes: &[u8], at: usize) -> Option<usize> {
    let fits = |from: usize, shape: &[u8]| {
        shape.iter().enumerate().all(|(i, s)| bytes.get(from + i).is_some_and(|b| if *s == b'0' { b.is_ascii_digit() } else { b == s }))
    };
    if !fits(at, b"0000-00-00") || fits(at + 10, b"0") {
        return None;
    }
    let mut end = at + 10;
    if matches!(bytes.get(end), Some(b'T' | b't' | b' ')) && fits(end + 1, b"00:00") {
        end += 6;
        if fits(end, b":00") {
            end += 3;
        }
        if fits(end, b".0") {
            end += 1 + bytes.iter().skip(end + 1).take_while(|b| b.is_ascii_digit()).count();
        }
        if matches!(bytes.get(end), Some(b'Z' | b'z')) {
            end += 1;
        } else if fits(end, b"+00:00") || fits(end, b"-00:00") {
            end += 6;
        }
    }
    Some(end - at)
}

/// A token as it is looked up: in lower case.
pub fn key(token: &str) -> SmolStr {
    if token.bytes().any(|b| b.is_ascii_uppercase()) { SmolStr::new(token.to_ascii_lowercase()) } else { SmolStr::new(token) }
}

/// Sees every opaque token in `value`, in the keys of objects too, in lower case.
pub fn each(value: &Value, see: &mut dyn FnMut(SmolStr)) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => each_in_number(number, see),
        Value::String(text) => each_in_text(text, see),
        Value::Array(items) => items.iter().for_each(|item| each(item, see)),
        Value::Object(object) => object.iter().for_each(|(name, item)| {
            each_in_text(name, see);
            each(item, see);
        }),
    }
}

/// Sees every opaque token in `text`, in lower case.
pub fn each_in_text(text: &str, see: &mut dyn FnMut(SmolStr)) {
    scan(text, &mut |start, end| see(key(text.get(start..end).unwrap_or_default())));
}

fn each_in_number(number: &Number, see: &mut dyn FnMut(SmolStr)) {
    let digits = number.as_str().trim_start_matches('-');
    if number.is_integer() && is_opaque(digits) {
        see(SmolStr::new(digits));
    }
}

/// Other tokens for some tokens.
#[derive(Clone, Debug, Default)]
pub struct Renaming {
    others: FxHashMap<SmolStr, SmolStr>,
}

impl Renaming {
    /// Another token for each of `tokens` (in lower case), none of which is among `taken` or among each other. A token for which no
    /// other is found stays as it is. The same `seed` gives the same tokens.
    pub fn of(tokens: &[SmolStr], taken: &dyn Fn(&str) -> bool, seed: u64) -> Renaming {
        const MOST_TRIES: u64 = 64;
        let mut renaming = Renaming::default();
        let mut new: FxHashSet<SmolStr> = FxHashSet::default();
        for token in tokens {
            let tries = (0..MOST_TRIES).map(|n| another(token, seed.wrapping_mul(MOST_TRIES).wrapping_add(n)));
            let other = tries.map(SmolStr::new).find(|other| other != token && !taken(other) && !new.contains(other));
            if let Some(other) = other {
                new.insert(other.clone());
                renaming.others.insert(token.clone(), other);
            }
        }
        renaming
    }

    /// Whether a token (in lower case) gets another name.
    pub fn renames(&self, token: &str) -> bool {
        self.others.contains_key(token)
    }

    /// `value` in other names, in the keys of objects too; `None` where that changes nothing.
    pub fn value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) => None,
            Value::Number(number) => self.number(number).map(Value::Number),
            Value::String(text) => self.text(text).map(Value::string),
            Value::Array(items) => {
                let mut renamed: Option<Vec<Value>> = None;
                for (at, item) in items.iter().enumerate() {
                    if let Some(other) = self.value(item)
                        && let Some(slot) = renamed.get_or_insert_with(|| items.to_vec()).get_mut(at)
                    {
                        *slot = other;
                    }
                }
                renamed.map(Value::array)
            }
            Value::Object(object) => self.entries(object, true).map(Value::Object),
        }
    }

    /// `object` with its values in other names, but its own keys as they are.
    pub fn object(&self, object: &Object) -> Object {
        self.entries(object, false).unwrap_or_else(|| object.clone())
    }

    fn entries(&self, object: &Object, keys: bool) -> Option<Object> {
        let mut changed = false;
        let entry = |(name, item): (&SmolStr, &Value)| {
            let other_name = if keys { self.text(name).map(SmolStr::new) } else { None };
            let other = self.value(item);
            changed |= other_name.is_some() || other.is_some();
            (other_name.unwrap_or_else(|| name.clone()), other.unwrap_or_else(|| item.clone()))
        };
        let entries: Vec<(SmolStr, Value)> = object.iter().map(entry).collect();
        changed.then(|| entries.into_iter().collect())
    }

    /// `text` in other names; `None` where that changes nothing.
    pub fn text(&self, text: &str) -> Option<String> {
        let mut out: Option<String> = None;
        let mut last = 0;
        scan(text, &mut |start, end| {
            let token = text.get(start..end).unwrap_or_default();
            let Some(other) = self.others.get(&key(token)) else { return };
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(text.get(last..start).unwrap_or_default());
            out.extend(
                token.chars().zip(other.chars()).map(|(old, new)| if old.is_ascii_uppercase() { new.to_ascii_uppercase() } else { new }),
            );
            last = end;
        });
        let mut out = out?;
        out.push_str(text.get(last..).unwrap_or_default());
        Some(out)
    }

    fn number(&self, number: &Number) -> Option<Number> {
        let digits = number.as_str().trim_start_matches('-');
        if !number.is_integer() || !is_opaque(digits) {
            return None;
        }
        let other = self.others.get(digits)?;
        Number::parse(&number.as_str().replace(digits, other))
    }
}

/// Another token of the shape of `token`.
fn another(token: &str, seed: u64) -> String {
    let is_hex = token.bytes().all(|b| b.is_ascii_hexdigit());
    let letters: &[u8] = if is_hex { b"abcdef" } else { b"bcdfghjkmnpqrstvwxz" };
    let mut state = crate::text::hash(token) ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut out = String::with_capacity(token.len());
    for (at, old) in token.bytes().enumerate() {
        state = mixed(state);
        let new = match old {
            b'1'..=b'9' if at == 0 => pick(b"123456789", state),
            b'0' if at == 0 => b'0',
            b'0'..=b'9' => pick(b"123456789", state),
            _ => pick(letters, state),
        };
        out.push(char::from(new));
    }
    out
}

fn pick(from: &[u8], state: u64) -> u8 {
    let length = u64::try_from(from.len()).unwrap_or(1).max(1);
    usize::try_from((state >> 33) % length).ok().and_then(|at| from.get(at)).copied().unwrap_or(b'7')
}

/// One step of a fixed sequence (splitmix64).
fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;
    use proptest::prelude::*;

    fn found(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        scan(text, &mut |start, end| tokens.push(text[start..end].to_owned()));
        tokens
    }

    #[test]
    fn ids_are_opaque_and_words_dates_and_measures_are_not() {
        assert_eq!(found("img_fe9ubkpk and bsk-177120 at https://x.de/u/Ab3dEf7?x=%2Fzz9yy8"), ["fe9ubkpk", "177120", "Ab3dEf7", "zz9yy8"]);
        assert_eq!(found("img_wzojwq18 onpmauq4 acct77 3d5f6"), ["wzojwq18", "onpmauq4", "acct77", "3d5f6"]);
        assert_eq!(found(r#"{"a":"line\nzz9yy8","b":"\u00e9zz9yy8"}"#), ["zz9yy8", "zz9yy8"]);
        assert_eq!(found("job_xkqjvbzd of kubernetes, by harbour"), ["xkqjvbzd"]);
        assert_eq!(found("9007199254740993 00123456"), ["9007199254740993", "00123456"]);
        for text in [
            "session2 claim1 oauth2 SHA256 base64 1080p 100mb 30days",
            "2026-01-02T03:04:05.123456Z",
            "2026-01-02 10:00",
            "0.123456789 1234567.5",
            "1000000 90012",
            "größe12345",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    fn renaming(tokens: &[&str], seed: u64) -> Renaming {
        let tokens: Vec<SmolStr> = tokens.iter().map(SmolStr::new).collect();
        Renaming::of(&tokens, &|other| tokens.iter().any(|t| t == other), seed)
    }

    #[test]
    fn a_value_is_renamed_wherever_it_stands() {
        let renaming = renaming(&["ab3def7", "177120"], 1);
        let new = renaming.text("ab3def7").unwrap();
        let number = renaming.text("177120").unwrap();
        let value = json::parse(br#"{"AB3DEF7":[177120,-177120,"x/ab3def7?q=177120",{"n":1177120}]}"#).unwrap();
        let expected = format!(r#"{{"{}":[{number},-{number},"x/{new}?q={number}",{{"n":1177120}}]}}"#, new.to_uppercase());
        assert_eq!(json::to_string(&renaming.value(&value).unwrap()), expected);
        assert_eq!(renaming.value(&Value::from("nothing here 12")), None);
        let top = json::parse(br#"{"ab3def7":"ab3def7"}"#).unwrap();
        assert_eq!(json::to_string(&renaming.object(top.as_object().unwrap()).into()), format!(r#"{{"ab3def7":"{new}"}}"#));
    }

    proptest! {
        #[test]
        fn another_token_has_the_same_shape(token in "[0-9a-z]{5,20}", seed in any::<u64>()) {
            let other = another(&token, seed);
            let shape = |text: &str| text.bytes().map(|b| b.is_ascii_digit()).collect::<Vec<_>>();
            prop_assert_eq!(shape(&token), shape(&other));
        }

        #[test]
        fn renaming_can_be_done_before_or_after_encoding(before in "[ a-zA-Z%/\"\\\\é\n]{0,6}", after in "[ a-zA-Z%/\"\\\\é\n]{0,6}") {
            let renaming = renaming(&["ab3def7"], 7);
            let text = format!("{before} Ab3dEf7 {after}");
            let renamed = renaming.text(&text).unwrap();
            let json = |text: &str| json::to_string(&Value::array(vec![Value::from(text)]));
            prop_assert_eq!(renaming.text(&json(&text)).unwrap(), json(&renamed));
            prop_assert_eq!(renaming.text(&text.to_lowercase()).unwrap(), renamed.to_lowercase());
        }

        #[test]
        fn renaming_and_back_gives_the_same(tokens in proptest::collection::btree_set("[a-z][0-9][a-z][0-9]{3}[a-z]", 1..20)) {
            let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let there = renaming(&tokens, 3);
            let text = tokens.join("-");
            let other = |token: &str| there.others.get(token).cloned().unwrap();
            let back = Renaming { others: tokens.iter().map(|token| (other(token), SmolStr::new(token))).collect() };
            prop_assert_eq!(back.others.len(), tokens.len());
            prop_assert_eq!(back.text(&there.text(&text).unwrap()).unwrap(), text);
        }
    }
}
