//! Texts that hold more than a text: an object, a list, a table, lines; and the way through them.

use super::PathStep;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function, all_between, find_json, lines, parse_python, parse_table};
use smol_str::SmolStr;

/// What a text is read as.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    /// All of it is JSON.
    Json,
    /// All of it is a Python literal.
    Python,
    /// It holds a table.
    Table,
    /// It holds an object or a list in JSON, among other text.
    Inside,
    /// It is made of lines.
    Lines,
    /// It is made of blocks with a blank line between them.
    Blocks,
    /// It holds elements of this name, as XML has them.
    Elements(SmolStr),
}

/// What stands between two blocks of lines.
const BETWEEN_BLOCKS: &str = "\n\n";
/// The most names of elements that are looked for in a text.
const MOST_ELEMENTS: usize = 8;
/// Longer texts are read as a whole only, in bytes.
const LONGEST_OF_PARTS: usize = 400_000;

impl Opening {
    /// The way to read all of `text`: nothing else in it counts then.
    pub fn whole(text: &str) -> Option<(Opening, Value)> {
        [Opening::Json, Opening::Python].into_iter().find_map(|way| way.open(text).map(|v| (way, v)))
    }

    /// The ways to read what `text` holds among other text.
    pub fn inside(text: &str) -> Vec<(Opening, Value)> {
        if text.len() > LONGEST_OF_PARTS || !text.contains('\n') {
            return Vec::new();
        }
        let ways = [Opening::Table, Opening::Inside, Opening::Blocks, Opening::Lines].into_iter();
        ways.chain(elements(text).into_iter().map(Opening::Elements)).filter_map(|way| way.open(text).map(|v| (way, v))).collect()
    }

    /// Whether it gives parts of the text, which are texts themselves.
    pub fn gives_parts(&self) -> bool {
        matches!(self, Opening::Lines | Opening::Blocks | Opening::Elements(_))
    }

    /// What `text` holds, read in this way.
    pub fn open(&self, text: &str) -> Option<Value> {
        match self {
            Opening::Json => open_json(text),
            Opening::Python => open_python(text),
            Opening::Table => parse_table(text).ok().filter(has_items),
            Opening::Inside => find_json(text).ok().filter(|value| match value {
                Value::Array(items) => items.iter().any(|i| matches!(i, Value::Object(_))),
                Value::Object(object) => !object.is_empty(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
            }),
            Opening::Lines => Some(lines(text)).filter(has_items),
            Opening::Blocks => text.contains(BETWEEN_BLOCKS).then(|| text.split(BETWEEN_BLOCKS).map(Value::from).collect()),
            Opening::Elements(name) => all_between(text, &format!("<{name}>"), &format!("</{name}>")).ok().filter(has_items),
        }
    }

    /// The expression that reads what `text` gives in this way.
    pub fn of(&self, text: Expr) -> Expr {
        let literal = |text: String| Expr::Literal(Value::string(text));
        match self {
            Opening::Json => text.apply(Function::ParseJson),
            Opening::Python => text.apply(Function::ParsePython),
            Opening::Table => text.apply(Function::ParseTable),
            Opening::Inside => text.apply(Function::FindJson),
            Opening::Lines => text.apply(Function::Lines),
            Opening::Blocks => Expr::Call(Function::Split, vec![text, literal(BETWEEN_BLOCKS.to_owned())]),
            Opening::Elements(name) => {
                Expr::Call(Function::AllBetween, vec![text, literal(format!("<{name}>")), literal(format!("</{name}>"))])
            }
        }
    }
}

fn has_items(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty())
}

/// The object or list that `text` spells in JSON.
pub fn open_json(text: &str) -> Option<Value> {
    match ltc_workflow::outcome::decode_text(text) {
        Value::String(_) => None,
        value => Some(value),
    }
}

/// The dict or list that `text` spells in Python, where it is no JSON.
fn open_python(text: &str) -> Option<Value> {
    let start = text.trim_start();
    (start.starts_with(['{', '[']) && text.contains(['\'', 'N', 'T', 'F', '('])).then(|| parse_python(text).ok()).flatten()
}

/// The names of elements without attributes that hold other elements: `<item><title>…</title></item>`.
fn elements(text: &str) -> Vec<SmolStr> {
    let mut found: Vec<SmolStr> = Vec::new();
    for part in text.split('<').skip(1) {
        let Some((name, rest)) = part.split_once('>') else { continue };
        let is_name = !name.is_empty() && name.len() <= 40 && name.chars().all(|c| c.is_alphanumeric() || "_-.:".contains(c));
        // The next tag follows without a text between them.
        if is_name && rest.trim().is_empty() && found.len() < MOST_ELEMENTS && !found.iter().any(|f| f == name) {
            found.push(SmolStr::new(name));
        }
    }
    found.retain(|name| text.contains(&format!("</{name}>")));
    found
}

/// Whether a way leads into a part of a text: what stands there may be cut out of it.
pub fn is_in_part(path: &[PathStep]) -> bool {
    path.iter().any(|step| matches!(step, PathStep::Open(opening) if opening.gives_parts()))
}

/// The value at `path` in `root`, through texts as the path says.
pub fn follow(root: &Value, path: &[PathStep]) -> Option<Value> {
    let mut value = root.clone();
    for step in path {
        value = match step {
            PathStep::Key(key) => value.get(key)?.clone(),
            PathStep::Index(at) => value.at(*at)?.clone(),
            PathStep::Open(opening) => opening.open(value.as_str()?)?,
        };
    }
    Some(value)
}
