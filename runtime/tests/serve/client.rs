//! A client that speaks the protocol by hand, so that every digit and every field is in the test's hands.

use crate::world::value;
use ltc_workflow::{Object, Value, json};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

/// An era of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    Older,
    Newer,
}

/// A server of ours, as a child process; it ends when this goes.
pub struct Served {
    /// Ends with this.
    _child: Child,
    pub port: u16,
}

pub fn program(mode: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.args(arguments).env("LTC_TEST_BE", mode).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

impl Served {
    pub async fn listening(arguments: &[&str]) -> Served {
        let mut child = program("listen", arguments).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).await.expect("it tells its port");
        Served { _child: child, port: line.trim().parse().expect("a port") }
    }
}

/// Asks a process politely to end.
pub async fn terminate(child: &Child) {
    let id = child.id().expect("it lives").to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.expect("kill").success());
}

pub struct Pipes {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<String>,
}

pub struct Http {
    pub served: Option<Arc<Served>>,
    url: String,
    session: Option<String>,
    http: reqwest::Client,
}

pub enum Way {
    Stdio(Pipes),
    Http(Http),
}

pub struct Client {
    pub way: Way,
    era: Era,
    last: i64,
    /// What the client says that it can do, as JSON.
    pub capabilities: String,
    /// Notifications that came.
    pub notes: Vec<Value>,
}

const LIMIT: Duration = Duration::from_secs(30);

impl Client {
    pub async fn stdio(store: &str, server: Option<&str>, era: Era) -> Client {
        let arguments: Vec<&str> = [store].into_iter().chain(server).collect();
        let mut child = program("stdio", &arguments).spawn().expect("it starts");
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let (heard, lines) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok(Some(line)) = output.next_line().await {
                if heard.send(line).is_err() {
                    return;
                }
            }
        });
        Client::begun(Way::Stdio(Pipes { child, input, lines }), era).await
    }

    pub async fn http(store: &str, server: &str, era: Era) -> Client {
        let served = Arc::new(Served::listening(&[store, "127.0.0.1:0"]).await);
        Client::at(served, server, era).await
    }

    /// A client of a server that listens already.
    pub async fn at(served: Arc<Served>, server: &str, era: Era) -> Client {
        let mut client = Client::at_port(served.port, server, era).await;
        if let Way::Http(http) = &mut client.way {
            http.served = Some(served);
        }
        client
    }

    /// A client of a server that somebody else ends.
    pub async fn at_port(port: u16, server: &str, era: Era) -> Client {
        let url = format!("http://127.0.0.1:{port}/mcp/{server}");
        Client::begun(Way::Http(Http { served: None, url, session: None, http: web() }), era).await
    }

    async fn begun(way: Way, era: Era) -> Client {
        let mut client = Client { way, era, last: 0, capabilities: "{}".to_owned(), notes: Vec::new() };
        if era == Era::Older {
            let hello = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}"#;
            let answer = client.ask("initialize", hello).await;
            assert_eq!(at(&answer, "/result/protocolVersion"), value("\"2025-11-25\""), "{}", json::to_string(&answer));
            client.tell("notifications/initialized", "{}").await;
        } else {
            let answer = client.ask("server/discover", "{}").await;
            assert!(json::to_string(&at(&answer, "/result/supportedVersions")).contains("2026-07-28"), "{}", json::to_string(&answer));
        }
        client
    }

    fn with_meta(&self, params: &str) -> String {
        if self.era == Era::Older {
            return params.to_owned();
        }
        let Value::Object(mut params) = value(params) else { panic!("params are an object") };
        let mut meta = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
        meta.insert("io.modelcontextprotocol/protocolVersion", Value::from("2026-07-28"));
        meta.insert("io.modelcontextprotocol/clientInfo", value(r#"{"name":"test","version":"1"}"#));
        meta.insert("io.modelcontextprotocol/clientCapabilities", value(&self.capabilities));
        params.insert("_meta", meta.into());
        json::to_string(&params.into())
    }

    /// Sends a request and does not wait; gives its id.
    pub async fn send(&mut self, method: &str, params: &str) -> i64 {
        self.last += 1;
        let params = self.with_meta(params);
        self.write(&format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.last)).await;
        self.last
    }

    /// Sends a line as it is.
    pub async fn write(&mut self, text: &str) {
        let Way::Stdio(pipes) = &mut self.way else { panic!("only over stdio") };
        let input = pipes.input.as_mut().expect("stdin is open");
        input.write_all(format!("{text}\n").as_bytes()).await.expect("it reads");
        input.flush().await.expect("it reads");
    }

    /// Closes our side.
    pub fn close(&mut self) {
        let Way::Stdio(pipes) = &mut self.way else { panic!("only over stdio") };
        pipes.input = None;
    }

    /// Waits for the end of the server, which must be a good one.
    pub async fn ended(&mut self) {
        let Way::Stdio(pipes) = &mut self.way else { panic!("only over stdio") };
        let status = tokio::time::timeout(LIMIT, pipes.child.wait()).await.expect("it ends in time").expect("it ends");
        assert!(status.success(), "{status}");
    }

    pub async fn tell(&mut self, method: &str, params: &str) {
        let params = self.with_meta(params);
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        match &mut self.way {
            Way::Stdio(_) => self.write(&text).await,
            Way::Http(http) => drop(http.post(self.era, method, "", &text).await),
        }
    }

    /// The next message, which must come.
    pub async fn next(&mut self) -> Value {
        let Way::Stdio(pipes) = &mut self.way else { panic!("only over stdio") };
        let line = tokio::time::timeout(LIMIT, pipes.lines.recv()).await.expect("an answer in time").expect("an answer");
        value(&line)
    }

    /// The answer to a request over stdio.
    pub async fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.next().await;
            if message.get("id") == Some(&Value::from(id)) {
                return message;
            }
            self.notes.push(message);
        }
    }

    /// Sends a request and gives the whole answer.
    pub async fn ask(&mut self, method: &str, params: &str) -> Value {
        if let Way::Stdio(_) = self.way {
            let id = self.send(method, params).await;
            return self.answer(id).await;
        }
        self.last += 1;
        let params = self.with_meta(params);
        let text = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.last);
        let key = match method {
            "resources/read" => "uri",
            method if method.starts_with("tasks/") => "taskId",
            _ => "name",
        };
        let name = at(&value(&params), &format!("/{key}")).as_str().unwrap_or_default().to_owned();
        let Way::Http(http) = &mut self.way else { panic!("it is HTTP") };
        let mut messages = tokio::time::timeout(LIMIT, http.post(self.era, method, &name, &text)).await.expect("an answer in time");
        let own = messages.iter().position(|message| message.get("id") == Some(&Value::from(self.last)));
        let answer = messages.remove(own.unwrap_or_else(|| panic!("no answer to {text}: {messages:?}")));
        self.notes.extend(messages);
        answer
    }

    /// A stream over HTTP that stays open: of the session, or the answer to `text`.
    pub async fn stream(&self, text: &str) -> reqwest::Response {
        let Way::Http(http) = &self.way else { panic!("only over HTTP") };
        let request = if let Some(session) = &http.session {
            http.http.get(&http.url).header("Accept", "text/event-stream").header("Mcp-Session-Id", session)
        } else {
            let request = http.http.post(&http.url).header("Accept", "application/json, text/event-stream");
            let request = request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", "subscriptions/listen");
            request.header("Content-Type", "application/json").body(text.to_owned())
        };
        let response = request.send().await.expect("it answers");
        assert!(response.status().is_success(), "{}", response.status());
        response
    }

    /// Calls a tool.
    pub async fn call(&mut self, tool: &str, arguments: &str) -> Called {
        let params = format!(r#"{{"name":{},"arguments":{arguments}}}"#, json::quote(tool));
        let answer = self.ask("tools/call", &params).await;
        Called::of(&answer)
    }
}

/// What a tool answered.
#[derive(Debug)]
pub struct Called {
    pub is_error: bool,
    pub text: String,
    pub structured: Option<Value>,
    pub meta: Value,
}

impl Called {
    pub fn of(answer: &Value) -> Called {
        let result = answer.get("result").unwrap_or_else(|| panic!("no result: {}", json::to_string(answer)));
        Called::in_result(result)
    }

    pub fn in_result(result: &Value) -> Called {
        let text = at(result, "/content/0/text").as_str().expect("a text").to_owned();
        let structured = result.get("structuredContent").cloned();
        if let Some(structured) = &structured {
            assert!(json::to_string(structured) == text || structured.as_str() == Some(&text), "the text is the JSON, or the text");
        }
        Called { is_error: at(result, "/isError") == Value::from(true), text, structured, meta: at(result, "/_meta") }
    }

    /// A text in the structured content.
    pub fn get(&self, pointer: &str) -> String {
        let structured = self.structured.as_ref().unwrap_or_else(|| panic!("nothing structured: {}", self.text));
        at(structured, pointer).as_str().unwrap_or_default().to_owned()
    }
}

/// The value at a pointer, null where there is none.
pub fn at(value: &Value, pointer: &str) -> Value {
    let mut value = value.clone();
    for key in pointer.split('/').skip(1) {
        let next = match key.parse::<usize>() {
            Ok(index) if value.as_array().is_some() => value.at(index).cloned(),
            _ => value.get(key).cloned(),
        };
        value = next.unwrap_or_default();
    }
    value
}

/// The names in a list of tools.
pub fn names(answer: &Value) -> Vec<String> {
    let tools = at(answer, "/result/tools");
    tools.as_array().expect("tools").iter().map(|tool| at(tool, "/name").as_str().expect("a name").to_owned()).collect()
}

/// The tool of this name in a list.
pub fn tool(answer: &Value, name: &str) -> Object {
    let tools = at(answer, "/result/tools");
    let found = tools.as_array().expect("tools").iter().find(|tool| at(tool, "/name") == name);
    found.unwrap_or_else(|| panic!("no tool {name}")).as_object().expect("an object").clone()
}

/// A client of HTTP that trusts nobody but loopback.
pub fn web() -> reqwest::Client {
    // Somebody else may have set it before: it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

impl Http {
    async fn post(&mut self, era: Era, method: &str, name: &str, text: &str) -> Vec<Value> {
        let mut request = self.http.post(&self.url).header("Content-Type", "application/json");
        request = request.header("Accept", "application/json, text/event-stream");
        if era == Era::Newer {
            request = request.header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
            if !name.is_empty() {
                request = request.header("Mcp-Name", name);
            }
        }
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session).header("MCP-Protocol-Version", "2025-11-25");
        }
        let response = request.body(text.to_owned()).send().await.expect("it answers");
        if let Some(session) = response.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().expect("text").to_owned());
        }
        messages(&response.text().await.expect("a body"))
    }
}

/// The messages of a body: of a stream of events, or the one that it is.
pub fn messages(body: &str) -> Vec<Value> {
    if body.starts_with('{') {
        return vec![value(body)];
    }
    let data = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    data.filter(|data| !data.is_empty()).map(value).collect()
}
