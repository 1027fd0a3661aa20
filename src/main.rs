//! The `ltc` command: the one place that knows the language, the compiler and the runtime. It reads arguments and files, and decides nothing
//! that a library could decide.

mod commands;
mod compiler;
mod compiling;
mod crates;
mod documentation;
mod documents;
mod due;
mod exit;
mod files;
mod interrupts;
mod listening;
mod mermaid;
mod opened;
mod progress;
mod report;
mod servers;
mod traces;
mod written;

use clap::Parser;
use commands::Command;
use report::Report;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  ltc record -o recording.jsonl -- my-mcp-server --stdio
  ltc compile recording.json -o workflow.yaml
  ltc explain recording.json
  ltc run workflow.yaml --servers .mcp.json --input '{\"status\": \"late\"}'

Exit codes:
  0 done, 1 a run failed or a check found something, 2 usage, 3 an input, a recording or a document
  is invalid, 4 a run waits for a person, 130 interrupted";

/// Compiles recorded agent runs into deterministic workflows, and runs them
#[derive(Parser, Debug)]
#[command(version, arg_required_else_help = true, max_term_width = 100, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Messages and findings as JSON
    #[arg(long, global = true)]
    json: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let report = Report { json: arguments.json, ..Report::default() };
    commands::run(arguments.command, report).into()
}
