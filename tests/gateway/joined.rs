//! The gateway over HTTP: which calls are one recording, in the era without connections and with sessions; and clients whose connection is cut.

use crate::agent::{at, calls, register, register_restless, text, trace, traces, until};
use crate::support::Folder;
use ltc_workflow::{Object, Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// `ltc serve` on a free port; it ends with this.
struct Served {
    child: Child,
    port: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn over(folder: &Folder) -> Served {
        let mut command = at(folder, ["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the command can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it has a stderr"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it says where it listens");
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in {line}"));
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Served { child, port }
    }

    /// Sends a message and does not wait.
    fn send(&self, place: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let fixed =
            "host: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nconnection: close\r\n";
        let head = format!("POST /mcp/{place} HTTP/1.1\r\n{fixed}{headers}content-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("it reads");
        stream
    }

    /// The whole answer: its head, and the messages in it.
    fn post(&self, place: &str, headers: &str, body: &str) -> (String, Vec<Value>) {
        let mut answer = Vec::new();
        self.send(place, headers, body).read_to_end(&mut answer).expect("it answers");
        let answer = String::from_utf8(answer).expect("it answers in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        // A body in chunks, or of events, has a message in a line of its own.
        let lines = body.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim()).filter(|line| line.starts_with('{'));
        (head.to_owned(), lines.map(|line| json::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"))).collect())
    }

    /// Calls a tool in the era without connections; `meta` is what the call says beside what it has to.
    fn call(&self, tool: &str, arguments: &str, headers: &str, meta: &str) -> Value {
        let place = if tool.contains("claim_and") || tool.contains("get_available") { "human-queue" } else { "gateway" };
        let (head, messages) = self.post(place, &newer(tool, headers), &message(tool, arguments, meta));
        let result = messages.last().and_then(|message| message.get("result")).unwrap_or_else(|| panic!("{tool}: {head} {messages:?}"));
        result.clone()
    }
}

fn newer(tool: &str, headers: &str) -> String {
    format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n{headers}")
}

fn message(tool: &str, arguments: &str, meta: &str) -> String {
    let mut all = json::parse(meta.as_bytes()).expect("JSON").as_object().cloned().unwrap_or_default();
    let own = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let own = json::parse(own.as_bytes()).expect("JSON").as_object().cloned().unwrap_or_default();
    for (key, value) in own.iter() {
        all.insert(key.clone(), value.clone());
    }
    let meta = json::to_string(&Value::Object(all));
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#)
}

fn structured(result: &Value) -> Value {
    assert_ne!(result.get("isError"), Some(&Value::Bool(true)), "{}", json::to_string(result));
    result.get("structuredContent").cloned().unwrap_or_else(|| Object::default().into())
}

/// The calls of each recording, the oldest first, once there are so many.
fn recorded(folder: &Folder, count: usize) -> Vec<Vec<String>> {
    let whole = until("all is recorded", || {
        let listed = traces(folder);
        let of = |listed: &Value| calls(&trace(folder, &text(listed, "trace_id")));
        let whole: Vec<Vec<String>> = listed.iter().rev().map(of).collect();
        (whole.iter().map(Vec::len).sum::<usize>() >= count).then_some(whole)
    });
    whole.into_iter().filter(|calls| !calls.is_empty()).collect()
}

#[test]
fn calls_without_a_connection_are_one_recording_where_they_say_so() {
    let folder = Folder::new();
    register_restless(&folder);
    let served = Served::over(&folder);
    let traced = |trace: u32, span: u32| format!(r#"{{"traceparent":"00-{trace:032x}-{span:016x}-01"}}"#);
    // Two agents of one make, each in a trace of its own, and their calls in turns.
    for span in 1..=3 {
        for agent in 1..=2 {
            structured(&served.call("mcp_r_echo", &format!(r#"{{"agent":{agent}}}"#), "", &traced(agent, span)));
        }
    }
    // As a header; and a name in the place of a trace, which counts more.
    structured(&served.call("mcp_r_echo", "{}", &format!("traceparent: 00-{:032x}-{:016x}-01\r\n", 1, 9), "{}"));
    structured(&served.call("mcp_r_steps", r#"{"n":0}"#, "ltc-trace: my session\r\n", &traced(1, 10)));
    structured(&served.call(
        "call_mcp_tool",
        r#"{"server_name":"r","tool_name":"steps","arguments":{"n":0}}"#,
        "",
        r#"{"ltc/trace":"my session"}"#,
    ));
    // Progress comes on the way to the answer, under the client's own token.
    let (_, told) = served.post(
        "gateway",
        &newer("mcp_r_steps", "ltc-trace: my session\r\n"),
        &message("mcp_r_steps", r#"{"n":2}"#, r#"{"progressToken":"p"}"#),
    );
    let progress =
        told.iter().filter(|message| message.get("params").and_then(|params| params.get("progressToken")) == Some(&Value::from("p")));
    assert_eq!((progress.count(), told.len()), (2, 3), "{told:?}");
    // Who says nothing is recorded for itself.
    structured(&served.call("mcp_r_echo", "{}", "", "{}"));
    structured(&served.call("mcp_r_echo", "{}", "traceparent: nonsense\r\n", "{}"));
    let mut found = recorded(&folder, 12);
    found.sort();
    assert_eq!(found, [vec!["echo"], vec!["echo"], vec!["echo"; 3], vec!["echo"; 4], vec!["steps"; 3]]);
}

#[test]
fn what_is_done_for_a_claim_is_one_recording_that_the_answer_can_name() {
    let folder = Folder::new();
    register(&folder, "desk");
    let ask = "workflow: ask\nversion: 1\ninputs: { status: { type: string } }\nsteps:\n  - id: q\n    escalate:\n      role: clerk\n      message: Which orders are there?\n      form: { type: object, required: [orders] }\n      triage: true\noutput: \"${{ steps.q }}\"\n";
    let ask = folder.file("ask.yaml", ask);
    for id in ["r1", "r2"] {
        let waits = crate::support::ended(at(&folder, ["run"]).arg(&ask).args(["--id", id, "--input", r#"{"status":"late"}"#]));
        assert_eq!(waits.code, 4, "{waits:?}");
    }
    let served = Served::over(&folder);
    let work = structured(&served.call("get_available_work", "{}", "", "{}"));
    let ids: Vec<String> = work
        .get("escalations")
        .and_then(Value::as_array)
        .expect("questions")
        .iter()
        .map(|question| text(question, "escalation_id"))
        .collect();
    let claims: Vec<String> = ids
        .iter()
        .map(|id| {
            let claimed = served.call("claim_escalation", &format!(r#"{{"escalation_id":"{id}","resolver_id":"{id}"}}"#), "", "{}");
            text(&structured(&claimed), "trace_id")
        })
        .collect();
    assert_ne!(claims[0], claims[1]);
    // Claimed again, it is prolonged, and the recording is the same.
    let again = served.call("claim_escalation", &format!(r#"{{"escalation_id":"{0}","resolver_id":"{0}"}}"#, ids[0]), "", "{}");
    assert_eq!(text(&structured(&again), "trace_id"), claims[0]);
    let list = |trace: &str| {
        let arguments =
            format!(r#"{{"server_name":"desk","tool_name":"list_orders","arguments":{{"status":"late"}},"trace_id":"{trace}"}}"#);
        served.call("call_mcp_tool", &arguments, "", "{}")
    };
    for _ in 0..2 {
        structured(&list(&claims[0]));
    }
    structured(&list(&claims[1]));
    let orders = structured(&list(&claims[0]));
    let orders = json::to_string(orders.get("structured_content").expect("orders"));
    let payload = format!(r#"{{"answer":{orders},"trace_id":"{}"}}"#, claims[0]);
    let resolved = served.call(
        "claim_and_resolve",
        &format!(r#"{{"escalation_id":"{0}","resolver_id":"{0}","payload":{payload}}}"#, ids[0]),
        "",
        "{}",
    );
    let learned = structured(&resolved).get("learned").cloned().unwrap_or_default();
    assert_eq!(learned.get("is_tried"), Some(&Value::Bool(true)), "{}", json::to_string(&resolved));
    let of = |claim: &str| trace(&folder, claim);
    assert_eq!((calls(&of(&claims[0])).len(), calls(&of(&claims[1])).len()), (3, 1));
    // With its answer it has ended; and a name that no claim gave is none.
    for gone in [&claims[0], "another"] {
        let refused = list(gone);
        assert!(json::to_string(&refused).contains("claim_escalation"), "{}", json::to_string(&refused));
    }
}

#[test]
fn a_connection_that_is_cut_leaves_a_recording_that_is_whole_up_to_the_last_answer() {
    let folder = Folder::new();
    let (log, _) = register_restless(&folder);
    let served = Served::over(&folder);
    let reached = |count: usize| {
        until("the call reaches the server", || {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            (log.matches(r#""name":"hold""#).count() == count).then_some(())
        });
    };
    // In the era without connections, whoever hangs up gives the call up, and the server hears of it.
    let named = "ltc-trace: cut\r\n";
    structured(&served.call("mcp_r_echo", "{}", named, "{}"));
    let stream = served.send("gateway", &newer("mcp_r_hold", named), &message("mcp_r_hold", "{}", "{}"));
    reached(1);
    drop(stream);
    until("the server hears of it", || std::fs::read_to_string(&log).ok().filter(|log| log.contains("notifications/cancelled")));
    structured(&served.call("mcp_r_echo", "{}", named, "{}"));
    assert_eq!(recorded(&folder, 3), [["echo", "hold!", "echo"]]);

    // With a session, the session goes on, and so does the call.
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let (head, _) = served.post("gateway", "", hello);
    let session = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("mcp-session-id:").map(|id| id.trim().to_owned()));
    let session = format!("mcp-session-id: {}\r\nmcp-protocol-version: 2025-11-25\r\n", session.expect("a session"));
    served.post("gateway", &session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let call = |id: u32, tool: &str, more: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":2}}{more}}}}}"#)
    };
    let (_, told) = served.post("gateway", &session, &call(1, "mcp_r_steps", r#","_meta":{"progressToken":"t"}"#));
    let progress = told.iter().filter(|message| message.get("method").and_then(Value::as_str) == Some("notifications/progress")).count();
    assert_eq!(progress, 2, "{told:?}");
    let stream = served.send("gateway", &session, &call(2, "mcp_r_hold", ""));
    reached(2);
    drop(stream);
    let (_, answers) = served.post("gateway", &session, &call(3, "mcp_r_echo", ""));
    assert!(answers.iter().any(|answer| answer.get("result").is_some()), "{answers:?}");
    let mut found = recorded(&folder, 5);
    assert_eq!(found.remove(1), ["steps", "echo"]);
    // Who cancels it is heard, over another request of the session.
    served.post("gateway", &session, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    let mut found = recorded(&folder, 6);
    assert_eq!(found.remove(1), ["steps", "echo", "hold!"]);
}
