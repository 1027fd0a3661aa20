//! The store in one SQLite file, which several processes may use at once.
//!
//! **What is synced when.** The file is in WAL mode with `synchronous = FULL`: each commit ends with one sync of the log (`-wal`), and is on disk when the function
//! returns. Every thousand pages or so a commit also carries the log over into the file, with a sync of both. A power cut loses nothing that was committed.
//! That holds on a local disk: the shared memory of WAL mode does not work over a network.
//!
//! Recordings are not waited for in that way: their connection has `synchronous = NORMAL`, whose commits are in the log for whoever reads, and on disk with the next
//! one of the others. The end of the process takes nothing away; a power cut may take the last calls of a recording.
//!
//! **Who waits.** One connection writes, and takes the lock at once (`BEGIN IMMEDIATE`), so that no transaction that has read finds out later that it may not write. A few
//! others read; nothing holds them up. The writers wait for each other, and for those of other processes, up to [`PATIENCE`]; then the store is `Unavailable`.

use super::sql::{Connection, Database, Done, Driver, Fault, Held, Joined, Meaning, Row, SqlStore, Statement, Tags, fault, migrate};
use super::{Store, StoreError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::error::DatabaseError;
use sqlx::sqlite::{
    Sqlite, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteQueryResult, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection as _};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a function waits for others who write.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// How many read at once.
const READERS: u32 = 4;

const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001.sql"),
    include_str!("../../migrations/sqlite/0002.sql"),
    include_str!("../../migrations/sqlite/0003.sql"),
];

/// The pools of one file.
struct File {
    writer: SqlitePool,
    /// Writes what need not be on disk at once.
    recorder: SqlitePool,
    readers: SqlitePool,
}

/// Opens the store in the file `path`, which is made if it is not there, for its owner only.
///
/// # Errors
/// Where the file cannot be made or used, is no store, or was made by a newer program.
pub async fn open(path: &Path) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(SqlStore(opened(path).await?)))
}

async fn opened(path: &Path) -> Result<File, StoreError> {
    // SQLite takes some names for something else: an empty one, `:memory:`, `file:…`. None of them is absolute.
    if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
        return Err(StoreError::Broken("the store needs a file: several connections share it".to_owned()));
    }
    let unusable = |e| StoreError::Unavailable(format!("{} cannot be made: {e}", crate::text::one_line(&path.to_string_lossy())));
    let path = &std::path::absolute(path).map_err(unusable)?;
    make(path).map_err(unusable)?;
    let options = SqliteConnectOptions::new().filename(path).foreign_keys(true).busy_timeout(PATIENCE);
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full).disable_statement_logging();
    // The connections are kept as long as the store: they are threads with prepared statements.
    let pool = || SqlitePoolOptions::new().acquire_timeout(PATIENCE).idle_timeout(None).max_lifetime(None).test_before_acquire(false);
    let writer = || pool().max_connections(1).before_acquire(|connection, _| is_fresh(connection).boxed());
    let file = File {
        writer: writer().connect_lazy_with(options.clone()),
        recorder: writer().connect_lazy_with(options.clone().synchronous(SqliteSynchronous::Normal)),
        readers: pool().max_connections(READERS).connect_lazy_with(options.pragma("query_only", "ON")),
    };
    // Putting a new file into WAL mode does not wait for others who do just that.
    let begun = Instant::now();
    loop {
        match migrate(&file).await {
            Ok(()) => return Ok(file),
            Err(Fault::Told(StoreError::Unavailable(_))) if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(fault) => return Err(fault.into()),
        }
    }
}

/// Whether a connection can begin a transaction. A full disk ends one behind the driver's back, and it waits for its end for ever then; such a connection is
/// replaced.
async fn is_fresh(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // The rollback may still be on its way; an answer comes behind it.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

/// Makes the file and the folders above it, where they are missing, for their owner only: inputs and results are nobody else's business.
fn make(path: &Path) -> std::io::Result<()> {
    let mut folders = fs::DirBuilder::new();
    let mut file = fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folders.mode(0o700);
        file.mode(0o600);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        folders.recursive(true).create(folder)?;
    }
    file.append(true).create(true).open(path).map(drop)
}

impl Driver for Sqlite {
    fn changed(done: &SqliteQueryResult) -> u64 {
        done.rows_affected()
    }

    fn meaning(error: &dyn DatabaseError) -> Meaning {
        if error.is_unique_violation() {
            return Meaning::Taken;
        }
        if error.is_foreign_key_violation() {
            return Meaning::Dangling;
        }
        let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or_default();
        // The low byte is the primary result code: https://www.sqlite.org/rescode.html
        match code & 0xff {
            5 | 6 => Meaning::Later,   // BUSY, LOCKED: others write
            7..=10 => Meaning::Later,  // NOMEM, READONLY, INTERRUPT, IOERR
            13..=15 => Meaning::Later, // FULL, CANTOPEN, PROTOCOL
            _ => Meaning::Never,
        }
    }
}

/// Whether no transaction is open behind a `ROLLBACK`: some errors end one by themselves.
fn is_undone(undone: Done<()>) -> bool {
    match undone {
        Ok(()) => true,
        Err(fault) => StoreError::from(fault).to_string().contains("no transaction is active"),
    }
}

/// A connection on which a script is done. Where the script is cut off, its transaction may be open still, and nobody keeps count of it: the connection goes with it.
struct Unsettled(Option<Held<Sqlite>>);

impl Drop for Unsettled {
    fn drop(&mut self) {
        match self.0.take() {
            Some(Held::Reading(connection)) => drop(connection.detach()),
            Some(Held::Writing(_)) | None => {}
        }
    }
}

/// Does a script whose transaction is whole.
async fn whole(pool: &SqlitePool, script: Statement) -> Done<Vec<Row>> {
    let mut unsettled = Unsettled(Some(Held::Reading(pool.acquire().await.map_err(fault::<Sqlite>)?)));
    let Some(held) = &mut unsettled.0 else { return Ok(Vec::new()) };
    let rows = held.rows(script).await;
    let is_settled = match &rows {
        Ok(_) => true,
        Err(_) => is_undone(held.script("ROLLBACK").await),
    };
    if is_settled {
        // It goes back to its pool.
        drop(unsettled.0.take());
    }
    rows
}

impl Database for File {
    fn read(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        async move {
            let connection = self.readers.acquire().await.map_err(fault::<Sqlite>)?;
            Ok(Box::new(Held::Reading(connection)) as Box<dyn Connection>)
        }
        .boxed()
    }

    fn begin(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        async move {
            let transaction = self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(fault::<Sqlite>)?;
            Ok(Box::new(Held::Writing(transaction)) as Box<dyn Connection>)
        }
        .boxed()
    }

    fn begin_lightly(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        async move {
            let transaction = self.recorder.begin_with("BEGIN IMMEDIATE").await.map_err(fault::<Sqlite>)?;
            Ok(Box::new(Held::Writing(transaction)) as Box<dyn Connection>)
        }
        .boxed()
    }

    fn once(&self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>> {
        whole(&self.writer, statement).boxed()
    }

    fn once_lightly(&self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>> {
        whole(&self.recorder, statement).boxed()
    }

    fn joined(&self) -> Joined {
        Joined::Script
    }

    fn lock(&self) -> &'static str {
        ""
    }

    fn lock_free(&self) -> &'static str {
        ""
    }

    fn tags(&self) -> Tags {
        Tags::Rows
    }

    fn migrations(&self) -> &'static [&'static str] {
        MIGRATIONS
    }

    fn migration_lock(&self) -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests;
