//! The gateway, as an agent uses it: tools of registered servers, a question that is claimed and answered, and the recording of how, which is compiled and runs.

#[path = "gateway/agent.rs"]
mod agent;
#[path = "record/conversation.rs"]
#[allow(dead_code)] // Each test uses its part.
mod conversation;
#[path = "gateway/delay.rs"]
mod delay;
#[cfg(unix)]
#[path = "gateway/failed.rs"]
mod failed;
#[cfg(unix)]
#[path = "gateway/hostile.rs"]
mod hostile;
#[cfg(unix)]
#[path = "gateway/joined.rs"]
mod joined;
mod support;
#[path = "record/timing.rs"]
mod timing;

use agent::{Agent, at, done, register, text};
use ltc_workflow::{Value, json};
use std::time::{Duration, Instant};
use support::{Folder, ended};

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
    // The gateway's process may be the one that goes on with it.
    let again = || ended(&mut at(&folder, ["run", ask.to_str().expect("a path"), "--id", "r1", "--input", r#"{"status":"late"}"#]));
    let resumed = agent::until("the run ends", || Some(again()).filter(|again| again.code == 0));
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
    // What another process registers is seen within 50 ms.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let (_, is_error) = agent.call("call_mcp_tool", r#"{"server_name":"desk","tool_name":"list_orders","arguments":{"status":"late"}}"#);
    assert!(is_error, "the server cannot be started");
    assert!(!agent.call("get_available_work", "{}").1, "the gateway goes on");
}
