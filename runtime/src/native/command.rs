//! The command that a crate of workflows is: it runs one of them.

use super::NativeWorkflow;
use std::process::ExitCode;

/// Does what the command line says with these workflows.
pub fn main(workflows: impl IntoIterator<Item = NativeWorkflow>) -> ExitCode {
    let _ = workflows.into_iter().count();
    ExitCode::FAILURE
}
