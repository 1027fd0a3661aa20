//! What is tried in a run before a person is asked: looked up when the run is taken up, made ready when it is first needed.

use crate::adapter::McpAdapter;
use crate::definition::{self, Bundle};
use crate::drive::Driver;
use crate::journal::{CHOSEN, Offer, Solver, World};
use crate::perform::RunName;
use crate::preflight;
use crate::problem::Problem;
use crate::run::{Given, Prepared, Run};
use crate::secrets::Redactor;
use crate::store::{Event, RunRecord, ServerFilter, StoreError, VersionFilter, VersionRecord, VersionState, What};
use crate::upstream::failure;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::advance::Failure;
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// How many registered servers a question tells the tools of.
const MOST_SERVERS: u32 = 200;

/// The workflows that may stand in for a person in one run.
pub(crate) struct Solutions {
    offers: BTreeMap<(SmolStr, SmolStr), Offer>,
    known: BTreeMap<Offer, Known>,
    tools: Value,
    asks_of_failures: bool,
    output: Option<Value>,
    adapter: Arc<dyn McpAdapter>,
}

struct Known {
    workflow: Workflow,
    prepared: Mutex<Option<Result<Prepared, Failure>>>,
    world: OnceCell<Result<Arc<dyn World>, Failure>>,
}

impl Solver for Solutions {
    fn offered(&self, workflow: &str, step: &str) -> Option<Offer> {
        self.offers.get(&(workflow.into(), step.into())).cloned()
    }

    fn workflow(&self, offer: &Offer) -> Option<&Workflow> {
        self.known.get(offer).map(|known| &known.workflow)
    }

    fn world<'s>(&'s self, offer: &'s Offer) -> BoxFuture<'s, Result<Arc<dyn World>, Failure>> {
        async move {
            let gone = || failure("no-such-workflow", format!("version {} of the workflow {} is gone", offer.version, offer.name));
            let known = self.known.get(offer).ok_or_else(gone)?;
            let made = known.world.get_or_init(|| async {
                let prepared = known.prepared.lock().unwrap_or_else(PoisonError::into_inner).take();
                let (run, _drifted) = prepared.ok_or_else(gone)??.connect(self.adapter.clone()).await.map_err(|problems| all(&problems))?;
                Ok(run.world())
            });
            made.await.clone()
        }
        .boxed()
    }

    fn tools(&self) -> Value {
        self.tools.clone()
    }

    fn asks_of_failures(&self) -> bool {
        self.asks_of_failures
    }

    fn output(&self) -> Option<Value> {
        self.output.clone()
    }
}

/// All that is wrong, as one failure.
fn all(problems: &[Problem]) -> Failure {
    let said: Vec<String> = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect();
    failure(problems.first().map_or("failed", |problem| problem.code), said.join("; "))
}

impl Driver {
    /// What may be tried in a run, with all secrets of it; `None` where nobody is asked about a step, a failure or a call in doubt of it.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn solutions(
        &self,
        record: &RunRecord,
        run: &Run,
        events: &[Event],
    ) -> Result<Option<(Solutions, Redactor)>, StoreError> {
        let workflows = run.workflows();
        let mut places: BTreeSet<(SmolStr, SmolStr)> = workflows
            .values()
            .flat_map(|workflow| preflight::triaged(workflow).into_iter().map(|step| (workflow.name.clone(), step)))
            .collect();
        let asks_of_failures = run.workflow().triage;
        if asks_of_failures {
            places.insert((run.workflow().name.clone(), SmolStr::default()));
        }
        if places.is_empty() && !is_in_doubt(events) {
            return Ok(None);
        }
        let (mut offers, mut versions) = (BTreeMap::new(), BTreeMap::new());
        for place in places {
            let Some(solution) = self.store().solution(&place.0, &place.1).await? else { continue };
            if let Some(version) = self.usable(&solution.solution).await? {
                let offer = Offer { name: version.name.clone(), version: version.version };
                offers.insert(place, offer.clone());
                versions.insert(offer, version);
            }
        }
        for offer in events.iter().filter_map(chosen) {
            if let Some(version) = self.store().version(&offer.name, Some(offer.version)).await? {
                versions.insert(offer, version);
            }
        }
        let (mut known, mut redactor) = (BTreeMap::new(), run.redactor());
        for (offer, version) in versions {
            let Some(definition) = self.store().definition(&version.definition).await? else { continue };
            let Ok(bundle) = Bundle::read(&definition) else { continue };
            let name = RunName { id: record.id.0.clone(), started_at: record.created_at.to_string().into() };
            let registry = self.registered(&bundle).await?;
            let prepared = self.prepared(&bundle, Given::Later, &registry, name).map_err(|problems| all(&problems));
            if let Ok(prepared) = &prepared {
                redactor = redactor.and(&prepared.redactor());
            }
            known.insert(offer, Known { workflow: bundle.workflow, prepared: Mutex::new(Some(prepared)), world: OnceCell::new() });
        }
        let tools = self.tools(workflows).await?;
        let output = definition::output_schema(run.workflow()).filter(|_| asks_of_failures);
        let solutions = Solutions { offers, known, tools, asks_of_failures, output, adapter: self.adapter().clone() };
        Ok(Some((solutions, redactor)))
    }

    /// The active version of a workflow, else the newest that is deployed.
    async fn usable(&self, name: &SmolStr) -> Result<Option<VersionRecord>, StoreError> {
        if let Some(active) = self.store().version(name, None).await? {
            return Ok(Some(active));
        }
        let filter = VersionFilter { name: Some(name.clone()), state: Some(VersionState::Deployed), after: None, limit: 1 };
        Ok(self.store().versions(filter).await?.pop())
    }

    /// The tools that are there for whoever solves something by hand: those of the workflows, and those of registered servers.
    async fn tools(&self, workflows: &BTreeMap<SmolStr, Workflow>) -> Result<Value, StoreError> {
        let mut tools: BTreeMap<SmolStr, BTreeSet<SmolStr>> = BTreeMap::new();
        for (server, called) in workflows.values().flat_map(preflight::calls) {
            tools.entry(server).or_default().extend(called);
        }
        for record in self.store().servers(ServerFilter { limit: MOST_SERVERS, ..ServerFilter::default() }).await? {
            let listed = record.tools.as_ref().and_then(Value::as_array).unwrap_or_default();
            let names = listed.iter().filter_map(|tool| tool.get("name")?.as_str()).map(SmolStr::new);
            tools.entry(record.entry.name.0).or_default().extend(names);
        }
        let names = |names: BTreeSet<SmolStr>| names.into_iter().map(Value::String).collect::<Value>();
        Ok(tools.into_iter().map(|(server, tools)| (server, names(tools))).collect::<Object>().into())
    }
}

/// Whether a call was begun of which nobody knows how it ended.
fn is_in_doubt(events: &[Event]) -> bool {
    let mut open = BTreeSet::new();
    for event in events {
        match &event.what {
            What::Started => {
                open.insert(&event.key);
            }
            What::Succeeded(_) | What::Failed(_) | What::Again => {
                open.remove(&event.key);
            }
            What::SleepUntil(_) | What::Escalated(_) | What::Cancelled => {}
        }
    }
    !open.is_empty()
}

/// What an event says that was chosen.
fn chosen(event: &Event) -> Option<Offer> {
    match &event.what {
        What::Succeeded(value) if event.key.0.ends_with(CHOSEN) => Offer::read(value),
        What::Succeeded(_) | What::Started | What::Failed(_) | What::SleepUntil(_) | What::Escalated(_) | What::Again | What::Cancelled => {
            None
        }
    }
}
