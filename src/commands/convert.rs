//! `ltc convert`: any known format to `ltc.trace/1`.

use super::printed;
use crate::exit::Exit;
use crate::report::Report;
use crate::traces::said;
use crate::{compiler, files, traces};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_workflow::json;
use std::path::PathBuf;

/// Convert recordings of any known format to ltc.trace/1
#[derive(Args, Debug)]
pub struct Arguments {
    /// The recordings; - is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The format of the recordings; it is found by looking at them where this is not given
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(formats()))]
    from: Option<String>,
    /// A file like .mcp.json: how the servers in the recordings are reached
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// Where the trace is written; stdout where this is not given, and one run a line where there are several
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn formats() -> impl Iterator<Item = PossibleValue> {
    compiler::formats_told().map(|(name, summary)| PossibleValue::new(name).help(summary.replace('`', "")))
}

/// Converts.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    match convert(arguments, report) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn convert(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let mut runs = Vec::new();
    for path in &arguments.files {
        runs.extend(traces::read_all(path, arguments.from.as_deref(), report)?);
    }
    if let Some(path) = &arguments.servers {
        let servers = traces::read_json(path, report)?;
        for run in &mut runs {
            report.say_all(&compiler::apply_servers(run, &servers));
        }
    }
    let text = match runs.as_slice() {
        [only] => format!("{}\n", json::to_string_pretty(&compiler::to_json(only))),
        several => several.iter().map(|run| format!("{}\n", json::to_string(&compiler::to_json(run)))).collect(),
    };
    let Some(output) = &arguments.output else {
        return Ok(printed(&text, Exit::Done, report));
    };
    if output.is_dir() {
        let problem = Diagnostic::new(Severity::Error, "cannot-write", output.display().to_string(), "this is a folder");
        return Err(said(&[problem], Exit::Usage, report));
    }
    files::write(output, &text).map_err(|problem| said(&[problem], Exit::Failed, report))?;
    report.tell("written", &format!("wrote {}: {} {}", output.display(), runs.len(), if runs.len() == 1 { "run" } else { "runs" }));
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_lists_the_formats_that_are_read() {
        let readme = include_str!("../../README.md");
        let (_, rest) = readme.split_once("| `--from` | recordings |\n|---|---|\n").expect("the table of formats");
        let table: String = compiler::formats_told().map(|(name, summary)| format!("| `{name}` | {summary} |\n")).collect();
        assert!(rest.starts_with(&table), "the table should be\n{table}");
    }
}
