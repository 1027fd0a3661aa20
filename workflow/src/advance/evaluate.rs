//! Expressions of a run: evaluated within what is left of the walk's work, and measured where their value leaves the run.

use super::frame::{Frame, Here, Roots};
use super::{Failure, Start};
use crate::expr::Expr;
use crate::expr::eval::{self, Budget, fail, with_article};
use crate::expr::{measure, scalar_text};
use crate::json;
use crate::template::{Template, evaluate_entries};
use crate::value::{Object, Value};
use smol_str::SmolStr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How many steps, rounds and items one walk looks at.
const MOST_VISITS: u64 = 2_000_000;
/// How much work the expressions of one walk do together.
const MOST_WORK: u64 = 2_000_000_000;

/// Evaluates expressions within what is left of the walk's budget. The parts of a walk share it; one of them is walked on at a time.
pub(super) struct Evaluator<'s> {
    roots: Roots<'s>,
    visits: AtomicU64,
    work: AtomicU64,
}

/// What is left of a walk's budget, or a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    visits: u64,
    work: u64,
}

impl Left {
    /// What lies between this and `after`; it is below zero where a part of it was given back.
    pub(super) fn without(self, after: Left) -> Left {
        Left { visits: self.visits.wrapping_sub(after.visits), work: self.work.wrapping_sub(after.work) }
    }

    /// Both together.
    pub(super) fn and(self, other: Left) -> Left {
        Left { visits: self.visits.wrapping_add(other.visits), work: self.work.wrapping_add(other.work) }
    }
}

impl<'s> Evaluator<'s> {
    pub(super) fn new(start: &'s Start) -> Evaluator<'s> {
        Evaluator { roots: Roots::new(start), visits: AtomicU64::new(MOST_VISITS), work: AtomicU64::new(MOST_WORK) }
    }

    pub(super) fn left(&self) -> Left {
        Left { visits: self.visits.load(Relaxed), work: self.work.load(Relaxed) }
    }

    /// Gives back what was used up for nothing.
    pub(super) fn give_back(&self, used: Left) {
        let left = self.left().and(used);
        self.visits.store(left.visits, Relaxed);
        self.work.store(left.work, Relaxed);
    }

    /// Looks at one more step, round or item.
    pub(super) fn visit(&self) -> Result<(), Failure> {
        match self.visits.load(Relaxed).checked_sub(1) {
            Some(left) => self.visits.store(left, Relaxed),
            None => return Err(fail("too-much-work", format!("the run looks at more than {MOST_VISITS} steps"))),
        }
        Ok(())
    }

    fn within_budget<T>(&self, frame: &Frame, evaluate: impl FnOnce(&Here, &mut Budget) -> Result<T, Failure>) -> Result<T, Failure> {
        let left = self.work.load(Relaxed);
        let given = Budget::FOR_ONE.min(left);
        let mut budget = Budget::new(given);
        let value = evaluate(&Here { roots: &self.roots, frame }, &mut budget);
        self.work.store(left - (given - budget.left()), Relaxed);
        value
    }

    pub(super) fn expression(&self, expr: &Expr, frame: &Frame) -> Result<Option<Value>, Failure> {
        self.within_budget(frame, |scope, budget| eval::evaluate(expr, scope, budget))
    }

    pub(super) fn test(&self, expr: &Expr, frame: &Frame) -> Result<bool, Failure> {
        self.within_budget(frame, |scope, budget| eval::test(expr, scope, budget))
    }

    /// The value of a template, measured: it may leave the run.
    pub(super) fn template(&self, template: &Template, frame: &Frame) -> Result<Option<Value>, Failure> {
        self.within_budget(frame, |scope, budget| {
            let value = template.evaluate(scope, budget)?;
            value.iter().try_for_each(|v| measure(v, budget))?;
            Ok(value)
        })
    }

    pub(super) fn arguments(&self, entries: &[(SmolStr, Template)], frame: &Frame) -> Result<Object, Failure> {
        self.within_budget(frame, |scope, budget| {
            let object = evaluate_entries(entries, scope, budget)?;
            object.iter().try_for_each(|(_, v)| measure(v, budget))?;
            Ok(object)
        })
    }

    pub(super) fn message(&self, message: &Template, frame: &Frame) -> Result<String, Failure> {
        let value = self.template(message, frame)?;
        let text = value.as_ref().and_then(scalar_text).map(String::from);
        text.ok_or_else(|| {
            let found = value.map_or("omitted".to_string(), |v| with_article(v.type_name()));
            fail("not-text", format!("the message is {found}, no text"))
        })
    }
}

/// The failure of a call whose result is one, as `test` is true of it.
pub fn failed_result(test: &str, result: &Value) -> Failure {
    let shown = shown(result);
    fail("failed-result", format!("the result is a failure, as `{test}` is true of it: {shown}"))
}

/// The failure of a loop whose end did not come.
pub fn not_reached(rounds: u32, until: &str) -> Failure {
    let rounds = eval::count(usize::try_from(rounds).unwrap_or(usize::MAX), "round");
    fail("not-reached", format!("after {rounds}, `{until}` was still not true"))
}

/// The start of a value, for a message; what is too large to be looked at in no time is told by its type.
fn shown(value: &Value) -> String {
    const WORK: u64 = 2_000;
    const LONGEST: usize = 200;
    if measure(value, &mut Budget::new(WORK)).is_err() {
        return format!("{} too large to be shown", with_article(value.type_name()));
    }
    let text = json::to_string(value);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
