//! A run that is gone on with: a walk that stands where its effects have not ended.

use super::asking::Asking;
use super::walk::{Pace, Walk};
use super::{Ended, Failure, History, Next, Start, StepKey};
use crate::document::Workflow;
use crate::value::Value;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How far a run has come.
///
/// What it gives follows from the ends that it knows, not from when it was told of them: it asks for what [`advance`](super::advance) asks for with those ends as its
/// history. So a run goes on the same whether it is gone on with or begun again from its journal.
pub struct Progress<'w> {
    asking: Arc<Asking<'w>>,
    #[cfg(test)]
    walk: Arc<Walk<'w>>,
    state: State<'w>,
}

enum State<'w> {
    Going(Pin<Box<dyn Future<Output = Result<Value, Failure>> + Send + 'w>>),
    Rested(Result<Value, Failure>),
}

impl<'w> Progress<'w> {
    /// The run of `workflow` that began with `start` and of which `history` is known.
    pub fn new(workflow: &'w Workflow, start: &'w Start, history: &'w dyn History) -> Progress<'w> {
        Progress::at(Pace::AtOnce, workflow, start, history)
    }

    /// The same, with one effect at a time.
    pub(super) fn in_turn(workflow: &'w Workflow, start: &'w Start, history: &'w dyn History) -> Progress<'w> {
        Progress::at(Pace::InTurn, workflow, start, history)
    }

    fn at(pace: Pace, workflow: &'w Workflow, start: &'w Start, history: &'w dyn History) -> Progress<'w> {
        let asking = Arc::new(Asking::new(history));
        let walk = Arc::new(Walk::new(start, asking.clone(), pace));
        let walking = walk.clone();
        let walking = async move { walking.workflow(workflow).await };
        Progress {
            asking,
            #[cfg(test)]
            walk,
            state: State::Going(Box::pin(walking)),
        }
    }

    /// The effect under `key` ended.
    pub fn end(&mut self, key: &StepKey, ended: Ended) {
        self.asking.end(key, ended);
    }

    /// What comes next: the effects that may be begun now and were not given before, none where others have to end first.
    pub fn next_effects(&mut self) -> Next {
        if let State::Going(walking) = &mut self.state {
            // Nobody has to be woken: whoever tells of an end asks again.
            match walking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Pending => return Next::Do(self.asking.take_new()),
                Poll::Ready(rested) => self.state = State::Rested(rested),
            }
        }
        match &self.state {
            State::Rested(Ok(value)) => Next::Done(value.clone()),
            State::Rested(Err(failure)) => Next::Failed(failure.clone()),
            State::Going(_) => Next::Do(Vec::new()),
        }
    }

    /// The keys of the effects that are asked for and have not ended, and what is left of the budget.
    #[cfg(test)]
    pub(super) fn stand(&self) -> (Vec<StepKey>, super::evaluate::Left) {
        (self.asking.waiting(), self.walk.evaluator.left())
    }
}
