//! The gateway, as an agent uses it: tools of registered servers, a question that is claimed and answered, and the recording of how, which is compiled and runs.

#[path = "record/conversation.rs"]
#[allow(dead_code)] // Each test uses its part.
mod conversation;
mod support;

use conversation::Conversation;
use ltc_workflow::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};
use support::{Ended, Folder, ended, ltc};

fn at<S: AsRef<std::ffi::OsStr>>(folder: &Folder, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = ltc(arguments);
    command.env("LTC_HOME", folder.path());
    command
}

#[track_caller]
fn done(ended: Ended) -> Value {
    assert_eq!(ended.code, 0, "{ended:?}");
    json::parse(ended.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// The order desk under the name `name`, connected to once.
fn register(folder: &Folder, name: &str) {
    let desk = env!("CARGO_BIN_EXE_ltc");
    assert_eq!(ended(&mut at(folder, ["servers", "add", name, "--", desk, "demo-server"])).code, 0);
    assert_eq!(ended(&mut at(folder, ["servers", "test", name])).code, 0);
}

/// A client of the gateway.
struct Agent {
    conversation: Conversation,
    asked: u32,
}

impl Agent {
    fn greet(folder: &Folder) -> Agent {
        let mut agent = Agent {
            conversation: Conversation::with(&mut at(folder, ["serve", "--stdio", "--only", "gateway", "--only", "human-queue"])),
            asked: 0,
        };
        agent.ask("initialize", r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}"#);
        agent.conversation.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        agent
    }

    fn ask(&mut self, method: &str, params: &str) -> Value {
        self.asked += 1;
        self.conversation.ask(&self.asked.to_string(), method, params)
    }

    fn tools(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", "{}");
        let tools = list.get("result").and_then(|result| result.get("tools")).and_then(Value::as_array).expect("tools");
        tools.iter().filter_map(|tool| tool.get("name").and_then(Value::as_str).map(str::to_owned)).collect()
    }

    /// The result of a call, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: &str) -> (Value, bool) {
        let answer = self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool}: {}", json::to_string(&answer)));
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
        let text = result.get("content").and_then(|content| content.at(0)).and_then(|block| block.get("text")).and_then(Value::as_str);
        let value = result.get("structuredContent").cloned().or_else(|| json::parse(text?.as_bytes()).ok());
        (value.unwrap_or_else(|| Value::from(text.unwrap_or_default())), is_error)
    }
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no {key} in {}", json::to_string(value))).to_owned()
}

const ASK: &str = "workflow: ask\nversion: 1\ninputs: { status: { type: string } }\nsteps:\n  - id: q\n    escalate:\n      role: clerk\n      message: Which orders are there?\n      data: { input: { status: \"${{ inputs.status }}\" }, workflow: ask }\noutput: \"${{ steps.q }}\"\n";

#[test]
fn a_question_is_answered_through_the_gateway_and_the_recording_becomes_a_workflow() {
    let folder = Folder::new();
    register(&folder, "desk");
    let ask = folder.file("ask.yaml", ASK);
    let waits = ended(at(&folder, ["run"]).arg(&ask).args(["--id", "r1", "--input", r#"{"status":"late"}"#]));
    assert_eq!(waits.code, 4, "{waits:?}");

    let mut agent = Agent::greet(&folder);
    let tools = agent.tools();
    for name in ["mcp_desk_list_orders", "claim_escalation", "get_available_work"] {
        assert!(tools.iter().any(|tool| tool == name), "{name} is missing in {tools:?}");
    }
    let (work, _) = agent.call("get_available_work", "{}");
    let question = work.get("escalations").and_then(|list| list.at(0)).cloned().expect("a question");
    let id = text(&question, "escalation_id");
    let (claimed, _) = agent.call("claim_escalation", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent"}}"#));
    let trace = text(&claimed, "trace_id");
    let (_, is_error) = agent.call("claim_escalation", &format!(r#"{{"escalation_id":"{id}","resolver_id":"other"}}"#));
    assert!(is_error, "the question is claimed already");
    let (orders, is_error) = agent.call("mcp_desk_list_orders", r#"{"status":"late"}"#);
    assert!(!is_error, "{}", json::to_string(&orders));
    let answer = json::to_string(&orders);
    let (_, is_error) = agent.call("claim_and_resolve", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent","payload":{answer}}}"#));
    assert!(!is_error);
    let resumed = ended(&mut at(&folder, ["run", ask.to_str().expect("a path"), "--id", "r1", "--input", r#"{"status":"late"}"#]));
    assert_eq!(json::parse(resumed.stdout.as_bytes()), Ok(orders.clone()), "{resumed:?}");

    // The recording is there while the agent is, and it is what the agent did.
    let before = Instant::now();
    let recorded = loop {
        let shown = done(ended(&mut at(&folder, ["traces", "show", &trace])));
        let document = shown.get("document").cloned().unwrap_or(shown);
        let calls = document.get("calls").and_then(Value::as_array).map_or(0, <[Value]>::len);
        if calls == 1 || before.elapsed() > Duration::from_secs(10) {
            break document;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let call = recorded.get("calls").and_then(|calls| calls.at(0)).cloned().expect("a call");
    assert_eq!((text(&call, "server").as_str(), text(&call, "tool").as_str()), ("desk", "list_orders"));
    assert_eq!(recorded.get("input").map(json::to_string).as_deref(), Some(r#"{"status":"late"}"#));

    // It compiles, and what comes out runs against the registered server, with another input.
    let file = folder.file("solution.json", &json::to_string(&recorded));
    let out = folder.path().join("solution.yaml");
    let compiled = ended(at(&folder, ["compile"]).arg(&file).arg("-o").arg(&out).args(["--name", "solution"]));
    assert_eq!(compiled.code, 0, "{compiled:?}");
    let run = ended(at(&folder, ["run"]).arg(&out).args(["--input", r#"{"status":"shipped"}"#]));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(std::fs::read_to_string(&out).expect("it is written").contains("inputs.status"), "{run:?}");
}

#[test]
fn an_answer_with_its_recording_is_tried_the_next_time() {
    let folder = Folder::new();
    register(&folder, "desk");
    let form = "form: { type: object, required: [orders] }";
    let text_of =
        ASK.replace("data: { input: { status: \"${{ inputs.status }}\" }, workflow: ask }", &format!("{form}\n      triage: true"));
    let ask = folder.file("ask.yaml", &text_of);
    let waits = ended(at(&folder, ["run"]).arg(&ask).args(["--id", "r1", "--input", r#"{"status":"late"}"#]));
    assert_eq!(waits.code, 4, "{waits:?}");
    let mut agent = Agent::greet(&folder);
    let (work, _) = agent.call("get_available_work", "{}");
    let question = work.get("escalations").and_then(|list| list.at(0)).cloned().expect("a question");
    let tools = question.get("data").and_then(|data| data.get("tools")?.get("desk")).map(json::to_string);
    assert!(tools.is_some(), "{}", json::to_string(&question));
    let id = text(&question, "escalation_id");
    let (claimed, _) = agent.call("claim_escalation", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent"}}"#));
    let trace = text(&claimed, "trace_id");
    let (orders, _) = agent.call("mcp_desk_list_orders", r#"{"status":"late"}"#);
    // At once: what was just done is in the recording all the same.
    let answer = format!(r#"{{"answer":{},"trace_id":"{trace}"}}"#, json::to_string(&orders));
    let (resolved, is_error) =
        agent.call("claim_and_resolve", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent","payload":{answer}}}"#));
    let learned = resolved.get("learned").cloned().unwrap_or_default();
    assert!(!is_error && learned.get("is_tried") == Some(&Value::Bool(true)), "{}", json::to_string(&resolved));
    // The recording says no output: that is the answer, which came from the last call.
    let again = ended(at(&folder, ["run"]).arg(&ask).args(["--id", "r2", "--input", r#"{"status":"late"}"#]));
    assert_eq!((again.code, json::parse(again.stdout.as_bytes())), (0, Ok(orders)), "{again:?}");
}

#[test]
fn tools_of_one_name_are_told_apart_and_an_unknown_one_is_refused() {
    let folder = Folder::new();
    for name in ["a.b", "a_b"] {
        register(&folder, name);
    }
    let mut agent = Agent::greet(&folder);
    let tools = agent.tools();
    let lists: Vec<&String> = tools.iter().filter(|tool| tool.starts_with("mcp_a_b_list_orders")).collect();
    assert_eq!(lists.len(), 2, "{tools:?}");
    assert_ne!(lists[0], lists[1]);
    for tool in lists {
        assert!(!agent.call(tool, r#"{"status":"late"}"#).1);
    }
    let unknown = agent.ask("tools/call", r#"{"name":"mcp_a_b_none","arguments":{}}"#);
    assert!(unknown.get("error").is_some(), "{}", json::to_string(&unknown));
}

#[test]
fn a_server_that_is_registered_meanwhile_is_told_and_one_that_cannot_start_is_one_failure() {
    let folder = Folder::new();
    let mut agent = Agent::greet(&folder);
    assert!(!agent.tools().iter().any(|tool| tool.starts_with("mcp_")));
    register(&folder, "desk");
    let heard = loop {
        let message = agent.conversation.message();
        if message.get("method").and_then(Value::as_str) == Some("notifications/tools/list_changed") {
            break true;
        }
    };
    assert!(heard && agent.tools().iter().any(|tool| tool == "mcp_desk_list_orders"));
    let update = ended(&mut at(&folder, ["servers", "update", "desk", "--", "no-such-program-here"]));
    assert_eq!(update.code, 0, "{update:?}");
    let (_, is_error) = agent.call("call_mcp_tool", r#"{"server_name":"desk","tool_name":"list_orders","arguments":{"status":"late"}}"#);
    assert!(is_error, "the server cannot be started");
    assert!(!agent.call("get_available_work", "{}").1, "the gateway goes on");
}
