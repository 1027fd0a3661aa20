//! Texts that spell an object or a list, and the way through them.

use super::PathStep;
use ltc_workflow::Value;
use ltc_workflow::expr::{parse_python, parse_table};

/// The object or list that `text` spells in JSON.
pub fn open_json(text: &str) -> Option<Value> {
    match ltc_workflow::outcome::decode_text(text) {
        Value::String(_) => None,
        value => Some(value),
    }
}

/// The dict or list that `text` spells in Python, where it is no JSON.
pub fn open_python(text: &str) -> Option<Value> {
    let start = text.trim_start();
    (start.starts_with(['{', '[']) && text.contains(['\'', 'N', 'T', 'F', '('])).then(|| parse_python(text).ok()).flatten()
}

/// The rows of the table that `text` holds.
pub fn open_table(text: &str) -> Option<Value> {
    let has_rows = |rows: &Value| rows.as_array().is_some_and(|rows| !rows.is_empty());
    text.contains('\n').then(|| parse_table(text).ok()).flatten().filter(has_rows)
}

/// The value at `path` in `root`, through texts that are JSON or Python where the path says so.
pub fn follow(root: &Value, path: &[PathStep]) -> Option<Value> {
    let mut value = root.clone();
    for step in path {
        value = match step {
            PathStep::Key(key) => value.get(key)?.clone(),
            PathStep::Index(at) => value.at(*at)?.clone(),
            PathStep::Json => open_json(value.as_str()?)?,
            PathStep::Python => open_python(value.as_str()?)?,
            PathStep::Table => open_table(value.as_str()?)?,
        };
    }
    Some(value)
}
