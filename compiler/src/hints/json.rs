//! Hints → a value, such that reading it gives the same hints.

use super::{Batch, Hints, Pages, Poll, RetryHint};
use ltc_workflow::document::{Duration, ToolEffect};
use ltc_workflow::expr::{self, Expr};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// `hints` as `ltc.trace/1` and a file of hints have them; what is not said is left out.
pub fn to_json(hints: &Hints) -> Value {
    let mut fields: Vec<(&str, Option<Value>)> = vec![("note", hints.note.as_deref().map(Value::from))];
    fields.push(("effects", map(&hints.effects, |e| Value::from(effect_name(*e)))));
    for (key, names) in [("ignore", &hints.ignore), ("keep", &hints.keep), ("inputs", &hints.inputs), ("constants", &hints.constants)] {
        fields.push((key, list(names)));
    }
    fields.push(("secret", map(&hints.secret, |name| Value::String(name.clone()))));
    for (key, names) in [("session", &hints.session), ("prefer", &hints.prefer), ("fresh", &hints.fresh)] {
        fields.push((key, list(names)));
    }
    let pairs = hints.order.iter().map(|(first, then)| object([("first", Some(string(first))), ("then", Some(string(then)))]));
    fields.push(("order", (!hints.order.is_empty()).then(|| pairs.collect())));
    fields.push(("poll", map(&hints.poll, poll)));
    fields.push(("pages", map(&hints.pages, pages)));
    fields.push(("batch", map(&hints.batch, batch)));
    fields.push(("timeout", hints.timeout.map(duration)));
    fields.push(("retry", hints.retry.as_ref().map(retry)));
    fields.push(("volatile", list(&hints.volatile)));
    fields.push(("error_when", map(&hints.error_when, expression)));
    object(fields)
}

fn object<'k>(fields: impl IntoIterator<Item = (&'k str, Option<Value>)>) -> Value {
    fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()
}

fn string(text: &SmolStr) -> Value {
    Value::String(text.clone())
}

fn list(names: &BTreeSet<SmolStr>) -> Option<Value> {
    (!names.is_empty()).then(|| names.iter().map(string).collect())
}

fn map<T>(entries: &BTreeMap<SmolStr, T>, value: fn(&T) -> Value) -> Option<Value> {
    (!entries.is_empty()).then(|| entries.iter().map(|(k, v)| (k.clone(), value(v))).collect::<Object>().into())
}

fn effect_name(effect: ToolEffect) -> &'static str {
    match effect {
        ToolEffect::Read => "read",
        ToolEffect::Idempotent => "idempotent",
        ToolEffect::Write => "write",
    }
}

fn duration(duration: Duration) -> Value {
    Value::string(duration.to_string())
}

fn expression(expression: &Expr) -> Value {
    Value::string(expr::print::print(expression))
}

fn count(count: u32) -> Value {
    Value::from(i64::from(count))
}

fn poll(poll: &Poll) -> Value {
    let until = poll.until.as_ref().map(expression);
    object([("interval", poll.interval.map(duration)), ("at_most", poll.at_most.map(count)), ("until", until)])
}

fn pages(pages: &Pages) -> Value {
    let items = pages.items.as_ref().map(string);
    object([("cursor", pages.cursor.as_ref().map(string)), ("argument", Some(string(&pages.argument))), ("items", items)])
}

fn batch(batch: &Batch) -> Value {
    object([("tool", Some(string(&batch.tool))), ("items", Some(string(&batch.items)))])
}

fn retry(hint: &RetryHint) -> Value {
    let retry = &hint.retry;
    let tools = hint.tools.as_ref().map(|tools| tools.iter().map(string).collect());
    object([
        ("attempts", Some(count(retry.attempts))),
        ("backoff", Some(duration(retry.backoff))),
        ("factor", Some(Value::Number(retry.factor.clone()))),
        ("tools", tools),
    ])
}
