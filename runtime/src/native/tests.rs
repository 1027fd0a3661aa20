//! Native workflows beside the interpreter: the same effects under the same keys, and runs that one begins and the other ends.

use super::*;
use crate::durable::{Interrupted, Performed, Stop as Why};
use crate::engine;
use crate::observe::Unobserved;
use futures_util::future::ready;
use ltc_workflow::advance::{Effect, Ended, StepKey};
use ltc_workflow::json;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const DOCUMENT: &str = r#"workflow: everything
version: 1
inputs: { limit: { type: integer } }
servers: { s: {} }
steps:
  - id: list
    call: s/list
    with: { limit: "${{ inputs.limit }}" }
  - id: each
    for: { each: item, in: "${{ steps.list.items }}", where: "${{ item.ok }}", gather: "${{ steps.get.name }}" }
    steps:
      - id: get
        retry: { attempts: 3, backoff: 1s, factor: 2 }
        call: s/get
        with: { id: "${{ item.id }}", round: "${{ loop.index }}" }
  - id: poll
    repeat: { until: "${{ steps.look.done }}", every: 2s, at_most: 4 }
    steps:
      - id: look
        call: s/look
        with: { after: "${{ previous.look.at ?? omit }}" }
  - id: route
    switch:
      - when: "${{ steps.poll.at == 'x' }}"
        steps:
          - id: one
            call: s/one
            with: {}
      - steps:
          - id: two
            call: s/two
            with: { names: "${{ steps.each }}" }
  - id: last
    call: s/last
    with: { of: "${{ steps.one ?? steps.two }}" }
    catch:
      steps:
        - id: told
          call: s/told
          with: { code: "${{ error.code }}", step: "${{ error.step }}" }
output: { names: "${{ steps.each }}", told: "${{ steps.told ?? null }}" }
"#;

macro_rules! tools {
    ($($name:ident $tool:literal),*) => {$(
        struct $name(Value);

        impl ToValue for $name {
            fn to_value(&self) -> Value {
                self.0.clone()
            }
        }

        impl Tool for $name {
            const SERVER: &'static str = "s";
            const TOOL: &'static str = $tool;
            type Answer = Value;
        }
    )*};
}

tools!(List "list", Get "get", Look "look", One "one", Two "two", Last "last", Told "told");

async fn everything(cx: Context, input: Value) -> Result<Value, Stop> {
    let list = cx.call("list", || Ok(List(lang::object([("limit", input.key("limit")?.clone())])))).await?;
    let mut each = Vec::new();
    for (round, item) in cx.each("each", cx.eval("each", || list.key("items")?.items())?) {
        if !cx.eval("each", || lang::truth(item.key("ok")?))? {
            continue;
        }
        let get = round.step("get").retry(3, Duration::from_secs(1), lang::integer(2));
        let get = get
            .call(|| Ok(Get(lang::object([("id", item.key("id")?.clone()), ("round", lang::integer(round.index()).to_value())]))))
            .await?;
        each.push(cx.eval("each", || Ok(get.key("name")?.clone()))?);
    }
    let mut previous: Option<Value> = None;
    let mut rounds = cx.rounds("poll").every(Duration::from_secs(2)).at_most(4);
    let poll = loop {
        let round = rounds.next().await?;
        let after = || Ok(Look(lang::object_of_some([("after", lang::not_null(previous.as_ref().find("at")?).cloned())])));
        let look = round.call("look", after).await?;
        if cx.eval("poll", || lang::truth(look.key("done")?))? {
            break look;
        }
        previous = Some(look);
    };
    let (mut one, mut two) = (None, None);
    if cx.eval("route", || Ok(poll.key("at")? == "x"))? {
        one = Some(cx.call("one", || Ok(One(lang::object([])))).await?);
    } else {
        two = Some(cx.call("two", || Ok(Two(lang::object([("names", each.to_value())])))).await?);
    }
    let mut told = None;
    let of = || Ok(Last(lang::object([("of", one.clone().or(two.clone()).unwrap_or_default())])));
    if let Err(stop) = cx.call("last", of).await {
        let error = stop.caught(&cx, "last");
        let code = error.failure.code.as_str();
        let step = || Ok(Told(lang::object([("code", code.to_value()), ("step", lang::given(error.step().as_ref(), "step")?.to_value())])));
        told = Some(cx.call("told", step).await?);
    }
    Ok(lang::object([("names", each.to_value()), ("told", told.unwrap_or_default())]))
}

/// A journal in memory whose world answers by tool and key; it stops the run after so many effects.
#[derive(Default)]
struct Journal {
    ended: Mutex<BTreeMap<StepKey, Ended>>,
    done: Mutex<Vec<(StepKey, Effect)>>,
    most: Mutex<usize>,
    world: u32,
}

impl Journal {
    fn answer(&self, key: &StepKey, effect: &Effect) -> Ended {
        let value = |text: &str| Ended::Succeeded(json::parse(text.as_bytes()).expect("JSON in a test"));
        let failed = |code: &str| Ended::Failed(Failure { code: code.into(), message: String::new(), step: Some(key.clone()) });
        let Effect::Call { tool, .. } = effect else { return Ended::Succeeded(Value::Null) };
        match (tool.as_str(), key.0.as_str(), self.world) {
            ("list", _, 2) => value(r#"{"items": [{"id": 1, "ok": 7}]}"#),
            ("list", _, 3) => value(r#"{"items": null}"#),
            ("list", ..) => value(r#"{"items": [{"id": 1, "ok": true}, {"id": 2, "ok": null}, {"id": 9007199254740993001, "ok": true}]}"#),
            ("get", "each[0]/get", _) => failed("tool-error"),
            ("get", "each[2]/get", 1) | ("get", "each[2]/get@2", 1) | ("get", "each[2]/get@3", 1) => failed("tool-error"),
            ("get", ..) => value(r#"{"name": "n"}"#),
            ("look", "poll[0]/look", _) => value(r#"{"done": false, "at": "a"}"#),
            ("look", "poll[1]/look", _) => value(r#"{"done": null, "at": null}"#),
            ("look", _, 4) => value(r#"{"done": false}"#),
            ("look", _, 5) => value(r#"{"done": true, "at": "x"}"#),
            ("look", ..) => value(r#"{"done": true, "at": "y"}"#),
            ("last", _, 5) => value("1.0"),
            ("last", ..) => failed("rpc-error"),
            _ => value(r#"{"ok": 1}"#),
        }
    }
}

impl Durable for Journal {
    fn recorded(&self) -> BTreeMap<StepKey, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>> {
        let mut most = self.most.lock().unwrap_or_else(PoisonError::into_inner);
        if *most == 0 {
            return ready(Err(Interrupted::Stopped(Why::Shutdown))).boxed();
        }
        *most -= 1;
        let ended = self.answer(key, effect);
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push((key.clone(), effect.clone()));
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), ended.clone());
        ready(Ok(Performed::Ended(ended))).boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), Interrupted>> {
        ready(Ok(())).boxed()
    }

    fn wind_down(&self) {}
}

fn native() -> NativeWorkflow {
    NativeWorkflow::new(DOCUMENT, everything)
}

fn start() -> Start {
    Start { input: [("limit", Value::from(3_i64))].into_iter().collect(), ..Start::default() }
}

/// Runs in `journal` until so many more effects were done.
async fn run(journal: &Journal, most: usize, is_native: bool) -> Rest {
    *journal.most.lock().unwrap_or_else(PoisonError::into_inner) = most;
    if is_native {
        native().run(start(), journal, &Unobserved).await
    } else {
        let workflow = native().read().expect("the document is read");
        engine::run(&workflow, &start(), journal, &Unobserved).await
    }
}

/// How a run rested, without the words of failures: Rust has no expression to show.
fn told(rest: &Rest) -> String {
    match rest {
        Rest::Failed(failure) => format!("{} {:?}", failure.code, failure.step),
        other => format!("{other:?}"),
    }
}

fn done(journal: &Journal) -> Vec<(StepKey, Effect)> {
    journal.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[tokio::test]
async fn a_native_workflow_does_what_the_interpreter_does() {
    let mut rests = std::collections::BTreeSet::new();
    for world in 0..=5 {
        let (yaml, rust) = (Journal { world, ..Journal::default() }, Journal { world, ..Journal::default() });
        let (a, b) = (run(&yaml, usize::MAX, false).await, run(&rust, usize::MAX, true).await);
        assert_eq!(told(&a), told(&b), "world {world}");
        assert_eq!(done(&yaml), done(&rust), "world {world}");
        rests.insert(told(&a));
    }
    assert_eq!(rests.len(), 6, "the worlds end in different ways: {rests:?}");
}

#[tokio::test]
async fn a_run_that_one_begins_the_other_ends_and_no_step_is_done_twice() {
    let whole = Journal::default();
    let rest = run(&whole, usize::MAX, false).await;
    assert!(matches!(rest, Rest::Done(_)), "{rest:?}");
    let effects = done(&whole);
    assert!(effects.len() > 10);
    for first_is_native in [false, true] {
        for cut in 0..effects.len() {
            let journal = Journal::default();
            let stopped = run(&journal, cut, first_is_native).await;
            assert_eq!(stopped, Rest::Interrupted(Interrupted::Stopped(Why::Shutdown)), "cut after {cut}");
            assert_eq!(run(&journal, usize::MAX, !first_is_native).await, rest, "cut after {cut}");
            assert_eq!(done(&journal), effects, "cut after {cut}: each step once, in its order");
        }
    }
}
