//! Runs: made, read, listed, cancelled, and taken out when they are old.

use super::words::{json, maybe_read_json, read_failure, read_json, read_status, status};
use super::{Connection, Database, Done, Fault, Row, Statement, a_few_at_a_time, done, journal, read, unchanged};
use crate::clock::Moment;
use crate::store::{
    Created, Definition, DefinitionId, EscalationId, Event, Lease, NewRun, RunFilter, RunId, RunRecord, Status, StoreError, What, WorkerId,
};
use ltc_workflow::advance::StepKey;
use smol_str::SmolStr;

/// Whoever reads runs puts conditions on `r` behind this.
const RUNS: &str = "SELECT r.id, r.workflow, r.definition, t.input, r.status, r.created_at, r.updated_at, r.ended_at, r.deadline, r.wake_at, \
     r.worker, r.lease_until, r.cancel_requested, r.events, t.output, t.failure FROM runs r JOIN run_texts t ON t.run = r.id";

/// How many runs one transaction takes out: others who write wait for it.
const PRUNED_AT_ONCE: u32 = 200;

fn record(mut row: Row) -> Done<RunRecord> {
    let row = &mut row;
    Ok(RunRecord {
        id: RunId(row.name()?),
        workflow: row.name()?,
        definition: DefinitionId(row.name()?),
        input: read_json(&row.text()?)?,
        status: read_status(&row.text()?)?,
        created_at: row.moment()?,
        updated_at: row.moment()?,
        ended_at: row.maybe_moment()?,
        deadline: row.maybe_moment()?,
        wake_at: row.maybe_moment()?,
        lease: match (row.maybe_text()?, row.maybe_moment()?) {
            (Some(worker), Some(until)) => Some(Lease { worker: WorkerId(SmolStr::new(worker)), until }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(Fault::broken("a run has half a lease")),
        },
        is_cancel_requested: row.number()? != 0,
        events: row.count()?,
        output: maybe_read_json(row.maybe_text()?)?,
        failure: maybe_read_json(row.maybe_text()?)?.as_ref().map(read_failure).transpose()?,
    })
}

fn records(rows: Vec<Row>) -> Done<Vec<RunRecord>> {
    rows.into_iter().map(record).collect()
}

fn by_id(run: &RunId) -> Statement {
    Statement::new(RUNS).then(" WHERE r.id = ").value(&run.0)
}

/// A run, in a transaction.
pub(super) async fn inside(connection: &mut dyn Connection, run: &RunId) -> Done<Option<RunRecord>> {
    connection.rows(by_id(run)).await?.pop().map(record).transpose()
}

/// Several runs, in a transaction, in the order of `ids`; and what is wrong with one that cannot be read.
pub(super) async fn several_inside(connection: &mut dyn Connection, ids: &[RunId]) -> Done<(Vec<RunRecord>, Option<Fault>)> {
    let rows = connection.rows(Statement::new(RUNS).then(" WHERE r.id IN ").values(ids.iter().map(|id| &id.0))).await?;
    let (mut found, mut wrong) = (Vec::new(), None);
    for row in rows {
        match record(row) {
            Ok(run) => found.push(run),
            Err(fault) => wrong = Some(fault),
        }
    }
    found.sort_by_key(|run| ids.iter().position(|id| *id == run.id));
    Ok((found, wrong))
}

/// Locks a run until the end of the transaction; whether it is there.
pub(super) async fn lock(database: &dyn Database, connection: &mut dyn Connection, run: &RunId) -> Done<bool> {
    if database.lock().is_empty() {
        return Ok(true);
    }
    let rows = connection.rows(Statement::new("SELECT id FROM runs WHERE id = $1").bind(&run.0).then(database.lock())).await?;
    Ok(!rows.is_empty())
}

pub(super) async fn one(database: &dyn Database, run: &RunId) -> Done<Option<RunRecord>> {
    read(database, by_id(run)).await?.pop().map(record).transpose()
}

pub(super) async fn list(database: &dyn Database, filter: &RunFilter) -> Done<Vec<RunRecord>> {
    let mut statement = Statement::new(RUNS).then(" WHERE 1 = 1");
    if let Some(wanted) = filter.status {
        statement = statement.then(" AND r.status = ").value(status(wanted));
    }
    if let Some(workflow) = &filter.workflow {
        statement = statement.then(" AND r.workflow = ").value(workflow);
    }
    if let Some((at, id)) = &filter.after {
        // The first condition is for the index: it cannot use an OR.
        statement = statement.then(" AND r.created_at <= ").value(*at);
        statement = statement.then(" AND (r.created_at < ").value(*at).then(" OR r.id < ").value(&id.0).then(")");
    }
    records(read(database, statement.then(" ORDER BY r.created_at DESC, r.id DESC LIMIT ").value(filter.limit)).await?)
}

/// Keeps a definition, if it is not kept already.
pub(super) async fn keep_definition(connection: &mut dyn Connection, definition: &Definition) -> Done<()> {
    let insert = Statement::new("INSERT INTO definitions (id, text) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING");
    connection.change(insert.bind(&definition.id.0).bind(definition.text.as_str())).await.map(drop)
}

pub(super) async fn create(database: &dyn Database, run: &NewRun) -> Done<Created> {
    let mut connection = database.begin().await?;
    keep_definition(connection.as_mut(), &run.definition).await?;
    let lease = run.lease.as_ref();
    let begun = if lease.is_some() { Status::Running } else { Status::Queued };
    let due = lease.map_or(run.created_at, |lease| lease.until);
    let insert = Statement::new(
        "INSERT INTO runs (id, workflow, definition, status, created_at, updated_at, deadline, due_at, worker, lease_until) \
         VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING",
    );
    let insert = insert.bind(&run.id.0).bind(&run.workflow).bind(&run.definition.id.0).bind(status(begun)).bind(run.created_at);
    let insert = insert.bind(run.deadline).bind(due);
    let insert = insert.bind(lease.map(|lease| lease.worker.0.to_string())).bind(lease.map(|lease| lease.until));
    if connection.change(insert).await.map_err(Fault::again_if_dangling)? == 0 {
        let there = inside(connection.as_mut(), &run.id).await?;
        // It can go between the two statements; then the name is free.
        let there = there.ok_or_else(|| Fault::Again("a run of that name has just been taken out".to_owned()))?;
        return unchanged(connection, Created::Exists(Box::new(there))).await;
    }
    let insert = Statement::new("INSERT INTO run_texts (run, input) VALUES ($1, $2)").bind(&run.id.0).bind(json(&run.input)?);
    connection.change(insert).await?;
    connection.commit().await?;
    Ok(Created::New)
}

pub(super) async fn cancel(database: &dyn Database, run: &RunId, now: Moment) -> Done<Option<RunRecord>> {
    let mut connection = database.begin().await?;
    if !lock(database, connection.as_mut(), run).await? {
        return unchanged(connection, None).await;
    }
    let Some(mut record) = inside(connection.as_mut(), run).await? else {
        return unchanged(connection, None).await;
    };
    let is_held = match record.status {
        Status::Done | Status::Failed | Status::Cancelled => return unchanged(connection, Some(record)).await,
        Status::Running => record.lease.as_ref().is_some_and(|lease| lease.until > now),
        Status::Queued | Status::Waiting => false,
    };
    record.is_cancel_requested = true;
    if is_held {
        let update = Statement::new("UPDATE runs SET cancel_requested = 1 WHERE id = $1").bind(&run.0);
        connection.change(update).await?;
    } else {
        let update = Statement::new(
            "UPDATE runs SET status = 'cancelled', cancel_requested = 1, events = events + 1, updated_at = $2, ended_at = $2, \
             wake_at = NULL, due_at = NULL, worker = NULL, lease_until = NULL WHERE id = $1",
        );
        connection.change(update.bind(&run.0).bind(now)).await?;
        let event = Event { key: StepKey(SmolStr::default()), at: now, what: What::Cancelled };
        journal::append(connection.as_mut(), run, record.events, &[event]).await?;
        journal::close_open(connection.as_mut(), run, now).await?;
        record = RunRecord {
            status: Status::Cancelled,
            updated_at: now,
            ended_at: Some(now),
            wake_at: None,
            lease: None,
            events: record.events + 1,
            ..record
        };
    }
    connection.commit().await?;
    Ok(Some(record))
}

/// Takes runs out, each of them whole, and questions of nobody's run that have ended.
pub(super) async fn prune(database: &dyn Database, before: Moment) -> Result<u64, StoreError> {
    let gone = a_few_at_a_time(PRUNED_AT_ONCE, || prune_some(database, before)).await?;
    a_few_at_a_time(PRUNED_AT_ONCE, || prune_questions(database, before)).await?;
    done(|| prune_definitions(database)).await?;
    Ok(gone)
}

/// Journals, texts and questions go with their runs, since the tables say so. A question about a run that failed is not the run's, and goes with it all the
/// same, answered or not: what it carries is of that run.
async fn prune_some(database: &dyn Database, before: Moment) -> Done<u64> {
    let mut connection = database.begin().await?;
    let old = Statement::new("SELECT id FROM runs WHERE ended_at < $1 ORDER BY ended_at LIMIT $2").bind(before).bind(PRUNED_AT_ONCE);
    let old: Vec<RunId> = connection.rows(old).await?.into_iter().map(|mut row| Ok(RunId(row.name()?))).collect::<Done<_>>()?;
    if old.is_empty() {
        return unchanged(connection, 0).await;
    }
    let about: Vec<SmolStr> = old.iter().map(|run| EscalationId::about_failure(run).0).collect();
    connection.change(Statement::new("DELETE FROM escalations WHERE run IS NULL AND id IN ").values(about.iter())).await?;
    let gone = connection.change(Statement::new("DELETE FROM runs WHERE id IN ").values(old.iter().map(|run| &run.0))).await?;
    connection.commit().await?;
    Ok(gone)
}

/// Questions that no run waits for: nothing takes them out with it.
async fn prune_questions(database: &dyn Database, before: Moment) -> Done<u64> {
    let mut connection = database.begin().await?;
    let delete = "DELETE FROM escalations WHERE id IN \
                  (SELECT id FROM escalations WHERE run IS NULL AND ended_at < $1 ORDER BY ended_at LIMIT $2)";
    let gone = connection.change(Statement::new(delete).bind(before).bind(PRUNED_AT_ONCE)).await?;
    connection.commit().await?;
    Ok(gone)
}

async fn prune_definitions(database: &dyn Database) -> Done<()> {
    let mut connection = database.begin().await?;
    let delete = "DELETE FROM definitions WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.definition = definitions.id) \
                  AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.definition = definitions.id)";
    connection.change(Statement::new(delete)).await.map_err(Fault::again_if_dangling)?;
    connection.commit().await
}
