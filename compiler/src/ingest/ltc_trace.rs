//! `ltc.trace/1`, our own format: the easiest to write by hand, and what every other format is read into.
//!
//! In JSON lines a line is a whole trace, or the beginning of one that grows while it is recorded: first a line with `format` and without `calls`,
//! then a line for each call, and a line with nothing but `servers` whenever more is known of them.

use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::settle;
use super::results::{self, Answer};
use super::server::server_of;
use super::{Format, Sample};
use crate::diagnostics::Diagnostic;
use crate::trace::{Body, Call, DEFAULT_SERVER, FORMAT, Outcome, Server, Trace, instant};
use ltc_workflow::{Number, Value};
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeSet;

pub(super) const LTC_TRACE: Format = Format {
    name: "ltc-trace",
    summary: "our own: `ltc.trace/1` in JSON, JSON lines or YAML, written by `ltc record` and `ltc convert`",
    detect,
    read,
};

fn detect(sample: &Sample) -> bool {
    sample.head().iter().any(|record| {
        let ours = record.get("format").and_then(Value::as_str).is_some_and(|f| f.starts_with("ltc.trace"));
        let calls = record.get("calls").and_then(Value::as_array);
        ours || calls.is_some_and(|calls| calls.first().is_none_or(|c| c.get("tool").is_some()))
    })
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let mut reader = Reader { notes, errors: Vec::new() };
    let mut traces: Vec<Trace> = Vec::new();
    let mut grows = false;
    for record in sample.records() {
        match (part(&record), traces.last_mut().filter(|_| grows)) {
            (Part::Call, Some(trace)) => trace.calls.extend(reader.call(&record)),
            (Part::Servers, Some(trace)) => reader.more_servers(&record, trace),
            (Part::Call | Part::Servers | Part::Trace, _) => {
                grows = record.get("calls").is_none();
                traces.extend(reader.trace(&record));
            }
        }
    }
    for trace in &mut traces {
        reader.name_calls(&mut trace.calls);
        settle(trace);
    }
    if reader.errors.is_empty() { Ok(traces) } else { Err(reader.errors) }
}

/// What a record is, beside a trace that grows.
enum Part {
    Trace,
    Call,
    Servers,
}

fn part(record: &Node<'_>) -> Part {
    let has = |key: &str| record.value.get(key).is_some();
    match (has("format") || has("calls"), has("tool"), has("servers")) {
        (false, true, _) => Part::Call,
        (false, false, true) => Part::Servers,
        (true, _, _) | (false, false, false) => Part::Trace,
    }
}

struct Reader<'n> {
    notes: &'n mut Notes,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// The value, or a complaint on the list.
    fn or_complain<T>(&mut self, read: Result<T, Diagnostic>) -> Option<T> {
        read.map_err(|error| self.errors.push(error)).ok()
    }

    fn trace(&mut self, node: &Node<'_>) -> Option<Trace> {
        if node.value.as_object().is_none() {
            self.errors.push(node.wrong("a trace, which is an object"));
            return None;
        }
        let format = self.or_complain(node.text("format"))?;
        if let Some(found) = format.filter(|f| f != FORMAT) {
            self.errors.push(problems::wrong_version(node.get("format").map(|n| n.place()).unwrap_or_default(), &found));
            return None;
        }
        self.unknown(node, &["format", "id", "task", "input", "output", "servers", "calls"]);
        let mut trace = Trace {
            id: self.or_complain(node.text("id")).flatten(),
            task: self.or_complain(node.text("task")).flatten().map(|t| t.to_string()),
            input: self.or_complain(node.object("input")).flatten(),
            output: node.value.get("output").cloned(),
            ..Trace::default()
        };
        trace.servers = self.servers(node);
        let calls = self.or_complain(node.list("calls")).unwrap_or_default();
        trace.calls = calls.iter().filter_map(|node| self.call(node)).collect();
        Some(trace)
    }

    fn servers(&mut self, node: &Node<'_>) -> Vec<Server> {
        let Some(servers) = node.get("servers") else { return Vec::new() };
        if servers.value.as_object().is_none() {
            self.errors.push(servers.wrong("an object of servers"));
        }
        let mut found = Vec::new();
        for (name, node) in servers.entries() {
            let (server, mut errors) = server_of(name, &node, Some(self.notes));
            self.errors.append(&mut errors);
            found.push(server);
        }
        found
    }

    /// A line of servers replaces what was known of them.
    fn more_servers(&mut self, node: &Node<'_>, trace: &mut Trace) {
        self.unknown(node, &["servers"]);
        for server in self.servers(node) {
            match trace.servers.iter_mut().find(|known| known.name == server.name) {
                Some(known) => *known = server,
                None => trace.servers.push(server),
            }
        }
    }

    fn unknown(&mut self, node: &Node<'_>, known: &[&str]) {
        for (key, node) in node.entries() {
            if !known.contains(&key.as_str()) {
                self.notes.push(problems::unknown_field(node.place()));
            }
        }
    }

    fn call(&mut self, node: &Node<'_>) -> Option<Call> {
        if node.value.as_object().is_none() {
            self.errors.push(node.wrong("a call, which is an object"));
            return None;
        }
        self.unknown(node, &["id", "server", "tool", "arguments", "result", "error", "refused", "started_at", "ended_at", "turn"]);
        let server = self.or_complain(node.text("server")).flatten().filter(|s| !s.is_empty());
        let call = Call {
            id: self.or_complain(node.text("id")).flatten().unwrap_or_default(),
            server: server.unwrap_or_else(|| DEFAULT_SERVER.into()),
            tool: self.or_complain(node.need_text("tool")).unwrap_or_default(),
            arguments: self.or_complain(node.object("arguments")).flatten().unwrap_or_default(),
            outcome: self.outcome(node),
            started_at: self.instant(node, "started_at"),
            ended_at: self.instant(node, "ended_at"),
            turn: self.turn(node),
        };
        Some(call)
    }

    fn outcome(&mut self, node: &Node<'_>) -> Outcome {
        if node.bool("refused") == Some(true) {
            return Outcome::Refused;
        }
        if let Some(error) = node.get("error") {
            let code = match error.get("code") {
                None => Some(0),
                Some(code) => {
                    let number = code.value.as_number().and_then(Number::as_i64);
                    number.or_else(|| {
                        self.errors.push(code.wrong("a whole number"));
                        None
                    })
                }
            };
            let message = match error.value.as_str() {
                Some(message) => Some(message.into()),
                None if error.value.as_object().is_none() => {
                    self.errors.push(error.wrong("an object with `code` and `message`"));
                    None
                }
                None => self.or_complain(error.text("message")).flatten(),
            };
            return Outcome::RpcError { code: code.unwrap_or_default(), message: message.unwrap_or_default().to_string() };
        }
        match node.get("result") {
            None => Outcome::Missing,
            Some(result) => self.result(&result),
        }
    }

    /// A `CallToolResult`; by hand also a text, or any other value, which is then the structured content.
    fn result(&mut self, node: &Node<'_>) -> Outcome {
        let shaped = ["content", "structuredContent", "isError"].iter().any(|key| node.value.get(key).is_some());
        if node.value.as_str().is_some() {
            return results::tool_result(node.value).outcome(false);
        }
        if !shaped {
            self.notes.push(problems::plain_result(node.place()));
            let body = Body { content: Vec::new(), structured: Some(node.value.clone()) };
            return Answer { body, ..Answer::default() }.outcome(false);
        }
        self.unknown(node, &["content", "structuredContent", "isError", "_meta", "resultType"]);
        let content = self.or_complain(node.list("content")).unwrap_or_default();
        for block in &content {
            if block.value.as_object().is_none() {
                self.errors.push(block.wrong("a content block, which is an object"));
            }
        }
        let is_error = match node.get("isError") {
            None => false,
            Some(flag) => flag.value.as_bool().unwrap_or_else(|| {
                self.errors.push(flag.wrong("a boolean"));
                false
            }),
        };
        let content = content.iter().map(|block| block.value.clone()).collect();
        let body = Body { content, structured: node.value.get("structuredContent").cloned() };
        if is_error { Outcome::ToolError(body) } else { Outcome::Result(body) }
    }

    /// An instant in RFC 3339, or in nanoseconds since 1970.
    fn instant(&mut self, node: &Node<'_>, key: &str) -> Option<i128> {
        let node = node.get(key)?;
        let found = match node.value {
            Value::String(text) => instant::parse(text).ok_or_else(|| problems::not_an_instant(node.place(), text)),
            Value::Number(number) => number.as_str().parse().map_err(|_| node.wrong("whole nanoseconds")),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(node.wrong("an instant in RFC 3339")),
        };
        self.or_complain(found)
    }

    fn turn(&mut self, node: &Node<'_>) -> Option<u32> {
        let node = node.get("turn")?;
        let turn = node.value.as_number().and_then(Number::as_i64).and_then(|n| u32::try_from(n).ok());
        self.or_complain(turn.ok_or_else(|| node.wrong("a whole number that is not negative")))
    }

    /// Gives every call an id of its own.
    fn name_calls(&mut self, calls: &mut [Call]) {
        let given: BTreeSet<SmolStr> = calls.iter().map(|c| c.id.clone()).collect();
        let mut taken: BTreeSet<SmolStr> = BTreeSet::new();
        let mut number = 0_u64;
        for (i, call) in calls.iter_mut().enumerate() {
            if !call.id.is_empty() && taken.insert(call.id.clone()) {
                continue;
            }
            let (wanted, stem) =
                (call.id.clone(), if call.id.is_empty() { SmolStr::from("call_") } else { format_smolstr!("{}~", call.id) });
            while call.id == wanted || given.contains(&call.id) || !taken.insert(call.id.clone()) {
                number = number.saturating_add(1);
                call.id = format_smolstr!("{stem}{number}");
            }
            if !wanted.is_empty() {
                self.notes.push(problems::same_id(format!("/calls/{i}"), &wanted, &call.id));
            }
        }
    }
}
