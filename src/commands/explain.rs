//! `ltc explain`: where every argument comes from.

use super::{printed, printed_styled};
use crate::exit::Exit;
use crate::progress::busy;
use crate::report::{self, Report};
use crate::traces::TraceOptions;
use crate::{compiler, traces};
use anstyle::Style;
use clap::Args;
use ltc_compiler::diagnostics::Severity;
use ltc_workflow::json;
use std::fmt::Write as _;
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
    let compilation = busy(report, "compiling", || compiler::compile(&traces, None, arguments.partial, false));
    let (errors, open): (Vec<_>, Vec<_>) = compilation.diagnostics.iter().partition(|diagnostic| diagnostic.severity == Severity::Error);
    let exit = if errors.is_empty() { Exit::Done } else { Exit::Invalid };
    let explanation = &compilation.explanation;
    if report.json {
        let mut object = explanation.to_json().as_object().cloned().unwrap_or_default();
        object.insert("diagnostics", compilation.diagnostics.iter().map(report::to_json).collect());
        return printed(&format!("{}\n", json::to_string_pretty(&object.into())), exit, report);
    }
    errors.into_iter().for_each(|error| report.say(error));
    let mut text = styled(&report.clean(&explanation.to_text()));
    if !open.is_empty() {
        text.push('\n');
        text.extend(open.into_iter().map(|diagnostic| report.render(diagnostic)));
    }
    printed_styled(&text, exit, report)
}

/// The steps stand out, and why something was taken stands back.
fn styled(text: &str) -> String {
    let (heading, evidence) = (Style::new().bold(), Style::new().dimmed());
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        let style = match line.len() - line.trim_start().len() {
            0 => heading,
            1..=5 => Style::new(),
            _ => evidence,
        };
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{style}{}{style:#}", line.trim_end());
    }
    out
}
