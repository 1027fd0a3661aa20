//! The operations on servers and recordings, over a store of their own, with servers that do what they should not.

use crate::support::{Folder, fixture_server};
use ltc_runtime::adapter::McpAdapter;
use ltc_runtime::clock::Moment;
use ltc_runtime::drive::Driver;
use ltc_runtime::environment::Environment;
use ltc_runtime::observe::{Log, Unobserved};
use ltc_runtime::pool::Connections;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::service::{Caller, Code, Operation, Refusal, Service};
use ltc_runtime::store::{self, NewTrace, Store, TraceAbout, TraceCall, TraceId, TraceOutcome};
use ltc_runtime::upstream::{Connector, Limits};
use ltc_workflow::{Object, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a server is told that nobody else may see.
const SECRET: &str = "hunter2hunter2";

struct Silent;

impl Log for Silent {
    fn learn(&self, _secrets: &Redactor) {}

    fn server_said(&self, _server: &str, _line: &str) {}

    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

struct Fixed;

impl Environment for Fixed {
    fn get(&self, name: &str) -> Option<String> {
        match name {
            "SERVICE_TOKEN" => Some(SECRET.to_owned()),
            "PATH" => std::env::var("PATH").ok(),
            _ => None,
        }
    }
}

pub struct World {
    pub service: Arc<Service>,
    pub adapter: Arc<dyn McpAdapter>,
    pub store: Arc<dyn Store>,
    _folder: Folder,
}

impl World {
    pub async fn new() -> World {
        let limits = Limits { connect: Duration::from_secs(20), call: Duration::from_secs(20) };
        World::over(Arc::new(Connections::new(Connector { log: Arc::new(Silent), limits }))).await
    }

    pub async fn over(adapter: Arc<dyn McpAdapter>) -> World {
        let folder = Folder::new();
        let store = store::open(&folder.path().join("ltc.db").to_string_lossy()).await.expect("a store");
        let driver = Driver::new(store.clone(), adapter.clone(), BTreeMap::new(), Arc::new(Fixed));
        World { service: Service::new(Arc::new(driver)), adapter, store, _folder: folder }
    }

    pub async fn call(&self, operation: &str, input: &str) -> Result<Value, Refusal> {
        let input = json::parse(input.as_bytes()).expect("JSON in a test");
        let operation = Operation::named(operation).expect("an operation");
        operation.call(&self.service, &input, Caller { observer: Arc::new(Unobserved), recording: None }).await
    }

    pub async fn done(&self, operation: &str, input: &str) -> Value {
        self.call(operation, input).await.unwrap_or_else(|refusal| panic!("{operation} {input}: {refusal:?}"))
    }

    async fn refused(&self, operation: &str, input: &str) -> Refusal {
        let refusal = self.call(operation, input).await.expect_err(input);
        assert!(!format!("{refusal:?}").contains(SECRET), "{refusal:?}");
        refusal
    }
}

/// The input that adds the server for tests.
pub fn unruly(name: &str, more: &str) -> String {
    format!(r#"{{"name":"{name}","command":{},"args":["stdio"]{more}}}"#, json::quote(&fixture_server().display().to_string()))
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_added_tried_called_and_let_go() {
    let world = World::new().await;
    let added = world.done("add_mcp_server", &unruly("u", r#","tags":["a","b"],"env":{"SERVICE_TOKEN":"${SERVICE_TOKEN}"}"#)).await;
    assert_eq!((text(&added, "status"), text(&added, "transport")), ("registered", "stdio"));
    assert_eq!(
        added.get("configuration").and_then(|entry| entry.get("env")).map(json::to_string).as_deref(),
        Some(r#"{"SERVICE_TOKEN":"${SERVICE_TOKEN}"}"#)
    );
    let connected = world.done("connect_mcp_server", r#"{"server_name":"u"}"#).await;
    assert_eq!(text(&connected, "status"), "connected");
    let tools = world.done("list_mcp_tools", r#"{"server_name":"u"}"#).await;
    let promise =
        tools.get("tools").and_then(Value::as_array).into_iter().flatten().find(|tool| text(tool, "name") == "promise").expect("a tool");
    assert!(promise.get("outputSchema").is_some() && promise.get("annotations").is_some(), "all that the server says of it is kept");

    let asked = r#"{"server_name":"u","tool_name":"echo","arguments":{"n":123456789012345678901234567890,"f":1.10}}"#;
    let answer = world.done("call_mcp_tool", asked).await;
    assert_eq!(answer.get("structured_content").map(json::to_string).as_deref(), Some(r#"{"n":123456789012345678901234567890,"f":1.10}"#));
    // One connection serves the calls: this is the third.
    world.done("call_mcp_tool", asked).await;
    let count = world.done("call_mcp_tool", r#"{"server_name":"u","tool_name":"count"}"#).await;
    assert_eq!(count.get("structured_content").map(json::to_string).as_deref(), Some(r#"{"calls":3}"#));
    let failed = world.done("call_mcp_tool", r#"{"server_name":"u","tool_name":"fail","arguments":{"words":"no"}}"#).await;
    assert_eq!(failed.get("is_error"), Some(&Value::from(true)));
    // The server has the secret, and what it says of it is not shown.
    let told = world.done("call_mcp_tool", r#"{"server_name":"u","tool_name":"environment","arguments":{"name":"SERVICE_TOKEN"}}"#).await;
    assert!(json::to_string(&told).contains("[secret SERVICE_TOKEN]") && !json::to_string(&told).contains(SECRET), "{told:?}");

    let let_go = world.done("disconnect_mcp_server", r#"{"server_name":"u"}"#).await;
    assert_eq!(text(&let_go, "status"), "disconnected");
    let count = world.done("call_mcp_tool", r#"{"server_name":"u","tool_name":"count"}"#).await;
    assert_eq!(count.get("structured_content").map(json::to_string).as_deref(), Some(r#"{"calls":1}"#), "another process");
    let listed = world.done("list_mcp_servers", r#"{"tags":["b","z"]}"#).await;
    assert_eq!(listed.get("servers").and_then(Value::as_array).map(<[Value]>::len), Some(1));
    let none = world.done("list_mcp_servers", r#"{"tags":["b","z"],"tag_match":"all"}"#).await;
    assert_eq!(none.get("servers").and_then(Value::as_array).map(<[Value]>::len), Some(0));
    world.done("remove_mcp_server", r#"{"server_name":"u"}"#).await;
    assert_eq!(world.refused("get_mcp_server", r#"{"server_name":"u"}"#).await.code, Code::NotFound);
    world.adapter.disconnect().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let world = World::new().await;
    world.done("add_mcp_server", r#"{"name":"github","command":"c"}"#).await;
    assert_eq!(world.refused("add_mcp_server", r#"{"name":"github","command":"other"}"#).await.code, Code::Conflict);
    for (wrong, place) in [
        (r#"{"name":"a/b","command":"c"}"#, "/name"),
        (r#"{"name":"","command":"c"}"#, "/name"),
        (r#"{"name":"x"}"#, ""),
        (r#"{"name":"x","command":"c","url":"http://h/"}"#, ""),
        (r#"{"name":"x","url":"http://h/","transport":"ws"}"#, "/transport"),
        (r#"{"name":"x","url":"http://h/","transport":"stdio"}"#, "/transport"),
        (r#"{"name":"x","command":"c","transport":"sse"}"#, "/transport"),
        (r#"{"name":"x","command":"c","headers":{"a":"b"}}"#, "/headers"),
        (r#"{"name":"x","url":"http://h/","env":{"a":"b"}}"#, "/env"),
        (r#"{"name":"x","command":"c","compile_hints":[]}"#, "/compile_hints"),
        (r#"{"name":"x","command":"c","nmae":"y"}"#, "/"),
        (r#"{"name":"x","command":"c","env":{"API_KEY":"hunter2hunter2"}}"#, "server x, env API_KEY"),
        (r#"{"name":"x","url":"http://h/","headers":{"Authorization":"Bearer hunter2hunter2"}}"#, "server x, header Authorization"),
    ] {
        let refusal = world.refused("add_mcp_server", wrong).await;
        assert_eq!(refusal.code, Code::Invalid, "{wrong}");
        assert_eq!(refusal.problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>(), [place], "{wrong}: {refusal:?}");
    }
    assert_eq!(
        world.refused("update_mcp_server", r#"{"server_name":"github","env":{"API_KEY":"hunter2hunter2"},"command":"c"}"#).await.code,
        Code::Invalid
    );
    let unknown = world.refused("connect_mcp_server", r#"{"server_name":"gihub"}"#).await;
    assert!(unknown.code == Code::NotFound && unknown.message.contains("`github`"), "{unknown:?}");
    let all = world.done("list_mcp_servers", "{}").await;
    assert_eq!(all.get("servers").and_then(Value::as_array).map(<[Value]>::len), Some(1));
    let kept = world.done("update_mcp_server", r#"{"server_name":"github","description":"d","metadata":{"n":1.0}}"#).await;
    assert_eq!((text(&kept, "description"), kept.get("metadata").map(json::to_string).as_deref()), ("d", Some(r#"{"n":1.0}"#)));
    let emptied = world.done("update_mcp_server", r#"{"server_name":"github","metadata":null}"#).await;
    assert_eq!((text(&emptied, "description"), emptied.get("metadata")), ("d", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_in_error_and_says_why() {
    let world = World::new().await;
    world.done("add_mcp_server", r#"{"name":"missing","command":"/no/such/program"}"#).await;
    world.done("add_mcp_server", r#"{"name":"unset","command":"c","env":{"A":"${NOBODY_SET_THIS}"}}"#).await;
    let says = r#"{"name":"dies","command":"sh","args":["-c","echo the token is $SERVICE_TOKEN >&2; exit 3"],"env":{"SERVICE_TOKEN":"${SERVICE_TOKEN}"}}"#;
    world.done("add_mcp_server", says).await;
    world.done("add_mcp_server", r#"{"name":"nobody","url":"http://127.0.0.1:1/mcp"}"#).await;
    for (name, said) in [
        ("missing", "`/no/such/program` cannot be started"),
        ("unset", "NOBODY_SET_THIS is not set"),
        ("dies", "the token is [secret SERVICE_TOKEN]"),
        ("nobody", "cannot be reached"),
    ] {
        let asked = format!(r#"{{"server_name":"{name}"}}"#);
        let refusal = world.refused("connect_mcp_server", &asked).await;
        assert!(refusal.code == Code::Missing && refusal.message.contains(said), "{name}: {refusal:?}");
        let kept = world.done("get_mcp_server", &asked).await;
        assert_eq!((text(&kept, "status"), text(&kept, "last_error")), ("error", refusal.message.as_str()));
        let call = format!(r#"{{"server_name":"{name}","tool_name":"t"}}"#);
        assert_eq!(world.refused("call_mcp_tool", &call).await.code, Code::Missing);
    }
    let listed = world.done("list_mcp_servers", r#"{"status":"error"}"#).await;
    assert_eq!(listed.get("servers").and_then(Value::as_array).map(<[Value]>::len), Some(4));
    world.done("add_mcp_server", &unruly("u", r#","auto_connect":true"#)).await;
    world.service.connect_automatically().await.expect("the store answers");
    assert_eq!(text(&world.done("get_mcp_server", r#"{"server_name":"u"}"#).await, "status"), "connected");
    let absent = world.refused("call_mcp_tool", r#"{"server_name":"u","tool_name":"ecko"}"#).await;
    assert_eq!((absent.code, absent.problems[0].help.as_deref()), (Code::NotFound, Some("the server has a tool `echo`")));
    let late = world.refused("call_mcp_tool", r#"{"server_name":"u","tool_name":"hang","timeout_seconds":1}"#).await;
    assert!(late.code == Code::Unavailable && late.message.contains("within 1 s"), "{late:?}");
    let died = world.refused("call_mcp_tool", r#"{"server_name":"u","tool_name":"die","arguments":{"words":"last words"}}"#).await;
    assert!(died.code == Code::Unavailable && died.message.contains("last words"), "{died:?}");
    // It is started again by who calls next.
    world.done("call_mcp_tool", r#"{"server_name":"u","tool_name":"count"}"#).await;
    world.adapter.disconnect().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_find_servers_in_the_registry_each_time_they_are_taken_up() {
    let world = World::new().await;
    let steps = "  - id: one\n    call: u/echo\n    with: { n: 1 }\n  - id: ask\n    escalate: { role: r, message: Well? }\n  - id: two\n    call: u/echo\n    with: { n: 2 }\n";
    let document =
        json::quote(&format!("workflow: w\nversion: 1\nservers:\n  u: {{}}\nsteps:\n{steps}output: \"${{{{ steps.two.n }}}}\"\n"));
    world.done("deploy_workflow", &format!(r#"{{"document":{document}}}"#)).await;
    let missing = world.refused("invoke_workflow", r#"{"workflow_name":"w","run_id":"early"}"#).await;
    assert!(missing.code == Code::Missing && missing.problems[0].code == "no-such-server", "{missing:?}");

    world.done("add_mcp_server", &unruly("u", "")).await;
    let run = world.done("invoke_workflow", r#"{"workflow_name":"w","run_id":"r"}"#).await;
    assert_eq!(text(&run, "status"), "waiting");
    let question =
        run.get("escalations").and_then(Value::as_array).and_then(|all| all.first()).and_then(Value::as_str).expect("a question");
    world.done("remove_mcp_server", r#"{"server_name":"u"}"#).await;
    world.done("claim_and_resolve", &format!(r#"{{"escalation_id":"{question}","resolver_id":"me","payload":{{"go":true}}}}"#)).await;
    let gone = world.refused("resume_run", r#"{"run_id":"r"}"#).await;
    assert_eq!((gone.code, gone.problems[0].code), (Code::Missing, "no-such-server"));
    assert_eq!(text(&world.done("get_run", r#"{"run_id":"r"}"#).await, "status"), "waiting", "it waits until the server is there again");
    world.done("add_mcp_server", &unruly("u", "")).await;
    let done = world.done("resume_run", r#"{"run_id":"r"}"#).await;
    assert_eq!((text(&done, "status"), done.get("output")), ("done", Some(&Value::from(2_i64))));
    world.adapter.disconnect().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_imported_is_what_the_file_says() {
    let world = World::new().await;
    world.done("add_mcp_server", r#"{"name":"there","command":"old","description":"mine"}"#).await;
    let file = r#"{"mcpServers":{
        "a":{"command":"npx","args":["-y","x"],"env":{"T":"${T}"},"cwd":"/w","disabled":false,"alwaysAllow":["y"]},
        "b":{"type":"sse","url":"https://h/sse","headers":{"Authorization":"Bearer ${T}"},"tags":["t"]},
        "there":{"command":"new"},
        "leaks":{"command":"x","env":{"API_TOKEN":"hunter2hunter2"}},
        "bad name":{"command":"x"},
        "no":7}}"#;
    let imported = world.done("import_mcp_servers", &format!(r#"{{"document":{file}}}"#)).await;
    assert!(!json::to_string(&imported).contains(SECRET));
    assert_eq!(imported.get("added").map(json::to_string).as_deref(), Some(r#"["a","b"]"#));
    let refused = |imported: &Value| -> Vec<String> {
        imported.get("refused").and_then(Value::as_array).into_iter().flatten().map(|refused| text(refused, "name").to_owned()).collect()
    };
    assert_eq!(refused(&imported), ["there", "leaks", "bad name", "no"]);
    let again = world.done("import_mcp_servers", &format!(r#"{{"document":{file},"replace":true}}"#)).await;
    assert_eq!(again.get("updated").map(json::to_string).as_deref(), Some(r#"["a","b","there"]"#));
    assert_eq!(refused(&again), ["leaks", "bad name", "no"]);
    // What is shown can be imported again, and is the same then.
    let mut servers = Object::default();
    for name in ["a", "b", "there"] {
        let shown = world.done("get_mcp_server", &format!(r#"{{"server_name":"{name}"}}"#)).await;
        assert!(shown.get("description").is_none(), "the file says nothing of what it is for");
        servers.insert(name, shown.get("configuration").cloned().expect("it has one"));
    }
    let expected = r#"{"a":{"command":"npx","args":["-y","x"],"env":{"T":"${T}"},"cwd":"/w"},"b":{"type":"sse","url":"https://h/sse","headers":{"Authorization":"Bearer ${T}"}},"there":{"command":"new"}}"#;
    assert_eq!(json::to_string(&Value::Object(servers)), expected);
    let round = World::new().await;
    round.done("import_mcp_servers", &format!(r#"{{"document":{expected}}}"#)).await;
    let shown = round.done("get_mcp_server", r#"{"server_name":"b"}"#).await;
    assert_eq!(text(&shown, "transport"), "sse");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_of_the_store_is_one_that_the_compiler_reads() {
    let world = World::new().await;
    let about = TraceAbout { task: Some("Echo 7".to_owned()), workflow: Some("w".into()), ..TraceAbout::default() };
    let id = TraceId("t1".into());
    let new = NewTrace { id: id.clone(), by: "test".into(), about, servers: Object::default(), started_at: Moment(1000) };
    world.store.open_trace(new).await.expect("it opens");
    let object = |text: &str| json::parse(text.as_bytes()).ok().and_then(|value| value.as_object().cloned()).expect("an object");
    let call = TraceCall {
        id: "c1".into(),
        server: "u".into(),
        tool: "echo".into(),
        arguments: object(r#"{"n":7}"#),
        outcome: TraceOutcome::Result(object(r#"{"content":[],"structuredContent":{"n":7.0}}"#).into()),
        started_at: Moment(1001),
        ended_at: Moment(1002),
        turn: None,
    };
    world.store.append_calls(&id, std::slice::from_ref(&call)).await.expect("it is written down");
    let listed = world.done("list_traces", r#"{"workflow_name":"w","open":true}"#).await;
    assert_eq!(listed.get("traces").and_then(Value::as_array).map(<[Value]>::len), Some(1));
    let shown = world.done("get_trace", r#"{"trace_id":"t1"}"#).await;
    let document = json::to_string(shown.get("document").expect("a document"));
    let read = ltc_compiler::ingest::read("t1.json", document.as_bytes(), None).expect("the compiler reads it");
    assert_eq!((read.traces.len(), read.notes.len(), read.traces[0].calls.len()), (1, 0, 1));
    assert_eq!(read.traces[0].task.as_deref(), Some("Echo 7"));
    world.done("delete_trace", r#"{"trace_id":"t1"}"#).await;
    assert_eq!(world.refused("get_trace", r#"{"trace_id":"t1"}"#).await.code, Code::NotFound);
    assert_eq!(world.refused("delete_trace", r#"{"trace_id":"t1"}"#).await.code, Code::NotFound);
    assert_eq!(world.done("prune_traces", r#"{"older_than_seconds":1}"#).await.get("traces"), Some(&Value::from(0_i64)));
}
