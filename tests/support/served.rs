//! `ltc serve` over HTTP, for a test: a process of its own over a store of its own, and the two ways to ask it.

use crate::support::{Folder, ltc};
use ltc_runtime::service::{Operation, Rest, Surface, Verb};
use ltc_workflow::{Object, Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// `ltc serve` on a free port, over a store of its own; it ends with this.
pub struct Served {
    child: Child,
    pub port: u16,
    pub folder: Folder,
}

/// What was answered over HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The lines of the head, in lower case.
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The body, which is JSON.
    pub fn json(&self) -> Value {
        json::parse(self.body.as_bytes()).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The command with its home in `folder`.
pub fn at<S: AsRef<std::ffi::OsStr>>(folder: &Folder, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = ltc(arguments);
    command.env("LTC_HOME", folder.path());
    command
}

impl Served {
    pub fn start(arguments: &[&str], token: Option<&str>) -> Served {
        let mut given = vec!["serve", "--listen", "127.0.0.1:0"];
        given.extend(arguments);
        let folder = Folder::new();
        let mut command = at(&folder, given);
        if let Some(token) = token {
            command.env("LTC_TOKEN", token);
        }
        Served::of(command, folder)
    }

    /// What `command` serves.
    pub fn of(mut command: Command, folder: Folder) -> Served {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the command can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it has a stderr"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it says where it listens");
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("no port in {line}"));
        // Whatever it says later is nothing that it should wait for.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Served { child, port, folder }
    }

    /// One exchange: `request` is a method and a path, `headers` are whole lines.
    pub fn exchange(&self, request: &str, headers: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let host = if headers.to_lowercase().contains("host:") { "" } else { "host: localhost\r\n" };
        let head = format!("{request} HTTP/1.1\r\n{host}{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        // Whoever refuses a body by its head need not read it to the end.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).expect("it answers in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}: no answer: {answer}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Status and body of one exchange.
    pub fn raw(&self, request: &str, headers: &str, body: &[u8]) -> (u16, String) {
        let answer = self.exchange(request, headers, body);
        (answer.status, answer.body)
    }

    pub fn send(&self, request: &str, body: &str) -> (u16, Value) {
        let answer = self.exchange(request, "content-type: application/json\r\n", body.as_bytes());
        (answer.status, answer.json())
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        self.send(&format!("GET {path}"), "")
    }

    /// An operation over REST: each field of the input where the route has it.
    pub fn rest(&self, operation: &Operation, input: &Object) -> (u16, Value) {
        let Rest::At(verb, path) = operation.rest else { panic!("{} has no route", operation.name) };
        let (mut path, mut rest) = (path.to_owned(), Object::default());
        for (name, value) in input.iter() {
            let place = format!("{{{name}}}");
            if path.contains(&place) { path = path.replace(&place, &encoded(value)) } else { rest.insert(name.clone(), value.clone()) }
        }
        match verb {
            Verb::Get | Verb::Delete => {
                let query: Vec<String> = rest.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
                let method = if verb == Verb::Get { "GET" } else { "DELETE" };
                self.send(&format!("{method} {path}?{}", query.join("&")), "")
            }
            Verb::Post => self.send(&format!("POST {path}"), &json::to_string(&rest.into())),
            Verb::Put => self.send(&format!("PUT {path}"), &json::to_string(&rest.into())),
        }
    }

    /// An operation over MCP, in the newer era of the protocol: what it gives, and whether it is a refusal or a run that failed.
    pub fn mcp(&self, operation: &Operation, input: &Object) -> (bool, Value) {
        let Surface::At(server) = operation.mcp else { panic!("{} is no tool", operation.name) };
        self.tool(server, operation.name, &json::to_string(&input.clone().into()))
    }

    /// A tool of one of the servers.
    pub fn tool(&self, server: &str, tool: &str, arguments: &str) -> (bool, Value) {
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        let headers = format!(
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: tools/call\r\nmcp-name: {tool}\r\n"
        );
        let answer = self.exchange(&format!("POST /mcp/{server}"), &headers, message.as_bytes());
        let mut data = answer.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).filter(|data| !data.is_empty());
        let body = if answer.body.starts_with('{') { answer.body.as_str() } else { data.next_back().unwrap_or_default() };
        let answer = json::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{tool}: {error}: {}", answer.body));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool}: {}", json::to_string(&answer)));
        let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
        (is_error, result.get("structuredContent").cloned().unwrap_or_default())
    }
}

/// A value as a part of a URL; a list is its items, with commas.
fn encoded(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.to_string(),
        Value::Array(items) => return items.iter().map(encoded).collect::<Vec<_>>().join(","),
        other => json::to_string(other),
    };
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(byte).collect()
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
