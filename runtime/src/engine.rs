//! The loop of a run: ask what comes next, do it, note how it ended, ask again.

use crate::durable::{Durable, Performed};
use crate::observe::Observer;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use ltc_workflow::advance::{Effect, Ended, Failure, Next, Start, StepKey, advance};
use ltc_workflow::{Value, Workflow};
use std::collections::BTreeMap;

/// How a run came to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It is done, with its output.
    Done(Value),
    /// It failed.
    Failed(Failure),
    /// Nothing goes on until these have ended outside.
    Waiting(Vec<(StepKey, Effect)>),
}

/// Runs `workflow` until it comes to rest. What may be under way at once is what `advance` gives at once.
///
/// A run that fails while calls are under way waits for their ends, so that no call is given up in its middle; timers are given up.
pub async fn run(workflow: &Workflow, start: &Start, durable: &dyn Durable, observer: &dyn Observer) -> Rest {
    let mut ends = durable.recorded().await;
    let mut under_way = UnderWay::default();
    loop {
        let effects = match advance(workflow, start, &ends) {
            Next::Do(effects) => effects,
            Next::Done(output) => {
                under_way.finish_calls(observer).await;
                return Rest::Done(output);
            }
            Next::Failed(failure) => {
                under_way.finish_calls(observer).await;
                return Rest::Failed(failure);
            }
        };
        for (key, effect) in effects {
            under_way.start(key, effect, durable, observer);
        }
        let Some((key, ended)) = under_way.next().await else {
            return under_way.rest();
        };
        // Whatever ended at the same time is noted before the next question.
        let mut ended = Some((key, ended));
        while let Some((key, end)) = ended {
            observer.ended(&key, &end);
            ends.insert(key, end);
            ended = under_way.next().now_or_never().flatten();
        }
    }
}

/// The effects that were started and have not ended.
#[derive(Default)]
struct UnderWay<'d> {
    running: FuturesUnordered<BoxFuture<'d, (StepKey, Performed)>>,
    effects: BTreeMap<StepKey, Effect>,
    waiting: BTreeMap<StepKey, Effect>,
}

impl<'d> UnderWay<'d> {
    fn start(&mut self, key: StepKey, effect: Effect, durable: &'d dyn Durable, observer: &dyn Observer) {
        if self.effects.contains_key(&key) || self.waiting.contains_key(&key) {
            return;
        }
        observer.started(&key, &effect);
        self.effects.insert(key.clone(), effect.clone());
        self.running.push(
            async move {
                let performed = durable.perform(&key, &effect).await;
                (key, performed)
            }
            .boxed(),
        );
    }

    /// The next effect that ends; `None` where nothing is running.
    async fn next(&mut self) -> Option<(StepKey, Ended)> {
        loop {
            let (key, performed) = self.running.next().await?;
            let effect = self.effects.remove(&key);
            match (performed, effect) {
                (Performed::Ended(ended), _) => return Some((key, ended)),
                (Performed::Waiting, Some(effect)) => {
                    self.waiting.insert(key, effect);
                }
                (Performed::Waiting, None) => {}
            }
        }
    }

    async fn finish_calls(&mut self, observer: &dyn Observer) {
        while self.effects.values().any(|effect| matches!(effect, Effect::Call { .. })) {
            let Some((key, ended)) = self.next().await else { return };
            observer.ended(&key, &ended);
        }
    }

    fn rest(self) -> Rest {
        if self.waiting.is_empty() {
            // The language promises that this does not happen; a run that would hang says so instead.
            let message = "the workflow neither ended nor asked for anything".to_owned();
            return Rest::Failed(Failure { code: "stuck".into(), message, step: None });
        }
        Rest::Waiting(self.waiting.into_iter().collect())
    }
}

#[cfg(test)]
mod tests;
