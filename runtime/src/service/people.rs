//! Questions to people: asked, listed, answered.

use super::learn::Learned;
use super::refusal::Code;
use super::{Caller, Exact, Refusal, Service};
use crate::approximate::{Inexact, to_serde};
use crate::clock::{Moment, unique_name};
use crate::journal;
use crate::store::{
    EscalationFilter, EscalationId, EscalationRecord, EscalationStatus, Event, NewEscalation, Question, Resolution, Settled, TraceId, What,
};
use crate::text;
use crate::triage::{self, Place, Triaged};
use ltc_workflow::Value;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The inputs of the two ways to ask; serde's `flatten` would round numbers in `data`.
macro_rules! asking {
    ($(#[$about:meta])* $name:ident { $($(#[$more:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Who is asked: a role, like `reviewer`.
            pub role: String,
            /// What is asked.
            pub message: String,
            /// What is shown beside the message: any JSON.
            #[serde(default)]
            pub data: Option<Exact>,
            /// A word for the kind of question.
            #[serde(default = "mcp", rename = "type")]
            pub kind: String,
            /// A word that divides the kind.
            #[serde(default = "tool_call")]
            pub subtype: String,
            /// From 1, urgent, to 4.
            #[serde(default = "normal")]
            #[schemars(range(min = 1, max = 4))]
            pub priority: u8,
            /// The JSON Schema of the answer, where it has one.
            #[serde(default)]
            pub form: Option<Exact>,
            $($(#[$more])* pub $field: $kind,)*
        }

        impl $name {
            fn question(&self) -> Result<Question, Refusal> {
                if !(1..=4).contains(&self.priority) {
                    return Err(Refusal::new(Code::Invalid, "`priority` is a number from 1 (urgent) to 4"));
                }
                if let Some(Exact(form)) = &self.form {
                    validator(form)?;
                }
                // What is learned from an answer to such a question is run without anybody looking.
                if self.kind == triage::KIND {
                    return Err(Refusal::new(Code::Invalid, format!("questions of the type `{}` are asked by runs only", triage::KIND)));
                }
                Ok(Question {
                    role: self.role.as_str().into(),
                    kind: self.kind.as_str().into(),
                    subkind: self.subtype.as_str().into(),
                    priority: self.priority,
                    message: self.message.clone(),
                    data: self.data.clone().map(|data| data.0),
                    form: self.form.clone().map(|form| form.0),
                })
            }
        }
    };
}

asking! {
    /// What `escalate_to_human` takes.
    Escalate {}
}

asking! {
    /// What `escalate_and_wait` takes.
    EscalateAndWait {
        /// How many seconds to wait at most, 300 where it is left out.
        #[serde(default)]
        #[schemars(range(min = 1, max = 86400))]
        timeout_seconds: Option<u64>,
    }
}

fn mcp() -> String {
    "mcp".to_owned()
}

fn tool_call() -> String {
    "tool_call".to_owned()
}

fn normal() -> u8 {
    2
}

/// What `check_resolution` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckResolution {
    /// The id of the question.
    pub escalation_id: String,
}

/// What `get_available_work` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetAvailableWork {
    /// Only questions to this role.
    #[serde(default)]
    pub role: Option<String>,
    /// How many at most, 10 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
}

/// What `get_available_work` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AvailableWork {
    /// How many questions are in the list.
    pub count: usize,
    /// The questions.
    pub escalations: Vec<EscalationView>,
}

/// What `claim_and_resolve` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimAndResolve {
    /// The id of the question.
    pub escalation_id: String,
    /// Who answers.
    pub resolver_id: String,
    /// The answer: any JSON that fits the question's form.
    pub payload: Exact,
}

/// What `claim_escalation` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimEscalation {
    /// The id of the question.
    pub escalation_id: String,
    /// Who works on it.
    pub resolver_id: String,
    /// After how many minutes the claim runs out, 30 where it is left out. Claiming again prolongs it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1440))]
    pub minutes: Option<u64>,
}

/// A question, and its answer where it has one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EscalationView {
    /// Its id.
    pub escalation_id: String,
    /// How it stands.
    pub status: Standing,
    /// Who is asked.
    pub role: String,
    /// A word for the kind of question.
    #[serde(rename = "type")]
    pub kind: String,
    /// A word that divides the kind.
    pub subtype: String,
    /// From 1, urgent, to 4.
    pub priority: u8,
    /// What is asked.
    pub message: String,
    /// What is shown beside the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Exact>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Exact>,
    /// The run that waits for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The step that waits for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// When it was asked.
    pub created_at: String,
    /// When nobody needs the answer any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// When it was answered or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<String>,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver_id: Option<String>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Exact>,
    /// The recording of what this connection does to answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Where the answer came with a recording: what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// How a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nobody works on it.
    Pending,
    /// Somebody works on it.
    Claimed,
    /// It is answered.
    Resolved,
    /// Nobody needs the answer any more.
    Closed,
}

impl From<EscalationRecord> for EscalationView {
    fn from(record: EscalationRecord) -> EscalationView {
        let EscalationRecord { id, asked_by, question, status, created_at, deadline, claim, ended_at, resolved_by, answer } = record;
        let (run, step) = asked_by.unzip();
        EscalationView {
            escalation_id: id.0.into(),
            status: match status {
                EscalationStatus::Pending => Standing::Pending,
                EscalationStatus::Claimed => Standing::Claimed,
                EscalationStatus::Resolved => Standing::Resolved,
                EscalationStatus::Closed => Standing::Closed,
            },
            role: question.role.into(),
            kind: question.kind.into(),
            subtype: question.subkind.into(),
            priority: question.priority,
            message: question.message,
            data: question.data.map(Exact),
            form: question.form.map(Exact),
            run_id: run.map(|run| run.0.into()),
            step: step.map(|step| step.0.into()),
            created_at: created_at.to_string(),
            deadline: deadline.map(|deadline| deadline.to_string()),
            claimed_by: claim.map(|(by, _)| by.into()),
            resolved_at: ended_at.map(|at| at.to_string()),
            resolver_id: resolved_by.map(Into::into),
            payload: answer.map(Exact),
            trace_id: None,
            learned: None,
        }
    }
}

const WORK_PAGE: u32 = 10;
const LARGEST_PAGE: u32 = 1000;
/// How long a claim holds.
const CLAIM_MINUTES: u64 = 30;
const WAIT: Duration = Duration::from_secs(300);
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

/// How often the answer to a question is looked for; in this process it is heard of at once.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(super) async fn escalate(service: Arc<Service>, asked: Escalate, _: Caller) -> Result<EscalationView, Refusal> {
    let id = service.open(asked.question()?).await?;
    service.escalation(&id).await
}

pub(super) async fn escalate_and_wait(service: Arc<Service>, asked: EscalateAndWait, _: Caller) -> Result<EscalationView, Refusal> {
    let id = service.open(asked.question()?).await?;
    let limit = asked.timeout_seconds.map_or(WAIT, Duration::from_secs).min(LONGEST_WAIT);
    let until = tokio::time::Instant::now() + limit;
    let mut changed = service.changed.subscribe();
    loop {
        let view = service.escalation(&id).await?;
        if matches!(view.status, Standing::Resolved | Standing::Closed) || tokio::time::Instant::now() >= until {
            return Ok(view);
        }
        // Whatever resolves first, the question is looked at again.
        let _ = tokio::time::timeout_at(until.min(tokio::time::Instant::now() + LOOK_EVERY), changed.changed()).await;
    }
}

pub(super) async fn check(service: Arc<Service>, asked: CheckResolution, _: Caller) -> Result<EscalationView, Refusal> {
    service.escalation(&EscalationId(asked.escalation_id.into())).await
}

pub(super) async fn available(service: Arc<Service>, asked: GetAvailableWork, _: Caller) -> Result<AvailableWork, Refusal> {
    let filter = EscalationFilter {
        role: asked.role.map(Into::into),
        status: Some(EscalationStatus::Pending),
        run: None,
        now: Moment::now(),
        limit: asked.limit.unwrap_or(WORK_PAGE).clamp(1, LARGEST_PAGE),
    };
    let records = service.driver.store().escalations(filter).await?;
    let escalations: Vec<EscalationView> = records.into_iter().map(EscalationView::from).collect();
    Ok(AvailableWork { count: escalations.len(), escalations })
}

pub(super) async fn claim_and_resolve(service: Arc<Service>, asked: ClaimAndResolve, caller: Caller) -> Result<EscalationView, Refusal> {
    let ClaimAndResolve { escalation_id, resolver_id, payload: Exact(answer) } = asked;
    let id = EscalationId(escalation_id.into());
    let store = service.driver.store();
    let Some(record) = store.escalation(&id).await? else { return Err(Refusal::not_found("escalation", &id.0)) };
    if let Some(form) = &record.question.form {
        fits(form, &answer)?;
    }
    // What was learned is kept first: where the process ends in between, the question is still open.
    let (answer, learned) = match Place::of(&record.question) {
        Some(place) => {
            let triaged = Triaged::read(&answer);
            let learned = match triaged.trace.clone().map(TraceId).filter(|_| is_open_to(&record, &resolver_id)) {
                Some(trace) => {
                    if let Some(recording) = caller.recording.filter(|recording| *recording.id() == trace) {
                        recording.written().await;
                    }
                    Some(service.learn(&record.id, &place, trace, &triaged).await?)
                }
                None => None,
            };
            (triaged.answer, learned)
        }
        None => (answer, None),
    };
    let at = Moment::now();
    let event = record.asked_by.as_ref().map(|(_, step)| {
        let is_in_doubt = record.question.kind == journal::IN_DOUBT;
        let verdict = if is_in_doubt { journal::verdict(step, &answer) } else { None };
        let what = verdict.map_or_else(|| What::Succeeded(answer.clone()), journal::Verdict::event);
        Event { key: step.clone(), at, what }
    });
    let resolution = Resolution { escalation: id.clone(), by: resolver_id.into(), answer, event, at };
    let record = settled(&id, store.resolve_escalation(resolution).await?)?;
    service.due.notify_one();
    service.has_changed();
    Ok(EscalationView { learned, ..record.into() })
}

pub(super) async fn claim(service: Arc<Service>, asked: ClaimEscalation, caller: Caller) -> Result<EscalationView, Refusal> {
    let id = EscalationId(asked.escalation_id.into());
    let now = Moment::now();
    let until = now.after(Duration::from_secs(60 * asked.minutes.unwrap_or(CLAIM_MINUTES)));
    let record = settled(&id, service.driver.store().claim_escalation(&id, &asked.resolver_id.into(), until, now).await?)?;
    let trace_id = caller.recording.as_ref().map(|recording| {
        recording.works_on(&record);
        recording.id().0.to_string()
    });
    service.has_changed();
    Ok(EscalationView { trace_id, ..record.into() })
}

/// The question, where what was wanted was done.
fn settled(id: &EscalationId, settled: Settled) -> Result<EscalationRecord, Refusal> {
    match settled {
        Settled::Done(record) => Ok(*record),
        Settled::NoSuchEscalation => Err(Refusal::not_found("escalation", &id.0)),
        Settled::ClaimedBy(who) => {
            Err(Refusal::new(Code::Conflict, format!("the escalation {} is claimed by {}", id.0, text::one_line(&who))))
        }
        Settled::Ended(record) => {
            let how = match record.resolved_by {
                Some(who) => format!("was resolved by {}", text::one_line(&who)),
                None => "is closed: nobody needs the answer any more".to_owned(),
            };
            Err(Refusal::new(Code::Conflict, format!("the escalation {} {how}", id.0)))
        }
    }
}

/// Whether an answer of `who` would count, as far as the question says.
fn is_open_to(record: &EscalationRecord, who: &str) -> bool {
    match record.status {
        EscalationStatus::Pending => true,
        EscalationStatus::Claimed => record.claim.as_ref().is_none_or(|(by, until)| by == who || *until <= Moment::now()),
        EscalationStatus::Resolved | EscalationStatus::Closed => false,
    }
}

impl Service {
    async fn open(&self, question: Question) -> Result<EscalationId, Refusal> {
        let id = EscalationId(unique_name().into());
        let escalation = NewEscalation { id: id.clone(), asked_by: None, question, created_at: Moment::now(), deadline: None };
        self.driver.store().open_escalation(escalation).await?;
        Ok(id)
    }

    async fn escalation(&self, id: &EscalationId) -> Result<EscalationView, Refusal> {
        let record = self.driver.store().escalation(id).await?;
        record.map(EscalationView::from).ok_or_else(|| Refusal::not_found("escalation", &id.0))
    }
}

fn validator(form: &Value) -> Result<jsonschema::Validator, Refusal> {
    jsonschema::validator_for(&to_serde(form, Inexact::Nearest))
        .map_err(|error| Refusal::new(Code::Invalid, format!("`form` is no JSON Schema: {}", text::one_line(&error.to_string()))))
}

fn fits(form: &Value, answer: &Value) -> Result<(), Refusal> {
    let answer = to_serde(answer, Inexact::Nearest);
    let validator = validator(form)?;
    let problems: Vec<crate::problem::Problem> = validator
        .iter_errors(&answer)
        .map(|error| {
            let place = format!("/payload{}", error.instance_path());
            crate::problem::Problem::new("invalid-answer", place, text::one_line(&error.to_string()))
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(Refusal::because(Code::Invalid, problems)) }
}
