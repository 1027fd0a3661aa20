//! What a workflow means: one pure, total function from what happened so far to what is to be done next.
//!
//! One interpreter (`advance/walk.rs`) walks the document, and waits at each effect for its end. [`Progress`] is a walk that is gone on with: an end brings forward what waited
//! for it, and nothing else is looked at again, so that a step costs the same however long its run is. [`advance`] is a walk from the start, [`run_in`] one that a world answers.
//!
//! Keys: a step's key is its id, behind `loop_id[index]/` for each loop around it. In a `for` the index is the item's in the list, before
//! `where`; in a `repeat` it is the round's, from 0. The second attempt of `fetch` is `fetch@2`; the pause before an attempt or a round is a timer
//! under that one's key with `@wait` behind it: `fetch@2@wait`, `poll[1]@wait`. `when`, `switch`, `parallel` and `catch` add nothing, as ids are unique.

mod asking;
mod at_once;
mod evaluate;
mod frame;
mod progress;
mod walk;

pub use evaluate::{failed_result, not_reached};
pub use progress::Progress;

use crate::document::{Duration, Workflow};
use crate::expr::eval::fail;
use crate::value::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt;

/// The address of one execution of a step: `label_each[2]/label`. It follows from the workflow, never from timing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepKey(pub SmolStr);

/// What a run starts with.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// The input, with the defaults filled in.
    pub input: Object,
    /// The secrets by name. They reach tools and nothing else.
    pub secrets: BTreeMap<SmolStr, SmolStr>,
    /// `run.started_at`: RFC 3339, UTC.
    pub started_at: SmolStr,
    /// `run.id`
    pub id: SmolStr,
}

/// What is known of the steps of a run: how each effect ended. An effect that is not here has not ended.
pub trait History: Sync {
    /// How the effect under `key` ended, if it did.
    fn ended(&self, key: &StepKey) -> Option<Ended>;
}

/// How an effect ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this value.
    Succeeded(Value),
    /// With this failure.
    Failed(Failure),
}

/// Why a step or a run failed: plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A kebab-case code: `tool-error`, `rpc-error`, `timeout`, `failed-result`, `no-such-key`, `none-matches`, `several-match` …
    pub code: SmolStr,
    /// What happened, for people.
    pub message: String,
    /// The step that failed, where one did.
    pub step: Option<StepKey>,
}

/// Something that is to be done to the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A tool call; it ends with the decoded value of its result.
    Call {
        /// The server's name in the workflow.
        server: SmolStr,
        /// The tool's name.
        tool: SmolStr,
        /// The arguments.
        arguments: Object,
        /// After how long it fails with `timeout`.
        timeout: Option<Duration>,
    },
    /// A timer; it ends with null.
    Sleep(Duration),
    /// A question to a person; it ends with the answer.
    Escalate {
        /// Who is asked.
        role: SmolStr,
        /// What is asked.
        message: String,
        /// The JSON Schema of the answer.
        form: Option<Value>,
        /// What is shown beside the message.
        data: Option<Value>,
        /// From 1, urgent, to 4.
        priority: u8,
        /// Whether a workflow that was made of earlier answers is tried before a person is asked.
        triage: bool,
        /// After how long it fails with `timeout`.
        timeout: Option<Duration>,
    },
    /// Another workflow; it ends with its output.
    Run {
        /// Its name.
        workflow: SmolStr,
        /// Its input.
        input: Object,
        /// After how long it fails with `timeout`.
        timeout: Option<Duration>,
    },
}

/// What comes next in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// These effects, all of which may be under way at once; none of them has ended.
    Do(Vec<(StepKey, Effect)>),
    /// Nothing: the run is done, with its output.
    Done(Value),
    /// Nothing: the run failed.
    Failed(Failure),
}

/// What performs effects, one after the other: a world for [`run_in`].
pub trait World {
    /// Does `effect` and says how it ended. Each key comes once.
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended;
}

/// What comes next in the run of `workflow` that began with `start` and of which `history` is known.
///
/// The result follows from the ends in the history alone, not from the order in which they came. What runs at once (`at_once`, `parallel`) is
/// judged in the order of the document: where an iteration or a branch fails, those before it are brought to their end, those behind it are
/// no longer asked for, and what of them is still under way no longer matters.
pub fn advance(workflow: &Workflow, start: &Start, history: &dyn History) -> Next {
    Progress::new(workflow, start, history).next_effects()
}

/// Runs `workflow` from its start to its end in `world`, each effect at once, in the order of the document.
///
/// # Errors
/// The failure of the run.
pub fn run_in(workflow: &Workflow, start: &Start, world: &mut dyn World) -> Result<Value, Failure> {
    let nothing = BTreeMap::new();
    let mut progress = Progress::in_turn(workflow, start, &nothing);
    loop {
        let effects = match progress.next_effects() {
            Next::Done(value) => return Ok(value),
            Next::Failed(failure) => return Err(failure),
            Next::Do(effects) => effects,
        };
        if effects.is_empty() {
            return Err(fail("no-end", "an effect was performed and did not end"));
        }
        for (key, effect) in effects {
            let ended = world.perform(&key, effect);
            progress.end(&key, ended);
        }
    }
}

impl History for BTreeMap<StepKey, Ended> {
    fn ended(&self, key: &StepKey) -> Option<Ended> {
        self.get(key).cloned()
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Start {
    /// Secrets are named, never shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start")
            .field("input", &self.input)
            .field("secrets", &self.secrets.keys().collect::<Vec<_>>())
            .field("started_at", &self.started_at)
            .field("id", &self.id)
            .finish()
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
