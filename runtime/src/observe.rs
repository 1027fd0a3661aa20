//! What a run lets others see while it goes on.

use crate::secrets::Redactor;
use crate::upstream::{Hearing, Progress};
use ltc_workflow::advance::{Effect, Ended, StepKey};
use std::sync::Arc;

/// Takes what servers say beside the protocol.
pub trait Log: Send + Sync {
    /// These secrets are not to appear in what is said from now on.
    fn learn(&self, secrets: &Redactor);

    /// A line of a server's stderr: one line, without secrets, without anything that a terminal acts on.
    fn server_said(&self, server: &str, line: &str);

    /// `text` without the values of secrets.
    fn redact(&self, text: &str) -> String;
}

/// Sees the steps of a run. Both are called from the engine, one after the other.
pub trait Observer: Send + Sync {
    /// A step is under way.
    fn started(&self, key: &StepKey, effect: &Effect);

    /// A step has ended.
    fn ended(&self, key: &StepKey, ended: &Ended);

    /// Whether [`Observer::progress`] does something: servers are asked for progress only then.
    fn hears_progress(&self) -> bool {
        false
    }

    /// The server of a step that is under way says how far it has come. It is called where messages of the server are read, and is not to wait for anything.
    fn progress(&self, _key: &StepKey, _progress: &Progress) {}
}

/// Hears for `observer` how far the call of the step `key` has come, where it wants to know.
pub(crate) fn hearing(observer: &Arc<dyn Observer>, key: &StepKey) -> Option<Hearing> {
    let (observer, key) = (observer.clone(), key.clone());
    observer.hears_progress().then(|| Hearing::new(move |told| observer.progress(&key, &told)))
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn started(&self, _key: &StepKey, _effect: &Effect) {}

    fn ended(&self, _key: &StepKey, _ended: &Ended) {}
}
