//! What the operations on runs take and give.

use super::Exact;
use crate::store::{Event, RunRecord, Status, What};
use ltc_workflow::advance::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `invoke_workflow` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InvokeWorkflow {
    /// The workflow's name.
    pub workflow_name: String,
    /// The version; the active one where it is left out.
    #[serde(default)]
    pub version: Option<u32>,
    /// Its input: an object that fits the workflow's input schema.
    #[serde(default)]
    #[schemars(extend("type" = ["object", "null"]))]
    pub input: Option<Exact>,
    /// Whether to return the id of the run at once instead of waiting for its end.
    #[serde(default, rename = "async")]
    pub is_async: bool,
    /// A name for the run, so that asking twice runs it once; it is given one where this is left out.
    #[serde(default)]
    pub run_id: Option<String>,
    /// After how many seconds the run fails if it has not ended.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub deadline_seconds: Option<u64>,
}

/// What `get_run` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRun {
    /// The id of the run.
    pub run_id: String,
    /// Whether to show the journal too.
    #[serde(default)]
    pub events: bool,
}

/// What `list_runs` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRuns {
    /// Only runs that stand so.
    #[serde(default)]
    pub status: Option<RunStatus>,
    /// Only runs of this workflow.
    #[serde(default)]
    pub workflow_name: Option<String>,
    /// How many at most, 50 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(default)]
    #[schemars(regex(pattern = "^-?[0-9]{1,15}@"))]
    pub after: Option<String>,
}

/// What `list_runs` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunList {
    /// The runs, the newest first.
    pub runs: Vec<RunView>,
    /// Where there are more: what `after` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What `cancel_run` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRun {
    /// The id of the run.
    pub run_id: String,
}

/// What `resume_run` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRun {
    /// The id of the run.
    pub run_id: String,
}

/// What `prune_runs` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneRuns {
    /// Runs that ended longer ago than this go: a number of seconds.
    pub older_than_seconds: u64,
}

/// What `prune_runs` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pruned {
    /// How many runs went.
    pub runs: u64,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Somebody will begin or go on with it.
    Queued,
    /// It is under way.
    Running,
    /// It waits for a timer or a person.
    Waiting,
    /// It ended with an output.
    Done,
    /// It ended with a failure.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunView {
    /// Its id.
    pub run_id: String,
    /// The workflow's name.
    pub workflow_name: String,
    /// How it stands.
    pub status: RunStatus,
    /// The output, where it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Exact>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// Ids of the questions to people that are open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalations: Vec<String>,
    /// When it goes on by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<String>,
    /// When it was asked for.
    pub created_at: String,
    /// When something last happened in it.
    pub updated_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// When it fails if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// Its journal, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventView>>,
}

/// Why a run or a step failed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureView {
    /// A kebab-case code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// The step that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Something that happened in a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EventView {
    /// When.
    pub at: String,
    /// The step that it is about.
    pub step: String,
    /// What happened.
    pub event: StepOf,
    /// The value of a step that succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Exact>,
    /// The failure of a step that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// The time that a timer runs until, or the id of a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// What happened to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepOf {
    /// It was begun.
    Started,
    /// It ended with a value.
    Succeeded,
    /// It ended with a failure.
    Failed,
    /// It waits until a time.
    SleepUntil,
    /// A person was asked.
    Escalated,
    /// A person decided that it is to be done again.
    Again,
    /// The run was cancelled.
    Cancelled,
}

impl From<Failure> for FailureView {
    fn from(failure: Failure) -> FailureView {
        FailureView { code: failure.code.into(), message: failure.message, step: failure.step.map(|step| step.0.into()) }
    }
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> RunStatus {
        match status {
            Status::Queued => RunStatus::Queued,
            Status::Running => RunStatus::Running,
            Status::Waiting => RunStatus::Waiting,
            Status::Done => RunStatus::Done,
            Status::Failed => RunStatus::Failed,
            Status::Cancelled => RunStatus::Cancelled,
        }
    }
}

impl From<RunStatus> for Status {
    fn from(status: RunStatus) -> Status {
        match status {
            RunStatus::Queued => Status::Queued,
            RunStatus::Running => Status::Running,
            RunStatus::Waiting => Status::Waiting,
            RunStatus::Done => Status::Done,
            RunStatus::Failed => Status::Failed,
            RunStatus::Cancelled => Status::Cancelled,
        }
    }
}

impl From<Event> for EventView {
    fn from(Event { key, at, what }: Event) -> EventView {
        let mut view =
            EventView { at: at.to_string(), step: key.0.into(), event: StepOf::Started, value: None, failure: None, until: None };
        match what {
            What::Started => {}
            What::Succeeded(value) => (view.event, view.value) = (StepOf::Succeeded, Some(Exact(value))),
            What::Failed(failure) => (view.event, view.failure) = (StepOf::Failed, Some(failure.into())),
            What::SleepUntil(until) => (view.event, view.until) = (StepOf::SleepUntil, Some(until.to_string())),
            What::Escalated(id) => (view.event, view.until) = (StepOf::Escalated, Some(id.0.into())),
            What::Again => view.event = StepOf::Again,
            What::Cancelled => view.event = StepOf::Cancelled,
        }
        view
    }
}

impl RunView {
    /// A run as its record says; what it waits for is asked for beside it.
    pub(super) fn of(record: RunRecord) -> RunView {
        RunView {
            run_id: record.id.0.into(),
            workflow_name: record.workflow.into(),
            status: record.status.into(),
            output: record.output.map(Exact),
            failure: record.failure.map(FailureView::from),
            escalations: Vec::new(),
            wake_at: record.wake_at.map(|at| at.to_string()),
            created_at: record.created_at.to_string(),
            updated_at: record.updated_at.to_string(),
            ended_at: record.ended_at.map(|at| at.to_string()),
            deadline: record.deadline.map(|at| at.to_string()),
            events: None,
        }
    }
}
