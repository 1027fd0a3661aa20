//! Questions to people: asked, listed, answered.

use super::people_views::{
    AvailableWork, CheckResolution, ClaimAndResolve, ClaimEscalation, Escalate, EscalateAndWait, EscalationView, GetAvailableWork, Standing,
};
use super::refusal::Code;
use super::{Caller, Exact, Refusal, Service, pages};
use crate::approximate::{Inexact, to_serde};
use crate::clock::{Moment, unique_name};
use crate::journal;
use crate::store::{
    EscalationFilter, EscalationId, EscalationRecord, EscalationStatus, Event, NewEscalation, Question, Resolution, Settled, TraceId, What,
};
use crate::text;
use crate::triage::{Place, Triaged};
use ltc_workflow::Value;
use std::sync::Arc;
use std::time::Duration;

const WORK_PAGE: u32 = 10;
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
        limit: pages::limit(asked.limit, WORK_PAGE),
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
                    service.recordings.written(&trace).await;
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
    service.recordings.answered(caller.recording.as_deref(), &record);
    service.due.notify_one();
    service.has_changed();
    Ok(EscalationView { learned, ..record.into() })
}

pub(super) async fn claim(service: Arc<Service>, asked: ClaimEscalation, caller: Caller) -> Result<EscalationView, Refusal> {
    let id = EscalationId(asked.escalation_id.into());
    let now = Moment::now();
    let until = now.after(Duration::from_secs(60 * asked.minutes.unwrap_or(CLAIM_MINUTES)));
    let record = settled(&id, service.driver.store().claim_escalation(&id, &asked.resolver_id.as_str().into(), until, now).await?)?;
    let trace_id = match &caller.recording {
        Some(recording) => Some(service.recordings.works_on(recording, &record, &asked.resolver_id).await.0.into()),
        None => None,
    };
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

pub(super) fn validator(form: &Value) -> Result<jsonschema::Validator, Refusal> {
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
