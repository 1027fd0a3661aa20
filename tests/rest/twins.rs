//! Every operation that is a route of REST and a tool of MCP gives the same over both.
//!
//! Two servers over two stores that begin alike are taken through the same steps, one over REST and one over MCP; what only reads is also asked over both of one
//! store, where nothing at all may differ. What may differ between the two stores is what they make up for themselves: instants, names that are given where nobody
//! gives one, and how long something took. One field is more over MCP: `trace_id` of a claim, since the connection records what is done from then on.

use crate::served::Served;
use crate::{ASK, ECHO, document};
use ltc_runtime::service::{Kind, OPERATIONS, Operation, Rest, Surface};
use ltc_workflow::{Object, Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn object(text: &str) -> Object {
    value(text).as_object().expect("an object").clone()
}

/// The one word that differs between two stores, where `word` is one.
fn made_up(word: &str) -> Option<&'static str> {
    let bytes = word.as_bytes();
    let is_instant = bytes.len() >= 20 && word.ends_with('Z') && bytes[4] == b'-' && bytes[10] == b'T' && bytes[0].is_ascii_digit();
    let is_name = word.split_once('-').is_some_and(|(time, digits)| {
        time.len() == 14 && time.bytes().all(|b| b.is_ascii_digit()) && digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit())
    });
    if is_instant { Some("<instant>") } else { is_name.then_some("<name>") }
}

/// A value without what a store makes up for itself.
fn neutral(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let part = |part: &str| match made_up(part.trim_end_matches(['.', ','])) {
                Some(word) => word.to_owned(),
                None => part.to_owned(),
            };
            Value::from(text.split(' ').map(part).collect::<Vec<_>>().join(" ").as_str())
        }
        Value::Array(items) => items.iter().map(neutral).collect(),
        Value::Object(fields) => {
            let field = |(key, value): (&smol_str::SmolStr, &Value)| {
                let is_time = key.ends_with("_ms") || key == "oldest_open_seconds";
                (key.clone(), if is_time { Value::from("<time>") } else { neutral(value) })
            };
            fields.iter().map(field).collect::<Object>().into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The two servers, and what each has made up so far for the steps to name.
struct Twins {
    rest: Served,
    mcp: Served,
    names: Vec<(&'static str, String, String)>,
    seen: BTreeSet<&'static str>,
}

impl Twins {
    fn new() -> Twins {
        Twins { rest: Served::start(&[], None), mcp: Served::start(&[], None), names: Vec::new(), seen: BTreeSet::new() }
    }

    fn input(&self, text: &str, is_rest: bool) -> Object {
        let named = self
            .names
            .iter()
            .fold(text.to_owned(), |text, (name, of_rest, of_mcp)| text.replace(name, if is_rest { of_rest } else { of_mcp }));
        object(&named)
    }

    /// The same over REST, where there is no MCP: what people do before.
    fn prepare(&self, request: &str, body: &str) {
        for served in [&self.rest, &self.mcp] {
            let (status, answer) = served.send(request, body);
            assert_eq!(status, 200, "{request}: {}", json::to_string(&answer));
        }
    }

    /// One step of both; gives what REST gave.
    fn step(&mut self, name: &'static str, input: &str) -> Value {
        let operation = Operation::named(name).unwrap_or_else(|| panic!("no {name}"));
        self.seen.insert(name);
        let (status, over_rest) = self.rest.rest(operation, &self.input(input, true));
        let (is_error, over_mcp) = self.mcp.mcp(operation, &self.input(input, false));
        let without_trace = |value: &Value| match value {
            Value::Object(fields) if name == "claim_escalation" => fields
                .iter()
                .filter(|(key, _)| *key != "trace_id")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Object>()
                .into(),
            other => other.clone(),
        };
        let shown = |value: &Value| json::to_string_pretty(&neutral(&without_trace(value)));
        assert_eq!(shown(&over_rest), shown(&over_mcp), "{name} {input}: {status}");
        if status == 200 {
            let schema = jsonschema::validator_for(&operation.output_schema()).expect("a schema");
            let output = serde_json::from_str(&json::to_string(&over_rest)).expect("JSON");
            let errors: Vec<String> = schema.iter_errors(&output).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{name} {input} gives what its schema does not allow: {errors:?}");
        }
        let has_failed = over_rest.get("status").and_then(Value::as_str) == Some("failed");
        assert_eq!(
            status != 200 || has_failed && operation.kind == Kind::Runs,
            is_error,
            "{name} {input}: {status} {}",
            json::to_string(&over_rest)
        );
        if operation.kind == Kind::Reads {
            self.read(operation, input);
        }
        over_rest
    }

    /// What only reads, over both of each store, to the last digit.
    fn read(&self, operation: &Operation, input: &str) {
        for (served, is_rest) in [(&self.rest, true), (&self.mcp, false)] {
            let input = self.input(input, is_rest);
            let (_, over_rest) = served.rest(operation, &input);
            let (_, over_mcp) = served.mcp(operation, &input);
            // Only the age of a question may have changed between the two.
            let is_aged = operation.name == "summarize_escalations";
            let shown = |value: &Value| json::to_string(&if is_aged { neutral(value) } else { value.clone() });
            assert_eq!(shown(&over_rest), shown(&over_mcp), "{}", operation.name);
        }
    }

    /// Calls what each store has made up at `path` of an answer by `name` from now on.
    fn name(&mut self, name: &'static str, operation: &'static str, input: &str, path: &[&str]) {
        let found = |served: &Served, is_rest: bool| {
            let (_, answer) = served.rest(Operation::named(operation).expect("an operation"), &self.input(input, is_rest));
            let at = path.iter().try_fold(&answer, |at, key| key.parse().map_or_else(|_| at.get(key), |index: usize| at.at(index)));
            at.and_then(Value::as_str).unwrap_or_else(|| panic!("no {path:?} in {}", json::to_string(&answer))).to_owned()
        };
        let (of_rest, of_mcp) = (found(&self.rest, true), found(&self.mcp, false));
        self.names.push((name, of_rest, of_mcp));
    }

    /// Waits until a run stands so in both stores.
    fn until(&self, run: &str, status: &str) {
        let begun = Instant::now();
        for served in [&self.rest, &self.mcp] {
            while served.get(&format!("/api/runs/{run}")).1.get("status").and_then(Value::as_str) != Some(status) {
                assert!(begun.elapsed() < Duration::from_secs(20), "{run} does not become {status}");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

const FAIL: &str = "workflow: fail\nversion: 1\nservers:\n  desk:\n    command: \"${LTC}\"\n    args: [demo-server]\nsteps:\n  - id: get\n    call: desk/get_customer\n    with: { id: none }\noutput: 1\n";

#[test]
fn every_route_and_its_tool_give_the_same() {
    let mut twins = Twins::new();
    let other = ECHO.replace("steps: []", "description: Another one.\nsteps: []");
    for text in [ECHO, ASK, FAIL, &other] {
        twins.step("deploy_workflow", &document(text));
    }
    twins.step("deploy_workflow", r#"{"document":"workflow: ["}"#);
    twins.step("list_workflows", "{}");
    twins.step("list_workflows", r#"{"limit":1,"state":"active"}"#);
    twins.step("list_workflows", r#"{"after":"nonsense"}"#);
    twins.step("get_workflow", r#"{"workflow_name":"echo"}"#);
    twins.step("get_workflow", r#"{"workflow_name":"none"}"#);
    twins.step("list_workflow_versions", r#"{"workflow_name":"echo"}"#);
    twins.step("diff_workflow_versions", r#"{"workflow_name":"echo","from":1}"#);
    twins.step("set_workflow_state", r#"{"workflow_name":"echo","version":1,"state":"active"}"#);
    twins.step("set_workflow_state", r#"{"workflow_name":"echo","version":7,"state":"active"}"#);

    twins.step("invoke_workflow", r#"{"workflow_name":"echo","run_id":"r1","input":{"n":123456789012345678901234567890.10}}"#);
    twins.step("invoke_workflow", r#"{"workflow_name":"echo","input":{"m":1}}"#);
    twins.step("invoke_workflow", r#"{"workflow_name":"fail","run_id":"f1"}"#);
    twins.step("invoke_workflow", r#"{"workflow_name":"ask","run_id":"a1","async":true}"#);
    twins.until("a1", "waiting");
    twins.name("$question", "get_available_work", "{}", &["escalations", "0", "escalation_id"]);
    twins.step("get_available_work", r#"{"role":"reviewer","limit":5}"#);
    twins.step("check_resolution", r#"{"escalation_id":"$question"}"#);
    twins.step("check_resolution", r#"{"escalation_id":"none"}"#);
    twins.step("claim_escalation", r#"{"escalation_id":"$question","resolver_id":"me"}"#);
    twins.step("claim_escalation", r#"{"escalation_id":"$question","resolver_id":"you"}"#);
    twins.step("get_run_story", r#"{"run_id":"a1"}"#);
    twins.step("claim_and_resolve", r#"{"escalation_id":"$question","resolver_id":"me","payload":{"digits":1.10}}"#);
    twins.until("a1", "done");
    twins.step("resume_run", r#"{"run_id":"a1"}"#);
    twins.step("resume_run", r#"{"run_id":"none"}"#);
    twins.step("get_run", r#"{"run_id":"a1","events":true}"#);
    twins.step("get_run", r#"{"run_id":"r1"}"#);
    twins.step("get_run_story", r#"{"run_id":"f1"}"#);
    twins.step("invoke_workflow", r#"{"workflow_name":"ask","run_id":"a2","async":true}"#);
    twins.until("a2", "waiting");
    twins.step("cancel_run", r#"{"run_id":"a2"}"#);
    twins.step("list_runs", "{}");
    twins.step("list_runs", r#"{"status":"failed","workflow_name":"fail","limit":1}"#);
    twins.step("escalate_to_human", r#"{"role":"clerk","message":"Which?","data":[1.0],"priority":1}"#);
    twins.step("escalate_to_human", r#"{"role":"clerk","message":"Which?","priority":9}"#);

    twins.step("count_runs", "{}");
    twins.step("count_runs", r#"{"group_by":["workflow","status"],"every":"day","since":"1h"}"#);
    twins.step("count_runs", r#"{"since":"soon"}"#);
    twins.step("compare_workflows", r#"{"order_by":"name"}"#);
    twins.step("explain_failures", "{}");
    twins.step("rank_steps", r#"{"workflow_name":"ask"}"#);
    twins.step("summarize_escalations", "{}");
    twins.step("list_docs", "{}");
    twins.step("search_docs", r#"{"query":"resume a run, after a crash","limit":2}"#);
    twins.step("read_doc", r#"{"document":"guide","section":"serving"}"#);
    twins.step("read_doc", r#"{"document":"none"}"#);

    twins.prepare("POST /api/mcp/servers", r#"{"name":"desk","command":"${LTC}","args":["demo-server"],"tags":["orders"]}"#);
    twins.prepare("POST /api/mcp/servers", r#"{"name":"gone","command":"no-such-program-here"}"#);
    twins.step("get_mcp_server", r#"{"server_name":"desk"}"#);
    twins.step("connect_mcp_server", r#"{"server_name":"desk"}"#);
    twins.step("connect_mcp_server", r#"{"server_name":"gone"}"#);
    twins.step("connect_mcp_server", r#"{"server_name":"desc"}"#);
    twins.step("list_mcp_servers", r#"{"tags":["orders","other"],"tag_match":"any","limit":1}"#);
    twins.step("list_mcp_servers", r#"{"status":"error"}"#);
    twins.step("list_mcp_tools", r#"{"server_name":"desk","refresh":true}"#);
    twins.step("call_mcp_tool", r#"{"server_name":"desk","tool_name":"list_orders","arguments":{"status":"late"}}"#);
    twins.step("call_mcp_tool", r#"{"server_name":"desk","tool_name":"none"}"#);
    twins.step("call_mcp_tool", r#"{"server_name":"gone","tool_name":"none"}"#);
    twins.step("disconnect_mcp_server", r#"{"server_name":"desk"}"#);

    let recording = include_str!("../../fixtures/demo/late-orders.json");
    twins.step("add_trace", &format!(r#"{{"recording":{recording},"trace_id":"t1","workflow_name":"late"}}"#));
    twins.step("add_trace", r#"{"recording":"no recording"}"#);
    twins.step("list_traces", r#"{"workflow_name":"late"}"#);
    twins.step("get_trace", r#"{"trace_id":"t1"}"#);
    twins.step("get_trace", r#"{"trace_id":"none"}"#);
    twins.step("explain_traces", r#"{"trace_ids":["t1"]}"#);
    twins.step("compile_traces", r#"{"trace_ids":["t1"],"workflow_name":"late"}"#);
    twins.step("compile_traces", r#"{"trace_ids":["t1"],"hints":{"desk":{"prefers":["a"]}}}"#);
    twins.step("verify_workflow", r#"{"workflow_name":"late","version":1}"#);
    twins.step("recompile_workflow", r#"{"workflow_name":"late","hints":{"desk":{"inputs":["subject"]}}}"#);

    let is_both = |operation: &&Operation| matches!((operation.rest, operation.mcp), (Rest::At(..), Surface::At(_)));
    let all: BTreeSet<&str> = OPERATIONS.iter().filter(is_both).map(|operation| operation.name).collect();
    let missing: Vec<&&str> = all.difference(&twins.seen).collect();
    assert!(missing.is_empty(), "no step for {missing:?}");
}
