//! Native workflows over a store: what the YAML began the Rust ends, and the other way round, and a crate that is served.

mod asking;
mod served;
mod tools;

use libtest_mimic::{Arguments, Failed, Trial};
use ltc_runtime::definition::Bundle;
use ltc_runtime::drive::{Asked, Driver, Left};
use ltc_runtime::durable::{Interrupted, Stop as Why};
use ltc_runtime::engine::Rest;
use ltc_runtime::environment::ProcessEnvironment;
use ltc_runtime::native::{Context, NativeWorkflow, Path, Registry, Stop, ToValue, Tool, lang};
use ltc_runtime::observe::Unobserved;
use ltc_runtime::store::{self, Claim, RunId, Status, Store, What};
use ltc_workflow::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tools::InProcess;

/// The keys of all calls, in their order.
const KEYS: [&str; 5] = ["first", "each[0]/note", "each[1]/note", "each[2]/note", "last"];

fn main() -> ExitCode {
    match std::env::var("LTC_TEST_BE").as_deref() {
        Ok("tools") => return tools::serve(),
        Ok("crate") => return Registry::new().add(outer()).add(elsewhere()).add(workflow(&Arc::default())).main(),
        _ => {}
    }
    let threads = || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let trials = vec![
        Trial::test("what_the_yaml_began_the_rust_ends", move || threads().block_on(cut_everywhere(false))),
        Trial::test("what_the_rust_began_the_yaml_ends", move || threads().block_on(cut_everywhere(true))),
        Trial::test("a_question_is_the_same", move || threads().block_on(asking::a_question_is_the_same())),
        Trial::test("a_crate_is_served_twice_and_its_workflow_kept_once", move || threads().block_on(served::twice())),
        Trial::test("several_crates_are_served_beside_deployed_yaml", move || threads().block_on(served::beside_yaml())),
        Trial::test("several_crates_are_served_without_a_store", move || threads().block_on(served::without_a_store())),
        Trial::test("a_run_ends_where_its_client_cancels_or_goes", move || threads().block_on(served::given_up())),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The document; its server is this program.
fn document() -> String {
    let program = json::quote(&std::env::current_exe().expect("this program").display().to_string());
    format!(
        r#"workflow: noting
version: 1
description: Notes numbers.
inputs: {{ items: {{ type: array }} }}
servers: {{ s: {{ command: {program}, env: {{ LTC_TEST_BE: tools }}, effects: {{ note: write }} }} }}
steps:
  - id: first
    call: s/note
    with: {{ n: 0 }}
  - id: each
    for: {{ each: item, in: "${{{{ inputs.items }}}}", gather: "${{{{ steps.note.n }}}}" }}
    steps:
      - id: note
        call: s/note
        with: {{ n: "${{{{ item }}}}" }}
  - id: last
    call: s/note
    with: {{ n: "${{{{ steps.first.n }}}}" }}
output: {{ noted: "${{{{ steps.each }}}}", last: "${{{{ steps.last.n }}}}" }}
"#
    )
}

struct Note(Value);

impl ToValue for Note {
    fn to_value(&self) -> Value {
        lang::object([("n", self.0.clone())])
    }
}

impl Tool for Note {
    const SERVER: &'static str = "s";
    const TOOL: &'static str = "note";
    type Answer = Value;
}

/// The same in Rust; it counts how often it is begun.
fn workflow(begun: &Arc<AtomicUsize>) -> NativeWorkflow {
    let begun = begun.clone();
    NativeWorkflow::new(document().leak(), move |cx, input| {
        begun.fetch_add(1, Ordering::SeqCst);
        noting(cx, input)
    })
}

async fn noting(cx: Context, input: Value) -> Result<Value, Stop> {
    let first = cx.call("first", || Ok(Note(lang::integer(0).to_value()))).await?;
    let mut each = Vec::new();
    for (round, item) in cx.each("each", cx.eval("each", || input.key("items")?.items())?) {
        let note = round.call("note", || Ok(Note(item.clone()))).await?;
        each.push(cx.eval("each", || Ok(note.key("n")?.clone()))?);
    }
    let last = cx.call("last", || Ok(Note(first.key("n")?.clone()))).await?;
    Ok(lang::object([("noted", each.to_value()), ("last", last.key("n")?.clone())]))
}

/// A workflow that runs the other one, and comes before it.
fn outer() -> NativeWorkflow {
    let document = "workflow: outer\nversion: 1\nsteps:\n  - id: inner\n    run: noting\n    with: { items: [] }\noutput: \"${{ steps.inner.last }}\"\n";
    NativeWorkflow::new(document, |cx: Context, _: Value| async move {
        let inner = cx.step("inner").run("noting", || Ok(lang::object([("items", Value::array(Vec::new()))]))).await?;
        cx.eval("inner", || Ok(inner.key("last")?.clone()))
    })
}

/// A workflow whose server nobody can reach.
fn elsewhere() -> NativeWorkflow {
    let document = "workflow: elsewhere\nversion: 1\nservers: { nowhere: { command: \"${NO_SUCH_VARIABLE}\" } }\nsteps:\n  - id: a\n    call: nowhere/t\n    with: {}\n";
    NativeWorkflow::new(document, |_: Context, _: Value| async move { Ok(()) })
}

/// A store, the tools of its runs, and how often Rust did one.
struct World {
    store: Arc<dyn Store>,
    tools: Arc<InProcess>,
    begun: Arc<AtomicUsize>,
}

impl World {
    /// A driver as a process of its own has it.
    fn driver(&self, is_native: bool) -> Arc<Driver> {
        let driver = Driver::new(self.store.clone(), self.tools.clone(), BTreeMap::new(), Arc::new(ProcessEnvironment));
        let native = is_native.then(|| workflow(&self.begun));
        Arc::new(driver.with_native(native).expect("the document is read"))
    }

    /// Goes on with the run, until it rests or so many calls more were made.
    async fn go(&self, run: &RunId, is_native: bool, calls: Option<usize>) -> Rest {
        let driver = self.driver(is_native);
        self.tools.end_after(calls, &driver);
        let before = self.begun.load(Ordering::SeqCst);
        let Ok(Claim::Claimed(record)) = driver.claim(run).await else { panic!("the run is there to be taken") };
        let left = driver.take_up(*record, Arc::new(Unobserved)).await;
        assert_eq!(self.begun.load(Ordering::SeqCst) - before, usize::from(is_native), "who does it is who was asked to");
        match left {
            Left::Rested(rest) => rest,
            Left::Refused(_) | Left::Lost(_) => panic!("{left:?}"),
        }
    }
}

/// A run is cut after each of its calls; what one way began the other ends.
async fn cut_everywhere(is_native: bool) -> Result<(), Failed> {
    let input = json::parse(br#"{"items": [7, 9007199254740993001, "x"]}"#)?;
    // The first number is 0, and so is what is noted of it at last.
    let output = json::parse(br#"{"noted": [7, 9007199254740993001, "x"], "last": 0}"#)?;
    for cut in 1..KEYS.len() {
        let folder = tempfile::tempdir()?;
        let store = store::open(&folder.path().join("ltc.db").display().to_string()).await?;
        let world = World { store: store.clone(), tools: Arc::default(), begun: Arc::default() };
        let bundle = Bundle { workflow: workflow(&world.begun).read()?, library: BTreeMap::new() };
        let driver = world.driver(false);
        let asked = Asked { bundle: &bundle, input: &input, id: Some(RunId("r".into())), limit: None };
        let new = driver.check(asked).await.unwrap_or_else(|problems| panic!("{problems:?}")).new_run(None);
        let run = new.id.clone();
        store.create_run(new).await?;

        let stopped = world.go(&run, is_native, Some(cut)).await;
        assert_eq!(stopped, Rest::Interrupted(Interrupted::Stopped(Why::Shutdown)), "cut after {cut}");
        assert_eq!(world.tools.made(), KEYS[..cut], "cut after {cut}");
        assert_eq!(world.go(&run, !is_native, None).await, Rest::Done(output.clone()), "cut after {cut}");

        assert_eq!(world.tools.made(), KEYS, "each call once, in its order; cut after {cut}");
        let events = store.events(&run).await?;
        let of = |is_it: fn(&What) -> bool| -> Vec<&str> { events.iter().filter(|e| is_it(&e.what)).map(|e| e.key.0.as_str()).collect() };
        assert_eq!(of(|what| *what == What::Started), KEYS, "cut after {cut}");
        assert_eq!(of(|what| matches!(what, What::Succeeded(_))), KEYS, "cut after {cut}");
        assert_eq!(events.len(), 2 * KEYS.len(), "{events:?}");
        let record = store.run(&run).await?.ok_or("the run is kept")?;
        assert_eq!(record.status, Status::Done);
    }
    Ok(())
}
