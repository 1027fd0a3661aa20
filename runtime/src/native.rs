//! Workflows that are Rust: what the crates link that `ltc compile --emit rust` writes.
//!
//! A native workflow is a function that awaits its steps. Each step is an effect under the key that the interpreter gives it, and goes
//! through [`Durable::perform`]: an effect that has ended is not done again, so running the function again takes a run up where it
//! stopped, whether the YAML or the crate began it. Where only a person can go on, the function is dropped; nothing waits in memory.
//!
//! | file | what it is |
//! |---|---|
//! | `context` | what a workflow does its steps with: the keys of steps, rounds, what a run knows |
//! | `at_once` | rounds and branches that go on at once |
//! | `step` | one step: called, asked, waited for, tried again |
//! | `stop` | why a workflow goes no further |
//! | `replay` | a workflow in the world of its recording, for its test |
//! | `registry`, `command`, `serve` | the workflows of a program, and the command that it is |

mod at_once;
mod command;
mod context;
mod registry;
mod replay;
#[cfg(all(feature = "serve", feature = "sqlite"))]
mod serve;
mod step;
mod stop;

pub use at_once::Branch;
pub use context::{Context, Rounds};
pub use ltc_workflow::native::{Fields, Find, FromValue, Mismatch, Nullable, Path, Record, ToValue, lang};
pub use ltc_workflow::{Number, Object, Value};
pub use registry::Registry;
pub(crate) use registry::run_by;
pub use replay::replay;
pub use step::{Question, Step, Tool};
pub use stop::{Caught, Stop};

use crate::durable::{Durable, Interrupted};
use crate::engine::{Rest, UnderWay};
use crate::observe::Observer;
use context::Asked;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Failure, Start};
use ltc_workflow::{Workflow, yaml};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

type Body = dyn Fn(Context, &Value) -> Result<BoxFuture<'static, Result<Value, Stop>>, Mismatch> + Send + Sync;

/// A workflow as a Rust function, beside the document that it does the same as.
#[derive(Clone)]
pub struct NativeWorkflow {
    document: &'static str,
    body: Arc<Body>,
}

impl NativeWorkflow {
    /// The workflow that `body` is; `document` is the YAML that it was written from.
    pub fn new<I, O, F, R>(document: &'static str, body: F) -> NativeWorkflow
    where
        I: FromValue,
        O: ToValue,
        F: Fn(Context, I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Stop>> + Send + 'static,
    {
        let body = move |context: Context, input: &Value| {
            let running = body(context, I::from_value(input)?);
            Ok(async move { running.await.map(|output| output.to_value()) }.boxed())
        };
        NativeWorkflow { document, body: Arc::new(body) }
    }

    /// The YAML.
    pub fn document(&self) -> &'static str {
        self.document
    }

    /// What the YAML says: name, inputs, servers, secrets.
    ///
    /// # Errors
    /// What in it is no workflow.
    pub fn read(&self) -> Result<Workflow, String> {
        yaml::read(self.document).map_err(|problems| problems.iter().map(|problem| format!("{problem}\n")).collect())
    }

    /// Runs until the run comes to rest, as [`crate::engine::run`] runs the document.
    ///
    /// The workflow goes as far as it can; what it asks for is begun; and with the next end it goes on. It awaits nothing but its steps.
    pub async fn run(&self, start: Start, durable: &dyn Durable, observer: &dyn Observer) -> Rest {
        let input = Value::Object(start.input.clone());
        let (context, mut asked) = Context::new(start, durable.recorded());
        let mut running = match (self.body)(context, &input) {
            // It is asked again only when something has ended, so it has to go as far as it can each time.
            Ok(running) => Box::pin(tokio::task::unconstrained(running)),
            Err(mismatch) => return Rest::Failed(invalid_input(&mismatch)),
        };
        let mut under_way = UnderWay::default();
        let mut wanted = BTreeMap::new();
        loop {
            let ended = running.as_mut().now_or_never();
            while let Ok(Asked { key, effect, reply }) = asked.try_recv() {
                wanted.insert(key.clone(), reply);
                under_way.start(key, effect, durable, observer);
            }
            let rest = match ended {
                Some(Ok(output)) => Rest::Done(output),
                Some(Err(stop)) => Rest::Failed(stop.into_failure()),
                None => match under_way.next_or_settle(durable).await {
                    Ok(Some(first)) => {
                        // Whatever ended at the same time is told before the workflow goes on, as the interpreter is told it.
                        let mut next = Ok(Some(first));
                        while let Ok(Some((key, ended))) = next {
                            observer.ended(&key, &ended);
                            // Nobody listens where a branch was given up.
                            let _ = wanted.remove(&key).map(|reply| reply.send(ended));
                            next = under_way.next().now_or_never().unwrap_or(Ok(None));
                        }
                        match next {
                            Ok(_) => continue,
                            Err(interrupted) => Rest::Interrupted(interrupted),
                        }
                    }
                    Ok(None) => return under_way.rest(),
                    Err(interrupted) => Rest::Interrupted(interrupted),
                },
            };
            if !matches!(rest, Rest::Interrupted(Interrupted::Store(_))) {
                durable.wind_down();
                under_way.finish_calls(observer).await;
            }
            return rest;
        }
    }
}

fn invalid_input(mismatch: &Mismatch) -> Failure {
    Failure { code: "invalid-input".into(), message: format!("the input is not what the workflow takes: {mismatch}"), step: None }
}

impl fmt::Debug for NativeWorkflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeWorkflow").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
