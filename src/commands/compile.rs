//! `ltc compile`: recordings in, workflow out.

use super::{count, printed};
use crate::exit::Exit;
use crate::progress::busy;
use crate::report::Report;
use crate::traces::TraceOptions;
use crate::{compiler, crates, files, traces, written};
use clap::{Args, ValueEnum};
use ltc_compiler::Compilation;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::trace::Trace;
use ltc_compiler::verify::{Tally, Verdict};
use ltc_workflow::hidden::is_hidden;
use ltc_workflow::{Object, Value, Workflow, json, yaml};
use smol_str::SmolStr;
use std::path::{Path, PathBuf};

/// Compile recordings of one task into a workflow
#[derive(Args, Debug)]
pub struct Arguments {
    /// The recordings; - is stdin
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Where the workflow is written: a file, or a folder for a file of the workflow's name; stdout where this is not given
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// What is written: the workflow as YAML, or a Rust crate that does the same, into the folder that -o names
    #[arg(long, value_enum, default_value_t = Emit::Yaml)]
    emit: Emit,
    /// The folder of the crate ltc-runtime, for a Rust crate that does not take it from the registry
    #[arg(long, value_name = "DIR")]
    runtime: Option<PathBuf>,
    /// The name of the workflow; it follows from the task where this is not given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Write nothing while a question is open
    #[arg(long)]
    strict: bool,
    /// Compile a run that ended in the middle
    #[arg(long)]
    partial: bool,
    /// Overwrite a file that was edited since it was written
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    options: TraceOptions,
}

/// What is written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Emit {
    /// The workflow
    Yaml,
    /// A crate
    Rust,
}

/// Compiles.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let traces = match traces::read(&arguments.traces, &arguments.options, report) {
        Ok(traces) => traces,
        Err(exit) => return exit,
    };
    let record = arguments.emit == Emit::Rust;
    let mut made = busy(report, "compiling", || compiler::compile(&traces, arguments.name.clone(), arguments.partial, record));
    report.say_all(&made.diagnostics);
    let questions = made.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Question).count();
    let Some(mut workflow) = made.workflow.clone().filter(|_| !compiler::has_errors(&made.diagnostics)) else {
        return Exit::Invalid;
    };
    workflow.header = vec![compiler::made_of(&traces), "This is the source from now on: edit it, and check it with `ltc lint`.".to_owned()];
    if arguments.strict && questions > 0 {
        let message = format!("nothing is written, since {} open", count(questions, "question is", "questions are"));
        report.say(&Diagnostic::new(Severity::Error, "open-questions", "", message).help("without --strict the guesses are written down"));
        return Exit::Failed;
    }
    let text = written::marked(&yaml::print(&workflow));
    if arguments.emit == Emit::Rust {
        made.workflow = Some(workflow);
        return write_crate(&made, &traces, &text, arguments, questions, report);
    }
    let Some(output) = &arguments.output else {
        return printed(&text, Exit::Done, report);
    };
    let path = target(output, &workflow.name);
    if let Err(problem) = may_be_written(&path, &text, arguments.force).and_then(|()| files::write(&path, &text)) {
        report.say(&problem);
        return Exit::Failed;
    }
    report.summary("written", &format!("wrote {}", path.display()), &facts(&workflow, &traces, &made.verdict, questions, &path));
    Exit::Done
}

/// Writes the Rust crate.
fn write_crate(made: &Compilation, traces: &[Trace], text: &str, arguments: &Arguments, questions: usize, report: &Report) -> Exit {
    let (Some(folder), Some(workflow)) = (&arguments.output, &made.workflow) else {
        let problem = Diagnostic::new(Severity::Error, "no-folder", "", "a Rust crate is written into a folder");
        return traces::said(&[problem.help("-o DIR names it")], Exit::Usage, report);
    };
    let runtime = match arguments.runtime.as_deref().map(crates::absolute).transpose() {
        Ok(runtime) => runtime,
        Err(problem) => return traces::said(&[problem], Exit::Usage, report),
    };
    let files = match compiler::rust(made, traces, text, runtime.as_deref()) {
        Ok(files) => files,
        Err(why) => {
            let problem = Diagnostic::new(Severity::Error, "not-emitted", "", format!("the compiler failed to write the crate: {why}"));
            return traces::said(&[problem], Exit::Failed, report);
        }
    };
    let (files, unformatted) = crates::laid_out(folder, files, text);
    report.say_all(&unformatted);
    if let Err(problems) = crates::write(folder, &files, arguments.force) {
        return traces::said(&problems, Exit::Failed, report);
    }
    let mut facts = facts(workflow, traces, &made.verdict, questions, folder);
    facts.retain(|(name, _)| *name != "to run");
    facts.push(("to test", format!("cd {} && cargo test", quoted(&folder.display().to_string()))));
    report.summary("written", &format!("wrote the crate {}", folder.display()), &facts);
    Exit::Done
}

/// What is worth knowing about a workflow that was written.
fn facts(workflow: &Workflow, traces: &[Trace], verdict: &Verdict, questions: usize, path: &Path) -> Vec<(&'static str, String)> {
    let calls = traces.iter().map(|trace| trace.calls.len()).sum();
    let steps = count(compiler::count_steps(workflow), "step", "steps");
    let from = count(calls, "recorded call", "recorded calls");
    let runs = if traces.len() == 1 { String::new() } else { format!(" of {} runs", traces.len()) };
    let mut facts = vec![("workflow", format!("{}: {steps}, made of {from}{runs}", workflow.name))];
    let mut listed = |name: &'static str, names: Vec<&str>| {
        if !names.is_empty() {
            facts.push((name, names.join(", ")));
        }
    };
    listed("inputs", workflow.inputs.keys().map(SmolStr::as_str).collect());
    listed("secrets", workflow.secrets.iter().map(SmolStr::as_str).collect());
    let tally = |tally: &Tally, one: &str, many: &str| format!("{} of {}", tally.passed, count(tally.tried, one, many));
    let recorded = tally(&verdict.recorded, "recorded run", "recorded runs");
    let other = tally(&verdict.counterfactual, "world that was not recorded", "worlds that were not recorded");
    let skipped = if verdict.not_tried.is_empty() { String::new() } else { format!("; {} could not be made", verdict.not_tried.len()) };
    facts.push(("verified", format!("in {recorded} and {other}{skipped}")));
    facts.push(("open", if questions == 0 { "no question".to_owned() } else { count(questions, "question", "questions") }));
    facts.push(("to run", invocation(workflow, path)));
    facts
}

/// A command that runs the workflow as it was recorded, fit to be pasted into a shell.
fn invocation(workflow: &Workflow, path: &Path) -> String {
    const LONGEST: usize = 100;
    let example = |schema: &Value| schema.get("examples").and_then(|examples| examples.at(0)).cloned();
    let wanted: Vec<_> = workflow.inputs.iter().filter(|(_, schema)| schema.get("default").is_none()).collect();
    let input: Option<Object> = wanted.iter().map(|(name, schema)| Some(((*name).clone(), example(schema)?))).collect();
    let command = format!("ltc run {}", quoted(&path.display().to_string()));
    match input.map(|input| json::to_string(&input.into())) {
        _ if wanted.is_empty() => command,
        Some(input) if input.chars().count() <= LONGEST && !input.contains(is_hidden) => format!("{command} --input {}", quoted(&input)),
        Some(_) | None => format!("{command} --input @input.json"),
    }
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    match text {
        text if text.starts_with('-') => quoted(&format!("./{text}")),
        text if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        text => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A folder gets a file of the workflow's name, which is safe as one.
fn target(output: &Path, name: &str) -> PathBuf {
    let is_folder = output.is_dir() || output.as_os_str().to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR]);
    if is_folder { output.join(format!("{name}.yaml")) } else { output.to_owned() }
}

fn may_be_written(path: &Path, text: &str, force: bool) -> Result<(), Diagnostic> {
    let is_free = !path.is_file() || force;
    if is_free {
        return Ok(());
    }
    let there = files::read(path)?;
    let there = String::from_utf8_lossy(&there);
    if there == text || written::is_untouched(&there) {
        return Ok(());
    }
    let message = "the file was edited since it was written, or was not written by `ltc compile`";
    Err(Diagnostic::new(Severity::Error, "edited", path.display().to_string(), message).help("--force overwrites it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_pasted_is_words_and_no_syntax() {
        let workflow = |inputs: &str| {
            let inputs = json::parse(inputs.as_bytes()).expect("JSON in a test");
            Workflow { inputs: inputs.as_object().expect("an object").clone(), ..Workflow::new("w") }
        };
        let told = |inputs: &str, path: &str| invocation(&workflow(inputs), Path::new(path));
        assert_eq!(told("{}", "a/w.yaml"), "ltc run a/w.yaml");
        assert_eq!(
            told(r#"{"a": {"examples": ["it's; $(x)"]}, "b": {"default": 1}}"#, "-x y"),
            r#"ltc run './-x y' --input '{"a":"it'\''s; $(x)"}'"#
        );
        for inputs in
            [r#"{"a": {}}"#, r#"{"a": {"examples": ["\u202e"]}}"#, &format!(r#"{{"a": {{"examples": ["{}"]}}}}"#, "x".repeat(100))]
        {
            assert_eq!(told(inputs, "w.yaml"), "ltc run w.yaml --input @input.json");
        }
    }
}
