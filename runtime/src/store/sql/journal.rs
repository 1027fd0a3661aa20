//! What is written down about a run. The hot path is one UPDATE, which is the fence too, and one INSERT: nothing is read before.

use super::words::{event, failure, json, read_event};
use super::{Bound, Connection, Database, Done, Fault, Statement, escalations, read};
use crate::clock::Moment;
use crate::store::{Commit, Event, RunId, RunRest, StoreError, What, WorkerId};
use ltc_workflow::advance::StepKey;

/// How many events one INSERT takes: each number of them is a statement that the database keeps prepared.
const ROWS_AT_ONCE: usize = 16;

pub(super) async fn events(database: &dyn Database, run: &RunId) -> Done<Vec<Event>> {
    let select = Statement::new("SELECT step, at, kind, payload FROM events WHERE run = $1 ORDER BY seq").bind(&run.0);
    let rows = read(database, select).await?;
    let event = |mut row: super::Row| {
        let (key, at, kind) = (StepKey(row.name()?), row.moment()?, row.text()?);
        Ok(Event { key, at, what: read_event(&kind, row.maybe_text()?)? })
    };
    rows.into_iter().map(event).collect()
}

pub(super) async fn commit(database: &dyn Database, run: &RunId, worker: &WorkerId, known: u64, commit: &Commit, now: Moment) -> Done<u64> {
    let mut connection = database.begin().await?;
    let connection_ref = connection.as_mut();
    let added = u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
    let rows = connection_ref.rows(fence(run, worker, number(added)?, number(known)?, commit.rest.as_ref(), now)).await?;
    let Some(mut row) = rows.into_iter().next() else {
        connection.undo().await?;
        return Err(Fault::Told(StoreError::LeaseLost));
    };
    let events = row.count()?;
    append(connection_ref, run, events.saturating_sub(added), &commit.events).await?;
    for opened in &commit.opened {
        escalations::insert(connection_ref, opened).await?;
    }
    if !commit.closed.is_empty() {
        let update = closing(run, now).then(" AND id IN ").values(commit.closed.iter().map(|id| &id.0));
        connection_ref.change(update).await?;
    }
    let text = match &commit.rest {
        None | Some(RunRest::Queued | RunRest::Waiting { .. }) => None,
        Some(RunRest::Cancelled) => Some(None),
        Some(RunRest::Done(output)) => Some(Some(("UPDATE run_texts SET output = $2 WHERE run = $1", json(output)?))),
        Some(RunRest::Failed(why)) => Some(Some(("UPDATE run_texts SET failure = $2 WHERE run = $1", json(&failure(why))?))),
    };
    if let Some(text) = text {
        close_open(connection_ref, run, now).await?;
        if let Some((update, text)) = text {
            connection_ref.change(Statement::new(update).bind(&run.0).bind(text)).await?;
        }
    }
    connection.commit().await?;
    Ok(events)
}

/// Counts the events and sets the run down as `rest` says, if `worker` has it; gives the number of events.
fn fence(run: &RunId, worker: &WorkerId, added: i64, known: i64, rest: Option<&RunRest>, now: Moment) -> Statement {
    let update = Statement::new("UPDATE runs SET events = events + $1, updated_at = $2").bind(added).bind(now);
    let update = match rest {
        None => update,
        Some(RunRest::Queued) => update.then(", status = 'queued', due_at = $2, wake_at = NULL, worker = NULL, lease_until = NULL"),
        Some(RunRest::Waiting { wake_at }) => update.bind(known).bind(*wake_at).then(
            ", status = CASE WHEN events > $3 OR cancel_requested = 1 THEN 'queued' ELSE 'waiting' END, \
             wake_at = CASE WHEN events > $3 OR cancel_requested = 1 THEN NULL ELSE $4 END, \
             due_at = CASE WHEN events > $3 OR cancel_requested = 1 THEN $2 WHEN $4 IS NULL OR deadline < $4 THEN deadline ELSE $4 END, \
             worker = NULL, lease_until = NULL",
        ),
        Some(RunRest::Done(_)) => ended(update, "done"),
        Some(RunRest::Failed(_)) => ended(update, "failed"),
        Some(RunRest::Cancelled) => ended(update, "cancelled"),
    };
    let update = update.then(" WHERE status = 'running' AND id = ").value(&run.0).then(" AND worker = ").value(&worker.0);
    update.then(" RETURNING events")
}

fn ended(update: Statement, status: &str) -> Statement {
    update.bind(status).then(", status = $3, ended_at = $2, due_at = NULL, wake_at = NULL, worker = NULL, lease_until = NULL")
}

/// Puts events behind the `before` ones that are there; the run's row counts them already.
pub(super) async fn append(connection: &mut dyn Connection, run: &RunId, before: u64, events: &[Event]) -> Done<()> {
    let mut seq = number(before)?;
    // An `Again` is the last of its INSERT: what comes behind it may end the step once more.
    for events in events.split_inclusive(|event| event.what == What::Again).flat_map(|events| events.chunks(ROWS_AT_ONCE)) {
        let mut insert = Statement::new("INSERT INTO events (run, seq, step, at, kind, payload, is_end) VALUES ");
        for (index, Event { key, at, what }) in events.iter().enumerate() {
            let (kind, payload) = event(what)?;
            let is_end = i64::from(matches!(what, What::Succeeded(_) | What::Failed(_)));
            seq += 1;
            let cells: [Bound; 7] = [(&run.0).into(), seq.into(), (&key.0).into(), (*at).into(), kind.into(), payload, is_end.into()];
            insert = insert.then(if index == 0 { "" } else { ", " }).values(cells);
        }
        connection.change(insert).await.map_err(|fault| match fault {
            Fault::Taken(_) => Fault::broken(format!("a step of the run {} has ended already, and cannot end twice", run.0)),
            Fault::Again(_) | Fault::Dangling(_) | Fault::Told(_) => fault,
        })?;
        if let Some(Event { key, what: What::Again, .. }) = events.last() {
            let update = Statement::new("UPDATE events SET is_end = 0 WHERE run = $1 AND step = $2 AND is_end = 1");
            connection.change(update.bind(&run.0).bind(&key.0)).await?;
        }
    }
    Ok(())
}

/// Closes the questions of a run that nobody has answered.
pub(super) async fn close_open(connection: &mut dyn Connection, run: &RunId, now: Moment) -> Done<()> {
    connection.change(closing(run, now)).await.map(drop)
}

fn closing(run: &RunId, now: Moment) -> Statement {
    let update = "UPDATE escalations SET status = 'closed', claimed_by = NULL, claimed_until = NULL, ended_at = $2 \
                  WHERE run = $1 AND status IN ('pending', 'claimed')";
    Statement::new(update).bind(&run.0).bind(now)
}

fn number(count: u64) -> Done<i64> {
    i64::try_from(count).map_err(|_| Fault::broken("a count is too large"))
}
