//! Tables, made and brought up to date when a store is opened: one transaction, under a lock, with the number of the tables in `ltc_schema`.

use super::{Connection, Database, Done, Fault, Statement};

/// Brings the tables to those of this program.
///
/// # Errors
/// Where they are newer than the program: it would not know what it breaks.
pub(in crate::store) async fn migrate(database: &dyn Database) -> Done<()> {
    let mut connection = database.begin().await?;
    if let Some(lock) = database.migration_lock() {
        connection.rows(Statement::new(lock)).await?;
    }
    connection.script("CREATE TABLE IF NOT EXISTS ltc_schema (version BIGINT NOT NULL)").await?;
    let found = version(connection.as_mut()).await?;
    let scripts = database.migrations();
    let Some(missing) = scripts.get(found..) else {
        let own = scripts.len();
        return Err(Fault::broken(format!(
            "its tables have number {found}, and this program knows them up to {own}: a newer ltc made them"
        )));
    };
    if missing.is_empty() {
        return connection.undo().await;
    }
    for script in missing {
        connection.script(script).await?;
    }
    connection.script("DELETE FROM ltc_schema").await?;
    let number = i64::try_from(scripts.len()).map_err(|_| Fault::broken("too many migrations"))?;
    connection.change(Statement::new("INSERT INTO ltc_schema (version) VALUES ($1)").bind(number)).await?;
    connection.commit().await
}

async fn version(connection: &mut dyn Connection) -> Done<usize> {
    match connection.rows(Statement::new("SELECT version FROM ltc_schema")).await?.first_mut() {
        Some(row) => usize::try_from(row.number()?).map_err(|_| Fault::broken("the number of its tables is below zero")),
        None => Ok(0),
    }
}
