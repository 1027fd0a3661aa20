//! `ltc schema`: the JSON Schemas of our formats.

use super::printed;
use crate::exit::Exit;
use crate::report::Report;
use clap::{Args, ValueEnum};

/// Print the JSON Schema of a format
#[derive(Args, Debug)]
pub struct Arguments {
    /// The format
    #[arg(value_name = "FORMAT")]
    format: Format,
}

/// The formats of ours that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Recordings: ltc.trace/1
    Trace,
    /// What a person tells the compiler about a server
    Hints,
    /// Workflow documents
    Workflow,
}

/// Prints a schema.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let schema = match arguments.format {
        Format::Trace => ltc_compiler::trace::SCHEMA,
        Format::Hints => ltc_compiler::hints::SCHEMA,
        Format::Workflow => ltc_workflow::schema::WORKFLOW,
    };
    printed(&format!("{}\n", schema.trim_end()), Exit::Done, report)
}
