//! The seam between what a workflow asks for and how that is done and remembered.
//!
//! Everything that a workflow does to the world goes through [`Durable::perform`]. A journal on disk implements it by looking the key up,
//! appending the start, doing the effect and appending its end; an engine for durable execution implements it directly. The journal here is
//! the simplest one: it lives as long as the run.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Effect, Ended, StepKey};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Does effects, each of them once, and remembers how they ended.
pub trait Durable: Send + Sync {
    /// What had ended before this run of the engine began.
    fn recorded(&self) -> BoxFuture<'_, BTreeMap<StepKey, Ended>>;

    /// Does `effect`, unless an end is recorded under `key` already; the end is recorded before it is returned. Dropping the future gives the
    /// effect up: it may or may not have been done.
    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Performed>;
}

/// What has become of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Performed {
    /// It has ended.
    Ended(Ended),
    /// It waits for something outside (a person) and holds no task while it does.
    Waiting,
}

/// Does effects, and remembers nothing.
pub trait World: Send + Sync {
    /// Does `effect` for the step `key`.
    fn perform<'w>(&'w self, key: &'w StepKey, effect: &'w Effect) -> BoxFuture<'w, Performed>;
}

/// A journal in memory.
pub struct InMemory<W> {
    world: W,
    ended: Mutex<BTreeMap<StepKey, Ended>>,
}

impl<W: World> InMemory<W> {
    /// An empty journal before `world`.
    pub fn new(world: W) -> InMemory<W> {
        InMemory { world, ended: Mutex::default() }
    }
}

impl<W: World> Durable for InMemory<W> {
    fn recorded(&self) -> BoxFuture<'_, BTreeMap<StepKey, Ended>> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        futures_util::future::ready(ended).boxed()
    }

    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Performed> {
        async move {
            let recorded = self.ended.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
            if let Some(ended) = recorded {
                return Performed::Ended(ended);
            }
            let performed = self.world.perform(key, effect).await;
            if let Performed::Ended(ended) = &performed {
                self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), ended.clone());
            }
            performed
        }
        .boxed()
    }
}
