//! The compiler, as the command calls it: all of its functions that the command uses are named here, and nowhere else.

use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::hints::Hints;
use ltc_compiler::trace::{Server, Trace};
use ltc_compiler::verify::{Tally, Verdict};
use ltc_compiler::{Compilation, Options};
use ltc_workflow::{Value, Workflow};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The runs in a recording, and what is worth knowing about the reading of it.
///
/// # Errors
/// Why it is no recording.
pub fn read(name: &str, bytes: &[u8], from: Option<&str>) -> Result<(Vec<Trace>, Vec<Diagnostic>), Vec<Diagnostic>> {
    ltc_compiler::ingest::read(name, bytes, from).map(|ingested| (ingested.traces, ingested.notes))
}

/// The formats that `--from` takes.
pub fn formats() -> Vec<&'static str> {
    ltc_compiler::ingest::FORMATS.iter().map(|format| format.name).collect()
}

/// The formats with what each is.
pub fn formats_told() -> impl Iterator<Item = (&'static str, &'static str)> {
    ltc_compiler::ingest::FORMATS.iter().map(|format| (format.name, format.summary))
}

/// Gives `trace` the servers of a `.mcp.json`.
pub fn apply_servers(trace: &mut Trace, servers: &Value) -> Vec<Diagnostic> {
    ltc_compiler::ingest::apply_servers(trace, servers)
}

/// Hints by server.
///
/// # Errors
/// What in them is none.
pub fn hints(value: &Value) -> Result<BTreeMap<SmolStr, Hints>, Vec<Diagnostic>> {
    ltc_compiler::hints::read_all(value)
}

/// The hints of one server, which stand at `place`.
///
/// # Errors
/// What in them is none.
pub fn server_hints(value: &Value, place: &str) -> Result<Hints, Vec<Diagnostic>> {
    ltc_compiler::hints::read(value, place)
}

/// Gives the servers of `trace` their hints.
pub fn apply_hints(trace: &mut Trace, hints: BTreeMap<SmolStr, Hints>) -> Vec<Diagnostic> {
    ltc_compiler::ingest::apply_hints(trace, hints)
}

/// A trace in our own format.
pub fn to_json(trace: &Trace) -> Value {
    ltc_compiler::trace::to_json(trace)
}

/// The workflow of `traces`.
pub fn compile(traces: &[Trace], name: Option<String>, partial: bool, record: bool) -> Compilation {
    ltc_compiler::compile(traces, &Options { name, partial, record })
}

/// The files of the Rust crate that a compilation becomes: where each lies, and what it says.
///
/// # Errors
/// What the compiler did wrong.
pub fn rust(made: &Compilation, traces: &[Trace], document: &str, runtime: Option<&str>) -> Result<Vec<(&'static str, String)>, String> {
    let files = ltc_compiler::emit_rust(made, traces, document, runtime)?;
    Ok(files.into_iter().map(|file| (file.path, file.text)).collect())
}

/// A file of a crate with the line that tells an edit.
pub fn headed(path: &str, text: &str, document: &str) -> String {
    ltc_compiler::emit::headed(path, text, document)
}

/// Whether a file of a written crate is as it was written; `None` where it does not say.
pub fn is_untouched(text: &str) -> Option<bool> {
    ltc_compiler::emit::is_untouched(text)
}

/// What is doubtful in a workflow, as far as what is known of servers tells.
pub fn lint(workflow: &Workflow, servers: &[Server]) -> Vec<Diagnostic> {
    ltc_compiler::lint::lint(workflow, servers)
}

/// Whether a workflow does in the recorded world, and in others, what it should.
pub fn verify(workflow: &Workflow, traces: &[Trace], partial: bool) -> Verdict {
    ltc_compiler::verify::verify(workflow, traces, partial)
}

/// A workflow is verified where nothing is wrong in any world that was tried.
pub fn is_verified(verdict: &Verdict) -> bool {
    let Verdict { recorded, counterfactual, not_tried: _, diagnostics } = verdict;
    let all = |tally: &Tally| tally.passed == tally.tried;
    recorded.tried > 0 && all(recorded) && all(counterfactual) && !has_errors(diagnostics)
}

/// Where a workflow comes from, for its head; the same for the same recordings, wherever they lie.
pub fn made_of(traces: &[Trace]) -> String {
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let calls = count(traces.iter().map(|trace| trace.calls.len()).sum(), "call", "calls");
    format!("Compiled by ltc {} from {} with {calls}.", env!("CARGO_PKG_VERSION"), count(traces.len(), "run", "runs"))
}

/// How many steps a workflow has, with those in loops and branches.
pub fn count_steps(workflow: &Workflow) -> usize {
    let mut count = 0;
    ltc_compiler::steps::each(&workflow.steps, &mut |_, _| count += 1);
    count
}

/// Whether one of `diagnostics` is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}
