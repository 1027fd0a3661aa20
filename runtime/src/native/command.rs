//! The command that a crate of workflows is: it serves them, or runs one of them once.
//!
//! The output goes to stdout as JSON, everything else to stderr. How it ends is said as `ltc run` says it: 0 done, 1 failed, 2 usage, 3 the input
//! is invalid, 4 it waits for a person.

use super::{NativeWorkflow, run_by};
use crate::adapter::McpAdapter;
use crate::clock::{Moment, unique_name};
use crate::engine::Rest;
use crate::environment::ProcessEnvironment;
use crate::journal::Journal;
use crate::observe::{Log, Unobserved};
use crate::perform::RunName;
use crate::pool::Connections;
use crate::problem::Problem;
use crate::run::{Given, Prepared, Request, prepare};
use crate::secrets::Redactor;
use crate::text;
use crate::upstream::{Connector, Limits};
use ltc_workflow::{Value, Workflow, json};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const INVALID: u8 = 3;
const WAITING: u8 = 4;

/// Does what the command line says with these workflows.
pub(super) fn main(workflows: &[NativeWorkflow]) -> ExitCode {
    let done = arguments(std::env::args().skip(1)).and_then(|asked| {
        let workflows = read_all(workflows)?;
        match asked {
            Asked { input: None, workflow: None, ephemeral } => served(workflows, ephemeral).map(|()| None),
            asked => once(workflows, &asked).map(Some),
        }
    });
    match done {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(output)) => match writeln!(std::io::stdout(), "{output}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(FAILED),
        },
        Err(Ended { code, said }) => {
            said.iter().for_each(|line| eprintln!("{line}"));
            ExitCode::from(code)
        }
    }
}

/// The workflows, each with its document; no two have one name.
fn read_all(workflows: &[NativeWorkflow]) -> Result<Vec<(NativeWorkflow, Workflow)>, Ended> {
    let mut read: Vec<(NativeWorkflow, Workflow)> = Vec::new();
    for native in workflows {
        let workflow = native.read().map_err(|why| ended(INVALID, why))?;
        if read.iter().any(|(_, other)| other.name == workflow.name) {
            return Err(ended(INVALID, format!("two workflows are called {}", workflow.name)));
        }
        read.push((native.clone(), workflow));
    }
    Ok(read)
}

/// Why there is no output.
struct Ended {
    code: u8,
    said: Vec<String>,
}

fn ended(code: u8, said: impl Into<String>) -> Ended {
    Ended { code, said: vec![said.into()] }
}

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    input: Option<String>,
    workflow: Option<String>,
    /// Whether nothing is kept, where something could be.
    ephemeral: bool,
}

const HELP: &str = "Without options it is an MCP server over stdin and stdout, whose tools are the workflows.
--input JSON|@FILE|-  run the workflow once with this input
--workflow NAME       which workflow, where there are several
--ephemeral           serve without keeping runs, where it was built with a store";

fn arguments(given: impl Iterator<Item = String>) -> Result<Asked, Ended> {
    let mut asked = Asked::default();
    let mut given = given;
    while let Some(argument) = given.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument.clone(), None),
        };
        let place = match name.as_str() {
            "--ephemeral" if value.is_none() => {
                asked.ephemeral = true;
                continue;
            }
            "--input" => &mut asked.input,
            "--workflow" => &mut asked.workflow,
            _ => return Err(ended(USAGE, HELP)),
        };
        *place = Some(value.or_else(|| given.next()).ok_or_else(|| ended(USAGE, HELP))?);
    }
    Ok(asked)
}

/// Serves the workflows: over a store, where that was built in.
fn served(workflows: Vec<(NativeWorkflow, Workflow)>, ephemeral: bool) -> Result<(), Ended> {
    let log = Arc::new(ToStderr::default());
    if std::io::stdin().is_terminal() {
        eprintln!("an MCP server over stdin and stdout, until stdin ends; with --input it runs a workflow once");
    }
    #[cfg(all(feature = "serve", feature = "sqlite"))]
    if !ephemeral {
        let workflows = workflows.into_iter().map(|(native, _)| native).collect();
        return threads()?.block_on(super::serve::serve(workflows, log)).map_err(|why| ended(FAILED, text::one_line(&why)));
    }
    let _ = ephemeral;
    without_a_store(workflows, log)
}

#[cfg(feature = "stdio")]
fn without_a_store(workflows: Vec<(NativeWorkflow, Workflow)>, log: Arc<ToStderr>) -> Result<(), Ended> {
    let adapter: Arc<dyn McpAdapter> = Arc::new(Connections::new(Connector { log, limits: Limits::default() }));
    let serving = async {
        let served = crate::stdio::workflows::serve(workflows, adapter.clone()).await;
        adapter.disconnect().await;
        served
    };
    threads()?.block_on(serving).map_err(|why| ended(FAILED, text::one_line(&why)))
}

#[cfg(not(feature = "stdio"))]
fn without_a_store(_: Vec<(NativeWorkflow, Workflow)>, _: Arc<ToStderr>) -> Result<(), Ended> {
    Err(ended(USAGE, format!("{HELP}\nTo serve, build it with the feature `stdio` of ltc-runtime.")))
}

fn threads() -> Result<tokio::runtime::Runtime, Ended> {
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    threads.map_err(|error| ended(FAILED, error.to_string()))
}

fn once(workflows: Vec<(NativeWorkflow, Workflow)>, asked: &Asked) -> Result<String, Ended> {
    let Some(input) = &asked.input else { return Err(ended(USAGE, HELP)) };
    let (mut named, others): (Vec<_>, Vec<_>) =
        workflows.into_iter().partition(|(_, workflow)| asked.workflow.as_ref().is_none_or(|name| *name == workflow.name));
    let (native, workflow) = match (named.pop(), named.is_empty()) {
        (Some(one), true) => one,
        (Some(_), false) => return Err(ended(USAGE, format!("there are several workflows\n{HELP}"))),
        (None, _) => return Err(ended(USAGE, format!("there is no such workflow\n{HELP}"))),
    };
    let input = read(input)?;
    let run = RunName { id: unique_name().into(), started_at: Moment::now().to_string().into() };
    let servers = BTreeMap::new();
    let library = run_by(&workflow, &others.into_iter().map(|(_, workflow)| (workflow.name.clone(), workflow)).collect());
    let registry = BTreeMap::new();
    let input = Given::Plain(&input);
    let request = Request { workflow, library, input, servers: &servers, registry: &registry, environment: &ProcessEnvironment, run };
    let prepared = prepare(request).map_err(|problems| refused(INVALID, &problems))?;
    threads()?.block_on(go(&native, prepared))
}

fn read(given: &str) -> Result<Value, Ended> {
    let mut text = Vec::new();
    let read = match given.strip_prefix('@') {
        Some(path) => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut text)).map(drop),
        None if given == "-" => std::io::stdin().read_to_end(&mut text).map(drop),
        None => {
            text = given.as_bytes().to_vec();
            Ok(())
        }
    };
    read.map_err(|error| ended(USAGE, format!("the input cannot be read: {error}")))?;
    json::parse(&text).map_err(|error| ended(INVALID, format!("the input is no JSON: {error}")))
}

async fn go(native: &NativeWorkflow, prepared: Prepared) -> Result<String, Ended> {
    let redactor = prepared.redactor();
    let log = Arc::new(ToStderr::default());
    log.learn(&redactor);
    let adapter: Arc<dyn McpAdapter> = Arc::new(Connections::new(Connector { log, limits: Limits::default() }));
    let rest = match prepared.connect(adapter.clone()).await {
        Ok((run, drifted)) => {
            drifted.iter().for_each(|problem| eprintln!("{}", told(problem)));
            let journal = Journal::in_memory(run.world(), Arc::new(Unobserved), tokio::sync::watch::channel(None).1);
            Ok(run.go_native(native, &journal, &Unobserved).await)
        }
        Err(problems) => Err(refused(FAILED, &problems)),
    };
    adapter.disconnect().await;
    match rest? {
        Rest::Done(output) => Ok(json::to_string(&redactor.value(&output))),
        Rest::Failed(failure) => {
            let place = failure.step.map(|step| format!("step {step}: ")).unwrap_or_default();
            let said = text::one_line(&format!("{place}{}: {}", failure.code, failure.message));
            Err(ended(FAILED, redactor.text(&said)))
        }
        Rest::Waiting { .. } => Err(ended(WAITING, "a person is asked; a run that lives in memory cannot wait, and ends here")),
        Rest::Interrupted(_) => Err(ended(FAILED, "the run was interrupted")),
    }
}

fn refused(code: u8, problems: &[Problem]) -> Ended {
    Ended { code, said: problems.iter().map(told).collect() }
}

fn told(problem: &Problem) -> String {
    let Problem { code, place, message, help } = problem;
    let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    text::one_line(&format!("{code} {place}: {message}{help}"))
}

/// What servers say, on stderr, without the secrets that runs brought.
#[derive(Default)]
struct ToStderr(RwLock<Redactor>);

impl Log for ToStderr {
    fn learn(&self, secrets: &Redactor) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *known = known.and(secrets);
    }

    fn server_said(&self, server: &str, line: &str) {
        eprintln!("{server}: {line}");
    }

    fn redact(&self, text: &str) -> String {
        self.0.read().unwrap_or_else(PoisonError::into_inner).text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_read_or_answered_with_help() {
        let read = |words: &[&str]| arguments(words.iter().map(|word| (*word).to_owned())).map_err(|ended| ended.code);
        let asked = |input: &str| Asked { input: Some(input.to_owned()), ..Asked::default() };
        assert_eq!(read(&["--input", "{}"]), Ok(asked("{}")));
        assert_eq!(read(&["--input={\"a\":\"b=c\"}"]), Ok(asked("{\"a\":\"b=c\"}")));
        assert_eq!(read(&["--input"]), Err(USAGE));
        assert_eq!(read(&["input"]), Err(USAGE));
        assert_eq!(read(&["--ephemeral"]), Ok(Asked { ephemeral: true, ..Asked::default() }));
        assert_eq!(read(&["--ephemeral=yes"]), Err(USAGE));
    }
}
