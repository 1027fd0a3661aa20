//! What speaks for a reference, and what against it.

use super::{Explainer, Use};
use crate::index::{Place, Source, scalar_text};
use crate::patterns::keys;
use crate::weight::{bits, bits_beside};
use ltc_workflow::Value;
use ltc_workflow::expr::Expr;
use std::collections::BTreeSet;

/// How the guess begins that a result is about something else.
pub(super) const OTHER_SCOPE: &str = "it comes from a call with another";

/// A text that says less may be one of the words of any text, though it was given too.
const LEAST_BITS_OF_DATA: f64 = 6.0;
/// No word of a language says more.
const MORE_THAN_A_WORD: f64 = 8.0;

/// More information than this is certainty.
const MOST_EVIDENCE: f64 = 48.0;

impl Explainer<'_> {
    /// What the uses say together: each different value counts once.
    pub(super) fn evidence(&self, uses: &[Use]) -> f64 {
        self.weight(uses, true)
    }

    /// The same for the same value at another place: that a day is near the clock does not make it less the same day.
    pub(super) fn evidence_of_sameness(&self, uses: &[Use]) -> f64 {
        self.weight(uses, false)
    }

    fn weight(&self, uses: &[Use], beside_the_clock: bool) -> f64 {
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut sum = 0.0;
        for used in uses {
            let text = match scalar_text(&used.value) {
                Some(text) => text.to_owned(),
                None => ltc_workflow::json::to_canonical_string(&used.value),
            };
            if sum >= MOST_EVIDENCE {
                break;
            }
            let clock = self.scripts.get(self.tree.run(used.frame)).and_then(|s| s.clock).filter(|_| beside_the_clock);
            let says = bits_beside(&text, clock);
            if seen.insert(text) {
                sum += says;
            }
        }
        sum.min(MOST_EVIDENCE)
    }

    pub(super) fn varies_within_a_run(&self, uses: &[Use]) -> bool {
        uses.windows(2).any(|w| matches!(w, [a, b] if a.value != b.value && self.tree.run(a.frame) == self.tree.run(b.frame)))
    }

    /// Whether a result is about something else than the call that would use it: both have an argument of one name, and they differ.
    pub(super) fn other_scope(&self, run: usize, place: &Place, used: &Use, evidence: f64) -> Option<String> {
        const CERTAIN: f64 = 20.0;
        let script = self.scripts.get(run)?;
        let Source::Call(call) = place.source else { return None };
        let (made, user) = (script.calls.get(call)?, script.calls.get(used.call)?);
        let differs = |(key, value): &(&smol_str::SmolStr, &Value)| {
            user.arguments
                .get(key)
                .is_some_and(|theirs| theirs != *value && **value != used.value && matches!(value, Value::String(_) | Value::Number(_)))
        };
        let (key, _) = made.arguments.iter().find(differs).filter(|_| evidence < CERTAIN)?;
        Some(format!("{OTHER_SCOPE} `{key}`"))
    }

    /// The keys on the way to a value; a field at the top of a result belongs to what the tool is called after.
    pub(super) fn names_on_the_way<'p>(&'p self, run: usize, place: &'p Place) -> Vec<&'p str> {
        let mut keys = keys(&place.path);
        if let (Source::Call(call), true) = (place.source, keys.len() == 1) {
            keys.extend(self.scripts.get(run).and_then(|s| s.calls.get(call)).map(|act| act.tool.as_str()));
            keys.rotate_right(1);
        }
        keys
    }

    /// Whether a part of a text is a value that the run was given, or that was taken from somewhere: it is no structure of the text.
    pub(super) fn is_data(&self, run: usize, part: &str) -> bool {
        let taken = || self.known.get(part).is_some_and(|known| known.iter().any(|(_, expr)| !matches!(expr, Expr::Literal(_))));
        self.given_as(run, part).is_some() || (bits(part) > MORE_THAN_A_WORD && taken())
    }

    /// The input that a part of a text is equal to.
    pub(super) fn given_as(&self, run: usize, part: &str) -> Option<Expr> {
        self.given.get(run)?.get(part).filter(|_| bits(part) >= LEAST_BITS_OF_DATA).cloned()
    }

    /// Whether an expression picks an item by the very value that it gives.
    pub(super) fn is_tautology(&self, expr: &Expr, used: &Use) -> bool {
        let mut found = false;
        crate::rewrite::each(expr, &mut |part| {
            if let Expr::Pick { equals, .. } = part {
                found |= self.value_in(equals, used.frame).as_ref() == Some(&used.value);
            }
        });
        found
    }

    /// Whether a result only gives back what its call was told.
    pub(super) fn is_echo(&self, run: usize, place: &Place, value: &Value) -> bool {
        let Source::Call(call) = place.source else { return false };
        let Some(act) = self.scripts.get(run).and_then(|s| s.calls.get(call)) else { return false };
        let text = scalar_text(value);
        act.arguments.iter().any(|(_, argument)| holds(argument, value, text))
    }

    /// Whether a hint says of a place that the newest one counts.
    pub(super) fn is_pinned(&self, run: usize, place: &Place) -> bool {
        let Source::Call(call) = place.source else { return false };
        let Some(script) = self.scripts.get(run) else { return false };
        let Some((act, hints)) = script.calls.get(call).and_then(|act| Some((act, script.hints(&act.server)?))) else { return false };
        hints.fresh.contains(&act.tool) || keys(&place.path).iter().any(|key| hints.session.contains(*key))
    }

    pub(super) fn is_preferred(&self, run: usize, place: &Place) -> bool {
        let Source::Call(call) = place.source else { return false };
        let Some(script) = self.scripts.get(run) else { return false };
        let Some(hints) = script.calls.get(call).and_then(|act| script.hints(&act.server)) else { return false };
        keys(&place.path).iter().any(|key| hints.prefer.contains(*key))
    }
}

/// How many different values there are.
pub(super) fn distinct(uses: &[Use]) -> usize {
    let mut seen: Vec<&Value> = Vec::new();
    for used in uses {
        if !seen.contains(&&used.value) {
            seen.push(&used.value);
        }
        if seen.len() > 1 {
            break;
        }
    }
    seen.len()
}

/// Whether `value` stands in an argument, as a whole or inside a text.
fn holds(argument: &Value, value: &Value, text: Option<&str>) -> bool {
    if argument == value {
        return true;
    }
    match argument {
        Value::Array(items) => items.iter().any(|item| holds(item, value, text)),
        Value::Object(object) => object.iter().any(|(_, item)| holds(item, value, text)),
        Value::String(argument) => text.is_some_and(|t| t.len() > 3 && argument.contains(t) || argument == t),
        Value::Number(argument) => text == Some(argument.as_str()),
        Value::Null | Value::Bool(_) => false,
    }
}
