//! A store of one run in memory, which shows what it was given, may be slow or away, and says when the run is to be cut off.

use futures_util::FutureExt;
use ltc_runtime::clock::Moment;
use ltc_runtime::store::*;
use ltc_workflow::advance::StepKey;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The points at which something happens, counted, and the one at which the run is cut off.
#[derive(Clone, Default)]
pub struct Cut(Arc<Mutex<Counter>>, Arc<tokio::sync::Notify>);

#[derive(Default)]
struct Counter {
    points: usize,
    at: Option<usize>,
}

impl Cut {
    /// From now on points are counted anew.
    pub fn set(&self, at: Option<usize>) {
        let mut counter = self.0.lock().expect("a lock");
        counter.at = at.map(|at| at + counter.points);
    }

    /// Passes a point, or never comes back.
    pub async fn point(&self) {
        let is_here = {
            let mut counter = self.0.lock().expect("a lock");
            counter.points += 1;
            counter.at.is_some_and(|at| counter.points > at)
        };
        if is_here {
            self.1.notify_one();
            std::future::pending::<()>().await;
        }
    }

    pub async fn reached(&self) {
        self.1.notified().await;
    }

    pub fn points(&self) -> usize {
        self.0.lock().expect("a lock").points
    }
}

/// The store.
pub struct Memory {
    pub cut: Cut,
    /// How many milliseconds a commit takes.
    pause: u64,
    kept: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    events: Vec<Event>,
    open: Vec<NewEscalation>,
    commits: usize,
    given: String,
    is_at_rest: bool,
    /// From which commit on how many fail, and whether they are made all the same.
    failing: Option<(usize, usize, bool)>,
}

impl Memory {
    pub fn new(cut: Cut, pause: u64) -> Memory {
        Memory { cut, pause, kept: Mutex::default() }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.kept.lock().expect("a lock")
    }

    pub fn fail(&self, from: usize, times: usize, is_made: bool) {
        self.inside().failing = Some((from, times, is_made));
    }

    pub fn journal(&self) -> Vec<Event> {
        self.inside().events.clone()
    }

    pub fn commits(&self) -> usize {
        self.inside().commits
    }

    /// All that it was given, as text.
    pub fn given(&self) -> String {
        self.inside().given.clone()
    }

    /// Open questions: of which step, and whether it is in doubt.
    pub fn questions(&self) -> Vec<(StepKey, bool)> {
        let inside = self.inside();
        let question = |asked: &NewEscalation| Some((asked.asked_by.clone()?.1, asked.question.kind == "in-doubt"));
        inside.open.iter().filter_map(question).collect()
    }

    pub fn answer(&self, key: &StepKey, what: What) {
        let mut inside = self.inside();
        inside.open.retain(|asked| asked.asked_by.as_ref().is_none_or(|(_, step)| step != key));
        inside.events.push(Event { key: key.clone(), at: Moment::now(), what });
    }
}

impl Inside {
    fn apply(&mut self, commit: &Commit) -> Result<u64, StoreError> {
        for event in &commit.events {
            if is_end(event) {
                let last = self.events.iter().rev().find(|known| known.key == event.key && (is_end(known) || known.what == What::Again));
                if last.is_some_and(is_end) {
                    return Err(StoreError::Broken(format!("{} ends twice", event.key)));
                }
            }
            self.events.push(event.clone());
        }
        self.open.extend(commit.opened.iter().cloned());
        self.open.retain(|asked| !commit.closed.contains(&asked.id));
        self.is_at_rest = commit.rest.is_some();
        self.commits += 1;
        Ok(self.events.len() as u64)
    }
}

fn is_end(event: &Event) -> bool {
    matches!(event.what, What::Succeeded(_) | What::Failed(_))
}

impl Journals for Memory {
    fn commit<'s>(&'s self, _: &'s RunId, _: &'s WorkerId, _: u64, commit: &'s Commit, _: Moment) -> Answer<'s, u64> {
        async move {
            self.inside().given.push_str(&format!("{commit:?}\n"));
            self.cut.point().await;
            let failing = {
                let mut inside = self.inside();
                let commits = inside.commits;
                match &mut inside.failing {
                    Some((from, times, is_made)) if commits >= *from && *times > 0 => {
                        *times -= 1;
                        Some(*is_made)
                    }
                    _ => None,
                }
            };
            tokio::time::sleep(Duration::from_millis(self.pause)).await;
            if failing == Some(false) {
                return Err(StoreError::Unavailable("it is away".to_owned()));
            }
            let written = self.inside().apply(commit);
            self.cut.point().await;
            if failing == Some(true) { Err(StoreError::Unavailable("nobody knows".to_owned())) } else { written }
        }
        .boxed()
    }

    fn run<'s>(&'s self, run: &'s RunId) -> Answer<'s, Option<RunRecord>> {
        async move {
            let inside = self.inside();
            let lease = Lease { worker: WorkerId("w".into()), until: Moment(i64::MAX) };
            let definition = Definition { id: DefinitionId("d".into()), text: String::new() };
            let input = ltc_workflow::Value::Null;
            let new = NewRun {
                id: run.clone(),
                workflow: "w".into(),
                definition,
                input,
                created_at: Moment(0),
                deadline: None,
                lease: Some(lease),
            };
            let record = new.record();
            let lease = record.lease.clone().filter(|_| !inside.is_at_rest);
            Ok(Some(RunRecord { events: inside.events.len() as u64, lease, ..record }))
        }
        .boxed()
    }

    fn events<'s>(&'s self, _: &'s RunId) -> Answer<'s, Vec<Event>> {
        async move { Ok(self.journal()) }.boxed()
    }
}
