//! What a breach of the recorded world is called: one constructor a message.

use super::Run;
use super::differ::{Difference, shown};
use super::replay::{Breach, Replay};
use super::secrets;
use crate::diagnostics::{Diagnostic, Severity};
use crate::script::Act;
use crate::secrecy::{has_secret_shape, looks_secret};
use ltc_workflow::advance::{Failure, StepKey};
use ltc_workflow::document::Workflow;
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value};

/// How many differences of a run are told one by one.
const MOST_TOLD: usize = 20;
/// How many calls that are not made are told one by one.
const MOST_MISSING: usize = 5;

/// What a replay in the recorded world has to say.
pub fn recorded(workflow: &Workflow, run: &Run, replay: &Replay) -> Vec<Diagnostic> {
    let mut found = breaches(workflow, run, &replay.breaches);
    if let Some(more) = found.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        found.truncate(MOST_TOLD);
        found.push(error("the recording", format!("{more} more differences")));
    }
    found.extend(replay.asked.iter().take(MOST_TOLD).map(|step| asks(&at(step), run.may_ask)));
    found.into_iter().map(|d| Diagnostic { place: run.placed(&d.place), ..d }).collect()
}

/// What breaches have to say, without the run that they are in.
pub fn breaches(workflow: &Workflow, run: &Run, breaches: &[Breach]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut missing = 0_usize;
    for breach in breaches {
        match breach {
            Breach::Differs { step, call, differences } => {
                let act = run.script.calls.get(*call);
                found.extend(differences.iter().map(|d| differs(&at(step), act, d)));
            }
            Breach::NotRecorded { step, tool, arguments } => found.push(not_recorded(&at(step), tool, arguments)),
            Breach::Missing { call } => {
                missing += 1;
                if missing <= MOST_MISSING {
                    found.extend(run.script.calls.get(*call).map(not_made));
                }
            }
            Breach::Misplaced { step, call, other, should_follow } => {
                if let (Some(act), Some(other)) = (run.script.calls.get(*call), run.script.calls.get(*other)) {
                    found.push(misplaced(&at(step), act, other, *should_follow));
                }
            }
            Breach::Unanswerable { step, workflow } => found.push(runs_another(&at(step), workflow)),
            Breach::Failed(failure) => found.push(failed(failure)),
            Breach::Output(difference) if is_open(workflow, difference) => found.push(open_output(difference)),
            Breach::Output(difference) => found.push(output_differs(difference)),
        }
    }
    if missing > MOST_MISSING {
        found.push(more_missing(missing - MOST_MISSING));
    }
    found
}

/// Whether a breach makes the workflow wrong: everything does but an output that the workflow leaves open on purpose.
pub fn is_error(workflow: &Workflow, breach: &Breach) -> bool {
    match breach {
        Breach::Output(difference) => !is_open(workflow, difference),
        Breach::Differs { .. }
        | Breach::NotRecorded { .. }
        | Breach::Missing { .. }
        | Breach::Misplaced { .. }
        | Breach::Unanswerable { .. }
        | Breach::Failed(_) => true,
    }
}

/// Whether the workflow has a literal null where its output differs.
fn is_open(workflow: &Workflow, difference: &Difference) -> bool {
    let Some(mut at) = workflow.output.as_ref() else { return false };
    for key in difference.pointer.split('/').skip(1) {
        let key = key.replace("~1", "/").replace("~0", "~");
        let inner = match at {
            Template::Object(entries) => entries.iter().find(|(k, _)| *k == key).map(|(_, t)| t),
            Template::Array(items) => key.parse::<usize>().ok().and_then(|i| items.get(i)),
            Template::Literal(_) | Template::Expr(_) | Template::Text(_) => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return false,
        }
    }
    *at == Template::Literal(Value::Null)
}

fn at(step: &StepKey) -> String {
    format!("step {step}")
}

fn error(place: impl Into<String>, message: String) -> Diagnostic {
    Diagnostic::new(Severity::Error, super::REPLAY_DIFFERS, place, message)
}

fn differs(place: &str, act: Option<&Act>, difference: &Difference) -> Diagnostic {
    let call = act.map(Act::place).unwrap_or_default();
    let expected = if may_be_secret(difference) { "a value that may be secret".to_owned() } else { difference.expected_text() };
    let (at, made) = (difference.place_text(), difference.made_text());
    error(place, format!("{call} was recorded with {expected}{at}; the workflow sends {made}"))
}

/// Whether what was recorded at a place is not for messages: the workflow has a secret there, or should have one.
fn may_be_secret(difference: &Difference) -> bool {
    let key = difference.pointer.rsplit('/').next().unwrap_or_default();
    looks_secret(key)
        || difference.made.as_ref().is_some_and(secrets::is_open)
        || difference.expected.as_ref().and_then(Value::as_str).is_some_and(has_secret_shape)
}

fn not_recorded(place: &str, tool: &str, arguments: &Object) -> Diagnostic {
    let arguments = shown(&Value::Object(arguments.clone()));
    error(place, format!("calls {tool} with {arguments}; the recording has no such call, or it was made already"))
}

fn not_made(act: &Act) -> Diagnostic {
    let arguments = shown(&Value::Object(act.arguments.clone()));
    let known = if act.effect_is_known { "" } else { " (nothing says that the tool only reads)" };
    error(act.place(), format!("was recorded with {arguments}; the workflow does not make it{known}"))
}

fn more_missing(more: usize) -> Diagnostic {
    error("the recording", format!("{more} more recorded calls are not made"))
}

fn misplaced(place: &str, act: &Act, other: &Act, should_follow: bool) -> Diagnostic {
    let order = if should_follow { "before" } else { "after" };
    let recorded = if should_follow { "after" } else { "before" };
    error(place, format!("{} is made {order} {}; it was recorded {recorded} it", act.place(), other.place()))
}

fn runs_another(place: &str, workflow: &str) -> Diagnostic {
    error(place, format!("runs the workflow {workflow}, of which the recording knows nothing"))
}

fn failed(failure: &Failure) -> Diagnostic {
    let place = failure.step.as_ref().map_or_else(|| "output".to_owned(), at);
    error(place, format!("the run fails in the recorded world: {} ({})", failure.message, failure.code))
}

fn output_differs(difference: &Difference) -> Diagnostic {
    let (expected, made) = (difference.expected_text(), difference.made_text());
    error("output", format!("the recorded output is {expected}{}; the workflow returns {made}", difference.place_text()))
}

fn open_output(difference: &Difference) -> Diagnostic {
    let place = difference.place_text();
    let message = format!("the recorded output is {}{place}; the workflow returns null there", difference.expected_text());
    Diagnostic::new(Severity::Question, "open-output", "output", message)
}

fn asks(place: &str, may: bool) -> Diagnostic {
    if !may {
        return Diagnostic::new(Severity::Error, "asks-a-person", place, "asks a person where the recorded run asked nobody");
    }
    Diagnostic::new(Severity::Note, "asks-a-person", place, "asks a person; the recording has no answer, so null was given")
}

/// The recording was given something that the workflow no longer takes.
pub fn input_not_taken(run: &str, key: &str) -> Diagnostic {
    let place = if run.is_empty() { format!("input {key}") } else { format!("{run}, input {key}") };
    Diagnostic::new(Severity::Note, "input-not-taken", place, "the recording was given it; the workflow does not take it")
}
