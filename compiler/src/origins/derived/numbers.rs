//! Numbers that are computed: of two that are known, of one and a constant, or of the items of a list.

use super::super::Use;
use super::super::pick::{self, Keys};
use super::{Fact, Made};
use crate::names::{self, Agreement};
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr, Function, OverFunction, compare_numbers};
use std::cmp::Ordering;

/// What it costs to say which two numbers, and what is done with them.
const COST_OF_TWO: f64 = 6.0;
/// What it costs that a number is the same each time: it may be chance that it stands there.
const COST_OF_A_CONSTANT: f64 = 4.0;
/// What it costs to add up a list, and to multiply two fields of its items before.
const COST_OF_A_SUM: f64 = 3.0;
const COST_OF_A_PRODUCT: f64 = 3.0;
/// The most numbers of which two are tried together.
const MOST_NUMBERS: usize = 40;
/// The most items whose words are looked at.
const MOST_ITEMS: usize = 200;
/// Fewer different values lie on a line by chance.
const LEAST_ON_A_LINE: usize = 3;

/// The computations that could give the numbers of uses, of which no two are the same.
pub(super) fn computed(facts: &[Fact], uses: &[Use], words: &[String]) -> Vec<Made> {
    let numbers: Vec<&Fact> = facts.iter().filter(|f| f.values.iter().all(|v| matches!(v, Value::Number(_)))).take(MOST_NUMBERS).collect();
    let mut found = of_two(&numbers, uses, words);
    if uses.len() >= LEAST_ON_A_LINE {
        found.extend(numbers.iter().flat_map(|fact| shifted(fact, uses, words)));
    }
    found.extend(facts.iter().flat_map(|fact| sums(fact, words).into_iter().chain(counted_by_name(fact, words))));
    found
}

/// Sums, differences and products of two numbers.
fn of_two(numbers: &[&Fact], uses: &[Use], words: &[String]) -> Vec<Made> {
    let enough = uses.len() >= LEAST_ON_A_LINE;
    let mut found = Vec::new();
    for (at, a) in numbers.iter().enumerate() {
        for (other, b) in numbers.iter().enumerate().filter(|(other, _)| *other != at) {
            let agreement = a.agreement(words).max(b.agreement(words));
            if !(enough || agreement > Agreement::None) || is_neutral(a) || is_neutral(b) {
                continue;
            }
            let constants = [a, b].iter().filter(|f| is_constant(f)).count();
            if constants > 1 {
                continue;
            }
            let cost = COST_OF_TWO + if constants == 1 { COST_OF_A_CONSTANT } else { 0.0 };
            for op in [BinaryOp::Subtract, BinaryOp::Add, BinaryOp::Multiply] {
                // What is the same both ways is told once.
                if op != BinaryOp::Subtract && at > other {
                    continue;
                }
                let expr = a.expr.clone().binary(op, b.expr.clone());
                let made = Made::of(a, expr, cost, words);
                let echo = if b.echo { super::COST_OF_AN_ECHO } else { 0.0 };
                found.push(Made {
                    agreement,
                    cost: made.cost + echo,
                    echo: a.echo || b.echo,
                    of: vec![a.expr.clone(), b.expr.clone()],
                    ..made
                });
            }
        }
    }
    found
}

/// A number that is a whole number more or less each time, or so many times as much.
fn shifted(fact: &Fact, uses: &[Use], words: &[String]) -> Vec<Made> {
    let pairs: Option<Vec<(i64, i64)>> = fact.values.iter().zip(uses).map(|(known, u)| Some((whole(known)?, whole(&u.value)?))).collect();
    let Some(pairs) = pairs.filter(|_| !is_constant(fact)) else { return Vec::new() };
    let Some((known, value)) = pairs.first().copied() else { return Vec::new() };
    let mut found = Vec::new();
    let more = value.checked_sub(known).filter(|by| by.unsigned_abs() > 1);
    if let Some(by) = more.filter(|by| pairs.iter().all(|(k, v)| k.checked_add(*by) == Some(*v))) {
        let op = if by > 0 { BinaryOp::Add } else { BinaryOp::Subtract };
        found.push((op, i64::try_from(by.unsigned_abs()).unwrap_or(i64::MAX)));
    }
    let times =
        value.checked_rem(known).filter(|rest| *rest == 0).and_then(|_| value.checked_div(known)).filter(|by| by.unsigned_abs() > 1);
    if let Some(by) = times.filter(|by| pairs.iter().all(|(k, v)| k.checked_mul(*by) == Some(*v))) {
        found.push((BinaryOp::Multiply, by));
    }
    let made = |(op, by): (BinaryOp, i64)| {
        let cost = COST_OF_TWO + COST_OF_A_CONSTANT + bits(&by.to_string());
        Made::of(fact, fact.expr.clone().binary(op, Expr::Literal(by.into())), cost, words)
    };
    found.into_iter().map(made).collect()
}

/// What the items of a list come to: their number, the sum of them or of a field, and the sum of the product of two fields.
fn sums(fact: &Fact, words: &[String]) -> Vec<Made> {
    let lists: Option<Vec<&[Value]>> = fact.values.iter().map(Value::as_array).collect();
    let Some(item) = lists.as_ref().and_then(|lists| lists.iter().find_map(|items| items.first())) else { return Vec::new() };
    let list = || fact.expr.clone();
    if matches!(item, Value::Number(_)) {
        return vec![Made::of(fact, list().apply(Function::Sum), COST_OF_A_SUM, words)];
    }
    let numbers: Vec<Expr> = pick::fields(item)
        .into_iter()
        .filter(|(path, value)| !path.is_empty() && matches!(value, Value::Number(_)))
        .map(|(path, _)| Expr::name("x").keys(&path))
        .collect();
    let sum = |each: Expr| list().over(OverFunction::Map, "x", each).apply(Function::Sum);
    let mut found: Vec<Made> = numbers.iter().map(|each| Made::of(fact, sum(each.clone()), COST_OF_A_SUM, words)).collect();
    for (at, a) in numbers.iter().enumerate() {
        for b in numbers.iter().skip(at + 1) {
            let product = a.clone().binary(BinaryOp::Multiply, b.clone());
            found.push(Made::of(fact, sum(product), COST_OF_A_SUM + COST_OF_A_PRODUCT, words));
        }
    }
    found
}

/// How many items of a list have the word in a field that the number is called after: `firing` of alerts whose state is `firing`.
fn counted_by_name(fact: &Fact, words: &[String]) -> Vec<Made> {
    let items = || fact.values.iter().filter_map(Value::as_array).flatten();
    let mut tests: Vec<Expr> = Vec::new();
    for (path, value) in items().take(MOST_ITEMS).flat_map(pick::fields) {
        let is_said = !path.is_empty() && value.as_str().is_some_and(|word| !words.is_empty() && names::words(word) == words);
        let test = Expr::name("x").keys(&path).binary(BinaryOp::Equal, Expr::Literal(value.clone()));
        if is_said && !tests.contains(&test) {
            tests.push(test);
        }
    }
    let count = |test: Expr| fact.expr.clone().over(OverFunction::Filter, "x", test).apply(Function::Len);
    tests.into_iter().map(|test| Made { agreement: Agreement::Strong, ..Made::of(fact, count(test), 0.0, words) }).collect()
}

fn whole(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

fn is_constant(fact: &Fact) -> bool {
    fact.values.iter().skip(1).all(|v| Some(v) == fact.values.first())
}

/// Whether a number changes nothing in one of the uses: there it would be equal by chance.
fn is_neutral(fact: &Fact) -> bool {
    let zero = ltc_workflow::Number::from(0_i64);
    is_constant(fact) && fact.values.iter().filter_map(Value::as_number).any(|n| compare_numbers(n, &zero) == Ordering::Equal)
}
