//! Tests of a list in a row, and of whether a field is in a list.

use super::super::pick::{Keys, equal, field, fields};
use super::{Atoms, Feature, far, is_telling, is_word, of_depth, safe, weight};
use crate::index::scalar_text;
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr, Function, OverFunction};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::mem::{Discriminant, discriminant};

/// All tests of `feature`, where it is a list, and of its place in lists that are known.
pub(super) fn add(feature: &Feature, known: &[Feature], atoms: &mut Atoms<'_>) {
    for other in known {
        listed(feature, other, atoms);
    }
    let lists: Option<Vec<&[Value]>> = feature.values.iter().map(|v| v.as_ref()?.as_array()).collect();
    let Some(lists) = lists else { return };
    emptiness(feature, &lists, atoms);
    holds(feature, &lists, atoms);
    inside(feature, &lists, known, atoms);
}

fn emptiness(feature: &Feature, lists: &[&[Value]], atoms: &mut Atoms<'_>) {
    let zero = || Expr::Literal(Value::from(0_i64));
    let length = || feature.expr.clone().apply(Function::Len);
    let of_length = |is: &dyn Fn(usize) -> bool| -> Vec<bool> { lists.iter().map(|l| is(l.len())).collect() };
    atoms.add(equal(length(), zero()), 4.0, of_length(&|n| n == 0));
    atoms.add(length().binary(BinaryOp::Greater, zero()), 5.0, of_length(&|n| n > 0));
    let side = |wanted: bool| lists.iter().zip(atoms.chosen).filter(move |(_, c)| **c == wanted).map(|(l, _)| l.len());
    // A last page is shorter than the full ones before it.
    if let (Some(full), Some(most)) = (side(false).next(), side(true).max())
        && side(false).all(|n| n == full)
        && most < full
        && most > 0
    {
        atoms.add_exact(length().binary(BinaryOp::Less, Expr::Literal(Value::from(full))), 7.0, &of_length(&|n| n < full));
    }
}

/// `contains(labels, 'bug')`
fn holds(feature: &Feature, lists: &[&[Value]], atoms: &mut Atoms<'_>) {
    let first = lists.iter().zip(atoms.chosen).find(|(_, chosen)| **chosen).map(|(l, _)| *l).unwrap_or_default();
    for item in first.iter().filter(|i| matches!(i, Value::String(_)) && is_word(i)).take(20) {
        let has = lists.iter().map(|list| list.contains(item)).collect();
        atoms.add(Expr::Call(Function::Contains, vec![feature.expr.clone(), Expr::Literal(item.clone())]), 5.0 + weight(item), has);
    }
    let mut others: Vec<&Value> = Vec::new();
    for item in lists.iter().zip(atoms.chosen).filter(|(_, chosen)| !**chosen).flat_map(|(l, _)| l.iter().take(MOST_ITEMS)) {
        if others.len() < MOST_WORDS && !others.contains(&item) && matches!(item, Value::String(_)) && is_word(item) {
            others.push(item);
        }
    }
    for item in others {
        let lacks = lists.iter().map(|list| !list.contains(item)).collect();
        let contains = Expr::Call(Function::Contains, vec![feature.expr.clone(), Expr::Literal(item.clone())]);
        atoms.add(Expr::Not(Box::new(contains)), 6.0 + weight(item), lacks);
    }
}

/// The most items of a list that are looked at for words.
const MOST_ITEMS: usize = 20;
/// The most fields of an item, and words in each, that are tried.
const MOST_FIELDS: usize = 12;
const MOST_WORDS: usize = 6;

/// A field of the items of a list, and the words that it has somewhere.
struct Inner {
    path: Vec<SmolStr>,
    words: Vec<Value>,
}

/// `all(jobs, x, x.state == 'done')`, `any(…)`, and `any(tags, x, x.key == 'env' and x.value == known)`.
fn inside(feature: &Feature, lists: &[&[Value]], known: &[Feature], atoms: &mut Atoms<'_>) {
    let mut inner: Vec<Inner> = Vec::new();
    for item in lists.iter().flat_map(|l| l.iter().take(MOST_ITEMS)).take(10 * MOST_ITEMS) {
        for (path, value) in fields(item).into_iter().filter(|(path, _)| !path.is_empty()) {
            if !inner.iter().any(|f| f.path == path) {
                if inner.len() == MOST_FIELDS {
                    continue;
                }
                inner.push(Inner { path: path.clone(), words: Vec::new() });
            }
            let Some(field) = inner.iter_mut().find(|f| f.path == path) else { continue };
            let tells = matches!(value, Value::Bool(_)) || (matches!(value, Value::String(_)) && is_word(value));
            if tells && field.words.len() < MOST_WORDS && !field.words.contains(value) {
                field.words.push(value.clone());
            }
        }
    }
    let at = |path: &[SmolStr]| Expr::name("x").keys(path);
    let over = |function: OverFunction, test: Expr| feature.expr.clone().over(function, "x", test);
    let has = |item: &Value, path: &[SmolStr], value: &Value| field(item, path) == Some(value);
    for field in &inner {
        let telling = if field.path.last().is_some_and(|k| is_telling(k)) { 6.0 } else { 0.0 };
        for word in &field.words {
            let test = equal(at(&field.path), Expr::Literal(word.clone()));
            let cost = 9.0 + weight(word) - telling;
            let any = lists.iter().map(|l| l.iter().any(|i| has(i, &field.path, word))).collect();
            atoms.add_and_opposite(over(OverFunction::Any, test.clone()), cost, 1.0, any);
            let all = lists.iter().map(|l| l.iter().all(|i| has(i, &field.path, word))).collect();
            atoms.add(over(OverFunction::All, test), cost, all);
        }
    }
    for field in &inner {
        for other in known.iter().filter(|k| k.values.iter().all(|v| matches!(v, Some(Value::String(_) | Value::Number(_))))) {
            let rows = || lists.iter().zip(&other.values).map(|(l, v)| (*l, v.as_ref()));
            let is = |i: &Value, v: Option<&Value>| v.is_some_and(|v| has(i, &field.path, v));
            let same = equal(at(&field.path), other.expr.clone());
            let far = of_depth(other.depth);
            let any: Vec<bool> = rows().map(|(l, v)| l.iter().any(|i| is(i, v))).collect();
            if !any.contains(&true) {
                continue;
            }
            atoms.add(over(OverFunction::Any, same.clone()), 7.0 + far, any);
            for name in inner.iter().filter(|n| n.path != field.path) {
                for word in name.words.iter().filter(|w| matches!(w, Value::String(_))) {
                    let test = equal(at(&name.path), Expr::Literal(word.clone())).binary(BinaryOp::And, same.clone());
                    let both = rows().map(|(l, v)| l.iter().any(|i| has(i, &name.path, word) && is(i, v))).collect();
                    let said = if names_what(word, other) { 12.0 } else { 0.0 };
                    atoms.add(over(OverFunction::Any, test), 10.0 + far + weight(word) - said, both);
                }
            }
        }
    }
}

/// Whether a word in a row is the name of what it is compared with: the tag `env` and the input `env`.
fn names_what(word: &Value, known: &Feature) -> bool {
    word.as_str().is_some_and(|w| crate::names::words(w) == crate::names::words(&known.key))
}

/// `contains(map(members, x, x.login), item.login)`: whether the field is among those of a list that is known.
fn listed(feature: &Feature, known: &Feature, atoms: &mut Atoms<'_>) {
    let scalar = |v: &Option<Value>| matches!(v, Some(Value::String(_) | Value::Number(_)));
    let lists: Option<Vec<&[Value]>> = known.values.iter().map(|v| v.as_ref()?.as_array()).collect();
    let (true, Some(lists)) = (feature.values.iter().all(scalar), lists) else { return };
    let far = far(known);
    let mut paths: Vec<Vec<SmolStr>> = Vec::new();
    for item in lists.iter().flat_map(|l| l.iter().take(1)) {
        for (path, _) in fields(item).into_iter().take(MOST_FIELDS) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    for path in paths {
        let is = are_among(&feature.values, &lists, &path);
        let named = if path.last().is_some_and(|k| *k == feature.key) { 0.0 } else { 2.0 };
        let values = match path.as_slice() {
            [] => known.expr.clone(),
            path => known.expr.clone().over(OverFunction::Map, "x", Expr::name("x").keys(path)),
        };
        let contains = Expr::Call(Function::Contains, vec![values, safe(feature)]);
        atoms.add_and_opposite(contains, 7.0 + named + far, 0.5, is);
    }
}

/// Whether each value is among those at `path` in the list of its row. Many rows have one list, which is looked through once.
fn are_among(values: &[Option<Value>], lists: &[&[Value]], path: &[SmolStr]) -> Vec<bool> {
    fn key(value: &Value) -> Option<(Discriminant<Value>, &str)> {
        Some((discriminant(value), scalar_text(value)?))
    }
    let mut looked: &[Value] = &[];
    let mut held: FxHashSet<(Discriminant<Value>, &str)> = FxHashSet::default();
    let mut found = Vec::with_capacity(values.len());
    for (value, list) in values.iter().zip(lists) {
        if !std::ptr::eq(looked, *list) {
            looked = list;
            held = list.iter().filter_map(|item| key(field(item, path)?)).collect();
        }
        found.push(value.as_ref().and_then(key).is_some_and(|value| held.contains(&value)));
    }
    found
}
