//! The commands: one file each, and one line each in the two lists below.

mod cancel;
mod compile;
mod completions;
mod convert;
mod demo_server;
mod deploy;
mod docs;
mod explain;
mod fmt;
mod graph;
mod lint;
mod query;
mod record;
mod resolve;
mod resume;
mod run;
mod runs;
mod schema;
mod serve;
mod servers;
mod traces;
mod verify;
mod workflows;

use crate::exit::Exit;
use crate::report::Report;
use clap::Subcommand;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::text;
use ltc_workflow::{Value, json};
use std::io::IsTerminal;

/// What the command can do.
#[derive(Subcommand, Debug)]
pub enum Command {
    Record(record::Arguments),
    Compile(compile::Arguments),
    Explain(explain::Arguments),
    Verify(verify::Arguments),
    Lint(lint::Arguments),
    Fmt(fmt::Arguments),
    Graph(graph::Arguments),
    Convert(convert::Arguments),
    Run(run::Arguments),
    Runs(runs::Arguments),
    Resume(resume::Arguments),
    Cancel(cancel::Arguments),
    Resolve(resolve::Arguments),
    Deploy(deploy::Arguments),
    Workflows(workflows::Arguments),
    Servers(servers::Arguments),
    Traces(traces::Arguments),
    Query(query::Arguments),
    Docs(docs::Arguments),
    Serve(serve::Arguments),
    Schema(schema::Arguments),
    Completions(completions::Arguments),
    DemoServer(demo_server::Arguments),
}

/// Does what is asked.
pub fn run(command: Command, report: Report) -> Exit {
    match command {
        Command::Record(arguments) => record::run(&arguments, &report),
        Command::Compile(arguments) => compile::run(&arguments, &report),
        Command::Explain(arguments) => explain::run(&arguments, &report),
        Command::Verify(arguments) => verify::run(&arguments, &report),
        Command::Lint(arguments) => lint::run(&arguments, &report),
        Command::Fmt(arguments) => fmt::run(&arguments, &report),
        Command::Graph(arguments) => graph::run(&arguments, &report),
        Command::Convert(arguments) => convert::run(&arguments, &report),
        Command::Run(arguments) => run::run(&arguments, report),
        Command::Runs(arguments) => runs::run(&arguments, &report),
        Command::Resume(arguments) => resume::run(&arguments, report),
        Command::Cancel(arguments) => cancel::run(&arguments, &report),
        Command::Resolve(arguments) => resolve::run(&arguments, &report),
        Command::Deploy(arguments) => deploy::run(&arguments, &report),
        Command::Workflows(arguments) => workflows::run(&arguments, &report),
        Command::Servers(arguments) => servers::run(&arguments, &report),
        Command::Traces(arguments) => traces::run(&arguments, &report),
        Command::Query(arguments) => query::run(&arguments, &report),
        Command::Docs(arguments) => docs::run(&arguments, &report),
        Command::Serve(arguments) => serve::run(&arguments, &report),
        Command::Schema(arguments) => schema::run(&arguments, &report),
        Command::Completions(arguments) => completions::run(&arguments, &report),
        Command::DemoServer(arguments) => demo_server::run(&arguments, &report),
    }
}

/// Prints a result; how the command ends follows from whether that worked.
fn printed(text: &str, exit: Exit, report: &Report) -> Exit {
    written(crate::report::print(text), exit, report)
}

/// Prints a list, a line for each entry under `key`; where there is another page, says which option leads to it. For machines it is JSON.
fn print_list(list: &Value, key: &str, next: (&str, &str), line: impl Fn(&Value) -> String, report: &Report) -> Exit {
    if report.json {
        return print_value(list, report);
    }
    let entries = list.get(key).and_then(Value::as_array).unwrap_or_default();
    let out: String = entries.iter().map(|entry| line(entry) + "\n").collect();
    let (field, option) = next;
    if let Some(next) = list.get(field).filter(|next| !next.is_null()) {
        report.tell("more", &format!("there are more: {option} {}", json::to_string(next)));
    }
    printed(&out, Exit::Done, report)
}

/// The text of a field of an entry, on one line.
fn text_in(entry: &Value, field: &str) -> String {
    text::one_line(entry.get(field).and_then(Value::as_str).unwrap_or_default())
}

/// Prints a value as JSON: over several lines for people, in one for machines.
fn print_value(value: &Value, report: &Report) -> Exit {
    let text = if std::io::stdout().is_terminal() { json::to_string_pretty(value) } else { json::to_string(value) };
    printed(&format!("{text}\n"), Exit::Done, report)
}

/// As [`printed`], for words that are clean already and have colours.
fn printed_styled(text: &str, exit: Exit, report: &Report) -> Exit {
    written(crate::report::print_styled(text), exit, report)
}

fn written(result: std::io::Result<()>, exit: Exit, report: &Report) -> Exit {
    match result {
        Ok(()) => exit,
        Err(error) => {
            report.say(&Diagnostic::new(Severity::Error, "cannot-write", "stdout", format!("the result cannot be written: {error}")));
            Exit::Failed
        }
    }
}

/// `1 call`, `2 calls`
fn count_calls(n: u64) -> String {
    format!("{n} {}", if n == 1 { "call" } else { "calls" })
}

/// `1 run`, `2 runs`
fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use ltc_runtime::service::{OPERATIONS, Surface};

    #[derive(clap::Parser)]
    struct Arguments {
        #[command(subcommand)]
        command: Command,
    }

    #[test]
    fn every_command_is_documented_and_the_list_is_known() {
        let command = Arguments::command();
        command.clone().debug_assert();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let expected = [
            "record",
            "compile",
            "explain",
            "verify",
            "lint",
            "fmt",
            "graph",
            "convert",
            "run",
            "runs",
            "resume",
            "cancel",
            "resolve",
            "deploy",
            "workflows",
            "servers",
            "traces",
            "query",
            "docs",
            "serve",
            "schema",
            "completions",
            "demo-server",
        ];
        assert_eq!(names, expected);
        for subcommand in command.get_subcommands() {
            assert!(subcommand.get_about().is_some(), "{} says nothing about itself", subcommand.get_name());
            for argument in subcommand.get_arguments().filter(|argument| !["help", "version"].contains(&argument.get_id().as_str())) {
                assert!(argument.get_help().is_some(), "{} {} says nothing about itself", subcommand.get_name(), argument.get_id());
            }
        }
    }

    #[test]
    fn every_operation_is_a_command_or_says_why_not() {
        let command = Arguments::command();
        for operation in OPERATIONS {
            let Surface::At(path) = operation.command else { continue };
            let mut at = &command;
            for word in path.split(' ') {
                match word.strip_prefix("--") {
                    Some(flag) => assert!(at.get_arguments().any(|known| known.get_long() == Some(flag)), "{}: no {word}", operation.name),
                    None => {
                        let next = at.get_subcommands().find(|known| known.get_name() == word);
                        at = next.unwrap_or_else(|| panic!("{}: there is no `{path}`", operation.name));
                    }
                }
            }
        }
    }
}
