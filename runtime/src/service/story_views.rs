//! What the questions about people's queues, and about one run, take and give.

use super::people_views::Standing;
use super::query_views::{CountedFrom, Durations};
use super::run_views::{FailureView, RunStatus};
use super::window::TIME;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `summarize_escalations` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummarizeEscalations {
    /// Only questions to this role.
    #[serde(default)]
    pub role: Option<String>,
    /// Only questions that were asked then or later: an instant (`2026-01-02T03:04:05Z`), or how long ago (`24h`, `7d`).
    #[serde(default)]
    #[schemars(regex(pattern = TIME))]
    pub since: Option<String>,
    /// Only questions that were asked before: as `since`.
    #[serde(default)]
    #[schemars(regex(pattern = TIME))]
    pub until: Option<String>,
    /// How many roles at most, 100 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// How many of the first ones are left out.
    #[serde(default)]
    pub offset: Option<u32>,
}

/// What `summarize_escalations` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EscalationSummary {
    /// The roles, by name.
    pub roles: Vec<RoleView>,
    /// Where there are more: what `offset` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// The questions to one role.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RoleView {
    /// The role.
    pub role: String,
    /// How many nobody works on.
    pub pending: u64,
    /// How many somebody works on.
    pub claimed: u64,
    /// How many of both have passed their deadline.
    pub overdue: u64,
    /// How many are answered.
    pub resolved: u64,
    /// How many nobody needs an answer to any more.
    pub closed: u64,
    /// The oldest that is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_open_id: Option<String>,
    /// When it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_open_at: Option<String>,
    /// How many seconds ago that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_open_seconds: Option<u64>,
    /// How long answers took, from the question on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took: Option<Durations>,
}

/// What `get_run_story` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRunStory {
    /// The id of the run.
    pub run_id: String,
    /// How many steps at most, 200 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// How many of the first ones are left out.
    #[serde(default)]
    pub offset: Option<u32>,
}

/// What `get_run_story` gives: what happened in a run, without the values.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunStory {
    /// The run.
    pub run_id: String,
    /// Its workflow.
    pub workflow_name: String,
    /// How it stands.
    pub status: RunStatus,
    /// When it was asked for.
    pub created_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How long it took from being asked for to the end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<i64>,
    /// When it goes on by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// How many steps it has begun.
    pub step_count: usize,
    /// What it did, in the order in which it was begun.
    pub steps: Vec<StepStory>,
    /// What people were asked, the most urgent first; at most a thousand questions.
    pub questions: Vec<QuestionStory>,
    /// Where there are more steps: what `offset` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepStanding {
    /// It was begun, and its end is not known.
    Begun,
    /// It waits for a time.
    Sleeping,
    /// It waits for a person, or nobody needs the answer any more.
    Asked,
    /// It ended with a value.
    Succeeded,
    /// It ended with a failure.
    Failed,
}

/// What became of a step.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepStory {
    /// The step.
    pub step: String,
    /// How it stands.
    pub status: StepStanding,
    /// What its time is counted from.
    pub counted_from: CountedFrom,
    /// When that was.
    pub began_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// How long that is, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<i64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// Whether a person decided that it was to be done again.
    pub is_done_again: bool,
}

/// What a person was asked, and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuestionStory {
    /// The question.
    pub escalation_id: String,
    /// The step that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Who was asked.
    pub role: String,
    /// What was asked.
    pub message: String,
    /// How it stands.
    pub status: Standing,
    /// When it was asked.
    pub asked_at: String,
    /// When it was answered or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver_id: Option<String>,
}
