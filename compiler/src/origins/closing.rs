//! From a place to an expression: the positions on the way are closed by picks, and a part of a text is cut out.

use super::anchors::IsData;
use super::candidates::{depth, literal};
use super::scope::Relative;
use super::{Explainer, Use};
use crate::index::{PathStep, Place};
use crate::text::is_date;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// What a cut out of prose costs more.
const COST_OF_A_CUT: f64 = 2.0;

/// A place, told as an expression without open positions.
#[derive(Clone, Debug)]
pub(super) struct Closed {
    /// The expression.
    pub expr: Expr,
    /// What the picks on the way cost.
    pub cost: f64,
    /// What was guessed on the way.
    pub guesses: Vec<String>,
}

/// How many ways to one place are followed.
const MOST_WAYS: usize = 4;

impl Explainer<'_> {
    /// The ways to close the positions of a place, cheapest first.
    pub(super) fn closings(&self, relative: &Relative, used: &Use, place: Option<&Place>) -> Vec<Closed> {
        let Some(value) = self.value_in(&relative.base, used.frame) else { return Vec::new() };
        let mut ways = vec![(Closed { expr: relative.base.clone(), cost: 0.0, guesses: Vec::new() }, value)];
        for (number, step) in relative.path.iter().enumerate() {
            // The list in the recording, where the way has come to the value that holds it.
            let list = place.and_then(|p| {
                let left = relative.path.len() - number;
                let at = p.path.len().checked_sub(left)?;
                (p.path.get(at..) == relative.path.get(number..)).then(|| (p.source, p.path.iter().take(at).cloned().collect()))
            });
            let mut next = Vec::new();
            for (way, value) in ways {
                let inside = match step {
                    PathStep::Key(key) => {
                        let Some(inner) = value.get(key) else { continue };
                        for entry in self.entries(&way.expr, &value, key, used, list.as_ref()) {
                            let guesses = way.guesses.iter().cloned().chain(entry.guesses).collect();
                            next.push((Closed { expr: entry.expr, cost: way.cost + entry.cost, guesses }, inner.clone()));
                        }
                        continue;
                    }
                    PathStep::Open(opening) => {
                        value.as_str().and_then(|text| opening.open(text)).map(|v| (opening.of(way.expr.clone()), v))
                    }
                    PathStep::Index(at) => {
                        let Some(item) = value.at(*at) else { continue };
                        for pick in self.picks(&way.expr, &value, *at, used, list.as_ref()) {
                            let guesses = way.guesses.iter().cloned().chain(pick.guesses).collect();
                            next.push((Closed { expr: pick.expr, cost: way.cost + pick.cost, guesses }, item.clone()));
                        }
                        continue;
                    }
                };
                next.extend(inside.map(|(expr, v)| (Closed { expr, ..way }, v)));
            }
            next.sort_by(|a, b| a.0.cost.total_cmp(&b.0.cost));
            next.truncate(MOST_WAYS);
            ways = next;
        }
        ways.into_iter().map(|(way, _)| way).collect()
    }
}

/// What is known to be data, and no structure, of what stands in a text.
pub(super) struct Data<'d> {
    /// Whether a text is a value that was given or was taken from somewhere.
    pub is_data: IsData<'d>,
    /// The input that gives a text.
    pub given: &'d dyn Fn(&str) -> Option<Expr>,
}

/// The ways to cut a part out of the text that `expr` gives, with what they cost.
pub(super) fn cuts(expr: &Expr, text: &str, span: (usize, usize), of_input: bool, data: &Data<'_>) -> Vec<(Expr, f64)> {
    let Some(part) = text.get(span.0..span.1) else { return Vec::new() };
    if span == (0, part.len()) && is_date(part) && is_date(text) {
        return vec![(expr.clone().apply(Function::Date), 0.0)];
    }
    // All of an input is data: only its separators can be expected again.
    let is_structure = |(before, after): &(String, String)| !format!("{before}{after}").contains(char::is_alphanumeric);
    let anchors = super::anchors::anchors(text, span, data.is_data).into_iter().filter(|a| !of_input || is_structure(a));
    let cut = |(before, after): (String, String)| {
        let call = Expr::Call(Function::Between, vec![expr.clone(), literal(&before), literal(&after)]);
        (call, COST_OF_A_CUT)
    };
    let last = last_segment(text, span).map(|separator| {
        let parts = Expr::Call(Function::Split, vec![expr.clone(), literal(&separator)]);
        (parts.apply(Function::Last), COST_OF_A_CUT)
    });
    let mut found: Vec<(Expr, f64)> = last.into_iter().chain(anchors.map(cut)).collect();
    if found.is_empty() && !of_input {
        found.extend(beside_given(expr, text, span, data));
    }
    found
}

/// A part that is found in the line of what the run was given: `between(list, join(['| ', inputs.service, ' | '], ''), ' |')`.
fn beside_given(expr: &Expr, text: &str, span: (usize, usize), data: &Data<'_>) -> Option<(Expr, f64)> {
    let around = super::anchors::around_given(text, span, data.is_data, &|part| (data.given)(part).is_some())?;
    let given = (data.given)(around.given)?;
    let start = (!around.start.is_empty()).then(|| literal(around.start));
    let before = Expr::List(start.into_iter().chain([given, literal(around.middle)]).collect());
    let before = Expr::Call(Function::Join, vec![before, literal("")]);
    Some((Expr::Call(Function::Between, vec![expr.clone(), before, literal(around.after)]), 2.0 * COST_OF_A_CUT))
}

/// A way to a place, in the frame that uses what stands there.
pub(super) struct Way {
    pub closed: Closed,
    /// What its length costs.
    pub length: f64,
    /// The text that it gives, where a part of it is wanted.
    pub text: Option<SmolStr>,
}

/// The ways to places from one call, each found once: a long text has very many parts that stand in the same places.
#[derive(Default)]
pub(super) struct Ways {
    known: FxHashMap<(usize, bool), Vec<Way>>,
}

impl Ways {
    /// The ways to `place`, best first.
    pub(super) fn to(&mut self, explainer: &Explainer<'_>, place: &Place, used: &Use) -> &[Way] {
        // The way of a place is shared by all that stands in the same value.
        let is_part = place.span.is_some();
        let key = (place.path.as_ptr().addr(), is_part);
        self.known.entry(key).or_insert_with(|| {
            let mut found = Vec::new();
            for relative in explainer.relative(place.source, &place.path, used.frame) {
                let length = depth(&relative.path);
                for closed in explainer.closings(&relative, used, Some(place)) {
                    let text = match is_part.then(|| explainer.value_in(&closed.expr, used.frame)).flatten() {
                        Some(Value::String(text)) => Some(text),
                        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) | None => None,
                    };
                    found.push(Way { closed, length, text });
                }
            }
            found
        })
    }
}

/// The separator behind which a part of a text without blanks is the last one: `41` in `https://git.example.com/issues/41`.
fn last_segment(text: &str, span: (usize, usize)) -> Option<String> {
    let separator = text.get(..span.0)?.chars().next_back().filter(|c| "/:#?&=|,;@".contains(*c))?;
    let inside = text.get(span.0..)?.contains(separator);
    (span.1 == text.len() && !inside && !text.contains(char::is_whitespace)).then(|| separator.to_string())
}
