//! The compiler, given to the operations of the runtime.

use crate::compiler;
use ltc_compiler::diagnostics::{self, Diagnostic};
use ltc_compiler::trace::Trace;
use ltc_compiler::verify;
use ltc_runtime::compiling::{Compiled, Compiler, Explained, Finding, NotTried, Severity, Tally, Task, Verified};
use ltc_workflow::{Value, Workflow, json};

/// The compiler of this program.
pub struct Ours;

/// What a stored recording is called in findings about it.
const STORED: &str = "recording";

impl Compiler for Ours {
    fn read(&self, text: &str, format: Option<&str>) -> Result<(Vec<Value>, Vec<Finding>), Vec<Finding>> {
        let read = compiler::read(STORED, text.as_bytes(), format).map_err(findings)?;
        Ok((read.0.iter().map(compiler::to_json).collect(), findings(read.1)))
    }

    fn hints(&self, hints: &Value, place: &str) -> Vec<Finding> {
        compiler::server_hints(hints, place).map_or_else(findings, |_| Vec::new())
    }

    fn compile(&self, task: &Task) -> Compiled {
        let (traces, mut told) = match traces(task) {
            Ok(read) => read,
            Err(errors) => return Compiled { findings: findings(errors), ..Compiled::default() },
        };
        let made = compiler::compile(&traces, task.name.clone(), task.partial, false);
        told.splice(0..0, made.diagnostics);
        let workflow = made.workflow.map(|mut workflow| {
            workflow.header = vec![compiler::made_of(&traces)];
            workflow
        });
        Compiled { workflow, findings: findings(told), verified: verified(made.verdict) }
    }

    fn explain(&self, task: &Task) -> Explained {
        let (traces, mut told) = match traces(task) {
            Ok(read) => read,
            Err(errors) => return Explained { findings: findings(errors), ..Explained::default() },
        };
        let made = compiler::compile(&traces, task.name.clone(), task.partial, false);
        told.splice(0..0, made.diagnostics);
        Explained { explanation: made.explanation.to_json(), text: made.explanation.to_text(), findings: findings(told) }
    }

    fn verify(&self, workflow: &Workflow, task: &Task) -> Verified {
        match traces(task) {
            Ok((traces, _)) => verified(compiler::verify(workflow, &traces, task.partial)),
            Err(errors) => Verified { findings: findings(errors), ..Verified::default() },
        }
    }
}

/// The recordings of a task with its hints, and what is worth knowing about the reading of them.
fn traces(task: &Task) -> Result<(Vec<Trace>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let hints = compiler::hints(&Value::Object(task.hints.clone()))?;
    let (mut traces, mut told) = (Vec::new(), Vec::new());
    for document in &task.traces {
        let (read, notes) = compiler::read(STORED, json::to_string(document).as_bytes(), Some("ltc-trace"))?;
        traces.extend(read);
        told.extend(notes);
    }
    for trace in &mut traces {
        // One recording may lack a server that another has.
        let own = hints.iter().filter(|(name, _)| trace.servers.iter().any(|server| server.name == **name));
        let own = own.map(|(name, hints)| (name.clone(), hints.clone())).collect();
        told.extend(compiler::apply_hints(trace, own));
    }
    Ok((traces, told))
}

fn findings(diagnostics: Vec<Diagnostic>) -> Vec<Finding> {
    let finding = |diagnostic: Diagnostic| {
        let Diagnostic { severity, code, place, message, candidates, help } = diagnostic;
        let severity = match severity {
            diagnostics::Severity::Error => Severity::Error,
            diagnostics::Severity::Question => Severity::Question,
            diagnostics::Severity::Warning => Severity::Warning,
            diagnostics::Severity::Note => Severity::Note,
        };
        Finding { severity, code, place, message, candidates, help }
    };
    diagnostics.into_iter().map(finding).collect()
}

fn verified(verdict: verify::Verdict) -> Verified {
    let is_verified = compiler::is_verified(&verdict);
    let verify::Verdict { recorded, counterfactual, not_tried, diagnostics } = verdict;
    let tally = |tally: verify::Tally| Tally { passed: tally.passed, tried: tally.tried };
    Verified {
        verified: is_verified,
        recorded: tally(recorded),
        counterfactual: tally(counterfactual),
        not_tried: not_tried.into_iter().map(|skipped| NotTried { world: skipped.world, why: skipped.why }).collect(),
        findings: findings(diagnostics),
    }
}
