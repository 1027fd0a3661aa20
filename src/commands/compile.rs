//! `ltc compile`: recordings in, workflow out.

use super::printed;
use crate::exit::Exit;
use crate::report::Report;
use crate::traces::TraceOptions;
use crate::{compiler, files, traces, written};
use clap::Args;
use ltc_compiler::Compilation;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_workflow::yaml;
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

/// Compiles.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let traces = match traces::read(&arguments.traces, &arguments.options, report) {
        Ok(traces) => traces,
        Err(exit) => return exit,
    };
    let Compilation { workflow, diagnostics, .. } = compiler::compile(&traces, arguments.name.clone(), arguments.partial);
    report.say_all(&diagnostics);
    let questions = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Question).count();
    let Some(workflow) = workflow.filter(|_| !compiler::has_errors(&diagnostics)) else {
        return Exit::Invalid;
    };
    if arguments.strict && questions > 0 {
        let message = format!("nothing is written, since {} open", count(questions, "question is", "questions are"));
        report.say(&Diagnostic::new(Severity::Error, "open-questions", "", message).help("without --strict the guesses are written down"));
        return Exit::Failed;
    }
    let text = written::marked(&yaml::print(&workflow));
    let Some(output) = &arguments.output else {
        return printed(&text, Exit::Done, report);
    };
    let path = target(output, &workflow.name);
    if let Err(problem) = may_be_written(&path, &text, arguments.force).and_then(|()| files::write(&path, &text)) {
        report.say(&problem);
        return Exit::Failed;
    }
    let open = if questions == 0 { "no open question".to_owned() } else { count(questions, "open question", "open questions") };
    report
        .tell("written", &format!("wrote {}: workflow {}, {}, {open}", path.display(), workflow.name, count(traces.len(), "run", "runs")));
    Exit::Done
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

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
