//! What is doubtful about a workflow, told by looking at it.
//!
//! Each lint is a file under `lint/` and a line in [`LINTS`]. It looks at the document, and at the servers' tools where they are known, and reports what
//! it finds; it never runs anything. Its example is the smallest workflow that it reports, and is tested to be one.

mod at_once;
mod destructive;
mod literal_secret;
mod poll;
mod repeat;
mod retry;
mod schema;
mod unknown_server;
mod unknown_tool;
mod unused_answer;
mod unused_input;
mod unused_read;
mod unused_secret;

use crate::diagnostics::{Diagnostic, Severity};
use crate::identifiers::server_name;
use crate::script;
use crate::steps::{self, Part};
use crate::trace::{Server, Tool};
use ltc_workflow::document::{Step, StepKind, ToolEffect, Workflow};
use ltc_workflow::expr::Expr;
use smol_str::SmolStr;
use std::collections::BTreeSet;

/// A lint.
pub struct Lint {
    /// Its kebab-case code.
    pub code: &'static str,
    /// How much what it reports matters.
    pub severity: Severity,
    /// What it reports, in one sentence.
    pub what: &'static str,
    /// Why that matters.
    pub why: &'static str,
    /// Inputs, secrets and steps that it reports.
    pub example: &'static str,
    /// The same without the fault.
    pub better: &'static str,
    check: fn(&Context, &mut Report),
}

/// All lints, the most severe first.
pub const LINTS: &[Lint] = &[
    unknown_server::LINT,
    unknown_tool::LINT,
    schema::LINT,
    repeat::LINT,
    retry::LINT,
    at_once::LINT,
    poll::LINT,
    literal_secret::LINT,
    unused_read::LINT,
    unused_input::LINT,
    unused_secret::LINT,
    destructive::LINT,
    unused_answer::LINT,
];

/// Looks at a workflow. `servers` are those whose tools are known; of others nothing is said that needs to know them.
pub fn lint(workflow: &Workflow, servers: &[Server]) -> Vec<Diagnostic> {
    let context = Context { workflow, servers, used: Used::of(workflow) };
    let mut found = Vec::new();
    for lint in LINTS {
        let mut report = Report { lint, found: Vec::new() };
        (lint.check)(&context, &mut report);
        found.extend(report.found);
    }
    found.sort();
    found.dedup();
    found
}

impl Lint {
    /// The lint for people: what it does, why, and an example.
    pub fn docs(&self) -> String {
        let (what, why) = (self.what, self.why);
        format!(
            "## What it does\n{what}\n\n## Why\n{why}\n\n## Example\n```yaml\n{}```\nBetter:\n```yaml\n{}```\n",
            self.example, self.better
        )
    }
}

/// Where a lint puts what it finds.
struct Report {
    lint: &'static Lint,
    found: Vec<Diagnostic>,
}

impl Report {
    fn add(&mut self, place: impl Into<String>, message: impl Into<String>, help: impl Into<String>) {
        self.found.push(Diagnostic::new(self.lint.severity, self.lint.code, place, message).help(help));
    }
}

/// What a lint looks at.
struct Context<'c> {
    workflow: &'c Workflow,
    servers: &'c [Server],
    used: Used,
}

impl<'c> Context<'c> {
    /// The server of that name, where its tools are known.
    fn server(&self, name: &str) -> Option<&'c Server> {
        self.servers.iter().find(|s| server_name(&s.name) == name && !s.tools.is_empty())
    }

    /// A tool, where it is known.
    fn tool(&self, server: &str, name: &str) -> Option<&'c Tool> {
        script::tool(self.server(server)?, name)
    }

    /// What calling a tool does, where that is known: the document says so, or a hint, or the tool itself.
    fn effect(&self, server: &str, name: &str) -> Option<ToolEffect> {
        let declared = self.workflow.servers.iter().find(|(known, _)| known == server).and_then(|(_, s)| s.effects.get(name));
        declared.copied().or_else(|| {
            let known = self.servers.iter().find(|s| server_name(&s.name) == server)?;
            let (effect, is_known) = script::effect(Some(known), name);
            is_known.then_some(effect)
        })
    }

    /// Whether a tool may change something when it is called again.
    fn writes(&self, server: &str, name: &str) -> bool {
        match self.effect(server, name) {
            Some(ToolEffect::Read | ToolEffect::Idempotent) => false,
            Some(ToolEffect::Write) | None => true,
        }
    }

    /// Sees every step, with the steps around it from the outermost on.
    fn each_step(&self, see: &mut dyn FnMut(&'c Step, &[&'c Step])) {
        steps::each(&self.workflow.steps, see);
    }

    /// Sees every call, with the steps around it.
    fn each_call(&self, see: &mut dyn FnMut(&Call<'c>, &[&'c Step])) {
        self.each_step(&mut |step, around| {
            if let StepKind::Call { server, tool, .. } = &step.kind {
                see(&Call { step, server, tool }, around);
            }
        });
    }
}

/// A step that is a call.
struct Call<'c> {
    step: &'c Step,
    server: &'c SmolStr,
    tool: &'c SmolStr,
}

/// The calls in these steps and in the steps in them.
fn calls_in(steps: &[Step]) -> Vec<Call<'_>> {
    let mut found = Vec::new();
    steps::each(steps, &mut |step, _| {
        if let StepKind::Call { server, tool, .. } = &step.kind {
            found.push(Call { step, server, tool });
        }
    });
    found
}

/// The place of a step, for messages.
fn at(step: &Step) -> String {
    format!("step {}", step.id)
}

/// The names that expressions use.
#[derive(Default)]
struct Used {
    steps: BTreeSet<SmolStr>,
    inputs: BTreeSet<SmolStr>,
    secrets: BTreeSet<SmolStr>,
    /// Whether the inputs are used as a whole.
    all_inputs: bool,
}

impl Used {
    fn of(workflow: &Workflow) -> Used {
        let mut used = Used::default();
        let (mut names, mut keys) = (0_usize, 0_usize);
        let mut see = |expr: &Expr| {
            if *expr == Expr::name("inputs") {
                names += 1;
            }
            let Expr::Key(base, key) = expr else { return };
            let Expr::Name(group) = &**base else { return };
            let group = match group.as_str() {
                "inputs" => {
                    keys += 1;
                    &mut used.inputs
                }
                "secrets" => &mut used.secrets,
                "steps" | "previous" => &mut used.steps,
                _ => return,
            };
            group.insert(key.clone());
        };
        steps::each_part(workflow, &mut |_, part: Part| steps::each_expr(part, &mut |expr| see(expr)));
        // Each `inputs.key` holds one of the names; one that is left over stands alone.
        used.all_inputs = names > keys;
        used
    }
}

#[cfg(test)]
mod tests;
