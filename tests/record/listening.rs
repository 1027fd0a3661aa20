//! `ltc record --listen` as a process, and requests to it that are written by hand, byte by byte.

use crate::conversation::HELLO;
use crate::support::{Folder, fixture_server, ltc};
use ltc_workflow::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A recorder that listens; it ends when this goes.
pub struct Listening {
    pub child: Child,
    pub port: u16,
    pub folder: Folder,
}

impl Listening {
    /// In front of the lively server, alone.
    pub fn lively(environment: &[(&str, &str)]) -> Listening {
        let folder = Folder::new();
        let mut command = recorder(&folder);
        command.arg("--").arg(fixture_server()).args(["lively", "a"]).envs(environment.iter().copied());
        Listening::start(&mut command, folder)
    }

    pub fn start(command: &mut Command, folder: Folder) -> Listening {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it can be started");
        let mut said = BufReader::new(child.stderr.take().expect("it has a stderr"));
        let port = loop {
            let mut line = String::new();
            assert!(said.read_line(&mut line).expect("a line") > 0, "it ended without saying where it listens");
            let port = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp")?.0.rsplit_once(':'));
            if let Some((_, port)) = port {
                break port.parse().expect("a port");
            }
        };
        // It goes on saying things, and somebody has to hear them.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Listening { child, port, folder }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The file of a session.
    pub fn file(&self, number: usize) -> PathBuf {
        self.folder.path().join(format!("r-{number}.jsonl"))
    }

    /// Sends a request and gives its answer: the head, and the body.
    pub fn request(&self, head: &str, body: &str) -> Reply {
        let mut stream = self.open(head, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        Reply::read(&bytes)
    }

    /// A request of which nothing has been read yet.
    pub fn open(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        let host = if head.to_ascii_lowercase().contains("\nhost:") { String::new() } else { format!("host: 127.0.0.1:{}\r\n", self.port) };
        let head = head.trim_end().replace('\n', "\r\n");
        let length = body.len();
        write!(stream, "{head}\r\n{host}connection: close\r\ncontent-length: {length}\r\n\r\n{body}").expect("it reads");
        stream
    }

    /// Sends a message; `session` is a session's name, or nothing.
    pub fn post(&self, session: &str, body: &str) -> Reply {
        self.request(&head(session), body)
    }

    /// Shakes hands, and gives the name of the session.
    pub fn shake_hands(&self) -> String {
        let reply = self.post("", &format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{HELLO}}}"#));
        assert_eq!(reply.status, 200, "{reply:?}");
        let session = reply.header("mcp-session-id").expect("a session").to_owned();
        let taken = self.post(&session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(taken.status, 202, "{taken:?}");
        session
    }

    pub fn call(&self, session: &str, id: usize, tool: &str, arguments: &str) -> Reply {
        self.post(session, &call(id, tool, arguments))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `ltc record --listen` into the folder; what it stands in front of is still missing.
pub fn recorder(folder: &Folder) -> Command {
    let mut command = ltc(["record", "--listen", "127.0.0.1:0", "-o"]);
    command.arg(folder.path().join("r.jsonl")).env_remove("LTC_TOKEN");
    command
}

pub fn head(session: &str) -> String {
    let session = if session.is_empty() { String::new() } else { format!("\nmcp-session-id: {session}") };
    format!("POST /mcp HTTP/1.1\ncontent-type: application/json\naccept: application/json, text/event-stream{session}")
}

pub fn call(id: usize, tool: &str, arguments: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#)
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    fn read(bytes: &[u8]) -> Reply {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("no status: {text}"));
        let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_owned() };
        Reply { status, head: head.to_owned(), body }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.split_once(": ").filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value))
    }

    /// The answer, which is the last event where others came along with it.
    pub fn message(&self) -> Value {
        if self.header("content-type") == Some("text/event-stream") {
            return self.events().pop().unwrap_or_else(|| panic!("no event: {self:?}"));
        }
        json::parse(self.body.as_bytes()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The messages of a stream of events.
    pub fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| json::parse(data.as_bytes()).unwrap_or_else(|error| panic!("{error}: {data}"))).collect()
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("the length of a chunk");
        whole.push_str(&rest[..length]);
        body = rest[length..].trim_start_matches("\r\n");
    }
    whole
}
