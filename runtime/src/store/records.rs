//! The plain data that goes through a store: runs, their journals, questions to people, versions of workflows.

use crate::clock::Moment;
use ltc_workflow::Value;
use ltc_workflow::advance::{Failure, StepKey};
use smol_str::{SmolStr, format_smolstr};

/// The name of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub SmolStr);

/// The name of a process that works on runs; no two live processes have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub SmolStr);

/// The name of a question to a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EscalationId(pub SmolStr);

impl EscalationId {
    /// The name of the question about a run that failed: there is one for each.
    pub fn about_failure(run: &RunId) -> EscalationId {
        EscalationId(format_smolstr!("triage-{}", run.0))
    }
}

/// The digest of a [`Definition`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(pub SmolStr);

/// Something that happened in a run. The events of a run, in their order, are its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The step that it is about.
    pub key: StepKey,
    /// When.
    pub at: Moment,
    /// What happened.
    pub what: What,
}

/// What happened to a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It is about to be done, and doing it twice would matter.
    Started,
    /// It ended with this value.
    Succeeded(Value),
    /// It ended with this failure.
    Failed(Failure),
    /// It waits until then.
    SleepUntil(Moment),
    /// A person was asked.
    Escalated(EscalationId),
    /// A person decided that a step of which nobody knew whether it was done is to be done again.
    Again,
    /// The run was cancelled while this step, or none (an empty key), was under way.
    Cancelled,
}

/// A workflow with all that it runs, as one text: what a run was begun with is what it goes on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The digest of the text.
    pub id: DefinitionId,
    /// The text.
    pub text: String,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Somebody may begin or go on with it.
    Queued,
    /// A worker has it.
    Running,
    /// It waits for a timer or a person; nobody has it.
    Waiting,
    /// It ended with an output.
    Done,
    /// It ended with a failure.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// The right to work on a run, and until when it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who has it.
    pub worker: WorkerId,
    /// Until then nobody else gets it.
    pub until: Moment,
}

/// A run that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// Its name.
    pub id: RunId,
    /// The workflow's name.
    pub workflow: SmolStr,
    /// The workflow itself.
    pub definition: Definition,
    /// The input, sealed.
    pub input: Value,
    /// When it was asked for: `run.started_at`.
    pub created_at: Moment,
    /// When it fails if it has not ended.
    pub deadline: Option<Moment>,
    /// With a lease it is running at once, else it is queued.
    pub lease: Option<Lease>,
}

impl NewRun {
    /// The run as it is kept when it has just been made.
    pub fn record(&self) -> RunRecord {
        RunRecord {
            id: self.id.clone(),
            workflow: self.workflow.clone(),
            definition: self.definition.id.clone(),
            input: self.input.clone(),
            status: if self.lease.is_some() { Status::Running } else { Status::Queued },
            created_at: self.created_at,
            updated_at: self.created_at,
            ended_at: None,
            deadline: self.deadline,
            wake_at: None,
            lease: self.lease.clone(),
            is_cancel_requested: false,
            events: 0,
            output: None,
            failure: None,
        }
    }
}

/// A run, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Its name.
    pub id: RunId,
    /// The workflow's name.
    pub workflow: SmolStr,
    /// The workflow itself.
    pub definition: DefinitionId,
    /// The input, sealed.
    pub input: Value,
    /// How it stands.
    pub status: Status,
    /// When it was asked for.
    pub created_at: Moment,
    /// When something last happened in it.
    pub updated_at: Moment,
    /// When it ended.
    pub ended_at: Option<Moment>,
    /// When it fails if it has not ended.
    pub deadline: Option<Moment>,
    /// When a waiting run goes on by itself.
    pub wake_at: Option<Moment>,
    /// Who works on it. A lease that has run out counts for nothing.
    pub lease: Option<Lease>,
    /// Whether somebody asked for its end.
    pub is_cancel_requested: bool,
    /// How many events its journal has.
    pub events: u64,
    /// The output of a run that is done.
    pub output: Option<Value>,
    /// The failure of a run that failed.
    pub failure: Option<Failure>,
}

/// What became of a run that was to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is there now.
    New,
    /// A run of that name was there before; nothing was changed.
    Exists(Box<RunRecord>),
}

/// What became of the wish to work on one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is ours until the lease runs out.
    Claimed(Box<RunRecord>),
    /// Another worker has it.
    Held(Box<RunRecord>),
    /// It has ended.
    Ended(Box<RunRecord>),
    /// There is no such run.
    NoSuchRun,
}

/// What is written down about a run in one atomic step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Events, behind those that are there.
    pub events: Vec<Event>,
    /// Questions to people that are opened.
    pub opened: Vec<NewEscalation>,
    /// Questions that nobody needs an answer to any more; one that is resolved stays so.
    pub closed: Vec<EscalationId>,
    /// What becomes of the run.
    pub rest: Option<RunRest>,
}

/// What becomes of a run whose worker lets go of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRest {
    /// It waits: for a time, for a person (no time), or for both.
    Waiting {
        /// When it goes on by itself.
        wake_at: Option<Moment>,
    },
    /// Somebody else may go on with it at once.
    Queued,
    /// It is done, with this output.
    Done(Value),
    /// It failed.
    Failed(Failure),
    /// It was cancelled.
    Cancelled,
}

/// Which runs are wanted, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFilter {
    /// Only those that stand so.
    pub status: Option<Status>,
    /// Only those of this workflow.
    pub workflow: Option<SmolStr>,
    /// Only those behind this one in the list: the last of the page before.
    pub after: Option<(Moment, RunId)>,
    /// How many at most.
    pub limit: u32,
}

/// What a worker learns about a run that it has when it renews its leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The run.
    pub run: RunId,
    /// Whether somebody asked for its end.
    pub is_cancel_requested: bool,
}

/// A question to a person that is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEscalation {
    /// Its name.
    pub id: EscalationId,
    /// The run and the step that wait for the answer, where one does.
    pub asked_by: Option<(RunId, StepKey)>,
    /// What it is about.
    pub question: Question,
    /// When it was asked.
    pub created_at: Moment,
    /// When the step that asked fails without an answer.
    pub deadline: Option<Moment>,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Who is asked.
    pub role: SmolStr,
    /// A word for the kind of question: `mcp`, `workflow`, `in-doubt`.
    pub kind: SmolStr,
    /// A word that divides the kind: `tool_call`, `escalate`.
    pub subkind: SmolStr,
    /// From 1, urgent, to 4.
    pub priority: u8,
    /// What is asked.
    pub message: String,
    /// What is shown beside the message.
    pub data: Option<Value>,
    /// The JSON Schema of the answer.
    pub form: Option<Value>,
}

/// How a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EscalationStatus {
    /// Nobody has it.
    Pending,
    /// Somebody works on it.
    Claimed,
    /// It is answered.
    Resolved,
    /// Nobody needs the answer any more.
    Closed,
}

/// A question, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscalationRecord {
    /// Its name.
    pub id: EscalationId,
    /// The run and the step that wait for the answer, where one does.
    pub asked_by: Option<(RunId, StepKey)>,
    /// What it is about.
    pub question: Question,
    /// How it stands. A claim that has run out is none.
    pub status: EscalationStatus,
    /// When it was asked.
    pub created_at: Moment,
    /// When the step that asked fails without an answer.
    pub deadline: Option<Moment>,
    /// Who works on it, and until when.
    pub claim: Option<(SmolStr, Moment)>,
    /// When it was answered or closed.
    pub ended_at: Option<Moment>,
    /// Who answered.
    pub resolved_by: Option<SmolStr>,
    /// The answer.
    pub answer: Option<Value>,
}

/// Which questions are wanted, the most urgent first, then the oldest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EscalationFilter {
    /// Only those to this role.
    pub role: Option<SmolStr>,
    /// Only those that stand so at `now`.
    pub status: Option<EscalationStatus>,
    /// Only those of this run.
    pub run: Option<RunId>,
    /// The time that decides whether a claim has run out.
    pub now: Moment,
    /// How many at most.
    pub limit: u32,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The question.
    pub escalation: EscalationId,
    /// Who answers.
    pub by: SmolStr,
    /// The answer.
    pub answer: Value,
    /// What it means for the step that asked: appended to the run's journal in the same atomic step; the run goes on.
    pub event: Option<Event>,
    /// When.
    pub at: Moment,
}

/// What became of a claim or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It holds.
    Done(Box<EscalationRecord>),
    /// There is no such question.
    NoSuchEscalation,
    /// Somebody else works on it.
    ClaimedBy(SmolStr),
    /// It was answered before, or nobody needs the answer any more.
    Ended(Box<EscalationRecord>),
}
