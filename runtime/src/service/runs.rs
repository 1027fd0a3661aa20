//! Runs: begun, asked for, cancelled, gone on with.

use super::refusal::Code;
use super::run_views::{CancelRun, EventView, GetRun, InvokeWorkflow, ListRuns, PruneRuns, Pruned, ResumeRun, RunList, RunStatus, RunView};
use super::{Caller, Refusal, Service, pages};
use crate::clock::Moment;
use crate::definition::Bundle;
use crate::drive::{Asked, Connected, Left};
use crate::durable::{Interrupted, Stop};
use crate::engine::Rest;
use crate::observe::Observer;
use crate::problem::Problem;
use crate::store::{Claim, Created, EscalationFilter, EscalationStatus, NewRun, RunFilter, RunId, RunRecord, Status, VersionState};
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::sync::Arc;
use std::time::Duration;

const PAGE: u32 = 50;

/// How often a run of another process is looked at by who waits for it.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A run that was begun.
pub struct Begun {
    /// Its name.
    pub id: RunId,
    /// The end of what this process does for it.
    going: tokio::task::JoinHandle<Left>,
}

impl Service {
    /// Begins a run here, whose servers are there before anything is kept of it.
    ///
    /// # Errors
    /// `Conflict` where there is a run of that name, or what the store says.
    pub async fn begin(self: &Arc<Self>, connected: Connected, observer: Arc<dyn Observer>) -> Result<Begun, Refusal> {
        let Connected { run, new } = connected;
        let new = NewRun { lease: Some(self.driver.lease()), ..new };
        let record = new.record();
        let id = new.id.clone();
        if let Created::Exists(_) = self.driver.store().create_run(new).await? {
            return Err(Refusal::new(Code::Conflict, format!("there is a run {} already", id.0)));
        }
        Ok(self.going(id, |service| async move { service.driver.go(&record, &run, observer).await }))
    }

    /// Goes on here with a run that nobody has; `None` where it has ended.
    ///
    /// # Errors
    /// `NotFound`, `Conflict` where another worker has it, or what the store says.
    pub async fn go_on(self: &Arc<Self>, id: &RunId, observer: Arc<dyn Observer>) -> Result<Option<Begun>, Refusal> {
        // The lease is the process's: the store would give the run to it a second time.
        if self.driver.has(id) {
            return Err(Refusal::new(Code::Conflict, format!("this process works on the run {} already", id.0)));
        }
        match self.driver.claim(id).await? {
            Claim::Claimed(record) => {
                Ok(Some(self.going(id.clone(), |service| async move { service.driver.take_up(*record, observer).await })))
            }
            Claim::Ended(_) => Ok(None),
            Claim::Held(_) => Err(Refusal::new(Code::Conflict, format!("another process works on the run {}", id.0))),
            Claim::NoSuchRun => Err(Refusal::not_found("run", &id.0)),
        }
    }

    /// A task of its own, so that a run does not end with whoever waits for it.
    fn going<F>(self: &Arc<Self>, id: RunId, go: impl FnOnce(Arc<Service>) -> F) -> Begun
    where
        F: Future<Output = Left> + Send + 'static,
    {
        let (service, left) = (self.clone(), go(self.clone()));
        let going = tokio::spawn(async move {
            let left = left.await;
            service.has_changed();
            left
        });
        Begun { id, going }
    }

    /// A run as it stands now, with what it waits for.
    ///
    /// # Errors
    /// `NotFound`, or what the store says.
    pub async fn view(&self, id: &RunId) -> Result<RunView, Refusal> {
        let record = self.driver.store().run(id).await?;
        let record = record.ok_or_else(|| Refusal::not_found("run", &id.0))?;
        let may_ask = matches!(record.status, Status::Queued | Status::Running | Status::Waiting);
        let mut view = RunView::of(record);
        if may_ask {
            let filter = EscalationFilter { role: None, status: None, run: Some(id.clone()), now: Moment::now(), limit: pages::LARGEST };
            let asked = self.driver.store().escalations(filter).await?.into_iter();
            let open = asked.filter(|asked| matches!(asked.status, EscalationStatus::Pending | EscalationStatus::Claimed));
            view.escalations = open.map(|asked| asked.id.0.into()).collect();
        }
        Ok(view)
    }

    /// Waits until a run has ended, or waits for a person.
    ///
    /// # Errors
    /// As [`Service::view`].
    pub async fn until_rest(&self, id: &RunId) -> Result<RunView, Refusal> {
        let mut changed = self.changed.subscribe();
        loop {
            let view = self.view(id).await?;
            let is_at_rest = match view.status {
                RunStatus::Queued | RunStatus::Running => false,
                RunStatus::Waiting => !view.escalations.is_empty(),
                RunStatus::Done | RunStatus::Failed | RunStatus::Cancelled => true,
            };
            if is_at_rest {
                return Ok(view);
            }
            // Whatever resolves first, the run is looked at again.
            let _ = tokio::time::timeout(LOOK_EVERY, changed.changed()).await;
        }
    }
}

impl Begun {
    /// Cuts the run off where it is. Calls that are under way may have been made or not; the journal says which are in doubt.
    pub async fn cut_off(mut self, service: &Service) -> Result<(), Refusal> {
        self.going.abort();
        // It ends when it is next polled, and its end says no more than that.
        let _ = (&mut self.going).await;
        Ok(service.driver.release(&self.id).await?)
    }

    /// How this process left the run.
    pub async fn left(&mut self) -> Left {
        match (&mut self.going).await {
            Ok(left) => left,
            // A panic in a task of ours: the run keeps its journal, and its lease runs out.
            Err(error) => Left::Lost(crate::store::StoreError::Broken(error.to_string())),
        }
    }
}

pub(super) async fn invoke(service: Arc<Service>, asked: InvokeWorkflow, caller: Caller) -> Result<RunView, Refusal> {
    let (record, bundle) = service.workflow(&asked.workflow_name, asked.version).await?;
    if matches!(record.state, VersionState::Draft | VersionState::Archived) {
        return Err(Refusal::new(Code::Conflict, format!("version {} of the workflow {} is not deployed", record.version, record.name)));
    }
    let id = asked.run_id.map(|id| RunId(id.into()));
    if let Some(id) = &id
        && let Some(known) = service.driver.store().run(id).await?
    {
        return joined(&service, known, &bundle, asked.is_async).await;
    }
    let input = asked.input.map_or_else(|| Value::Object(ltc_workflow::Object::default()), |input| input.0);
    let limit = asked.deadline_seconds.map(Duration::from_secs);
    let checked = service
        .driver
        .check(Asked { bundle: &bundle, input: &input, id, limit })
        .await
        .map_err(|problems| Refusal::because(refused_for(&problems), problems))?;
    if asked.is_async {
        let new = checked.new_run(None);
        let id = new.id.clone();
        service.driver.store().create_run(new).await?;
        service.due.notify_one();
        return service.view(&id).await;
    }
    let (connected, _drifted) = checked.connect(&service.driver).await.map_err(|problems| Refusal::because(Code::Missing, problems))?;
    let mut begun = service.begin(connected, caller.observer).await?;
    let id = begun.id.clone();
    match begun.left().await {
        // It was recorded in this process: what is shown is what is kept.
        Left::Rested(Rest::Done(_) | Rest::Failed(_)) => service.view(&id).await,
        Left::Rested(Rest::Waiting { .. } | Rest::Interrupted(_)) | Left::Refused(_) => service.until_rest(&id).await,
        Left::Lost(error) => Err(error.into()),
    }
}

/// What is missing here is no fault of the caller's.
fn refused_for(problems: &[Problem]) -> Code {
    const OURS: [&str; 6] = ["missing-secret", "missing-variable", "no-such-server", "bad-servers", "no-such-workflow", "no-registry"];
    if problems.iter().any(|problem| OURS.contains(&problem.code)) { Code::Missing } else { Code::Invalid }
}

/// The run that was asked for before under the same name.
async fn joined(service: &Arc<Service>, known: RunRecord, bundle: &Bundle, is_async: bool) -> Result<RunView, Refusal> {
    if known.definition != bundle.definition().id {
        return Err(Refusal::new(Code::Conflict, format!("the run {} is of another workflow, or of another version of it", known.id.0)));
    }
    if is_async { service.view(&known.id).await } else { service.until_rest(&known.id).await }
}

pub(super) async fn get(service: Arc<Service>, asked: GetRun, _: Caller) -> Result<RunView, Refusal> {
    let id = RunId(asked.run_id.into());
    let mut view = service.view(&id).await?;
    if asked.events {
        let events = service.driver.store().events(&id).await?;
        view.events = Some(events.into_iter().map(EventView::from).collect());
    }
    Ok(view)
}

pub(super) async fn list(service: Arc<Service>, asked: ListRuns, _: Caller) -> Result<RunList, Refusal> {
    let limit = pages::limit(asked.limit, PAGE);
    let after = asked.after.as_deref().map(pages::read_cursor).transpose()?;
    let filter = RunFilter {
        status: asked.status.map(Status::from),
        workflow: asked.workflow_name.map(SmolStr::from),
        after: after.map(|(at, id)| (at, RunId(id.into()))),
        limit: limit + 1,
    };
    let mut records = service.driver.store().runs(filter).await?;
    let is_more = pages::cut(&mut records, limit);
    let next = records.last().filter(|_| is_more).map(|last| pages::cursor(last.created_at, &last.id.0));
    Ok(RunList { runs: records.into_iter().map(RunView::of).collect(), next })
}

pub(super) async fn cancel(service: Arc<Service>, asked: CancelRun, _: Caller) -> Result<RunView, Refusal> {
    let id = RunId(asked.run_id.into());
    let Some(_) = service.driver.store().cancel_run(&id, Moment::now()).await? else {
        return Err(Refusal::not_found("run", &id.0));
    };
    // Where this process has the run, it need not wait for its next look.
    service.driver.stop(&id, Stop::Cancel);
    service.has_changed();
    service.view(&id).await
}

pub(super) async fn resume(service: Arc<Service>, asked: ResumeRun, caller: Caller) -> Result<RunView, Refusal> {
    let id = RunId(asked.run_id.into());
    match service.go_on(&id, caller.observer).await? {
        None => service.view(&id).await,
        Some(mut begun) => match begun.left().await {
            Left::Rested(Rest::Interrupted(Interrupted::Store(error))) | Left::Lost(error) => Err(error.into()),
            Left::Refused(problems) => Err(Refusal::because(Code::Missing, problems)),
            Left::Rested(_) => service.view(&id).await,
        },
    }
}

pub(super) async fn prune(service: Arc<Service>, asked: PruneRuns, _: Caller) -> Result<Pruned, Refusal> {
    let before = Moment::now().before(Duration::from_secs(asked.older_than_seconds));
    Ok(Pruned { runs: service.driver.store().prune(before).await? })
}
