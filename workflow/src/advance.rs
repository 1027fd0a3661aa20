//! What a workflow means: one pure, total function from what happened so far to what is to be done next.

use crate::document::{Duration, Workflow};
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
pub trait History {
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
    /// A kebab-case code: `tool-error`, `rpc-error`, `timeout`, `no-such-key`, `none-matches`, `several-match` …
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
    },
    /// Another workflow; it ends with its output.
    Run {
        /// Its name.
        workflow: SmolStr,
        /// Its input.
        input: Object,
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

/// What comes next in the run of `workflow` that began with `start` and of which `history` is known.
pub fn advance(_workflow: &Workflow, _start: &Start, _history: &dyn History) -> Next {
    Next::Done(Value::Null)
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
