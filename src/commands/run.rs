//! `ltc run`: a workflow, run. The output goes to stdout as JSON, and nothing else does.

mod memory;

use super::printed;
use crate::due::until_due;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::opened::{self, ServerArguments, StoreArguments};
use crate::progress::Progress;
use crate::report::{Report, from_problem};
use crate::traces::said;
use crate::{documents, files};
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::definition::Bundle;
use ltc_runtime::drive::{Asked, Left};
use ltc_runtime::durable::{Interrupted, Stop};
use ltc_runtime::engine::Rest;
use ltc_runtime::problem::Problem;
use ltc_runtime::service::{Begun, Refusal, RunStatus, RunView, Service};
use ltc_runtime::store::RunId;
use ltc_workflow::advance::{Effect, Failure, StepKey};
use ltc_workflow::{Value, json};
use smol_str::SmolStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Run a workflow
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workflow: a file, - for stdin, or the name of a deployed one
    #[arg(value_name = "WORKFLOW")]
    workflow: PathBuf,
    /// The input: JSON, @ and the name of a JSON file, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "{}")]
    input: String,
    /// A name for the run; a run of that name that is there already is gone on with, or its result is given
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// How long the run may take
    #[arg(long, value_name = "TIME", value_parser = opened::duration)]
    deadline: Option<std::time::Duration>,
    /// Keep nothing: the run lives in memory, and cannot be resumed
    #[arg(long, conflicts_with_all = ["id", "store", "deadline"])]
    ephemeral: bool,
    /// Fail before step one where the schema of a tool is not the one that the workflow was compiled against
    #[arg(long)]
    deny_drift: bool,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    servers: ServerArguments,
}

/// Runs.
pub fn run(arguments: &Arguments, report: Report) -> Exit {
    match ready(arguments, &report) {
        Ok((bundle, input)) => match opened::threads(&report) {
            Ok(threads) => threads.block_on(go(bundle, input, arguments, report)),
            Err(exit) => exit,
        },
        Err(exit) => exit,
    }
}

/// What is to be run: a document, or the name of a deployed workflow.
enum What {
    Document(Box<Bundle>),
    Deployed(SmolStr),
}

fn ready(arguments: &Arguments, report: &Report) -> Result<(What, Value), Exit> {
    if arguments.workflow == Path::new("-") && arguments.input == "-" {
        let problem = Diagnostic::new(Severity::Error, "two-readers", "", "the workflow and the input cannot both come from stdin");
        return Err(said(&[problem], Exit::Usage, report));
    }
    let name = arguments.workflow.to_str().filter(|name| is_name(name) && !arguments.workflow.exists() && !arguments.ephemeral);
    let what = match name {
        Some(name) => What::Deployed(name.into()),
        None => {
            let workflow = documents::read(&arguments.workflow, report)?;
            let library = documents::library(&workflow, &arguments.workflow, report)?;
            What::Document(Box::new(Bundle { workflow, library }))
        }
    };
    Ok((what, argument("--input", &arguments.input, report)?))
}

/// Whether this can be the name of a workflow. Names have no dots and slashes.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "-" && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

/// The value of the argument `option`: JSON, `@` and the name of a JSON file, or `-`.
///
/// # Errors
/// How the command ends; why has been said.
pub fn argument(option: &'static str, given: &str, report: &Report) -> Result<Value, Exit> {
    let (name, text) = files::given(option, given).map_err(|problem| said(&[problem], Exit::Usage, report))?;
    json::parse(&text).map_err(|error| {
        let problem = Diagnostic::new(Severity::Error, "invalid-input", name, format!("this is no JSON: {error}"));
        said(&[problem.help(format!("a file is given as {option} @FILE"))], Exit::Invalid, report)
    })
}

async fn go(what: What, input: Value, arguments: &Arguments, report: Report) -> Exit {
    let progress = Arc::new(Progress::new(report));
    let mut interrupts = Interrupts::new();
    let exit = match what {
        What::Document(bundle) if arguments.ephemeral => memory::in_memory(*bundle, &input, arguments, &progress, &mut interrupts).await,
        what => kept(what, &input, arguments, &progress, &mut interrupts).await,
    };
    progress.finish();
    exit
}

/// A run that is kept.
async fn kept(what: What, input: &Value, arguments: &Arguments, progress: &Arc<Progress>, interrupts: &mut Interrupts) -> Exit {
    let opened = match opened::open(&arguments.store, &arguments.servers, progress).await {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    let id = arguments.id.as_ref().map(|id| RunId(id.into()));
    let begun = tokio::select! {
        begun = begun(&opened.service, what, input, id, arguments, progress) => begun,
        () = interrupts.next() => {
            progress.say(&Diagnostic::new(Severity::Error, "interrupted", "", "the run was interrupted; no step was done"));
            Err(Exit::Interrupted)
        }
    };
    let exit = match begun {
        Ok(begun) => to_rest(&opened.service, begun, progress, interrupts).await,
        Err(exit) => exit,
    };
    close(opened.adapter.as_ref(), interrupts).await;
    exit
}

/// The result is there already: nobody has to wait for a server that takes its time to end.
async fn close(adapter: &dyn ltc_runtime::adapter::McpAdapter, interrupts: &mut Interrupts) {
    tokio::select! {
        () = adapter.disconnect() => {}
        () = interrupts.next() => {}
    }
}

/// A run that this process has, or one that has ended before.
enum Began {
    Here(Begun),
    Before(RunId),
}

async fn begun(
    service: &Arc<Service>,
    what: What,
    input: &Value,
    id: Option<RunId>,
    arguments: &Arguments,
    progress: &Arc<Progress>,
) -> Result<Began, Exit> {
    let refused = |refusal: Refusal| opened::refused(refusal, &progress.report());
    if let Some(id) = &id {
        let known = service.driver().store().run(id).await.map_err(|error| refused(error.into()))?;
        if known.is_some() {
            return go_on(service, id, progress).await;
        }
    }
    let bundle = match what {
        What::Document(bundle) => Arc::from(bundle),
        What::Deployed(name) => {
            service
                .workflow(&name, None)
                .await
                .map_err(|refusal| {
                    let missing = format!("there is no file and no deployed workflow `{name}`");
                    let refusal = if refusal.code == ltc_runtime::service::Code::NotFound {
                        Refusal { message: missing, ..refusal }
                    } else {
                        refusal
                    };
                    refused(refusal)
                })?
                .1
        }
    };
    let checked = service.driver().check(Asked { bundle: &bundle, input, id, limit: arguments.deadline }).await.map_err(|problems| {
        progress.report().say_problems(problems);
        Exit::Invalid
    })?;
    let connected = checked.connect(service.driver()).await;
    let (connected, drifted) = connected.map_err(|problems| {
        problems.into_iter().for_each(|problem| progress.say(&from_problem(problem, Severity::Error)));
        Exit::Failed
    })?;
    is_accepted(drifted, arguments, progress)?;
    service.begin(connected, progress.clone()).await.map(Began::Here).map_err(refused)
}

/// Tells what has drifted.
fn is_accepted(drifted: Vec<Problem>, arguments: &Arguments, progress: &Progress) -> Result<(), Exit> {
    let severity = if arguments.deny_drift { Severity::Error } else { Severity::Warning };
    let is_refused = arguments.deny_drift && !drifted.is_empty();
    drifted.into_iter().for_each(|problem| progress.say(&from_problem(problem, severity)));
    if is_refused { Err(Exit::Failed) } else { Ok(()) }
}

async fn go_on(service: &Arc<Service>, id: &RunId, progress: &Arc<Progress>) -> Result<Began, Exit> {
    match service.go_on(id, progress.clone()).await {
        Ok(Some(begun)) => Ok(Began::Here(begun)),
        Ok(None) => Ok(Began::Before(id.clone())),
        Err(refusal) => Err(opened::refused(refusal, &progress.report())),
    }
}

/// Goes on with a run that is there: what `ltc resume` does.
pub async fn resumed(service: &Arc<Service>, id: &RunId, progress: &Arc<Progress>, interrupts: &mut Interrupts) -> Exit {
    match go_on(service, id, progress).await {
        Ok(began) => to_rest(service, began, progress, interrupts).await,
        Err(exit) => exit,
    }
}

async fn to_rest(service: &Arc<Service>, began: Began, progress: &Arc<Progress>, interrupts: &mut Interrupts) -> Exit {
    let keeping = service.driver().clone();
    let leases = tokio::spawn(async move { keeping.keep_leases().await });
    let exit = until_rest(service, began, progress, interrupts).await;
    leases.abort();
    exit
}

async fn until_rest(service: &Arc<Service>, began: Began, progress: &Arc<Progress>, interrupts: &mut Interrupts) -> Exit {
    let mut began = began;
    loop {
        let mut begun = match began {
            Began::Here(begun) => begun,
            Began::Before(id) => return ended(service, &id, progress).await,
        };
        let id = begun.id.clone();
        let left = tokio::select! {
            left = begun.left() => left,
            () = interrupts.next() => {
                service.driver().stop(&id, Stop::Shutdown);
                tokio::select! {
                    left = begun.left() => left,
                    () = tokio::time::sleep(GRACE) => return cut_off(service, begun, progress).await,
                    () = interrupts.next() => return cut_off(service, begun, progress).await,
                }
            }
        };
        match left {
            Left::Rested(Rest::Done(_) | Rest::Failed(_)) => return ended(service, &id, progress).await,
            Left::Rested(Rest::Interrupted(Interrupted::Stopped(Stop::Shutdown))) => return interrupted(progress, &id),
            Left::Rested(Rest::Interrupted(_)) => return ended(service, &id, progress).await,
            Left::Rested(Rest::Waiting { steps, wake_at }) => {
                if wake_at.is_none() || steps.iter().any(asks) {
                    return waits(service, &id, progress).await;
                }
            }
            Left::Refused(problems) => {
                problems.into_iter().for_each(|problem| progress.say(&from_problem(problem, Severity::Error)));
                return Exit::Failed;
            }
            Left::Lost(error) => {
                let problem = Diagnostic::new(Severity::Error, "run-lost", format!("run {}", id.0), error.to_string());
                progress.say(&problem.help(format!("what is recorded is done; `ltc resume {}` goes on", id.0)));
                return Exit::Failed;
            }
        }
        tokio::select! {
            () = until_due(service, &id) => {}
            () = interrupts.next() => return interrupted(progress, &id),
        }
        began = match go_on(service, &id, progress).await {
            Ok(began) => began,
            Err(exit) => return exit,
        };
    }
}

/// How long calls that are under way may go on when the command is interrupted.
const GRACE: std::time::Duration = std::time::Duration::from_secs(3);

async fn cut_off(service: &Arc<Service>, begun: Begun, progress: &Progress) -> Exit {
    let id = begun.id.clone();
    if let Err(refusal) = begun.cut_off(service).await {
        return opened::refused(refusal, &progress.report());
    }
    let problem =
        Diagnostic::new(Severity::Error, "interrupted", format!("run {}", id.0), "the run was cut off while a call was under way");
    progress.say(
        &problem.help(format!("`ltc resume {}` goes on with it, and asks about calls of which nobody knows whether they were made", id.0)),
    );
    Exit::Interrupted
}

fn asks((_, effect): &(StepKey, Effect)) -> bool {
    match effect {
        // A call that waits is in doubt, and a person is asked about it.
        Effect::Escalate { .. } | Effect::Call { .. } | Effect::Run { .. } => true,
        Effect::Sleep(_) => false,
    }
}

fn interrupted(progress: &Progress, id: &RunId) -> Exit {
    let problem = Diagnostic::new(Severity::Error, "interrupted", format!("run {}", id.0), "the run was interrupted");
    progress.say(&problem.help(format!("`ltc resume {}` goes on with it", id.0)));
    Exit::Interrupted
}

async fn view(service: &Arc<Service>, id: &RunId, progress: &Progress) -> Result<RunView, Exit> {
    service.view(id).await.map_err(|refusal| opened::refused(refusal, &progress.report()))
}

/// Shows how a run ended.
async fn ended(service: &Arc<Service>, id: &RunId, progress: &Progress) -> Exit {
    progress.finish();
    let view = match view(service, id, progress).await {
        Ok(view) => view,
        Err(exit) => return exit,
    };
    let report = progress.report();
    match (view.status, view.failure) {
        (RunStatus::Done, _) => printed_output(&view.output.map(|output| output.0).unwrap_or_default(), &report),
        (RunStatus::Failed, Some(failure)) => {
            let step = failure.step.map(|step| StepKey(step.into()));
            said(&[failed(Failure { code: failure.code.into(), message: failure.message, step })], Exit::Failed, &report)
        }
        (RunStatus::Cancelled | RunStatus::Failed, _) => said(
            &[Diagnostic::new(Severity::Error, "run-cancelled", format!("run {}", id.0), "the run was cancelled")],
            Exit::Failed,
            &report,
        ),
        (RunStatus::Queued | RunStatus::Running | RunStatus::Waiting, _) => waits(service, id, progress).await,
    }
}

fn printed_output(output: &Value, report: &Report) -> Exit {
    let text = if std::io::stdout().is_terminal() { json::to_string_pretty(output) } else { json::to_string(output) };
    printed(&format!("{text}\n"), Exit::Done, report)
}

fn failed(failure: Failure) -> Diagnostic {
    let place = failure.step.map(|step| format!("step {step}")).unwrap_or_default();
    let Failure { code, message, .. } = failure;
    Diagnostic::new(Severity::Error, "run-failed", place, format!("{code}: {message}"))
}

/// Says what a run waits for.
async fn waits(service: &Arc<Service>, id: &RunId, progress: &Progress) -> Exit {
    progress.finish();
    let view = match view(service, id, progress).await {
        Ok(view) => view,
        Err(exit) => return exit,
    };
    let report = progress.report();
    let place = format!("run {}", id.0);
    if view.escalations.is_empty() {
        let message = "the run goes on when its time has come, or in another process";
        return said(
            &[Diagnostic::new(Severity::Note, "waiting", place, message).help(format!("`ltc resume {}` goes on with it", id.0))],
            Exit::Waiting,
            &report,
        );
    }
    for escalation in view.escalations {
        let input = opened::entries([("escalation_id", Some(Value::from(escalation.as_str())))]);
        let caller = ltc_runtime::service::Caller::new(Arc::new(ltc_runtime::observe::Unobserved));
        let asked = match opened::call(service, "check_resolution", input, caller, &report).await {
            Ok(asked) => asked,
            Err(exit) => return exit,
        };
        let text = |key: &str| asked.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let problem = Diagnostic::new(
            Severity::Note,
            "waiting-for-a-person",
            format!("run {}, step {}", id.0, text("step")),
            format!("{} is asked: {}", text("role"), text("message")),
        );
        report.say(&problem.help(format!("`ltc resolve {escalation} ANSWER` answers, `ltc resume {}` goes on then", id.0)));
    }
    Exit::Waiting
}
