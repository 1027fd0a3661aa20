//! `unused-answer`: a person is asked, and whatever the answer is, the same happens.

use super::{Lint, at};
use crate::diagnostics::Severity;
use ltc_workflow::document::StepKind;

pub(super) const LINT: Lint = Lint {
    code: "unused-answer",
    severity: Severity::Note,
    what: "It reports an `escalate` whose answer no expression uses.",
    why: "Somebody is asked and waits for it to matter. As a mere pause until a person has seen something it is fine.",
    example: "steps:
  - { id: ask, escalate: { role: operator, message: \"Go on?\", form: { type: boolean } } }
  - { id: put, call: s/put, with: { name: a } }
",
    better: "steps:
  - { id: ask, escalate: { role: operator, message: \"Go on?\", form: { type: boolean } } }
  - { id: put, when: \"${{ steps.ask }}\", call: s/put, with: { name: a } }
",
    check: |context, report| {
        context.each_step(&mut |step, around| {
            let StepKind::Escalate { form, .. } = &step.kind else { return };
            let gives = around.last().is_some_and(|outer| context.used.steps.contains(&outer.id));
            if form.is_some() && !context.used.steps.contains(&step.id) && !gives {
                report.add(
                    at(step),
                    "asks a person, and nothing uses the answer",
                    "use `steps` to let the answer decide, or leave its form out",
                );
            }
        });
    },
};
