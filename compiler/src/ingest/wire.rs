//! Frames of MCP connections → calls. A response belongs to the request with its id, in its connection and from the other side.
//!
//! - A result that asks for input (`resultType: "input_required"`) is no end: the request that comes with the same `requestState` is the same
//!   call, and its result is the call's. So is what `tasks/get` and `tasks/result` say about the task that a call became.
//! - Calls whose requests were sent before the first of them was answered are one turn.
//! - A server's name is the label of the recorder, else the name that the server gives itself.

use super::arguments;
use super::names::Name;
use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::{Asked, Recorder};
use super::{results, tools};
use crate::diagnostics::Diagnostic;
use crate::trace::{DEFAULT_SERVER, Outcome, Tool, Trace};
use ltc_workflow::document::Transport;
use ltc_workflow::json;
use ltc_workflow::{Number, Value};
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Server,
    Unknown,
}

impl Sender {
    /// From a recorder's word for it.
    pub fn of(word: Option<&str>) -> Sender {
        match word {
            Some("c2s" | "client" | "client_to_server" | "outgoing") => Sender::Client,
            Some("s2c" | "server" | "server_to_client" | "incoming") => Sender::Server,
            _ => Sender::Unknown,
        }
    }
}

/// A message, and how it came.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Which connection.
    pub session: SmolStr,
    /// The recorder's name for the server.
    pub label: Option<SmolStr>,
    pub sender: Sender,
    pub message: Value,
    pub at: Option<i128>,
    /// Where it stands.
    pub line: Option<usize>,
    pub pointer: String,
}

/// A request that waits for its response.
#[derive(Clone, Debug)]
enum Waiting {
    Call(usize),
    /// A call that was left out: its response is as well.
    Nobody,
    Tools,
    Hello,
    Task(SmolStr),
}

/// A connection.
#[derive(Debug, Default)]
struct Session {
    label: Option<SmolStr>,
    name: Option<SmolStr>,
    waiting: BTreeMap<String, VecDeque<Waiting>>,
    asked_by_server: BTreeSet<String>,
    states: BTreeMap<String, usize>,
    tasks: BTreeMap<SmolStr, usize>,
    calls: Vec<usize>,
    tools: Vec<Tool>,
}

/// All connections of a file.
pub(crate) struct Wire {
    recorder: Recorder,
    sessions: Vec<Session>,
    current: BTreeMap<SmolStr, usize>,
    ids: BTreeSet<SmolStr>,
    /// The calls of the turn, until one of them is answered.
    open_turn: Option<(u32, BTreeSet<usize>)>,
}

/// Requests that only servers make.
const OF_SERVERS: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];

impl Wire {
    pub fn new(recorder: Recorder) -> Wire {
        Wire { recorder, sessions: Vec::new(), current: BTreeMap::new(), ids: BTreeSet::new(), open_turn: None }
    }

    /// One message.
    pub fn frame(&mut self, frame: &Frame) -> Result<(), Diagnostic> {
        let node = Node::within(&frame.message, frame.line, &frame.pointer);
        let method = node.str("method");
        let key = frame.label.as_ref().map_or_else(|| frame.session.clone(), |label| format_smolstr!("{label} {}", frame.session));
        let session = self.session(key, frame, method == Some("initialize"));
        let id = node.raw("id").map(json::to_string);
        match (method, id) {
            (Some(method), Some(id)) => {
                let of_server = frame.sender == Sender::Server || (frame.sender == Sender::Unknown && OF_SERVERS.contains(&method));
                if of_server {
                    if let Some(session) = self.sessions.get_mut(session) {
                        session.asked_by_server.insert(id);
                    }
                    return Ok(());
                }
                self.request(session, method, id, &node, frame.at)
            }
            (None, Some(id)) if frame.sender != Sender::Client => self.response(session, &id, &node, frame),
            _ => Ok(()),
        }
    }

    /// The connection; a second `initialize` in it begins a new one, whose ids begin anew.
    fn session(&mut self, key: SmolStr, frame: &Frame, begins: bool) -> usize {
        let current = self.current.get(&key).copied();
        let used = current.and_then(|at| self.sessions.get(at)).is_some_and(|s| s.name.is_some() || !s.calls.is_empty());
        match current {
            Some(at) if !(begins && used) => at,
            _ => {
                self.sessions.push(Session { label: frame.label.clone(), ..Session::default() });
                let at = self.sessions.len().saturating_sub(1);
                self.current.insert(key, at);
                at
            }
        }
    }

    fn request(&mut self, at: usize, method: &str, id: String, node: &Node<'_>, time: Option<i128>) -> Result<(), Diagnostic> {
        let params = node.get("params");
        let task = || params.as_ref().and_then(|p| p.str("taskId")).map(SmolStr::new);
        let waiting = match method {
            "initialize" | "server/discover" => Waiting::Hello,
            "tools/list" => Waiting::Tools,
            "tools/call" => self.call(at, &id, node, time)?,
            "tasks/get" | "tasks/result" => task().map_or(Waiting::Nobody, Waiting::Task),
            _ => Waiting::Nobody,
        };
        if let Some(session) = self.sessions.get_mut(at) {
            session.waiting.entry(id).or_default().push_back(waiting);
        }
        Ok(())
    }

    fn call(&mut self, at: usize, id: &str, node: &Node<'_>, time: Option<i128>) -> Result<Waiting, Diagnostic> {
        let params = node.get("params").ok_or_else(|| node.missing("params"))?;
        let state = params.raw("requestState").map(json::to_string);
        let again = state.and_then(|state| self.sessions.get(at)?.states.get(&state).copied());
        if let Some(index) = again {
            return Ok(Waiting::Call(index));
        }
        let tool = params.need_text("name")?;
        let arguments = match params.get("arguments") {
            None => arguments::read(None).unwrap_or_default(),
            Some(given) => given.value.as_object().cloned().ok_or_else(|| given.wrong("an object"))?,
        };
        let asked = Asked { id: Some(self.free_id(at, id)), started_at: time, turn: Some(self.turn_of_request()) };
        let index = self.recorder.call(asked, &Name::plain(&tool), arguments, &node.place());
        if let Some((_, open)) = &mut self.open_turn {
            open.insert(index);
        }
        if let Some(session) = self.sessions.get_mut(at) {
            session.calls.push(index);
        }
        Ok(Waiting::Call(index))
    }

    /// Ids are only unique in their connection: the label goes in front, and a number behind where that is not enough.
    fn free_id(&mut self, at: usize, id: &str) -> SmolStr {
        let id = id.trim_matches('"');
        let label = self.sessions.get(at).and_then(|s| s.label.clone().or(s.name.clone()));
        let wanted = label.map_or_else(|| SmolStr::new(id), |label| format_smolstr!("{label}:{id}"));
        let mut free = wanted.clone();
        let mut number = self.ids.len();
        while free.is_empty() || !self.ids.insert(free.clone()) {
            number = number.saturating_add(1);
            free = format_smolstr!("{wanted}#{number}");
        }
        free
    }

    fn turn_of_request(&mut self) -> u32 {
        match &self.open_turn {
            Some((turn, _)) => *turn,
            None => {
                let turn = self.recorder.next_turn();
                self.open_turn = Some((turn, BTreeSet::new()));
                turn
            }
        }
    }

    fn response(&mut self, at: usize, id: &str, node: &Node<'_>, frame: &Frame) -> Result<(), Diagnostic> {
        let Some(session) = self.sessions.get_mut(at) else {
            return Ok(());
        };
        // Both sides count for themselves: where nobody says who sent this, it answers a server's request unless it looks like a tool's result.
        let looks_like_result = node.get("result").is_some_and(|r| r.raw("content").is_some_and(|c| c.as_array().is_some()));
        let answers_server = frame.sender == Sender::Unknown && session.asked_by_server.contains(id) && !looks_like_result;
        if answers_server && session.asked_by_server.remove(id) {
            return Ok(());
        }
        let Some(waiting) = session.waiting.get_mut(id).and_then(VecDeque::pop_front) else {
            if node.get("result").is_some_and(|r| r.raw("content").is_some()) {
                self.recorder.notes.push(problems::result_without_call(node.place(), id));
            }
            return Ok(());
        };
        let result = node.get("result");
        match waiting {
            Waiting::Nobody => {}
            Waiting::Hello => {
                let info = result.and_then(|r| r.get("serverInfo").or_else(|| r.get("_meta")?.get("io.modelcontextprotocol/serverInfo")));
                session.name = info.and_then(|i| i.str("name").map(SmolStr::new)).or(session.name.take());
            }
            Waiting::Tools => {
                session.tools.extend(result.iter().filter_map(|r| r.get("tools")).flat_map(|t| t.items()).filter_map(|t| tools::read(&t)))
            }
            Waiting::Task(task) => {
                if let Some(index) = session.tasks.get(&task).copied() {
                    self.task_answer(index, node, frame)?;
                }
            }
            Waiting::Call(index) => self.answer(at, index, node, frame)?,
        }
        Ok(())
    }

    /// The response to a call: its end, a question, or the task that it became.
    fn answer(&mut self, at: usize, index: usize, node: &Node<'_>, frame: &Frame) -> Result<(), Diagnostic> {
        if self.open_turn.as_ref().is_some_and(|(_, open)| open.contains(&index)) {
            self.open_turn = None;
        }
        let result = node.get("result");
        let kind = result.as_ref().and_then(|r| r.str("resultType"));
        let task = result.as_ref().and_then(|r| r.get("task").unwrap_or_else(|| r.clone()).str("taskId").map(SmolStr::new));
        let Some(session) = self.sessions.get_mut(at) else {
            return Ok(());
        };
        match (kind, task) {
            (Some("input_required"), _) => {
                if let Some(state) = result.and_then(|r| r.raw("requestState").map(json::to_string)) {
                    session.states.insert(state, index);
                }
            }
            (_, Some(task)) if kind == Some("task") || result.is_some_and(|r| r.raw("content").is_none()) => {
                session.tasks.insert(task, index);
            }
            _ => {
                let outcome = outcome_of(node)?;
                self.recorder.end(index, outcome, frame.at);
            }
        }
        Ok(())
    }

    /// What is known of a task: its result, if it has one by now.
    fn task_answer(&mut self, index: usize, node: &Node<'_>, frame: &Frame) -> Result<(), Diagnostic> {
        let Some(result) = node.get("result") else {
            return Ok(());
        };
        let task = result.get("task").unwrap_or_else(|| result.clone());
        let outcome = match (task.str("status"), task.get("result"), result.raw("content")) {
            (_, Some(inner), _) => results::tool_result(inner.value).outcome(task.str("status") == Some("failed")),
            (_, None, Some(_)) => results::tool_result(result.value).outcome(false),
            (Some("failed"), ..) => match task.get("error") {
                Some(error) => rpc_error(&error)?,
                None => results::tool_result(task.raw("statusMessage").unwrap_or(&Value::Null)).outcome(true),
            },
            _ => return Ok(()),
        };
        self.recorder.end(index, outcome, frame.at);
        Ok(())
    }

    /// The trace; `transport` is how the only server is reached, where there is one.
    pub fn finish(mut self, transport: Option<Transport>, notes: &mut Notes) -> Trace {
        let mut names = BTreeSet::new();
        for session in std::mem::take(&mut self.sessions) {
            if session.calls.is_empty() && session.tools.is_empty() {
                continue;
            }
            let name = session.label.or(session.name).filter(|n| !n.is_empty()).unwrap_or_else(|| DEFAULT_SERVER.into());
            for index in session.calls {
                if let Some(call) = self.recorder.get_mut(index) {
                    call.server = name.clone();
                }
            }
            for tool in session.tools {
                self.recorder.tool(&name, tool);
            }
            names.insert(name);
        }
        if let (Some(transport), Some(only), 1) = (transport, names.first(), names.len()) {
            self.recorder.transport(only, transport);
        }
        self.recorder.finish(notes)
    }
}

fn outcome_of(node: &Node<'_>) -> Result<Outcome, Diagnostic> {
    match (node.get("error"), node.get("result")) {
        (Some(error), _) => rpc_error(&error),
        (None, Some(result)) => Ok(results::tool_result(result.value).outcome(false)),
        (None, None) => Ok(results::tool_result(&Value::Null).outcome(false)),
    }
}

fn rpc_error(error: &Node<'_>) -> Result<Outcome, Diagnostic> {
    let message = error.text("message")?.unwrap_or_default().to_string();
    let code = match error.get("code") {
        None => 0,
        Some(code) => code.value.as_number().and_then(Number::as_i64).ok_or_else(|| code.wrong("a whole number"))?,
    };
    Ok(Outcome::RpcError { code, message })
}
