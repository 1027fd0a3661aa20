//! Secrets: read from the environment when a run starts, taken out of everything that is shown, and sealed in what a journal keeps.
//!
//! What is shown says `[secret NAME]`. What is kept says the same in a form that can be turned back, since a run that goes on needs the value:
//! behind `[secret` comes a blank (the value), `+` (the value as it stands inside JSON text), `#` (a number), or `|` where the text itself said `[secret`.

use crate::environment::Environment;
use ltc_workflow::value::{Number, Object};
use ltc_workflow::{Value, json};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The secrets `names`, from the environment.
///
/// # Errors
/// The names of those that are missing or empty.
pub fn read(names: &BTreeSet<SmolStr>, environment: &dyn Environment) -> Result<BTreeMap<SmolStr, SmolStr>, Vec<SmolStr>> {
    let mut found = BTreeMap::new();
    let mut missing = Vec::new();
    for name in names {
        match environment.get(name).filter(|value| !value.is_empty()) {
            Some(value) => {
                found.insert(name.clone(), SmolStr::new(value));
            }
            None => missing.push(name.clone()),
        }
    }
    if missing.is_empty() { Ok(found) } else { Err(missing) }
}

/// Replaces known secret values by `[secret NAME]`.
#[derive(Clone, Default)]
pub struct Redactor {
    /// What is looked for, the longest first: a secret may hold another.
    replacements: Vec<Replacement>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Replacement {
    secret: String,
    name: String,
    /// Whether `secret` is the value as it stands inside JSON text.
    is_quoted: bool,
}

/// How every stand-in begins.
const OPENING: &str = "[secret";

impl Redactor {
    /// A redactor of these secrets, by name.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Redactor {
        let mut replacements: Vec<Replacement> = Vec::new();
        for (name, value) in secrets {
            if value.is_empty() {
                continue;
            }
            // A message may show an argument as JSON: there a secret with a quote or a line break looks different.
            let quoted = json::quote(value);
            let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted);
            if inside != value {
                replacements.push(Replacement { secret: inside.to_owned(), name: name.to_owned(), is_quoted: true });
            }
            replacements.push(Replacement { secret: value.to_owned(), name: name.to_owned(), is_quoted: false });
        }
        replacements.sort_by(|a, b| b.secret.len().cmp(&a.secret.len()).then_with(|| a.cmp(b)));
        Redactor { replacements }
    }

    /// One that knows the secrets of `other` too.
    #[must_use]
    pub fn and(&self, other: &Redactor) -> Redactor {
        let mut replacements: Vec<Replacement> = self.replacements.iter().chain(&other.replacements).cloned().collect();
        replacements.sort_by(|a, b| b.secret.len().cmp(&a.secret.len()).then_with(|| a.cmp(b)));
        replacements.dedup();
        Redactor { replacements }
    }

    /// `text` without secrets.
    pub fn text(&self, text: &str) -> String {
        self.replaced(text, None, |found| format!("{OPENING} {}]", found.name))
    }

    /// `text` without secrets, so that [`Redactor::unseal_text`] finds them again.
    pub fn seal_text(&self, text: &str) -> String {
        let stand_in = |found: &Replacement| format!("{OPENING}{}{}]", if found.is_quoted { '+' } else { ' ' }, found.name);
        self.replaced(text, Some((OPENING, "[secret|")), stand_in)
    }

    /// What was sealed. A stand-in whose secret is not known here stays.
    pub fn unseal_text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(OPENING) {
            out.push_str(before);
            let found = behind.strip_prefix([' ', '+']).and_then(|named| named.split_once(']')).and_then(|(name, after)| {
                let is_quoted = behind.starts_with('+');
                Some((self.replacements.iter().find(|r| r.name == name && r.is_quoted == is_quoted)?, after))
            });
            rest = match (found, behind.strip_prefix('|')) {
                (Some((replacement, after)), _) => {
                    out.push_str(&replacement.secret);
                    after
                }
                (None, literal) => {
                    out.push_str(OPENING);
                    literal.unwrap_or(behind)
                }
            };
        }
        out.push_str(rest);
        out
    }

    /// One pass from left to right, so that a stand-in is never searched for secrets.
    fn replaced(&self, text: &str, also: Option<(&str, &str)>, stand_in: impl Fn(&Replacement) -> String) -> String {
        let has_other = also.is_some_and(|(from, _)| text.contains(from));
        if !has_other && self.replacements.iter().all(|replacement| !text.contains(replacement.secret.as_str())) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        'text: while let Some(next) = rest.chars().next() {
            for replacement in &self.replacements {
                if let Some(after) = rest.strip_prefix(replacement.secret.as_str()) {
                    out.push_str(&stand_in(replacement));
                    rest = after;
                    continue 'text;
                }
            }
            if let Some((to, after)) = also.and_then(|(from, to)| Some((to, rest.strip_prefix(from)?))) {
                out.push_str(to);
                rest = after;
                continue;
            }
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
        out
    }

    /// `value` with its secrets sealed.
    pub fn seal(&self, value: &Value) -> Value {
        mapped(value, &|text| self.seal_text(text), &|number| {
            let found = self.replacements.iter().find(|replacement| replacement.secret == number.as_str())?;
            Some(Value::string(format!("{OPENING}#{}]", found.name)))
        })
    }

    /// The value that was sealed.
    pub fn unseal(&self, value: &Value) -> Value {
        if let Some(number) = value.as_str().and_then(|text| self.sealed_number(text)) {
            return Value::Number(number);
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => Value::string(self.unseal_text(text)),
            Value::Array(items) => items.iter().map(|item| self.unseal(item)).collect(),
            Value::Object(object) => {
                object.iter().map(|(key, item)| (SmolStr::new(self.unseal_text(key)), self.unseal(item))).collect::<Object>().into()
            }
        }
    }

    fn sealed_number(&self, text: &str) -> Option<Number> {
        let name = text.strip_prefix(OPENING)?.strip_prefix('#')?.strip_suffix(']')?;
        Number::parse(&self.replacements.iter().find(|replacement| replacement.name == name)?.secret)
    }

    /// `value` without secrets, in its keys too. A number is a secret only as a whole: `7` says nothing about a PIN that holds a 7.
    pub fn value(&self, value: &Value) -> Value {
        mapped(value, &|text| self.text(text), &|number| {
            let found = self.replacements.iter().find(|replacement| replacement.secret == number.as_str())?;
            Some(Value::string(format!("{OPENING} {}]", found.name)))
        })
    }
}

/// `value` with other texts (keys are texts too), and with other values for numbers.
fn mapped(value: &Value, text: &dyn Fn(&str) -> String, number: &dyn Fn(&Number) -> Option<Value>) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(n) => number(n).unwrap_or_else(|| value.clone()),
        Value::String(s) => Value::string(text(s)),
        Value::Array(items) => items.iter().map(|item| mapped(item, text, number)).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, item)| (SmolStr::new(text(key)), mapped(item, text, number))).collect::<Object>().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        Redactor::new([("PIN", "4711"), ("LONG", "4711-4711"), ("ODD", "a\"b\n"), ("EMPTY", "")])
    }

    #[test]
    fn the_longest_secret_goes_first() {
        assert_eq!(redactor().text("4711-4711 and 4711"), "[secret LONG] and [secret PIN]");
    }

    #[test]
    fn a_secret_is_found_in_json_text_too() {
        assert_eq!(redactor().text(r#"{"p":"a\"b\n"} a"b"#), r#"{"p":"[secret ODD]"} a"b"#);
    }

    #[test]
    fn keys_numbers_and_nested_texts_are_covered() {
        let value = json::parse(br#"{"x4711":[4711,47110,"4711"]}"#).expect("valid JSON in a test");
        assert_eq!(json::to_string(&redactor().value(&value)), r#"{"x[secret PIN]":["[secret PIN]",47110,"[secret PIN]"]}"#);
    }

    #[test]
    fn a_stand_in_is_not_searched() {
        assert_eq!(Redactor::new([("secret", "x"), ("B", "secret")]).text("x secret"), "[secret secret] [secret B]");
    }

    #[test]
    fn what_is_sealed_holds_no_secret_and_comes_back() {
        let texts = r#"["4711", 4711, 47110, "a\"b\n", "{\"p\":\"a\\\"b\\n\"}", "[secret PIN]", "[secret", "[secret|x [secret#PIN]", {"k4711": "[secret+ODD]"}, "[secret NONE]"]"#;
        let value = json::parse(texts.as_bytes()).expect("valid JSON in a test");
        let sealed = redactor().seal(&value);
        let text = json::to_string(&sealed);
        assert!(!text.replace("47110", "").contains("4711") && !text.contains(r#"a\"b"#), "{text}");
        assert_eq!(redactor().unseal(&sealed), value);
    }

    proptest::proptest! {
        #[test]
        fn sealing_is_undone_by_unsealing(text in "([secrt |+#PINODLG\\]\\[]|4711|a\"b\n|\\[secret){0,12}") {
            let value = Value::from(text.as_str());
            proptest::prop_assert_eq!(redactor().unseal(&redactor().seal(&value)), value);
        }
    }
}
