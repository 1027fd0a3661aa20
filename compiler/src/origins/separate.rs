//! The smallest test that separates: chosen items from the others, the last round from those before, runs that did something from runs
//! that did not.

use super::pick::{equal, fields};
use crate::index::scalar_text;
use crate::names;
use crate::text::{is_date, is_opaque};
use crate::tree::is_reserved;
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr, Function};
use smol_str::SmolStr;

/// Something that is known of each row.
#[derive(Clone, Debug)]
pub struct Feature {
    /// The expression that gives it.
    pub expr: Expr,
    /// The key that names it.
    pub key: SmolStr,
    /// How far in it is.
    pub depth: usize,
    /// Its value in each row; `None` where it is missing.
    pub values: Vec<Option<Value>>,
}

/// A test that is true of the chosen rows and false of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The test.
    pub expr: Expr,
    /// What it takes to tell it, in bits.
    pub cost: f64,
}

/// Names of fields that say how something stands.
const TELLING: &[&str] = &[
    "status", "state", "phase", "kind", "type", "verdict", "result", "outcome", "category", "priority", "severity", "level", "done",
    "stage", "role",
];
/// The most features that are tried.
const MOST_FEATURES: usize = 400;

/// The scalar and list fields of each row's value, under `base`.
pub fn features(base: &Expr, values: &[Option<Value>]) -> Vec<Feature> {
    let mut paths: Vec<Vec<SmolStr>> = Vec::new();
    for value in values.iter().flatten().take(50) {
        for path in paths_of(value) {
            if !paths.contains(&path) && paths.len() < MOST_FEATURES {
                paths.push(path);
            }
        }
    }
    let at = |value: &Option<Value>, path: &[SmolStr]| path.iter().try_fold(value.as_ref()?, |v, key| v.get(key)).cloned();
    paths
        .into_iter()
        .filter(|path| !path.iter().any(|key| is_reserved(key)))
        .map(|path| Feature {
            expr: super::pick::Keys::keys(base.clone(), &path),
            key: path.last().cloned().unwrap_or_default(),
            depth: path.len(),
            values: values.iter().map(|v| at(v, &path)).collect(),
        })
        .collect()
}

fn paths_of(value: &Value) -> Vec<Vec<SmolStr>> {
    let mut found: Vec<Vec<SmolStr>> = fields(value).into_iter().map(|(path, _)| path).collect();
    if let Some(object) = value.as_object() {
        for (key, inner) in object.sorted() {
            if matches!(inner, Value::Array(_) | Value::Object(_)) {
                found.push(vec![key.clone()]);
            }
        }
    } else if matches!(value, Value::Array(_)) {
        found.push(Vec::new());
    }
    found
}

/// The tests that separate the chosen rows, cheapest first. `known` are values outside of the rows, each with its value in every row.
pub fn separate(features: &[Feature], known: &[Feature], chosen: &[bool]) -> Vec<Test> {
    let mut found = Vec::new();
    for feature in features {
        let telling = names::words(&feature.key).iter().any(|w| TELLING.contains(&w.as_str()));
        let shared = f64::from(u32::try_from(feature.depth).unwrap_or(9)) * 0.5 - if telling { 6.0 } else { 0.0 };
        let mut add = |expr: Expr, cost: f64| found.push(Test { expr, cost: cost + shared });
        equality(feature, chosen, &mut add);
        truth(feature, chosen, &mut add);
        absence(feature, chosen, &mut add);
        emptiness(feature, chosen, &mut add);
        membership(feature, chosen, &mut add);
        for other in known {
            compared(feature, other, chosen, &mut add);
        }
        threshold(feature, chosen, &mut add);
        between_recorded(feature, chosen, &mut add);
    }
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost).then_with(|| a.expr.to_string().cmp(&b.expr.to_string())));
    found.dedup_by(|a, b| a.expr == b.expr);
    found
}

type Add<'a> = &'a mut dyn FnMut(Expr, f64);

fn split<'f>(feature: &'f Feature, chosen: &[bool]) -> (Vec<Option<&'f Value>>, Vec<Option<&'f Value>>) {
    let of = |wanted: bool| feature.values.iter().zip(chosen).filter(|(_, c)| **c == wanted).map(|(v, _)| v.as_ref()).collect();
    (of(true), of(false))
}

/// The expression, safe where the field is missing in some rows.
fn safe(feature: &Feature) -> Expr {
    if feature.values.iter().any(Option::is_none) {
        feature.expr.clone().binary(BinaryOp::Coalesce, Expr::Literal(Value::Null))
    } else {
        feature.expr.clone()
    }
}

/// Whether a value means something by itself: an id or a date of one recording is no test for the next.
fn is_word(value: &Value) -> bool {
    scalar_text(value).is_some_and(|text| !is_opaque(text) && !is_date(text))
}

fn weight(value: &Value) -> f64 {
    match scalar_text(value) {
        Some(text) => bits(text),
        None => 1.0,
    }
}

fn equality(feature: &Feature, chosen: &[bool], add: Add<'_>) {
    let (ours, theirs) = split(feature, chosen);
    if let Some(Some(value)) = ours.first()
        && is_word(value)
        && ours.iter().all(|v| *v == Some(value))
        && theirs.iter().all(|v| *v != Some(value))
    {
        add(equal(safe(feature), Expr::Literal((*value).clone())), 2.0 + weight(value));
    }
    if let Some(Some(value)) = theirs.first()
        && is_word(value)
        && theirs.iter().all(|v| *v == Some(value))
        && ours.iter().all(|v| *v != Some(value))
    {
        add(safe(feature).binary(BinaryOp::NotEqual, Expr::Literal((*value).clone())), 4.0 + weight(value));
    }
}

fn truth(feature: &Feature, chosen: &[bool], add: Add<'_>) {
    let (ours, theirs) = split(feature, chosen);
    let all = |rows: &[Option<&Value>], b: bool| rows.iter().all(|v| *v == Some(&Value::Bool(b)));
    if all(&ours, true) && theirs.iter().all(|v| *v != Some(&Value::Bool(true))) && !ours.is_empty() {
        add(safe(feature), 2.0);
    }
    if all(&ours, false) && all(&theirs, true) && !ours.is_empty() {
        add(Expr::Not(Box::new(feature.expr.clone())), 2.5);
    }
}

fn absence(feature: &Feature, chosen: &[bool], add: Add<'_>) {
    let (ours, theirs) = split(feature, chosen);
    let absent = |v: &Option<&Value>| v.is_none_or(Value::is_null);
    let null = Expr::Literal(Value::Null);
    let told = if feature.values.iter().any(Option::is_none) { 6.0 } else { 0.0 };
    if ours.iter().all(absent) && !theirs.iter().any(absent) {
        add(equal(safe(feature), null.clone()), 4.0 + told);
    }
    if theirs.iter().all(absent) && !ours.iter().any(absent) {
        add(safe(feature).binary(BinaryOp::NotEqual, null), 5.0 + told);
    }
    let blank = |v: &Option<&Value>| v.and_then(Value::as_str) == Some("");
    if ours.iter().all(blank) && !theirs.iter().any(blank) {
        add(equal(safe(feature), Expr::Literal(Value::from(""))), 3.5);
    }
}

fn emptiness(feature: &Feature, chosen: &[bool], add: Add<'_>) {
    let lengths: Option<Vec<usize>> = feature.values.iter().map(|v| Some(v.as_ref()?.as_array()?.len())).collect();
    let Some(lengths) = lengths else { return };
    let length = || feature.expr.clone().apply(Function::Len);
    let ours = || lengths.iter().zip(chosen).filter(|(_, c)| **c).map(|(n, _)| *n);
    let theirs = || lengths.iter().zip(chosen).filter(|(_, c)| !**c).map(|(n, _)| *n);
    if ours().all(|n| n == 0) && theirs().all(|n| n > 0) {
        add(equal(length(), Expr::Literal(Value::from(0_i64))), 4.0);
    }
    if theirs().all(|n| n == 0) && ours().all(|n| n > 0) {
        add(length().binary(BinaryOp::Greater, Expr::Literal(Value::from(0_i64))), 5.0);
    }
    if let (Some(full), Some(most)) = (theirs().next(), ours().max())
        && theirs().all(|n| n == full)
        && most < full
        && most > 0
    {
        add(length().binary(BinaryOp::Less, Expr::Literal(Value::from(full))), 7.0);
    }
}

/// The most words of which a field may be one.
const MOST_WORDS: usize = 3;

/// `contains(labels, 'bug')`, and one of a few words.
fn membership(feature: &Feature, chosen: &[bool], add: Add<'_>) {
    let (ours, theirs) = split(feature, chosen);
    if let Some(Some(Value::Array(items))) = ours.first() {
        for item in items.iter().filter(|i| matches!(i, Value::String(_)) && is_word(i)).take(20) {
            let has = |v: &Option<&Value>| v.and_then(Value::as_array).is_some_and(|list| list.contains(item));
            if ours.iter().all(has) && !theirs.iter().any(has) && feature.values.iter().all(Option::is_some) {
                add(Expr::Call(Function::Contains, vec![feature.expr.clone(), Expr::Literal(item.clone())]), 5.0 + weight(item));
            }
        }
    }
    let mut words: Vec<&Value> = Vec::new();
    for value in ours.iter().flatten() {
        if words.len() <= MOST_WORDS && !words.contains(value) {
            words.push(value);
        }
    }
    let small = (2..=MOST_WORDS).contains(&words.len())
        && ours.len() > words.len()
        && words.iter().all(|w| matches!(w, Value::String(_)) && is_word(w));
    if small && ours.iter().all(Option::is_some) && !theirs.iter().flatten().any(|v| words.contains(v)) {
        let list = Expr::List(words.iter().map(|w| Expr::Literal((*w).clone())).collect());
        add(Expr::Call(Function::Contains, vec![list, safe(feature)]), 6.0 + words.iter().map(|w| weight(w)).sum::<f64>());
    }
}

/// `field == known`, `field < known` …
fn compared(feature: &Feature, known: &Feature, chosen: &[bool], add: Add<'_>) {
    let rows = || feature.values.iter().zip(&known.values).zip(chosen);
    let is = |test: &dyn Fn(&Value, &Value) -> bool| {
        rows().all(|((value, other), chosen)| value.as_ref().zip(other.as_ref()).is_some_and(|(v, o)| test(v, o)) == *chosen)
    };
    if is(&|v, o| v == o) {
        add(equal(safe(feature), known.expr.clone()), 4.0);
    }
    if !rows().all(|((value, other), _)| matches!((value, other), (Some(v), Some(o)) if comparable(v, o))) {
        return;
    }
    for (op, test) in orders() {
        if is(&|v, o| test(order(v, o))) {
            let strict = if matches!(op, BinaryOp::Less | BinaryOp::Greater) { 0.0 } else { 0.5 };
            add(feature.expr.clone().binary(op, known.expr.clone()), 6.0 + strict);
        }
    }
}

/// `amount > 0`: the one number that needs no reason.
fn threshold(feature: &Feature, chosen: &[bool], add: Add<'_>) {
    let zero = Value::from(0_i64);
    let numbers = feature.values.iter().all(|v| matches!(v, Some(Value::Number(_))));
    if !numbers {
        return;
    }
    for (op, test) in orders() {
        if feature.values.iter().zip(chosen).all(|(v, chosen)| v.as_ref().is_some_and(|v| test(order(v, &zero))) == *chosen) {
            add(feature.expr.clone().binary(op, Expr::Literal(zero.clone())), 7.0);
        }
    }
}

/// `score >= 64`, where the chosen rows have 64 and more and the others less: the true limit lies anywhere between.
fn between_recorded(feature: &Feature, chosen: &[bool], add: Add<'_>) {
    let numbers: Option<Vec<(&Value, bool)>> =
        feature.values.iter().zip(chosen).map(|(v, c)| v.as_ref().filter(|v| matches!(v, Value::Number(_))).map(|v| (v, *c))).collect();
    let Some(numbers) = numbers else { return };
    let side = |wanted: bool| numbers.iter().filter(move |(_, c)| *c == wanted).map(|(v, _)| *v);
    let (least, most) = (side(true).min_by(|a, b| order(a, b)), side(true).max_by(|a, b| order(a, b)));
    if let Some(least) = least.filter(|l| side(false).all(|v| order(v, l).is_lt())) {
        add(feature.expr.clone().binary(BinaryOp::GreaterOrEqual, Expr::Literal(least.clone())), COST_OF_A_LIMIT);
    }
    if let Some(most) = most.filter(|m| side(false).all(|v| order(v, m).is_gt())) {
        add(feature.expr.clone().binary(BinaryOp::LessOrEqual, Expr::Literal(most.clone())), COST_OF_A_LIMIT);
    }
}

/// What a limit costs that is only known to lie between two recorded numbers.
pub const COST_OF_A_LIMIT: f64 = 14.0;

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
