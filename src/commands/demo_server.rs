//! `ltc demo-server`: the little world of the examples, an MCP server over stdio.

#[path = "../../fixtures/servers/desk.rs"]
mod desk;
#[allow(dead_code, reason = "the servers of the tests can do more than this one")]
#[path = "../../fixtures/servers/wire.rs"]
mod wire;

use crate::exit::Exit;
use crate::report::Report;
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};

/// Serve the order desk of the examples over stdio
#[derive(Args, Debug)]
#[command(hide = true)]
pub struct Arguments {}

/// Serves until stdin closes.
pub fn run(_arguments: &Arguments, report: &Report) -> Exit {
    match wire::serve(&mut desk::Desk::new()) {
        Ok(()) => Exit::Done,
        Err(error) => {
            report.say(&Diagnostic::new(Severity::Error, "cannot-serve", "", format!("the connection broke: {error}")));
            Exit::Failed
        }
    }
}
