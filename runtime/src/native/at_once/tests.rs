//! What goes on at once, and what is gone through again, beside the interpreter: the same effects in the same order, whatever takes how long and fails.

use super::super::{NativeWorkflow, ToValue, Tool, lang};
use super::*;
use crate::durable::{Durable, Interrupted, Performed, Stop as Why};
use crate::engine::{self, Rest};
use crate::observe::Unobserved;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use ltc_workflow::Value;
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const DOCUMENT: &str = r#"workflow: at-once
version: 1
servers: { s: {} }
steps:
  - id: each
    for: { each: n, in: "${{ [0, 1, 2, 3, 4, 5] }}", where: "${{ n != 2 }}", at_once: 3, gather: "${{ steps.b }}" }
    steps:
      - id: a
        call: s/t
        with: { of: "${{ n }}" }
      - id: b
        retry: { attempts: 2, backoff: 10ms, factor: 2 }
        call: s/t
        with: { of: "${{ steps.a }}" }
  - id: both
    retry: { attempts: 2, backoff: 10ms, factor: 2 }
    parallel:
      - steps:
          - id: left
            call: s/t
            with: { of: "left" }
          - id: left_loop
            retry: { attempts: 2, backoff: 0s, factor: 2 }
            for: { each: m, in: "${{ [7, 8] }}" }
            steps:
              - id: c
                call: s/t
                with: { of: "${{ m }}" }
      - steps:
          - id: right
            call: s/t
            with: { of: "right" }
  - id: last
    call: s/t
    with: { of: ["${{ steps.left }}", "${{ steps.right }}", "${{ steps.each }}"] }
output: "${{ steps.last }}"
"#;

struct Of(Value);

impl ToValue for Of {
    fn to_value(&self) -> Value {
        lang::object([("of", self.0.clone())])
    }
}

impl Tool for Of {
    const SERVER: &'static str = "s";
    const TOOL: &'static str = "t";
    type Answer = Value;
}

async fn at_once(cx: Context, _: Value) -> Result<Value, Stop> {
    let numbers = [0, 1, 2, 3, 4, 5].map(|n| lang::integer(n).to_value());
    let each = cx
        .gather_at_once("each", 3, &numbers, |round, n| async move {
            if n == &lang::integer(2).to_value() {
                return Ok(None);
            }
            let a = round.call("a", || Ok(Of(n.clone()))).await?;
            let b = round.step("b").retry(2, Duration::from_millis(10), lang::integer(2)).call(|| Ok(Of(a.clone()))).await?;
            Ok(Some(b))
        })
        .await?;
    let both = cx.step("both").retry(2, Duration::from_millis(10), lang::integer(2));
    let (left, right) = both
        .retry_branches(|attempt| async move {
            let (mut left, mut right) = (None, None);
            attempt
                .parallel([
                    Box::pin(async {
                        left = Some(attempt.call("left", || Ok(Of("left".to_value()))).await?);
                        let again = attempt.step("left_loop").retry(2, Duration::ZERO, lang::integer(2));
                        again
                            .retry_loop(|attempt| async move {
                                for (round, m) in attempt.each("left_loop", &[7, 8]) {
                                    round.call("c", || Ok(Of(lang::integer(*m).to_value()))).await?;
                                }
                                Ok(())
                            })
                            .await
                    }),
                    Box::pin(async {
                        right = Some(attempt.call("right", || Ok(Of("right".to_value()))).await?);
                        Ok(())
                    }),
                ])
                .await?;
            Ok((left, right))
        })
        .await?;
    cx.call("last", || Ok(Of(lang::list([left.clone().unwrap_or_default(), right.clone().unwrap_or_default(), each.to_value()])))).await
}

/// A journal whose effects take a time and fail as their keys and the world's number say; it stops the run after so many of them.
struct World {
    number: u64,
    /// Out of a hundred effects so many fail.
    failing: u64,
    ended: Mutex<BTreeMap<StepKey, Ended>>,
    done: Mutex<Vec<(StepKey, Effect)>>,
    most: usize,
}

impl World {
    fn new(number: u64, most: usize) -> World {
        World { number, failing: number % 4 * 8, ended: Mutex::default(), done: Mutex::default(), most }
    }

    fn chance(&self, key: &StepKey, of: u64) -> u64 {
        let hash = key.0.bytes().fold(self.number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ of, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        });
        (hash >> 20) % of
    }

    fn done(&self) -> Vec<(StepKey, Effect)> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Durable for World {
    fn recorded(&self) -> BTreeMap<StepKey, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        if done.len() >= self.most {
            return ready(Err(Interrupted::Stopped(Why::Shutdown))).boxed();
        }
        done.push((key.clone(), effect.clone()));
        drop(done);
        let ended = match effect {
            Effect::Sleep(_) => Ended::Succeeded(Value::Null),
            _ if self.chance(key, 100) < self.failing => {
                Ended::Failed(Failure { code: "tool-error".into(), message: String::new(), step: Some(key.clone()) })
            }
            _ => Ended::Succeeded(Value::from(key.0.as_str())),
        };
        async move {
            tokio::time::sleep(Duration::from_millis(self.chance(key, 30))).await;
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), ended.clone());
            Ok(Performed::Ended(ended))
        }
        .boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), Interrupted>> {
        ready(Ok(())).boxed()
    }

    fn wind_down(&self) {}
}

async fn run(world: &World, is_native: bool) -> Rest {
    let native = NativeWorkflow::new(DOCUMENT, at_once);
    if is_native {
        native.run(Start::default(), world, &Unobserved).await
    } else {
        engine::run(&native.read().expect("the document is read"), &Start::default(), world, &Unobserved).await
    }
}

fn told(rest: &Rest) -> String {
    match rest {
        Rest::Failed(failure) => format!("{} {:?}", failure.code, failure.step),
        other => format!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_takes_how_long_and_fails_the_effects_are_those_of_the_interpreter() {
    let (mut rests, mut tried, mut orders) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for number in 0..300 {
        let (yaml, rust) = (World::new(number, usize::MAX), World::new(number, usize::MAX));
        let (a, b) = (run(&yaml, false).await, run(&rust, true).await);
        assert_eq!(told(&a), told(&b), "world {number}");
        assert_eq!(yaml.done(), rust.done(), "world {number}");
        rests.insert(told(&a).split_once(' ').map(|(code, _)| code.to_owned()));
        let keys: Vec<String> = rust.done().iter().map(|(key, _)| key.0.to_string()).collect();
        tried.extend(keys.iter().filter(|key| key.contains("@2")).cloned());
        orders.insert(keys);
    }
    assert!(rests.len() > 1 && orders.len() > 100, "the worlds differ: {} orders", orders.len());
    for key in ["each[0]/b@2", "both@2/left", "left_loop@2[1]/c", "both@2/left_loop[0]/c", "both@2/right"] {
        assert!(tried.contains(key), "{key} is tried in no world: {tried:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_rounds_go_on_at_once_as_may() {
    let world = World::new(0, usize::MAX);
    assert!(matches!(run(&world, true).await, Rest::Done(_)));
    let keys: Vec<String> = world.done().iter().take(3).map(|(key, _)| key.0.to_string()).collect();
    // Nothing had ended yet, and the round that is left out takes no place.
    assert_eq!(keys, ["each[0]/a", "each[1]/a", "each[3]/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_one_begins_the_other_ends_and_no_step_is_done_twice() {
    for number in 0..24 {
        let whole = World::new(number, usize::MAX);
        let rest = run(&whole, false).await;
        for cut in 0..whole.done().len() {
            for first_is_native in [false, true] {
                let begun = World::new(number, cut);
                assert_eq!(run(&begun, first_is_native).await, Rest::Interrupted(Interrupted::Stopped(Why::Shutdown)), "cut after {cut}");
                let rested = World { ended: Mutex::new(begun.recorded()), ..World::new(number, usize::MAX) };
                let ended = run(&rested, !first_is_native).await;
                assert_eq!(told(&ended), told(&rest), "world {number}, cut after {cut}");
                // A pause that nobody waits for any more begins again.
                let calls = |world: &World| world.done().into_iter().filter(|(_, effect)| matches!(effect, Effect::Call { .. }));
                let keys: Vec<StepKey> = calls(&begun).chain(calls(&rested)).map(|(key, _)| key).collect();
                assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "world {number}, cut after {cut}: {keys:?}");
            }
        }
    }
}
