//! Questions to people: opened, claimed, answered.

use super::words::{escalation_status, json, maybe_json, maybe_read_json, read_escalation_status};
use super::{Connection, Database, Done, Fault, Row, Statement, journal, read, runs, unchanged};
use crate::clock::Moment;
use crate::store::{
    EscalationFilter, EscalationId, EscalationRecord, EscalationStatus, NewEscalation, Question, Resolution, RunId, Settled,
};
use ltc_workflow::advance::StepKey;
use smol_str::SmolStr;

const ESCALATIONS: &str = "SELECT id, run, step, role, kind, subkind, priority, message, data, form, status, created_at, deadline, \
     claimed_by, claimed_until, ended_at, resolved_by, answer FROM escalations";

fn record(mut row: Row) -> Done<EscalationRecord> {
    let row = &mut row;
    Ok(EscalationRecord {
        id: EscalationId(row.name()?),
        asked_by: match (row.maybe_text()?, row.maybe_text()?) {
            (Some(run), Some(step)) => Some((RunId(SmolStr::new(run)), StepKey(SmolStr::new(step)))),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(Fault::broken("a question has a run without a step, or a step without a run")),
        },
        question: Question {
            role: row.name()?,
            kind: row.name()?,
            subkind: row.name()?,
            priority: u8::try_from(row.number()?).map_err(|_| Fault::broken("a question's priority is out of range"))?,
            message: row.text()?,
            data: maybe_read_json(row.maybe_text()?)?,
            form: maybe_read_json(row.maybe_text()?)?,
        },
        status: read_escalation_status(&row.text()?)?,
        created_at: row.moment()?,
        deadline: row.maybe_moment()?,
        claim: match (row.maybe_text()?, row.maybe_moment()?) {
            (Some(by), Some(until)) => Some((SmolStr::new(by), until)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(Fault::broken("a question has half a claim")),
        },
        ended_at: row.maybe_moment()?,
        resolved_by: row.maybe_text()?.map(SmolStr::new),
        answer: maybe_read_json(row.maybe_text()?)?,
    })
}

/// The record as it stands at `now`: a claim that has run out is none.
fn at(now: Moment, record: EscalationRecord) -> EscalationRecord {
    let is_out = record.status == EscalationStatus::Claimed && record.claim.as_ref().is_none_or(|(_, until)| *until <= now);
    if is_out { EscalationRecord { status: EscalationStatus::Pending, claim: None, ..record } } else { record }
}

/// Keeps a question, in a transaction.
pub(super) async fn insert(connection: &mut dyn Connection, new: &NewEscalation) -> Done<()> {
    let question = &new.question;
    let asked_by = new.asked_by.as_ref();
    let insert = Statement::new(
        "INSERT INTO escalations (id, run, step, role, kind, subkind, priority, message, data, form, status, created_at, deadline) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12)",
    );
    let insert = insert.bind(&new.id.0).bind(asked_by.map(|(run, _)| run.0.to_string())).bind(asked_by.map(|(_, step)| step.0.to_string()));
    let insert = insert.bind(&question.role).bind(&question.kind).bind(&question.subkind).bind(u32::from(question.priority));
    let insert = insert.bind(question.message.as_str()).bind(maybe_json(question.data.as_ref())?).bind(maybe_json(question.form.as_ref())?);
    connection.change(insert.bind(new.created_at).bind(new.deadline)).await.map(drop).map_err(|fault| match fault {
        Fault::Taken(_) => Fault::Taken(format!("there is a question `{}` already", new.id.0)),
        Fault::Again(_) | Fault::Dangling(_) | Fault::Told(_) => fault,
    })
}

/// Opens a question; one that is there already just so was opened by a try of which nobody knew whether it worked.
pub(super) async fn open(database: &dyn Database, new: &NewEscalation) -> Done<()> {
    let mut connection = database.begin().await?;
    match insert(connection.as_mut(), new).await {
        Ok(()) => connection.commit().await,
        Err(Fault::Taken(why)) => {
            drop(connection);
            let there = one(database, &new.id).await?;
            let is_same = there.is_some_and(|there| {
                (&there.asked_by, &there.question, there.created_at, there.deadline)
                    == (&new.asked_by, &new.question, new.created_at, new.deadline)
            });
            if is_same { Ok(()) } else { Err(Fault::Taken(why)) }
        }
        Err(fault) => Err(fault),
    }
}

fn by_id(id: &EscalationId) -> Statement {
    Statement::new(ESCALATIONS).then(" WHERE id = ").value(&id.0)
}

pub(super) async fn one(database: &dyn Database, id: &EscalationId) -> Done<Option<EscalationRecord>> {
    read(database, by_id(id)).await?.pop().map(record).transpose()
}

pub(super) async fn list(database: &dyn Database, filter: &EscalationFilter) -> Done<Vec<EscalationRecord>> {
    // The words of the indexes of open questions stand in the statement, or they would not be used.
    let mut statement = Statement::new(ESCALATIONS);
    statement = match filter.status {
        None => statement.then(" WHERE 1 = 1"),
        Some(EscalationStatus::Pending) => {
            statement.then(" WHERE ended_at IS NULL AND (status = 'pending' OR claimed_until <= ").value(filter.now).then(")")
        }
        Some(EscalationStatus::Claimed) => statement.then(" WHERE ended_at IS NULL AND claimed_until > ").value(filter.now),
        Some(ended @ (EscalationStatus::Resolved | EscalationStatus::Closed)) => {
            statement.then(" WHERE ended_at IS NOT NULL AND status = ").value(escalation_status(ended))
        }
    };
    if let Some(role) = &filter.role {
        statement = statement.then(" AND role = ").value(role);
    }
    if let Some(run) = &filter.run {
        statement = statement.then(" AND run = ").value(&run.0);
    }
    let rows = read(database, statement.then(" ORDER BY priority, created_at, id LIMIT ").value(filter.limit)).await?;
    rows.into_iter().map(|row| Ok(at(filter.now, record(row)?))).collect()
}

/// What is to be known of a question before `by` does something with it.
enum Open {
    Ours(Box<EscalationRecord>),
    No(Settled),
}

/// Locks a question until the end of the transaction, and looks whether `by` may have it.
async fn lock(database: &dyn Database, connection: &mut dyn Connection, id: &EscalationId, by: &SmolStr, now: Moment) -> Done<Open> {
    let rows = connection.rows(by_id(id).then(database.lock())).await?;
    let Some(row) = rows.into_iter().next() else {
        return Ok(Open::No(Settled::NoSuchEscalation));
    };
    let record = at(now, record(row)?);
    // The step that asked may be failing just now, and it ends once.
    let is_late = record.asked_by.is_some() && record.deadline.is_some_and(|deadline| deadline <= now);
    Ok(match (record.status, &record.claim) {
        (_, _) if is_late => Open::No(Settled::Ended(Box::new(record))),
        (EscalationStatus::Resolved | EscalationStatus::Closed, _) => Open::No(Settled::Ended(Box::new(record))),
        (EscalationStatus::Claimed, Some((other, _))) if other != by => Open::No(Settled::ClaimedBy(other.clone())),
        (EscalationStatus::Pending | EscalationStatus::Claimed, _) => Open::Ours(Box::new(record)),
    })
}

pub(super) async fn claim(database: &dyn Database, id: &EscalationId, by: &SmolStr, until: Moment, now: Moment) -> Done<Settled> {
    let mut connection = database.begin().await?;
    let record = match lock(database, connection.as_mut(), id, by, now).await? {
        Open::Ours(record) => record,
        Open::No(settled) => return unchanged(connection, settled).await,
    };
    let update = Statement::new("UPDATE escalations SET status = 'claimed', claimed_by = $2, claimed_until = $3 WHERE id = $1");
    connection.change(update.bind(&id.0).bind(by).bind(until)).await?;
    connection.commit().await?;
    Ok(Settled::Done(Box::new(EscalationRecord { status: EscalationStatus::Claimed, claim: Some((by.clone(), until)), ..*record })))
}

pub(super) async fn resolve(database: &dyn Database, resolution: &Resolution) -> Done<Settled> {
    let Resolution { escalation: id, by, answer, event, at } = resolution;
    let mut connection = database.begin().await?;
    let select = Statement::new("SELECT run FROM escalations WHERE id = $1").bind(&id.0);
    let run = match connection.rows(select).await?.into_iter().next() {
        Some(mut row) => row.maybe_text()?.map(|run| RunId(SmolStr::new(run))),
        None => return unchanged(connection, Settled::NoSuchEscalation).await,
    };
    if let Some(run) = &run {
        runs::lock(database, connection.as_mut(), run).await?;
    }
    let record = match lock(database, connection.as_mut(), id, by, *at).await? {
        Open::Ours(record) => record,
        Open::No(settled) => return unchanged(connection, settled).await,
    };
    let update = Statement::new(
        "UPDATE escalations SET status = 'resolved', claimed_by = NULL, claimed_until = NULL, ended_at = $2, resolved_by = $3, answer = $4 \
         WHERE id = $1",
    );
    connection.change(update.bind(&id.0).bind(*at).bind(by).bind(json(answer)?)).await?;
    if let Some(run) = &run {
        // A run that has ended has closed its questions; this one was not its own then, and nothing happens to it.
        let update = Statement::new(
            "UPDATE runs SET events = events + $2, updated_at = $3, due_at = CASE WHEN status = 'waiting' THEN $3 ELSE due_at END, \
             wake_at = NULL, status = CASE WHEN status = 'waiting' THEN 'queued' ELSE status END \
             WHERE id = $1 AND status IN ('queued', 'running', 'waiting') RETURNING events",
        );
        let added = i64::from(event.is_some());
        let rows = connection.rows(update.bind(&run.0).bind(added).bind(*at)).await?;
        if let (Some(mut row), Some(event)) = (rows.into_iter().next(), event) {
            let before = row.count()?.saturating_sub(1);
            journal::append(connection.as_mut(), run, before, std::slice::from_ref(event)).await?;
        }
    }
    connection.commit().await?;
    Ok(Settled::Done(Box::new(EscalationRecord {
        status: EscalationStatus::Resolved,
        claim: None,
        ended_at: Some(*at),
        resolved_by: Some(by.clone()),
        answer: Some(answer.clone()),
        ..*record
    })))
}
