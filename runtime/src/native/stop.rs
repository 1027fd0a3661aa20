//! Why a native workflow goes no further: a step or an expression failed.

use super::context::Context;
use ltc_workflow::advance::{Failure, StepKey};

/// Why a workflow goes no further. `?` passes it on; only [`Stop::caught`] looks inside.
#[derive(Clone, Debug)]
pub struct Stop(Box<Caught>);

/// A failure that a workflow may do something about.
#[derive(Clone, Debug)]
pub struct Caught {
    /// What failed, and why.
    pub failure: Failure,
    /// Whether a step failed, which can be tried again, or an expression.
    pub(super) of_effect: bool,
}

impl Stop {
    /// An effect failed.
    pub(super) fn of_effect(failure: Failure) -> Stop {
        Stop(Box::new(Caught { failure, of_effect: true }))
    }

    /// Whether this is the failure of an effect, which is tried again where a step says so.
    pub(super) fn may_be_tried_again(&self) -> bool {
        self.0.of_effect
    }

    /// The same, as the failure of the step `key` unless another one is named already.
    pub(super) fn named(mut self, key: impl FnOnce() -> StepKey) -> Stop {
        self.0.failure.step.get_or_insert_with(key);
        self
    }

    /// The failure, as that of the step `id` unless another one is named.
    pub fn caught(self, context: &Context, id: &str) -> Caught {
        *self.named(|| context.key(id)).0
    }

    pub(super) fn into_failure(self) -> Failure {
        self.0.failure
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
        Stop(Box::new(Caught { failure, of_effect: false }))
    }
}

impl From<Caught> for Stop {
    fn from(caught: Caught) -> Stop {
        Stop(Box::new(caught))
    }
}
