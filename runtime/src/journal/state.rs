//! What a journal says, and what of it is not written yet.

use super::tried::FAILURE;
use crate::clock::Moment;
use crate::store::{Commit, EscalationId, Event, NewEscalation, RunRest, What};
use ltc_workflow::advance::{Ended, StepKey};
use std::collections::{BTreeMap, BTreeSet};

/// What happened in a run, by step.
#[derive(Default)]
pub(super) struct State {
    /// How steps ended.
    pub(super) ended: BTreeMap<StepKey, Ended>,
    /// Steps that were begun before this journal was loaded and have no end.
    pub(super) in_doubt: BTreeSet<StepKey>,
    /// Whether the run itself has called what writes; what was tried for it after it had failed does not count.
    pub(super) has_written: bool,
    /// Until when timers run.
    pub(super) timers: BTreeMap<StepKey, Moment>,
    /// Questions that have no answer yet, and when they were asked.
    pub(super) asked: BTreeMap<StepKey, (EscalationId, Moment)>,
    /// How many events are known to be written.
    pub(super) known: u64,
    /// Events that are not written yet.
    unwritten: Vec<Event>,
    /// Questions that are to be opened with them.
    opened: Vec<NewEscalation>,
    /// Questions that are to be closed with them.
    pub(super) closed: Vec<EscalationId>,
    /// How the run comes to rest with them.
    pub(super) rest: Option<RunRest>,
}

fn is_own(key: &StepKey) -> bool {
    !key.0.starts_with(FAILURE)
}

impl State {
    /// What these events say.
    pub(super) fn of(events: impl Iterator<Item = Event>) -> State {
        let mut state = State::default();
        for Event { key, at, what } in events {
            state.known += 1;
            match what {
                What::Started => {
                    state.has_written |= is_own(&key);
                    state.in_doubt.insert(key);
                }
                What::Succeeded(value) => state.has_ended(&key, Ended::Succeeded(value)),
                What::Failed(failure) => state.has_ended(&key, Ended::Failed(failure)),
                What::SleepUntil(until) => {
                    state.timers.insert(key, until);
                }
                What::Escalated(id) => {
                    state.asked.insert(key, (id, at));
                }
                What::Again => {
                    state.in_doubt.remove(&key);
                    state.asked.remove(&key);
                }
                What::Cancelled => {}
            }
        }
        state
    }

    fn has_ended(&mut self, key: &StepKey, ended: Ended) {
        self.in_doubt.remove(key);
        self.asked.remove(key);
        self.ended.insert(key.clone(), ended);
    }

    /// Notes an event that is to be written; gives its time.
    pub(super) fn note(&mut self, key: StepKey, what: What) -> Moment {
        let at = Moment::now();
        self.has_written |= what == What::Started && is_own(&key);
        self.unwritten.push(Event { key, at, what });
        at
    }

    /// Notes the end of a step.
    pub(super) fn end(&mut self, key: &StepKey, ended: Ended) {
        let what = match &ended {
            Ended::Succeeded(value) => What::Succeeded(value.clone()),
            Ended::Failed(failure) => What::Failed(failure.clone()),
        };
        self.note(key.clone(), what);
        self.has_ended(key, ended);
    }

    /// Notes a timer; gives its end.
    pub(super) fn set_timer(&mut self, key: &StepKey, until: Moment) -> Moment {
        self.note(key.clone(), What::SleepUntil(until));
        self.timers.insert(key.clone(), until);
        until
    }

    /// Notes a question of a step.
    pub(super) fn ask(&mut self, escalation: NewEscalation) {
        if let Some((_, key)) = &escalation.asked_by {
            let asked_at = self.note(key.clone(), What::Escalated(escalation.id.clone()));
            self.asked.insert(key.clone(), (escalation.id.clone(), asked_at));
        }
        self.opened.push(escalation);
    }

    /// Takes what is to be written, if anything is.
    pub(super) fn take_unwritten(&mut self) -> Option<Commit> {
        let is_nothing = self.unwritten.is_empty() && self.opened.is_empty() && self.closed.is_empty() && self.rest.is_none();
        (!is_nothing).then(|| Commit {
            events: std::mem::take(&mut self.unwritten),
            opened: std::mem::take(&mut self.opened),
            closed: std::mem::take(&mut self.closed),
            rest: self.rest.take(),
        })
    }

    /// For a journal that nobody keeps.
    pub(super) fn forget_unwritten(&mut self) {
        self.unwritten.clear();
        self.closed.clear();
    }
}
