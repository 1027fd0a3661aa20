//! `ltc explain`: where every argument comes from.

use super::printed;
use crate::exit::Exit;
use crate::report::Report;
use crate::traces::TraceOptions;
use crate::{compiler, traces};
use clap::Args;
use ltc_compiler::diagnostics::Severity;
use ltc_runtime::text;
use ltc_workflow::json;
use std::path::PathBuf;

/// Show where every argument comes from, what was dropped and why, and what is open
#[derive(Args, Debug)]
pub struct Arguments {
    /// The recordings; - is stdin
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Explain a run that ended in the middle
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    options: TraceOptions,
}

/// Explains.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let traces = match traces::read(&arguments.traces, &arguments.options, report) {
        Ok(traces) => traces,
        Err(exit) => return exit,
    };
    let compilation = compiler::compile(&traces, None, arguments.partial);
    let errors: Vec<_> = compilation.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
    let exit = if errors.is_empty() { Exit::Done } else { Exit::Invalid };
    errors.into_iter().for_each(|error| report.say(error));
    let explanation = &compilation.explanation;
    if report.json {
        return printed(&format!("{}\n", json::to_string_pretty(&explanation.to_json())), exit, report);
    }
    printed(&text::lines(&explanation.to_text()), exit, report)
}
