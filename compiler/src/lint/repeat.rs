//! `unbounded-repeat`: a loop that may never end.

use super::{Lint, at};
use crate::diagnostics::Severity;
use ltc_workflow::document::StepKind;

pub(super) const LINT: Lint = Lint {
    code: "unbounded-repeat",
    severity: Severity::Warning,
    what: "It reports a `repeat` without `at_most`.",
    why: "Where the server never gives the answer that ends it, the run never ends either.",
    example: "steps:
  - id: poll
    repeat: { until: \"${{ steps.get.done }}\", every: 2s }
    steps: [ { id: get, call: s/get } ]
",
    better: "steps:
  - id: poll
    repeat: { until: \"${{ steps.get.done }}\", every: 2s, at_most: 100 }
    steps: [ { id: get, call: s/get } ]
",
    check: |context, report| {
        context.each_step(&mut |step, _| {
            if let StepKind::Repeat { at_most: None, .. } = &step.kind {
                report.add(at(step), "repeats without a bound", "say with `at_most` after how many rounds it has failed");
            }
        });
    },
};
