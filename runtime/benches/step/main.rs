//! What a step costs when it is kept: beside the same call made directly, and beside one synced commit of the store, in the same run.
//!
//! `cargo bench -p ltc-runtime` prints tables; a folder as its argument says on which disk the store is. Times are medians of rounds in which everything is measured once, so that whatever
//! else the machine does meanwhile weighs on all of it alike. The server is this program itself.

#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // A program that prints a table.

mod server;

use ltc_runtime::clock::Moment;
use ltc_runtime::definition::Bundle;
use ltc_runtime::drive::{Asked, Driver, Left};
use ltc_runtime::engine::Rest;
use ltc_runtime::environment::ProcessEnvironment;
use ltc_runtime::observe::{Log, Unobserved};
use ltc_runtime::pool::Connections;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::servers::Endpoint;
use ltc_runtime::service::{Caller, Capacity, Operation, Service};
use ltc_runtime::store::{self, Commit, Event, Lease, NewRun, NewVersion, RunFilter, RunId, Status, Store, VersionState, What, WorkerId};
use ltc_runtime::upstream::{Connector, Limits, ToolCall};
use ltc_workflow::advance::StepKey;
use ltc_workflow::{Object, Value, json, yaml};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Steps of a run, calls and commits of a round.
const STEPS: usize = 40;
const ROUNDS: usize = 15;
const RUNS: usize = 100;
const WORKFLOWS: usize = 10_000;

struct Silent;

impl Log for Silent {
    fn learn(&self, _: &Redactor) {}
    fn server_said(&self, _: &str, _: &str) {}
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--serve") {
        return server::serve();
    }
    let place = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let place = place.map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let folder = tempfile::tempdir_in(place).expect("a folder");
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    threads.block_on(async {
        steps(folder.path()).await;
        runs(folder.path()).await;
        workflows(folder.path()).await;
    });
}

fn connector() -> Connector {
    Connector { log: Arc::new(Silent), limits: Limits::default() }
}

fn service(store: &Arc<dyn Store>) -> Arc<Service> {
    let connections = Arc::new(Connections::new(connector()));
    Service::new(Arc::new(Driver::new(store.clone(), connections, BTreeMap::new(), Arc::new(ProcessEnvironment))))
}

async fn opened(path: &Path) -> Arc<dyn Store> {
    store::open(&path.display().to_string()).await.expect("the store opens")
}

fn this_program() -> String {
    std::env::current_exe().expect("a path").display().to_string()
}

/// So many calls one after the other.
fn bundle(steps: usize, effect: &str) -> Bundle {
    let steps: Vec<String> = (0..steps).map(|n| format!(r#"{{"id":"s{n}","call":"s/nothing","with":{{"n":{n}}}}}"#)).collect();
    let command = json::quote(&this_program());
    let server = format!(r#"{{"s":{{"command":{command},"args":["--serve"],"effects":{{"nothing":"{effect}"}}}}}}"#);
    let text = format!(r#"{{"workflow":"w","version":1,"servers":{server},"steps":[{}]}}"#, steps.join(","));
    Bundle { workflow: yaml::read(&text).expect("a workflow"), library: BTreeMap::new() }
}

async fn run(service: &Arc<Service>, bundle: &Bundle) -> Duration {
    let input = Value::Object(Object::default());
    let checked = service.driver().check(Asked { bundle, input: &input, id: None, limit: None });
    let (connected, _) =
        checked.await.unwrap_or_else(|p| panic!("{p:?}")).connect(service.driver()).await.unwrap_or_else(|p| panic!("{p:?}"));
    let begun = Instant::now();
    let left = service.begin(connected, Arc::new(Unobserved)).await.unwrap_or_else(|_| panic!("a run")).left().await;
    assert!(matches!(left, Left::Rested(Rest::Done(_))), "{left:?}");
    begun.elapsed()
}

async fn steps(folder: &Path) {
    let store = opened(&folder.join("steps.db")).await;
    let service = service(&store);
    let endpoint = Endpoint::Stdio {
        command: this_program(),
        args: vec!["--serve".to_owned()],
        env: BTreeMap::new(),
        cwd: None,
        hidden: BTreeSet::new(),
    };
    let direct = connector().connect("s", &endpoint).await.expect("the server starts");
    let call = ToolCall {
        tool: "nothing".into(),
        arguments: [("n", Value::from(1_i64))].into_iter().collect(),
        step: StepKey("s".into()),
        run: "r".into(),
        hearing: None,
    };
    let (writes, reads) = (bundle(STEPS, "write"), bundle(STEPS, "read"));
    let worker = WorkerId("w".into());
    let definition = writes.definition();
    let new = NewRun {
        id: RunId("commits".into()),
        workflow: "w".into(),
        definition,
        input: Value::Null,
        created_at: Moment::now(),
        deadline: None,
        lease: Some(Lease { worker: worker.clone(), until: Moment(i64::MAX) }),
    };
    let id = new.id.clone();
    store.create_run(new).await.expect("a store");
    let mut all: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..STEPS {
            direct.call(&call).await.expect("an answer");
        }
        all.entry("call").or_default().push(begun.elapsed() / STEPS as u32);
        let begun = Instant::now();
        for step in 0..STEPS {
            let key = |n: usize| StepKey(format!("{round}-{n}").into());
            let event = |n: usize, what: What| Event { key: key(n), at: Moment::now(), what };
            let events = vec![event(step, What::Succeeded(Value::Null)), event(step + 1, What::Started)];
            store.commit(&id, &worker, 0, &Commit { events, ..Commit::default() }, Moment::now()).await.expect("a store");
        }
        all.entry("commit").or_default().push(begun.elapsed() / STEPS as u32);
        all.entry("write").or_default().push(run(&service, &writes).await / STEPS as u32);
        all.entry("read").or_default().push(run(&service, &reads).await / STEPS as u32);
    }
    let median = |name: &str| {
        let mut times = all[name].clone();
        times.sort();
        times[times.len() / 2]
    };
    let (call, commit) = (median("call"), median("commit"));
    println!("| one of {STEPS} steps of a run | time | × call | × (call + commit) |\n|---|--:|--:|--:|");
    for (name, time) in [
        ("the call, made directly", call),
        ("one synced commit of SQLite", commit),
        ("a step that writes", median("write")),
        ("a step that reads", median("read")),
    ] {
        let ratio = |other: Duration| time.as_secs_f64() / other.as_secs_f64();
        println!("| {name} | {} | {:.2} | {:.2} |", shown(time), ratio(call), ratio(call + commit));
    }
    direct.close().await;
}

async fn runs(folder: &Path) {
    println!("\n| runs of three writes, from the queue | runs a second |\n|---|--:|");
    let bundle = bundle(3, "write");
    for at_once in [1, 50] {
        let store = opened(&folder.join(format!("runs-{at_once}.db"))).await;
        let service = service(&store);
        // The server is there already.
        run(&service, &bundle).await;
        for _ in 0..RUNS {
            let input = Value::Object(Object::default());
            let checked = service.driver().check(Asked { bundle: &bundle, input: &input, id: None, limit: None });
            store.create_run(checked.await.unwrap_or_else(|p| panic!("{p:?}")).new_run(None)).await.expect("a store");
        }
        let begun = Instant::now();
        let end = async {
            let filter = RunFilter { status: Some(Status::Done), workflow: None, after: None, limit: 1000 };
            while store.runs(filter.clone()).await.expect("runs").len() <= RUNS {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        service.work(Capacity(at_once), end).await;
        println!("| {at_once} at once | {:.0} |", RUNS as f64 / begun.elapsed().as_secs_f64());
    }
}

async fn workflows(folder: &Path) {
    let store = opened(&folder.join("workflows.db")).await;
    let service = service(&store);
    let definition = bundle(3, "write").definition();
    for n in 0..WORKFLOWS {
        let (name, definition) = (format!("w{n:05}").into(), definition.clone());
        let new = NewVersion {
            name,
            definition,
            description: Some("Does it.".to_owned()),
            state: VersionState::Active,
            made_of: Default::default(),
            at: Moment(1),
        };
        store.put_version(new).await.expect("a store");
    }
    let list = Operation::named("list_workflows").expect("there is one");
    println!("\n| `list_workflows` with {WORKFLOWS} workflows | time |\n|---|--:|");
    for (name, input) in [("a page of 50", r#"{"limit":50}"#), ("a page of 1,000", r#"{"limit":1000}"#)] {
        let input = json::parse(input.as_bytes()).expect("an input");
        let mut times = Vec::new();
        for _ in 0..11 {
            let begun = Instant::now();
            let caller = Caller::new(Arc::new(Unobserved));
            list.call(&service, &input, caller).await.unwrap_or_else(|refusal| panic!("{}", refusal.message));
            times.push(begun.elapsed());
        }
        let first = times[0];
        times.sort();
        println!("| {name} | {} (the first time {}) |", shown(times[times.len() / 2]), shown(first));
    }
}

fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 10_000.0 { format!("{micros:.0} µs") } else { format!("{:.1} ms", micros / 1e3) }
}
