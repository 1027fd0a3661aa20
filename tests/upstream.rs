//! Connections to servers, through the runtime's border: what arrives, and what is said when nothing does.

mod support;

use ltc_runtime::observe::Log;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::servers::Endpoint;
use ltc_runtime::upstream::{Connector, Limits, ToolCall, Upstream};
use ltc_workflow::advance::{Failure, StepKey};
use ltc_workflow::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::{Folder, HttpServer, fixture_server};

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Log for Lines {
    fn learn(&self, _secrets: &Redactor) {}

    fn server_said(&self, server: &str, line: &str) {
        self.0.lock().expect("no test panics while it logs").push(format!("{server}: {line}"));
    }

    fn redact(&self, text: &str) -> String {
        text.replace("hunter22", "[secret P]")
    }
}

fn connector(lines: &Arc<Lines>) -> Connector {
    let limits = Limits { connect: Duration::from_secs(20), call: Duration::from_secs(20) };
    Connector { log: lines.clone(), limits }
}

fn stdio(log: Option<&Path>, env: &[(&str, &str)]) -> Endpoint {
    let mut args = vec!["stdio".to_owned()];
    args.extend(log.map(|log| log.display().to_string()));
    let env = env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Endpoint::Stdio { command: fixture_server().display().to_string(), args, env, cwd: None, hidden: BTreeSet::new() }
}

fn http(server: &HttpServer, path: &str) -> Endpoint {
    let headers = BTreeMap::from([("X-Api-Key".to_owned(), "letmein".to_owned())]);
    Endpoint::Http { url: format!("http://127.0.0.1:{}{path}", server.port), headers, sse: path.starts_with("/sse") }
}

fn call(tool: &str, arguments: &str) -> ToolCall {
    let arguments = json::parse(arguments.as_bytes()).expect("valid JSON in a test");
    let arguments = arguments.as_object().expect("an object").clone();
    ToolCall { tool: tool.into(), arguments, step: StepKey("each[2]/label".into()), run: "run-1".into(), hearing: None }
}

async fn answer(upstream: &dyn Upstream, tool: &str, arguments: &str) -> Result<String, Failure> {
    let result = upstream.call(&call(tool, arguments)).await?;
    result.decode().map(|value| json::to_string(&value))
}

async fn failure(upstream: &dyn Upstream, tool: &str, arguments: &str) -> (String, String) {
    let failure = answer(upstream, tool, arguments).await.expect_err("it fails");
    (failure.code.to_string(), failure.message)
}

/// Numbers that a reader with 64-bit integers or floats would change, and texts that look like what we use on the way.
const ODD: &str = r#"{"z":123456789012345678901234567890,"a":[1.0,1.10,1e400,-0,0.1,9007199254740993,1E5],"ltc.private/arguments":"{}","s":"123456789012345678901234567890","_meta":{"k":1.50}}"#;

async fn carries_everything(upstream: &dyn Upstream) {
    assert_eq!(answer(upstream, "echo", ODD).await, Ok(ODD.to_owned()));
    let raw = r#"{"content":[{"type":"text","text":"see"},{"type":"odd","n":1.10}],"structuredContent":[18446744073709551616],"_meta":{"ltc.private/result":"{}"}}"#;
    let result = upstream.call(&call("raw", &format!(r#"{{"result":{}}}"#, json::quote(raw)))).await.expect("it answers");
    let sent = json::parse(raw.as_bytes()).expect("valid JSON in a test");
    assert_eq!(Some(result.content.as_slice()), sent.get("content").and_then(Value::as_array));
    assert_eq!(result.structured.as_ref(), sent.get("structuredContent"));
    assert_eq!(failure(upstream, "fail", r#"{"words":"no\u001b[31m such page"}"#).await.0, "tool-error");
    let (code, message) = failure(upstream, "rpc_error", r#"{"words":"bad page"}"#).await;
    assert_eq!((code.as_str(), message.as_str()), ("rpc-error", "bad page (JSON-RPC error -32602)"));
    assert_eq!(answer(upstream, "long", "{}").await.expect("it answers").len(), 3_000_008);
    let (code, message) = failure(upstream, "garbage", "{}").await;
    assert_eq!(code, "rpc-error");
    assert!(message.contains("the server's answer cannot be read"), "{message}");
}

#[tokio::test]
async fn stdio_carries_every_number_and_every_byte() {
    let folder = Folder::new();
    let log = folder.path().join("log");
    let lines = Arc::default();
    let upstream = connector(&lines).connect("u", &stdio(Some(&log), &[])).await.expect("it connects");
    carries_everything(upstream.as_ref()).await;
    upstream.close().await;
    // What the server saw, not what it made of it.
    let seen = std::fs::read_to_string(log).expect("the server logs");
    let first = seen.lines().next().expect("a call");
    assert!(first.contains(&format!(r#""arguments":{ODD}"#)), "{first}");
    assert!(first.contains(r#""ltc/step":"each[2]/label""#) && first.contains(r#""ltc/run":"run-1""#), "{first}");
    assert!(!first.replace(ODD, "").contains("ltc.private"), "{first}");
}

#[tokio::test]
async fn http_carries_every_number_and_every_byte_as_json_as_events_and_over_the_old_transport() {
    let server = HttpServer::start(&BTreeMap::new());
    for path in ["/json", "/events", "/sse"] {
        let lines = Arc::default();
        let upstream = connector(&lines).connect("h", &http(&server, path)).await.expect("it connects");
        carries_everything(upstream.as_ref()).await;
        upstream.close().await;
    }
}

#[tokio::test]
async fn a_server_that_dies_leaves_its_last_words() {
    let lines: Arc<Lines> = Arc::default();
    let upstream = connector(&lines).connect("u", &stdio(None, &[])).await.expect("it connects");
    let (code, message) = failure(upstream.as_ref(), "die", r#"{"words":"out of \u001b[31mmemory, hunter22"}"#).await;
    assert_eq!(code, "server-died");
    assert!(message.contains("exit status: 3"), "{message}");
    assert!(message.ends_with("first words\n  out of memory, [secret P]"), "{message}");
    assert!(!upstream.is_open());
    let said = lines.0.lock().expect("no test panics while it logs").clone();
    assert_eq!(said, ["u: first words", "u: out of memory, [secret P]"]);
}

#[tokio::test]
async fn lines_that_are_no_messages_and_answers_to_nothing_are_passed_over() {
    let lines: Arc<Lines> = Arc::default();
    let upstream = connector(&lines).connect("u", &stdio(None, &[])).await.expect("it connects");
    assert_eq!(answer(upstream.as_ref(), "banner", "{}").await, Ok("\"after the banner\"".to_owned()));
    assert_eq!(answer(upstream.as_ref(), "twice", "{}").await, Ok("\"one\"".to_owned()));
    assert_eq!(answer(upstream.as_ref(), "echo", r#"{"a":1}"#).await, Ok(r#"{"a":1}"#.to_owned()));
    let said = lines.0.lock().expect("no test panics while it logs").clone();
    assert_eq!(said, ["u: (on stdout, no message) Server ready !"]);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_and_the_server_is_ended() {
    let lines: Arc<Lines> = Arc::default();
    let upstream = connector(&lines).connect("u", &stdio(None, &[])).await.expect("it connects");
    let waited = tokio::time::timeout(Duration::from_millis(200), upstream.call(&call("hang", "{}"))).await;
    assert!(waited.is_err(), "it hangs");
    assert_eq!(answer(upstream.as_ref(), "echo", "{}").await, Ok("{}".to_owned()));
    let before = Instant::now();
    upstream.close().await;
    assert!(before.elapsed() < Duration::from_secs(2), "a server whose stdin closes ends at once");
}

#[tokio::test]
async fn tools_come_with_digests_that_follow_their_schemas() {
    let mut digests = Vec::new();
    for schema in [r#"{"a":{"maximum":1e400}}"#, r#"{"a":{"maximum":1e401}}"#] {
        let lines: Arc<Lines> = Arc::default();
        let upstream = connector(&lines).connect("u", &stdio(None, &[("UNRULY_SCHEMA", schema)])).await.expect("it connects");
        let tools = upstream.tools().await.expect("it has tools");
        digests.push(tools.iter().find(|tool| tool.name == "echo").expect("it echoes").digest());
        upstream.close().await;
    }
    let properties = |limit: &str| format!(r#"{{"a":{{"maximum":{limit}}}}}"#);
    let expected = ["1e400", "1e401"].map(|limit| {
        let schema = format!(r#"{{"type":"object","properties":{},"required":["a"]}}"#, properties(limit));
        ltc_workflow::digest::of_tool("echo", json::parse(schema.as_bytes()).ok().as_ref(), None)
    });
    assert_eq!(digests, expected);
}

#[tokio::test]
async fn what_keeps_a_server_from_being_reached_is_said() {
    let lines: Arc<Lines> = Arc::default();
    let connector = connector(&lines);
    let refused = async |endpoint: Endpoint| {
        let failure = connector.connect("s", &endpoint).await.err().expect("it is refused");
        assert_eq!(failure.code, "connect-failed");
        failure.message
    };
    let program = |command: &str, args: &[&str]| Endpoint::Stdio {
        command: command.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: BTreeMap::new(),
        cwd: None,
        hidden: BTreeSet::new(),
    };
    let message = refused(program("no-such-program-here", &[])).await;
    assert!(message.contains("`no-such-program-here` cannot be started"), "{message}");
    let message = refused(program(&fixture_server().display().to_string(), &["sing"])).await;
    assert!(message.contains("or restless?"), "{message}");

    let server = HttpServer::start(&BTreeMap::new());
    let bare = Endpoint::Http { url: format!("http://127.0.0.1:{}/json", server.port), headers: BTreeMap::new(), sse: false };
    let message = refused(bare).await;
    assert!(message.to_lowercase().contains("auth"), "{message}");
    let message = refused(http(&server, "/sse/astray")).await;
    assert!(message.contains("another host"), "{message}");
    let message = refused(http(&server, "/moved")).await;
    assert!(message.contains("307"), "{message}");
    let message = refused(http(&server, "/broken")).await;
    assert!(message.contains("500") && !message.contains('\u{1b}'), "{message}");
    let port = server.port;
    drop(server);
    let message =
        refused(Endpoint::Http { url: format!("http://127.0.0.1:{port}/?key=hunter22"), headers: BTreeMap::new(), sse: false }).await;
    assert!(!message.contains("hunter22") && message.to_lowercase().contains("connect"), "{message}");
}

#[tokio::test]
async fn an_http_answer_that_is_cut_off_is_a_failure() {
    let server = HttpServer::start(&BTreeMap::new());
    let lines: Arc<Lines> = Arc::default();
    let upstream = connector(&lines).connect("h", &http(&server, "/drop")).await.expect("it connects");
    let (code, _) = failure(upstream.as_ref(), "echo", "{}").await;
    assert_eq!(code, "http-error");
    upstream.close().await;
}

#[tokio::test]
async fn a_server_that_knows_the_newest_protocol_only_is_spoken_to_in_it() {
    let lines: Arc<Lines> = Arc::default();
    let upstream = connector(&lines).connect("u", &stdio(None, &[("UNRULY_MODERN", "1")])).await.expect("it connects");
    assert_eq!(answer(upstream.as_ref(), "echo", ODD).await, Ok(ODD.to_owned()));
    upstream.close().await;
    let server = HttpServer::start(&BTreeMap::from([("UNRULY_MODERN", "1")]));
    let upstream = connector(&lines).connect("h", &http(&server, "/json")).await.expect("it connects");
    assert_eq!(answer(upstream.as_ref(), "echo", ODD).await, Ok(ODD.to_owned()));
    upstream.close().await;
}
