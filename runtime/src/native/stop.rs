//! Why a native workflow goes no further: a failure, or a step whose end is not known yet.

use super::context::Context;
use crate::engine::Rest;
use ltc_workflow::advance::{Effect, Failure, StepKey};

/// Why a workflow goes no further. `?` passes it on; only [`Stop::caught`] looks inside.
#[derive(Clone, Debug)]
pub struct Stop(Why);

#[derive(Clone, Debug)]
enum Why {
    Failed(Caught),
    /// A step waits for something outside.
    Waiting,
}

/// A failure that a workflow may do something about.
#[derive(Clone, Debug)]
pub struct Caught {
    /// What failed, and why.
    pub failure: Failure,
    /// Whether a step failed, which can be tried again, or an expression.
    pub(super) of_effect: bool,
}

impl Stop {
    pub(super) fn waiting() -> Stop {
        Stop(Why::Waiting)
    }

    /// An effect failed.
    pub(super) fn of_effect(failure: Failure) -> Stop {
        Stop(Why::Failed(Caught { failure, of_effect: true }))
    }

    /// Whether this is the failure of an effect, which is tried again where a step says so.
    pub(super) fn may_be_tried_again(&self) -> bool {
        matches!(&self.0, Why::Failed(caught) if caught.of_effect)
    }

    /// The same, as the failure of the step `key` unless another one is named already.
    pub(super) fn named(mut self, key: impl FnOnce() -> StepKey) -> Stop {
        if let Why::Failed(caught) = &mut self.0 {
            caught.failure.step.get_or_insert_with(key);
        }
        self
    }

    /// The failure, as that of the step `id` unless another one is named.
    ///
    /// # Errors
    /// What is no failure, and is passed on.
    pub fn caught(self, context: &Context, id: &str) -> Result<Caught, Stop> {
        match self.named(|| context.key(id)).0 {
            Why::Failed(caught) => Ok(caught),
            Why::Waiting => Err(Stop::waiting()),
        }
    }

    pub(super) fn rest(self, waiting: Vec<(StepKey, Effect)>) -> Rest {
        match self.0 {
            Why::Failed(caught) => Rest::Failed(caught.failure),
            Why::Waiting => Rest::Waiting(waiting),
        }
    }
}

impl Caught {
    /// The key of the step that failed.
    pub fn step(&self) -> Option<&str> {
        self.failure.step.as_ref().map(|key| key.0.as_str())
    }
}

impl From<Failure> for Stop {
    /// An expression failed.
    fn from(failure: Failure) -> Stop {
        Stop(Why::Failed(Caught { failure, of_effect: false }))
    }
}

impl From<Caught> for Stop {
    fn from(caught: Caught) -> Stop {
        Stop(Why::Failed(caught))
    }
}
