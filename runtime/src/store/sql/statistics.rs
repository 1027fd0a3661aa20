//! Questions about many runs at once. Each is one statement, in words that both databases take alike: whole numbers, window functions, no percentile of their own.

use super::words::{happened, read_failure, read_json, read_status, status};
use super::{Database, Done, Row, SqlStore, Statement, done, read};
use crate::clock::Moment;
use crate::store::{
    Answer, Asking, Counting, EscalationId, FailedRun, RoleFigures, RunCount, RunId, Statistics, StepEvent, Took, Window, WorkflowFigures,
};
use futures_util::FutureExt;
use ltc_workflow::advance::StepKey;
use smol_str::SmolStr;

impl<D: Database> Statistics for SqlStore<D> {
    fn count_runs(&self, counting: Counting) -> Answer<'_, Vec<RunCount>> {
        async move { done(|| count_runs(&self.0, &counting)).await }.boxed()
    }

    fn workflow_figures(&self, runs: Window) -> Answer<'_, Vec<WorkflowFigures>> {
        async move { done(|| workflow_figures(&self.0, &runs)).await }.boxed()
    }

    fn failed_runs(&self, runs: Window, limit: u32) -> Answer<'_, Vec<FailedRun>> {
        async move { done(|| failed_runs(&self.0, &runs, limit)).await }.boxed()
    }

    fn step_events(&self, window: Window, runs: u32, limit: u32) -> Answer<'_, Vec<StepEvent>> {
        async move { done(|| step_events(&self.0, &window, runs, limit)).await }.boxed()
    }

    fn role_figures(&self, asking: Asking) -> Answer<'_, Vec<RoleFigures>> {
        async move { done(|| role_figures(&self.0, &asking)).await }.boxed()
    }
}

/// `statement` with the conditions of a window on `r`, behind a WHERE that has one already.
fn within(mut statement: Statement, window: &Window) -> Statement {
    if let Some(workflow) = &window.workflow {
        statement = statement.then(" AND r.workflow = ").value(workflow);
    }
    since_until(statement, window.since, window.until)
}

fn since_until(mut statement: Statement, since: Option<Moment>, until: Option<Moment>) -> Statement {
    if let Some(since) = since {
        statement = statement.then(" AND r.created_at >= ").value(since);
    }
    if let Some(until) = until {
        statement = statement.then(" AND r.created_at < ").value(until);
    }
    statement
}

async fn count_runs(database: &dyn Database, counting: &Counting) -> Done<Vec<RunCount>> {
    let Counting { runs, status: wanted, by_workflow, by_status, every, offset, limit } = counting;
    // A cell that is not counted by is the same for all.
    let mut statement = Statement::new("SELECT c.since, c.workflow, c.status, COUNT(*) FROM (SELECT ");
    statement = match every {
        // The remainder of a time before 1970 is below zero: those fall into the stretch that begins behind them, in both databases.
        Some(every) => statement.then("r.created_at - r.created_at % ").value(*every),
        None => statement.then("CAST(NULL AS BIGINT)"),
    };
    statement = statement.then(" AS since, ").then(if *by_workflow { "r.workflow" } else { "CAST(NULL AS TEXT)" });
    statement = statement.then(" AS workflow, ").then(if *by_status { "r.status" } else { "CAST(NULL AS TEXT)" });
    statement = within(statement.then(" AS status FROM runs r WHERE 1 = 1"), runs);
    if let Some(wanted) = wanted {
        statement = statement.then(" AND r.status = ").value(status(*wanted));
    }
    statement = statement.then(") c GROUP BY c.since, c.workflow, c.status ORDER BY c.since, c.workflow, c.status LIMIT ").value(*limit);
    let rows = read(database, statement.then(" OFFSET ").value(*offset)).await?;
    let count = |mut row: Row| {
        Ok(RunCount {
            from: row.maybe_moment()?,
            workflow: row.maybe_text()?.map(SmolStr::new),
            status: row.maybe_text()?.map(|word| read_status(&word)).transpose()?,
            runs: row.count()?,
        })
    };
    rows.into_iter().map(count).collect()
}

async fn workflow_figures(database: &dyn Database, window: &Window) -> Done<Vec<WorkflowFigures>> {
    let statement = Statement::new("WITH chosen AS (SELECT r.id, r.workflow, r.status, r.created_at, r.ended_at FROM runs r WHERE 1 = 1");
    let statement = within(statement, window).then(
        "), ranked AS (SELECT workflow, id, ended_at - created_at AS took, \
           ROW_NUMBER() OVER (PARTITION BY workflow ORDER BY ended_at - created_at, id) AS place, COUNT(*) OVER (PARTITION BY workflow) AS n \
           FROM chosen WHERE status = 'done'), \
         times AS (SELECT workflow, MAX(CASE WHEN place = (n + 1) / 2 THEN took END) AS median, \
           MAX(CASE WHEN place = (95 * n + 99) / 100 THEN took END) AS p95, MAX(CASE WHEN place = n THEN took END) AS longest, \
           MAX(CASE WHEN place = n THEN id END) AS slowest FROM ranked GROUP BY workflow), \
         counts AS (SELECT workflow, COUNT(*) FILTER (WHERE status = 'queued') AS queued, COUNT(*) FILTER (WHERE status = 'running') AS running, \
           COUNT(*) FILTER (WHERE status = 'waiting') AS waiting, COUNT(*) FILTER (WHERE status = 'done') AS done, \
           COUNT(*) FILTER (WHERE status = 'failed') AS failed, COUNT(*) FILTER (WHERE status = 'cancelled') AS cancelled, \
           MAX(created_at) AS last FROM chosen GROUP BY workflow), \
         names AS (SELECT workflow AS name FROM counts UNION SELECT name FROM versions WHERE state = 'active'",
    );
    let statement = match &window.workflow {
        Some(workflow) => statement.then(" AND name = ").value(workflow),
        None => statement,
    };
    let statement = statement.then(
        ") SELECT names.name, COALESCE(queued, 0), COALESCE(running, 0), COALESCE(waiting, 0), COALESCE(done, 0), COALESCE(failed, 0), \
         COALESCE(cancelled, 0), last, median, p95, longest, slowest FROM names LEFT JOIN counts ON counts.workflow = names.name \
         LEFT JOIN times ON times.workflow = names.name ORDER BY names.name",
    );
    let figures = |mut row: Row| {
        let row = &mut row;
        let workflow = row.name()?;
        let mut runs = [0; 6];
        for count in &mut runs {
            *count = row.count()?;
        }
        let last_run_at = row.maybe_moment()?;
        let took = took(row)?;
        Ok(WorkflowFigures { workflow, runs, last_run_at, took, slowest: row.maybe_text()?.map(|run| RunId(SmolStr::new(run))) })
    };
    read(database, statement).await?.into_iter().map(figures).collect()
}

fn took(row: &mut Row) -> Done<Option<Took>> {
    let (median, p95, longest) = (row.maybe_number()?, row.maybe_number()?, row.maybe_number()?);
    Ok(match (median, p95, longest) {
        (Some(median), Some(p95), Some(longest)) => Some(Took { median, p95, longest }),
        (_, _, _) => None,
    })
}

async fn failed_runs(database: &dyn Database, window: &Window, limit: u32) -> Done<Vec<FailedRun>> {
    let statement = "SELECT r.id, r.workflow, r.created_at, t.failure FROM runs r JOIN run_texts t ON t.run = r.id \
                     WHERE r.status = 'failed' AND t.failure IS NOT NULL";
    let statement = within(Statement::new(statement), window).then(" ORDER BY r.created_at DESC, r.id DESC LIMIT ").value(limit);
    let failed = |mut row: Row| {
        let (run, workflow, created_at) = (RunId(row.name()?), row.name()?, row.moment()?);
        Ok(FailedRun { run, workflow, created_at, failure: read_failure(&read_json(&row.text()?)?)? })
    };
    read(database, statement).await?.into_iter().map(failed).collect()
}

async fn step_events(database: &dyn Database, window: &Window, runs: u32, limit: u32) -> Done<Vec<StepEvent>> {
    let statement = Statement::new(
        "SELECT e.run, c.workflow, c.created_at, e.step, e.at, e.kind FROM (SELECT r.id, r.workflow, r.created_at FROM runs r WHERE r.events > 0",
    );
    let statement = within(statement, window).then(" ORDER BY r.created_at DESC, r.id DESC LIMIT ").value(runs);
    let statement = statement.then(") c JOIN events e ON e.run = c.id ORDER BY c.created_at DESC, c.id DESC, e.seq LIMIT ").value(limit);
    let event = |mut row: Row| {
        let row = &mut row;
        let (run, workflow, created_at) = (RunId(row.name()?), row.name()?, row.moment()?);
        let (step, at) = (StepKey(row.name()?), row.moment()?);
        Ok(StepEvent { run, workflow, created_at, step, at, happened: happened(&row.text()?)? })
    };
    read(database, statement).await?.into_iter().map(event).collect()
}

async fn role_figures(database: &dyn Database, asking: &Asking) -> Done<Vec<RoleFigures>> {
    let statement = Statement::new(
        "WITH chosen AS (SELECT r.id, r.role, r.status, r.created_at, r.ended_at, CASE WHEN r.ended_at IS NOT NULL THEN 0 \
           WHEN r.status = 'claimed' AND r.claimed_until > ",
    );
    let statement = statement.value(asking.now).then(" THEN 2 ELSE 1 END AS open, CASE WHEN r.ended_at IS NULL AND r.deadline <= ");
    let statement = statement.value(asking.now).then(" THEN 1 ELSE 0 END AS late FROM escalations r WHERE 1 = 1");
    let statement = match &asking.role {
        Some(role) => statement.then(" AND r.role = ").value(role),
        None => statement,
    };
    let statement = since_until(statement, asking.since, asking.until).then(
        "), ranked AS (SELECT role, ended_at - created_at AS took, ROW_NUMBER() OVER (PARTITION BY role ORDER BY ended_at - created_at, id) AS place, \
           COUNT(*) OVER (PARTITION BY role) AS n FROM chosen WHERE status = 'resolved'), \
         times AS (SELECT role, MAX(CASE WHEN place = (n + 1) / 2 THEN took END) AS median, \
           MAX(CASE WHEN place = (95 * n + 99) / 100 THEN took END) AS p95, MAX(CASE WHEN place = n THEN took END) AS longest \
           FROM ranked GROUP BY role), \
         aged AS (SELECT role, id, created_at, ROW_NUMBER() OVER (PARTITION BY role ORDER BY created_at, id) AS place FROM chosen WHERE open > 0), \
         counts AS (SELECT role, COUNT(*) FILTER (WHERE open = 1) AS pending, COUNT(*) FILTER (WHERE open = 2) AS claimed, \
           COUNT(*) FILTER (WHERE late = 1) AS overdue, COUNT(*) FILTER (WHERE status = 'resolved') AS resolved, \
           COUNT(*) FILTER (WHERE status = 'closed') AS closed FROM chosen GROUP BY role) \
         SELECT counts.role, pending, claimed, overdue, resolved, closed, median, p95, longest, aged.id, aged.created_at FROM counts \
         LEFT JOIN times ON times.role = counts.role LEFT JOIN aged ON aged.role = counts.role AND aged.place = 1 ORDER BY counts.role",
    );
    let figures = |mut row: Row| {
        let row = &mut row;
        let role = row.name()?;
        let (pending, claimed, overdue) = (row.count()?, row.count()?, row.count()?);
        let (resolved, closed, took) = (row.count()?, row.count()?, took(row)?);
        let oldest = row.maybe_text()?.map(|id| EscalationId(SmolStr::new(id))).zip(row.maybe_moment()?);
        Ok(RoleFigures { role, pending, claimed, overdue, resolved, closed, oldest, took })
    };
    read(database, statement).await?.into_iter().map(figures).collect()
}
