//! Which values are equal, and which come first. Every comparison is paid for.

use super::budget::Budget;
use super::eval::{fail, with_article};
use super::{functions, number};
use crate::advance::Failure;
use crate::value::Value;
use std::cmp::Ordering;

/// Whether two values are equal: numbers by their value, everything else as JSON.
pub(crate) fn equal(a: &Value, b: &Value, budget: &mut Budget) -> Result<bool, Failure> {
    budget.spend(1)?;
    Ok(match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            budget.spend_text(a.as_str().len().min(b.as_str().len()))?;
            number::compare(a, b) == Ordering::Equal
        }
        (Value::String(a), Value::String(b)) => {
            budget.spend_text(a.len().min(b.len()))?;
            a == b
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(a, b, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Object(a), Value::Object(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            budget.spend(a.len())?;
            for ((k, a), (l, b)) in a.sorted().into_iter().zip(b.sorted()) {
                if k != l || !equal(a, b, budget)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Null | Value::Bool(_), _) | (Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_), _) => a == b,
    })
}

/// Which of two numbers or two texts is smaller.
pub(crate) fn order(a: &Value, b: &Value, budget: &mut Budget) -> Result<Ordering, Failure> {
    budget.spend(1)?;
    if let (Value::Number(a), Value::Number(b)) = (a, b) {
        budget.spend_text(a.as_str().len().min(b.as_str().len()))?;
        return Ok(number::compare(a, b));
    }
    if let (Value::String(a), Value::String(b)) = (a, b) {
        budget.spend_text(a.len().min(b.len()))?;
        return Ok(a.cmp(b));
    }
    let (a, b) = (with_article(a.type_name()), with_article(b.type_name()));
    Err(fail("not-comparable", format!("only two numbers or two texts have an order, not {a} and {b}")))
}

/// The first item whose rank no other is `side` of.
pub(crate) fn extreme<T: Clone>(ranked: &[(Value, &T)], side: Ordering, budget: &mut Budget) -> Result<T, Failure> {
    let mut best: Option<&(Value, &T)> = None;
    for candidate in ranked {
        match best {
            Some(so_far) if order(&candidate.0, &so_far.0, budget)? != side => {}
            Some(_) | None => best = Some(candidate),
        }
    }
    best.map(|(_, value)| (*value).clone()).ok_or_else(|| fail(functions::EMPTY_LIST, "the list is empty"))
}

/// Sorts by rank, keeping the order of equals.
pub(crate) fn sort<T>(ranked: &mut [(Value, &T)], budget: &mut Budget) -> Result<(), Failure> {
    // Once every rank has an order with the first, all have one with each other.
    if let Some((first, _)) = ranked.first() {
        for (rank, _) in ranked.iter() {
            order(first, rank, budget)?;
        }
    }
    let rounds = usize::try_from(ranked.len().checked_ilog2().unwrap_or(0)).unwrap_or(0) + 1;
    budget.spend(ranked.len().saturating_mul(rounds))?;
    ranked.sort_by(|(a, _), (b, _)| match (a, b) {
        (Value::Number(a), Value::Number(b)) => number::compare(a, b),
        (a, b) => a.as_str().cmp(&b.as_str()),
    });
    Ok(())
}
