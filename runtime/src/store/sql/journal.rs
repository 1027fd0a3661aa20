//! What is written down about a run. The hot path is one UPDATE, which is the fence too, and one INSERT: nothing is read before, and both go to the database and back in one
//! way ([`in_one_way`]).

use super::words::{event, failure, json, read_event};
use super::{Bound, Connection, Database, Done, Fault, Joined, Statement, escalations, read};
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
    if let Some(statement) = in_one_way(database.joined(), run, worker, known, commit, now)? {
        let rows = database.once(statement).await.map_err(|fault| ended_already(fault, run))?;
        let Some(mut row) = rows.into_iter().next() else { return Err(Fault::Told(StoreError::LeaseLost)) };
        return row.count();
    }
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
    if let Some(text) = end_text(commit.rest.as_ref())? {
        close_open(connection_ref, run, now).await?;
        if let Some((update, text)) = text {
            connection_ref.change(Statement::new(update).value(text).then(" WHERE run = ").value(&run.0)).await?;
        }
    }
    connection.commit().await?;
    Ok(events)
}

/// The statement that keeps an output or a failure up to where its text goes, and the text; a cancelled run has neither.
type EndText = Option<(&'static str, Bound)>;

/// What is kept of a run that ends; `None` where it does not.
fn end_text(rest: Option<&RunRest>) -> Done<Option<EndText>> {
    Ok(match rest {
        None | Some(RunRest::Queued | RunRest::Waiting { .. }) => None,
        Some(RunRest::Cancelled) => Some(None),
        Some(RunRest::Done(output)) => Some(Some(("UPDATE run_texts SET output = ", json(output)?))),
        Some(RunRest::Failed(why)) => Some(Some(("UPDATE run_texts SET failure = ", json(&failure(why))?))),
    })
}

/// A commit as one statement, or several that go together, which change nothing unless `worker` has the run. `None` where it is of a kind that is rare: it opens questions, does
/// a step again, or is very long.
fn in_one_way(joined: Joined, run: &RunId, worker: &WorkerId, known: u64, commit: &Commit, now: Moment) -> Done<Option<Statement>> {
    let is_rare = |event: &Event| event.what == What::Again;
    if !commit.opened.is_empty() || commit.events.len() > ROWS_AT_ONCE || commit.events.iter().any(is_rare) {
        return Ok(None);
    }
    let added = i64::try_from(commit.events.len()).unwrap_or(i64::MAX);
    let Statement { text: fence, bound } = fence(run, worker, added, number(known)?, commit.rest.as_ref(), now);
    let (id_at, worker_at) = (bound.len() - 1, bound.len());
    let mut statement = Statement { text: "".into(), bound };
    statement = match joined {
        Joined::Parts => {
            statement.text = format!("WITH fence AS ({fence})").into();
            statement
        }
        Joined::Script => statement.then("BEGIN IMMEDIATE"),
    };
    // What each part begins with. In a script the fence falls last, so that the parts see the run as it was.
    let part = |statement: Statement, name: &'static str| match joined {
        Joined::Parts => statement.then(", ").then(name).then(" AS ("),
        Joined::Script => statement
            .then("; WITH fence AS (SELECT id, events FROM runs WHERE status = 'running' AND id = ")
            .place(id_at)
            .then(" AND worker = ")
            .place(worker_at)
            .then(") "),
    };
    let end = |statement: Statement| match joined {
        Joined::Parts => statement.then(")"),
        Joined::Script => statement,
    };
    if !commit.events.is_empty() {
        // In the parts of one statement the fence has counted them already.
        let mut seq = if let Joined::Parts = joined { -added } else { 0 };
        let insert = "INSERT INTO events (run, seq, step, at, kind, payload, is_end) SELECT fence.id, fence.events + v.column1, v.column2, v.column3, \
                      v.column4, v.column5, v.column6 FROM fence, (VALUES ";
        statement = part(statement, "noted").then(insert);
        for (index, Event { key, at, what }) in commit.events.iter().enumerate() {
            let (kind, payload) = event(what)?;
            seq += 1;
            let cells: [Bound; 6] = [seq.into(), (&key.0).into(), (*at).into(), kind.into(), payload, is_end(what).into()];
            statement = statement.then(if index == 0 { "" } else { ", " }).values(cells);
        }
        statement = end(statement.then(") AS v"));
    }
    let closing = |statement: Statement| {
        let update = part(statement, "closed")
            .then("UPDATE escalations SET status = 'closed', claimed_by = NULL, claimed_until = NULL, ended_at = ");
        update.value(now).then(" WHERE run IN (SELECT id FROM fence) AND status IN ('pending', 'claimed')")
    };
    let text = end_text(commit.rest.as_ref())?;
    match text {
        None if commit.closed.is_empty() => {}
        None => statement = end(closing(statement).then(" AND id IN ").values(commit.closed.iter().map(|id| &id.0))),
        Some(text) => {
            statement = end(closing(statement));
            if let Some((update, text)) = text {
                statement = end(part(statement, "said").then(update).value(text).then(" WHERE run IN (SELECT id FROM fence)"));
            }
        }
    }
    Ok(Some(match joined {
        Joined::Parts => statement.then(" SELECT events FROM fence"),
        Joined::Script => {
            statement.text = format!("{}; {fence}; COMMIT", statement.text).into();
            statement
        }
    }))
}

fn is_end(what: &What) -> i64 {
    i64::from(matches!(what, What::Succeeded(_) | What::Failed(_)))
}

fn ended_already(fault: Fault, run: &RunId) -> Fault {
    match fault {
        Fault::Taken(_) => Fault::broken(format!("a step of the run {} has ended already, and cannot end twice", run.0)),
        Fault::Again(_) | Fault::Dangling(_) | Fault::Told(_) => fault,
    }
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
    update.then(" RETURNING events, id")
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
            seq += 1;
            let cells: [Bound; 7] = [(&run.0).into(), seq.into(), (&key.0).into(), (*at).into(), kind.into(), payload, is_end(what).into()];
            insert = insert.then(if index == 0 { "" } else { ", " }).values(cells);
        }
        connection.change(insert).await.map_err(|fault| ended_already(fault, run))?;
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
