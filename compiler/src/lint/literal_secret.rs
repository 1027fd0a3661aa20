//! `literal-secret`: a secret that everybody can read who can read the file.

use super::{Lint, Report, at};
use crate::diagnostics::Severity;
use crate::secrecy::{has_secret_shape, looks_secret};
use crate::steps;
use ltc_workflow::Value;
use ltc_workflow::document::{StepKind, Transport};
use ltc_workflow::template::Template;

pub(super) const LINT: Lint = Lint {
    code: "literal-secret",
    severity: Severity::Warning,
    what: "It reports texts that have the shape of a known kind of token, and literal texts under names such as `password` or `api_key`.",
    why: "A workflow is a file that is shared, stored and shown. A secret belongs in the environment, and its name in the file.",
    example: "steps:\n  - { id: login, call: s/login, with: { password: hunter2 } }\n",
    better: "secrets: [PASSWORD]\nsteps:\n  - { id: login, call: s/login, with: { password: \"${{ secrets.PASSWORD }}\" } }\n",
    check: |context, report| {
        steps::each_part(context.workflow, &mut |step, part| {
            steps::each_literal(part, &mut |value| {
                if value.as_str().is_some_and(holds_token) {
                    report.secret(step.map_or_else(|| "output".to_owned(), at), "a text has the shape of a secret token");
                }
            });
        });
        context.each_step(&mut |step, _| {
            if let StepKind::Call { with, .. } | StepKind::Run { with, .. } = &step.kind {
                with.iter().for_each(|(key, template)| named(key, template, &at(step), report));
            }
        });
        for (name, schema) in context.workflow.inputs.iter() {
            if schema
                .get("default")
                .and_then(Value::as_str)
                .is_some_and(|text| !text.is_empty() && (looks_secret(name) || holds_token(text)))
            {
                report.secret(format!("input {name}"), "the default may be a secret");
            }
        }
        for (name, server) in &context.workflow.servers {
            let pairs = match &server.transport {
                Some(Transport::Stdio { env, .. }) => env,
                Some(Transport::Http { headers, .. }) => headers,
                None => continue,
            };
            let may_be_secret =
                |(key, text): &(&String, &String)| !text.contains("${") && !text.is_empty() && (looks_secret(key) || holds_token(text));
            for (key, _) in pairs.iter().filter(may_be_secret) {
                let help = format!("write `${{{}}}` and set that in the environment", variable(key));
                report.add(format!("server {name}"), format!("the value of {key} may be a secret"), help);
            }
        }
    },
};

impl Report {
    fn secret(&mut self, place: String, message: &str) {
        self.add(place, message, "name it under `secrets`, write `${{ secrets.NAME }}`, and set NAME in the environment");
    }
}

/// Literal texts under a name that says that they are secret.
fn named(key: &str, template: &Template, place: &str, report: &mut Report) {
    match template {
        Template::Literal(Value::String(text)) if looks_secret(key) && !text.is_empty() && !holds_token(text) => {
            report.secret(format!("{place}, argument {key}"), "a literal text stands under a name that says it is secret");
        }
        Template::Object(entries) => entries.iter().for_each(|(key, inner)| named(key, inner, place, report)),
        Template::Array(items) => items.iter().for_each(|item| named(key, item, place, report)),
        Template::Literal(_) | Template::Expr(_) | Template::Text(_) => {}
    }
}

fn holds_token(text: &str) -> bool {
    has_secret_shape(text) || text.split_whitespace().any(has_secret_shape)
}

fn variable(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
