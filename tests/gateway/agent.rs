//! A client of the gateway over stdio, and what it needs around it.

use crate::conversation::Conversation;
use crate::support::{Ended, Folder, ended, fixture_server, ltc};
use ltc_workflow::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

pub fn at<S: AsRef<std::ffi::OsStr>>(folder: &Folder, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = ltc(arguments);
    command.env("LTC_HOME", folder.path());
    command
}

#[track_caller]
pub fn done(ended: Ended) -> Value {
    assert_eq!(ended.code, 0, "{ended:?}");
    json::parse(ended.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// The order desk under the name `name`, connected to once.
pub fn register(folder: &Folder, name: &str) {
    let desk = env!("CARGO_BIN_EXE_ltc");
    assert_eq!(ended(&mut at(folder, ["servers", "add", name, "--", desk, "demo-server"])).code, 0);
    assert_eq!(ended(&mut at(folder, ["servers", "test", name])).code, 0);
}

/// A client of the gateway.
pub struct Agent {
    pub conversation: Conversation,
    asked: u32,
}

impl Agent {
    pub fn greet(folder: &Folder) -> Agent {
        let mut agent = Agent {
            conversation: Conversation::with(&mut at(folder, ["serve", "--stdio", "--only", "gateway", "--only", "human-queue"])),
            asked: 0,
        };
        agent.ask("initialize", r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}"#);
        agent.conversation.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        agent
    }

    pub fn ask(&mut self, method: &str, params: &str) -> Value {
        self.asked += 1;
        self.conversation.ask(&self.asked.to_string(), method, params)
    }

    pub fn tools(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", "{}");
        let tools = list.get("result").and_then(|result| result.get("tools")).and_then(Value::as_array).expect("tools");
        tools.iter().filter_map(|tool| tool.get("name").and_then(Value::as_str).map(str::to_owned)).collect()
    }

    /// The result of a call, and whether it is an error.
    pub fn call(&mut self, tool: &str, arguments: &str) -> (Value, bool) {
        let answer = self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool}: {}", json::to_string(&answer)));
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
        let text = result.get("content").and_then(|content| content.at(0)).and_then(|block| block.get("text")).and_then(Value::as_str);
        let value = result.get("structuredContent").cloned().or_else(|| json::parse(text?.as_bytes()).ok());
        (value.unwrap_or_else(|| Value::from(text.unwrap_or_default())), is_error)
    }
}

pub fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no {key} in {}", json::to_string(value))).to_owned()
}

impl Agent {
    /// Sends a call and does not wait for its answer; `meta` is its `_meta`.
    pub fn begin(&mut self, tool: &str, arguments: &str, meta: &str) -> String {
        self.asked += 1;
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}"#);
        self.conversation.say(&format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{params}}}"#, self.asked));
        self.asked.to_string()
    }

    /// Gives a call up.
    pub fn cancel(&mut self, id: &str) {
        self.conversation.say(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#));
    }

    /// Waits until it is told that the tools have changed.
    pub fn hears_of_a_change(&mut self) {
        while self.conversation.message().get("method").and_then(Value::as_str) != Some("notifications/tools/list_changed") {}
    }
}

/// The fixture server under the name `name`, connected to once.
pub fn register_fixture(folder: &Folder, name: &str, arguments: &[&str]) {
    let server = fixture_server().display().to_string();
    let mut add = at(folder, ["servers", "add", name, "--", &server]);
    let added = ended(add.args(arguments));
    assert_eq!(added.code, 0, "{added:?}");
    let tested = ended(&mut at(folder, ["servers", "test", name]));
    assert_eq!(tested.code, 0, "{tested:?}");
}

/// The restless server as `r`; its log, and the file of its further tools.
pub fn register_restless(folder: &Folder) -> (PathBuf, PathBuf) {
    let (log, extra) = (folder.path().join("messages"), folder.path().join("extra"));
    register_fixture(folder, "r", &["restless", &log.display().to_string(), &extra.display().to_string()]);
    (log, extra)
}

/// The recordings in the store, the newest first.
pub fn traces(folder: &Folder) -> Vec<Value> {
    let list = done(ended(&mut at(folder, ["traces", "--limit", "100", "--json"])));
    list.get("traces").and_then(Value::as_array).expect("a list").to_vec()
}

/// A recording as a document.
pub fn trace(folder: &Folder, id: &str) -> Value {
    done(ended(&mut at(folder, ["traces", "show", id])))
}

/// `tool` of the calls of a recording, with `!` behind those that have no result.
pub fn calls(document: &Value) -> Vec<String> {
    let calls = document.get("calls").and_then(Value::as_array).expect("calls");
    let mark = |call: &Value| if call.get("result").is_some() { "" } else { "!" };
    calls.iter().map(|call| format!("{}{}", text(call, "tool"), mark(call))).collect()
}

/// Waits until `look` gives something.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let before = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(before.elapsed() < Duration::from_secs(20), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
