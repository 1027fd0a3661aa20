//! `ltc fmt`: the one layout.

use super::printed;
use crate::exit::Exit;
use crate::report::Report;
use crate::{documents, files};
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_workflow::yaml;
use std::path::{Path, PathBuf};

/// Lay out workflow files in the canonical way
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workflows, which are rewritten; - reads stdin and writes stdout
    #[arg(value_name = "WORKFLOW", required = true)]
    workflows: Vec<PathBuf>,
    /// Write nothing; fail where a file is not laid out in this way
    #[arg(long)]
    check: bool,
}

/// Formats.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let mut exit = Exit::Done;
    for path in &arguments.workflows {
        let ended = format(path, arguments.check, report).unwrap_or_else(|failed| failed);
        if exit == Exit::Done {
            exit = ended;
        }
    }
    exit
}

fn format(path: &Path, is_check: bool, report: &Report) -> Result<Exit, Exit> {
    let text = documents::text(path, report)?;
    let formatted = yaml::format(&text).map_err(|problems| documents::refused(&problems, path, report))?;
    let fail = |problem: Diagnostic| {
        report.say(&problem);
        Exit::Failed
    };
    if is_check {
        if formatted.text == text {
            return Ok(Exit::Done);
        }
        let problem = Diagnostic::new(Severity::Error, "not-formatted", files::name(path), "the file is not laid out in the canonical way");
        return Err(fail(problem.help("`ltc fmt` without --check does it")));
    }
    for lost in &formatted.lost {
        let place = format!("{}:{}:{}", files::name(path), lost.line, lost.column);
        let problem = Diagnostic::new(Severity::Error, "lost-comment", place, format!("there is no place for the comment #{}", lost.text));
        report.say(&problem.help("comments stand above a key, an input, a server or a step; a step keeps its words in `note`"));
    }
    if !formatted.lost.is_empty() {
        return Err(Exit::Failed);
    }
    if path == Path::new("-") {
        return Ok(printed(&formatted.text, Exit::Done, report));
    }
    if formatted.text != text {
        files::write(path, &formatted.text).map_err(fail)?;
    }
    Ok(Exit::Done)
}
