//! Runs from a store, driven: taken up where their journals end, and brought to their next rest.
//!
//! A driver is one process's worker: it has a name, renews the leases of the runs that it has, and hears of wishes to cancel them.

mod active;
mod asked;

pub use asked::{Asked, Checked, Connected};

use crate::adapter::McpAdapter;
use crate::alive;
use crate::clock::{Moment, unique_name};
use crate::definition::Bundle;
use crate::durable::{Interrupted, Stop};
use crate::engine::Rest;
use crate::environment::Environment;
use crate::journal::{Journal, Kept};
use crate::native::NativeWorkflow;
use crate::observe::Observer;
use crate::perform::RunName;
use crate::preflight;
use crate::problem::Problem;
use crate::run::{Given, Prepared, Request, Run, prepare};
use crate::store::{Claim, Commit, NewRun, RunId, RunRecord, RunRest, ServerName, Store, StoreError, WorkerId};
use crate::upstream::failure;
use ltc_workflow::Workflow;
use ltc_workflow::document::Transport;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a lease holds; it is renewed three times in that time.
pub const LEASE: Duration = Duration::from_secs(15);

/// A run that could not go on here is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Brings runs to their next rest.
pub struct Driver {
    store: Arc<dyn Store>,
    worker: WorkerId,
    adapter: Arc<dyn McpAdapter>,
    servers: BTreeMap<SmolStr, Transport>,
    environment: Arc<dyn Environment>,
    /// Workflows that are Rust: each does the runs of its document.
    native: Vec<(Workflow, NativeWorkflow)>,
    /// The runs that this process has, and the way to stop them.
    active: Mutex<BTreeMap<RunId, watch::Sender<Option<Stop>>>>,
    /// The process ends: what is begun from now on stops before its first step.
    is_ending: AtomicBool,
    /// Changes whenever this process has left a run.
    has_left: watch::Sender<()>,
    /// When it was last looked for processes that are gone.
    looked_at: Mutex<Option<Instant>>,
}

/// A document without its comments, which say nothing about what it does.
fn plain(workflow: &Workflow) -> Workflow {
    Workflow { header: Vec::new(), ..workflow.clone() }
}

/// How a run was left.
#[derive(Debug)]
pub enum Left {
    /// It is recorded that it came to this rest.
    Rested(Rest),
    /// It cannot go on here: what is missing. It failed where it had not begun, else it is looked at again later.
    Refused(Vec<Problem>),
    /// What happened could not be recorded any more.
    Lost(StoreError),
}

impl Driver {
    /// A driver over `store`; `servers` complete or overrule those of workflows.
    pub fn new(
        store: Arc<dyn Store>,
        adapter: Arc<dyn McpAdapter>,
        servers: BTreeMap<SmolStr, Transport>,
        environment: Arc<dyn Environment>,
    ) -> Driver {
        let worker = alive::this_worker();
        let (active, is_ending, has_left) = (Mutex::default(), AtomicBool::new(false), watch::channel(()).0);
        let (native, looked_at) = (Vec::new(), Mutex::default());
        Driver { store, worker, adapter, servers, environment, native, active, is_ending, has_left, looked_at }
    }

    /// With workflows that are Rust. Runs of their documents are theirs from now on, whoever began them.
    ///
    /// # Errors
    /// The document that is none.
    pub fn with_native(mut self, workflows: impl IntoIterator<Item = NativeWorkflow>) -> Result<Driver, String> {
        for native in workflows {
            self.native.push((plain(&native.read()?), native));
        }
        Ok(self)
    }

    /// The Rust that does what this document says.
    fn native(&self, workflow: &Workflow) -> Option<&NativeWorkflow> {
        if self.native.is_empty() {
            return None;
        }
        let workflow = plain(workflow);
        self.native.iter().find(|(document, _)| *document == workflow).map(|(_, native)| native)
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The way to servers.
    pub fn adapter(&self) -> &Arc<dyn McpAdapter> {
        &self.adapter
    }

    /// Where variables and secrets come from.
    pub fn environment(&self) -> &Arc<dyn Environment> {
        &self.environment
    }

    /// Checks a run that is asked for, without touching a server; the store is only asked which servers are registered.
    ///
    /// # Errors
    /// All that is wrong.
    pub async fn check(&self, asked: Asked<'_>) -> Result<Checked, Vec<Problem>> {
        let Asked { bundle, input, id, limit } = asked;
        let id = id.unwrap_or_else(|| RunId(unique_name().into()));
        let created_at = Moment::now();
        let name = RunName { id: id.0.clone(), started_at: created_at.to_string().into() };
        let registry = self.registered(bundle).await.map_err(|error| vec![Problem::new("no-registry", "store", error.to_string())])?;
        let prepared = self.prepared(bundle, Given::Plain(input), &registry, name)?;
        let new = NewRun {
            id,
            workflow: bundle.workflow.name.clone(),
            definition: bundle.definition(),
            input: prepared.sealed_input(),
            created_at,
            deadline: limit.map(|limit| created_at.after(limit)),
            lease: None,
        };
        Ok(Checked { prepared, new })
    }

    /// The registered servers of which neither the workflow nor what this process was given says how they are reached. They are read each time a run is
    /// taken up.
    pub(crate) async fn registered(&self, bundle: &Bundle) -> Result<BTreeMap<SmolStr, Transport>, StoreError> {
        let mut found = BTreeMap::new();
        for workflow in [&bundle.workflow].into_iter().chain(bundle.library.values()) {
            let is_described = |name: &SmolStr| workflow.servers.iter().any(|(own, server)| own == name && server.transport.is_some());
            for name in preflight::calls(workflow).into_keys() {
                if self.servers.contains_key(&name) || is_described(&name) || found.contains_key(&name) {
                    continue;
                }
                if let Some(record) = self.store.server(&ServerName(name.clone())).await? {
                    found.insert(name, record.entry.transport);
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn prepared(
        &self,
        bundle: &Bundle,
        input: Given<'_>,
        registry: &BTreeMap<SmolStr, Transport>,
        run: RunName,
    ) -> Result<Prepared, Vec<Problem>> {
        prepare(Request {
            workflow: bundle.workflow.clone(),
            library: bundle.library.clone(),
            input,
            servers: &self.servers,
            registry,
            environment: self.environment.as_ref(),
            run,
        })
    }

    /// Takes up a run of which this process has the lease, and brings it to its next rest.
    ///
    /// The lease is the process's, and another task of it may have the run: it was late to renew, or is just letting go. Two would do each step twice;
    /// the second waits for the first, and asks for the run once more.
    pub async fn take_up(&self, record: RunRecord, observer: Arc<dyn Observer>) -> Left {
        let mut record = record;
        let mut has_left = self.has_left.subscribe();
        loop {
            if let Some(active) = self.begin(&record) {
                return self.taken_up(&record, observer, active.stop.clone()).await;
            }
            // The sender lives as long as the driver.
            let _ = has_left.changed().await;
            record = match self.store.claim_run(&record.id, self.lease(), Moment::now()).await {
                Ok(Claim::Claimed(record)) => *record,
                Ok(Claim::Held(_) | Claim::Ended(_) | Claim::NoSuchRun) => return Left::Lost(StoreError::LeaseLost),
                Err(error) => return Left::Lost(error),
            };
        }
    }

    /// As [`Driver::take_up`], for a run that was just made and whose servers are there already.
    pub async fn go(&self, record: &RunRecord, run: &Run, observer: Arc<dyn Observer>) -> Left {
        match self.begin(record) {
            Some(active) => self.gone(record, run, observer, active.stop.clone()).await,
            None => Left::Lost(StoreError::LeaseLost),
        }
    }

    async fn taken_up(&self, record: &RunRecord, observer: Arc<dyn Observer>, stop: watch::Receiver<Option<Stop>>) -> Left {
        if let Some(rest) = over(record) {
            return self.ended_without_steps(record, rest).await;
        }
        let connected = match self.reopened(record).await {
            Ok(Ok(prepared)) => prepared.connect(self.adapter.clone()).await,
            Ok(Err(problems)) => Err(problems),
            Err(error) => return Left::Lost(error),
        };
        match connected {
            Ok((run, _drifted)) => self.gone(record, &run, observer, stop).await,
            Err(problems) => self.refused(record, problems).await,
        }
    }

    /// A run from the store, checked again: the environment may not be the one that it began in.
    async fn reopened(&self, record: &RunRecord) -> Result<Result<Prepared, Vec<Problem>>, StoreError> {
        let definition = self.store.definition(&record.definition).await?;
        let definition = definition.ok_or_else(|| StoreError::Broken(format!("the definition of run {} is not there", record.id.0)))?;
        let bundle = match Bundle::read(&definition) {
            Ok(bundle) => bundle,
            Err(problem) => return Ok(Err(vec![problem])),
        };
        let name = RunName { id: record.id.0.clone(), started_at: record.created_at.to_string().into() };
        let registry = self.registered(&bundle).await?;
        Ok(self.prepared(&bundle, Given::Sealed(&record.input), &registry, name))
    }

    async fn gone(&self, record: &RunRecord, run: &Run, observer: Arc<dyn Observer>, stop: watch::Receiver<Option<Stop>>) -> Left {
        let events = if record.events == 0 { Ok(Vec::new()) } else { self.store.events(&record.id).await };
        let events = match events {
            Ok(events) => events,
            Err(error) => return Left::Lost(error),
        };
        let solutions = match self.solutions(record, run, &events).await {
            Ok(solutions) => solutions,
            Err(error) => return Left::Lost(error),
        };
        let kept = |redactor| self.place(record, redactor);
        let journal = match solutions {
            None => Journal::kept(kept(run.redactor()), events, run.world(), observer.clone(), stop),
            Some((solver, redactor)) => {
                Journal::kept(kept(redactor), events, run.world(), observer.clone(), stop).with_solver(Arc::new(solver))
            }
        };
        let journal = journal.of(run.workflow(), run.input());
        let going = async {
            let rest = match self.native(run.workflow()) {
                Some(native) => run.go_native(native, &journal, observer.as_ref()).await,
                None => run.go(&journal, observer.as_ref()).await,
            };
            match rest {
                Rest::Failed(failure) => journal.salvaged(failure).await,
                rest => rest,
            }
        };
        let rest = match record.deadline {
            None => going.await,
            Some(deadline) => {
                let mut going = Box::pin(going);
                match tokio::time::timeout(Moment::now().until(deadline), &mut going).await {
                    Ok(rest) => rest,
                    Err(_) => {
                        self.stop(&record.id, Stop::Deadline);
                        going.await
                    }
                }
            }
        };
        let recorded = match &rest {
            Rest::Done(output) => RunRest::Done(output.clone()),
            Rest::Failed(failure) => RunRest::Failed(failure.clone()),
            Rest::Waiting { wake_at, steps: _ } => RunRest::Waiting { wake_at: *wake_at },
            Rest::Interrupted(Interrupted::Stopped(Stop::Cancel)) => RunRest::Cancelled,
            Rest::Interrupted(Interrupted::Stopped(Stop::Deadline)) => RunRest::Failed(too_late(record)),
            Rest::Interrupted(Interrupted::Stopped(Stop::Shutdown)) => RunRest::Queued,
            Rest::Interrupted(Interrupted::Store(error)) => return Left::Lost(error.clone()),
        };
        match journal.rest(recorded).await {
            Ok(()) => Left::Rested(rest),
            Err(Interrupted::Store(error)) => Left::Lost(error),
            Err(interrupted @ Interrupted::Stopped(_)) => Left::Rested(Rest::Interrupted(interrupted)),
        }
    }

    fn place(&self, record: &RunRecord, redactor: crate::secrets::Redactor) -> Kept {
        Kept::new(self.store.clone(), record.id.clone(), self.worker.clone(), redactor)
    }

    async fn ended_without_steps(&self, record: &RunRecord, rest: RunRest) -> Left {
        let interrupted = if rest == RunRest::Cancelled { Stop::Cancel } else { Stop::Deadline };
        match self.commit_rest(record, rest).await {
            Ok(()) => Left::Rested(Rest::Interrupted(Interrupted::Stopped(interrupted))),
            Err(error) => Left::Lost(error),
        }
    }

    async fn refused(&self, record: &RunRecord, problems: Vec<Problem>) -> Left {
        let rest = match problems.first() {
            Some(first) if record.events == 0 => {
                let said: Vec<String> = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect();
                RunRest::Failed(failure(first.code, said.join("; ")))
            }
            _ => RunRest::Waiting { wake_at: Some(Moment::now().after(LOOK_AGAIN)) },
        };
        match self.commit_rest(record, rest).await {
            Ok(()) => Left::Refused(problems),
            Err(error) => Left::Lost(error),
        }
    }

    async fn commit_rest(&self, record: &RunRecord, rest: RunRest) -> Result<(), StoreError> {
        let commit = Commit { rest: Some(rest), ..Commit::default() };
        self.store.commit(&record.id, &self.worker, record.events, &commit, Moment::now()).await.map(|_| ())
    }
}

/// Whether a run is over before its next step.
fn over(record: &RunRecord) -> Option<RunRest> {
    if record.is_cancel_requested {
        return Some(RunRest::Cancelled);
    }
    record.deadline.filter(|deadline| *deadline <= Moment::now()).map(|_| RunRest::Failed(too_late(record)))
}

fn too_late(record: &RunRecord) -> ltc_workflow::advance::Failure {
    let deadline = record.deadline.map(|deadline| deadline.to_string()).unwrap_or_default();
    failure("deadline", format!("the run did not end by {deadline}"))
}
