//! The parts that documents are made of: texts, numbers, lengths of time, expressions, templates. Each reports what is wrong and goes on.

use super::Problem;
use super::locate::locate;
use super::names::Names;
use super::tree::{Content, Entry, Node, Place, did_you_mean, shorten};
use crate::document::Duration;
use crate::expr::Expr;
use crate::expr::parse::{self, ExprError};
use crate::template::{Piece, Template, scan};
use crate::value::Value;
use smol_str::SmolStr;

/// How many problems are reported of one document.
const MOST_PROBLEMS: usize = 100;

/// Reads a document and collects what is wrong with it.
pub(super) struct Reader<'s> {
    pub source: &'s str,
    pub problems: Vec<Problem>,
    pub names: Names,
}

/// The entries of a map whose keys are known.
pub(super) struct Fields<'n> {
    entries: &'n [Entry],
    pub place: Place,
}

impl<'n> Fields<'n> {
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|e| &e.value)
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|e| e.key == key)
    }
}

impl Reader<'_> {
    pub(super) fn problem(&mut self, code: &'static str, place: Place, message: impl Into<String>, help: Option<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { line: place.line, column: place.column, code, message: message.into(), help });
        }
    }

    fn wrong_type(&mut self, node: &Node, what: &str, wanted: &str) {
        let found = match &node.content {
            Content::Map(_) => "a map".to_string(),
            Content::List(_) => "a list".to_string(),
            Content::Scalar(scalar) => match node.value() {
                Value::Null => "nothing".to_string(),
                Value::String(text) => format!("the text `{}`", shorten(&text)),
                _ => format!("`{}`", shorten(&scalar.text)),
            },
        };
        let quotes = wanted == "a text" && matches!(node.value(), Value::Number(_) | Value::Bool(_));
        let help = quotes.then(|| "put it in quotes to make it a text".to_string());
        self.problem("wrong-type", node.place, format!("{what} is {wanted}, not {found}"), help);
    }

    /// The entries of a map; keys that are not `known` are reported.
    pub(super) fn fields<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<Fields<'n>> {
        let Content::Map(entries) = &node.content else {
            self.wrong_type(node, what, "a map");
            return None;
        };
        for entry in entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let help = did_you_mean(&entry.key, known.iter().copied());
            let help = help.or_else(|| Some(format!("the known ones are {}", known.join(", "))));
            self.problem("unknown-key", entry.place, format!("{what} has no key `{}`", shorten(&entry.key)), help);
        }
        Some(Fields { entries, place: node.place })
    }

    /// A value that must be there.
    pub(super) fn required<'n>(&mut self, fields: &Fields<'n>, key: &str, what: &str) -> Option<&'n Node> {
        let found = fields.get(key);
        if found.is_none() {
            self.problem("missing-key", fields.place, format!("{what} needs `{key}`"), None);
        }
        found
    }

    pub(super) fn map<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        match &node.content {
            Content::Map(entries) => entries,
            Content::Scalar(_) | Content::List(_) => {
                self.wrong_type(node, what, "a map");
                &[]
            }
        }
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.content {
            Content::List(items) => items,
            Content::Scalar(_) | Content::Map(_) => {
                self.wrong_type(node, what, "a list");
                &[]
            }
        }
    }

    pub(super) fn text(&mut self, node: &Node, what: &str) -> Option<SmolStr> {
        match node.value() {
            Value::String(text) => Some(text),
            _ => {
                self.wrong_type(node, what, "a text");
                None
            }
        }
    }

    /// A text, or a number or boolean as it is written: what environments and command lines are made of.
    pub(super) fn word(&mut self, node: &Node, what: &str) -> Option<String> {
        match (&node.content, node.value()) {
            (Content::Scalar(scalar), Value::String(_) | Value::Number(_) | Value::Bool(_)) => Some(scalar.text.to_string()),
            _ => {
                self.wrong_type(node, what, "a text");
                None
            }
        }
    }

    /// A name of lower-case letters, digits, `_` and `-`.
    pub(super) fn identifier(&mut self, node: &Node, what: &str) -> Option<SmolStr> {
        let text = self.text(node, what)?;
        if is_identifier(&text) {
            return Some(text);
        }
        let help = "names are made of `a-z`, `0-9`, `_` and `-`, and start with a letter or a digit".to_string();
        self.problem("bad-name", node.place, format!("`{}` is no name for {what}", shorten(&text)), Some(help));
        None
    }

    pub(super) fn integer<N: TryFrom<i64>>(&mut self, node: &Node, what: &str, least: i64, most: i64) -> Option<N> {
        let number = match node.value() {
            Value::Number(n) => n.as_i64().filter(|n| (least..=most).contains(n)),
            _ => None,
        };
        let number = number.and_then(|n| N::try_from(n).ok());
        if number.is_none() {
            self.wrong_type(node, what, &format!("a whole number from {least} to {most}"));
        }
        number
    }

    pub(super) fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        match node.value() {
            Value::Bool(flag) => Some(flag),
            _ => {
                self.wrong_type(node, what, "`true` or `false`");
                None
            }
        }
    }

    pub(super) fn duration(&mut self, node: &Node, what: &str) -> Option<Duration> {
        let duration = node.value().as_str().and_then(Duration::parse);
        if duration.is_none() {
            self.wrong_type(node, what, "a length of time such as `250ms`, `2s`, `1m30s`, `1h` or `2d`");
        }
        duration
    }

    fn bad_expression(&mut self, node: &Node, error: ExprError, offset: usize) {
        let place = locate(self.source, node, offset + error.column - 1);
        self.problem("bad-expression", place, error.message, error.help);
    }

    /// An expression: `${{ … }}`, or bare.
    pub(super) fn expression(&mut self, node: &Node, what: &str) -> Option<Expr> {
        let text = match node.value() {
            Value::String(text) => text,
            literal @ (Value::Bool(_) | Value::Number(_) | Value::Null) if matches!(node.content, Content::Scalar(_)) => {
                return Some(Expr::Literal(literal));
            }
            _ => {
                self.wrong_type(node, what, "an expression");
                return None;
            }
        };
        if text.contains("${{") {
            return match self.template_text(node, &text)? {
                Template::Expr(expr) => Some(expr),
                Template::Literal(Value::String(literal)) => Some(Expr::Literal(Value::String(literal))),
                _ => {
                    let message = format!("{what} is one expression, with nothing around it");
                    self.problem("bad-expression", node.place, message, Some("write `${{ … }}`".to_string()));
                    None
                }
            };
        }
        match parse::parse(&text) {
            Ok(expr) => {
                self.check_names(node, &expr, &text, 0);
                Some(expr)
            }
            Err(error) => {
                self.bad_expression(node, error, 0);
                None
            }
        }
    }

    fn template_text(&mut self, node: &Node, text: &str) -> Option<Template> {
        match scan(text) {
            Ok(pieces) => {
                for (piece, at) in &pieces {
                    if let Piece::Expr(expr) = piece {
                        let offset = text.get(..*at).unwrap_or_default().chars().count();
                        self.check_names(node, expr, text.get(*at..).unwrap_or_default(), offset);
                    }
                }
                Some(Template::text(pieces.into_iter().map(|(piece, _)| piece).collect()))
            }
            Err(error) => {
                self.bad_expression(node, error, 0);
                None
            }
        }
    }

    /// A value with holes.
    pub(super) fn template(&mut self, node: &Node) -> Option<Template> {
        match &node.content {
            Content::Scalar(_) => match node.value() {
                Value::String(text) => self.template_text(node, &text),
                literal => Some(Template::Literal(literal)),
            },
            Content::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.template(item)).collect();
                items.into_iter().collect::<Option<_>>().map(Template::Array)
            }
            Content::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|e| Some((e.key.clone(), self.template(&e.value)?))).collect();
                entries.into_iter().collect::<Option<_>>().map(Template::Object)
            }
        }
    }

    /// The entries of a map of templates: `with`, `set`.
    pub(super) fn arguments(&mut self, node: &Node, what: &str) -> Vec<(SmolStr, Template)> {
        let entries = self.map(node, what);
        entries.iter().filter_map(|e| Some((e.key.clone(), self.template(&e.value)?))).collect()
    }

    fn check_names(&mut self, node: &Node, expr: &Expr, text: &str, offset: usize) {
        for reference in expr.references() {
            let Some(doubt) = self.names.doubt(&reference) else { continue };
            let at = crate::expr::names::position(text, &reference).unwrap_or(0);
            let place = locate(self.source, node, offset + at);
            self.problem(doubt.code, place, doubt.message, doubt.help);
        }
    }
}

/// Whether `text` can name a workflow or a step.
pub(super) fn is_identifier(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.bytes().next().is_some_and(letter) && text.bytes().all(|b| letter(b) || b == b'_' || b == b'-')
}
