//! Connections of any driver behind the border: values in, cells out, errors sorted.

use super::{Bound, Cell, Connection, Done, Fault, Row, Statement};
use crate::store::StoreError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::error::DatabaseError;
use sqlx::pool::PoolConnection;
use sqlx::{
    Arguments as _, AssertSqlSafe, ColumnIndex, Decode, Encode, Executor, IntoArguments, Row as _, Transaction, Type, TypeInfo as _,
    ValueRef as _,
};

/// What is to be said of a driver that sqlx does not say of all.
pub(in crate::store) trait Driver: sqlx::Database {
    /// How many rows a statement changed.
    fn changed(done: &Self::QueryResult) -> u64;

    /// What an error of the database means.
    fn meaning(error: &dyn DatabaseError) -> Meaning;
}

/// What an error of the database means.
pub(in crate::store) enum Meaning {
    /// Two were in each other's way, and this one was undone.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "in SQLite one writes at a time"))]
    InTheWay,
    /// There is such a row already.
    Taken,
    /// A row is missing that this one belongs to.
    Dangling,
    /// Later it may work.
    Later,
    /// It will not work.
    Never,
}

/// A connection of a pool: for statements that read, or in a transaction.
pub(in crate::store) enum Held<DB: Driver> {
    /// Each statement for itself.
    Reading(PoolConnection<DB>),
    /// In a transaction.
    Writing(Transaction<'static, DB>),
}

impl<DB: Driver> Held<DB> {
    fn inner(&mut self) -> &mut DB::Connection {
        match self {
            Held::Reading(connection) => connection,
            Held::Writing(transaction) => transaction,
        }
    }
}

impl<DB: Driver> Connection for Held<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    DB::Arguments: IntoArguments<DB>,
    for<'v> Option<String>: Encode<'v, DB> + Type<DB>,
    for<'v> Option<i64>: Encode<'v, DB> + Type<DB>,
    for<'v> String: Decode<'v, DB>,
    for<'v> i64: Decode<'v, DB>,
    usize: ColumnIndex<DB::Row>,
{
    fn rows(&mut self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>> {
        async move {
            let arguments = arguments::<DB>(statement.bound).map_err(fault::<DB>)?;
            let query = sqlx::query_with(AssertSqlSafe(statement.text), arguments);
            let rows = query.fetch_all(self.inner()).await.map_err(fault::<DB>)?;
            rows.iter().map(|row| cells::<DB>(row).map_err(fault::<DB>)).collect()
        }
        .boxed()
    }

    fn change(&mut self, statement: Statement) -> BoxFuture<'_, Done<u64>> {
        async move {
            let arguments = arguments::<DB>(statement.bound).map_err(fault::<DB>)?;
            let query = sqlx::query_with(AssertSqlSafe(statement.text), arguments);
            query.execute(self.inner()).await.map(|done| DB::changed(&done)).map_err(fault::<DB>)
        }
        .boxed()
    }

    fn script(&mut self, text: &'static str) -> BoxFuture<'_, Done<()>> {
        async move { self.inner().execute(sqlx::raw_sql(text)).await.map(drop).map_err(fault::<DB>) }.boxed()
    }

    fn commit<'c>(self: Box<Self>) -> BoxFuture<'c, Done<()>>
    where
        Self: 'c,
    {
        async move {
            match *self {
                Held::Reading(_) => Ok(()),
                Held::Writing(transaction) => transaction.commit().await.map_err(fault::<DB>),
            }
        }
        .boxed()
    }

    fn undo<'c>(self: Box<Self>) -> BoxFuture<'c, Done<()>>
    where
        Self: 'c,
    {
        async move {
            match *self {
                Held::Reading(_) => Ok(()),
                Held::Writing(transaction) => transaction.rollback().await.map_err(fault::<DB>),
            }
        }
        .boxed()
    }
}

fn arguments<DB: Driver>(bound: Vec<Bound>) -> Result<DB::Arguments, sqlx::Error>
where
    for<'v> Option<String>: Encode<'v, DB> + Type<DB>,
    for<'v> Option<i64>: Encode<'v, DB> + Type<DB>,
{
    let mut arguments = DB::Arguments::default();
    for value in bound {
        match value {
            Bound::Text(text) => arguments.add(text),
            Bound::Number(number) => arguments.add(number),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

fn cells<DB: Driver>(row: &DB::Row) -> Result<Row, sqlx::Error>
where
    for<'v> String: Decode<'v, DB>,
    for<'v> i64: Decode<'v, DB>,
    usize: ColumnIndex<DB::Row>,
{
    let mut cells = Vec::with_capacity(row.len());
    for index in 0..row.len() {
        let cell = row.try_get_raw(index)?;
        cells.push(if cell.is_null() {
            Cell::Null
        } else if cell.type_info().name().starts_with("INT") {
            Cell::Number(i64::decode(cell).map_err(sqlx::Error::Decode)?)
        } else {
            Cell::Text(String::decode(cell).map_err(sqlx::Error::Decode)?)
        });
    }
    Ok(Row::new(cells))
}

/// What an error means. Its words are shortened to one line, and neither values nor the address are among them.
pub(in crate::store) fn fault<DB: Driver>(error: sqlx::Error) -> Fault {
    let later = |why: String| Fault::Told(StoreError::Unavailable(crate::text::one_line(&why)));
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
            let why = crate::text::one_line(&format!("{}{code}", error.message()));
            match DB::meaning(error.as_ref()) {
                Meaning::InTheWay => Fault::Again(why),
                Meaning::Taken => Fault::Taken(why),
                Meaning::Dangling => Fault::Dangling(why),
                Meaning::Later => Fault::Told(StoreError::Unavailable(why)),
                Meaning::Never => Fault::broken(why),
            }
        }
        sqlx::Error::Io(error) => later(error.to_string()),
        sqlx::Error::Tls(error) => later(error.to_string()),
        sqlx::Error::PoolTimedOut => later("no connection to the database was free in time, or none could be made".to_owned()),
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::BeginFailed => later(error.to_string()),
        // A connection that breaks off in the middle of a message looks like this.
        sqlx::Error::Protocol(_) => later("the connection to the database broke off".to_owned()),
        // Such an error can quote parts of an address.
        sqlx::Error::Configuration(_) => Fault::broken("the address of the database cannot be understood"),
        // The others are about rows that are not as they should be; sqlx may get more kinds.
        other => Fault::broken(crate::text::one_line(&other.to_string())),
    }
}
