//! A question that may be answered by what was learned from earlier answers: a workflow is tried first, and a person is asked where that fails.
//!
//! Under the key of the step, `ask`: `ask@chosen` says which workflow in which version is tried, before anything of it is done; its own steps are `ask:…`, as
//! those of any workflow within another; `ask@solution` is how it failed. A run that is taken up again goes on with what it chose.
//!
//! A run that fails as a whole does the same under the key `@failure`, where its workflow wants that and it has called nothing that writes: what solved it before may do
//! again what the run had done. Where it has, what there is is offered to whoever is asked.

use super::{Interrupted, Journal, Performed, Scope, World, failure};
use crate::clock::Moment;
use crate::engine::{self, Rest};
use crate::input;
use crate::store::{EscalationId, NewEscalation, Question};
use crate::triage::{self, Carried};
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Effect, Ended, Failure, StepKey};
use ltc_workflow::{Object, Value, Workflow, document};
use smol_str::{SmolStr, format_smolstr};
use std::sync::Arc;

/// Which workflows may stand in for a person in a run.
pub trait Solver: Send + Sync {
    /// What is tried at a step of a workflow.
    fn offered(&self, workflow: &str, step: &str) -> Option<Offer>;

    /// The workflow of an offer, also of one that was made before; `None` where it is gone.
    fn workflow(&self, offer: &Offer) -> Option<&Workflow>;

    /// What the workflow of an offer acts on, made ready when it is first needed.
    fn world<'s>(&'s self, offer: &'s Offer) -> BoxFuture<'s, Result<Arc<dyn World>, Failure>>;

    /// The tools that are there for whoever is asked, by server.
    fn tools(&self) -> Value;

    /// Whether a run that fails asks a person.
    fn asks_of_failures(&self) -> bool;

    /// The JSON Schema of what stands in for the output of a run that fails, where one is known.
    fn output(&self) -> Option<Value>;
}

/// A version of a workflow that is tried.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offer {
    /// Its name.
    pub name: SmolStr,
    /// Its version.
    pub version: u32,
}

impl Offer {
    /// As the journal has it.
    pub fn to_json(&self) -> Value {
        let entries = [("workflow", Value::String(self.name.clone())), ("version", Value::from(i64::from(self.version)))];
        entries.into_iter().collect::<Object>().into()
    }

    /// What a journal says that was chosen.
    pub fn read(chosen: &Value) -> Option<Offer> {
        let Value::Number(version) = chosen.get("version")? else { return None };
        Some(Offer { name: chosen.get("workflow")?.as_str()?.into(), version: u32::try_from(version.as_i64()?).ok()? })
    }
}

/// What is behind the key of a step where its choice is written down.
pub const CHOSEN: &str = "@chosen";

/// The key of what is tried where a run fails. No step's id begins like that.
pub(super) const FAILURE: &str = "@failure";

/// What is behind the key of a step where it is written down how what was tried failed.
const SOLUTION: &str = "@solution";

/// What became of a try.
enum Try {
    /// Nothing was tried.
    Nothing,
    /// The step has ended, or waits for what is tried.
    Came(Performed),
    /// It failed, so that a person is asked.
    Failed(Offer, Failure),
}

impl Journal {
    /// Tries what is known, then asks.
    pub(super) async fn tried(
        &self,
        scope: &Scope,
        key: &StepKey,
        question: Question,
        timeout: Option<document::Duration>,
    ) -> Result<Performed, Interrupted> {
        self.stopped(key)?;
        let is_asked = self.state().asked.contains_key(key);
        let Some(solver) = self.solver.as_ref().filter(|_| !is_asked) else { return self.escalate(key, question, timeout).await };
        let input = match &question.data {
            Some(Value::Object(data)) => data.clone(),
            Some(_) | None => scope.input.clone(),
        };
        let step = triage::step_of(key);
        let tried = match self.tries(solver.as_ref(), scope, key, question.form.as_ref(), &input).await? {
            Try::Came(performed) => return Ok(performed),
            Try::Nothing => None,
            Try::Failed(offer, failure) => Some((offer, failure)),
        };
        let carried = Carried { workflow: &scope.workflow, step, input: &input, tools: solver.tools(), tried, offered: None };
        let question = self.carrying(question, carried).await?;
        self.escalate(key, question, timeout).await
    }

    async fn tries(
        &self,
        solver: &dyn Solver,
        scope: &Scope,
        key: &StepKey,
        form: Option<&Value>,
        input: &Object,
    ) -> Result<Try, Interrupted> {
        let (chosen_at, failed_at) = (StepKey(format_smolstr!("{key}{CHOSEN}")), StepKey(format_smolstr!("{key}{SOLUTION}")));
        let (chosen, failed) = {
            let state = self.state();
            (state.ended.get(&chosen_at).cloned(), state.ended.get(&failed_at).cloned())
        };
        let offer = match chosen {
            Some(Ended::Succeeded(chosen)) => Offer::read(&chosen),
            Some(Ended::Failed(_)) => None,
            None => fits(solver, scope, triage::step_of(key), input),
        };
        let Some(offer) = offer else { return Ok(Try::Nothing) };
        if let Some(Ended::Failed(failure)) = failed {
            return Ok(Try::Failed(offer, failure));
        }
        if !self.state().ended.contains_key(&chosen_at) {
            self.ended(&chosen_at, Ended::Succeeded(offer.to_json()));
        }
        let rest = match solver.workflow(&offer) {
            None => Err(failure("no-such-workflow", format!("version {} of the workflow {} is gone", offer.version, offer.name))),
            Some(workflow) => match solver.world(&offer).await {
                Err(failure) => Err(failure),
                Ok(world) => Ok(self.try_one(workflow, world, key, input).await),
            },
        };
        let failure = match rest {
            Ok(Rest::Done(output)) => match triage::answers(form, &output) {
                Ok(()) => return Ok(Try::Came(self.ended(key, Ended::Succeeded(output)))),
                Err(why) => failure("wrong-answer", why),
            },
            Ok(Rest::Failed(failure)) => failure,
            Ok(Rest::Waiting { wake_at, steps: _ }) => return Ok(Try::Came(Performed::Waiting { wake_at })),
            Ok(Rest::Interrupted(interrupted)) => return Err(interrupted),
            Err(failure) => failure,
        };
        self.ended(&failed_at, Ended::Failed(failure.clone()));
        Ok(Try::Failed(offer, failure))
    }

    async fn try_one(&self, workflow: &Workflow, world: Arc<dyn World>, key: &StepKey, input: &Object) -> Rest {
        let input = match input::check(workflow, &fitting(workflow, input)) {
            Ok(input) => input,
            Err(problems) => {
                let said: Vec<String> = problems.iter().map(|problem| format!("{} {}", problem.place, problem.message)).collect();
                return Rest::Failed(failure("invalid-input", said.join("; ")));
            }
        };
        let nested = self.nested(key, world.clone(), workflow, &input);
        let start = world.start(workflow, input);
        engine::run(workflow, &start, &nested, self.observer.as_ref()).await
    }

    /// What becomes of a run that fails: what solved such a failure before is tried first, where nothing can be done twice by that. Its output is the run's then.
    pub async fn salvaged(&self, failure: Failure) -> Rest {
        let Some(solver) = self.solver.as_ref().filter(|solver| solver.asks_of_failures()) else { return Rest::Failed(failure) };
        let key = StepKey(SmolStr::new_static(FAILURE));
        let (known, has_chosen, has_written) = {
            let state = self.state();
            let has_chosen = state.ended.contains_key(&StepKey(format_smolstr!("{key}{CHOSEN}")));
            (state.ended.get(&key).cloned(), has_chosen, state.has_written)
        };
        if let Some(Ended::Succeeded(output)) = known {
            return Rest::Done(output);
        }
        if has_written && !has_chosen {
            return Rest::Failed(failure);
        }
        // The run itself has come to rest; nothing of it is under way any more.
        self.winding_down.send_modify(Vec::clear);
        let form = solver.output();
        match self.tries(solver.as_ref(), &self.scope, &key, form.as_ref(), &self.scope.input).await {
            Ok(Try::Came(Performed::Ended(Ended::Succeeded(output)))) => Rest::Done(output),
            Ok(Try::Came(Performed::Waiting { wake_at })) => {
                let (workflow, input) = (self.scope.workflow.clone(), self.scope.input.clone());
                Rest::Waiting { steps: vec![(key, Effect::Run { workflow, input, timeout: None })], wake_at }
            }
            Ok(Try::Nothing | Try::Failed(..) | Try::Came(Performed::Ended(Ended::Failed(_)))) => Rest::Failed(failure),
            Err(interrupted) => Rest::Interrupted(interrupted),
        }
    }

    /// A question about a call, with what is to be known of the run around it.
    pub(super) async fn with_run(&self, scope: &Scope, question: Question) -> Result<Question, Interrupted> {
        let Some(kept) = &self.kept else { return Ok(question) };
        self.flush().await?;
        let events = kept.shown_events().await?;
        let tools = self.solver.as_ref().map(|solver| solver.tools());
        Ok(triage::with_run(question, &kept.run, &scope.workflow, &scope.input, tools, &events))
    }

    /// The question with all that whoever works on it needs.
    async fn carrying(&self, question: Question, carried: Carried<'_>) -> Result<Question, Interrupted> {
        let Some(kept) = &self.kept else { return Ok(question) };
        self.flush().await?;
        let events = kept.shown_events().await?;
        Ok(triage::question(question, carried, &kept.run, &events))
    }

    /// The question about a run that fails, where its workflow wants one.
    pub(super) async fn failed(&self, failure: &Failure) -> Result<Option<NewEscalation>, Interrupted> {
        let solver = self.solver.as_ref().filter(|solver| solver.asks_of_failures());
        let Some((kept, solver)) = self.kept.as_ref().zip(solver) else { return Ok(None) };
        self.flush().await?;
        let events = kept.shown_events().await?;
        let Scope { workflow, input, world: _ } = &self.scope;
        let (tried, has_written) = {
            let state = self.state();
            let at = |mark: &str| state.ended.get(&StepKey(format_smolstr!("{FAILURE}{mark}")));
            let tried = match (at(CHOSEN), at(SOLUTION)) {
                (Some(Ended::Succeeded(chosen)), Some(Ended::Failed(failure))) => Offer::read(chosen).map(|offer| (offer, failure.clone())),
                _ => None,
            };
            (tried, state.has_written)
        };
        let offered = if tried.is_none() && has_written { fits(solver.as_ref(), &self.scope, "", input) } else { None };
        let carried = Carried { workflow, step: "", input, tools: solver.tools(), tried, offered };
        let asked = Question { form: solver.output(), ..triage::about_failure(workflow, failure) };
        let question = triage::question(asked, carried, &kept.run, &events);
        // The run has ended with it: nobody waits for the answer, and it does not close with the run.
        let id = EscalationId::about_failure(&kept.run);
        Ok(Some(NewEscalation { id, asked_by: None, question, created_at: Moment::now(), deadline: None }))
    }
}

/// What is tried at a step, where it takes this input. Whoever asks may say more than what is tried wants to know.
fn fits(solver: &dyn Solver, scope: &Scope, step: &str, input: &Object) -> Option<Offer> {
    let takes = |offer: &Offer| solver.workflow(offer).is_some_and(|workflow| input::check(workflow, &fitting(workflow, input)).is_ok());
    solver.offered(&scope.workflow, step).filter(takes)
}

/// What of `input` a workflow takes.
fn fitting(workflow: &Workflow, input: &Object) -> Value {
    let own = input.iter().filter(|(name, _)| workflow.inputs.contains_key(name));
    own.map(|(name, value)| (name.clone(), value.clone())).collect::<Object>().into()
}
