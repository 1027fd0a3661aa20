//! `ltc run`: a workflow, run. The output goes to stdout as JSON, and nothing else does.

use super::printed;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::progress::Progress;
use crate::report::{Report, from_problem};
use crate::traces::said;
use crate::{documents, files, servers};
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::clock::{Moment, unique_name};
use ltc_runtime::engine::Rest;
use ltc_runtime::environment::{Environment, ProcessEnvironment};
use ltc_runtime::journal::Journal;
use ltc_runtime::observe::{Log, Observer};
use ltc_runtime::perform::RunName;
use ltc_runtime::pool::Connections;
use ltc_runtime::preflight;
use ltc_runtime::run::{Given, Prepared, Request, prepare};
use ltc_runtime::upstream::{Connector, Limits};
use ltc_workflow::advance::{Effect, Failure, StepKey};
use ltc_workflow::document;
use ltc_workflow::{Value, Workflow, json};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Run a workflow
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workflow; - is stdin
    #[arg(value_name = "WORKFLOW")]
    workflow: PathBuf,
    /// The input: JSON, @ and the name of a JSON file, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "{}")]
    input: String,
    /// A file like .mcp.json: servers that the workflow lacks, or that are reached in another way than it says
    #[arg(long, value_name = "FILE")]
    servers: Option<PathBuf>,
    /// A name for the run; it is given one where this is not
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// How long a call may take whose step has no timeout of its own
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    timeout: Duration,
    /// How long a server may take to start
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    connect_timeout: Duration,
    /// Fail before step one where the schema of a tool is not the one that the workflow was compiled against
    #[arg(long)]
    deny_drift: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = document::Duration::parse(text).ok_or("a time is written like 250ms, 2s, 1m30s or 1h")?;
    Ok(Duration::from_millis(duration.millis))
}

/// The environment, and where this very command is: examples start a server with `${LTC}`.
struct WithOurselves;

impl Environment for WithOurselves {
    fn get(&self, name: &str) -> Option<String> {
        let own = || std::env::current_exe().ok()?.into_os_string().into_string().ok();
        ProcessEnvironment.get(name).or_else(|| if name == "LTC" { own() } else { None })
    }
}

/// Runs.
pub fn run(arguments: &Arguments, report: Report) -> Exit {
    match prepared(arguments, &report) {
        Ok(prepared) => {
            let report = Report { redactor: prepared.redactor(), ..report };
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            match runtime {
                Ok(runtime) => runtime.block_on(go(prepared, arguments, &report)),
                Err(error) => said(&[Diagnostic::new(Severity::Error, "no-threads", "", error.to_string())], Exit::Failed, &report),
            }
        }
        Err(exit) => exit,
    }
}

fn prepared(arguments: &Arguments, report: &Report) -> Result<Prepared, Exit> {
    if arguments.workflow == Path::new("-") && arguments.input == "-" {
        let problem = Diagnostic::new(Severity::Error, "two-readers", "", "the workflow and the input cannot both come from stdin");
        return Err(said(&[problem], Exit::Usage, report));
    }
    let workflow = documents::read(&arguments.workflow, report)?;
    let library = library(&workflow, &arguments.workflow, report)?;
    let input = input(&arguments.input, report)?;
    let servers = match &arguments.servers {
        Some(path) => servers::read(path, report)?,
        None => BTreeMap::new(),
    };
    let id = arguments.id.clone().unwrap_or_else(unique_name);
    let run = RunName { id: id.into(), started_at: Moment::now().to_string().into() };
    let request = Request { workflow, library, input: Given::Plain(&input), servers: &servers, environment: &WithOurselves, run };
    prepare(request).map_err(|problems| {
        report.say_problems(problems);
        Exit::Invalid
    })
}

fn input(given: &str, report: &Report) -> Result<Value, Exit> {
    let (name, text) = match given.strip_prefix('@') {
        Some(path) => (path.to_owned(), files::read(Path::new(path)).map_err(|problem| said(&[problem], Exit::Usage, report))?),
        None if given == "-" => ("stdin".to_owned(), files::read(Path::new("-")).map_err(|problem| said(&[problem], Exit::Usage, report))?),
        None => ("--input".to_owned(), given.as_bytes().to_vec()),
    };
    json::parse(&text).map_err(|error| {
        let problem = Diagnostic::new(Severity::Error, "invalid-input", name, format!("the input is no JSON: {error}"));
        said(&[problem.help("a file is given as --input @FILE")], Exit::Invalid, report)
    })
}

/// How many workflows one may lead to.
const MOST_WORKFLOWS: usize = 64;

/// The workflows that `workflow` runs, and that those run: each lies beside it, in a file of its name.
fn library(workflow: &Workflow, path: &Path, report: &Report) -> Result<BTreeMap<SmolStr, Workflow>, Exit> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut found: BTreeMap<SmolStr, Workflow> = BTreeMap::new();
    let mut wanted: Vec<SmolStr> = preflight::runs(workflow).into_iter().collect();
    while let Some(name) = wanted.pop() {
        // A workflow's name has no dots and slashes: it cannot lead out of the folder.
        let beside = ["yaml", "yml"].map(|extension| folder.join(format!("{name}.{extension}")));
        let Some(file) = beside.iter().find(|file| file.is_file()).filter(|_| name != workflow.name && !found.contains_key(&name)) else {
            continue;
        };
        if found.len() == MOST_WORKFLOWS {
            let message = format!("the workflow leads to more than {MOST_WORKFLOWS} others");
            return Err(said(&[Diagnostic::new(Severity::Error, "too-many-workflows", files::name(path), message)], Exit::Invalid, report));
        }
        let read = documents::read(file, report)?;
        wanted.extend(preflight::runs(&read));
        found.insert(name, read);
    }
    Ok(found)
}

async fn go(prepared: Prepared, arguments: &Arguments, report: &Report) -> Exit {
    let progress = Arc::new(Progress::new(report.clone()));
    let mut interrupts = Interrupts::new();
    let exit = to_rest(prepared, arguments, report, &progress, &mut interrupts).await;
    progress.finish();
    exit
}

async fn to_rest(
    prepared: Prepared,
    arguments: &Arguments,
    report: &Report,
    progress: &Arc<Progress>,
    interrupts: &mut Interrupts,
) -> Exit {
    let limits = Limits { connect: arguments.connect_timeout, call: arguments.timeout };
    let (log, observer): (Arc<dyn Log>, Arc<dyn Observer>) = (progress.clone(), progress.clone());
    let connections = Arc::new(Connections::new(Connector { log, limits }));
    let connected = tokio::select! {
        connected = prepared.connect(&connections) => connected,
        () = interrupts.next() => return interrupted(progress, "no step was done"),
    };
    let (run, drifted) = match connected {
        Ok(connected) => connected,
        Err(problems) => {
            problems.into_iter().for_each(|problem| progress.say(&from_problem(problem, Severity::Error)));
            connections.close().await;
            return Exit::Failed;
        }
    };
    let severity = if arguments.deny_drift { Severity::Error } else { Severity::Warning };
    let is_refused = arguments.deny_drift && !drifted.is_empty();
    drifted.into_iter().for_each(|problem| progress.say(&from_problem(problem, severity)));
    let exit = if is_refused {
        Exit::Failed
    } else {
        let journal = Journal::in_memory(run.world(), observer.clone(), tokio::sync::watch::channel(None).1);
        tokio::select! {
            rest = run.go(&journal, observer.as_ref()) => {
                progress.finish();
                shown(rest, report)
            }
            () = interrupts.next() => interrupted(progress, "calls under way may have done something or not"),
        }
    };
    // The result is there already: nobody has to wait for a server that takes its time to end.
    tokio::select! {
        () = connections.close() => {}
        () = interrupts.next() => {}
    }
    exit
}

fn interrupted(progress: &Progress, what: &str) -> Exit {
    progress.say(&Diagnostic::new(Severity::Error, "interrupted", "", format!("the run was interrupted; {what}")));
    Exit::Interrupted
}

fn shown(rest: Rest, report: &Report) -> Exit {
    match rest {
        Rest::Done(output) => {
            let output = report.redactor.value(&output);
            let text = if std::io::stdout().is_terminal() { json::to_string_pretty(&output) } else { json::to_string(&output) };
            printed(&format!("{text}\n"), Exit::Done, report)
        }
        Rest::Failed(failure) => said(&[failed(failure)], Exit::Failed, report),
        Rest::Interrupted(_) => Exit::Interrupted,
        Rest::Waiting { steps: questions, wake_at: _ } => said(&questions.iter().map(waits).collect::<Vec<_>>(), Exit::Waiting, report),
    }
}

fn failed(failure: Failure) -> Diagnostic {
    let place = failure.step.map(|step| format!("step {step}")).unwrap_or_default();
    let Failure { code, message, .. } = failure;
    Diagnostic::new(Severity::Error, "run-failed", place, format!("{code}: {message}"))
}

fn waits((key, effect): &(StepKey, Effect)) -> Diagnostic {
    let asked = match effect {
        Effect::Escalate { role, message, .. } => format!("{role} is asked: {message}"),
        Effect::Run { workflow, .. } => format!("the workflow {workflow} asks a person"),
        Effect::Call { .. } | Effect::Sleep(_) => "it waits".to_owned(),
    };
    let message = format!("{asked}\nA run that lives in memory cannot wait for a person: it ends here, and what it did stays done.");
    Diagnostic::new(Severity::Error, "waiting-for-a-person", format!("step {key}"), message)
}
