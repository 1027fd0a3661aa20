//! `unused-input`: an input that makes no difference.

use super::Lint;
use crate::diagnostics::Severity;

pub(super) const LINT: Lint = Lint {
    code: "unused-input",
    severity: Severity::Warning,
    what: "It reports an input that no expression uses.",
    why: "Whoever gives it expects it to matter. Where a recording was given it, the compiler found no use of it.",
    example: "inputs: { name: { type: string } }\nsteps:\n  - { id: put, call: s/put, with: { name: a } }\n",
    better: "inputs: { name: { type: string } }\nsteps:\n  - { id: put, call: s/put, with: { name: \"${{ inputs.name }}\" } }\n",
    check: |context, report| {
        for name in context.workflow.inputs.keys().filter(|name| !context.used.all_inputs && !context.used.inputs.contains(*name)) {
            report.add(format!("input {name}"), "nothing uses it", "leave it out, or use `inputs` where it should matter");
        }
    },
};
