//! Bad input, from bytes to the printed workflow: each gets a clear error with its place, or goes through byte for byte.
//!
//! `hostile/files.rs` has what is no recording, `hostile/texts.rs` names, keys and values that look like something else, and
//! `hostile/random.rs` recordings of any shape.

#![allow(clippy::disallowed_methods)] // Time is measured.

#[path = "hostile/files.rs"]
mod files;
#[path = "hostile/random.rs"]
mod random;
mod support;
#[path = "hostile/texts.rs"]
mod texts;

use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::trace::{Call, Outcome, Trace};
use ltc_compiler::{Compilation, Options, compile, ingest, script};
use ltc_workflow::advance::Start;
use ltc_workflow::document::{Step, StepKind, ToolEffect};
use ltc_workflow::{Value, json, yaml};
use std::collections::BTreeSet;

/// The traces in `bytes`, or what is wrong with them.
fn read(bytes: &[u8]) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    ingest::read("recording.json", bytes, None).map(|ingested| ingested.traces)
}

/// A recording of these calls: `(server, tool, arguments, result text)`, with an input.
fn recording(input: &Value, calls: &[(&str, &str, Value, &str)]) -> String {
    let calls = calls.iter().map(|(server, tool, arguments, text)| {
        let block = object([("type", Value::from("text")), ("text", Value::from(*text))]);
        let result = object([("content", Value::array(vec![block]))]);
        object([("server", Value::from(*server)), ("tool", Value::from(*tool)), ("arguments", arguments.clone()), ("result", result)])
    });
    json::to_string(&object([("format", Value::from("ltc.trace/1")), ("input", input.clone()), ("calls", calls.collect())]))
}

fn object<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    Value::Object(entries.into_iter().collect())
}

/// Compiles `traces` and checks everything that must hold whatever they are: the printed document reads as what it was, its names are
/// safe, and the workflow does in the recorded world what was recorded. Returns what is wrong.
fn wrongs(traces: &[Trace]) -> (Compilation, Vec<String>) {
    let compilation = compile(traces, &Options::default());
    let mut wrong: Vec<String> = Vec::new();
    let Some(workflow) = &compilation.workflow else {
        if compilation.diagnostics.iter().all(|d| d.severity != Severity::Error) {
            wrong.push("nothing was compiled, and no error says why".to_owned());
        }
        return (compilation, wrong);
    };
    let errors = || compilation.diagnostics.iter().filter(|d| d.severity == Severity::Error);
    if errors().count() > 0 {
        // A workflow that must not be used, with the reason; that the replay differs is no reason, but a mistake of the compiler.
        wrong.extend(errors().filter(|d| d.code == "replay-differs").map(|d| format!("{}: {}: {}", d.code, d.place, d.message)));
        return (compilation, wrong);
    }
    let text = yaml::print(workflow);
    if text.chars().any(|c| c != '\n' && is_command(c)) || compilation.explanation.to_text().chars().any(|c| c != '\n' && is_command(c)) {
        wrong.push(format!("this is not what it looks like:\n{text:?}"));
    }
    match yaml::read(&text) {
        Ok(read) if read != *workflow => wrong.push(format!("this reads as another workflow:\n{text}")),
        Ok(read) if yaml::print(&read) != text => wrong.push(format!("this prints otherwise once it is read:\n{text}")),
        Ok(_) => {}
        Err(problems) => wrong.extend(problems.iter().map(|p| format!("the printed workflow is refused: {p}\n{text}"))),
    }
    let safe = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if !safe(&workflow.name) || workflow.name.starts_with('-') {
        wrong.push(format!("the workflow's name is {:?}", workflow.name));
    }
    let mut ids = Vec::new();
    collect_ids(&workflow.steps, &mut ids);
    wrong.extend(ids.into_iter().filter(|id| !safe(id) || id.starts_with('-')).map(|id| format!("a step has the id {id:?}")));
    let no_output = compilation.diagnostics.iter().any(|d| d.code == "output-without-source");
    for (run, trace) in traces.iter().enumerate() {
        let Some(given) = compilation.given.get(run) else {
            wrong.push(format!("nobody knows what run {run} was given"));
            continue;
        };
        let secrets = workflow.secrets.iter().map(|name| (name.clone(), "s3cr3t".into())).collect();
        let left_out = left_out(&compilation, traces, run);
        wrong.extend(lost_writes(trace, &left_out));
        match workflow.fill_defaults(given) {
            Err(failure) => wrong.push(format!("run {run}: {}", failure.message)),
            Ok(input) if workflow.secrets.is_empty() => {
                let start = Start { input, secrets, started_at: "2031-05-06T07:08:09Z".into(), id: "run".into() };
                wrong.extend(
                    support::world::differences(workflow, trace, &start, &left_out)
                        .into_iter()
                        .filter(|d| !(no_output && d.starts_with("the output is ")))
                        .map(|d| format!("run {run}: {d}\n{text}")),
                );
            }
            Ok(_) => {}
        }
    }
    (compilation, wrong)
}

/// Characters that move a terminal's cursor, or show a line in another order than it has.
fn is_command(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn collect_ids<'w>(steps: &'w [Step], ids: &mut Vec<&'w str>) {
    for step in steps {
        ids.push(&step.id);
        match &step.kind {
            StepKind::For { steps, .. } | StepKind::Repeat { steps, .. } => collect_ids(steps, ids),
            StepKind::Switch { cases } => cases.iter().for_each(|case| collect_ids(&case.steps, ids)),
            StepKind::Parallel { branches } => branches.iter().for_each(|steps| collect_ids(steps, ids)),
            StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Wait { .. } | StepKind::Set { .. } | StepKind::Run { .. } => {}
        }
    }
}

/// The calls that are no step of the workflow.
fn left_out(compilation: &Compilation, traces: &[Trace], run: usize) -> BTreeSet<String> {
    let told = |id: &str| if traces.len() == 1 { id.to_owned() } else { format!("{id} of run {}", run + 1) };
    let steps: BTreeSet<&str> = compilation.explanation.steps.iter().flat_map(|step| &step.calls).map(|call| call.as_str()).collect();
    let calls = traces.get(run).into_iter().flat_map(|trace| &trace.calls);
    calls.map(|call| call.id.to_string()).filter(|id| !steps.contains(told(id).as_str())).collect()
}

/// Writes that succeeded and are no step: there must be none.
fn lost_writes(trace: &Trace, left_out: &BTreeSet<String>) -> Vec<String> {
    let writes = |call: &&Call| {
        let effect = script::effect(script::server(trace, &call.server), &call.tool).0;
        effect != ToolEffect::Read && matches!(call.outcome, Outcome::Result(_)) && left_out.contains(call.id.as_str())
    };
    trace.calls.iter().filter(writes).map(|call| format!("the write {} is left out", call.id)).collect()
}
