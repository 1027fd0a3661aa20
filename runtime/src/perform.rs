//! Effects, done: a call goes to its server, a timer waits, another workflow runs, and a question to a person waits for one.

use crate::durable::{InMemory, Performed, World};
use crate::engine::{self, Rest};
use crate::input;
use crate::observe::Observer;
use crate::pool::{self, Pool};
use crate::upstream::{ToolCall, failure};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey};
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How deep workflows may run workflows.
pub const DEEPEST_RUN: usize = 16;

/// What the effects of a run work with.
#[derive(Clone)]
pub struct Outside {
    /// The servers.
    pub pool: Arc<Pool>,
    /// Other workflows, by name.
    pub library: Arc<BTreeMap<SmolStr, Workflow>>,
    /// The secrets of this workflow and the others.
    pub secrets: Arc<BTreeMap<SmolStr, SmolStr>>,
    /// Sees the steps of other workflows too.
    pub observer: Arc<dyn Observer>,
    /// The id of the run and the time at which it started.
    pub run: RunName,
    /// The steps that led here, when another workflow runs: the beginning of all step keys.
    pub path: Vec<StepKey>,
}

/// What a run is called, and since when it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName {
    /// `run.id`
    pub id: SmolStr,
    /// `run.started_at`
    pub started_at: SmolStr,
}

impl Outside {
    /// The start of `workflow` with `input`: it sees the secrets that it names, and no others.
    pub fn start(&self, workflow: &Workflow, input: Object) -> Start {
        let secret = |name: &SmolStr| self.secrets.get(name).map(|value| (name.clone(), value.clone()));
        Start {
            input,
            secrets: workflow.secrets.iter().filter_map(secret).collect(),
            started_at: self.run.started_at.clone(),
            id: self.run.id.clone(),
        }
    }

    fn full_key(&self, key: &StepKey) -> StepKey {
        let parts: Vec<&str> = self.path.iter().chain([key]).map(|key| key.0.as_str()).collect();
        StepKey(SmolStr::new(parts.join("/")))
    }

    async fn run(&self, key: &StepKey, name: &SmolStr, given: &Object) -> Performed {
        let workflow = match self.library.get(name) {
            Some(workflow) if self.path.len() < DEEPEST_RUN => workflow,
            Some(_) => return failed(failure("too-deep", format!("workflows run workflows more than {DEEPEST_RUN} deep"))),
            None => return failed(failure("no-such-workflow", format!("there is no workflow {name}"))),
        };
        let input = match input::check(workflow, &Value::Object(given.clone())) {
            Ok(input) => input,
            Err(problems) => {
                let said: Vec<String> = problems.iter().map(|problem| format!("{} {}", problem.place, problem.message)).collect();
                return failed(failure("invalid-input", format!("the workflow {name} refuses its input: {}", said.join("; "))));
            }
        };
        let mut inside = self.clone();
        inside.path.push(key.clone());
        let start = inside.start(workflow, input);
        let observer = inside.observer.clone();
        match engine::run(workflow, &start, &InMemory::new(inside), observer.as_ref()).await {
            Rest::Done(output) => Performed::Ended(Ended::Succeeded(output)),
            Rest::Failed(inner) => {
                let at = inner.step.map(|step| format!("step {step}: ")).unwrap_or_default();
                failed(Failure { message: format!("in workflow {name}: {at}{}", inner.message), step: None, code: inner.code })
            }
            Rest::Waiting(_) => Performed::Waiting,
        }
    }
}

fn failed(failure: Failure) -> Performed {
    Performed::Ended(Ended::Failed(failure))
}

impl World for Outside {
    fn perform<'w>(&'w self, key: &'w StepKey, effect: &'w Effect) -> BoxFuture<'w, Performed> {
        async move {
            let performed = match effect {
                Effect::Call { server, tool, arguments, timeout } => {
                    let (step, run) = (self.full_key(key), self.run.id.clone());
                    let call = ToolCall { tool: tool.clone(), arguments: arguments.clone(), step, run };
                    match self.pool.call(server, &call, *timeout).await {
                        Ok(value) => Performed::Ended(Ended::Succeeded(value)),
                        Err(failure) => failed(failure),
                    }
                }
                Effect::Sleep(duration) => {
                    tokio::time::sleep(Duration::from_millis(duration.millis)).await;
                    Performed::Ended(Ended::Succeeded(Value::Null))
                }
                Effect::Escalate { .. } => Performed::Waiting,
                Effect::Run { workflow, input, timeout: None } => self.run(key, workflow, input).await,
                Effect::Run { workflow, input, timeout: Some(limit) } => {
                    let limit = Duration::from_millis(limit.millis);
                    let run = tokio::time::timeout(limit, self.run(key, workflow, input));
                    run.await.unwrap_or_else(|_| failed(pool::timed_out(&format!("the workflow {workflow}"), limit)))
                }
            };
            match performed {
                Performed::Ended(Ended::Failed(failure)) => failed(Failure { step: Some(key.clone()), ..failure }),
                performed => performed,
            }
        }
        .boxed()
    }
}
