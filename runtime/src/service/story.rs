//! What happened in one run, step by step, and how long each step took.
//!
//! A journal says when a step ended; when it began only where doing it twice would matter, and where it waits for a time or a person. Else its time is counted from
//! what happened in the run before, which is right where steps run one after the other, and no more than that where several run at once.

use super::query_views::CountedFrom;
use super::run_views::FailureView;
use super::story_views::{GetRunStory, QuestionStory, RunStory, StepStanding, StepStory};
use super::{Caller, Refusal, Service, pages};
use crate::clock::Moment;
use crate::store::{EscalationFilter, EscalationRecord, Event, Happened, RunId, What};
use ltc_workflow::advance::StepKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many steps a story has where nobody says.
const STEPS: u32 = 200;

/// A journal that is read from its beginning, to tell how long steps took.
#[derive(Debug)]
pub(super) struct Clocked {
    before: Moment,
    begun: BTreeMap<StepKey, (CountedFrom, Moment)>,
}

/// The end of a step.
pub(super) struct StepEnd {
    /// What its time is counted from.
    pub(super) counted_from: CountedFrom,
    /// When that was.
    pub(super) began_at: Moment,
    /// How long it took, in milliseconds.
    pub(super) took: i64,
    /// Whether it ended with a failure.
    pub(super) is_failure: bool,
}

impl Default for Clocked {
    fn default() -> Clocked {
        Clocked::beginning(Moment(0))
    }
}

impl Clocked {
    /// The journal of a run that was asked for then.
    pub(super) fn beginning(at: Moment) -> Clocked {
        Clocked { before: at, begun: BTreeMap::new() }
    }

    /// The next event; where it ends a step, that end.
    pub(super) fn see(&mut self, step: &StepKey, at: Moment, happened: Happened) -> Option<StepEnd> {
        let before = std::mem::replace(&mut self.before, at);
        let begins = match happened {
            Happened::Started => CountedFrom::Begin,
            Happened::Sleeps => CountedFrom::Timer,
            Happened::Asked => CountedFrom::Question,
            Happened::Else => {
                self.begun.remove(step);
                return None;
            }
            Happened::Succeeded | Happened::Failed => {
                let (counted_from, began_at) = self.begun.remove(step).unwrap_or((CountedFrom::EventBefore, before));
                // A clock can be set back.
                let took = at.0.saturating_sub(began_at.0).max(0);
                return Some(StepEnd { counted_from, began_at, took, is_failure: happened == Happened::Failed });
            }
        };
        self.begun.entry(step.clone()).or_insert((begins, at));
        None
    }
}

fn happened(what: &What) -> Happened {
    match what {
        What::Started => Happened::Started,
        What::Succeeded(_) => Happened::Succeeded,
        What::Failed(_) => Happened::Failed,
        What::SleepUntil(_) => Happened::Sleeps,
        What::Escalated(_) => Happened::Asked,
        What::Again | What::Cancelled => Happened::Else,
    }
}

pub(super) async fn get_run_story(service: Arc<Service>, asked: GetRunStory, _: Caller) -> Result<RunStory, Refusal> {
    let id = RunId(asked.run_id.into());
    let store = service.driver.store();
    let run = store.run(&id).await?.ok_or_else(|| Refusal::not_found("run", &id.0))?;
    let mut steps = steps(run.created_at, store.events(&id).await?);
    let filter = EscalationFilter { role: None, status: None, run: Some(id.clone()), now: Moment::now(), limit: pages::LARGEST };
    let questions = store.escalations(filter).await?;
    let step_count = steps.len();
    let (limit, offset) = (pages::limit(asked.limit, STEPS), asked.offset.unwrap_or(0));
    steps.drain(..usize::try_from(offset).unwrap_or(usize::MAX).min(step_count));
    let next_offset = pages::cut(&mut steps, limit).then(|| offset.saturating_add(limit));
    Ok(RunStory {
        run_id: id.0.into(),
        workflow_name: run.workflow.into(),
        status: run.status.into(),
        created_at: run.created_at.to_string(),
        ended_at: run.ended_at.map(|at| at.to_string()),
        took_ms: run.ended_at.map(|at| at.0.saturating_sub(run.created_at.0).max(0)),
        wake_at: run.wake_at.map(|at| at.to_string()),
        failure: run.failure.map(FailureView::from),
        step_count,
        steps,
        questions: questions.into_iter().map(QuestionStory::from).collect(),
        next_offset,
    })
}

/// The steps of a journal, in the order in which they were begun.
fn steps(created_at: Moment, events: Vec<Event>) -> Vec<StepStory> {
    let mut clocked = Clocked::beginning(created_at);
    let mut places: BTreeMap<StepKey, usize> = BTreeMap::new();
    let mut steps: Vec<StepStory> = Vec::new();
    for Event { key, at, what } in events {
        let end = clocked.see(&key, at, happened(&what));
        let standing = match &what {
            What::Started | What::Again => StepStanding::Begun,
            What::Succeeded(_) => StepStanding::Succeeded,
            What::Failed(_) => StepStanding::Failed,
            What::SleepUntil(_) => StepStanding::Sleeping,
            What::Escalated(_) => StepStanding::Asked,
            // The run says that it was cancelled.
            What::Cancelled => continue,
        };
        let began_at = end.as_ref().map_or(at, |end| end.began_at);
        let counted_from = match (&end, &what) {
            (Some(end), _) => end.counted_from,
            (None, What::SleepUntil(_)) => CountedFrom::Timer,
            (None, What::Escalated(_)) => CountedFrom::Question,
            (None, _) => CountedFrom::Begin,
        };
        let place = *places.entry(key.clone()).or_insert_with(|| {
            steps.push(StepStory {
                step: key.0.to_string(),
                status: standing,
                counted_from,
                began_at: began_at.to_string(),
                ended_at: None,
                took_ms: None,
                failure: None,
                is_done_again: false,
            });
            steps.len() - 1
        });
        let Some(step) = steps.get_mut(place) else { continue };
        step.status = standing;
        step.is_done_again |= what == What::Again;
        step.failure = match what {
            What::Failed(failure) => Some(failure.into()),
            What::Started | What::Succeeded(_) | What::SleepUntil(_) | What::Escalated(_) | What::Again | What::Cancelled => None,
        };
        if let Some(end) = end {
            (step.counted_from, step.began_at) = (end.counted_from, end.began_at.to_string());
            (step.ended_at, step.took_ms) = (Some(at.to_string()), Some(end.took));
        } else {
            (step.ended_at, step.took_ms) = (None, None);
        }
    }
    steps
}

impl From<EscalationRecord> for QuestionStory {
    fn from(record: EscalationRecord) -> QuestionStory {
        QuestionStory {
            escalation_id: record.id.0.into(),
            step: record.asked_by.map(|(_, step)| step.0.into()),
            role: record.question.role.into(),
            message: record.question.message,
            status: record.status.into(),
            asked_at: record.created_at.to_string(),
            ended_at: record.ended_at.map(|at| at.to_string()),
            resolver_id: record.resolved_by.map(Into::into),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::EscalationId;
    use ltc_workflow::Value;
    use ltc_workflow::advance::Failure;

    fn event(step: &str, at: i64, what: What) -> Event {
        Event { key: StepKey(step.into()), at: Moment(at), what }
    }

    #[test]
    fn steps_are_told_in_their_order_with_what_their_time_is_counted_from() {
        let failure = Failure { code: "tool-error".into(), message: "no".into(), step: None };
        let told = steps(
            Moment(1000),
            vec![
                event("read", 1200, What::Succeeded(Value::Null)),
                event("put", 1300, What::Started),
                event("nap", 1400, What::SleepUntil(Moment(5000))),
                event("put", 1450, What::Failed(failure)),
                event("ask", 1500, What::Escalated(EscalationId("q".into()))),
                event("nap", 5000, What::Succeeded(Value::Null)),
                event("put", 6000, What::Again),
                event("put", 6100, What::Started),
                event("put", 6150, What::Succeeded(Value::Null)),
                event("last", 7000, What::Started),
            ],
        );
        let seen: Vec<_> = told.iter().map(|step| (step.step.as_str(), step.status, step.counted_from, step.took_ms)).collect();
        assert_eq!(
            seen,
            [
                ("read", StepStanding::Succeeded, CountedFrom::EventBefore, Some(200)),
                ("put", StepStanding::Succeeded, CountedFrom::Begin, Some(50)),
                ("nap", StepStanding::Succeeded, CountedFrom::Timer, Some(3600)),
                ("ask", StepStanding::Asked, CountedFrom::Question, None),
                ("last", StepStanding::Begun, CountedFrom::Begin, None),
            ]
        );
        assert_eq!((told[1].is_done_again, told[1].failure.is_some(), told[0].is_done_again), (true, false, false));
    }
}
