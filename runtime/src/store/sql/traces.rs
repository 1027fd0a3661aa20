//! Recordings: opened, added to call by call, ended, read as one document.

use super::words::{json, maybe_json, maybe_read_json, read_json};
use super::{Bound, Connection, Database, Done, Fault, Joined, Row, Statement, a_few_at_a_time, read, unchanged};
use crate::clock::Moment;
use crate::store::{EscalationId, NewTrace, Noted, StoreError, TraceAbout, TraceCall, TraceFilter, TraceId, TraceRecord};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

const TRACES: &str =
    "SELECT id, recorded_by, task, workflow, escalation, input, output, calls, started_at, touched_at, ended_at FROM traces";

/// How many recordings one transaction takes out: others who write wait for it.
const PRUNED_AT_ONCE: u32 = 50;

fn record(mut row: Row) -> Done<TraceRecord> {
    let row = &mut row;
    let (id, by) = (TraceId(row.name()?), row.name()?);
    let (task, workflow) = (row.maybe_text()?, row.maybe_text()?.map(SmolStr::new));
    let escalation = row.maybe_text()?.map(|id| EscalationId(SmolStr::new(id)));
    let input = maybe_read_json(row.maybe_text()?)?.map(object).transpose()?;
    let output = maybe_read_json(row.maybe_text()?)?;
    Ok(TraceRecord {
        id,
        by,
        about: TraceAbout { task, workflow, escalation, input },
        calls: row.count()?,
        started_at: row.moment()?,
        touched_at: row.moment()?,
        ended_at: row.maybe_moment()?,
        output,
    })
}

fn object(value: Value) -> Done<Object> {
    match value {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Fault::broken("what a recording was given is no object"))
        }
    }
}

fn by_id(id: &TraceId) -> Statement {
    Statement::new(TRACES).then(" WHERE id = ").value(&id.0)
}

pub(super) async fn one(database: &dyn Database, id: &TraceId) -> Done<Option<TraceRecord>> {
    read(database, by_id(id)).await?.pop().map(record).transpose()
}

pub(super) async fn list(database: &dyn Database, filter: &TraceFilter) -> Done<Vec<TraceRecord>> {
    let mut statement = Statement::new(TRACES).then(" WHERE 1 = 1");
    if let Some(escalation) = &filter.escalation {
        statement = statement.then(" AND escalation = ").value(&escalation.0);
    }
    if let Some(workflow) = &filter.workflow {
        statement = statement.then(" AND workflow = ").value(workflow);
    }
    if let Some(task) = &filter.task {
        statement = statement.then(" AND task = ").value(task.as_str());
    }
    statement = match filter.is_open {
        Some(true) => statement.then(" AND ended_at IS NULL"),
        Some(false) => statement.then(" AND ended_at IS NOT NULL"),
        None => statement,
    };
    if let Some((at, id)) = &filter.after {
        // The first condition is for the index: it cannot use an OR.
        statement = statement.then(" AND started_at <= ").value(*at);
        statement = statement.then(" AND (started_at < ").value(*at).then(" OR id < ").value(&id.0).then(")");
    }
    let rows = read(database, statement.then(" ORDER BY started_at DESC, id DESC LIMIT ").value(filter.limit)).await?;
    rows.into_iter().map(record).collect()
}

/// Opens a recording; one that is there already just so was opened by a try of which nobody knew whether it worked.
pub(super) async fn open(database: &dyn Database, new: &NewTrace) -> Done<()> {
    let mut connection = database.begin_lightly().await?;
    let about = &new.about;
    let insert = Statement::new(
        "INSERT INTO traces (id, recorded_by, task, workflow, escalation, input, started_at, touched_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7) \
         ON CONFLICT (id) DO NOTHING",
    );
    let insert = insert.bind(&new.id.0).bind(&new.by).bind(about.task.clone()).bind(about.workflow.as_ref().map(ToString::to_string));
    let insert = insert.bind(about.escalation.as_ref().map(|id| id.0.to_string()));
    let insert = insert.bind(maybe_json(about.input.clone().map(Value::Object).as_ref())?).bind(new.started_at);
    if connection.change(insert).await? == 0 {
        let there = connection.rows(by_id(&new.id)).await?.pop().map(record).transpose()?;
        let is_same = there.is_some_and(|there| (&there.by, there.started_at) == (&new.by, new.started_at));
        connection.undo().await?;
        return if is_same { Ok(()) } else { Err(Fault::Taken(format!("there is a recording `{}` already", new.id.0))) };
    }
    for (name, server) in new.servers.iter() {
        put_server(connection.as_mut(), &new.id, name, server).await?;
    }
    connection.commit().await
}

async fn put_server(connection: &mut dyn Connection, id: &TraceId, name: &SmolStr, server: &Value) -> Done<()> {
    let insert = "INSERT INTO trace_servers (trace, name, server) VALUES ($1, $2, $3) ON CONFLICT (trace, name) DO UPDATE SET server = $3";
    connection.change(Statement::new(insert).bind(&id.0).bind(name).bind(json(server)?)).await.map(drop)
}

/// Counts up to `added` calls in a recording that goes on, and locks it; else says why not.
async fn touch(connection: &mut dyn Connection, id: &TraceId, added: i64, at: Moment) -> Done<Noted> {
    let update = Statement::new(
        "UPDATE traces SET calls = calls + $2, touched_at = CASE WHEN touched_at < $3 THEN $3 ELSE touched_at END \
         WHERE id = $1 AND ended_at IS NULL RETURNING calls",
    );
    if let Some(mut row) = connection.rows(update.bind(&id.0).bind(added).bind(at)).await?.pop() {
        return Ok(Noted::Calls(row.count()?));
    }
    let is_there = !connection.rows(Statement::new("SELECT id FROM traces WHERE id = $1").bind(&id.0)).await?.is_empty();
    Ok(if is_there { Noted::Ended } else { Noted::NoSuchTrace })
}

pub(super) async fn about(database: &dyn Database, id: &TraceId, about: &TraceAbout, at: Moment) -> Done<Noted> {
    let mut connection = database.begin_lightly().await?;
    let noted = touch(connection.as_mut(), id, 0, at).await?;
    let update = Statement::new(
        "UPDATE traces SET task = COALESCE($2, task), workflow = COALESCE($3, workflow), escalation = COALESCE($4, escalation), \
         input = COALESCE($5, input) WHERE id = $1",
    );
    let update = update.bind(&id.0).bind(about.task.clone()).bind(about.workflow.as_ref().map(ToString::to_string));
    let update = update.bind(about.escalation.as_ref().map(|id| id.0.to_string()));
    let update = update.bind(maybe_json(about.input.clone().map(Value::Object).as_ref())?);
    match noted {
        Noted::Calls(_) => {
            connection.change(update).await?;
            connection.commit().await?;
            Ok(noted)
        }
        Noted::Ended | Noted::NoSuchTrace => unchanged(connection, noted).await,
    }
}

pub(super) async fn server(database: &dyn Database, id: &TraceId, name: &SmolStr, server: &Value, at: Moment) -> Done<Noted> {
    let mut connection = database.begin_lightly().await?;
    let noted = touch(connection.as_mut(), id, 0, at).await?;
    match noted {
        Noted::Calls(_) => {
            put_server(connection.as_mut(), id, name, server).await?;
            connection.commit().await?;
            Ok(noted)
        }
        Noted::Ended | Noted::NoSuchTrace => unchanged(connection, noted).await,
    }
}

/// Puts calls behind those that are there; one that is there already just so was put there by a try of which nobody knew whether it worked.
pub(super) async fn append(database: &dyn Database, id: &TraceId, calls: &[TraceCall]) -> Done<Noted> {
    // Written out before others have to wait: a result may be large.
    let recorded: Vec<(&SmolStr, Bound)> = calls.iter().map(|call| Ok((&call.id, json(&call.to_json())?))).collect::<Done<_>>()?;
    let Some(at) = calls.iter().map(|call| call.ended_at).max() else {
        return Ok(one(database, id).await?.map_or(Noted::NoSuchTrace, |there| Noted::Calls(there.calls)));
    };
    if let Joined::Script = database.joined() {
        return match database.once_lightly(script(id, &recorded, at)).await {
            Ok(mut rows) => match rows.pop() {
                Some(mut row) => Ok(Noted::Calls(row.count()?)),
                None => Ok(one(database, id).await?.map_or(Noted::NoSuchTrace, |_| Noted::Ended)),
            },
            Err(Fault::Taken(_)) => append_others(database, id, calls, at).await,
            Err(fault) => Err(fault),
        };
    }
    let mut connection = database.begin_lightly().await?;
    match put(connection.as_mut(), id, recorded, at).await? {
        Added::All(noted) => {
            connection.commit().await?;
            Ok(noted)
        }
        Added::Nothing(noted) => unchanged(connection, noted).await,
        Added::SomeAreThere => {
            connection.undo().await?;
            append_others(database, id, calls, at).await
        }
    }
}

/// A transaction that puts calls into a recording that goes on; it gives a row where it does.
fn script(id: &TraceId, calls: &[(&SmolStr, Bound)], at: Moment) -> Statement {
    let added = i64::try_from(calls.len()).unwrap_or(i64::MAX);
    let mut all = Statement::new("BEGIN IMMEDIATE; UPDATE traces SET calls = calls + ")
        .value(added)
        .then(", touched_at = MAX(touched_at, ")
        .value(at);
    all = all.then(") WHERE id = ").value(&id.0).then(" AND ended_at IS NULL RETURNING calls");
    for (left, (call, recorded)) in (0..added).rev().zip(calls) {
        all = all.then("; INSERT INTO trace_calls (trace, seq, id, recorded) SELECT id, calls - ").value(left).then(", ").value(*call);
        all = all.then(", ").value(recorded.clone()).then(" FROM traces WHERE id = ").value(&id.0).then(" AND ended_at IS NULL");
    }
    all.then("; COMMIT")
}

/// What became of calls that were to be put into a recording.
enum Added {
    All(Noted),
    Nothing(Noted),
    /// Some of them are there, and the transaction is to be undone.
    SomeAreThere,
}

async fn put(connection: &mut dyn Connection, id: &TraceId, calls: Vec<(&SmolStr, Bound)>, at: Moment) -> Done<Added> {
    let too_many = || Fault::broken("a count is too large");
    let added = i64::try_from(calls.len()).map_err(|_| too_many())?;
    let noted = touch(connection, id, added, at).await?;
    let Noted::Calls(number) = noted else { return Ok(Added::Nothing(noted)) };
    let before = i64::try_from(number).map_err(|_| too_many())? - added;
    let mut insert = Statement::new("INSERT INTO trace_calls (trace, seq, id, recorded) VALUES ");
    for (seq, (call, recorded)) in (before + 1..).zip(calls) {
        insert = insert.then(if seq == before + 1 { "(" } else { ", (" }).value(&id.0).then(", ").value(seq);
        insert = insert.then(", ").value(call).then(", ").value(recorded).then(")");
    }
    let new = connection.change(insert.then(" ON CONFLICT DO NOTHING")).await?;
    Ok(if i64::try_from(new) == Ok(added) { Added::All(noted) } else { Added::SomeAreThere })
}

async fn append_others(database: &dyn Database, id: &TraceId, calls: &[TraceCall], at: Moment) -> Done<Noted> {
    let mut connection = database.begin_lightly().await?;
    // Until the end of the transaction nobody else puts a call into it.
    let noted = touch(connection.as_mut(), id, 0, at).await?;
    let Noted::Calls(_) = noted else {
        return unchanged(connection, noted).await;
    };
    let mut others: Vec<&TraceCall> = Vec::new();
    for call in calls {
        let known = Statement::new("SELECT recorded FROM trace_calls WHERE trace = $1 AND id = $2").bind(&id.0).bind(&call.id);
        let known = connection.rows(known).await?.pop().map(|mut row| read_json(&row.text()?)).transpose()?;
        let twice = others.iter().find(|other| other.id == call.id).map(|other| other.to_json());
        match known.or(twice) {
            None => others.push(call),
            Some(there) if there == call.to_json() => {}
            Some(_) => {
                connection.undo().await?;
                return Err(Fault::Taken(format!("there is another call `{}` in the recording {}", call.id, id.0)));
            }
        }
    }
    if others.is_empty() {
        return unchanged(connection, noted).await;
    }
    let recorded: Vec<(&SmolStr, Bound)> = others.iter().map(|call| Ok((&call.id, json(&call.to_json())?))).collect::<Done<_>>()?;
    match put(connection.as_mut(), id, recorded, at).await? {
        Added::All(noted) => {
            connection.commit().await?;
            Ok(noted)
        }
        Added::Nothing(noted) => unchanged(connection, noted).await,
        Added::SomeAreThere => Err(Fault::Again("somebody else put the call there".to_owned())),
    }
}

/// What is whole is on disk: this commit takes with it all that was written down before.
pub(super) async fn end(database: &dyn Database, id: &TraceId, output: Option<&Value>, at: Moment) -> Done<Noted> {
    let mut connection = database.begin().await?;
    let noted = touch(connection.as_mut(), id, 0, at).await?;
    match noted {
        Noted::Calls(_) => {
            let update = Statement::new("UPDATE traces SET ended_at = $2, output = $3 WHERE id = $1");
            connection.change(update.bind(&id.0).bind(at).bind(maybe_json(output)?)).await?;
            connection.commit().await?;
            Ok(noted)
        }
        Noted::Ended | Noted::NoSuchTrace => unchanged(connection, noted).await,
    }
}

pub(super) async fn document(database: &dyn Database, id: &TraceId) -> Done<Option<Value>> {
    let Some(record) = one(database, id).await? else { return Ok(None) };
    let select = Statement::new("SELECT recorded FROM trace_calls WHERE trace = $1 ORDER BY seq").bind(&id.0);
    let rows = read(database, select).await?;
    if u64::try_from(rows.len()).is_ok_and(|count| count < record.calls) {
        // It went between the two statements: then it is not there the next time.
        return Err(Fault::Again("the recording is just being taken out".to_owned()));
    }
    let calls = rows.into_iter().map(|mut row| read_json(&row.text()?)).collect::<Done<Vec<Value>>>()?;
    // Read last: a server is noted before the first call to it.
    let select = Statement::new("SELECT name, server FROM trace_servers WHERE trace = $1 ORDER BY name").bind(&id.0);
    let mut servers = Object::default();
    for mut row in read(database, select).await? {
        let name = row.name()?;
        servers.insert(name, read_json(&row.text()?)?);
    }
    Ok(Some(record.document(servers, calls)))
}

pub(super) async fn delete(database: &dyn Database, id: &TraceId) -> Done<bool> {
    let mut connection = database.begin().await?;
    let gone = connection.change(Statement::new("DELETE FROM traces WHERE id = $1").bind(&id.0)).await?;
    connection.commit().await?;
    Ok(gone > 0)
}

/// Takes recordings out, each of them whole.
pub(super) async fn prune(database: &dyn Database, before: Moment) -> Result<u64, StoreError> {
    a_few_at_a_time(PRUNED_AT_ONCE, || prune_some(database, before)).await
}

async fn prune_some(database: &dyn Database, before: Moment) -> Done<u64> {
    let mut connection = database.begin().await?;
    let delete =
        Statement::new("DELETE FROM traces WHERE id IN (SELECT id FROM traces WHERE touched_at < $1 ORDER BY touched_at LIMIT $2)");
    let gone = connection.change(delete.bind(before).bind(PRUNED_AT_ONCE)).await?;
    connection.commit().await?;
    Ok(gone)
}
