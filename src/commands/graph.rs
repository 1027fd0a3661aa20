//! `ltc graph`: the picture of a workflow.

use super::printed;
use crate::exit::Exit;
use crate::report::Report;
use crate::{documents, mermaid};
use clap::Args;
use std::path::PathBuf;

/// Draw a workflow as a Mermaid diagram
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workflow; - is stdin
    #[arg(value_name = "WORKFLOW")]
    workflow: PathBuf,
}

/// Draws.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    match documents::read(&arguments.workflow, report) {
        Ok(workflow) => printed(&mermaid::draw(&workflow), Exit::Done, report),
        Err(exit) => exit,
    }
}
