//! MCP servers: kept, changed, found by their tags.

use super::words::{json, maybe_json, maybe_read_json, read_json, read_server_status, server_status};
use super::{Connection, Database, Done, Fault, Row, Statement, Tags, read, unchanged};
use crate::clock::Moment;
use crate::servers::{read_transport, transport_kind, write_transport};
use crate::store::{Found, ServerChange, ServerEntry, ServerFilter, ServerName, ServerRecord, ServerStatus, Tagged};
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::collections::BTreeSet;

/// Behind this stand the tags, as JSON, and what is put on `s`.
const COLUMNS: &str = "SELECT s.name, s.description, s.transport, s.configuration, s.auto_connect, s.compile_hints, s.metadata, s.status, s.tools, \
     s.last_error, s.last_connected_at, s.revision, s.created_at, s.updated_at, ";

fn select(database: &dyn Database) -> Statement {
    Statement::new(COLUMNS).then(match database.tags() {
        Tags::List => "CAST(array_to_json(s.tags) AS TEXT) FROM lt_mcp_servers s",
        Tags::Rows => "(SELECT json_group_array(t.tag) FROM lt_mcp_server_tags t WHERE t.server = s.name) FROM lt_mcp_servers s",
    })
}

fn record(mut row: Row) -> Done<ServerRecord> {
    let row = &mut row;
    let name = row.name()?;
    let description = row.maybe_text()?;
    let kind = row.text()?;
    let configuration = read_json(&row.text()?)?;
    let transport = read_transport(&configuration, &format!("server {name}")).map_err(|problem| Fault::broken(problem.message))?;
    if transport_kind(&transport) != kind {
        return Err(Fault::broken(format!("the server {} is said to be reached in two ways", crate::text::one_line(&name))));
    }
    let auto_connect = row.number()? != 0;
    let (compile_hints, metadata) = (maybe_read_json(row.maybe_text()?)?, maybe_read_json(row.maybe_text()?)?);
    let status = read_server_status(&row.text()?)?;
    let tools = maybe_read_json(row.maybe_text()?)?;
    let (last_error, last_connected_at) = (row.maybe_text()?, row.maybe_moment()?);
    let (revision, created_at, updated_at) = (row.count()?, row.moment()?, row.moment()?);
    let tags = row.text_list()?.into_iter().map(SmolStr::new).collect();
    let entry = ServerEntry { name: ServerName(name), description, transport, auto_connect, tags, compile_hints, metadata };
    Ok(ServerRecord { entry, status, tools, last_error, last_connected_at, revision, created_at, updated_at })
}

fn by_name(database: &dyn Database, name: &ServerName) -> Statement {
    select(database).then(" WHERE s.name = ").value(&name.0)
}

pub(super) async fn one(database: &dyn Database, name: &ServerName) -> Done<Option<ServerRecord>> {
    read(database, by_name(database, name)).await?.pop().map(record).transpose()
}

pub(super) async fn list(database: &dyn Database, filter: &ServerFilter) -> Done<Vec<ServerRecord>> {
    let mut statement = select(database).then(" WHERE 1 = 1");
    if let Some(status) = filter.status {
        statement = statement.then(" AND s.status = ").value(server_status(status));
    }
    if let Some(auto_connect) = filter.auto_connect {
        statement = statement.then(" AND s.auto_connect = ").value(i64::from(auto_connect));
    }
    statement = match &filter.tagged {
        Some(tagged) => with_tags(database, statement, tagged),
        None => statement,
    };
    let statement = statement.then(" ORDER BY s.name LIMIT ").value(filter.limit).then(" OFFSET ").value(filter.offset);
    read(database, statement).await?.into_iter().map(record).collect()
}

fn with_tags(database: &dyn Database, statement: Statement, tagged: &Tagged) -> Statement {
    let (Tagged::Any(tags) | Tagged::All(tags)) = tagged;
    if tags.is_empty() {
        return statement;
    }
    match (database.tags(), tagged) {
        (Tags::List, Tagged::Any(_)) => array(statement.then(" AND s.tags && "), tags),
        (Tags::List, Tagged::All(_)) => array(statement.then(" AND s.tags @> "), tags),
        (Tags::Rows, Tagged::Any(_)) => {
            statement.then(" AND s.name IN (SELECT server FROM lt_mcp_server_tags WHERE tag IN ").values(tags).then(")")
        }
        (Tags::Rows, Tagged::All(_)) => tags.iter().fold(statement, |statement, tag| {
            statement.then(" AND s.name IN (SELECT server FROM lt_mcp_server_tags WHERE tag = ").value(tag).then(")")
        }),
    }
}

/// A list, as PostgreSQL writes it.
fn array(mut statement: Statement, tags: &BTreeSet<SmolStr>) -> Statement {
    statement = statement.then("CAST(ARRAY[");
    for (index, tag) in tags.iter().enumerate() {
        statement = statement.then(if index == 0 { "" } else { ", " }).value(tag);
    }
    statement.then("] AS TEXT[])")
}

/// Counts a change; until the end of the transaction nobody else makes one.
async fn count(connection: &mut dyn Connection) -> Done<()> {
    connection.change(Statement::new("UPDATE registry SET server_changes = server_changes + 1")).await.map(drop)
}

pub(super) async fn changes(database: &dyn Database) -> Done<u64> {
    let rows = read(database, Statement::new("SELECT server_changes FROM registry")).await?;
    rows.into_iter().next().ok_or_else(|| Fault::broken("the count of changes is missing"))?.count()
}

/// Keeps a server; `None` where there is one of that name.
pub(super) async fn add(database: &dyn Database, new: &ServerEntry, at: Moment) -> Done<Option<ServerRecord>> {
    let mut connection = database.begin().await?;
    count(connection.as_mut()).await?;
    if !connection.rows(by_name(database, &new.name)).await?.is_empty() {
        return unchanged(connection, None).await;
    }
    let mut insert = Statement::new(
        "INSERT INTO lt_mcp_servers (name, description, transport, configuration, auto_connect, compile_hints, metadata, status, revision, \
         created_at, updated_at",
    );
    let tags_are_listed = match database.tags() {
        Tags::List => true,
        Tags::Rows => false,
    };
    insert = insert.then(if tags_are_listed { ", tags" } else { "" });
    insert = insert.then(") VALUES ($1, $2, $3, $4, $5, $6, $7, 'registered', 1, $8, $8");
    insert = insert.bind(&new.name.0).bind(new.description.clone()).bind(transport_kind(&new.transport));
    insert = insert.bind(json(&Value::Object(write_transport(&new.transport)))?).bind(i64::from(new.auto_connect));
    insert = insert.bind(maybe_json(new.compile_hints.as_ref())?).bind(maybe_json(new.metadata.as_ref())?).bind(at);
    if tags_are_listed {
        insert = array(insert.then(", "), &new.tags);
    }
    connection.change(insert.then(")")).await?;
    if !tags_are_listed {
        tag(connection.as_mut(), &new.name, &new.tags).await?;
    }
    let record = ServerRecord {
        entry: new.clone(),
        status: ServerStatus::Registered,
        tools: None,
        last_error: None,
        last_connected_at: None,
        revision: 1,
        created_at: at,
        updated_at: at,
    };
    connection.commit().await?;
    Ok(Some(record))
}

/// A row for each tag.
async fn tag(connection: &mut dyn Connection, name: &ServerName, tags: &BTreeSet<SmolStr>) -> Done<()> {
    for tag in tags {
        let insert = Statement::new("INSERT INTO lt_mcp_server_tags (server, tag) VALUES ($1, $2)").bind(&name.0).bind(tag);
        connection.change(insert).await?;
    }
    Ok(())
}

pub(super) async fn update(database: &dyn Database, name: &ServerName, change: &ServerChange, at: Moment) -> Done<Option<ServerRecord>> {
    let mut connection = database.begin().await?;
    count(connection.as_mut()).await?;
    let Some(old) = connection.rows(by_name(database, name)).await?.pop().map(record).transpose()? else {
        return unchanged(connection, None).await;
    };
    let mut new = old.clone();
    let ServerChange { description, transport, auto_connect, tags, compile_hints, metadata } = change.clone();
    let entry = &mut new.entry;
    entry.description = description.unwrap_or_else(|| entry.description.take());
    entry.auto_connect = auto_connect.unwrap_or(entry.auto_connect);
    entry.tags = tags.unwrap_or_else(|| std::mem::take(&mut entry.tags));
    entry.compile_hints = compile_hints.unwrap_or_else(|| entry.compile_hints.take());
    entry.metadata = metadata.unwrap_or_else(|| entry.metadata.take());
    if let Some(transport) = transport
        && transport != old.entry.transport
    {
        entry.transport = transport;
        (new.status, new.tools, new.last_error, new.last_connected_at) = (ServerStatus::Registered, None, None, None);
    }
    if new == old {
        return unchanged(connection, Some(old)).await;
    }
    (new.revision, new.updated_at) = (old.revision.saturating_add(1), at);
    let mut update = Statement::new(
        "UPDATE lt_mcp_servers SET description = $2, transport = $3, configuration = $4, auto_connect = $5, compile_hints = $6, metadata = $7, \
         status = $8, tools = $9, last_error = $10, last_connected_at = $11, revision = revision + 1, updated_at = $12",
    );
    let entry = &new.entry;
    update = update.bind(&name.0).bind(entry.description.clone()).bind(transport_kind(&entry.transport));
    update = update.bind(json(&Value::Object(write_transport(&entry.transport)))?).bind(i64::from(entry.auto_connect));
    update = update.bind(maybe_json(entry.compile_hints.as_ref())?).bind(maybe_json(entry.metadata.as_ref())?);
    update = update.bind(server_status(new.status)).bind(maybe_json(new.tools.as_ref())?).bind(new.last_error.clone());
    update = update.bind(new.last_connected_at).bind(at);
    match database.tags() {
        Tags::List => update = array(update.then(", tags = "), &entry.tags),
        Tags::Rows => {
            connection.change(Statement::new("DELETE FROM lt_mcp_server_tags WHERE server = $1").bind(&name.0)).await?;
            tag(connection.as_mut(), name, &entry.tags).await?;
        }
    }
    connection.change(update.then(" WHERE name = $1")).await?;
    connection.commit().await?;
    Ok(Some(new))
}

/// Writes down how a server was found that was asked for as `revision` describes it; `None` where it is another by now, or gone.
pub(super) async fn note(
    database: &dyn Database,
    name: &ServerName,
    revision: u64,
    found: &Found,
    at: Moment,
) -> Done<Option<ServerRecord>> {
    let mut connection = database.begin().await?;
    count(connection.as_mut()).await?;
    let old = connection.rows(by_name(database, name)).await?.pop().map(record).transpose()?;
    let Some(old) = old.filter(|old| old.revision == revision) else {
        return unchanged(connection, None).await;
    };
    let mut new = old.clone();
    match found {
        Found::Connected { tools } => {
            (new.status, new.tools, new.last_error) = (ServerStatus::Connected, Some(tools.clone()), None);
            new.last_connected_at = Some(at);
        }
        Found::Failed(why) => (new.status, new.last_error) = (ServerStatus::Error, Some(why.clone())),
        Found::Disconnected => match old.status {
            ServerStatus::Registered => {}
            ServerStatus::Connected | ServerStatus::Error | ServerStatus::Disconnected => {
                (new.status, new.last_error) = (ServerStatus::Disconnected, None);
            }
        },
    }
    let update =
        Statement::new("UPDATE lt_mcp_servers SET status = $2, tools = $3, last_error = $4, last_connected_at = $5 WHERE name = $1");
    let update = update.bind(&name.0).bind(server_status(new.status)).bind(maybe_json(new.tools.as_ref())?);
    if new == old {
        return unchanged(connection, Some(old)).await;
    }
    connection.change(update.bind(new.last_error.clone()).bind(new.last_connected_at)).await?;
    connection.commit().await?;
    Ok(Some(new))
}

pub(super) async fn remove(database: &dyn Database, name: &ServerName) -> Done<bool> {
    let mut connection = database.begin().await?;
    count(connection.as_mut()).await?;
    if connection.change(Statement::new("DELETE FROM lt_mcp_servers WHERE name = $1").bind(&name.0)).await? == 0 {
        return unchanged(connection, false).await;
    }
    connection.commit().await?;
    Ok(true)
}
