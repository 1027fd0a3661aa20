//! Where runs, workflows, questions to people, servers and recordings are kept: one trait, and the plain data that goes through it.
//!
//! A store decides nothing about workflows. It keeps rows, numbers the events of a run, and makes each of the trait's functions one atomic
//! step, also between processes. JSON is kept as the text that it is, so that a number keeps its digits; times are milliseconds since 1970.

mod open;
#[cfg(feature = "postgres")]
pub mod postgres;
mod records;
mod servers;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod sql;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod statistics;
mod traces;
mod versions;

pub use open::{default_path, open};
pub use records::{
    Claim, Commit, Created, Definition, DefinitionId, EscalationFilter, EscalationId, EscalationRecord, EscalationStatus, Event, Lease,
    NewEscalation, NewRun, Question, Renewed, Resolution, RunFilter, RunId, RunRecord, RunRest, Settled, Status, What, WorkerId,
};
pub use servers::{Found, ServerChange, ServerEntry, ServerFilter, ServerName, ServerRecord, ServerStatus, Tagged};
pub use statistics::{Asking, Counting, FailedRun, Happened, RoleFigures, RunCount, Statistics, StepEvent, Took, Window, WorkflowFigures};
pub use traces::{NewTrace, Noted, TraceAbout, TraceCall, TraceFilter, TraceId, TraceOutcome, TraceRecord};
pub use versions::{MadeOf, NewVersion, Solution, VersionFilter, VersionRecord, VersionState};

use crate::clock::Moment;
use futures_util::future::BoxFuture;
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::fmt;

/// Why a store did not do something. Nothing of it was done, or (`Unavailable`) nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The run is not ours any more: its lease ran out and another worker took it, or it has ended.
    LeaseLost,
    /// The store cannot be reached, is busy, or its disk is full: trying again may help.
    Unavailable(String),
    /// What is kept cannot be read, or does not fit this version of the program: trying again does not help.
    Broken(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::LeaseLost => f.write_str("another worker has the run now"),
            StoreError::Unavailable(why) => write!(f, "the store cannot be used just now: {why}"),
            StoreError::Broken(why) => write!(f, "the store cannot be read: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}

/// What a store's function gives.
pub type Answer<'s, T> = BoxFuture<'s, Result<T, StoreError>>;

/// Keeps journals: what a run that goes on asks of a store. Each function is one atomic step, as those of [`Store`] are.
pub trait Journals: Send + Sync {
    /// A run.
    fn run<'s>(&'s self, run: &'s RunId) -> Answer<'s, Option<RunRecord>>;

    /// The journal of a run, in its order.
    fn events<'s>(&'s self, run: &'s RunId) -> Answer<'s, Vec<Event>>;

    /// Writes `commit` down for a run that `worker` has; gives the number of events in its journal now.
    ///
    /// `known` is how many events the worker knows. Where others appended more (an answer came), or somebody asked for the run's end, a `rest` of
    /// `Waiting` becomes `Queued`, so that nothing is slept through. A lease that has run out still counts as long as nobody else took the run.
    /// A second end of a step, without an `Again` between the two, is `Broken`, and nothing of the commit is kept. A run that comes to rest has no lease; one that ends closes its open questions, and takes no event any more.
    fn commit<'s>(&'s self, run: &'s RunId, worker: &'s WorkerId, known: u64, commit: &'s Commit, now: Moment) -> Answer<'s, u64>;
}

/// Keeps runs, workflows, questions, servers and recordings. Each function is one atomic step that is on disk when it returns; what is read is what was last written.
pub trait Store: Journals + Statistics {
    /// Makes a run, unless there is one of that name.
    fn create_run(&self, run: NewRun) -> Answer<'_, Created>;

    /// Runs, the newest first.
    fn runs(&self, filter: RunFilter) -> Answer<'_, Vec<RunRecord>>;

    /// A definition.
    fn definition<'s>(&'s self, id: &'s DefinitionId) -> Answer<'s, Option<Definition>>;

    /// Takes up to `limit` runs that somebody may go on with at `now`: queued, waiting with `wake_at` or a deadline in the past, or running under a lease that has
    /// run out; the longest due first. They are running under `lease` then, and no two workers get the same. A run that cannot be read is taken and not given, so that
    /// it holds nobody up; where no other is due, it is `Broken`.
    fn claim_runs(&self, lease: Lease, now: Moment, limit: u32) -> Answer<'_, Vec<RunRecord>>;

    /// Takes one run, also one that waits, unless another worker's lease holds at `now`.
    fn claim_run<'s>(&'s self, run: &'s RunId, lease: Lease, now: Moment) -> Answer<'s, Claim>;

    /// Moves the end of all leases of `lease.worker` to `lease.until`; gives the runs that it still has.
    fn renew(&self, lease: Lease) -> Answer<'_, Vec<Renewed>>;

    /// The runs of a worker of which somebody asked for the end.
    fn unwanted<'s>(&'s self, worker: &'s WorkerId) -> Answer<'s, Vec<RunId>>;

    /// The workers that have runs.
    fn workers(&self) -> Answer<'_, Vec<WorkerId>>;

    /// Ends the leases of a worker that is known to be gone: its runs are due at `now`. Gives how many there are.
    fn end_leases<'s>(&'s self, worker: &'s WorkerId, now: Moment) -> Answer<'s, u64>;

    /// Asks for the end of a run. One that nobody has at `now` is cancelled at once (with the event, its questions closed); one that a worker has learns it with
    /// its next renewal, or where it looks for it before. Gives the run as it stands then; one that has ended stays as it is.
    fn cancel_run<'s>(&'s self, run: &'s RunId, now: Moment) -> Answer<'s, Option<RunRecord>>;

    /// Takes out runs that ended before `before`, with their journals and questions, questions that ended before it and are of no run, and definitions that nothing
    /// needs any more; gives how many runs went.
    /// Each run goes whole; where it is cut off, some are gone and some are not.
    fn prune(&self, before: Moment) -> Answer<'_, u64>;

    /// Opens a question that no run waits for. Opening the very same once more changes nothing; another of that name is `Broken`.
    fn open_escalation(&self, escalation: NewEscalation) -> Answer<'_, ()>;

    /// A question. A claim is given as it was made, also if it has run out since.
    fn escalation<'s>(&'s self, id: &'s EscalationId) -> Answer<'s, Option<EscalationRecord>>;

    /// Questions, the most urgent first, then the oldest.
    fn escalations(&self, filter: EscalationFilter) -> Answer<'_, Vec<EscalationRecord>>;

    /// Claims a question that is pending, or whose claim has run out at `now`, or that `by` has claimed already (the claim is prolonged).
    fn claim_escalation<'s>(&'s self, id: &'s EscalationId, by: &'s SmolStr, until: Moment, now: Moment) -> Answer<'s, Settled>;

    /// Answers a question that is pending, or claimed by the one who answers, or whose claim has run out. The event goes into the run's journal, and a
    /// waiting run is queued, in the same step.
    fn resolve_escalation(&self, resolution: Resolution) -> Answer<'_, Settled>;

    /// Keeps a version, under the number behind the last. Where the newest version of the name has this definition already, that one is given the state
    /// (and what it is made of, where that is said), and no version is made.
    fn put_version(&self, version: NewVersion) -> Answer<'_, VersionRecord>;

    /// A version of a workflow, or the active one; `None` where there is none.
    fn version<'s>(&'s self, name: &'s SmolStr, version: Option<u32>) -> Answer<'s, Option<VersionRecord>>;

    /// Versions, by name, then the newest first.
    fn versions(&self, filter: VersionFilter) -> Answer<'_, Vec<VersionRecord>>;

    /// Gives a version a state; `Active` makes the version that was active `Deployed`. `None` where there is no such version.
    fn set_version_state<'s>(&'s self, name: &'s SmolStr, version: u32, state: VersionState) -> Answer<'s, Option<VersionRecord>>;

    /// Keeps what is tried before a person is asked at a step, in the place of what was tried there before.
    fn put_solution<'s>(&'s self, solution: &'s Solution) -> Answer<'s, ()>;

    /// What is tried before a person is asked at a step of a workflow.
    fn solution<'s>(&'s self, workflow: &'s SmolStr, step: &'s SmolStr) -> Answer<'s, Option<Solution>>;

    /// A number that grows with every change of a version or its state, in whatever process.
    fn registry_changes(&self) -> Answer<'_, u64>;

    /// Keeps a server, `Registered`; `None`, and nothing is changed, where there is one of that name.
    fn add_server(&self, server: ServerEntry, now: Moment) -> Answer<'_, Option<ServerRecord>>;

    /// A server.
    fn server<'s>(&'s self, name: &'s ServerName) -> Answer<'s, Option<ServerRecord>>;

    /// Servers, by name.
    fn servers(&self, filter: ServerFilter) -> Answer<'_, Vec<ServerRecord>>;

    /// Changes what is said of a server; `None` where there is none of that name.
    fn update_server<'s>(&'s self, name: &'s ServerName, change: ServerChange, now: Moment) -> Answer<'s, Option<ServerRecord>>;

    /// Writes down how a server was found that was asked for as `revision` describes it; `None`, and nothing is changed, where it is another by now, or gone.
    fn note_server<'s>(&'s self, name: &'s ServerName, revision: u64, found: Found, now: Moment) -> Answer<'s, Option<ServerRecord>>;

    /// Takes a server out; whether there was one.
    fn remove_server<'s>(&'s self, name: &'s ServerName) -> Answer<'s, bool>;

    /// A number that grows with every change of a server, of how it was found and of its tools, in whatever process.
    fn server_changes(&self) -> Answer<'_, u64>;

    /// Opens a recording. Opening the very same once more changes nothing; another of that name is `Broken`.
    ///
    /// What is written down in a recording outlives the process as soon as the function returns; a power cut may take the last of it.
    fn open_trace(&self, trace: NewTrace) -> Answer<'_, ()>;

    /// Writes down what a recording is of; what `about` leaves out stays as it is.
    fn note_trace<'s>(&'s self, trace: &'s TraceId, about: &'s TraceAbout, now: Moment) -> Answer<'s, Noted>;

    /// Writes down a server of a recording, before the first call to it, or again with what is known of it by now.
    fn note_trace_server<'s>(&'s self, trace: &'s TraceId, name: &'s SmolStr, server: &'s Value, now: Moment) -> Answer<'s, Noted>;

    /// Puts calls that have ended behind those of a recording, all or none. The very same call once more changes nothing; another of that id is `Broken`.
    fn append_calls<'s>(&'s self, trace: &'s TraceId, calls: &'s [TraceCall]) -> Answer<'s, Noted>;

    /// Ends a recording: nothing is written down in it any more.
    fn end_trace<'s>(&'s self, trace: &'s TraceId, output: Option<&'s Value>, now: Moment) -> Answer<'s, Noted>;

    /// A recording, without its calls.
    fn trace<'s>(&'s self, trace: &'s TraceId) -> Answer<'s, Option<TraceRecord>>;

    /// Recordings, the newest first.
    fn traces(&self, filter: TraceFilter) -> Answer<'_, Vec<TraceRecord>>;

    /// A recording as one `ltc.trace/1`, also one that goes on: with the calls that have ended.
    fn trace_document<'s>(&'s self, trace: &'s TraceId) -> Answer<'s, Option<Value>>;

    /// Takes a recording out; whether there was one.
    fn delete_trace<'s>(&'s self, trace: &'s TraceId) -> Answer<'s, bool>;

    /// Takes out recordings in which nothing has happened since `before`, ended or not; gives how many went.
    fn prune_traces(&self, before: Moment) -> Answer<'_, u64>;
}
