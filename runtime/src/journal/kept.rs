//! A journal's place in a store: what is written is sealed, written in its order, and written again where the store was away.

use super::State;
use crate::clock::Moment;
use crate::durable::{Interrupted, Stop};
use crate::secrets::Redactor;
use crate::store::{Commit, Event, Journals, NewEscalation, Question, RunId, RunRest, Status, StoreError, What, WorkerId};
use ltc_workflow::advance::Failure;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

/// How long a store may be away until a run is given up here; whoever has the lease then goes on with it.
const LONGEST_ABSENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Where a journal is kept.
pub struct Kept {
    place: Arc<Place>,
    /// The run.
    pub(super) run: RunId,
    redactor: Redactor,
    /// One commit at a time.
    turn: tokio::sync::Mutex<Turn>,
}

/// The commit that is under way, and what became of those before it.
#[derive(Default)]
struct Turn {
    under_way: Option<UnderWay>,
    /// The last error stays, since what was lost with it is not in the journal.
    lost: Option<Interrupted>,
}

/// A commit in a task of its own: whoever waits for it may be given up in the middle (a settled run that goes on, a workflow whose time is over), and what others
/// noted is in it too. It ends with the journal.
struct UnderWay {
    written: JoinHandle<Result<(), StoreError>>,
    events: u64,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.written.abort();
    }
}

/// The row of the run in its store.
struct Place {
    store: Arc<dyn Journals>,
    run: RunId,
    worker: WorkerId,
}

impl Kept {
    /// The place of `run`, which `worker` has leased.
    pub fn new(store: Arc<dyn Journals>, run: RunId, worker: WorkerId, redactor: Redactor) -> Kept {
        let place = Arc::new(Place { store, run: run.clone(), worker });
        Kept { place, run, redactor, turn: tokio::sync::Mutex::default() }
    }

    /// What is written down of the run so far, without its secrets.
    pub(super) async fn shown_events(&self) -> Result<Vec<Event>, Interrupted> {
        let events = self.place.store.events(&self.run).await.map_err(Interrupted::Store)?;
        let shown = |what| match what {
            What::Succeeded(value) => What::Succeeded(self.redactor.value(&value)),
            What::Failed(failure) => What::Failed(Failure { message: self.redactor.text(&failure.message), ..failure }),
            what @ (What::Started | What::SleepUntil(_) | What::Escalated(_) | What::Again | What::Cancelled) => what,
        };
        Ok(events.into_iter().map(|event| self.unsealed(event)).map(|event| Event { what: shown(event.what), ..event }).collect())
    }

    /// Writes all that is not written yet. Those who come while a commit is under way find their events written by the next one.
    pub(super) async fn write(&self, state: &Mutex<State>, stop: &watch::Receiver<Option<Stop>>) -> Result<(), Interrupted> {
        let mut turn = self.turn.lock().await;
        // One that nobody waited for to its end may have taken what the caller wants to be written.
        turn.end(state).await?;
        let (commit, known) = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(commit) = state.take_unwritten() else { return Ok(()) };
            (self.sealed(commit), state.known)
        };
        let events = u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
        let (place, stop) = (self.place.clone(), stop.clone());
        let written = tokio::spawn(async move { place.insist(&commit, known, &stop).await });
        turn.under_way = Some(UnderWay { written, events });
        turn.end(state).await
    }

    fn sealed(&self, commit: Commit) -> Commit {
        Commit {
            events: commit.events.into_iter().map(|event| Event { what: self.sealed_what(event.what), ..event }).collect(),
            opened: commit.opened.into_iter().map(|opened| NewEscalation { question: self.shown(opened.question), ..opened }).collect(),
            closed: commit.closed,
            rest: commit.rest.map(|rest| self.shown_rest(rest)),
        }
    }

    fn sealed_what(&self, what: What) -> What {
        match what {
            What::Succeeded(value) => What::Succeeded(self.redactor.seal(&value)),
            What::Failed(failure) => What::Failed(Failure { message: self.redactor.seal_text(&failure.message), ..failure }),
            What::Started | What::SleepUntil(_) | What::Escalated(_) | What::Again | What::Cancelled => what,
        }
    }

    /// An event as it was before it was sealed.
    pub(super) fn unsealed(&self, event: Event) -> Event {
        let what = match event.what {
            What::Succeeded(value) => What::Succeeded(self.redactor.unseal(&value)),
            What::Failed(failure) => What::Failed(Failure { message: self.redactor.unseal_text(&failure.message), ..failure }),
            what @ (What::Started | What::SleepUntil(_) | What::Escalated(_) | What::Again | What::Cancelled) => what,
        };
        Event { what, ..event }
    }

    /// People see no secrets; what they see is never read back.
    fn shown(&self, question: Question) -> Question {
        Question { message: self.redactor.text(&question.message), data: question.data.map(|data| self.redactor.value(&data)), ..question }
    }

    fn shown_rest(&self, rest: RunRest) -> RunRest {
        match rest {
            RunRest::Done(output) => RunRest::Done(self.redactor.value(&output)),
            RunRest::Failed(failure) => RunRest::Failed(Failure { message: self.redactor.text(&failure.message), ..failure }),
            RunRest::Waiting { .. } | RunRest::Queued | RunRest::Cancelled => rest,
        }
    }
}

impl Turn {
    /// Waits for the end of the commit that is under way, if one is. Given up in the middle, it is waited for by the next one.
    async fn end(&mut self, state: &Mutex<State>) -> Result<(), Interrupted> {
        if let Some(under_way) = &mut self.under_way {
            // A panic in a task of ours.
            let broken = |error: JoinError| Err(StoreError::Broken(error.to_string()));
            let ended = (&mut under_way.written).await.unwrap_or_else(broken);
            let events = under_way.events;
            self.under_way = None;
            match ended {
                Ok(()) => state.lock().unwrap_or_else(PoisonError::into_inner).known += events,
                Err(error) => self.lost = Some(Interrupted::Store(error)),
            }
        }
        self.lost.clone().map_or(Ok(()), Err)
    }
}

impl Place {
    async fn insist(&self, commit: &Commit, known: u64, stop: &watch::Receiver<Option<Stop>>) -> Result<(), StoreError> {
        let (mut pause, since) = (FIRST_PAUSE, Moment::now());
        let mut is_retry = false;
        loop {
            let why = match self.try_once(commit, known, is_retry).await {
                Ok(()) => return Ok(()),
                Err(StoreError::Unavailable(why)) => why,
                Err(error) => return Err(error),
            };
            let is_over = since.until(Moment::now()) > LONGEST_ABSENCE || *stop.borrow() == Some(Stop::Shutdown);
            if is_over {
                return Err(StoreError::Unavailable(why));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            is_retry = true;
        }
    }

    /// A commit whose answer was lost may have been made: then it is not made again.
    async fn try_once(&self, commit: &Commit, known: u64, is_retry: bool) -> Result<(), StoreError> {
        if is_retry {
            let Some(record) = self.store.run(&self.run).await? else { return Err(StoreError::LeaseLost) };
            if record.events > known || record.lease.is_none() {
                let events = self.store.events(&self.run).await?;
                let is_there = !commit.events.is_empty() && commit.events.iter().all(|event| events.contains(event));
                let is_at_rest = commit.events.is_empty() && record.lease.is_none() && rests(&commit.rest, record.status);
                if is_there || is_at_rest {
                    return Ok(());
                }
            }
        }
        self.store.commit(&self.run, &self.worker, known, commit, Moment::now()).await.map(|_| ())
    }
}

fn rests(rest: &Option<RunRest>, status: Status) -> bool {
    match rest {
        Some(RunRest::Waiting { .. } | RunRest::Queued) => matches!(status, Status::Waiting | Status::Queued),
        Some(RunRest::Done(_)) => status == Status::Done,
        Some(RunRest::Failed(_)) => status == Status::Failed,
        Some(RunRest::Cancelled) => status == Status::Cancelled,
        None => false,
    }
}
