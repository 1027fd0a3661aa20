//! Secrets that passed, and what stands for each in the recording.

use crate::secrets::Redactor;
use ltc_workflow::secret::{has_secret_shape, looks_secret, secret_name, secret_parts, stand_in, stood_for};
use ltc_workflow::value::Object;
use ltc_workflow::{Value, json};
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet};

/// Shorter ones are only replaced where they are all of a value: they would be found everywhere.
const LEAST_WITHIN: usize = 4;
/// A number with fewer digits is none, whatever its name.
const LEAST_DIGITS: usize = 4;
/// So many layers of JSON in texts are looked into.
const LAYERS: usize = 3;

/// Values that are secret, each with its name.
#[derive(Default)]
pub struct StandIns {
    by_value: BTreeMap<SmolStr, SmolStr>,
    names: BTreeSet<SmolStr>,
    redactor: Redactor,
}

impl StandIns {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.by_value.len()
    }

    /// `value` is secret. Its name is `base`, or that with a number behind it where `base` has another value.
    pub fn learn(&mut self, base: &str, value: &str) {
        if value.is_empty() || stood_for(value).is_some() || self.by_value.contains_key(value) {
            return;
        }
        let mut name = SmolStr::new(base);
        for number in 2.. {
            if self.names.insert(name.clone()) {
                break;
            }
            name = format_smolstr!("{base}_{number}");
        }
        self.by_value.insert(value.into(), name);
        let within = self.by_value.iter().filter(|(value, _)| value.len() >= LEAST_WITHIN);
        self.redactor = Redactor::new(within.map(|(value, name)| (name.as_str(), value.as_str())));
    }

    /// Finds the secrets among the arguments of a call: by hint, by schema, by name, by shape.
    pub fn find_in_arguments(&mut self, server: &str, arguments: &Value, schema: Option<&Value>, hinted: &BTreeMap<SmolStr, SmolStr>) {
        Search { server, hinted, is_argument: true, known: self }.look("", arguments, schema, 0);
    }

    /// Finds the secrets in a result: by shape, and by the name of a field that holds a single word.
    pub fn find_in_result(&mut self, server: &str, result: &Value) {
        Search { server, hinted: &BTreeMap::new(), is_argument: false, known: self }.look("", result, None, 0);
    }

    /// `value` without secrets.
    pub fn hide(&self, value: &Value) -> Value {
        if self.by_value.is_empty() {
            return value.clone();
        }
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => match self.by_value.get(number.as_str()) {
                Some(name) if number.as_str().len() >= LEAST_DIGITS => Value::string(stand_in(name)),
                Some(_) | None => value.clone(),
            },
            Value::String(text) => Value::String(self.hide_text(text)),
            Value::Array(items) => items.iter().map(|item| self.hide(item)).collect(),
            Value::Object(object) => object.iter().map(|(key, item)| (self.hide_text(key), self.hide(item))).collect::<Object>().into(),
        }
    }

    fn hide_text(&self, text: &SmolStr) -> SmolStr {
        match self.by_value.get(text) {
            Some(name) => SmolStr::new(stand_in(name)),
            None => SmolStr::new(self.redactor.text(text)),
        }
    }
}

/// A walk through one value.
struct Search<'s> {
    server: &'s str,
    hinted: &'s BTreeMap<SmolStr, SmolStr>,
    is_argument: bool,
    known: &'s mut StandIns,
}

impl Search<'_> {
    fn look(&mut self, key: &str, value: &Value, schema: Option<&Value>, layer: usize) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                let text = number.as_str();
                if let Some(name) = self.named(key, schema).filter(|_| self.is_argument && text.len() >= LEAST_DIGITS) {
                    self.known.learn(&name, text);
                }
            }
            Value::String(text) => self.text(key, text, schema, layer),
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.get("items"));
                items.iter().for_each(|item| self.look(key, item, schema, layer));
            }
            Value::Object(object) => {
                let properties = schema.and_then(|schema| schema.get("properties"));
                for (key, item) in object.iter() {
                    self.look(key, item, properties.and_then(|all| all.get(key)), layer);
                }
            }
        }
    }

    fn text(&mut self, key: &str, text: &SmolStr, schema: Option<&Value>, layer: usize) {
        let is_inner_json = layer < LAYERS && text.trim_start().starts_with(['{', '[']);
        if let Some(inner) = is_inner_json.then(|| json::parse(text.as_bytes()).ok()).flatten() {
            return self.look(key, &inner, schema, layer + 1);
        }
        if has_secret_shape(text) && !text.contains(char::is_whitespace) {
            let name =
                self.hinted.get(key).cloned().unwrap_or_else(|| secret_name(self.server, if key.is_empty() { "token" } else { key }));
            return self.known.learn(&name, text);
        }
        if let Some(name) = self.named(key, schema).filter(|_| self.is_argument || is_word(text)) {
            return self.known.learn(&name, text);
        }
        for (start, end, key) in secret_parts(text) {
            self.known.learn(&secret_name(self.server, &key), &text[start..end]);
        }
    }

    /// What a value under this key and schema is called, if it is secret.
    fn named(&self, key: &str, schema: Option<&Value>) -> Option<SmolStr> {
        if let Some(name) = self.hinted.get(key) {
            return Some(name.clone());
        }
        let by_schema = schema.is_some_and(|schema| {
            schema.get("format").and_then(Value::as_str) == Some("password")
                || schema.get("writeOnly").and_then(Value::as_bool) == Some(true)
        });
        (by_schema || looks_secret(key)).then(|| secret_name(self.server, key))
    }
}

/// Whether a text in a result can be a secret by the name of its field: no prose, no time, no address.
fn is_word(text: &str) -> bool {
    let is_time = text.len() >= 10 && text.bytes().take(4).all(|byte| byte.is_ascii_digit()) && text.as_bytes()[4] == b'-';
    text.len() >= LEAST_WITHIN && !text.contains(char::is_whitespace) && !text.contains("://") && !is_time
}
