//! Questions about many runs, workflows and questions to people: counted, compared, grouped by why they failed and by what took long.
//!
//! They are a few typed questions with filters, and no SQL: a statement of somebody else would see inputs and outputs that are nobody's business, would want a connection
//! that cannot write, limits of its own on time and rows, and would be another one for each database. What is asked here is the same over SQLite and PostgreSQL, shows no
//! input, no output and no value of a step, and is bounded by itself. Whoever wants one run's values asks for that run.

use super::pages;
use super::query_views::{
    CompareWorkflows, CountRuns, CountedFrom, Durations, Every, ExplainFailures, FailureCause, FailureCauses, GroupBy, OrderBy, RankSteps,
    RunCountView, RunCounts, StepCost, StepRanking, WorkflowComparison, WorkflowFiguresView,
};
use super::story::Clocked;
use super::story_views::{EscalationSummary, RoleView, SummarizeEscalations};
use super::window::times;
use super::{Caller, Refusal, Service};
use crate::clock::Moment;
use crate::store::{Asking, Counting, FailedRun, RunId, Status, Took, WorkflowFigures};
use smol_str::SmolStr;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many runs that failed are grouped.
const MOST_FAILURES: u32 = 10_000;

/// How many events of journals are read for one ranking.
const MOST_EVENTS: u32 = 100_000;

/// How many of the newest runs are looked at where nobody says.
const RUNS: u32 = 100;

/// How many messages and runs a cause of failures names.
const MESSAGES: usize = 3;
const EXAMPLES: usize = 5;

/// The part of a sorted list that was asked for, and where the next one begins.
fn part<T>(mut all: Vec<T>, offset: Option<u32>, limit: Option<u32>, usual: u32) -> (Vec<T>, Option<u32>) {
    let (offset, limit) = (offset.unwrap_or(0), pages::limit(limit, usual));
    let skipped = usize::try_from(offset).unwrap_or(usize::MAX).min(all.len());
    let mut part = all.split_off(skipped);
    let is_more = pages::cut(&mut part, limit);
    (part, is_more.then(|| offset.saturating_add(limit)))
}

pub(super) async fn count_runs(service: Arc<Service>, asked: CountRuns, _: Caller) -> Result<RunCounts, Refusal> {
    let by = |wanted: GroupBy| asked.group_by.contains(&wanted);
    let every = asked.every.map(|every| match every {
        Every::Day => 86_400_000,
        Every::Hour => 3_600_000,
    });
    let (limit, offset) = (pages::limit(asked.limit, 100), asked.offset.unwrap_or(0));
    let counting = Counting {
        runs: asked.window()?,
        status: asked.status.map(Status::from),
        by_workflow: by(GroupBy::Workflow),
        by_status: by(GroupBy::Status),
        every,
        offset,
        limit: limit + 1,
    };
    let mut counts = service.driver.store().count_runs(counting).await?;
    let next_offset = pages::cut(&mut counts, limit).then(|| offset.saturating_add(limit));
    let counts = counts.into_iter().map(|count| RunCountView {
        from: count.from.map(|from| from.to_string()),
        workflow_name: count.workflow.map(Into::into),
        status: count.status.map(Into::into),
        runs: count.runs,
    });
    Ok(RunCounts { counts: counts.collect(), next_offset })
}

pub(super) async fn compare_workflows(service: Arc<Service>, asked: CompareWorkflows, _: Caller) -> Result<WorkflowComparison, Refusal> {
    let figures = service.driver.store().workflow_figures(asked.window()?).await?;
    let last: BTreeMap<SmolStr, Option<Moment>> = figures.iter().map(|figures| (figures.workflow.clone(), figures.last_run_at)).collect();
    let mut workflows: Vec<WorkflowFiguresView> = figures.into_iter().map(WorkflowFiguresView::from).collect();
    // They come by name, and a stable sort keeps that where nothing else tells them apart.
    match asked.order_by {
        OrderBy::Failed => workflows.sort_by_key(|view| Reverse(view.failed)),
        OrderBy::FailurePercent => workflows.sort_by_key(|view| Reverse(view.failure_percent)),
        OrderBy::Slowest => workflows.sort_by_key(|view| Reverse(view.took.as_ref().map(|took| took.p95_ms))),
        OrderBy::Runs => workflows.sort_by_key(|view| Reverse(view.runs)),
        OrderBy::Idle => workflows.sort_by_key(|view| last.get(view.workflow_name.as_str()).copied().flatten()),
        OrderBy::Name => {}
    }
    let (workflows, next_offset) = part(workflows, asked.offset, asked.limit, 50);
    Ok(WorkflowComparison { workflows, next_offset })
}

impl From<WorkflowFigures> for WorkflowFiguresView {
    fn from(figures: WorkflowFigures) -> WorkflowFiguresView {
        let [queued, running, waiting, done, failed, cancelled] = figures.runs;
        WorkflowFiguresView {
            workflow_name: figures.workflow.into(),
            runs: figures.runs.iter().sum(),
            queued,
            running,
            waiting,
            done,
            failed,
            cancelled,
            failure_percent: failed.saturating_mul(100).checked_div(done + failed),
            last_run_at: figures.last_run_at.map(|at| at.to_string()),
            took: figures.took.map(Durations::from),
            slowest_run_id: figures.slowest.map(|run| run.0.into()),
        }
    }
}

/// The step of a key, without the numbers of rounds (`each[3]`) and of attempts (`call@2`).
fn without_numbers(key: &str) -> String {
    let mut step = String::with_capacity(key.len());
    let mut rest = key;
    while let Some(at) = rest.find(['[', '@']) {
        let (before, behind) = rest.split_at(at);
        step.push_str(before);
        let digits = behind[1..].bytes().take_while(u8::is_ascii_digit).count();
        let end = 1 + digits;
        let is_number = digits > 0 && (behind.starts_with('@') || behind[end..].starts_with(']'));
        rest = if is_number && behind.starts_with('[') {
            &behind[end + 1..]
        } else if is_number {
            &behind[end..]
        } else {
            step.push_str(&behind[..1]);
            &behind[1..]
        };
    }
    step.push_str(rest);
    step
}

pub(super) async fn explain_failures(service: Arc<Service>, asked: ExplainFailures, _: Caller) -> Result<FailureCauses, Refusal> {
    let mut failed = service.driver.store().failed_runs(asked.window()?, MOST_FAILURES + 1).await?;
    let is_complete = !pages::cut(&mut failed, MOST_FAILURES);
    let failed_runs = failed.len();
    let (causes, next_offset) = part(causes(failed), asked.offset, asked.limit, 20);
    Ok(FailureCauses { failed_runs, is_complete, causes, next_offset })
}

/// The causes of failures, which come newest first.
fn causes(failed: Vec<FailedRun>) -> Vec<FailureCause> {
    let mut causes: BTreeMap<(SmolStr, SmolStr, Option<String>), FailureCause> = BTreeMap::new();
    for FailedRun { run, workflow, created_at, failure } in failed {
        let step = failure.step.map(|step| without_numbers(&step.0));
        let at = created_at.to_string();
        let cause = causes.entry((workflow.clone(), failure.code.clone(), step.clone())).or_insert_with(|| FailureCause {
            workflow_name: workflow.into(),
            code: failure.code.into(),
            step,
            runs: 0,
            first_at: at.clone(),
            last_at: at.clone(),
            messages: Vec::new(),
            run_ids: Vec::new(),
        });
        cause.runs += 1;
        cause.first_at = at;
        if cause.messages.len() < MESSAGES && !cause.messages.contains(&failure.message) {
            cause.messages.push(failure.message);
        }
        if cause.run_ids.len() < EXAMPLES {
            cause.run_ids.push(run.0.into());
        }
    }
    let mut causes: Vec<FailureCause> = causes.into_values().collect();
    causes.sort_by_key(|cause| Reverse(cause.runs));
    causes
}

/// A step of a workflow, in all its rounds and attempts, and what its time is counted from.
type StepOf = (SmolStr, String, CountedFrom);

/// How long a step took once, whether it failed, and in which run.
type End = (i64, bool, RunId);

pub(super) async fn rank_steps(service: Arc<Service>, asked: RankSteps, _: Caller) -> Result<StepRanking, Refusal> {
    let newest = pages::limit(asked.runs, RUNS);
    let mut events = service.driver.store().step_events(asked.window()?, newest, MOST_EVENTS + 1).await?;
    let is_complete = !pages::cut(&mut events, MOST_EVENTS);
    let mut runs: BTreeSet<RunId> = BTreeSet::new();
    let mut clocked = Clocked::default();
    let mut ends: BTreeMap<StepOf, Vec<End>> = BTreeMap::new();
    for event in events {
        if runs.insert(event.run.clone()) {
            clocked = Clocked::beginning(event.created_at);
        }
        if let Some(end) = clocked.see(&event.step, event.at, event.happened) {
            let key = (event.workflow, without_numbers(&event.step.0), end.counted_from);
            ends.entry(key).or_default().push((end.took, end.is_failure, event.run));
        }
    }
    let mut steps: Vec<StepCost> = ends.into_iter().filter_map(|(key, ends)| cost(key, ends)).collect();
    steps.sort_by_key(|step| Reverse(step.total_ms));
    let (steps, next_offset) = part(steps, asked.offset, asked.limit, 20);
    Ok(StepRanking { runs: runs.len(), is_complete, steps, next_offset })
}

fn cost((workflow, step, counted_from): StepOf, mut ends: Vec<End>) -> Option<StepCost> {
    ends.sort();
    let at = |place: usize| ends.get(place.saturating_sub(1)).map(|(took, _, _)| *took);
    let count = ends.len();
    let (longest, _, slowest) = ends.last()?;
    let took = Took { median: at(count.div_ceil(2))?, p95: at((95 * count).div_ceil(100))?, longest: *longest };
    Some(StepCost {
        workflow_name: workflow.into(),
        step,
        counted_from,
        times: u64::try_from(count).unwrap_or(u64::MAX),
        failed: u64::try_from(ends.iter().filter(|(_, is_failure, _)| *is_failure).count()).unwrap_or(u64::MAX),
        total_ms: ends.iter().fold(0, |total, (took, _, _)| total.saturating_add(*took)),
        took: took.into(),
        slowest_run_id: slowest.0.to_string(),
    })
}

pub(super) async fn summarize_escalations(
    service: Arc<Service>,
    asked: SummarizeEscalations,
    _: Caller,
) -> Result<EscalationSummary, Refusal> {
    let (since, until) = times(asked.since.as_deref(), asked.until.as_deref())?;
    let now = Moment::now();
    let asking = Asking { role: asked.role.map(SmolStr::from), since, until, now };
    let figures = service.driver.store().role_figures(asking).await?;
    let (figures, next_offset) = part(figures, asked.offset, asked.limit, 100);
    let role = |figures: crate::store::RoleFigures| {
        let (oldest, asked_at) = figures.oldest.unzip();
        RoleView {
            role: figures.role.into(),
            pending: figures.pending,
            claimed: figures.claimed,
            overdue: figures.overdue,
            resolved: figures.resolved,
            closed: figures.closed,
            oldest_open_id: oldest.map(|id| id.0.into()),
            oldest_open_at: asked_at.map(|at| at.to_string()),
            oldest_open_seconds: asked_at.map(|at| at.until(now).as_secs()),
            took: figures.took.map(Durations::from),
        }
    };
    Ok(EscalationSummary { roles: figures.into_iter().map(role).collect(), next_offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RunId;
    use ltc_workflow::advance::{Failure, StepKey};

    #[test]
    fn rounds_and_attempts_are_one_step() {
        for (key, step) in [
            ("label_each[12]/label", "label_each/label"),
            ("a[0]/b[1]/c@2", "a/b/c"),
            ("a@2@wait", "a@wait"),
            ("ask@chosen", "ask@chosen"),
            ("ask:add", "ask:add"),
            ("odd[x]/y[", "odd[x]/y["),
            ("ü[1]@", "ü@"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(key), step, "{key}");
        }
    }

    #[test]
    fn failures_are_one_cause_where_workflow_code_and_step_agree() {
        let failed = |run: &str, at: i64, step: &str, message: &str| FailedRun {
            run: RunId(run.into()),
            workflow: "w".into(),
            created_at: Moment(at),
            failure: Failure { code: "tool-error".into(), message: message.into(), step: Some(StepKey(step.into())) },
        };
        let found = causes(vec![
            failed("r4", 4000, "each[3]/put", "no such page"),
            failed("r3", 3000, "get", "gone"),
            failed("r2", 2000, "each[0]/put", "no such page"),
            failed("r1", 1000, "each[1]/put@2", "not now"),
        ]);
        let seen: Vec<_> = found.iter().map(|cause| (cause.step.as_deref(), cause.runs)).collect();
        assert_eq!(seen, [(Some("each/put"), 3), (Some("get"), 1)]);
        assert_eq!(found[0].messages, ["no such page", "not now"]);
        assert_eq!(found[0].run_ids, ["r4", "r2", "r1"]);
        assert_eq!((found[0].first_at.as_str(), found[0].last_at.as_str()), ("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:04.000Z"));
    }

    #[test]
    fn a_part_of_a_list_says_where_the_next_one_begins() {
        let all = || (0..5).collect::<Vec<u32>>();
        assert_eq!(part(all(), None, Some(2), 50), (vec![0, 1], Some(2)));
        assert_eq!(part(all(), Some(4), Some(2), 50), (vec![4], None));
        assert_eq!(part(all(), Some(3), Some(2), 50), (vec![3, 4], None));
        assert_eq!(part(all(), Some(9), None, 50), (vec![], None));
    }
}
