//! `writes-at-once`: writes whose order is left to chance.

use super::{Lint, at, calls_in};
use crate::diagnostics::Severity;
use ltc_workflow::document::StepKind;

pub(super) const LINT: Lint = Lint {
    code: "writes-at-once",
    severity: Severity::Warning,
    what: "It reports a `for` with `at_once` above 1 whose body writes.",
    why: "The order of the writes is another one in each run, and after a failure some items behind the failed one are done.",
    example: "inputs: { names: { type: array } }
steps:
  - id: each
    for: { each: name, in: \"${{ inputs.names }}\", at_once: 4 }
    steps: [ { id: put, call: s/put, with: { name: \"${{ name }}\" } } ]
",
    better: "inputs: { names: { type: array } }
steps:
  - id: each
    for: { each: name, in: \"${{ inputs.names }}\" }
    steps: [ { id: put, call: s/put, with: { name: \"${{ name }}\" } } ]
",
    check: |context, report| {
        context.each_step(&mut |step, _| {
            let StepKind::For { at_once, steps, .. } = &step.kind else { return };
            let writing = calls_in(steps).into_iter().find(|call| context.writes(call.server, call.tool));
            if let Some(call) = writing.filter(|_| *at_once > 1) {
                let message =
                    format!("has up to {at_once} rounds under way at once, and {}/{} is not known to only read", call.server, call.tool);
                report.add(at(step), message, "take `at_once` away, or say under `effects` what the tool does");
            }
        });
    },
};
