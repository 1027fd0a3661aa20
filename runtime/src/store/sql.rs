//! The store in SQL: what every database does alike, behind a border of four words (read, begin, rows, commit).
//!
//! | file | what it is |
//! |---|---|
//! | `sql/statement` | a statement with its values, and rows as plain cells |
//! | `sql/drive` | connections of any driver behind the border, and their errors |
//! | `sql/words` | statuses, kinds and JSON as the texts that are kept |
//! | `sql/migrate` | tables, made and brought up to date when a store is opened |
//! | `sql/runs`, `sql/claims`, `sql/journal` | runs, who works on them, and what is written down about them |
//! | `sql/escalations`, `sql/versions` | questions to people; versions of workflows |
//! | `sql/servers`, `sql/traces` | MCP servers; recordings |
//! | `sql/statistics` | questions about many runs at once |
//! | `sqlite`, `postgres` | connections, locks and errors: all that differs |
//!
//! JSON is TEXT in both databases: PostgreSQL's JSONB would round numbers, sort keys and refuse `\u0000`.
//!
//! **Who may write.** A commit holds if the run is `running` under that worker's name. The clock is not asked: a lease that has run out and that nobody took is
//! still ours, since nobody else can have done anything under it. Taking it puts another name there, and from then on each commit of the old one is
//! `LeaseLost`. A `rest` of `Waiting` also becomes `Queued` where somebody asked for the run's end meanwhile, which would be slept through otherwise.
//!
//! **Locks.** Whoever changes a run and its questions locks the run first, so that no two wait for each other; where a database gives up one of two
//! nevertheless, the step is done again. Versions are changed by one at a time: all count in `registry` first.

mod claims;
mod drive;
mod escalations;
mod journal;
mod migrate;
mod runs;
mod servers;
mod statement;
mod statistics;
mod traces;
mod versions;
mod words;

pub(super) use drive::{Driver, Held, Meaning, fault};
pub(super) use migrate::migrate;
use statement::{Bound, Cell};
pub(super) use statement::{Row, Statement};

use super::{
    Answer, Claim, Commit, Created, Definition, DefinitionId, EscalationFilter, EscalationId, EscalationRecord, Event, Found, Journals,
    Lease, NewEscalation, NewRun, NewTrace, NewVersion, Noted, Renewed, Resolution, RunFilter, RunId, RunRecord, ServerChange, ServerEntry,
    ServerFilter, ServerName, ServerRecord, Settled, Solution, Store, StoreError, TraceAbout, TraceCall, TraceFilter, TraceId, TraceRecord,
    VersionFilter, VersionRecord, VersionState, WorkerId,
};
use crate::clock::Moment;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::time::Duration;

/// Why a statement was not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// Another one was in the way, and nothing was done: at once, it may work.
    Again(String),
    /// There is such a row already.
    Taken(String),
    /// A row is missing that this one belongs to.
    Dangling(String),
    /// What the caller is told.
    Told(StoreError),
}

impl Fault {
    /// What is kept makes no sense.
    fn broken(why: impl Into<String>) -> Fault {
        Fault::Told(StoreError::Broken(why.into()))
    }

    /// The same where a definition can be taken out just when it is needed.
    fn again_if_dangling(self) -> Fault {
        match self {
            Fault::Dangling(why) => Fault::Again(why),
            Fault::Again(_) | Fault::Taken(_) | Fault::Told(_) => self,
        }
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> StoreError {
        match fault {
            Fault::Again(why) => StoreError::Unavailable(why),
            Fault::Taken(why) | Fault::Dangling(why) => StoreError::Broken(why),
            Fault::Told(error) => error,
        }
    }
}

/// What a statement gives.
pub(super) type Done<T> = Result<T, Fault>;

/// A connection to a database, in a transaction or not. A transaction that is dropped before its commit never was.
pub(super) trait Connection: Send {
    /// Does `statement`; gives its rows.
    fn rows(&mut self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>>;

    /// Does `statement`; gives how many rows it changed.
    fn change(&mut self, statement: Statement) -> BoxFuture<'_, Done<u64>>;

    /// Does several statements without values.
    fn script(&mut self, text: &'static str) -> BoxFuture<'_, Done<()>>;

    /// Ends the transaction; what it did is on disk then.
    fn commit<'c>(self: Box<Self>) -> BoxFuture<'c, Done<()>>
    where
        Self: 'c;

    /// Ends the transaction as if it had never been.
    fn undo<'c>(self: Box<Self>) -> BoxFuture<'c, Done<()>>
    where
        Self: 'c;
}

/// A database.
pub(super) trait Database: Send + Sync {
    /// A connection for statements that only read.
    fn read(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>>;

    /// A transaction that may write.
    fn begin(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>>;

    /// The same, for what may be lost where the power is cut, though not where the process ends: its commit need not wait for the disk.
    fn begin_lightly(&self) -> BoxFuture<'_, Done<Box<dyn Connection>>> {
        self.begin()
    }

    /// Does a statement that is a transaction by itself, or a script that is one ([`Joined`]); gives its rows. What it did is on disk then.
    fn once(&self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>>;

    /// The same, as lightly as [`Database::begin_lightly`].
    fn once_lightly(&self, statement: Statement) -> BoxFuture<'_, Done<Vec<Row>>> {
        self.once(statement)
    }

    /// How statements go together, so that they take one way to the database and back.
    fn joined(&self) -> Joined;

    /// What is put behind a SELECT in a transaction so that nobody else changes its row before the end.
    fn lock(&self) -> &'static str;

    /// The same, leaving out rows that somebody else has locked.
    fn lock_free(&self) -> &'static str;

    /// Where the tags of servers are.
    fn tags(&self) -> Tags;

    /// The number of this program's tables, and the script that makes each from the one before.
    fn migrations(&self) -> &'static [&'static str];

    /// What is done first in the transaction that makes the tables, so that only one process does.
    fn migration_lock(&self) -> Option<&'static str>;
}

/// Where the tags of servers are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tags {
    /// In a list beside the rest.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has no lists"))]
    List,
    /// In rows of their own.
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "PostgreSQL has lists"))]
    Rows,
}

/// How several statements are one step of the database.
#[derive(Clone, Copy, Debug)]
pub(super) enum Joined {
    /// As parts of one statement, all of which see the tables as they were, and each other's rows by name.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "in SQLite only a SELECT can be a part"))]
    Parts,
    /// One behind the other, from `BEGIN` to `COMMIT`.
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "PostgreSQL takes one statement at a time"))]
    Script,
}

/// A store on a database.
pub(super) struct SqlStore<D>(pub(super) D);

/// How often a step is tried that another one was in the way of.
const TRIES: u64 = 8;

/// How long a step is waited for: a server that is gone without a word would be waited for much longer.
const LONGEST: Duration = Duration::from_secs(60);

/// Does `step`, again where another one was in its way.
async fn done<T, F: Future<Output = Done<T>>>(step: impl Fn() -> F) -> Result<T, StoreError> {
    let mut attempt = 1;
    loop {
        let late = || Fault::Told(StoreError::Unavailable(format!("it did not answer within {} s", LONGEST.as_secs())));
        match tokio::time::timeout(LONGEST, step()).await.unwrap_or_else(|_| Err(late())) {
            Err(Fault::Again(_)) if attempt < TRIES => tokio::time::sleep(Duration::from_millis(attempt * 5)).await,
            other => return Ok(other?),
        }
        attempt += 1;
    }
}

/// Takes rows out a few at a time, each few in one atomic step, so that nobody who writes waits long; gives how many went. `some` takes out up to `few`.
async fn a_few_at_a_time<F: Future<Output = Done<u64>>>(few: u32, some: impl Fn() -> F) -> Result<u64, StoreError> {
    let mut gone = 0;
    loop {
        let some = done(&some).await?;
        gone += some;
        if some < u64::from(few) {
            return Ok(gone);
        }
    }
}

/// Gives `answer` and changes nothing. A transaction that is just dropped keeps its locks a little longer than the caller thinks.
async fn unchanged<T>(connection: Box<dyn Connection>, answer: T) -> Done<T> {
    connection.undo().await?;
    Ok(answer)
}

/// The rows of one statement that only reads.
async fn read(database: &dyn Database, statement: Statement) -> Done<Vec<Row>> {
    database.read().await?.rows(statement).await
}

impl<D: Database> Journals for SqlStore<D> {
    fn run<'s>(&'s self, run: &'s RunId) -> Answer<'s, Option<RunRecord>> {
        done(move || runs::one(&self.0, run)).boxed()
    }

    fn events<'s>(&'s self, run: &'s RunId) -> Answer<'s, Vec<Event>> {
        done(move || journal::events(&self.0, run)).boxed()
    }

    fn commit<'s>(&'s self, run: &'s RunId, worker: &'s WorkerId, known: u64, commit: &'s Commit, now: Moment) -> Answer<'s, u64> {
        done(move || journal::commit(&self.0, run, worker, known, commit, now)).boxed()
    }
}

impl<D: Database> Store for SqlStore<D> {
    fn create_run(&self, run: NewRun) -> Answer<'_, Created> {
        async move { done(|| runs::create(&self.0, &run)).await }.boxed()
    }

    fn runs(&self, filter: RunFilter) -> Answer<'_, Vec<RunRecord>> {
        async move { done(|| runs::list(&self.0, &filter)).await }.boxed()
    }

    fn definition<'s>(&'s self, id: &'s DefinitionId) -> Answer<'s, Option<Definition>> {
        done(move || versions::definition(&self.0, id)).boxed()
    }

    fn claim_runs(&self, lease: Lease, now: Moment, limit: u32) -> Answer<'_, Vec<RunRecord>> {
        async move { done(|| claims::due(&self.0, &lease, now, limit)).await }.boxed()
    }

    fn claim_run<'s>(&'s self, run: &'s RunId, lease: Lease, now: Moment) -> Answer<'s, Claim> {
        async move { done(|| claims::one(&self.0, run, &lease, now)).await }.boxed()
    }

    fn renew(&self, lease: Lease) -> Answer<'_, Vec<Renewed>> {
        async move { done(|| claims::renew(&self.0, &lease)).await }.boxed()
    }

    fn unwanted<'s>(&'s self, worker: &'s WorkerId) -> Answer<'s, Vec<RunId>> {
        done(move || claims::unwanted(&self.0, worker)).boxed()
    }

    fn workers(&self) -> Answer<'_, Vec<WorkerId>> {
        done(move || claims::workers(&self.0)).boxed()
    }

    fn end_leases<'s>(&'s self, worker: &'s WorkerId, now: Moment) -> Answer<'s, u64> {
        done(move || claims::end_leases(&self.0, worker, now)).boxed()
    }

    fn cancel_run<'s>(&'s self, run: &'s RunId, now: Moment) -> Answer<'s, Option<RunRecord>> {
        done(move || runs::cancel(&self.0, run, now)).boxed()
    }

    fn prune(&self, before: Moment) -> Answer<'_, u64> {
        async move { runs::prune(&self.0, before).await }.boxed()
    }

    fn open_escalation(&self, escalation: NewEscalation) -> Answer<'_, ()> {
        async move { done(|| escalations::open(&self.0, &escalation)).await }.boxed()
    }

    fn escalation<'s>(&'s self, id: &'s EscalationId) -> Answer<'s, Option<EscalationRecord>> {
        done(move || escalations::one(&self.0, id)).boxed()
    }

    fn escalations(&self, filter: EscalationFilter) -> Answer<'_, Vec<EscalationRecord>> {
        async move { done(|| escalations::list(&self.0, &filter)).await }.boxed()
    }

    fn claim_escalation<'s>(&'s self, id: &'s EscalationId, by: &'s SmolStr, until: Moment, now: Moment) -> Answer<'s, Settled> {
        done(move || escalations::claim(&self.0, id, by, until, now)).boxed()
    }

    fn resolve_escalation(&self, resolution: Resolution) -> Answer<'_, Settled> {
        async move { done(|| escalations::resolve(&self.0, &resolution)).await }.boxed()
    }

    fn put_version(&self, version: NewVersion) -> Answer<'_, VersionRecord> {
        async move { done(|| versions::put(&self.0, &version)).await }.boxed()
    }

    fn version<'s>(&'s self, name: &'s SmolStr, version: Option<u32>) -> Answer<'s, Option<VersionRecord>> {
        done(move || versions::one(&self.0, name, version)).boxed()
    }

    fn versions(&self, filter: VersionFilter) -> Answer<'_, Vec<VersionRecord>> {
        async move { done(|| versions::list(&self.0, &filter)).await }.boxed()
    }

    fn set_version_state<'s>(&'s self, name: &'s SmolStr, version: u32, state: VersionState) -> Answer<'s, Option<VersionRecord>> {
        done(move || versions::set_state(&self.0, name, version, state)).boxed()
    }

    fn put_solution<'s>(&'s self, solution: &'s Solution) -> Answer<'s, ()> {
        done(move || versions::put_solution(&self.0, solution)).boxed()
    }

    fn solution<'s>(&'s self, workflow: &'s SmolStr, step: &'s SmolStr) -> Answer<'s, Option<Solution>> {
        done(move || versions::solution(&self.0, workflow, step)).boxed()
    }

    fn registry_changes(&self) -> Answer<'_, u64> {
        done(move || versions::changes(&self.0)).boxed()
    }

    fn add_server(&self, server: ServerEntry, now: Moment) -> Answer<'_, Option<ServerRecord>> {
        async move { done(|| servers::add(&self.0, &server, now)).await }.boxed()
    }

    fn server<'s>(&'s self, name: &'s ServerName) -> Answer<'s, Option<ServerRecord>> {
        done(move || servers::one(&self.0, name)).boxed()
    }

    fn servers(&self, filter: ServerFilter) -> Answer<'_, Vec<ServerRecord>> {
        async move { done(|| servers::list(&self.0, &filter)).await }.boxed()
    }

    fn update_server<'s>(&'s self, name: &'s ServerName, change: ServerChange, now: Moment) -> Answer<'s, Option<ServerRecord>> {
        async move { done(|| servers::update(&self.0, name, &change, now)).await }.boxed()
    }

    fn note_server<'s>(&'s self, name: &'s ServerName, revision: u64, found: Found, now: Moment) -> Answer<'s, Option<ServerRecord>> {
        async move { done(|| servers::note(&self.0, name, revision, &found, now)).await }.boxed()
    }

    fn remove_server<'s>(&'s self, name: &'s ServerName) -> Answer<'s, bool> {
        done(move || servers::remove(&self.0, name)).boxed()
    }

    fn server_changes(&self) -> Answer<'_, u64> {
        done(move || servers::changes(&self.0)).boxed()
    }

    fn open_trace(&self, trace: NewTrace) -> Answer<'_, ()> {
        async move { done(|| traces::open(&self.0, &trace)).await }.boxed()
    }

    fn note_trace<'s>(&'s self, trace: &'s TraceId, about: &'s TraceAbout, now: Moment) -> Answer<'s, Noted> {
        done(move || traces::about(&self.0, trace, about, now)).boxed()
    }

    fn note_trace_server<'s>(&'s self, trace: &'s TraceId, name: &'s SmolStr, server: &'s Value, now: Moment) -> Answer<'s, Noted> {
        done(move || traces::server(&self.0, trace, name, server, now)).boxed()
    }

    fn append_calls<'s>(&'s self, trace: &'s TraceId, calls: &'s [TraceCall]) -> Answer<'s, Noted> {
        done(move || traces::append(&self.0, trace, calls)).boxed()
    }

    fn end_trace<'s>(&'s self, trace: &'s TraceId, output: Option<&'s Value>, now: Moment) -> Answer<'s, Noted> {
        done(move || traces::end(&self.0, trace, output, now)).boxed()
    }

    fn trace<'s>(&'s self, trace: &'s TraceId) -> Answer<'s, Option<TraceRecord>> {
        done(move || traces::one(&self.0, trace)).boxed()
    }

    fn traces(&self, filter: TraceFilter) -> Answer<'_, Vec<TraceRecord>> {
        async move { done(|| traces::list(&self.0, &filter)).await }.boxed()
    }

    fn trace_document<'s>(&'s self, trace: &'s TraceId) -> Answer<'s, Option<Value>> {
        done(move || traces::document(&self.0, trace)).boxed()
    }

    fn delete_trace<'s>(&'s self, trace: &'s TraceId) -> Answer<'s, bool> {
        done(move || traces::delete(&self.0, trace)).boxed()
    }

    fn prune_traces(&self, before: Moment) -> Answer<'_, u64> {
        async move { traces::prune(&self.0, before).await }.boxed()
    }
}
