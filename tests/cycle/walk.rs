//! The whole cycle by tools alone, whatever carries them: two servers are registered, a workflow asks, a scripted client claims the question and solves it through the
//! gateway, the recording is compiled, verified and deployed, and the same question is not asked again.

use crate::conversation::Conversation;
use crate::served::Served;
use crate::support::{Folder, ended, fixture_server, ltc};
use ltc_workflow::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// What carries the tools of our servers.
pub trait Client {
    /// Calls a tool of a server; gives what it answers, and whether that is an error.
    fn call(&mut self, server: &str, tool: &str, arguments: &str) -> (Value, bool);

    /// Registers a server, which people do: an input of `add_mcp_server`.
    fn register(&mut self, entry: &str);
}

const HELLO: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}"#;

/// What a tool answered.
fn answered(tool: &str, answer: &Value) -> (Value, bool) {
    let result = answer.get("result").unwrap_or_else(|| panic!("{tool}: {}", json::to_string(answer)));
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let text = result.get("content").and_then(|content| content.at(0)).and_then(|block| block.get("text")).and_then(Value::as_str);
    let value = result.get("structuredContent").cloned().or_else(|| json::parse(text?.as_bytes()).ok());
    (value.unwrap_or_else(|| Value::from(text.unwrap_or_default())), is_error)
}

/// One connection over stdin and stdout, with the tools of all servers that the walk needs.
pub struct Stdio {
    conversation: Conversation,
    asked: u32,
    folder: Folder,
    address: String,
}

impl Stdio {
    pub fn new(address: Option<String>) -> Stdio {
        let folder = Folder::new();
        let address = address.unwrap_or_else(|| folder.path().join("ltc.db").display().to_string());
        let only = ["mcp-workflows", "human-queue", "gateway", "workflow-compiler"].map(|name| ["--only", name]).concat();
        let mut command = ltc(["serve", "--stdio", "--store", &address]);
        let mut conversation = Conversation::with(command.args(only));
        conversation.ask("0", "initialize", HELLO);
        conversation.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        Stdio { conversation, asked: 0, folder, address }
    }
}

impl Client for Stdio {
    fn call(&mut self, _: &str, tool: &str, arguments: &str) -> (Value, bool) {
        self.asked += 1;
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        answered(tool, &self.conversation.ask(&self.asked.to_string(), "tools/call", &params))
    }

    /// With the command: over stdio nobody but agents comes.
    fn register(&mut self, entry: &str) {
        let entry = json::parse(entry.as_bytes()).expect("an entry");
        let name = entry.get("name").and_then(Value::as_str).expect("a name").to_owned();
        let file = self.folder.file("mcp.json", &format!(r#"{{"mcpServers":{{"{name}":{}}}}}"#, json::to_string(&entry)));
        let added = ended(ltc(["servers", "import", "--store", &self.address]).arg(file));
        assert_eq!(added.code, 0, "{added:?}");
    }
}

/// A session with each server of one `ltc serve`.
pub struct Http {
    served: Served,
    sessions: BTreeMap<String, String>,
    asked: u32,
}

impl Http {
    pub fn new(address: Option<String>) -> Http {
        let folder = Folder::new();
        let address = address.unwrap_or_else(|| folder.path().join("ltc.db").display().to_string());
        let command: Command = ltc(["serve", "--listen", "127.0.0.1:0", "--store", &address]);
        Http { served: Served::of(command, folder), sessions: BTreeMap::new(), asked: 0 }
    }

    fn post(&mut self, server: &str, message: &str) -> Option<Value> {
        let session = self.sessions.get(server).map(|id| format!("mcp-session-id: {id}\r\nmcp-protocol-version: 2025-11-25\r\n"));
        let headers =
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n".to_owned() + &session.unwrap_or_default();
        let answer = self.served.exchange(&format!("POST /mcp/{server}"), &headers, message.as_bytes());
        assert!(answer.status < 300, "{server}: {message}: {answer:?}");
        if let Some(id) = answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id:")) {
            self.sessions.insert(server.to_owned(), id.trim().to_owned());
        }
        // One message, or a stream of events of which the last with an id is the answer.
        let whole = [answer.body.as_str()];
        let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let messages = if answer.body.starts_with('{') { whole.to_vec() } else { lines.collect() };
        messages.into_iter().filter_map(|message| json::parse(message.trim().as_bytes()).ok()).rfind(|message| message.get("id").is_some())
    }

    fn ask(&mut self, server: &str, method: &str, params: &str) -> Value {
        self.asked += 1;
        let message = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.asked);
        self.post(server, &message).unwrap_or_else(|| panic!("{server} does not answer {method} {params}"))
    }
}

impl Client for Http {
    fn call(&mut self, server: &str, tool: &str, arguments: &str) -> (Value, bool) {
        if !self.sessions.contains_key(server) {
            self.ask(server, "initialize", HELLO);
            self.post(server, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        answered(tool, &self.ask(server, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)))
    }

    fn register(&mut self, entry: &str) {
        let (status, answer) = self.served.send("POST /api/mcp/servers", entry);
        assert_eq!(status, 200, "{}", json::to_string(&answer));
    }
}

/// What is at a path of keys and places, as text.
fn at(value: &Value, path: &str) -> String {
    let step = |at: &Value, key: &str| key.parse().map_or_else(|_| at.get(key), |index: usize| at.at(index)).cloned();
    match path.split('/').try_fold(value.clone(), |at, key| step(&at, key)) {
        Some(Value::String(text)) => text.to_string(),
        Some(other) => json::to_string(&other),
        None => panic!("no {path} in {}", json::to_string(value)),
    }
}

/// Asks again until what is at `path` is `expected`.
fn until(client: &mut dyn Client, server: &str, tool: &str, arguments: &str, found: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let (value, is_error) = client.call(server, tool, arguments);
        if !is_error && found(&value) {
            return value;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{tool} {arguments}: {}", json::to_string(&value));
        std::thread::sleep(Duration::from_millis(50));
    }
}

const WORKFLOW: &str = r#"workflow: greet
version: 1
inputs: { customer: { type: string } }
steps:
  - id: ask
    escalate: { role: clerk, message: "Greet whom?", data: { customer: "${{ inputs.customer }}" }, form: { type: object, required: [made] }, triage: true }
output: "${{ steps.ask.made }}"
"#;

/// Walks through the cycle; `logs` is where the second server writes down what it is asked.
pub fn walk(client: &mut dyn Client) {
    let logs = Folder::new();
    let log = logs.path().join("calls");
    let made = || std::fs::read_to_string(&log).unwrap_or_default().lines().filter(|line| line.contains(r#""what":"done""#)).count();
    let (desk, fixture, log_path) = (env!("CARGO_BIN_EXE_ltc"), fixture_server().display().to_string(), log.display().to_string());
    client.register(&format!(r#"{{"name":"desk","command":{},"args":["demo-server"]}}"#, json::quote(desk)));
    client.register(&format!(
        r#"{{"name":"maker","command":{},"args":["counting","maker",{}]}}"#,
        json::quote(&fixture),
        json::quote(&log_path)
    ));
    for server in ["desk", "maker"] {
        let (found, is_error) = client.call("gateway", "connect_mcp_server", &format!(r#"{{"server_name":"{server}"}}"#));
        assert!(!is_error, "{}", json::to_string(&found));
    }

    // A workflow asks.
    let document = format!(r#"{{"document":{}}}"#, json::quote(WORKFLOW));
    assert_eq!(at(&client.call("workflow-compiler", "deploy_workflow", &document).0, "state"), "active");
    let invoke = |run: &str, customer: &str| format!(r#"{{"workflow_name":"greet","run_id":"{run}","input":{{"customer":"{customer}"}}}}"#);
    let (waiting, _) = client.call("mcp-workflows", "invoke_workflow", &invoke("one", "cus-2210"));
    assert_eq!(at(&waiting, "status"), "waiting", "{}", json::to_string(&waiting));

    // A client claims the question, and solves it with tools of both servers.
    let (work, _) = client.call("human-queue", "get_available_work", r#"{"role":"clerk"}"#);
    let question = at(&work, "escalations/0/escalation_id");
    assert_eq!(at(&work, "escalations/0/data/input/customer"), "cus-2210");
    let (claimed, is_error) =
        client.call("gateway", "claim_escalation", &format!(r#"{{"escalation_id":"{question}","resolver_id":"agent"}}"#));
    assert!(!is_error, "{}", json::to_string(&claimed));
    let trace = at(&claimed, "trace_id");
    let (customer, _) = client.call("gateway", "mcp_desk_get_customer", r#"{"id":"cus-2210"}"#);
    let name = at(&customer, "name");
    let (done, is_error) = client.call("gateway", "mcp_maker_add", &format!(r#"{{"name":{}}}"#, json::quote(&name)));
    assert!(!is_error && made() == 1, "{}", json::to_string(&done));

    // What was done is a recording, and compiles.
    let asked_for = format!(r#"{{"trace_id":"{trace}"}}"#);
    until(client, "workflow-compiler", "get_trace", &asked_for, |trace| {
        let calls = trace.get("document").and_then(|document| document.get("calls"));
        calls.and_then(Value::as_array).is_some_and(|calls| calls.len() == 2)
    });
    let answer = format!(r#"{{"answer":{},"trace_id":"{trace}"}}"#, json::to_string(&done));
    let resolve = format!(r#"{{"escalation_id":"{question}","resolver_id":"agent","payload":{answer}}}"#);
    let (resolved, is_error) = client.call("human-queue", "claim_and_resolve", &resolve);
    assert!(!is_error && at(&resolved, "learned/is_tried") == "true", "{}", json::to_string(&resolved));
    let solution = at(&resolved, "learned/version/name");
    let ended = until(client, "mcp-workflows", "get_run", r#"{"run_id":"one"}"#, |run| at(run, "status") == "done");
    assert_eq!(at(&ended, "output"), "Ada Moreau");

    // The same by tool gives the same version: nothing changed.
    let compile = format!(r#"{{"trace_ids":["{trace}"],"workflow_name":"{solution}"}}"#);
    let (compiled, is_error) = client.call("workflow-compiler", "compile_traces", &compile);
    assert!(!is_error && at(&compiled, "verdict/verified") == "true", "{}", json::to_string(&compiled));
    let version = at(&compiled, "version/version");
    let (verified, _) =
        client.call("workflow-compiler", "verify_workflow", &format!(r#"{{"workflow_name":"{solution}","version":{version}}}"#));
    assert_eq!((at(&verified, "verified").as_str(), at(&verified, "recorded/passed").as_str()), ("true", "1"));
    let activate = format!(r#"{{"workflow_name":"{solution}","version":{version},"state":"active"}}"#);
    assert_eq!(at(&client.call("workflow-compiler", "set_workflow_state", &activate).0, "state"), "active");

    // The same input runs through with nobody, and so does another one.
    for (run, customer, name, times) in [("two", "cus-2210", "Ada Moreau", 2), ("three", "cus-4471", "Priya Raman", 3)] {
        let (run, is_error) = client.call("mcp-workflows", "invoke_workflow", &invoke(run, customer));
        assert!(!is_error, "{}", json::to_string(&run));
        assert_eq!((at(&run, "status"), at(&run, "output"), made()), ("done".to_owned(), name.to_owned(), times));
    }
    let (work, _) = client.call("human-queue", "get_available_work", "{}");
    assert_eq!(at(&work, "count"), "0", "{}", json::to_string(&work));
}
