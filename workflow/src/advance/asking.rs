//! Between a walk and whoever drives it: what the walk asks for, and how that ended.
//!
//! A walk is a future that waits for nothing but the ends of its effects. What waits is kept under its key with the waker of the part of the walk that it
//! belongs to, so that an end brings forward that part and no other.

use super::{Effect, Ended, Failure, History, StepKey};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// What is known of the ends of effects, and which are asked for.
pub(super) struct Asking<'h> {
    /// What had ended when the walk began.
    history: &'h dyn History,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// What the walk waits for.
    waiting: BTreeMap<StepKey, Wait>,
    /// What it asks for that nobody has been told of.
    new: Vec<(StepKey, Effect)>,
    /// Ends that nobody waited for when they came.
    early: BTreeMap<StepKey, Ended>,
}

enum Wait {
    Asked(Waker),
    Ended(Ended),
}

impl<'h> Asking<'h> {
    pub(super) fn new(history: &'h dyn History) -> Asking<'h> {
        Asking { history, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the effect under `key` ended, once it has. `effect` makes the effect, where it has not ended yet.
    pub(super) async fn answer(&self, key: StepKey, effect: impl FnOnce() -> Result<Effect, Failure>) -> Result<Ended, Failure> {
        let early = self.open().early.remove(&key);
        if let Some(ended) = early.or_else(|| self.history.ended(&key)) {
            return Ok(ended);
        }
        let effect = effect()?;
        let mut asked = Asked { asking: self, key: Some(key) };
        let mut effect = Some(effect);
        Ok(poll_fn(|context| asked.poll(&mut effect, context.waker())).await)
    }

    /// Notes an end, and wakes what waits for it.
    pub(super) fn end(&self, key: &StepKey, ended: Ended) {
        let mut open = self.open();
        match open.waiting.get_mut(key) {
            Some(wait) => {
                if let Wait::Asked(waker) = std::mem::replace(wait, Wait::Ended(ended)) {
                    drop(open);
                    waker.wake();
                }
            }
            None => {
                open.early.insert(key.clone(), ended);
            }
        }
    }

    /// What is asked for since the last time.
    pub(super) fn take_new(&self) -> Vec<(StepKey, Effect)> {
        let mut open = self.open();
        let mut new = std::mem::take(&mut open.new);
        new.retain(|(key, _)| open.waiting.contains_key(key));
        new
    }

    /// The keys of all that is waited for.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> Vec<StepKey> {
        self.open().waiting.keys().cloned().collect()
    }
}

/// One effect that is asked for. Where the part of the walk that asked is given up, so is the question.
struct Asked<'a, 'h> {
    asking: &'a Asking<'h>,
    /// `None` once it has ended.
    key: Option<StepKey>,
}

impl Asked<'_, '_> {
    fn poll(&mut self, effect: &mut Option<Effect>, waker: &Waker) -> Poll<Ended> {
        let Some(key) = &self.key else { return Poll::Pending };
        let mut open = self.asking.open();
        if let Some(effect) = effect.take() {
            open.new.push((key.clone(), effect));
        }
        match open.waiting.insert(key.clone(), Wait::Asked(waker.clone())) {
            Some(Wait::Ended(ended)) => {
                open.waiting.remove(key);
                drop(open);
                self.key = None;
                Poll::Ready(ended)
            }
            Some(Wait::Asked(_)) | None => Poll::Pending,
        }
    }
}

impl Drop for Asked<'_, '_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.asking.open().waiting.remove(key);
        }
    }
}
