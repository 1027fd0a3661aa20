//! A file like `.mcp.json`, named on the command line: how servers are reached.

use crate::exit::Exit;
use crate::report::{Report, from_problem};
use crate::traces::{self, said};
use ltc_compiler::diagnostics::Severity;
use ltc_runtime::servers;
use ltc_workflow::document::Transport;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::path::Path;

/// The servers in the file `path`.
///
/// # Errors
/// How the command ends; why has been said.
pub fn read(path: &Path, report: &Report) -> Result<BTreeMap<SmolStr, Transport>, Exit> {
    let file = traces::read_json(path, report)?;
    servers::read_mcp_json(&file).map_err(|problems| {
        let problems = problems.into_iter().map(|problem| from_problem(problem, Severity::Error)).collect();
        said(&traces::placed(problems, path), Exit::Invalid, report)
    })
}
