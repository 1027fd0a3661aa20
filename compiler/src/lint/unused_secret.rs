//! `unused-secret`: a secret that is asked for and not needed.

use super::Lint;
use crate::diagnostics::Severity;
use ltc_workflow::document::Transport;

pub(super) const LINT: Lint = Lint {
    code: "unused-secret",
    severity: Severity::Warning,
    what: "It reports a secret that no expression and no server uses.",
    why: "A run does not start without it, and what is not needed should not be handed out.",
    example: "secrets: [TOKEN]\nsteps:\n  - { id: put, call: s/put, with: { name: a } }\n",
    better: "secrets: [TOKEN]\nsteps:\n  - { id: put, call: s/put, with: { name: a, token: \"${{ secrets.TOKEN }}\" } }\n",
    check: |context, report| {
        let texts: Vec<&String> =
            context.workflow.servers.iter().filter_map(|(_, server)| server.transport.as_ref()).flat_map(texts).collect();
        for name in &context.workflow.secrets {
            let variable = format!("${{{name}}}");
            if !context.used.secrets.contains(name) && !texts.iter().any(|text| text.contains(&variable)) {
                report.add(format!("secret {name}"), "nothing uses it", "take it off the list");
            }
        }
    },
};

fn texts(transport: &Transport) -> Vec<&String> {
    match transport {
        Transport::Stdio { command, args, env, cwd } => std::iter::once(command).chain(args).chain(env.values()).chain(cwd).collect(),
        Transport::Http { url, headers, .. } => std::iter::once(url).chain(headers.values()).collect(),
    }
}
