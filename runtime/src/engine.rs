//! The loop of a run: ask what comes next, do it, note how it ended, ask again.

use crate::clock::Moment;
use crate::durable::{Durable, Interrupted, Performed};
use crate::observe::Observer;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use ltc_workflow::advance::{Effect, Ended, Failure, Next, Progress, Start, StepKey};
use ltc_workflow::{Value, Workflow};
use std::collections::BTreeMap;

/// How a run came to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It is done, with its output.
    Done(Value),
    /// It failed.
    Failed(Failure),
    /// Nothing goes on until one of these has ended outside.
    Waiting {
        /// What is waited for.
        steps: Vec<(StepKey, Effect)>,
        /// When the first of them ends by itself.
        wake_at: Option<Moment>,
    },
    /// It goes no further here. What is recorded is recorded.
    Interrupted(Interrupted),
}

/// Runs `workflow` until it comes to rest. What may be under way at once is what the language's `advance` gives at once.
///
/// A run that fails or is stopped while calls are under way waits for their ends, so that no call is given up in its middle; timers are given up.
pub async fn run(workflow: &Workflow, start: &Start, durable: &dyn Durable, observer: &dyn Observer) -> Rest {
    let recorded = durable.recorded();
    let mut progress = Progress::new(workflow, start, &recorded);
    let mut under_way = UnderWay::default();
    loop {
        let rest = match progress.next_effects() {
            Next::Do(effects) => {
                effects.into_iter().for_each(|(key, effect)| under_way.start(key, effect, durable, observer));
                match under_way.next_or_settle(durable).await {
                    Ok(Some(first)) => {
                        // Whatever ended at the same time is noted before the next question.
                        let mut ended = Ok(Some(first));
                        while let Ok(Some((key, end))) = ended {
                            observer.ended(&key, &end);
                            progress.end(&key, end);
                            ended = under_way.next().now_or_never().unwrap_or(Ok(None));
                        }
                        match ended {
                            Ok(_) => continue,
                            Err(interrupted) => Rest::Interrupted(interrupted),
                        }
                    }
                    Ok(None) => return under_way.rest(),
                    Err(interrupted) => Rest::Interrupted(interrupted),
                }
            }
            Next::Done(output) => Rest::Done(output),
            Next::Failed(failure) => Rest::Failed(failure),
        };
        // Without a journal there is nothing that the ends of calls could be noted in.
        if !matches!(rest, Rest::Interrupted(Interrupted::Store(_))) {
            durable.wind_down();
            under_way.finish_calls(observer).await;
        }
        return rest;
    }
}

/// The effects that were started and have not ended.
#[derive(Default)]
pub(crate) struct UnderWay<'d> {
    running: FuturesUnordered<BoxFuture<'d, (StepKey, Result<Performed, Interrupted>)>>,
    effects: BTreeMap<StepKey, Effect>,
    waiting: BTreeMap<StepKey, Effect>,
    wake_at: Option<Moment>,
}

impl<'d> UnderWay<'d> {
    pub(crate) fn start(&mut self, key: StepKey, effect: Effect, durable: &'d dyn Durable, observer: &dyn Observer) {
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
    pub(crate) async fn next(&mut self) -> Result<Option<(StepKey, Ended)>, Interrupted> {
        while let Some((key, performed)) = self.running.next().await {
            let effect = self.effects.remove(&key);
            match performed? {
                Performed::Ended(ended) => return Ok(Some((key, ended))),
                Performed::Waiting { wake_at } => {
                    self.wake_at = self.wake_at.into_iter().chain(wake_at).min();
                    self.waiting.extend(effect.map(|effect| (key, effect)));
                }
            }
        }
        Ok(None)
    }

    /// As [`UnderWay::next`]. What has just begun is polled first, and takes the ends that are not recorded yet into its own record; where nothing
    /// does, they are recorded here.
    pub(crate) async fn next_or_settle(&mut self, durable: &dyn Durable) -> Result<Option<(StepKey, Ended)>, Interrupted> {
        match select(Box::pin(self.next()), durable.settle()).await {
            Either::Left((next, _)) => next,
            Either::Right((Ok(()), next)) => next.await,
            Either::Right((Err(interrupted), _)) => Err(interrupted),
        }
    }

    pub(crate) async fn finish_calls(&mut self, observer: &dyn Observer) {
        // A workflow within this one has calls of its own.
        while self.effects.values().any(|effect| matches!(effect, Effect::Call { .. } | Effect::Run { .. })) {
            match self.next().await {
                Ok(Some((key, ended))) => observer.ended(&key, &ended),
                Ok(None) => return,
                // It was stopped before it began, or ended without a record: the others still end.
                Err(_) => {}
            }
        }
    }

    pub(crate) fn rest(self) -> Rest {
        if self.waiting.is_empty() {
            // The language promises that this does not happen; a run that would hang says so instead.
            let message = "the workflow neither ended nor asked for anything".to_owned();
            return Rest::Failed(Failure { code: "stuck".into(), message, step: None });
        }
        Rest::Waiting { steps: self.waiting.into_iter().collect(), wake_at: self.wake_at }
    }
}

#[cfg(test)]
mod tests;
