//! How an item was picked out of a list: by a key that equals something known, or by an order; never silently by its position.

use super::candidates::literal;
use super::closing::Closed;
use super::{Explainer, Use};
use crate::index::{PathStep, Source, may_be_data, scalar_text};
use crate::names;
use crate::patterns::is_visible;
use crate::text::{is_date, is_opaque};
use crate::tree::{FrameId, is_reserved, item_named, step_named};
use crate::weight::bits;
use ltc_workflow::expr::{BinaryOp, Expr, Function, OverFunction};
use ltc_workflow::{Number, Value};
use smol_str::SmolStr;

/// The guess that a list of one item may hold more another time.
pub(super) const ONLY_ITEM: &str = "the only item is taken for the first";
/// Where a list stands in a recording.
pub(super) type ListPlace = (Source, Vec<PathStep>);
/// Lists longer than this are not searched for a key.
const MOST_ITEMS: usize = 2_000;
/// An item that was picked before is picked in the same way again.
const WORTH_OF_THE_SAME_PICK: f64 = 4.0;
/// How deep fields of an item are looked at.
const MOST_DEPTH: usize = 3;

impl Explainer<'_> {
    /// The ways to pick the item at `at` out of the list that `expr` gives, cheapest first.
    pub(super) fn picks(&self, expr: &Expr, list: &Value, at: usize, used: &Use, place: Option<&ListPlace>) -> Vec<Closed> {
        let items = list.as_array().unwrap_or_default();
        let (Some(item), count) = (items.get(at), items.len()) else { return Vec::new() };
        let one = |expr: Expr, cost: f64, guess: &str| Closed {
            expr,
            cost,
            guesses: if guess.is_empty() { vec![] } else { vec![guess.to_owned()] },
        };
        let first = expr.clone().apply(Function::First);
        let mut found = Vec::new();
        if count == 1 {
            found.push(one(first.clone(), 1.5, ONLY_ITEM));
        }
        if count <= MOST_ITEMS {
            let of_rounds = self.is_rounds(expr);
            found.extend(picked_by_flag(expr, items, item));
            for (path, value) in fields(item).into_iter().filter(|(path, _)| of_rounds || !path.iter().any(|k| is_reserved(k))) {
                let Some(text) = scalar_text(value) else { continue };
                let same = items.iter().filter(|i| field(i, &path) == Some(value)).count();
                if same != 1 {
                    continue;
                }
                if count > 1 && !path.is_empty() {
                    found.extend(self.picked_by_known(expr, &path, value, text, used, place));
                    found.extend(self.picked_by_constant(expr, &path, value, text));
                }
                found.extend(self.picked_by_extreme(expr, items, at, &path, used.frame));
            }
        }
        found.extend(picked_as_first_of(expr, items, at));
        if count > 1 && at == 0 {
            found.push(one(first, 4.0, "picked because it is the first"));
        }
        if count > 1 && at + 1 == count {
            // A page that begins behind the last item of the page before is no guess.
            let is_cursor = crate::rewrite::mentions(expr, &Expr::name("previous"));
            found.push(one(expr.clone().apply(Function::Last), 4.5, if is_cursor { "" } else { "picked because it is the last" }));
        }
        if let Ok(index) = i64::try_from(at) {
            found.push(one(expr.clone().index(index), 16.0, "picked by its position"));
        }
        for pick in &mut found {
            if self.picked.contains(&pick.expr.to_string()) {
                pick.cost -= WORTH_OF_THE_SAME_PICK;
            }
        }
        found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        found
    }

    /// The ways to the entry of an object: by its key, unless the key is itself a value of the recording.
    pub(super) fn entries(&self, expr: &Expr, object: &Value, key: &SmolStr, used: &Use, place: Option<&ListPlace>) -> Vec<Closed> {
        let plain = expr.clone().key(key.clone());
        if is_reserved(key) || !may_be_data(key) {
            return vec![Closed { expr: plain, cost: 0.0, guesses: Vec::new() }];
        }
        let frozen = format!("the key {} stands in the recording", ltc_workflow::json::quote(key));
        let mut found = match is_opaque(key) {
            true => vec![Closed { expr: plain, cost: 12.0, guesses: vec![frozen] }],
            false => vec![Closed { expr: plain, cost: 4.0, guesses: Vec::new() }],
        };
        let value = Value::String(key.clone());
        if let Some((known, _)) = self.known_as(&value, key, std::slice::from_ref(key), expr, used, place) {
            let test = equal(Expr::name("entry").key("key"), known);
            let only = expr.clone().apply(Function::Entries).over(OverFunction::Filter, "entry", test).apply(Function::Only);
            found.insert(0, Closed { expr: only.key("value"), cost: 3.0, guesses: Vec::new() });
        } else if is_opaque(key) && object.as_object().is_some_and(|o| o.len() == 1) {
            found.insert(0, Closed { expr: expr.clone().apply(Function::Values).apply(Function::First), cost: 2.0, guesses: Vec::new() });
        }
        found
    }

    /// Whether an expression gives the rounds of a loop, whose keys are names of ours.
    fn is_rounds(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Key(base, key) if **base == Expr::name("steps") && step_named(key).is_some_and(|n| self.is_loop(n)))
    }

    fn picked_by_known(
        &self,
        list: &Expr,
        path: &[SmolStr],
        value: &Value,
        text: &str,
        used: &Use,
        place: Option<&ListPlace>,
    ) -> Option<Closed> {
        let (known, agreement) = self.known_as(value, text, path, list, used, place)?;
        let cost = 2.0 + if agreement == names::Agreement::None { 1.0 } else { 0.0 };
        let pick = Expr::Pick { list: Box::new(list.clone()), path: path.to_vec(), equals: Box::new(known) };
        Some(Closed { expr: pick, cost, guesses: Vec::new() })
    }

    /// Something known that equals a field of the item: an input, or a value outside of the list.
    fn known_as(
        &self,
        value: &Value,
        text: &str,
        path: &[SmolStr],
        list: &Expr,
        used: &Use,
        place: Option<&ListPlace>,
    ) -> Option<(Expr, names::Agreement)> {
        let frame = used.frame;
        let run = self.tree.run(frame);
        let script = self.scripts.get(run)?;
        let keys: Vec<&str> = path.iter().map(SmolStr::as_str).collect();
        let worth = |agreement: names::Agreement| bits(text) + agreement.bits() >= 8.0;
        let input = self.input(run)?;
        let mut found: Vec<(names::Agreement, Expr)> = Vec::new();
        for (name, _) in input.iter().filter(|(_, given)| *given == value) {
            let agreement = names::agreement(&names::words(name), &keys);
            if worth(agreement) || bits(text) >= 5.0 {
                found.push((agreement, Expr::input(name.clone())));
            }
        }
        for (_, expr) in self.known.get(text).into_iter().flatten() {
            if !matches!(expr, Expr::Literal(_))
                && !mentions(list, expr)
                && self.value_in(expr, frame).as_ref() == Some(value)
                && bits(text) >= 8.0
            {
                found.push((names::Agreement::Weak, expr.clone()));
            }
        }
        if found.is_empty() {
            let index = self.indexes.get(run)?;
            let elsewhere = |p: &&crate::index::Place| place.is_none_or(|(source, path)| p.source != *source || !p.path.starts_with(path));
            for place in index.places(text).iter().filter(|p| p.span.is_none() && is_visible(script, used.call, p)).filter(elsewhere) {
                for relative in self.relative(place.source, &place.path, frame) {
                    let open = relative.path.iter().any(|s| match s {
                        PathStep::Index(_) => true,
                        PathStep::Key(key) => is_opaque(key),
                        PathStep::Open(_) => false,
                    });
                    let closed =
                        if open { self.one_hop(&relative, used, text) } else { self.closings(&relative, used, None).into_iter().next() };
                    let Some(closed) = closed else { continue };
                    let agreement =
                        names::agreement(&names::words(keys.last().copied().unwrap_or_default()), &crate::patterns::keys(&place.path));
                    let of_item = matches!(&relative.base, Expr::Name(name) if item_named(name).is_some());
                    if (worth(agreement) || of_item)
                        && !mentions(list, &closed.expr)
                        && self.value_in(&closed.expr, frame).as_ref() == Some(value)
                    {
                        found.push((agreement, closed.expr));
                    }
                }
            }
        }
        found.sort_by_key(|f| std::cmp::Reverse(f.0));
        found.into_iter().next().map(|(agreement, expr)| (expr, agreement))
    }

    /// A value of an item that is itself picked by something known, and not guessed: what joins two lists.
    fn one_hop(&self, relative: &super::scope::Relative, used: &Use, text: &str) -> Option<Closed> {
        const LEAST_BITS: f64 = 10.0;
        let in_loop = self.tree.frame(used.frame).is_some_and(|f| f.item.is_some());
        if self.hops.get() > 0 || !in_loop || bits(text) < LEAST_BITS {
            return None;
        }
        self.hops.set(1);
        let found = self.closings(relative, used, None).into_iter().find(|c| c.guesses.is_empty());
        self.hops.set(0);
        found
    }

    fn picked_by_constant(&self, list: &Expr, path: &[SmolStr], value: &Value, text: &str) -> Option<Closed> {
        if is_opaque(text) || !matches!(value, Value::String(_)) || is_date(text) {
            return None;
        }
        if path.last().is_some_and(|k| k == "type" || k == "kind") {
            let pick = Expr::Pick { list: Box::new(list.clone()), path: path.to_vec(), equals: Box::new(literal(text)) };
            return Some(Closed { expr: pick, cost: 3.5, guesses: Vec::new() });
        }
        let named = path.last().is_some_and(|k| ["name", "title", "label", "type", "kind", "slug", "key"].contains(&k.as_str()));
        let cost = 5.0 + bits(text) / 2.0 - if named { 3.0 } else { 0.0 };
        let pick = Expr::Pick { list: Box::new(list.clone()), path: path.to_vec(), equals: Box::new(literal(text)) };
        Some(Closed {
            expr: pick,
            cost,
            guesses: vec![format!("picked because its {} is {}", path.join("."), ltc_workflow::json::quote(text))],
        })
    }

    fn picked_by_extreme(&self, list: &Expr, items: &[Value], at: usize, path: &[SmolStr], frame: FrameId) -> Vec<Closed> {
        let values: Option<Vec<Comparable>> = items.iter().map(|i| field(i, path).and_then(comparable)).collect();
        let Some(values) = values.filter(|v| v.len() > 1) else { return Vec::new() };
        let Some(mine) = values.get(at) else { return Vec::new() };
        let others = || values.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| v);
        let mut found = Vec::new();
        let date = matches!(mine, Comparable::Date(_));
        let spelled = matches!(item_field(items, at, path), Some(Value::String(_))) && !date;
        let deeper: f64 = path.iter().skip(1).map(|_| 0.5).sum();
        for (function, words, is_extreme) in [
            (OverFunction::MinBy, SMALLEST, others().all(|o| o.is_more_than(mine))),
            (OverFunction::MaxBy, LARGEST, others().all(|o| mine.is_more_than(o))),
        ] {
            if is_extreme {
                let asked = self.task_says(frame, words);
                let cost = if date { 6.0 } else { 9.5 } + deeper - if asked { 5.0 } else { 0.0 };
                let measure = Expr::name("x").keys(path);
                let expr = list.clone().over(function, "x", if spelled { measure.apply(Function::ToNumber) } else { measure });
                let what = if function == OverFunction::MinBy { "smallest" } else { "largest" };
                found.push(Closed { expr, cost, guesses: vec![format!("picked because its {} is the {what}", path.join("."))] });
            }
        }
        found
    }

    fn task_says(&self, frame: FrameId, words: &[&str]) -> bool {
        let task = self.scripts.get(self.tree.run(frame)).and_then(|s| s.task.as_deref()).unwrap_or_default().to_lowercase();
        crate::text::tokens(&task).iter().any(|t| task.get(t.start..t.end).is_some_and(|word| words.contains(&word)))
    }
}

/// The only item of several for which a flag is set.
fn picked_by_flag(list: &Expr, items: &[Value], item: &Value) -> Vec<Closed> {
    if items.len() < 2 {
        return Vec::new();
    }
    let set = Value::Bool(true);
    let only = |path: &Vec<SmolStr>| items.iter().filter(|i| field(i, path) == Some(&set)).count() == 1;
    let flags = fields(item).into_iter().filter(|(path, value)| **value == set && !path.is_empty() && only(path));
    flags
        .map(|(path, _)| Closed {
            guesses: vec![format!("picked because its {} is true", path.join("."))],
            expr: Expr::Pick { list: Box::new(list.clone()), path, equals: Box::new(Expr::Literal(set.clone())) },
            cost: 5.0,
        })
        .collect()
}

/// What it costs to take the first of those that have a word in a field, beside the word.
const COST_OF_THE_FIRST_OF: f64 = 8.5;
/// What it is worth that the field says how something stands.
const WORTH_OF_A_STATE: f64 = 4.0;

/// The first, or the last, of several items that have one word in a field: the first slot that is free.
fn picked_as_first_of(list: &Expr, items: &[Value], at: usize) -> Vec<Closed> {
    let Some(item) = items.get(at).filter(|_| items.len() > 1 && items.len() <= MOST_ITEMS) else { return Vec::new() };
    let mut found = Vec::new();
    for (path, value) in fields(item).into_iter().filter(|(path, _)| !path.is_empty()) {
        let says = match value {
            Value::Bool(_) => 1.0,
            Value::String(text) if !is_opaque(text) && !is_date(text) && !text.is_empty() => bits(text) / 2.0,
            Value::String(_) | Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => continue,
        };
        let alike: Vec<usize> = (0..items.len()).filter(|i| item_field(items, *i, &path) == Some(value)).collect();
        if alike.len() == items.len() {
            continue;
        }
        let told = path.last().is_some_and(|key| super::separate::is_telling(key)) || matches!(value, Value::Bool(_));
        let cost = COST_OF_THE_FIRST_OF + says - if told { WORTH_OF_A_STATE } else { 0.0 };
        let test = match value {
            Value::Bool(true) => Expr::name("x").keys(&path),
            Value::Bool(false) => Expr::Not(Box::new(Expr::name("x").keys(&path))),
            _ => equal(Expr::name("x").keys(&path), Expr::Literal(value.clone())),
        };
        let those = list.clone().over(OverFunction::Filter, "x", test);
        let field = path.join(".");
        if alike.first() == Some(&at) {
            // Of one alone, that it is the first says nothing.
            let cost = if alike.len() == 1 { cost + 4.0 } else { cost };
            let guesses = vec![format!("picked because it is the first whose {field} is that")];
            found.push(Closed { expr: those.clone().apply(Function::First), cost, guesses });
        }
        if alike.last() == Some(&at) && alike.len() > 1 {
            let guesses = vec![format!("picked because it is the last whose {field} is that")];
            found.push(Closed { expr: those.apply(Function::Last), cost: cost + 1.0, guesses });
        }
    }
    found
}

const SMALLEST: &[&str] =
    &["oldest", "earliest", "first", "smallest", "lowest", "cheapest", "least", "shortest", "fewest", "minimum", "min"];
const LARGEST: &[&str] =
    &["newest", "latest", "last", "recent", "largest", "biggest", "highest", "most", "longest", "greatest", "maximum", "max"];

enum Comparable {
    Number(f64),
    Date(SmolStr),
}

impl Comparable {
    fn is_more_than(&self, other: &Comparable) -> bool {
        match (self, other) {
            (Comparable::Number(a), Comparable::Number(b)) => a > b,
            (Comparable::Date(a), Comparable::Date(b)) => a > b,
            (Comparable::Number(_), Comparable::Date(_)) | (Comparable::Date(_), Comparable::Number(_)) => false,
        }
    }
}

fn comparable(value: &Value) -> Option<Comparable> {
    match value {
        Value::Number(n) => Some(Comparable::Number(n.as_f64())),
        Value::String(s) if is_date(s) => Some(Comparable::Date(s.clone())),
        Value::String(s) => spelled_number(s).map(|n| Comparable::Number(n.as_f64())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The number that all of a text spells.
pub(super) fn spelled_number(text: &str) -> Option<Number> {
    match ltc_workflow::json::parse(text.as_bytes()) {
        Ok(Value::Number(number)) => Some(number),
        Ok(Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) | Err(_) => None,
    }
}

fn item_field<'v>(items: &'v [Value], at: usize, path: &[SmolStr]) -> Option<&'v Value> {
    field(items.get(at)?, path)
}

/// The scalar fields of an item that are reached by keys alone.
pub(super) fn fields(item: &Value) -> Vec<(Vec<SmolStr>, &Value)> {
    let mut found = Vec::new();
    let mut queue = vec![(Vec::new(), item)];
    while let Some((path, value)) = queue.pop() {
        match value {
            Value::Object(object) if path.len() < MOST_DEPTH => {
                let inner = object.sorted().into_iter().rev();
                queue.extend(inner.map(|(k, v)| ([path.as_slice(), std::slice::from_ref(k)].concat(), v)));
            }
            Value::Object(_) | Value::Array(_) => {}
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push((path, value)),
        }
    }
    found
}

/// The field of an item at a path of keys.
pub(super) fn field<'v>(item: &'v Value, path: &[SmolStr]) -> Option<&'v Value> {
    path.iter().try_fold(item, |value, key| value.get(key))
}

/// Whether `expr` starts from the list that `list` gives.
fn mentions(list: &Expr, expr: &Expr) -> bool {
    list == expr
        || match expr {
            Expr::Key(base, _) | Expr::Index(base, _) => mentions(list, base),
            Expr::Call(_, arguments) => arguments.iter().any(|a| mentions(list, a)),
            Expr::Literal(_)
            | Expr::Name(_)
            | Expr::Pick { .. }
            | Expr::Over { .. }
            | Expr::Not(_)
            | Expr::Binary(..)
            | Expr::List(_)
            | Expr::Record(_)
            | Expr::Omit => false,
        }
}

/// `expr.a.b`
pub(super) trait Keys {
    /// The expression with these keys after it.
    fn keys(self, path: &[SmolStr]) -> Expr;
}

impl Keys for Expr {
    fn keys(self, path: &[SmolStr]) -> Expr {
        path.iter().fold(self, |expr, key| expr.key(key.clone()))
    }
}

/// `a == b`
pub(super) fn equal(a: Expr, b: Expr) -> Expr {
    a.binary(BinaryOp::Equal, b)
}
