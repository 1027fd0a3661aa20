//! A client in a test: it writes lines, and waits for lines.

use crate::support::{fixture_server, ltc};
use ltc_workflow::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that is spoken with.
pub struct Conversation {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Conversation {
    pub fn with(command: &mut Command) -> Conversation {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it can be started");
        let (said, lines) = channel();
        let out = BufReader::new(child.stdout.take().expect("it has a stdout"));
        std::thread::spawn(move || {
            for line in out.split(b'\n') {
                let Ok(line) = line else { return };
                if said.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Conversation { child, input, lines }
    }

    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("its stdin is open");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("it reads its stdin");
    }

    /// Bytes, and a line break.
    pub fn say_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("its stdin is open");
        input.write_all(bytes).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()).expect("it reads its stdin");
    }

    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("something is said")
    }

    /// The next line, which is JSON.
    pub fn message(&mut self) -> Value {
        let line = self.line();
        json::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Everything up to and with the line that answers `id`.
    pub fn until_answer(&mut self, id: &str) -> Vec<Value> {
        let mut heard = Vec::new();
        loop {
            let message = self.message();
            let is_it = message.get("method").is_none() && message.get("id").map(json::to_string).as_deref() == Some(id);
            heard.push(message);
            if is_it {
                return heard;
            }
        }
    }

    /// The answer to `id`; what comes before it is passed over.
    pub fn answer(&mut self, id: &str) -> Value {
        self.until_answer(id).pop().expect("an answer")
    }

    /// Sends a request and gives its answer.
    pub fn ask(&mut self, id: &str, method: &str, params: &str) -> Value {
        self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#));
        self.answer(id)
    }

    pub fn shake_hands(&mut self) -> Value {
        let answer = self.ask("0", "initialize", HELLO);
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    /// Closes our side.
    #[allow(dead_code)] // The tests of the gateway do.
    pub fn hang_up(&mut self) {
        drop(self.input.take());
    }

    /// Closes our side and gives how it ended, and what was said until then.
    pub fn leave(mut self) -> (i32, Vec<String>) {
        drop(self.input.take());
        let mut said = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            said.push(line);
        }
        (self.child.wait().expect("it ends").code().unwrap_or(-1), said)
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub const HELLO: &str = r#"{"protocolVersion":"2025-06-18","capabilities":{"sampling":{}},"clientInfo":{"name":"test","version":"1"}}"#;

/// The text of a result.
pub fn text(answer: &Value) -> String {
    let block = answer.get("result").and_then(|result| result.get("content")?.at(0)?.get("text")?.as_str()).map(str::to_owned);
    block.unwrap_or_else(|| panic!("no text in {}", json::to_string(answer)))
}

/// The values under `key` in a list of the answer.
pub fn names(answer: &Value, list: &str, key: &str) -> Vec<String> {
    let items = answer.get("result").and_then(|result| result.get(list)?.as_array()).unwrap_or_default();
    items.iter().filter_map(|item| Some(item.get(key)?.as_str()?.to_owned())).collect()
}

/// `ltc record` into `file`, in front of the fixture server with these arguments.
pub fn recording(file: &Path, arguments: &[&str]) -> Command {
    let mut command = ltc(["record", "-o"]);
    command.arg(file).arg("--").arg(fixture_server()).args(arguments);
    command
}

pub fn direct(arguments: &[&str]) -> Command {
    let mut command = Command::new(fixture_server());
    command.args(arguments);
    command
}

/// The records of a recording, once there are `calls` calls.
pub fn records(file: &Path, calls: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let records: Vec<Value> =
            text.lines().map(|line| json::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
        let found = records.iter().filter(|record| record.get("tool").is_some()).count();
        if found >= calls {
            assert!(text.ends_with('\n'), "the last line is whole");
            return records;
        }
        assert!(began.elapsed() < PATIENCE, "there are {found} of {calls} calls in {text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// `server/tool` of the calls in a recording, in their order there.
pub fn calls(records: &[Value]) -> Vec<String> {
    let text = |record: &Value, key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    records.iter().filter_map(|record| Some(format!("{}/{}", text(record, "server")?, text(record, "tool")?))).collect()
}
