//! `unknown-server`: a call to a server that nobody knows.

use super::{Lint, at};
use crate::diagnostics::Severity;
use crate::identifiers::server_name;
use ltc_workflow::nearest::nearest;

pub(super) const LINT: Lint = Lint {
    code: "unknown-server",
    severity: Severity::Error,
    what: "It reports a call to a server that neither the workflow nor anybody else names.",
    why: "The run cannot start: a server must be named under `servers`, or be given beside the workflow.",
    example: "servers: { s: { command: server } }\nsteps:\n  - { id: get, call: t/get }\noutput: \"${{ steps.get }}\"\n",
    better: "servers: { s: { command: server } }\nsteps:\n  - { id: get, call: s/get }\noutput: \"${{ steps.get }}\"\n",
    check: |context, report| {
        let named: Vec<_> = context
            .workflow
            .servers
            .iter()
            .map(|(name, _)| name.clone())
            .chain(context.servers.iter().map(|s| server_name(&s.name)))
            .collect();
        if named.is_empty() {
            return;
        }
        context.each_call(&mut |call, _| {
            if !named.contains(call.server) {
                let near = nearest(call.server, named.iter().map(|n| n.as_str())).map(|near| format!("; the nearest known one is {near}"));
                let message = format!("calls the server {}, which is not known{}", call.server, near.unwrap_or_default());
                report.add(at(call.step), message, "name it under `servers`, or give it with `--servers`");
            }
        });
    },
};
