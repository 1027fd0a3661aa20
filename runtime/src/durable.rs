//! The seam between what a workflow asks for and how that is done and remembered.
//!
//! Everything that a workflow does to the world goes through [`Durable::perform`]. The journal implements it ([`crate::journal`]); an engine for
//! durable execution implements it directly. Interpreted and generated workflows use the same keys, so either goes on where the other stopped.

use crate::clock::Moment;
use crate::store::StoreError;
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Effect, Ended, StepKey};
use std::collections::BTreeMap;

/// Does effects, each of them once, and remembers how they ended.
pub trait Durable: Send + Sync {
    /// What has ended so far.
    fn recorded(&self) -> BTreeMap<StepKey, Ended>;

    /// Does `effect`, unless an end is remembered under `key` already. The end is recorded before anything that this run asks for later and that
    /// cannot be taken back is begun, and before the run comes to rest. Dropping the future gives the effect up: it may or may not have been done.
    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>>;

    /// Records the ends that wait for the next record. Whoever drives a run polls this after it has begun whatever comes next, so that an end and the
    /// start behind it are recorded together.
    fn settle(&self) -> BoxFuture<'_, Result<(), Interrupted>>;

    /// The run, or the workflow within it, comes to rest: what it asks for from now on is not begun, its timers are given up, and its calls are brought to
    /// their ends. Where no workflow is run within another, there is nothing to do.
    fn wind_down(&self) {}
}

/// What has become of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Performed {
    /// It has ended.
    Ended(Ended),
    /// It waits for something outside and holds no task while it does: for a person, or until the time, or for either.
    Waiting {
        /// When the run goes on by itself.
        wake_at: Option<Moment>,
    },
}

/// Why a run goes no further here; nothing of it has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// What happens can no longer be recorded.
    Store(StoreError),
    /// Somebody asked for it.
    Stopped(Stop),
}

/// Why a run is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is to end for good, and its calls under way are given up.
    Cancel,
    /// It has taken longer than it may.
    Deadline,
    /// The program ends; the run goes on later, or elsewhere.
    Shutdown,
}
