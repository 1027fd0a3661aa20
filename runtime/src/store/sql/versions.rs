//! Versions of workflows, and the definitions that they and the runs share.

use super::words::{maybe_json, maybe_read_json, read_version_state, version_state};
use super::{Connection, Database, Done, Fault, Row, Statement, read, runs, unchanged};
use crate::store::{Definition, DefinitionId, MadeOf, NewVersion, Solution, TraceId, VersionFilter, VersionRecord, VersionState};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

const VERSIONS: &str = "SELECT name, version, definition, description, state, made_of, created_at FROM versions";

fn record(mut row: Row) -> Done<VersionRecord> {
    Ok(VersionRecord {
        name: row.name()?,
        version: number(&mut row)?,
        definition: DefinitionId(row.name()?),
        description: row.maybe_text()?,
        state: read_version_state(&row.text()?)?,
        made_of: maybe_read_json(row.maybe_text()?)?.map(read_made_of).transpose()?,
        created_at: row.moment()?,
    })
}

fn made_of(made_of: &MadeOf) -> Value {
    let traces = made_of.traces.iter().map(|trace| Value::String(trace.0.clone())).collect();
    let entries = [("traces", Some(traces)), ("hints", made_of.hints.clone())];
    entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()
}

fn read_made_of(value: Value) -> Done<MadeOf> {
    let broken = || Fault::broken("what a version is made of cannot be read");
    let traces = value.get("traces").and_then(Value::as_array).ok_or_else(broken)?;
    let traces = traces.iter().map(|trace| Ok(TraceId(trace.as_str().ok_or_else(broken)?.into()))).collect::<Done<_>>()?;
    Ok(MadeOf { traces, hints: value.get("hints").cloned() })
}

fn number(row: &mut Row) -> Done<u32> {
    u32::try_from(row.number()?).map_err(|_| Fault::broken("a version's number is out of range"))
}

pub(super) async fn definition(database: &dyn Database, id: &DefinitionId) -> Done<Option<Definition>> {
    let rows = read(database, Statement::new("SELECT text FROM definitions WHERE id = $1").bind(&id.0)).await?;
    rows.into_iter().next().map(|mut row| Ok(Definition { id: id.clone(), text: row.text()? })).transpose()
}

/// A version, by its number or as the active one.
fn by_name(name: &SmolStr, version: Option<u32>) -> Statement {
    let statement = Statement::new(VERSIONS).then(" WHERE name = ").value(name);
    match version {
        Some(version) => statement.then(" AND version = ").value(version),
        None => statement.then(" AND state = 'active'"),
    }
}

pub(super) async fn one(database: &dyn Database, name: &SmolStr, version: Option<u32>) -> Done<Option<VersionRecord>> {
    read(database, by_name(name, version)).await?.pop().map(record).transpose()
}

pub(super) async fn list(database: &dyn Database, filter: &VersionFilter) -> Done<Vec<VersionRecord>> {
    let mut statement = Statement::new(VERSIONS).then(" WHERE 1 = 1");
    if let Some(state) = filter.state {
        statement = statement.then(" AND state = ").value(version_state(state));
    }
    if let Some(name) = &filter.name {
        statement = statement.then(" AND name = ").value(name);
    }
    if let Some((name, version)) = &filter.after {
        // The first condition is for the index: it cannot use an OR.
        statement = statement.then(" AND name >= ").value(name);
        statement = statement.then(" AND (name > ").value(name).then(" OR version < ").value(*version).then(")");
    }
    let rows = read(database, statement.then(" ORDER BY name, version DESC LIMIT ").value(filter.limit)).await?;
    rows.into_iter().map(record).collect()
}

pub(super) async fn changes(database: &dyn Database) -> Done<u64> {
    let rows = read(database, Statement::new("SELECT changes FROM registry")).await?;
    rows.into_iter().next().ok_or_else(|| Fault::broken("the count of changes is missing"))?.count()
}

/// Counts a change; until the end of the transaction nobody else makes one.
async fn count(connection: &mut dyn Connection) -> Done<()> {
    connection.change(Statement::new("UPDATE registry SET changes = changes + 1")).await.map(drop)
}

pub(super) async fn put(database: &dyn Database, new: &NewVersion) -> Done<VersionRecord> {
    let mut connection = database.begin().await?;
    count(connection.as_mut()).await?;
    let select = Statement::new(VERSIONS).then(" WHERE name = ").value(&new.name).then(" ORDER BY version DESC LIMIT 1");
    let newest = connection.rows(select).await?.pop().map(record).transpose()?;
    let number = match newest {
        Some(newest) if newest.definition == new.definition.id => {
            let changed = give(connection.as_mut(), newest.clone(), new.state).await?;
            let changed = remade(connection.as_mut(), changed, new.made_of.as_ref()).await?;
            // Without a change nothing is counted.
            if changed == newest {
                return unchanged(connection, changed).await;
            }
            connection.commit().await?;
            return Ok(changed);
        }
        Some(newest) => newest.version.checked_add(1).ok_or_else(|| Fault::broken("no number is left for a version"))?,
        None => 1,
    };
    runs::keep_definition(connection.as_mut(), &new.definition).await?;
    if new.state == VersionState::Active {
        retire(connection.as_mut(), &new.name).await?;
    }
    let insert = Statement::new(
        "INSERT INTO versions (name, version, definition, description, state, created_at, made_of) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    );
    let insert = insert.bind(&new.name).bind(number).bind(&new.definition.id.0).bind(new.description.clone());
    let insert = insert.bind(version_state(new.state)).bind(new.at);
    let insert = insert.bind(maybe_json(new.made_of.as_ref().map(made_of).as_ref())?);
    connection.change(insert).await.map_err(Fault::again_if_dangling)?;
    connection.commit().await?;
    Ok(VersionRecord {
        name: new.name.clone(),
        version: number,
        definition: new.definition.id.clone(),
        description: new.description.clone(),
        state: new.state,
        made_of: new.made_of.clone(),
        created_at: new.at,
    })
}

pub(super) async fn set_state(database: &dyn Database, name: &SmolStr, version: u32, state: VersionState) -> Done<Option<VersionRecord>> {
    let mut connection = database.begin().await?;
    count(connection.as_mut()).await?;
    let Some(there) = connection.rows(by_name(name, Some(version))).await?.pop().map(record).transpose()? else {
        return unchanged(connection, None).await;
    };
    let changed = give(connection.as_mut(), there.clone(), state).await?;
    if changed == there {
        return unchanged(connection, Some(changed)).await;
    }
    connection.commit().await?;
    Ok(Some(changed))
}

/// Gives a version a state.
async fn give(connection: &mut dyn Connection, version: VersionRecord, state: VersionState) -> Done<VersionRecord> {
    if version.state == state {
        return Ok(version);
    }
    if state == VersionState::Active {
        retire(connection, &version.name).await?;
    }
    let update = Statement::new("UPDATE versions SET state = $3 WHERE name = $1 AND version = $2");
    connection.change(update.bind(&version.name).bind(version.version).bind(version_state(state))).await?;
    Ok(VersionRecord { state, ..version })
}

/// Notes what a version is made of, where that is said.
async fn remade(connection: &mut dyn Connection, version: VersionRecord, of: Option<&MadeOf>) -> Done<VersionRecord> {
    let Some(of) = of.filter(|of| version.made_of.as_ref() != Some(of)) else { return Ok(version) };
    let update = Statement::new("UPDATE versions SET made_of = $3 WHERE name = $1 AND version = $2");
    connection.change(update.bind(&version.name).bind(version.version).bind(maybe_json(Some(&made_of(of)))?)).await?;
    Ok(VersionRecord { made_of: Some(of.clone()), ..version })
}

/// What was active is deployed.
async fn retire(connection: &mut dyn Connection, name: &SmolStr) -> Done<()> {
    let update = Statement::new("UPDATE versions SET state = 'deployed' WHERE name = $1 AND state = 'active'");
    connection.change(update.bind(name)).await.map(drop)
}

pub(super) async fn put_solution(database: &dyn Database, new: &Solution) -> Done<()> {
    let mut connection = database.begin().await?;
    let insert = Statement::new(
        "INSERT INTO solutions (workflow, step, solution, trace, at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (workflow, step) DO UPDATE SET solution = $3, trace = $4, at = $5",
    );
    let insert = insert.bind(&new.workflow).bind(&new.step).bind(&new.solution).bind(&new.trace.0).bind(new.at);
    connection.change(insert).await?;
    connection.commit().await
}

pub(super) async fn solution(database: &dyn Database, workflow: &SmolStr, step: &SmolStr) -> Done<Option<Solution>> {
    let select = Statement::new("SELECT solution, trace, at FROM solutions WHERE workflow = $1 AND step = $2");
    let rows = read(database, select.bind(workflow).bind(step)).await?;
    let solution = |mut row: Row| {
        let (solution, trace, at) = (row.name()?, TraceId(row.name()?), row.moment()?);
        Ok(Solution { workflow: workflow.clone(), step: step.clone(), solution, trace, at })
    };
    rows.into_iter().next().map(solution).transpose()
}
