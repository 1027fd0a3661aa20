//! From list to list: the item of a list that has the key of an item of another list, and so on.
//!
//! Before: an article, a list of products, a list of suppliers. After: the address of the supplier of the product of the article, as
//! `suppliers[id == products[sku == article.sku].supplier].address`.

use super::super::pick::{self, field, fields};
use super::{Fact, Made};
use crate::index::scalar_text;
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::Expr;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::mem::{Discriminant, discriminant};

/// How often it goes from one list to another.
const MOST_HOPS: usize = 2;
/// What it costs to say which item of a list it is.
const COST_OF_A_HOP: f64 = 4.0;
/// Lists with more items are not looked through.
const MOST_ITEMS: usize = 500;
/// The most facts that are found so.
const MOST_FOUND: usize = 120;
/// A key that says less is equal to another by chance.
const LEAST_KEY: f64 = 3.0;

/// Adds the fields of the items of lists that are found by what is known.
pub(super) fn add(facts: &mut Vec<Fact>) {
    let mut from = 0;
    for _ in 0..MOST_HOPS {
        let mut found: Vec<Fact> = Vec::new();
        let is_list = |fact: &&Fact| fact.values.iter().all(|v| matches!(v, Value::Array(items) if items.len() <= MOST_ITEMS));
        let keys: Vec<&Fact> = facts.iter().skip(from).filter(|fact| is_key(fact)).collect();
        if keys.is_empty() {
            return;
        }
        let lists: Vec<(&Fact, Keyed<'_>)> = facts.iter().filter(is_list).map(|list| (list, keyed(list))).collect();
        for key in keys {
            for (list, items) in &lists {
                for fact in hop(list, items, key) {
                    let is_known = |known: &Fact| known.values == fact.values;
                    if found.len() < MOST_FOUND && !facts.iter().any(is_known) && !found.iter().any(is_known) {
                        found.push(fact);
                    }
                }
            }
        }
        from = facts.len();
        facts.extend(found);
    }
}

/// The fields that were found so, as they are.
pub(super) fn plain(facts: &[Fact], words: &[String]) -> Vec<Made> {
    facts.iter().filter(|fact| fact.hops > 0.0).map(|fact| Made::of(fact, fact.expr.clone(), 0.0, words)).collect()
}

/// Whether a fact is another key each time, so that it finds another item.
fn is_key(fact: &Fact) -> bool {
    let says = |value: &Value| scalar_text(value).is_some_and(|text| bits(text) >= LEAST_KEY);
    fact.values.iter().all(says) && fact.values.iter().skip(1).any(|v| Some(v) != fact.values.first())
}

/// The items of a list by the values of their fields; of several items with one value, the first.
type Keyed<'f> = FxHashMap<(Discriminant<Value>, &'f str), &'f Value>;

/// The items that a list has in the first use.
fn keyed(list: &Fact) -> Keyed<'_> {
    let mut found = Keyed::default();
    for item in list.values.first().and_then(Value::as_array).unwrap_or_default() {
        for (_, value) in fields(item).into_iter().filter(|(path, _)| !path.is_empty()) {
            if let Some(text) = scalar_text(value) {
                found.entry((discriminant(value), text)).or_insert(item);
            }
        }
    }
    found
}

/// The fields of the one item of a list with a key that a fact tells.
fn hop(list: &Fact, items: &Keyed<'_>, key: &Fact) -> Vec<Fact> {
    let mut found = Vec::new();
    let Some(wanted) = key.values.first() else { return found };
    let Some(item) = scalar_text(wanted).and_then(|text| items.get(&(discriminant(wanted), text))) else { return found };
    for (path, _) in fields(item).into_iter().filter(|(path, value)| !path.is_empty() && *value == wanted) {
        let picked = |(items, wanted): (&Value, &Value)| {
            let mut fitting = items.as_array()?.iter().filter(|item| field(item, &path) == Some(wanted));
            fitting.next().filter(|_| fitting.next().is_none()).cloned()
        };
        let Some(items) = list.values.iter().zip(&key.values).map(picked).collect::<Option<Vec<Value>>>() else { continue };
        let pick = Expr::Pick { list: Box::new(list.expr.clone()), path: path.clone(), equals: Box::new(key.expr.clone()) };
        for (way, _) in items.first().map(fields).unwrap_or_default().into_iter().filter(|(way, _)| *way != path) {
            let Some(values) = items.iter().map(|item| field(item, &way).cloned()).collect::<Option<Vec<Value>>>() else { continue };
            let keys: Vec<SmolStr> = list.keys.iter().chain(way.last()).cloned().collect();
            found.push(Fact {
                expr: pick::Keys::keys(pick.clone(), &way),
                depth: way.len(),
                keys,
                source: list.source,
                echo: false,
                hops: list.hops + key.hops + COST_OF_A_HOP,
                values,
            });
        }
    }
    found
}
