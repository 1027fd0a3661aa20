//! `unknown-tool`: a call to a tool that its server does not have.

use super::{Lint, at};
use crate::diagnostics::Severity;
use crate::script;
use ltc_workflow::nearest::nearest;

pub(super) const LINT: Lint = Lint {
    code: "unknown-tool",
    severity: Severity::Error,
    what: "It reports a call to a tool that is not among those of its server, where these are known.",
    why: "The call fails in every run.",
    example: "steps:\n  - { id: get, call: s/gte }\noutput: \"${{ steps.get }}\"\n",
    better: "steps:\n  - { id: get, call: s/get }\noutput: \"${{ steps.get }}\"\n",
    check: |context, report| {
        context.each_call(&mut |call, _| {
            let Some(server) = context.server(call.server) else { return };
            if script::tool(server, call.tool).is_none() {
                let near = nearest(call.tool, server.tools.iter().map(|t| t.name.as_str()));
                let near = near.map(|near| format!("; the nearest one that it has is {near}")).unwrap_or_default();
                report.add(
                    at(call.step),
                    format!("the server {} has no tool {}{near}", call.server, call.tool),
                    "name a tool that the server has",
                );
            }
        });
    },
};
