//! Workflow documents named on the command line.

use crate::exit::Exit;
use crate::files;
use crate::report::Report;
use crate::traces::said;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::preflight;
use ltc_workflow::yaml::{self, Problem};
use ltc_workflow::{Value, Workflow};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::path::Path;

/// The text of the file `path`.
///
/// # Errors
/// How the command ends; why has been said.
pub fn text(path: &Path, report: &Report) -> Result<String, Exit> {
    let bytes = files::read(path).map_err(|problem| said(&[problem], Exit::Usage, report))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let problem = Diagnostic::new(Severity::Error, "bad-utf8", files::name(path), format!("the byte at {at} is not UTF-8"));
        said(&[problem], Exit::Invalid, report)
    })
}

/// The workflow in the file `path`.
///
/// # Errors
/// How the command ends; why has been said.
pub fn read(path: &Path, report: &Report) -> Result<Workflow, Exit> {
    yaml::read(&text(path, report)?).map_err(|problems| refused(&problems, path, report))
}

/// The value of a YAML file, of which JSON is a part.
///
/// # Errors
/// How the command ends; why has been said.
pub fn read_value(path: &Path, report: &Report) -> Result<Value, Exit> {
    yaml::read_value(&text(path, report)?).map(|(value, _)| value).map_err(|problems| refused(&problems, path, report))
}

/// Says what is wrong with a document.
pub fn refused(problems: &[Problem], path: &Path, report: &Report) -> Exit {
    let name = files::name(path);
    for problem in problems {
        report.say(&Diagnostic {
            severity: Severity::Error,
            code: problem.code,
            place: format!("{name}:{}:{}", problem.line, problem.column),
            message: problem.message.clone(),
            candidates: Vec::new(),
            help: problem.help.clone(),
        });
    }
    Exit::Invalid
}

/// How many workflows one may lead to.
const MOST_WORKFLOWS: usize = 64;

/// The workflows that `workflow` runs, and that those run: each lies beside it, in a file of its name.
pub fn library(workflow: &Workflow, path: &Path, report: &Report) -> Result<BTreeMap<SmolStr, Workflow>, Exit> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut found: BTreeMap<SmolStr, Workflow> = BTreeMap::new();
    let mut wanted: Vec<SmolStr> = preflight::runs(workflow).into_iter().collect();
    while let Some(name) = wanted.pop() {
        // A workflow's name has no dots and slashes: it cannot lead out of the folder.
        let beside = ["yaml", "yml"].map(|extension| folder.join(format!("{name}.{extension}")));
        let Some(file) = beside.iter().find(|file| file.is_file()).filter(|_| name != workflow.name && !found.contains_key(&name)) else {
            continue;
        };
        if found.len() == MOST_WORKFLOWS {
            let message = format!("the workflow leads to more than {MOST_WORKFLOWS} others");
            return Err(said(&[Diagnostic::new(Severity::Error, "too-many-workflows", files::name(path), message)], Exit::Invalid, report));
        }
        let read = read(file, report)?;
        wanted.extend(preflight::runs(&read));
        found.insert(name, read);
    }
    Ok(found)
}
