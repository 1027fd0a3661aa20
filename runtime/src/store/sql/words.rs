//! Statuses, kinds and JSON as the texts that are kept. Each word stands once, so that what is written can be read.

use super::{Bound, Done, Fault};
use crate::clock::Moment;
use crate::store::{EscalationId, EscalationStatus, Happened, ServerStatus, Status, VersionState, What};
use ltc_workflow::advance::{Failure, StepKey};
use ltc_workflow::json::{self, MAX_DEPTH};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

/// The word for a run's status.
pub(super) fn status(status: Status) -> &'static str {
    match status {
        Status::Queued => "queued",
        Status::Running => "running",
        Status::Waiting => "waiting",
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Cancelled => "cancelled",
    }
}

/// The word for a question's status.
pub(super) fn escalation_status(status: EscalationStatus) -> &'static str {
    match status {
        EscalationStatus::Pending => "pending",
        EscalationStatus::Claimed => "claimed",
        EscalationStatus::Resolved => "resolved",
        EscalationStatus::Closed => "closed",
    }
}

/// The word for a version's state.
pub(super) fn version_state(state: VersionState) -> &'static str {
    match state {
        VersionState::Draft => "draft",
        VersionState::Deployed => "deployed",
        VersionState::Active => "active",
        VersionState::Archived => "archived",
    }
}

/// The word for how a server was last found.
pub(super) fn server_status(status: ServerStatus) -> &'static str {
    match status {
        ServerStatus::Registered => "registered",
        ServerStatus::Connected => "connected",
        ServerStatus::Error => "error",
        ServerStatus::Disconnected => "disconnected",
    }
}

/// The one of `all` that `word` stands for.
fn meant<T: Copy>(word: &str, all: &[T], spelled: fn(T) -> &'static str) -> Done<T> {
    let found = all.iter().copied().find(|one| spelled(*one) == word);
    found.ok_or_else(|| Fault::broken(format!("this program does not know the word `{}`", crate::text::one_line(word))))
}

pub(super) fn read_status(word: &str) -> Done<Status> {
    use Status::{Cancelled, Done, Failed, Queued, Running, Waiting};
    meant(word, &[Queued, Running, Waiting, Done, Failed, Cancelled], status)
}

pub(super) fn read_escalation_status(word: &str) -> Done<EscalationStatus> {
    use EscalationStatus::{Claimed, Closed, Pending, Resolved};
    meant(word, &[Pending, Claimed, Resolved, Closed], escalation_status)
}

pub(super) fn read_version_state(word: &str) -> Done<VersionState> {
    use VersionState::{Active, Archived, Deployed, Draft};
    meant(word, &[Draft, Deployed, Active, Archived], version_state)
}

pub(super) fn read_server_status(word: &str) -> Done<ServerStatus> {
    use ServerStatus::{Connected, Disconnected, Error, Registered};
    meant(word, &[Registered, Connected, Error, Disconnected], server_status)
}

/// The text of a value.
///
/// # Errors
/// One that is nested deeper than our readers go, since nobody could read the journal any more.
pub(super) fn json(value: &Value) -> Done<Bound> {
    if is_deeper_than(value, MAX_DEPTH) {
        return Err(Fault::broken(format!("a value has more than {MAX_DEPTH} levels of nesting")));
    }
    Ok(Bound::from(json::to_string(value)))
}

/// The text of a value, or NULL.
pub(super) fn maybe_json(value: Option<&Value>) -> Done<Bound> {
    value.map_or(Ok(Bound::Text(None)), json)
}

/// Whether `value` has more than `levels` of nesting; a scalar alone is one.
fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return true;
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, below)),
        Value::Object(entries) => entries.iter().any(|(_, item)| is_deeper_than(item, below)),
    }
}

pub(super) fn read_json(text: &str) -> Done<Value> {
    json::parse(text.as_bytes())
        .map_err(|e| Fault::broken(format!("a value that is kept is no JSON: {}", crate::text::one_line(&e.to_string()))))
}

pub(super) fn maybe_read_json(text: Option<String>) -> Done<Option<Value>> {
    text.map(|text| read_json(&text)).transpose()
}

/// A failure as JSON.
pub(super) fn failure(failure: &Failure) -> Value {
    let mut object = Object::default();
    object.insert("code", Value::String(failure.code.clone()));
    object.insert("message", Value::string(failure.message.as_str()));
    if let Some(step) = &failure.step {
        object.insert("step", Value::String(step.0.clone()));
    }
    Value::Object(object)
}

pub(super) fn read_failure(value: &Value) -> Done<Failure> {
    let part = |name: &str| value.get(name).and_then(Value::as_str);
    let (Some(code), Some(message)) = (part("code"), part("message")) else {
        return Err(Fault::broken("a failure that is kept has no code or no message"));
    };
    Ok(Failure { code: SmolStr::new(code), message: message.to_owned(), step: part("step").map(|step| StepKey(SmolStr::new(step))) })
}

/// The kind of an event, and what else is kept of it.
pub(super) fn event(what: &What) -> Done<(&'static str, Bound)> {
    Ok(match what {
        What::Started => (STARTED, Bound::Text(None)),
        What::Succeeded(value) => (SUCCEEDED, json(value)?),
        What::Failed(why) => (FAILED, json(&failure(why))?),
        What::SleepUntil(moment) => (SLEEP_UNTIL, json(&Value::from(moment.0))?),
        What::Escalated(id) => (ESCALATED, json(&Value::String(id.0.clone()))?),
        What::Again => (AGAIN, Bound::Text(None)),
        What::Cancelled => (CANCELLED, Bound::Text(None)),
    })
}

const STARTED: &str = "started";
const SUCCEEDED: &str = "succeeded";
const FAILED: &str = "failed";
const SLEEP_UNTIL: &str = "sleep-until";
const ESCALATED: &str = "escalated";
const AGAIN: &str = "again";
const CANCELLED: &str = "cancelled";

pub(super) fn read_event(kind: &str, payload: Option<String>) -> Done<What> {
    let payload = maybe_read_json(payload)?;
    let what = match (kind, payload) {
        (STARTED, None) => What::Started,
        (SUCCEEDED, Some(value)) => What::Succeeded(value),
        (FAILED, Some(value)) => What::Failed(read_failure(&value)?),
        (SLEEP_UNTIL, Some(Value::Number(number))) => {
            What::SleepUntil(Moment(number.as_i64().ok_or_else(|| Fault::broken("a time that is kept is no time"))?))
        }
        (ESCALATED, Some(Value::String(id))) => What::Escalated(EscalationId(id)),
        (AGAIN, None) => What::Again,
        (CANCELLED, None) => What::Cancelled,
        (kind, _) => return Err(Fault::broken(format!("this program cannot read an event `{}`", crate::text::one_line(kind)))),
    };
    Ok(what)
}

/// What happened, for whoever needs no more.
pub(super) fn happened(kind: &str) -> Done<Happened> {
    Ok(match kind {
        STARTED => Happened::Started,
        SUCCEEDED => Happened::Succeeded,
        FAILED => Happened::Failed,
        SLEEP_UNTIL => Happened::Sleeps,
        ESCALATED => Happened::Asked,
        AGAIN | CANCELLED => Happened::Else,
        kind => return Err(Fault::broken(format!("this program cannot read an event `{}`", crate::text::one_line(kind)))),
    })
}
