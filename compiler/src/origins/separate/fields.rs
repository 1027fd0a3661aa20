//! Tests of a scalar field: what it equals, whether it is set, where it lies.

use super::super::pick::equal;
use super::{Atoms, COST_OF_A_LIMIT, Feature, far, is_word, safe, some_of, weight};
use crate::names;
use crate::text::is_date;
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr, Function};

/// All tests of `feature`.
pub(super) fn add(feature: &Feature, known: &[Feature], atoms: &mut Atoms<'_>) {
    equality(feature, atoms);
    truth(feature, atoms);
    absence(feature, atoms);
    membership(feature, atoms);
    for other in known {
        compared(feature, other, atoms);
    }
    threshold(feature, atoms);
    between_recorded(feature, atoms);
}

fn each(feature: &Feature, is: impl Fn(Option<&Value>) -> bool) -> Vec<bool> {
    feature.values.iter().map(|v| is(v.as_ref())).collect()
}

/// What it costs that one number of a recording is meant, and no other: numbers are measured, or count something.
const COST_OF_ONE_NUMBER: f64 = 5.0;
/// What a word says at most, in bits.
const A_WORD: f64 = 10.0;

fn equality(feature: &Feature, atoms: &mut Atoms<'_>) {
    let chosen = atoms.chosen;
    if let [value] = some_of(feature, chosen, true).as_slice()
        && is_word(value)
    {
        let is = each(feature, |v| v == Some(*value));
        // That a word is long makes it no less a word.
        let test = equal(safe(feature), Expr::Literal((*value).clone()));
        match value {
            Value::Number(_) => atoms.add_exact(test, COST_OF_ONE_NUMBER + weight(value), &is),
            _ => atoms.add(test, 2.0 + weight(value).min(A_WORD), is),
        }
    }
    let ours = some_of(feature, chosen, true);
    for value in some_of(feature, chosen, false).into_iter().filter(|v| is_word(v) && !ours.contains(v)) {
        let is = each(feature, |v| v != Some(value));
        let test = safe(feature).binary(BinaryOp::NotEqual, Expr::Literal(value.clone()));
        match value {
            Value::Number(_) => atoms.add_exact(test, COST_OF_ONE_NUMBER + 4.0 + weight(value), &is),
            _ => atoms.add(test, 6.0 + weight(value), is),
        }
    }
}

fn truth(feature: &Feature, atoms: &mut Atoms<'_>) {
    let ours = some_of(feature, atoms.chosen, true);
    let flag = |v: Option<&Value>| matches!(v, None | Some(Value::Null | Value::Bool(_)));
    if ours == [&Value::Bool(true)] && feature.values.iter().all(|v| flag(v.as_ref())) {
        atoms.add(safe(feature), 2.0, each(feature, |v| v == Some(&Value::Bool(true))));
    }
    if ours == [&Value::Bool(false)] && feature.values.iter().all(|v| matches!(v, Some(Value::Bool(_)))) {
        atoms.add(Expr::Not(Box::new(feature.expr.clone())), 2.5, each(feature, |v| v == Some(&Value::Bool(false))));
    }
}

fn absence(feature: &Feature, atoms: &mut Atoms<'_>) {
    let null = Expr::Literal(Value::Null);
    let told = if feature.values.iter().any(Option::is_none) { 6.0 } else { 0.0 };
    let absent = each(feature, |v| v.is_none_or(Value::is_null));
    let there = absent.iter().map(|a| !a).collect();
    atoms.add(equal(safe(feature), null.clone()), 4.0 + told, absent);
    atoms.add(safe(feature).binary(BinaryOp::NotEqual, null), 5.0 + told, there);
    let blank = each(feature, |v| v.and_then(Value::as_str) == Some(""));
    let filled = blank.iter().map(|b| !b).collect();
    let empty = Expr::Literal(Value::from(""));
    atoms.add(equal(safe(feature), empty.clone()), 3.5, blank);
    if feature.values.iter().all(|v| matches!(v, Some(Value::String(_)))) {
        atoms.add(feature.expr.clone().binary(BinaryOp::NotEqual, empty), 4.0, filled);
    }
}

/// The most words of which a field may be one.
const MOST_WORDS: usize = 3;

/// One of a few words.
fn membership(feature: &Feature, atoms: &mut Atoms<'_>) {
    let chosen = || feature.values.iter().zip(atoms.chosen).filter(|(_, c)| **c).map(|(v, _)| v);
    let words = some_of(feature, atoms.chosen, true);
    let small = (2..=MOST_WORDS).contains(&words.len())
        && chosen().count() > words.len()
        && words.iter().all(|w| matches!(w, Value::String(_)) && is_word(w));
    if small && chosen().all(Option::is_some) {
        let list = Expr::List(words.iter().map(|w| Expr::Literal((*w).clone())).collect());
        let is = each(feature, |v| v.is_some_and(|v| words.contains(&v)));
        let cost = 6.0 + words.iter().map(|w| weight(w)).sum::<f64>();
        atoms.add_exact(Expr::Call(Function::Contains, vec![list, safe(feature)]), cost, &is);
    }
}

/// `field == known`, `field < known` …
fn compared(feature: &Feature, known: &Feature, atoms: &mut Atoms<'_>) {
    let rows = || feature.values.iter().zip(&known.values);
    let far = far(known);
    let is = |test: &dyn Fn(&Value, &Value) -> bool| -> Vec<bool> {
        rows().map(|(value, other)| value.as_ref().zip(other.as_ref()).is_some_and(|(v, o)| test(v, o))).collect()
    };
    let scalar = |v: &Value| matches!(v, Value::String(_) | Value::Number(_));
    let same = is(&|v, o| scalar(v) && v == o);
    if same.contains(&true) {
        atoms.add(equal(safe(feature), known.expr.clone()), 4.0 + far, same);
    }
    if !rows().all(|(value, other)| matches!((value, other), (Some(v), Some(o)) if comparable(v, o))) {
        return;
    }
    for (op, test) in orders() {
        let strict = if matches!(op, BinaryOp::Less | BinaryOp::Greater) { 0.0 } else { 0.5 };
        atoms.add_exact(feature.expr.clone().binary(op, known.expr.clone()), 6.0 + strict + 2.0 * far, &is(&|v, o| test(order(v, o))));
    }
}

/// The most fields that are compared with each other.
const MOST_COMPARED: usize = 40;
/// What it costs to compare two fields of one row, and what it is worth that their names share a word.
const COST_OF_TWO_FIELDS: f64 = 9.0;
const WORTH_OF_A_SHARED_WORD: f64 = 4.0;

/// What it costs to say which of two fields is larger, and what it is worth that one is a limit by its name.
const COST_OF_AN_ORDER: f64 = 13.0;
const WORTH_OF_A_LIMIT: f64 = 5.0;

fn is_a_limit(key: &str) -> bool {
    const LIMITS: &[&str] =
        &["limit", "max", "maximum", "min", "minimum", "threshold", "quota", "budget", "capacity", "deadline", "due", "target"];
    names::words(key).iter().any(|w| LIMITS.contains(&w.as_str()))
}

/// What the name of a number says about its being an end: a total is one, the size of a page is none.
fn says_an_end(key: &str) -> f64 {
    let words = names::words(key);
    let has = |any: &[&str]| words.iter().any(|w| any.contains(&w.as_str()));
    if has(&["size", "limit", "per"]) {
        4.0
    } else if has(&["total", "last", "final", "end", "count"]) {
        -2.0
    } else {
        0.0
    }
}

/// Two fields of one row that are equal where the row was chosen: `page == total_pages`.
pub(super) fn add_pairs(features: &[Feature], atoms: &mut Atoms<'_>) {
    let scalar = |v: &Option<Value>| matches!(v, Some(Value::String(_) | Value::Number(_)));
    let fields: Vec<&Feature> = features.iter().filter(|f| f.values.iter().all(scalar)).take(MOST_COMPARED).collect();
    for (at, a) in fields.iter().enumerate() {
        for b in fields.iter().skip(at + 1) {
            let is: Vec<bool> = a.values.iter().zip(&b.values).map(|(a, b)| a == b).collect();
            let words = names::words(&b.key);
            let shared = names::words(&a.key).iter().any(|w| words.iter().any(|o| names::singular(o) == names::singular(w)));
            let cost = COST_OF_TWO_FIELDS - if shared { WORTH_OF_A_SHARED_WORD } else { 0.0 } + says_an_end(&a.key) + says_an_end(&b.key);
            atoms.add_exact(equal(a.expr.clone(), b.expr.clone()), cost, &is);
            if !a.values.iter().zip(&b.values).all(|(a, b)| matches!((a, b), (Some(a), Some(b)) if comparable(a, b))) {
                continue;
            }
            let cost = COST_OF_AN_ORDER - if is_a_limit(&a.key) || is_a_limit(&b.key) { WORTH_OF_A_LIMIT } else { 0.0 };
            for (op, test) in orders() {
                let is: Vec<bool> =
                    a.values.iter().zip(&b.values).map(|(a, b)| matches!((a, b), (Some(a), Some(b)) if test(order(a, b)))).collect();
                let strict = if matches!(op, BinaryOp::Less | BinaryOp::Greater) { 0.0 } else { 0.5 };
                atoms.add_exact(a.expr.clone().binary(op, b.expr.clone()), cost + strict, &is);
            }
        }
    }
}

/// `amount > 0`: the one number that needs no reason.
fn threshold(feature: &Feature, atoms: &mut Atoms<'_>) {
    let zero = Value::from(0_i64);
    if !feature.values.iter().all(|v| matches!(v, Some(Value::Number(_)))) {
        return;
    }
    for (op, test) in orders() {
        let is = each(feature, |v| v.is_some_and(|v| test(order(v, &zero))));
        atoms.add_exact(feature.expr.clone().binary(op, Expr::Literal(zero.clone())), 7.0, &is);
    }
}

/// `score >= 64`, where the chosen rows have 64 and more and the others less: the true limit lies anywhere between.
fn between_recorded(feature: &Feature, atoms: &mut Atoms<'_>) {
    let numbers: Option<Vec<(&Value, bool)>> = feature
        .values
        .iter()
        .zip(atoms.chosen)
        .map(|(v, c)| v.as_ref().filter(|v| matches!(v, Value::Number(_))).map(|v| (v, *c)))
        .collect();
    let Some(numbers) = numbers else { return };
    let side = |wanted: bool| numbers.iter().filter(move |(_, c)| *c == wanted).map(|(v, _)| *v);
    let (least, most) = (side(true).min_by(|a, b| order(a, b)), side(true).max_by(|a, b| order(a, b)));
    let mut add = |op: BinaryOp, limit: &Value, is: Vec<bool>| {
        atoms.add_exact(feature.expr.clone().binary(op, Expr::Literal(limit.clone())), COST_OF_A_LIMIT, &is);
    };
    if let Some(least) = least {
        add(BinaryOp::GreaterOrEqual, least, numbers.iter().map(|(v, _)| order(v, least).is_ge()).collect());
    }
    if let Some(most) = most {
        add(BinaryOp::LessOrEqual, most, numbers.iter().map(|(v, _)| order(v, most).is_le()).collect());
    }
}

type Order = (BinaryOp, fn(std::cmp::Ordering) -> bool);

fn orders() -> [Order; 4] {
    [
        (BinaryOp::Less, std::cmp::Ordering::is_lt),
        (BinaryOp::Greater, std::cmp::Ordering::is_gt),
        (BinaryOp::LessOrEqual, std::cmp::Ordering::is_le),
        (BinaryOp::GreaterOrEqual, std::cmp::Ordering::is_ge),
    ]
}

fn comparable(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => true,
        (Value::String(a), Value::String(b)) => is_date(a) && is_date(b),
        _ => false,
    }
}

fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().total_cmp(&b.as_f64()),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => std::cmp::Ordering::Equal,
    }
}
