//! What a run lets others see while it goes on.

use crate::secrets::Redactor;
use ltc_workflow::advance::{Effect, Ended, StepKey};

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
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn started(&self, _key: &StepKey, _effect: &Effect) {}

    fn ended(&self, _key: &StepKey, _ended: &Ended) {}
}
