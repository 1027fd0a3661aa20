//! Questions about many runs and questions at once: how many, how long, why not. They only read.
//!
//! Each answer is counted by the database in one statement, or given as rows that the caller counts, where what belongs together is no matter of SQL (the rounds of a
//! loop, which differ in their keys). Durations are milliseconds; of `n` sorted ones, the median is the one at the place `(n + 1) / 2`, and the 95th percentile that at
//! the place `95 n / 100`, rounded up: both are durations that were there, and the same in every database.

use super::{Answer, EscalationId, RunId, Status};
use crate::clock::Moment;
use ltc_workflow::advance::{Failure, StepKey};
use smol_str::SmolStr;

/// Which runs a question is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Only those of this workflow.
    pub workflow: Option<SmolStr>,
    /// Only those that were asked for then or later.
    pub since: Option<Moment>,
    /// Only those that were asked for before.
    pub until: Option<Moment>,
}

/// How runs are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// Which runs.
    pub runs: Window,
    /// Only those that stand so.
    pub status: Option<Status>,
    /// Whether each workflow is counted for itself.
    pub by_workflow: bool,
    /// Whether those that stand alike are counted for themselves.
    pub by_status: bool,
    /// Whether each stretch of time is counted for itself, and how many milliseconds one has. Stretches begin at 1970, UTC.
    pub every: Option<i64>,
    /// How many of the first counts are left out.
    pub offset: u32,
    /// How many counts at most.
    pub limit: u32,
}

/// How many runs there are of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCount {
    /// When the stretch of time begins, where each is counted for itself.
    pub from: Option<Moment>,
    /// The workflow, where each is counted for itself.
    pub workflow: Option<SmolStr>,
    /// How they stand, where that was asked for.
    pub status: Option<Status>,
    /// How many.
    pub runs: u64,
}

/// How long some things took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Half of them took no longer.
    pub median: i64,
    /// 95 of 100 took no longer.
    pub p95: i64,
    /// The longest.
    pub longest: i64,
}

/// What is to be known of a workflow's runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowFigures {
    /// The workflow. One that is active and has no runs is there too.
    pub workflow: SmolStr,
    /// How many runs stand so, in the order of [`Status`].
    pub runs: [u64; 6],
    /// When the last one was asked for.
    pub last_run_at: Option<Moment>,
    /// How long those took that are done, from being asked for to the end, waiting included.
    pub took: Option<Took>,
    /// The one that took longest.
    pub slowest: Option<RunId>,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRun {
    /// The run.
    pub run: RunId,
    /// Its workflow.
    pub workflow: SmolStr,
    /// When it was asked for.
    pub created_at: Moment,
    /// Why.
    pub failure: Failure,
}

/// What happened to a step, without its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// It was begun.
    Started,
    /// It ended with a value.
    Succeeded,
    /// It ended with a failure.
    Failed,
    /// It waits until a time.
    Sleeps,
    /// A person was asked.
    Asked,
    /// It is to be done again, or the run was cancelled.
    Else,
}

/// An event of some run, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEvent {
    /// The run.
    pub run: RunId,
    /// Its workflow.
    pub workflow: SmolStr,
    /// When the run was asked for.
    pub created_at: Moment,
    /// The step.
    pub step: StepKey,
    /// When.
    pub at: Moment,
    /// What happened.
    pub happened: Happened,
}

/// Which questions to people are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Only those to this role.
    pub role: Option<SmolStr>,
    /// Only those that were asked then or later.
    pub since: Option<Moment>,
    /// Only those that were asked before.
    pub until: Option<Moment>,
    /// The time that decides whether a claim has run out and a deadline has passed.
    pub now: Moment,
}

/// What is to be known of the questions to one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleFigures {
    /// The role.
    pub role: SmolStr,
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
    /// The oldest that is open, and when it was asked.
    pub oldest: Option<(EscalationId, Moment)>,
    /// How long answers took, from the question on.
    pub took: Option<Took>,
}

/// What a store can be asked about many runs at once.
pub trait Statistics: Send + Sync {
    /// How many runs there are of each kind: by time, then workflow, then status.
    fn count_runs(&self, counting: Counting) -> Answer<'_, Vec<RunCount>>;

    /// What is to be known of each workflow's runs, by name.
    fn workflow_figures(&self, runs: Window) -> Answer<'_, Vec<WorkflowFigures>>;

    /// Runs that failed, the newest first.
    fn failed_runs(&self, runs: Window, limit: u32) -> Answer<'_, Vec<FailedRun>>;

    /// The events of the newest `runs` runs that have some, run by run, each in its order; at most `limit` events.
    fn step_events(&self, window: Window, runs: u32, limit: u32) -> Answer<'_, Vec<StepEvent>>;

    /// What is to be known of the questions to each role, by role.
    fn role_figures(&self, asking: Asking) -> Answer<'_, Vec<RoleFigures>>;
}
