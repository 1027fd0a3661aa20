//! A run that lives in memory: what `ltc run --ephemeral` does.

use super::{Arguments, close, failed, is_accepted, printed_output};
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::opened::WithOurselves;
use crate::progress::Progress;
use crate::report::from_problem;
use crate::traces::said;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::clock::{Moment, unique_name};
use ltc_runtime::definition::Bundle;
use ltc_runtime::engine::Rest;
use ltc_runtime::journal::Journal;
use ltc_runtime::perform::RunName;
use ltc_runtime::run::{Given, Request, prepare};
use ltc_runtime::secrets::Redactor;
use ltc_workflow::Value;
use ltc_workflow::advance::{Effect, StepKey};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

/// A run that lives in memory.
pub(super) async fn in_memory(
    bundle: Bundle,
    input: &Value,
    arguments: &Arguments,
    progress: &Arc<Progress>,
    interrupts: &mut Interrupts,
) -> Exit {
    let servers = match arguments.servers.read(&progress.report()) {
        Ok(servers) => servers,
        Err(exit) => return exit,
    };
    let Bundle { workflow, library } = bundle;
    let run = RunName { id: unique_name().into(), started_at: Moment::now().to_string().into() };
    let (input, registry) = (Given::Plain(input), BTreeMap::new());
    let request = Request { workflow, library, input, servers: &servers, registry: &registry, environment: &WithOurselves, run };
    let prepared = match prepare(request) {
        Ok(prepared) => prepared,
        Err(problems) => {
            progress.report().say_problems(problems);
            return Exit::Invalid;
        }
    };
    let adapter = arguments.servers.adapter(progress.clone());
    let connected = tokio::select! {
        connected = prepared.connect(adapter.clone()) => connected,
        () = interrupts.next() => return unkept(progress, "no step was done"),
    };
    let exit = match connected {
        Ok((run, drifted)) => match is_accepted(drifted, arguments, progress) {
            Ok(()) => {
                let (_stop, stopped) = watch::channel(None);
                let journal = Journal::in_memory(run.world(), progress.clone(), stopped);
                tokio::select! {
                    rest = run.go(&journal, progress.as_ref()) => shown(rest, &run.redactor(), progress),
                    () = interrupts.next() => unkept(progress, "calls under way may have done something or not"),
                }
            }
            Err(exit) => exit,
        },
        Err(problems) => {
            problems.into_iter().for_each(|problem| progress.say(&from_problem(problem, Severity::Error)));
            Exit::Failed
        }
    };
    close(adapter.as_ref(), interrupts).await;
    exit
}

fn unkept(progress: &Progress, what: &str) -> Exit {
    progress.say(&Diagnostic::new(Severity::Error, "interrupted", "", format!("the run was interrupted; {what}")));
    Exit::Interrupted
}

fn shown(rest: Rest, redactor: &Redactor, progress: &Progress) -> Exit {
    progress.finish();
    let report = progress.report();
    match rest {
        Rest::Done(output) => printed_output(&redactor.value(&output), &report),
        Rest::Failed(failure) => said(&[failed(failure)], Exit::Failed, &report),
        Rest::Waiting { steps, wake_at: _ } => said(&steps.iter().map(cannot_wait).collect::<Vec<_>>(), Exit::Waiting, &report),
        Rest::Interrupted(_) => unkept(progress, "calls under way may have done something or not"),
    }
}

fn cannot_wait((key, effect): &(StepKey, Effect)) -> Diagnostic {
    let asked = match effect {
        Effect::Escalate { role, message, .. } => format!("{role} is asked: {message}"),
        Effect::Run { workflow, .. } => format!("the workflow {workflow} asks a person"),
        Effect::Call { .. } | Effect::Sleep(_) => "it waits".to_owned(),
    };
    let message = format!("{asked}\nA run that lives in memory cannot wait for a person: it ends here, and what it did stays done.");
    Diagnostic::new(Severity::Error, "waiting-for-a-person", format!("step {key}"), message).help("without --ephemeral the run is kept")
}
