//! The smallest test that separates: chosen items from the others, the last round from those before, runs that did something from runs
//! that did not.

mod fields;
mod lists;
mod texts;

use super::pick::{fields as fields_of, spelled_number};
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
/// So many values of rows at most are compared with what is known outside of them: the nearest is compared first.
const MOST_COMPARISONS: usize = 10_000_000;
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
    let mut found: Vec<Vec<SmolStr>> = fields_of(value).into_iter().map(|(path, _)| path).collect();
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
    let most_known = MOST_COMPARISONS / features.len().saturating_mul(chosen.len()).max(1);
    let known = known.get(..most_known).unwrap_or(known);
    let mut atoms = Atoms { chosen, exact: Vec::new(), partial: Vec::new(), shared: 0.0 };
    for feature in features.iter().chain(&numbers_in_texts(features)) {
        atoms.shared = of_depth(feature.depth) - if is_telling(&feature.key) { 6.0 } else { 0.0 };
        fields::add(feature, known, &mut atoms);
        texts::add(feature, known, &mut atoms);
        lists::add(feature, known, &mut atoms);
    }
    atoms.shared = 0.0;
    fields::add_pairs(features, &mut atoms);
    atoms.tests()
}

/// Whether a field says by its name how something stands.
pub(super) fn is_telling(key: &str) -> bool {
    names::words(key).iter().any(|w| TELLING.contains(&w.as_str()))
}

/// Texts that spell a number in every row, as numbers.
fn numbers_in_texts(features: &[Feature]) -> Vec<Feature> {
    let number = |value: &Option<Value>| value.as_ref()?.as_str().and_then(spelled_number).map(Value::Number);
    let as_numbers = |feature: &Feature| {
        let values: Vec<Option<Value>> = feature.values.iter().map(number).collect();
        let expr = feature.expr.clone().apply(Function::ToNumber);
        let all = !values.is_empty() && values.iter().all(Option::is_some);
        all.then_some(Feature { expr, key: feature.key.clone(), depth: feature.depth, values })
    };
    features.iter().filter_map(as_numbers).collect()
}

/// Tests that are true of all chosen rows.
struct Atoms<'c> {
    chosen: &'c [bool],
    /// Those that are false of all others.
    exact: Vec<Test>,
    /// Those that are false of some others, with what they are in each row.
    partial: Vec<(Test, Vec<bool>)>,
    /// What every test of the field at hand costs.
    shared: f64,
}

/// A test of two fields is looked for where no single one is cheaper than this.
const DEAR: f64 = 11.0;
/// What it costs that there are two.
const COST_OF_AND: f64 = 3.0;
/// The most tests of which two are tried together.
const MOST_PARTIAL: usize = 60;
/// Fewer rows are told apart by any two fields.
const FEWEST_ROWS_FOR_TWO: usize = 4;

impl Atoms<'_> {
    /// Adds a test, with what it is in each row.
    fn add(&mut self, expr: Expr, cost: f64, is: Vec<bool>) {
        let test = Test { expr, cost: cost + self.shared };
        if is == self.chosen {
            self.exact.push(test);
        } else if self.excludes(&is) {
            self.partial.push((test, is));
        }
    }

    /// Adds a test and its opposite, which costs so much more: that something is so in all rows, or in none, says nothing.
    fn add_and_opposite(&mut self, expr: Expr, cost: f64, more: f64, is: Vec<bool>) {
        if is.contains(&true) && is.contains(&false) {
            self.add(Expr::Not(Box::new(expr.clone())), cost + more, is.iter().map(|i| !i).collect());
            self.add(expr, cost, is);
        }
    }

    /// Adds a test that is worth nothing beside others.
    fn add_exact(&mut self, expr: Expr, cost: f64, is: &[bool]) {
        if is == self.chosen {
            self.exact.push(Test { expr, cost: cost + self.shared });
        }
    }

    fn excludes(&self, is: &[bool]) -> bool {
        self.chosen.iter().zip(is).all(|(chosen, is)| *is || !*chosen) && is.contains(&false)
    }

    /// The tests that separate, cheapest first.
    fn tests(mut self) -> Vec<Test> {
        let by_cost = |a: &Test, b: &Test| a.cost.total_cmp(&b.cost).then_with(|| a.expr.to_string().cmp(&b.expr.to_string()));
        if self.chosen.len() >= FEWEST_ROWS_FOR_TWO && self.exact.iter().all(|t| t.cost >= DEAR) {
            self.partial.sort_by(|a, b| by_cost(&a.0, &b.0));
            self.partial.dedup_by(|a, b| a.0.expr == b.0.expr);
            self.partial.truncate(MOST_PARTIAL);
            for (at, (a, in_a)) in self.partial.iter().enumerate() {
                for (b, in_b) in self.partial.iter().skip(at + 1) {
                    if self.chosen.iter().zip(in_a.iter().zip(in_b)).all(|(chosen, (a, b))| (*a && *b) == *chosen) {
                        let expr = a.expr.clone().binary(BinaryOp::And, b.expr.clone());
                        self.exact.push(Test { expr, cost: a.cost + b.cost + COST_OF_AND });
                    }
                }
            }
        }
        self.exact.sort_by(by_cost);
        self.exact.dedup_by(|a, b| a.expr == b.expr);
        self.exact
    }
}

/// The expression, safe where the field is missing in some rows.
fn safe(feature: &Feature) -> Expr {
    if feature.values.iter().any(Option::is_none) {
        feature.expr.clone().binary(BinaryOp::Coalesce, Expr::Literal(Value::Null))
    } else {
        feature.expr.clone()
    }
}

/// What it costs that a value is so far in.
fn of_depth(depth: usize) -> f64 {
    f64::from(u32::try_from(depth).unwrap_or(9)) * 0.5
}

/// What it costs that a value outside of the rows is far in, beside its name.
fn far(known: &Feature) -> f64 {
    of_depth(known.depth.saturating_sub(1))
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

/// The different values in rows that were chosen, or were not; a few.
fn some_of<'f>(feature: &'f Feature, chosen: &[bool], wanted: bool) -> Vec<&'f Value> {
    const MOST: usize = 4;
    let mut found: Vec<&Value> = Vec::new();
    for (value, _) in feature.values.iter().zip(chosen).filter(|(_, c)| **c == wanted) {
        if let Some(value) = value
            && found.len() < MOST
            && !found.contains(&value)
        {
            found.push(value);
        }
    }
    found
}

/// What a limit costs that is only known to lie between two recorded numbers.
pub const COST_OF_A_LIMIT: f64 = 14.0;
