//! Expressions of a run: evaluated within what is left of the walk's work, and measured where their value leaves the run.

use super::Failure;
use super::frame::{Frame, Here, Roots};
use crate::expr::Expr;
use crate::expr::eval::{self, Budget, fail, with_article};
use crate::expr::{measure, scalar_text};
use crate::json;
use crate::template::{Template, evaluate_entries};
use crate::value::{Object, Value};
use smol_str::SmolStr;

/// Evaluates expressions within what is left of the walk's work.
pub(super) struct Evaluator<'e> {
    pub(super) roots: &'e Roots<'e>,
    pub(super) work: &'e mut u64,
}

impl Evaluator<'_> {
    fn within_budget<T>(&mut self, frame: &Frame, evaluate: impl FnOnce(&Here, &mut Budget) -> Result<T, Failure>) -> Result<T, Failure> {
        let given = Budget::FOR_ONE.min(*self.work);
        let mut budget = Budget::new(given);
        let value = evaluate(&Here { roots: self.roots, frame }, &mut budget);
        *self.work -= given - budget.left();
        value
    }

    pub(super) fn expression(&mut self, expr: &Expr, frame: &Frame) -> Result<Option<Value>, Failure> {
        self.within_budget(frame, |scope, budget| eval::evaluate(expr, scope, budget))
    }

    pub(super) fn test(&mut self, expr: &Expr, frame: &Frame) -> Result<bool, Failure> {
        self.within_budget(frame, |scope, budget| eval::test(expr, scope, budget))
    }

    /// The value of a template, measured: it may leave the run.
    pub(super) fn template(&mut self, template: &Template, frame: &Frame) -> Result<Option<Value>, Failure> {
        self.within_budget(frame, |scope, budget| {
            let value = template.evaluate(scope, budget)?;
            value.iter().try_for_each(|v| measure(v, budget))?;
            Ok(value)
        })
    }

    pub(super) fn arguments(&mut self, entries: &[(SmolStr, Template)], frame: &Frame) -> Result<Object, Failure> {
        self.within_budget(frame, |scope, budget| {
            let object = evaluate_entries(entries, scope, budget)?;
            object.iter().try_for_each(|(_, v)| measure(v, budget))?;
            Ok(object)
        })
    }

    pub(super) fn message(&mut self, message: &Template, frame: &Frame) -> Result<String, Failure> {
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
