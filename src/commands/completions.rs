//! `ltc completions`: what a shell needs to complete the command.

use super::printed;
use crate::exit::Exit;
use crate::report::Report;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Args, Debug)]
pub struct Arguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints completions.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "ltc", &mut script);
    printed(&String::from_utf8_lossy(&script), Exit::Done, report)
}
