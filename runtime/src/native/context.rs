//! What a native workflow does its steps with: it knows the run, and gives every step the key that the interpreter gives it.

use super::step::{Step, Tool};
use super::stop::Stop;
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey, not_reached};
use ltc_workflow::document;
use ltc_workflow::{Object, Value};
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// A place in a run: at the top, in a round of a loop, in a further attempt. Cloning is cheap.
#[derive(Clone)]
pub struct Context {
    run: Arc<Run>,
    prefix: SmolStr,
    index: usize,
    /// The key of the loop that is tried here, where that is not the step's.
    tried: Option<SmolStr>,
}

/// What is the same for all steps of a run.
struct Run {
    start: Start,
    recorded: BTreeMap<StepKey, Ended>,
    asks: mpsc::UnboundedSender<Asked>,
}

/// An effect that a workflow asks for.
pub(super) struct Asked {
    pub(super) key: StepKey,
    pub(super) effect: Effect,
    pub(super) reply: oneshot::Sender<Ended>,
}

impl Context {
    /// The context of a run of which `recorded` has ended, and what its workflow asks for.
    pub(super) fn new(start: Start, recorded: BTreeMap<StepKey, Ended>) -> (Context, mpsc::UnboundedReceiver<Asked>) {
        let (asks, asked) = mpsc::unbounded_channel();
        let run = Arc::new(Run { start, recorded, asks });
        (Context { run, prefix: SmolStr::default(), index: 0, tried: None }, asked)
    }

    /// A step with a timeout, further attempts, or a result that may be a failure.
    pub fn step<'c>(&'c self, id: &'c str) -> Step<'c> {
        Step::new(self, id)
    }

    /// Calls a tool as the step `id`; the arguments are worked out only where the call has not ended yet.
    ///
    /// # Errors
    /// The failure of the call or of its arguments.
    pub async fn call<T: Tool>(&self, id: &str, arguments: impl Fn() -> Result<T, Failure>) -> Result<T::Answer, Stop> {
        self.step(id).call(arguments).await
    }

    /// Waits, as the step `id`.
    ///
    /// # Errors
    /// The failure of the timer.
    pub async fn wait(&self, id: &str, duration: Duration) -> Result<(), Stop> {
        self.effect(self.key(id), || Ok(Effect::Sleep(millis(duration)))).await.map(drop)
    }

    /// What an expression of the step `id` gives: where it fails, that step has failed.
    ///
    /// # Errors
    /// The failure of the expression.
    pub fn eval<T>(&self, id: &str, expression: impl FnOnce() -> Result<T, Failure>) -> Result<T, Stop> {
        expression().map_err(|failure| Stop::from(failure).named(|| self.key(id)))
    }

    /// The rounds of the loop `id` over `items`, each with its item.
    pub fn each<'i, T>(&self, id: &str, items: &'i [T]) -> impl Iterator<Item = (Context, &'i T)> + use<'i, T> {
        let (context, key) = (self.clone(), self.loop_key(id));
        items.iter().enumerate().map(move |(index, item)| (context.round(&key, index), item))
    }

    /// The rounds of the loop `id`, which goes on until it is left.
    pub fn rounds(&self, id: &str) -> Rounds {
        Rounds { context: self.clone(), step: self.key(id), key: self.loop_key(id), next: 0, every: Duration::ZERO, at_most: None }
    }

    /// A round of the loop under `key`.
    fn round(&self, key: &SmolStr, index: usize) -> Context {
        Context { run: self.run.clone(), prefix: format_smolstr!("{key}[{index}]/"), index, tried: None }
    }

    /// The rounds of a loop have keys that begin with this.
    fn loop_key(&self, id: &str) -> SmolStr {
        self.tried.clone().unwrap_or_else(|| self.key(id).0)
    }

    /// An attempt, under `key`, of a loop.
    pub(super) fn of_loop(&self, key: SmolStr) -> Context {
        Context { tried: Some(key), ..self.clone() }
    }

    /// An attempt, under `key`, of a step with branches. Their steps stand beside that step; those of a further attempt stand below it.
    pub(super) fn of_branches(&self, key: SmolStr, is_first: bool) -> Context {
        let prefix = if is_first { self.prefix.clone() } else { format_smolstr!("{key}/") };
        Context { prefix, ..self.clone() }
    }

    /// `loop.index`: the number of the round, from 0.
    pub fn index(&self) -> i64 {
        i64::try_from(self.index).unwrap_or(i64::MAX)
    }

    /// `run.id`
    pub fn run_id(&self) -> &str {
        &self.run.start.id
    }

    /// `run.started_at`
    pub fn started_at(&self) -> &str {
        &self.run.start.started_at
    }

    /// `run`, as a value.
    pub fn run(&self) -> Value {
        let entries = [("started_at", Value::from(self.started_at())), ("id", Value::from(self.run_id()))];
        Value::Object(entries.into_iter().collect())
    }

    /// `inputs`, as a value.
    pub fn input(&self) -> Object {
        self.run.start.input.clone()
    }

    /// The secret `name`.
    ///
    /// # Errors
    /// `no-such-secret` where the run does not have it.
    pub fn secret(&self, name: &str) -> Result<&str, Failure> {
        let missing = || Failure { code: "no-such-secret".into(), message: format!("there is no secret `{name}`"), step: None };
        self.run.start.secrets.get(name).map(SmolStr::as_str).ok_or_else(missing)
    }

    pub(super) fn key(&self, id: &str) -> StepKey {
        StepKey(format_smolstr!("{}{id}", self.prefix))
    }

    /// The timer before an attempt or a round.
    pub(super) async fn pause(&self, key: &SmolStr, duration: document::Duration) -> Result<(), Stop> {
        if duration.millis == 0 {
            return Ok(());
        }
        self.effect(StepKey(format_smolstr!("{key}@wait")), || Ok(Effect::Sleep(duration))).await.map(drop)
    }

    /// The end of the effect under `key`, which is done where it has none.
    pub(super) async fn effect(&self, key: StepKey, make: impl FnOnce() -> Result<Effect, Failure>) -> Result<Value, Stop> {
        let ended = match self.run.recorded.get(&key) {
            Some(ended) => ended.clone(),
            None => {
                let effect = make()?;
                let (reply, end) = oneshot::channel();
                // Where nobody takes the question any more, the run is over, and nothing is to go on.
                let _ = self.run.asks.send(Asked { key, effect, reply });
                match end.await {
                    Ok(ended) => ended,
                    Err(_) => std::future::pending().await,
                }
            }
        };
        match ended {
            Ended::Succeeded(value) => Ok(value),
            Ended::Failed(failure) => Err(Stop::of_effect(failure)),
        }
    }
}

/// The rounds of a loop that goes on until it is left.
pub struct Rounds {
    context: Context,
    step: StepKey,
    key: SmolStr,
    next: u32,
    every: Duration,
    at_most: Option<u32>,
}

impl Rounds {
    /// With a pause between two rounds.
    #[must_use]
    pub fn every(self, every: Duration) -> Rounds {
        Rounds { every, ..self }
    }

    /// With so many rounds at most.
    #[must_use]
    pub fn at_most(self, at_most: u32) -> Rounds {
        Rounds { at_most: Some(at_most), ..self }
    }

    /// The next round.
    ///
    /// # Errors
    /// `not-reached` where there were as many rounds as there may be.
    pub async fn next(&mut self) -> Result<Context, Stop> {
        let round = self.next;
        self.next = round.saturating_add(1);
        let stopped = if self.at_most.is_some_and(|most| round >= most) {
            Err(not_reached(round, "until").into())
        } else if round > 0 {
            self.context.pause(&format_smolstr!("{}[{round}]", self.key), millis(self.every)).await
        } else {
            Ok(())
        };
        stopped.map_err(|stop: Stop| stop.named(|| self.step.clone()))?;
        Ok(self.context.round(&self.key, usize::try_from(round).unwrap_or(usize::MAX)))
    }
}

pub(super) fn millis(duration: Duration) -> document::Duration {
    document::Duration { millis: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX) }
}
