//! A question that may be answered by what was learned from earlier answers: a workflow is tried first, and a person is asked where that fails.
//!
//! Under the key of the step, `ask`: `ask@chosen` says which workflow in which version is tried, before anything of it is done; its own steps are `ask:…`, as
//! those of any workflow within another; `ask@solution` is how it failed. A run that is taken up again goes on with what it chose.

use super::{Interrupted, Journal, Performed, Scope, World, failure};
use crate::clock::Moment;
use crate::engine::{self, Rest};
use crate::input;
use crate::store::{EscalationId, NewEscalation, Question};
use crate::triage::{self, Carried};
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Ended, Failure, StepKey};
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
    fn to_json(&self) -> Value {
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
        let tried = match self.tries(solver.as_ref(), scope, key, &question, &input).await? {
            Try::Came(performed) => return Ok(performed),
            Try::Nothing => None,
            Try::Failed(offer, failure) => Some((offer, failure)),
        };
        let carried = Carried { workflow: &scope.workflow, step, input: &input, tools: solver.tools(), tried };
        let question = self.carrying(question, carried).await?;
        self.escalate(key, question, timeout).await
    }

    async fn tries(&self, solver: &dyn Solver, scope: &Scope, key: &StepKey, asked: &Question, input: &Object) -> Result<Try, Interrupted> {
        let (chosen_at, failed_at) = (StepKey(format_smolstr!("{key}{CHOSEN}")), StepKey(format_smolstr!("{key}@solution")));
        let (chosen, failed) = {
            let state = self.state();
            (state.ended.get(&chosen_at).cloned(), state.ended.get(&failed_at).cloned())
        };
        let offer = match chosen {
            Some(Ended::Succeeded(chosen)) => Offer::read(&chosen),
            Some(Ended::Failed(_)) => None,
            None => solver.offered(&scope.workflow, triage::step_of(key)).filter(|offer| {
                // Whoever asks may say more than what is tried wants to know.
                solver.workflow(offer).is_some_and(|workflow| input::check(workflow, &fitting(workflow, input)).is_ok())
            }),
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
            Ok(Rest::Done(output)) => match triage::answers(asked.form.as_ref(), &output) {
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
        let carried = Carried { workflow, step: "", input, tools: solver.tools(), tried: None };
        let question = triage::question(triage::about_failure(workflow, failure), carried, &kept.run, &events);
        // The run has ended with it: nobody waits for the answer, and it does not close with the run.
        let id = EscalationId(format_smolstr!("triage-{}", kept.run.0));
        Ok(Some(NewEscalation { id, asked_by: None, question, created_at: Moment::now(), deadline: None }))
    }
}

/// What of `input` a workflow takes.
fn fitting(workflow: &Workflow, input: &Object) -> Value {
    let own = input.iter().filter(|(name, _)| workflow.inputs.contains_key(name));
    own.map(|(name, value)| (name.clone(), value.clone())).collect::<Object>().into()
}
