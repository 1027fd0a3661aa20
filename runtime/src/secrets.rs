//! Secrets: read from the environment when a run starts, and taken out of everything that is printed.

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
    /// What is looked for and what stands for it, the longest first: a secret may hold another.
    replacements: Vec<(String, String)>,
}

impl Redactor {
    /// A redactor of these secrets, by name.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Redactor {
        let mut replacements: Vec<(String, String)> = Vec::new();
        for (name, value) in secrets {
            if value.is_empty() {
                continue;
            }
            let stand_in = format!("[secret {name}]");
            // A message may show an argument as JSON: there a secret with a quote or a line break looks different.
            let quoted = json::quote(value);
            let inside = quoted.trim_start_matches('"').trim_end_matches('"');
            if inside != value && !inside.is_empty() {
                replacements.push((inside.to_owned(), stand_in.clone()));
            }
            replacements.push((value.to_owned(), stand_in));
        }
        replacements.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        Redactor { replacements }
    }

    /// `text` without secrets.
    pub fn text(&self, text: &str) -> String {
        if self.replacements.iter().all(|(secret, _)| !text.contains(secret.as_str())) {
            return text.to_owned();
        }
        // One pass from left to right, so that a stand-in is never searched for secrets.
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        'text: while let Some(next) = rest.chars().next() {
            for (secret, stand_in) in &self.replacements {
                if let Some(after) = rest.strip_prefix(secret.as_str()) {
                    out.push_str(stand_in);
                    rest = after;
                    continue 'text;
                }
            }
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
        out
    }

    /// `value` without secrets, in its keys too.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => self.number(number),
            Value::String(text) => Value::string(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(object) => {
                object.iter().map(|(key, item)| (SmolStr::new(self.text(key)), self.value(item))).collect::<Object>().into()
            }
        }
    }

    /// A number is a secret only as a whole: `7` says nothing about a PIN that holds a 7.
    fn number(&self, number: &Number) -> Value {
        match self.replacements.iter().find(|(secret, _)| secret == number.as_str()) {
            Some((_, stand_in)) => Value::from(stand_in.as_str()),
            None => Value::Number(number.clone()),
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
}
