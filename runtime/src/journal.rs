//! The journal of one run: what happened is noted, written down together with what comes next, and never done again.
//!
//! What is written when: the start of a call that neither reads nor is idempotent, before the call, in one commit with all ends noted since the last
//! one; an end, at the latest with the next start, timer, question or rest of the run, and at once where nothing of that kind follows. A call that
//! reads has no start: it goes on while the ends before it are written. An idempotent one has none either, but those ends are written before it: done again,
//! it has to have the same arguments.
//!
//! A start without an end that is found when a run is taken up again is in doubt: nobody knows whether the call was made. A person is asked.

mod doubt;
mod kept;
mod nested;
mod state;
mod tried;

pub use doubt::{KIND as IN_DOUBT, Verdict, verdict};
pub use kept::Kept;
pub use tried::{CHOSEN, Offer, Solver};

use crate::clock::Moment;
use crate::durable::{Durable, Interrupted, Performed, Stop};
use crate::engine::{self, Rest};
use crate::input;
use crate::observe::{self, Observer};
use crate::pool;
use crate::store::{EscalationId, Event, NewEscalation, Question, RunRest, What};
use crate::upstream::{Hearing, failure};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey};
use ltc_workflow::document::{self, ToolEffect};
use ltc_workflow::{Object, Value, Workflow};
use nested::Nested;
use smol_str::{SmolStr, format_smolstr};
use state::State;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Timers shorter than this are waited for; longer ones let go of the run.
const LONGEST_NAP: Duration = Duration::from_secs(2);

/// How deep workflows may run workflows.
pub const DEEPEST_RUN: usize = 16;

/// What a run acts on.
pub trait World: Send + Sync {
    /// Calls a tool for the step `key`.
    fn call<'w>(&'w self, key: &'w StepKey, call: Call<'w>) -> BoxFuture<'w, Result<Value, Failure>>;

    /// What a tool does to its world.
    fn effect(&self, server: &str, tool: &str) -> ToolEffect;

    /// Another workflow, by its name.
    fn workflow(&self, name: &str) -> Option<&Workflow>;

    /// The start of `workflow` within this run.
    fn start(&self, workflow: &Workflow, input: Object) -> Start;
}

/// A tool call that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// The server's name.
    pub server: &'c SmolStr,
    /// The tool's name.
    pub tool: &'c SmolStr,
    /// The arguments.
    pub arguments: &'c Object,
    /// After how long it fails with `timeout`.
    pub timeout: Option<document::Duration>,
    /// Who hears how far it has come.
    pub hearing: Option<&'c Hearing>,
}

/// The journal of one run, and the way from its effects to the world.
pub struct Journal {
    scope: Scope,
    /// What is tried before a person is asked.
    solver: Option<Arc<dyn Solver>>,
    observer: Arc<dyn Observer>,
    stop: watch::Receiver<Option<Stop>>,
    state: Mutex<State>,
    /// How the keys begin of what comes to rest: of all, or of workflows within the run.
    winding_down: watch::Sender<Vec<SmolStr>>,
    kept: Option<Kept>,
}

/// Where a step is done: the workflow that it is of, and what that acts on.
#[derive(Clone)]
struct Scope {
    world: Arc<dyn World>,
    workflow: SmolStr,
    input: Object,
}

impl Scope {
    /// That of a run of which nobody needs to know the workflow.
    fn bare(world: Arc<dyn World>) -> Scope {
        Scope { world, workflow: SmolStr::default(), input: Object::default() }
    }
}

impl Journal {
    /// A journal that lives as long as the run.
    pub fn in_memory(world: Arc<dyn World>, observer: Arc<dyn Observer>, stop: watch::Receiver<Option<Stop>>) -> Journal {
        let (scope, winding_down) = (Scope::bare(world), watch::channel(Vec::new()).0);
        Journal { scope, solver: None, observer, stop, state: Mutex::default(), winding_down, kept: None }
    }

    /// A journal that is kept, with what it says so far.
    pub fn kept(
        kept: Kept,
        events: Vec<Event>,
        world: Arc<dyn World>,
        observer: Arc<dyn Observer>,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Journal {
        let state = State::of(events.into_iter().map(|event| kept.unsealed(event)));
        let (scope, winding_down) = (Scope::bare(world), watch::channel(Vec::new()).0);
        Journal { scope, solver: None, observer, stop, state: Mutex::new(state), winding_down, kept: Some(kept) }
    }

    /// The run is one of `workflow` with this input: whoever is asked is told so.
    #[must_use]
    pub fn of(mut self, workflow: &Workflow, input: &Object) -> Journal {
        self.scope = Scope { workflow: workflow.name.clone(), input: input.clone(), ..self.scope };
        self
    }

    /// With what is tried before a person is asked.
    #[must_use]
    pub fn with_solver(mut self, solver: Arc<dyn Solver>) -> Journal {
        self.solver = Some(solver);
        self
    }

    /// Writes down how the run came to rest, with all that is not written yet.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn rest(&self, rest: RunRest) -> Result<(), Interrupted> {
        let triage = match &rest {
            RunRest::Failed(failure) => self.failed(failure).await?,
            RunRest::Done(_) | RunRest::Waiting { .. } | RunRest::Queued | RunRest::Cancelled => None,
        };
        let cancelled = matches!(rest, RunRest::Cancelled);
        {
            let mut state = self.state();
            if cancelled {
                state.note(StepKey(SmolStr::default()), What::Cancelled);
            }
            state.rest = Some(rest);
            triage.into_iter().for_each(|question| state.ask(question));
        }
        self.flush().await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn flush(&self) -> Result<(), Interrupted> {
        match &self.kept {
            Some(kept) => kept.write(&self.state, &self.stop).await,
            None => {
                self.state().forget_unwritten();
                Ok(())
            }
        }
    }

    /// Whether nothing is to be begun any more under `key`.
    fn stopped(&self, key: &StepKey) -> Result<(), Interrupted> {
        let is_winding_down = self.winding_down.borrow().iter().any(|prefix| key.0.starts_with(prefix.as_str()));
        // Nobody looks at why a workflow is stopped whose run has come to rest already.
        let stop = self.stop.borrow().or(is_winding_down.then_some(Stop::Cancel));
        stop.map_or(Ok(()), |stop| Err(Interrupted::Stopped(stop)))
    }

    /// Resolves when `key` is not to be gone on with, and never where nobody asks for that.
    async fn asked_to_stop(&self, key: &StepKey) -> Interrupted {
        let (mut stop, mut winding_down) = (self.stop.clone(), self.winding_down.subscribe());
        loop {
            if let Err(stopped) = self.stopped(key) {
                return stopped;
            }
            let changed = async {
                if stop.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            // The sender of the second lives as long as the journal.
            select(Box::pin(changed), Box::pin(winding_down.changed())).await;
        }
    }

    fn ended(&self, key: &StepKey, ended: Ended) -> Performed {
        let ended = match ended {
            Ended::Failed(failure) => Ended::Failed(Failure { step: Some(key.clone()), ..failure }),
            Ended::Succeeded(value) => Ended::Succeeded(value),
        };
        self.state().end(key, ended.clone());
        Performed::Ended(ended)
    }

    async fn call(&self, scope: &Scope, key: &StepKey, call: Call<'_>) -> Result<Performed, Interrupted> {
        self.stopped(key)?;
        let world = scope.world.as_ref();
        match world.effect(call.server, call.tool) {
            // What is not written yet is being written: whoever drives the run settles meanwhile.
            ToolEffect::Read => {}
            ToolEffect::Idempotent => self.flush().await?,
            ToolEffect::Write => {
                let (is_in_doubt, is_asked) = {
                    let state = self.state();
                    (state.in_doubt.contains(key), state.asked.contains_key(key))
                };
                if is_asked {
                    return Ok(Performed::Waiting { wake_at: None });
                }
                if is_in_doubt {
                    let question = self.with_run(scope, doubt::question(key, call)).await?;
                    self.ask(key, question, None).await?;
                    return Ok(Performed::Waiting { wake_at: None });
                }
                self.state().note(key.clone(), What::Started);
                self.flush().await?;
            }
        }
        match select(world.call(key, call), std::pin::pin!(self.cancelled())).await {
            Either::Left((result, _)) => Ok(self.ended(key, result.map_or_else(Ended::Failed, Ended::Succeeded))),
            // Nobody waits for a call of a run that is not wanted any more: dropping it tells the server. Whether it was made stays in doubt.
            Either::Right(_) => Err(Interrupted::Stopped(Stop::Cancel)),
        }
    }

    /// Resolves when somebody asked for the end of the run.
    async fn cancelled(&self) {
        let mut stop = self.stop.clone();
        let is_cancelled = |stop: &Option<Stop>| *stop == Some(Stop::Cancel);
        if stop.wait_for(is_cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    async fn sleep(&self, key: &StepKey, duration: Duration) -> Result<Performed, Interrupted> {
        self.stopped(key)?;
        let known = self.state().timers.get(key).copied();
        let until = known.unwrap_or_else(|| self.state().set_timer(key, Moment::now().after(duration)));
        self.flush().await?;
        let left = Moment::now().until(until);
        if self.kept.is_some() && left > LONGEST_NAP {
            return Ok(Performed::Waiting { wake_at: Some(until) });
        }
        match select(Box::pin(tokio::time::sleep(left)), Box::pin(self.asked_to_stop(key))).await {
            Either::Left(_) => Ok(self.ended(key, Ended::Succeeded(Value::Null))),
            Either::Right((stopped, _)) => Err(stopped),
        }
    }

    async fn escalate(&self, key: &StepKey, question: Question, timeout: Option<document::Duration>) -> Result<Performed, Interrupted> {
        self.stopped(key)?;
        let asked = self.state().asked.get(key).cloned();
        let timeout = timeout.map(|limit| Duration::from_millis(limit.millis));
        if let Some((id, at)) = asked {
            let Some(limit) = timeout else { return Ok(Performed::Waiting { wake_at: None }) };
            let deadline = at.after(limit);
            if Moment::now() < deadline {
                return Ok(Performed::Waiting { wake_at: Some(deadline) });
            }
            self.state().closed.push(id);
            return Ok(self.ended(key, Ended::Failed(pool::timed_out(&format!("the question to {}", question.role), limit))));
        }
        let deadline = timeout.map(|limit| Moment::now().after(limit));
        self.ask(key, question, deadline).await?;
        Ok(Performed::Waiting { wake_at: deadline })
    }

    async fn ask(&self, key: &StepKey, question: Question, deadline: Option<Moment>) -> Result<(), Interrupted> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let id = EscalationId(crate::clock::unique_name().into());
        self.state().ask(NewEscalation {
            id,
            asked_by: Some((kept.run.clone(), key.clone())),
            question,
            created_at: Moment::now(),
            deadline,
        });
        self.flush().await
    }

    async fn run(
        &self,
        world: &Arc<dyn World>,
        key: &StepKey,
        name: &SmolStr,
        given: &Object,
        limit: Option<document::Duration>,
    ) -> Result<Performed, Interrupted> {
        let failed = |code, message: String| Ok(self.ended(key, Ended::Failed(failure(code, message))));
        let depth = key.0.bytes().filter(|byte| *byte == NESTED_MARK).count();
        let workflow = match world.workflow(name) {
            Some(workflow) if depth < DEEPEST_RUN => workflow,
            Some(_) => return failed("too-deep", format!("workflows run workflows more than {DEEPEST_RUN} deep")),
            None => return failed("no-such-workflow", format!("there is no workflow {name}")),
        };
        let input = match input::check(workflow, &Value::Object(given.clone())) {
            Ok(input) => input,
            Err(problems) => {
                let said: Vec<String> = problems.iter().map(|problem| format!("{} {}", problem.place, problem.message)).collect();
                return failed("invalid-input", format!("the workflow {name} refuses its input: {}", said.join("; ")));
            }
        };
        let nested = self.nested(key, world.clone(), workflow, &input);
        let start = world.start(workflow, input);
        let inner = engine::run(workflow, &start, &nested, self.observer.as_ref());
        let Some(limit) = limit else { return self.run_ended(key, name, inner.await, None) };
        let limit = Duration::from_millis(limit.millis);
        let timer = StepKey(format_smolstr!("{key}@timeout"));
        let known = self.state().timers.get(&timer).copied();
        let until = known.unwrap_or_else(|| self.state().set_timer(&timer, Moment::now().after(limit)));
        match tokio::time::timeout(Moment::now().until(until), inner).await {
            Ok(rest) => self.run_ended(key, name, rest, Some(until)),
            Err(_) => Ok(self.ended(key, Ended::Failed(pool::timed_out(&format!("the workflow {name}"), limit)))),
        }
    }

    /// The part of the journal that belongs to `workflow`, which the step `key` runs.
    fn nested(&self, key: &StepKey, world: Arc<dyn World>, workflow: &Workflow, input: &Object) -> Nested<'_> {
        let scope = Scope { world, workflow: workflow.name.clone(), input: input.clone() };
        Nested { journal: self, scope, prefix: format_smolstr!("{key}{}", char::from(NESTED_MARK)) }
    }

    fn run_ended(&self, key: &StepKey, name: &str, rest: Rest, until: Option<Moment>) -> Result<Performed, Interrupted> {
        match rest {
            Rest::Done(output) => Ok(self.ended(key, Ended::Succeeded(output))),
            Rest::Failed(inner) => {
                let at = inner.step.map(|step| format!("step {step}: ")).unwrap_or_default();
                let message = format!("in workflow {name}: {at}{}", inner.message);
                Ok(self.ended(key, Ended::Failed(Failure { message, step: None, code: inner.code })))
            }
            Rest::Waiting { wake_at, steps: _ } => Ok(Performed::Waiting { wake_at: wake_at.into_iter().chain(until).min() }),
            Rest::Interrupted(interrupted) => Err(interrupted),
        }
    }

    fn perform_in<'d>(&'d self, scope: &'d Scope, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>> {
        async move {
            if let Some(ended) = self.state().ended.get(key) {
                return Ok(Performed::Ended(ended.clone()));
            }
            match effect {
                Effect::Call { server, tool, arguments, timeout } => {
                    let hearing = observe::hearing(&self.observer, key);
                    let call = Call { server, tool, arguments, timeout: *timeout, hearing: hearing.as_ref() };
                    self.call(scope, key, call).await
                }
                Effect::Sleep(duration) => self.sleep(key, Duration::from_millis(duration.millis)).await,
                Effect::Escalate { role, message, form, data, priority, triage, timeout } => {
                    let question = Question {
                        role: role.clone(),
                        kind: "workflow".into(),
                        subkind: "escalate".into(),
                        priority: *priority,
                        message: message.clone(),
                        data: data.clone(),
                        form: form.clone(),
                    };
                    if *triage { self.tried(scope, key, question, *timeout).await } else { self.escalate(key, question, *timeout).await }
                }
                Effect::Run { workflow, input, timeout } => self.run(&scope.world, key, workflow, input, *timeout).await,
            }
        }
        .boxed()
    }
}

/// Stands between the key of a step that runs a workflow and the keys of that workflow's steps. No step's id has it.
const NESTED_MARK: u8 = b':';

impl Durable for Journal {
    fn recorded(&self) -> BTreeMap<StepKey, Ended> {
        self.state().ended.clone()
    }

    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>> {
        self.perform_in(&self.scope, key, effect)
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), Interrupted>> {
        self.flush().boxed()
    }

    fn wind_down(&self) {
        self.winding_down.send_modify(|prefixes| prefixes.push(SmolStr::default()));
    }
}
