//! The store in a PostgreSQL database, which processes on several machines share.
//!
//! **What is synced when.** Each function is one transaction at the level READ COMMITTED; with `synchronous_commit` as PostgreSQL has it by default it is on disk when the
//! function returns.
//!
//! **Who waits.** Whoever changes a run locks its row; claims leave out rows that others have locked. Where PostgreSQL gives up one of two that wait for each other, the
//! step is done again. A connection that turns out to be dead before anything is done on it is replaced, so that the store goes on by itself when the server was away. A text in an index (a name, a role,
//! a step's key) may have some 2,700 bytes.

use super::sql::{Connection, Database, Done, Driver, Held, Joined, Meaning, Row, SqlStore, Statement, Tags, fault, migrate};
use super::{Store, StoreError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, PgQueryResult, Postgres};
use sqlx::{ConnectOptions, Connection as _};
use std::sync::Arc;
use std::time::Duration;

/// How long a function waits for a connection.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that was used so short a time ago is not tried first.
const JUST_USED: Duration = Duration::from_millis(200);

/// How many connections a process has at most.
const CONNECTIONS: u32 = 10;

const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/postgres/0001.sql"),
    include_str!("../../migrations/postgres/0002.sql"),
    include_str!("../../migrations/postgres/0003.sql"),
];

/// The pool of one database.
struct Server(PgPool);

/// Opens the store in the database at `address`: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. What the address leaves out comes from the variables
/// of the environment that PostgreSQL's own programs read (`PGPASSWORD`, `PGSSLMODE` …).
///
/// # Errors
/// Where the database cannot be reached or used, or was made by a newer program.
pub async fn open(address: &str) -> Result<Arc<dyn Store>, StoreError> {
    let options: PgConnectOptions = address.parse().map_err(fault::<Postgres>)?;
    let options = options.application_name("ltc").disable_statement_logging();
    let pool = PgPoolOptions::new().max_connections(CONNECTIONS).acquire_timeout(PATIENCE);
    // sqlx would try every connection every time, which is a way to the server and back.
    let pool = pool.test_before_acquire(false).before_acquire(|connection, about| {
        async move {
            if about.idle_for > JUST_USED {
                connection.ping().await?;
            }
            Ok(true)
        }
        .boxed()
    });
    let server = Server(pool.connect_lazy_with(options));
    migrate(&server).await?;
    Ok(Arc::new(SqlStore(server)))
}

/// Begins something on a connection, and on the next where that one turns out to be dead: all may be, after the server was away.
async fn on_a_live_one<T, F: Future<Output = Result<T, sqlx::Error>>>(begin: impl Fn() -> F) -> Done<T> {
    for _ in 0..CONNECTIONS {
        match begin().await {
            Err(error) if is_of_a_dead_connection(&error) => {}
            other => return other.map_err(fault::<Postgres>),
        }
    }
    begin().await.map_err(fault::<Postgres>)
}

/// The connection is gone, or the server says that it is about to be.
fn is_of_a_dead_connection(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    matches!(error, sqlx::Error::Io(_)) || code.is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
}

impl Driver for Postgres {
    fn changed(done: &PgQueryResult) -> u64 {
        done.rows_affected()
    }

    fn meaning(error: &dyn DatabaseError) -> Meaning {
        let code = error.code().unwrap_or_default();
        // https://www.postgresql.org/docs/current/errcodes-appendix.html
        match code.as_ref() {
            "23505" => Meaning::Taken,
            "23503" => Meaning::Dangling,
            // Serialization failure, deadlock.
            "40001" | "40P01" => Meaning::InTheWay,
            // The server is read-only (a standby), or locks took too long.
            "25006" | "55P03" => Meaning::Later,
            // Connections, resources, an operator's hand, the server's own disk.
            code if ["08", "53", "57", "58"].iter().any(|class| code.starts_with(class)) => Meaning::Later,
            _ => Meaning::Never,
        }
    }
}

impl Database for Server {
    fn read(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        async move {
            let connection = on_a_live_one(|| async {
                let mut connection = self.0.acquire().await?;
                connection.ping().await?;
                Ok(connection)
            });
            Ok(Box::new(Held::Reading(connection.await?)) as Box<dyn Connection>)
        }
        .boxed()
    }

    fn begin(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        async move {
            let transaction = on_a_live_one(|| self.0.begin()).await?;
            Ok(Box::new(Held::Writing(transaction)) as Box<dyn Connection>)
        }
        .boxed()
    }

    fn once(&self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>> {
        async move {
            // It cannot be done again where the connection dies: nobody knows whether it was done.
            let connection = self.0.acquire().await.map_err(fault::<Postgres>)?;
            Held::Reading(connection).rows(statement).await
        }
        .boxed()
    }

    fn joined(&self) -> Joined {
        Joined::Parts
    }

    fn lock(&self) -> &'static str {
        " FOR UPDATE"
    }

    fn lock_free(&self) -> &'static str {
        " FOR UPDATE SKIP LOCKED"
    }

    fn tags(&self) -> Tags {
        Tags::List
    }

    fn migrations(&self) -> &'static [&'static str] {
        MIGRATIONS
    }

    fn migration_lock(&self) -> Option<&'static str> {
        // Any number does that nobody else uses: these are the letters "ltc".
        Some("SELECT CAST(1 AS BIGINT) FROM pg_advisory_xact_lock(7107683)")
    }
}
