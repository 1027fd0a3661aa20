//! `unused-read`: a call that only reads, and whose result nobody reads.

use super::{Lint, at};
use crate::diagnostics::Severity;
use crate::identifiers::server_name;
use crate::steps;
use ltc_workflow::document::{Step, StepKind, ToolEffect};

pub(super) const LINT: Lint = Lint {
    code: "unused-read",
    severity: Severity::Warning,
    what: "It reports a call that is known to only read and whose result no expression uses.",
    why: "It costs time and does nothing; often an expression that should use it uses something else.",
    example: "steps:\n  - { id: get, call: s/get }\n  - { id: put, call: s/put, with: { name: a } }\n",
    better: "steps:\n  - { id: get, call: s/get }\n  - { id: put, call: s/put, with: { name: \"${{ steps.get.name }}\" } }\n",
    check: |context, report| {
        context.each_call(&mut |call, around| {
            let reads = context.effect(call.server, call.tool) == Some(ToolEffect::Read);
            let is_kept = context.servers.iter().any(|s| server_name(&s.name) == *call.server && s.hints.keep.contains(call.tool));
            let is_used = context.used.steps.contains(&call.step.id)
                || gives_value(call.step, around).any(|outer| context.used.steps.contains(&outer.id));
            if reads && !is_kept && !is_used {
                let message = format!("{}/{} only reads, and nothing uses its result", call.server, call.tool);
                report.add(at(call.step), message, "leave it out, or use its result");
            }
        });
    },
};

/// The steps around a step whose value is that of the step, as it is the last one in them.
fn gives_value<'s>(step: &'s Step, around: &'s [&'s Step]) -> impl Iterator<Item = &'s Step> {
    let mut inner = step;
    around.iter().rev().copied().take_while(move |outer| {
        let gives = match &outer.kind {
            StepKind::Repeat { gather, .. } => gather.is_none(),
            StepKind::Switch { .. } => true,
            StepKind::Call { .. } | StepKind::Run { .. } | StepKind::Escalate { .. } | StepKind::Set { .. } | StepKind::Wait { .. } => {
                outer.catch.is_some()
            }
            StepKind::For { .. } | StepKind::Parallel { .. } => false,
        };
        let is_last = steps::bodies(outer).iter().any(|body| body.last().is_some_and(|last| last.id == inner.id));
        inner = outer;
        gives && is_last
    })
}
