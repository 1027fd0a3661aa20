//! What a step costs without its world: the interpreter of the YAML beside the same workflow in Rust, where every answer is there at once.
//!
//! `cargo bench -p ltc-runtime --bench native --no-default-features` prints a table. Times are medians of rounds in which everything is measured once.

#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // A program that prints a table.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use ltc_runtime::durable::{Durable, Interrupted, Performed};
use ltc_runtime::engine::{self, Rest};
use ltc_runtime::native::{Context, NativeWorkflow, Path, Stop, ToValue, Tool, lang};
use ltc_runtime::observe::Unobserved;
use ltc_workflow::advance::{Effect, Ended, Start, StepKey};
use ltc_workflow::{Value, Workflow};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const ROUNDS: usize = 41;

const DOCUMENT: &str = r#"workflow: noting
version: 1
inputs: { items: { type: array } }
servers: { s: {} }
steps:
  - id: each
    for: { each: item, in: "${{ inputs.items }}", where: "${{ item.ok }}", gather: "${{ steps.send.id }}" }
    steps:
      - id: get
        call: s/note
        with: { id: "${{ item.id }}" }
      - id: send
        call: s/note
        with: { id: "${{ steps.get.id }}", text: "Number ${{ item.id }} in round ${{ loop.index }}." }
output: { ids: "${{ steps.each }}" }
"#;

struct Note(Value);

impl ToValue for Note {
    fn to_value(&self) -> Value {
        self.0.clone()
    }
}

impl Tool for Note {
    const SERVER: &'static str = "s";
    const TOOL: &'static str = "note";
    type Answer = Value;
}

async fn noting(cx: Context, input: Value) -> Result<Value, Stop> {
    let mut each = Vec::new();
    for (round, item) in cx.each("each", cx.eval("each", || input.key("items")?.items())?) {
        if !cx.eval("each", || lang::truth(item.key("ok")?))? {
            continue;
        }
        let get = round.call("get", || Ok(Note(lang::object([("id", item.key("id")?.clone())])))).await?;
        let send = || {
            let text = format!("Number {} in round {}.", lang::text(item.key("id")?)?, round.index());
            Ok(Note(lang::object([("id", get.key("id")?.clone()), ("text", text.to_value())])))
        };
        let send = round.call("send", send).await?;
        each.push(cx.eval("each", || Ok(send.key("id")?.clone()))?);
    }
    Ok(lang::object([("ids", each.to_value())]))
}

/// A world that gives back what it is given, at once.
struct Echo;

impl Durable for Echo {
    fn recorded(&self) -> BTreeMap<StepKey, Ended> {
        BTreeMap::new()
    }

    fn perform<'d>(&'d self, _: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>> {
        let value = match effect {
            Effect::Call { arguments, .. } => Value::Object(arguments.clone()),
            Effect::Sleep(_) | Effect::Escalate { .. } | Effect::Run { .. } => Value::Null,
        };
        ready(Ok(Performed::Ended(Ended::Succeeded(value)))).boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), Interrupted>> {
        ready(Ok(())).boxed()
    }

    fn wind_down(&self) {}
}

fn main() {
    let native = NativeWorkflow::new(DOCUMENT, noting);
    let workflow = native.read().expect("a workflow");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    println!("| steps of a run | YAML, a step | Rust, a step | YAML ÷ Rust |\n|--:|--:|--:|--:|");
    for steps in [10, 200, 2_000, 10_000] {
        let (yaml, rust) = runtime.block_on(measured(&workflow, &native, steps));
        println!("| {steps} | {} | {} | {:.1} |", shown(yaml), shown(rust), yaml.as_secs_f64() / rust.as_secs_f64());
    }
}

/// What a step takes in a run of so many.
async fn measured(workflow: &Workflow, native: &NativeWorkflow, steps: usize) -> (Duration, Duration) {
    let item = |id: usize| lang::object([("id", Value::from(id as i64)), ("ok", Value::Bool(true))]);
    let items = Value::array((0..steps / 2).map(item).collect::<Vec<_>>());
    let start = || Start { input: [("items", items.clone())].into_iter().collect(), ..Start::default() };
    let (mut yaml, mut rust) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (begun, started) = (start(), Instant::now());
        let interpreted = engine::run(workflow, &begun, &Echo, &Unobserved).await;
        yaml.push(started.elapsed());
        let (begun, started) = (start(), Instant::now());
        let done = native.run(begun, &Echo, &Unobserved).await;
        rust.push(started.elapsed());
        assert!(matches!(done, Rest::Done(_)) && done == interpreted, "{done:?}");
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2] / steps as u32
    };
    (median(yaml), median(rust))
}

fn shown(time: Duration) -> String {
    format!("{:.2} µs", time.as_secs_f64() * 1e6)
}
