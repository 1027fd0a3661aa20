//! `poll-without-pause`: the same question over and over, as fast as it can be asked.

use super::{Lint, at};
use crate::diagnostics::Severity;
use crate::steps;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::Expr;

pub(super) const LINT: Lint = Lint {
    code: "poll-without-pause",
    severity: Severity::Warning,
    what: "It reports a `repeat` that asks the same in each round, and does not pause between two.",
    why: "It asks as often as the server can answer, and is through with `at_most` before anything can have changed.",
    example: "steps:
  - id: poll
    repeat: { until: \"${{ steps.get.done }}\", at_most: 100 }
    steps: [ { id: get, call: s/get } ]
",
    better: "steps:
  - id: poll
    repeat: { until: \"${{ steps.get.done }}\", every: 2s, at_most: 100 }
    steps: [ { id: get, call: s/get } ]
",
    check: |context, report| {
        context.each_step(&mut |step, _| {
            let StepKind::Repeat { every, steps, .. } = &step.kind else { return };
            let pauses = every.is_some_and(|every| every.millis > 0)
                || steps.iter().any(|s| matches!(s.kind, StepKind::Wait { .. } | StepKind::Escalate { .. }));
            if !pauses && !steps.iter().any(changes) {
                report.add(
                    at(step),
                    "asks the same again and again, without a pause",
                    "say with `every` how long it waits between two rounds",
                );
            }
        });
    },
};

/// Whether what a step does depends on the round.
fn changes(step: &Step) -> bool {
    let mut found = false;
    steps::each(std::slice::from_ref(step), &mut |step, _| {
        for part in steps::parts(step) {
            steps::each_expr(part, &mut |expr| found |= matches!(expr, Expr::Name(name) if name == "previous" || name == "loop"));
        }
    });
    found
}
