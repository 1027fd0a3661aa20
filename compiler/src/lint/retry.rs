//! `retry-of-write`: a call that may be made twice, though that may do something twice.

use super::{Lint, at, calls_in};
use crate::diagnostics::Severity;
use crate::identifiers::server_name;

pub(super) const LINT: Lint = Lint {
    code: "retry-of-write",
    severity: Severity::Warning,
    what: "It reports `retry` on a call that is neither known to only read nor to be idempotent, or on steps around one.",
    why: "A call that failed may have done its work before it failed: made again, it does it twice.",
    example: "steps:\n  - { id: put, call: s/put, with: { name: a }, retry: { attempts: 3, backoff: 1s, factor: 2 } }\n",
    better: "steps:\n  - { id: set, call: s/set, with: { name: a }, retry: { attempts: 3, backoff: 1s, factor: 2 } }\n",
    check: |context, report| {
        context.each_step(&mut |step, _| {
            if step.retry.is_none() {
                return;
            }
            for call in calls_in(std::slice::from_ref(step)) {
                // A hint that names the tool is somebody's word that it may be made again.
                let hints = context.servers.iter().filter(|s| server_name(&s.name) == *call.server).filter_map(|s| s.hints.retry.as_ref());
                let is_told = hints.into_iter().any(|hint| hint.tools.as_ref().is_some_and(|tools| tools.contains(call.tool)));
                if context.writes(call.server, call.tool) && !is_told {
                    let message = format!(
                        "tries {}/{} again after a failure, and nothing says that making it twice does no harm",
                        call.server, call.tool
                    );
                    report.add(at(call.step), message, "take `retry` away, or say under `effects` that the tool is `idempotent`");
                }
            }
        });
    },
};
