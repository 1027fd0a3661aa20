//! A value → hints. Every mistake is reported, each with its JSON Pointer; an unknown key names the nearest known one.

use super::{Batch, Hints, Pages, Poll, RetryHint};
use crate::diagnostics::{Diagnostic, Severity};
use crate::node::Node;
use ltc_workflow::document::{Duration, Retry, ToolEffect};
use ltc_workflow::expr::{self, Expr};
use ltc_workflow::nearest::did_you_mean;
use ltc_workflow::{Number, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The keys of hints.
pub const KEYS: [&str; 18] = [
    "note",
    "effects",
    "ignore",
    "keep",
    "inputs",
    "constants",
    "secret",
    "session",
    "prefer",
    "fresh",
    "order",
    "poll",
    "pages",
    "batch",
    "timeout",
    "retry",
    "volatile",
    "error_when",
];

/// Reads the hints for one server. `pointer` says where `value` stands, for messages; a string is a note for people.
///
/// # Errors
/// Every unknown key and every wrong type.
pub fn read(value: &Value, pointer: &str) -> Result<Hints, Vec<Diagnostic>> {
    let mut reader = Reader { problems: Vec::new() };
    let hints = reader.hints(&Node::within(value, None, pointer));
    if reader.problems.is_empty() { Ok(hints) } else { Err(reader.problems) }
}

/// Reads a file of hints: an object of servers, each with its hints.
///
/// # Errors
/// Every unknown key and every wrong type.
pub fn read_all(value: &Value) -> Result<BTreeMap<SmolStr, Hints>, Vec<Diagnostic>> {
    let mut reader = Reader { problems: Vec::new() };
    let hints = reader.map(&Node::root(value, None), |reader, node| Some(reader.hints(node)));
    if reader.problems.is_empty() { Ok(hints) } else { Err(reader.problems) }
}

struct Reader {
    problems: Vec<Diagnostic>,
}

impl Reader {
    fn hints(&mut self, node: &Node<'_>) -> Hints {
        if let Some(note) = node.value.as_str() {
            return Hints { note: Some(note.to_owned()), ..Hints::default() };
        }
        let mut hints = Hints::default();
        if node.value.is_null() {
            return hints;
        }
        for (key, node) in self.fields(node, &KEYS) {
            match key {
                "note" => hints.note = self.text(&node).map(|t| t.to_string()),
                "effects" => hints.effects = self.map(&node, Self::effect),
                "ignore" => hints.ignore = self.names(&node),
                "keep" => hints.keep = self.names(&node),
                "inputs" => hints.inputs = self.names(&node),
                "constants" => hints.constants = self.names(&node),
                "secret" => hints.secret = self.map(&node, Self::text),
                "session" => hints.session = self.names(&node),
                "prefer" => hints.prefer = self.names(&node),
                "fresh" => hints.fresh = self.names(&node),
                "order" => hints.order = self.items(&node).iter().filter_map(|pair| self.pair(pair)).collect(),
                "poll" => hints.poll = self.map(&node, Self::poll),
                "pages" => hints.pages = self.map(&node, Self::pages),
                "batch" => hints.batch = self.map(&node, Self::batch),
                "timeout" => hints.timeout = self.duration(&node),
                "retry" => hints.retry = self.retry(&node),
                "volatile" => hints.volatile = self.names(&node),
                "error_when" => hints.error_when = self.map(&node, Self::expression),
                _ => {}
            }
        }
        hints
    }

    /// The entries whose keys are known; the others are complained about, and `null` is as good as nothing.
    fn fields<'v>(&mut self, node: &Node<'v>, known: &[&'static str]) -> Vec<(&'static str, Node<'v>)> {
        if node.value.as_object().is_none() {
            self.wrong(node, "an object");
        }
        let mut fields = Vec::new();
        for (key, node) in node.entries() {
            match known.iter().find(|k| *k == key) {
                Some(_) if node.value.is_null() => {}
                Some(known) => fields.push((*known, node)),
                None => self.problems.push(unknown_key(&node, key, known)),
            }
        }
        fields
    }

    fn wrong(&mut self, node: &Node<'_>, wanted: &str) {
        self.problems.push(node.wrong(wanted));
    }

    fn needs(&mut self, node: &Node<'_>, key: &str) {
        self.problems.push(Diagnostic::new(Severity::Error, "missing-field", node.place(), format!("`{key}` is missing")));
    }

    fn text(&mut self, node: &Node<'_>) -> Option<SmolStr> {
        let text = node.value.as_str().map(SmolStr::new);
        if text.is_none() {
            self.wrong(node, "a string");
        }
        text
    }

    fn items<'v>(&mut self, node: &Node<'v>) -> Vec<Node<'v>> {
        if node.value.as_array().is_none() {
            self.wrong(node, "a list");
        }
        node.items().collect()
    }

    fn names(&mut self, node: &Node<'_>) -> BTreeSet<SmolStr> {
        self.items(node).iter().filter_map(|item| self.text(item)).collect()
    }

    fn map<'v, T>(&mut self, node: &Node<'v>, read: fn(&mut Self, &Node<'v>) -> Option<T>) -> BTreeMap<SmolStr, T> {
        if node.value.as_object().is_none() {
            self.wrong(node, "an object");
        }
        node.entries().iter().filter_map(|(key, node)| Some(((*key).clone(), read(self, node)?))).collect()
    }

    fn effect(&mut self, node: &Node<'_>) -> Option<ToolEffect> {
        let effect = match node.value.as_str() {
            Some("read") => Some(ToolEffect::Read),
            Some("idempotent") => Some(ToolEffect::Idempotent),
            Some("write") => Some(ToolEffect::Write),
            _ => None,
        };
        if effect.is_none() {
            self.wrong(node, "`read`, `idempotent` or `write`");
        }
        effect
    }

    fn duration(&mut self, node: &Node<'_>) -> Option<Duration> {
        let duration = node.value.as_str().and_then(Duration::parse);
        if duration.is_none() {
            self.wrong(node, "a length of time such as `250ms`, `2s` or `1m30s`");
        }
        duration
    }

    fn expression(&mut self, node: &Node<'_>) -> Option<Expr> {
        let text = self.text(node)?;
        match expr::parse::parse(&text) {
            Ok(expression) => Some(expression),
            Err(error) => {
                let message = format!("this is no expression: {} at column {}", error.message, error.column);
                let problem = Diagnostic::new(Severity::Error, "invalid-expression", node.place(), message);
                self.problems.push(Diagnostic { help: error.help, ..problem });
                None
            }
        }
    }

    fn count(&mut self, node: &Node<'_>) -> Option<u32> {
        let count = node.value.as_number().and_then(Number::as_i64).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        if count.is_none() {
            self.wrong(node, "a whole number from 1");
        }
        count
    }

    fn pair(&mut self, node: &Node<'_>) -> Option<(SmolStr, SmolStr)> {
        let (mut first, mut then) = (None, None);
        for (key, node) in self.fields(node, &["first", "then"]) {
            let text = self.text(&node);
            if key == "first" { first = text } else { then = text }
        }
        self.both(node, ("first", first), ("then", then))
    }

    fn both(&mut self, node: &Node<'_>, a: (&str, Option<SmolStr>), b: (&str, Option<SmolStr>)) -> Option<(SmolStr, SmolStr)> {
        for (key, value) in [&a, &b] {
            if value.is_none() && node.value.as_object().is_some() && node.raw(key).is_none() {
                self.needs(node, key);
            }
        }
        Some((a.1?, b.1?))
    }

    fn poll(&mut self, node: &Node<'_>) -> Option<Poll> {
        let mut poll = Poll::default();
        for (key, node) in self.fields(node, &["interval", "at_most", "until"]) {
            match key {
                "interval" => poll.interval = self.duration(&node),
                "at_most" => poll.at_most = self.count(&node),
                _ => poll.until = self.expression(&node),
            }
        }
        Some(poll)
    }

    fn pages(&mut self, node: &Node<'_>) -> Option<Pages> {
        let (mut cursor, mut argument, mut items) = (None, None, None);
        for (key, node) in self.fields(node, &["cursor", "argument", "items"]) {
            let text = self.text(&node);
            match key {
                "cursor" => cursor = text,
                "argument" => argument = text,
                _ => items = text,
            }
        }
        if argument.is_none() && node.value.as_object().is_some() && node.raw("argument").is_none() {
            self.needs(node, "argument");
        }
        Some(Pages { cursor, argument: argument?, items })
    }

    fn batch(&mut self, node: &Node<'_>) -> Option<Batch> {
        let (mut tool, mut items) = (None, None);
        for (key, node) in self.fields(node, &["tool", "items"]) {
            let text = self.text(&node);
            if key == "tool" { tool = text } else { items = text }
        }
        let (tool, items) = self.both(node, ("tool", tool), ("items", items))?;
        Some(Batch { tool, items })
    }

    /// `attempts` has to be there; the first pause is a second where nothing else is said, and each further one twice as long.
    fn retry(&mut self, node: &Node<'_>) -> Option<RetryHint> {
        let (mut attempts, mut backoff, mut factor, mut tools) = (None, Some(Duration { millis: 1_000 }), Some(Number::from(2_i64)), None);
        for (key, node) in self.fields(node, &["attempts", "backoff", "factor", "tools"]) {
            match key {
                "attempts" => attempts = self.count(&node),
                "backoff" => backoff = self.duration(&node),
                "factor" => factor = self.factor(&node),
                _ => tools = Some(self.names(&node)),
            }
        }
        if node.value.as_object().is_some() && node.raw("attempts").is_none() {
            self.needs(node, "attempts");
        }
        Some(RetryHint { retry: Retry { attempts: attempts?, backoff: backoff?, factor: factor? }, tools })
    }

    fn factor(&mut self, node: &Node<'_>) -> Option<Number> {
        let factor = node.value.as_number().filter(|n| n.as_f64() >= 1.0 && n.as_f64().is_finite());
        if factor.is_none() {
            self.wrong(node, "a number from 1");
        }
        factor.cloned()
    }
}

fn unknown_key(node: &Node<'_>, key: &str, known: &[&'static str]) -> Diagnostic {
    let found = Diagnostic::new(Severity::Error, "unknown-hint", node.place(), format!("there is no hint `{}`", key.escape_debug()))
        .candidates(known.iter().map(|k| (*k).to_owned()));
    Diagnostic { help: did_you_mean(key, known.iter().copied()), ..found }
}
