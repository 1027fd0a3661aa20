//! `unguarded-destruction`: a call that may destroy something, and nothing that could stop it.

use super::{Lint, at};
use crate::diagnostics::Severity;
use ltc_workflow::document::{Step, StepKind};

pub(super) const LINT: Lint = Lint {
    code: "unguarded-destruction",
    severity: Severity::Note,
    what: "It reports a call of a tool that says it is destructive, or a write in a `repeat` without a bound, that is made under no condition and before which nobody is asked.",
    why: "What is destroyed by mistake does not come back. A test, or a person who agrees, costs little.",
    example: "inputs: { name: { type: string } }\nsteps:\n  - { id: drop, call: s/drop, with: { name: \"${{ inputs.name }}\" } }\n",
    better: "inputs: { name: { type: string } }
steps:
  - { id: ask, escalate: { role: operator, message: \"Drop ${{ inputs.name }}?\", form: { type: boolean } } }
  - { id: drop, when: \"${{ steps.ask }}\", call: s/drop, with: { name: \"${{ inputs.name }}\" } }
",
    check: |context, report| {
        // Whoever is asked before the call can stop it, wherever in the document the question stands.
        let mut asked = false;
        context.each_step(&mut |step, around| {
            asked |= matches!(step.kind, StepKind::Escalate { .. });
            let StepKind::Call { server, tool, .. } = &step.kind else { return };
            let destroys = context.tool(server, tool).is_some_and(|t| t.destructive == Some(true));
            let unbounded =
                around.iter().any(|outer| matches!(outer.kind, StepKind::Repeat { at_most: None, .. })) && context.writes(server, tool);
            if (destroys || unbounded) && !asked && !std::iter::once(step).chain(around.iter().copied()).any(is_guarded) {
                let what = if destroys { "says that it is destructive" } else { "may write without a bound" };
                let help = "put a `when` before it, or an `escalate` that asks a person";
                report.add(at(step), format!("{server}/{tool} {what}, and nothing guards it"), help);
            }
        });
    },
};

/// Whether a step, or what is in it, is done under a condition.
fn is_guarded(step: &Step) -> bool {
    let by_kind = match &step.kind {
        StepKind::Switch { .. } => true,
        StepKind::For { test, .. } => test.is_some(),
        StepKind::Call { .. }
        | StepKind::Repeat { .. }
        | StepKind::Parallel { .. }
        | StepKind::Escalate { .. }
        | StepKind::Wait { .. }
        | StepKind::Set { .. }
        | StepKind::Run { .. } => false,
    };
    by_kind || step.when.is_some()
}
