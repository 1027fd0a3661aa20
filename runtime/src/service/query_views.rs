//! What the questions about many runs take and give.

use super::run_views::RunStatus;
use super::window::{TIME, of_runs};
use crate::store::{Took, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long some things took, in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Durations {
    /// Half of them took no longer.
    pub median_ms: i64,
    /// 95 of 100 took no longer.
    pub p95_ms: i64,
    /// The longest.
    pub longest_ms: i64,
}

impl From<Took> for Durations {
    fn from(took: Took) -> Durations {
        Durations { median_ms: took.median, p95_ms: took.p95, longest_ms: took.longest }
    }
}

/// What is counted for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupBy {
    /// Each workflow.
    Workflow,
    /// Runs that stand alike.
    Status,
}

/// A stretch of time, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Every {
    /// A day.
    Day,
    /// An hour.
    Hour,
}

of_runs! {
    /// What `count_runs` takes.
    CountRuns {
        /// Only runs that stand so.
        #[serde(default)]
        status: Option<RunStatus>,
        /// What is counted for itself: `workflow`, `status` or both; without any, all runs are one count.
        #[serde(default)]
        group_by: Vec<GroupBy>,
        /// Whether each day or hour in which runs were asked for is counted for itself.
        #[serde(default)]
        every: Option<Every>,
        /// How many counts at most, 100 where it is left out.
        #[serde(default)]
        #[schemars(range(min = 1, max = 1000))]
        limit: Option<u32>,
    }
}

/// What `count_runs` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunCounts {
    /// The counts: by time, then workflow, then status. Where there are no runs, there is no count.
    pub counts: Vec<RunCountView>,
    /// Where there are more: what `offset` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// How many runs there are of one kind.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunCountView {
    /// When the day or hour begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_name: Option<String>,
    /// How they stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// How many.
    pub runs: u64,
}

/// What workflows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OrderBy {
    /// How many runs failed, most first.
    #[default]
    Failed,
    /// How many of those that ended by themselves failed, in percent, most first.
    FailurePercent,
    /// How long 95 of 100 take at most, the slowest first.
    Slowest,
    /// How many runs there are, most first.
    Runs,
    /// When the last run was asked for, the longest ago (or never) first.
    Idle,
    /// The name.
    Name,
}

of_runs! {
    /// What `compare_workflows` takes.
    CompareWorkflows {
        /// What comes first; `failed` where it is left out.
        #[serde(default)]
        order_by: OrderBy,
        /// How many workflows at most, 50 where it is left out.
        #[serde(default)]
        #[schemars(range(min = 1, max = 1000))]
        limit: Option<u32>,
    }
}

/// What `compare_workflows` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkflowComparison {
    /// The workflows: those with runs, and those that are active and have none.
    pub workflows: Vec<WorkflowFiguresView>,
    /// Where there are more: what `offset` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// What is to be known of a workflow's runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkflowFiguresView {
    /// The workflow.
    pub workflow_name: String,
    /// How many runs there are.
    pub runs: u64,
    /// How many of them somebody will begin or go on with.
    pub queued: u64,
    /// How many are under way.
    pub running: u64,
    /// How many wait for a timer or a person.
    pub waiting: u64,
    /// How many ended with an output.
    pub done: u64,
    /// How many ended with a failure.
    pub failed: u64,
    /// How many were cancelled.
    pub cancelled: u64,
    /// How many of those that are done or failed did fail, in whole percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_percent: Option<u64>,
    /// When the last run was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run_at: Option<String>,
    /// How long those took that are done, from being asked for to the end, waiting included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took: Option<Durations>,
    /// The run that took longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest_run_id: Option<String>,
}

of_runs! {
    /// What `explain_failures` takes.
    ExplainFailures {
        /// How many causes at most, 20 where it is left out.
        #[serde(default)]
        #[schemars(range(min = 1, max = 1000))]
        limit: Option<u32>,
    }
}

/// What `explain_failures` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureCauses {
    /// How many failed runs were looked at.
    pub failed_runs: usize,
    /// Whether those are all; else they are the newest ones.
    pub is_complete: bool,
    /// Why they failed, the most frequent cause first.
    pub causes: Vec<FailureCause>,
    /// Where there are more: what `offset` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// Runs of one workflow that failed with one code at one step, whatever its round or attempt.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureCause {
    /// The workflow.
    pub workflow_name: String,
    /// The code of the failure.
    pub code: String,
    /// The step that failed, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// How many runs.
    pub runs: u64,
    /// When the first of them was asked for.
    pub first_at: String,
    /// When the last of them was asked for.
    pub last_at: String,
    /// What was said, the newest first: up to three messages that differ.
    pub messages: Vec<String>,
    /// The newest runs, up to five.
    pub run_ids: Vec<String>,
}

of_runs! {
    /// What `rank_steps` takes.
    RankSteps {
        /// How many of the newest runs are looked at, 100 where it is left out.
        #[serde(default)]
        #[schemars(range(min = 1, max = 1000))]
        runs: Option<u32>,
        /// How many steps at most, 20 where it is left out.
        #[serde(default)]
        #[schemars(range(min = 1, max = 1000))]
        limit: Option<u32>,
    }
}

/// What `rank_steps` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepRanking {
    /// How many runs were looked at.
    pub runs: usize,
    /// Whether their journals were read to the end; those of long runs may be too much.
    pub is_complete: bool,
    /// The steps, the one that took most time altogether first.
    pub steps: Vec<StepCost>,
    /// Where there are more: what `offset` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// What the time of a step is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountedFrom {
    /// Its own beginning, as the journal has it.
    Begin,
    /// The question to a person: it waited for the answer.
    Question,
    /// The begin of a timer: it waited for a time.
    Timer,
    /// What happened in the run before: the journal has no beginning of calls that only read.
    EventBefore,
}

/// What a step costs, over all its rounds and attempts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepCost {
    /// The workflow.
    pub workflow_name: String,
    /// The step, without the numbers of rounds and attempts.
    pub step: String,
    /// What its time is counted from.
    pub counted_from: CountedFrom,
    /// How often it ended.
    pub times: u64,
    /// How often it ended with a failure.
    pub failed: u64,
    /// How long it took altogether, in milliseconds.
    pub total_ms: i64,
    /// How long it took each time.
    pub took: Durations,
    /// The run in which it took longest.
    pub slowest_run_id: String,
}
