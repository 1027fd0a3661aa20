//! `ltc lint`: what is doubtful in a workflow, told by looking at it.

use super::{count, printed, printed_styled};
use crate::exit::Exit;
use crate::report::{self, Report};
use crate::{compiler, documents, files, servers, traces};
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::trace::Server;
use ltc_workflow::{Value, json};
use std::path::PathBuf;

/// Report what is doubtful in a workflow
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workflow; - is stdin
    #[arg(value_name = "WORKFLOW")]
    workflow: PathBuf,
    /// A file like .mcp.json: servers that the workflow lacks
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// A recording that knows the tools of the servers: calls are checked against their schemas
    #[arg(long = "trace", value_name = "TRACE")]
    traces: Vec<PathBuf>,
}

/// Lints. Findings are the result, and go to stdout.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    match lint(arguments, report) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn lint(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let workflow = documents::read(&arguments.workflow, report)?;
    let found = compiler::lint(&workflow, &known(arguments, report)?);
    let exit = if compiler::has_errors(&found) { Exit::Invalid } else { Exit::Done };
    if report.json {
        let list: Value = found.iter().map(report::to_json).collect();
        return Ok(printed(&format!("{}\n", json::to_string_pretty(&list)), exit, report));
    }
    let findings: String = found.iter().map(|diagnostic| report.render(diagnostic)).collect();
    let exit = printed_styled(&findings, exit, report);
    report.tell("linted", &format!("{}: {}", files::name(&arguments.workflow), told(&found)));
    Ok(exit)
}

/// What is known of servers: from recordings their tools, from a file their names.
fn known(arguments: &Arguments, report: &Report) -> Result<Vec<Server>, Exit> {
    let mut known: Vec<Server> = Vec::new();
    for path in &arguments.traces {
        for server in traces::read_all(path, None, report)?.into_iter().flat_map(|trace| trace.servers) {
            match known.iter_mut().find(|known| known.name == server.name) {
                // A recording may know a server that another one only names.
                Some(known) if known.tools.is_empty() => *known = server,
                Some(_) => {}
                None => known.push(server),
            }
        }
    }
    if let Some(path) = &arguments.servers {
        for (name, transport) in servers::read(path, report)? {
            if !known.iter().any(|server| server.name == name) {
                known.push(Server { name, transport: Some(transport), ..Server::default() });
            }
        }
    }
    Ok(known)
}

/// `1 error, 2 warnings`
fn told(found: &[Diagnostic]) -> String {
    let all = [Severity::Error, Severity::Question, Severity::Warning, Severity::Note];
    let told = all.iter().filter_map(|severity| {
        let number = found.iter().filter(|diagnostic| diagnostic.severity == *severity).count();
        (number > 0).then(|| count(number, severity.name(), &format!("{}s", severity.name())))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "nothing is doubtful".to_owned() } else { told.join(", ") }
}
