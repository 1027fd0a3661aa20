//! Many runs at once, in one process and in several that share a queue: nothing is lost, nothing is done twice, also where a process is killed.

#![cfg(unix)]

#[path = "../runtime/tests/support/postgres.rs"]
#[allow(dead_code)] // It has more than is used here.
mod postgres;
mod support;

use ltc_runtime::alive;
use ltc_runtime::clock::Moment;
use ltc_runtime::definition::Bundle;
use ltc_runtime::drive::{Asked, Driver, Left};
use ltc_runtime::engine::Rest;
use ltc_runtime::environment::ProcessEnvironment;
use ltc_runtime::journal;
use ltc_runtime::observe::{Log, Unobserved};
use ltc_runtime::pool::Connections;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::service::{Capacity, Code, Service};
use ltc_runtime::store::{self, Claim, EscalationFilter, Event, Resolution, RunFilter, RunId, Status, Store, StoreError};
use ltc_runtime::upstream::{Connector, Limits};
use ltc_workflow::{Object, Value, json, yaml};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Folder, fixture_server, ltc};

/// How many runs there are.
const RUNS: usize = 50;

struct Silent;

impl Log for Silent {
    fn learn(&self, _: &Redactor) {}
    fn server_said(&self, _: &str, _: &str) {}
    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

fn service(store: Arc<dyn Store>) -> Arc<Service> {
    let connections = Arc::new(Connections::new(Connector { log: Arc::new(Silent), limits: Limits::default() }));
    Service::new(Arc::new(Driver::new(store, connections, BTreeMap::new(), Arc::new(ProcessEnvironment))))
}

/// Seven writes, and reads between them; the runs share the server.
fn bundle(log: &Path) -> Bundle {
    let text = r#"{"workflow":"w","version":1,"inputs":{"n":{}},
        "servers":{"s":{"command":COMMAND,"args":["counting","s",LOG],"effects":{"look":"read","put":"idempotent"}}},
        "steps":[
            {"id":"look","call":"s/look"},
            {"id":"each","for":{"each":"i","in":"${{ steps.look.items }}","at_once":2,"gather":"${{ steps.add.made }}"},"steps":[
                {"id":"put","call":"s/put","with":{"name":"${{ i }}"}},
                {"id":"add","call":"s/add","with":{"name":"${{ inputs.n }}-${{ i }}"}}]},
            {"id":"nap","wait":"60ms"},
            {"id":"a","call":"s/add","with":{"name":"a"}},
            {"id":"b","call":"s/add","with":{"name":"b"}},
            {"id":"c","call":"s/add","with":{"name":"c"}}
        ],"output":"${{ [steps.each, steps.c.made] }}"}"#;
    let quoted = |path: &Path| json::quote(&path.display().to_string());
    let text = text.replace("COMMAND", &quoted(fixture_server())).replace("LOG", &quoted(log));
    Bundle { workflow: yaml::read(&text).expect("a workflow in a test"), library: BTreeMap::new() }
}

/// Puts the runs into the queue.
async fn queued(store: &Arc<dyn Store>, log: &Path) {
    let service = service(store.clone());
    let bundle = bundle(log);
    for n in 0..RUNS {
        let input: Value = [("n", Value::from(n))].into_iter().collect::<Object>().into();
        let checked =
            service.driver().check(Asked { bundle: &bundle, input: &input, id: Some(RunId(format!("r{n}").into())), limit: None });
        let checked = checked.await.unwrap_or_else(|problems| panic!("{problems:?}"));
        store.create_run(checked.new_run(None)).await.expect("a store");
    }
}

async fn standing(store: &Arc<dyn Store>) -> BTreeMap<Status, usize> {
    let runs = store.runs(RunFilter { status: None, workflow: None, after: None, limit: 1000 }).await.expect("runs");
    let mut found = BTreeMap::new();
    runs.into_iter().for_each(|run| *found.entry(run.status).or_insert(0) += 1);
    found
}

/// Waits until all runs are done; answers questions about steps in doubt by what the server has noted. Gives how many there were.
async fn all_done(store: &Arc<dyn Store>, log: &Path) -> usize {
    let begun = Instant::now();
    let mut in_doubt = 0;
    loop {
        let standing = standing(store).await;
        if standing.get(&Status::Done) == Some(&RUNS) {
            return in_doubt;
        }
        assert!(!standing.contains_key(&Status::Failed), "{standing:?}");
        assert!(begun.elapsed() < Duration::from_secs(90), "{standing:?}");
        let filter = EscalationFilter { role: None, status: None, run: None, now: Moment::now(), limit: 1000 };
        for asked in store.escalations(filter).await.expect("questions").into_iter().filter(|asked| asked.ended_at.is_none()) {
            let (run, key) = asked.asked_by.expect("a run asks");
            let done = lines(log).into_iter().find(|line| line.run == run.0 && line.key == key.0 && !line.is_begin);
            let answer = match done {
                Some(line) => Object::from_iter([("outcome", Value::from("done")), ("result", line.value)]),
                None => Object::from_iter([("outcome", Value::from("again"))]),
            };
            let (answer, at) = (Value::Object(answer), Moment::now());
            let what = journal::verdict(&key, &answer).expect("an answer").event();
            let event = Some(Event { key, at, what });
            store.resolve_escalation(Resolution { escalation: asked.id, by: "test".into(), answer, event, at }).await.expect("a store");
            in_doubt += 1;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

struct Line {
    is_begin: bool,
    run: String,
    key: String,
    tool: String,
    value: Value,
}

fn lines(log: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(log).expect("a log");
    let line = |line: &str| {
        let value = json::parse(line.as_bytes()).expect("a line of the log");
        let text = |name: &str| value.get(name).and_then(Value::as_str).expect("a text").to_owned();
        let is_begin = text("what") == "begin";
        Line { is_begin, run: text("run"), key: text("key"), tool: text("tool"), value: value.get("value").cloned().unwrap_or_default() }
    };
    text.lines().map(line).collect()
}

/// Each run has its output, and each write of each run was done once.
async fn check(store: &Arc<dyn Store>, log: &Path) {
    for n in 0..RUNS {
        let run = store.run(&RunId(format!("r{n}").into())).await.expect("a store").expect("a run");
        let output = json::to_string(&run.output.expect("an output"));
        assert_eq!(output, format!(r#"[["{n}-1","{n}-2","{n}-3","{n}-4"],"c"]"#));
    }
    let mut writes: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in lines(log).into_iter().filter(|line| !line.is_begin && line.tool == "add") {
        *writes.entry((line.run, line.key)).or_default() += 1;
    }
    let twice: Vec<_> = writes.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(writes.len(), RUNS * 7);
}

/// A folder with a log, and the address of a store.
fn place() -> (Folder, PathBuf, String) {
    let folder = Folder::new();
    let log = folder.path().join("calls");
    std::fs::File::create(&log).expect("a log");
    let address = folder.path().join("ltc.db").display().to_string();
    (folder, log, address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_runs_at_once_in_one_process() {
    let (_folder, log, address) = place();
    let store = store::open(&address).await.expect("the store opens");
    queued(&store, &log).await;
    let service = service(store.clone());
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let begun = Instant::now();
    let working = tokio::spawn(async move { service.work(Capacity(64), async { drop(ended.await) }).await });
    assert_eq!(all_done(&store, &log).await, 0, "nothing is in doubt where nobody is killed");
    eprintln!("{RUNS} runs in one process on SQLite: {:?}", begun.elapsed());
    check(&store, &log).await;
    end.send(()).expect("it listens");
    working.await.expect("it ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_worked_on_once_in_a_process() {
    let (_folder, log, address) = place();
    let store = store::open(&address).await.expect("the store opens");
    queued(&store, &log).await;
    let service = service(store.clone());
    let id = RunId("r0".into());
    let mut begun = service.go_on(&id, Arc::new(Unobserved)).await.expect("nobody has it").expect("it has not ended");
    while !service.driver().has(&id) {
        tokio::task::yield_now().await;
    }
    let again = service.go_on(&id, Arc::new(Unobserved)).await.map(|_| ()).expect_err("it is under way");
    assert_eq!(again.code, Code::Conflict);
    // The store gives a process what it has already: so it does where a lease ran out while the process was held up.
    let Claim::Claimed(record) = store.claim_run(&id, service.driver().lease(), Moment::now()).await.expect("a store") else { panic!() };
    let second = service.driver().take_up(*record, Arc::new(Unobserved)).await;
    assert!(matches!(second, Left::Lost(StoreError::LeaseLost)), "{second:?}");
    assert!(matches!(begun.left().await, Left::Rested(Rest::Done(_))));
    let mut writes: Vec<String> = lines(&log).into_iter().filter(|line| line.is_begin && line.tool == "add").map(|line| line.key).collect();
    writes.sort();
    assert_eq!(writes, ["a", "b", "c", "each[0]/add", "each[1]/add", "each[2]/add", "each[3]/add"]);
}

const WORKER: &str = "LTC_TEST_WORKER";

/// A process of another test: works on the store of the variable until it is killed or its stdin ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "is a process of another test"]
async fn working_process() {
    let Ok(address) = std::env::var(WORKER) else { return };
    let store = store::open(&address).await.expect("the store opens");
    let end = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
    service(store).work(Capacity(20), async { drop(end.await) }).await;
}

fn worker(address: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "working_process", "--ignored", "--nocapture"]).env(WORKER, address);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a process")
}

/// Waits until the runs are in their midst.
async fn under_way(log: &Path) {
    let begun = Instant::now();
    while lines(log).iter().filter(|line| line.tool == "add").count() <= 100 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody works");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until no run is a process's that is gone. That its lease runs out takes ten seconds at least: it is renewed every five, and holds fifteen.
async fn nobody_is_gone(store: &Arc<dyn Store>) {
    let killed = Instant::now();
    while store.workers().await.expect("a store").iter().any(alive::is_gone) {
        assert!(killed.elapsed() < Duration::from_secs(8), "its runs are still those of the process that was killed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    eprintln!("the runs of the killed process were taken after {:?}", killed.elapsed());
}

async fn two_processes(address: &str, log: &Path, is_killed: bool) {
    let store = store::open(address).await.expect("the store opens");
    queued(&store, log).await;
    let begun = Instant::now();
    let (mut one, mut other) = (worker(address), worker(address));
    if is_killed {
        under_way(log).await;
        one.kill().expect("it is running");
        nobody_is_gone(&store).await;
    }
    let in_doubt = all_done(&store, log).await;
    eprintln!("{RUNS} runs, two processes, one killed: {is_killed}; {in_doubt} steps in doubt; {:?}", begun.elapsed());
    assert!(is_killed || in_doubt == 0, "nothing is in doubt where nobody is killed");
    check(&store, log).await;
    drop((one.stdin.take(), other.stdin.take()));
    assert!(other.wait().expect("it ends").success());
    one.wait().expect("it ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn two_processes_share_a_queue() {
    let (_folder, log, address) = place();
    two_processes(&address, &log, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn two_processes_share_a_queue_in_postgresql() {
    let Some(server) = postgres::Postgres::shared() else { return };
    let (_folder, log, _) = place();
    let database = server.database();
    two_processes(&database.address(), &log, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_runs_of_a_killed_process_go_on_in_another() {
    let (_folder, log, address) = place();
    two_processes(&address, &log, true).await;
    if let Some(server) = postgres::Postgres::shared() {
        let (_folder, log, _) = place();
        let database = server.database();
        two_processes(&database.address(), &log, true).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_runs_of_a_killed_ltc_serve_go_on_in_another() {
    let (_folder, log, address) = place();
    let store = store::open(&address).await.expect("the store opens");
    queued(&store, &log).await;
    let served = || {
        let mut command = ltc(["serve", "--listen", "127.0.0.1:0", "--store", &address]);
        Served(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command can be started"))
    };
    let (mut one, _other) = (served(), served());
    under_way(&log).await;
    one.0.kill().expect("it is running");
    nobody_is_gone(&store).await;
    all_done(&store, &log).await;
    check(&store, &log).await;
}

/// `ltc serve`, killed with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = (self.0.kill(), self.0.wait());
    }
}
