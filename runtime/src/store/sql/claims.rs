//! Who works on a run: taking runs, one or those that are due, and keeping them.

use super::{Connection, Database, Done, Statement, read, runs, unchanged};
use crate::clock::Moment;
use crate::store::{Claim, Lease, Renewed, RunId, RunRecord, Status, WorkerId};
use smol_str::SmolStr;

/// Selects up to `limit` runs that are queued, and as many others that are due at `now`: two statements, since each has an index that gives its order.
fn due_at(now: Moment, limit: u32) -> [Statement; 2] {
    let queued = Statement::new("SELECT id, due_at FROM runs WHERE status = 'queued' ORDER BY due_at, id LIMIT $1");
    let others = "SELECT id, due_at FROM runs WHERE status <> 'queued' AND due_at <= $2 ORDER BY due_at, id LIMIT $1";
    [queued.bind(limit), Statement::new(others).bind(limit).bind(now)]
}

/// Takes runs for `lease.worker`, in a transaction that has locked them.
async fn take(connection: &mut dyn Connection, ids: &[RunId], lease: &Lease, now: Moment) -> Done<()> {
    let update = Statement::new(
        "UPDATE runs SET status = 'running', worker = $1, lease_until = $2, due_at = $2, wake_at = NULL, updated_at = $3 WHERE id IN ",
    );
    let update = update.bind(&lease.worker.0).bind(lease.until).bind(now);
    connection.change(update.values(ids.iter().map(|id| &id.0))).await.map(drop)
}

pub(super) async fn due(database: &dyn Database, lease: &Lease, now: Moment, limit: u32) -> Done<Vec<RunRecord>> {
    if limit == 0 || !is_any_due(database, now).await? {
        return Ok(Vec::new());
    }
    let mut connection = database.begin().await?;
    let mut due: Vec<(i64, SmolStr)> = Vec::new();
    for select in due_at(now, limit) {
        for mut row in connection.rows(select.then(database.lock_free())).await? {
            let id = row.name()?;
            due.push((row.number()?, id));
        }
    }
    due.sort();
    let ids: Vec<RunId> = due.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).map(|(_, id)| RunId(id)).collect();
    if ids.is_empty() {
        return unchanged(connection, Vec::new()).await;
    }
    take(connection.as_mut(), &ids, lease, now).await?;
    let (taken, wrong) = runs::several_inside(connection.as_mut(), &ids).await?;
    // One that cannot be read stays taken: it would be the first that is due again and again, and nobody would get to the others.
    connection.commit().await?;
    match wrong {
        Some(fault) if taken.is_empty() => Err(fault),
        Some(_) | None => Ok(taken),
    }
}

/// A look before the transaction: workers ask all the time, and mostly in vain.
async fn is_any_due(database: &dyn Database, now: Moment) -> Done<bool> {
    let mut connection = database.read().await?;
    for select in due_at(now, 1) {
        if !connection.rows(select).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) async fn one(database: &dyn Database, run: &RunId, lease: &Lease, now: Moment) -> Done<Claim> {
    let mut connection = database.begin().await?;
    if !runs::lock(database, connection.as_mut(), run).await? {
        return unchanged(connection, Claim::NoSuchRun).await;
    }
    let Some(record) = runs::inside(connection.as_mut(), run).await? else {
        return unchanged(connection, Claim::NoSuchRun).await;
    };
    match record.status {
        Status::Done | Status::Failed | Status::Cancelled => return unchanged(connection, Claim::Ended(Box::new(record))).await,
        Status::Running if record.lease.as_ref().is_some_and(|held| held.until > now && held.worker != lease.worker) => {
            return unchanged(connection, Claim::Held(Box::new(record))).await;
        }
        Status::Queued | Status::Running | Status::Waiting => {}
    }
    take(connection.as_mut(), std::slice::from_ref(run), lease, now).await?;
    connection.commit().await?;
    let taken = RunRecord { status: Status::Running, updated_at: now, wake_at: None, lease: Some(lease.clone()), ..record };
    Ok(Claim::Claimed(Box::new(taken)))
}

pub(super) async fn renew(database: &dyn Database, lease: &Lease) -> Done<Vec<Renewed>> {
    let mut connection = database.begin().await?;
    let update = Statement::new(
        "UPDATE runs SET lease_until = $2, due_at = $2 WHERE worker = $1 AND status = 'running' RETURNING id, cancel_requested",
    );
    let rows = connection.rows(update.bind(&lease.worker.0).bind(lease.until)).await?;
    if rows.is_empty() {
        return unchanged(connection, Vec::new()).await;
    }
    let renewed = rows.into_iter().map(|mut row| Ok(Renewed { run: RunId(row.name()?), is_cancel_requested: row.number()? != 0 }));
    let mut renewed = renewed.collect::<Done<Vec<_>>>()?;
    renewed.sort_by(|a, b| a.run.cmp(&b.run));
    connection.commit().await?;
    Ok(renewed)
}

pub(super) async fn unwanted(database: &dyn Database, worker: &WorkerId) -> Done<Vec<RunId>> {
    let select = "SELECT id FROM runs WHERE worker = $1 AND status = 'running' AND cancel_requested = 1";
    let rows = read(database, Statement::new(select).bind(&worker.0)).await?;
    let mut unwanted = rows.into_iter().map(|mut row| Ok(RunId(row.name()?))).collect::<Done<Vec<_>>>()?;
    unwanted.sort();
    Ok(unwanted)
}

pub(super) async fn workers(database: &dyn Database) -> Done<Vec<WorkerId>> {
    let rows = read(database, Statement::new("SELECT DISTINCT worker FROM runs WHERE status = 'running'")).await?;
    // One that is running has a worker.
    let workers = rows.into_iter().filter_map(|mut row| row.maybe_text().transpose());
    let mut workers = workers.map(|worker| Ok(WorkerId(worker?.into()))).collect::<Done<Vec<_>>>()?;
    workers.sort();
    Ok(workers)
}

pub(super) async fn end_leases(database: &dyn Database, worker: &WorkerId, now: Moment) -> Done<u64> {
    let mut connection = database.begin().await?;
    let update = "UPDATE runs SET lease_until = $2, due_at = $2 WHERE worker = $1 AND status = 'running' AND lease_until > $2";
    let ended = connection.change(Statement::new(update).bind(&worker.0).bind(now)).await?;
    connection.commit().await?;
    Ok(ended)
}
