//! Messages to and from one server → the calls that were made: requests and answers are paired by their ids.
//!
//! What is no call, no list of tools and no handshake is looked at and forgotten. Hostile messages (the same id twice, an answer to nothing)
//! confuse the pairs of whoever sent them, and nothing else.

use super::message::{Kind, at, key, kind};
use crate::clock::Micros;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// So many requests are remembered while they wait.
const MOST_WAITING: usize = 10_000;

/// Sees what passes. It is told before the answer reaches the client.
pub trait Observer: Send + Sync {
    /// A server answered the handshake with this.
    fn greeted(&self, server: &str, answer: &Value);

    /// A server listed tools; `is_first` of a list of several pages.
    fn listed(&self, server: &str, tools: &[Value], is_first: bool);

    /// A call came to its end.
    fn called(&self, server: &str, call: &Call);

    /// All that it was told of is there when this returns, whatever happens then: before this, no answer reaches the client.
    fn settle(&self) {}
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The tool, by the name that its server knows.
    pub tool: SmolStr,
    /// What it was given.
    pub arguments: Object,
    /// How it ended.
    pub outcome: Outcome,
    /// When it left for the server.
    pub started: Micros,
    /// When the answer came.
    pub ended: Micros,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With this result, which may be one of a failure.
    Result(Value),
    /// With a JSON-RPC error.
    Error(Value),
    /// The client gave it up.
    Cancelled,
    /// There was no answer while anybody listened.
    Unanswered,
}

/// A request that waits.
enum Asked {
    Greeting,
    Tools {
        is_first: bool,
    },
    Call(Open),
    /// The state or the result of a call that became a task.
    Task(String),
}

/// A call under way.
struct Open {
    tool: SmolStr,
    arguments: Object,
    started: Micros,
}

/// The messages of one server.
pub struct Watch {
    server: SmolStr,
    observer: Arc<dyn Observer>,
    waiting: BTreeMap<String, VecDeque<Asked>>,
    count: usize,
    tasks: BTreeMap<String, Open>,
}

impl Watch {
    /// Watches the server of this name.
    pub fn new(server: &str, observer: Arc<dyn Observer>) -> Watch {
        Watch { server: server.into(), observer, waiting: BTreeMap::new(), count: 0, tasks: BTreeMap::new() }
    }

    /// A message leaves for the server.
    pub fn sent(&mut self, message: &Value) {
        if let Some(batch) = message.as_array() {
            return batch.iter().for_each(|message| self.sent(message));
        }
        match kind(message) {
            Kind::Request(id, method) => {
                if let Some(asked) = asked(method, message)
                    && self.count < MOST_WAITING
                {
                    self.count += 1;
                    self.waiting.entry(key(id)).or_default().push_back(asked);
                }
            }
            Kind::Notification("notifications/cancelled") => {
                if let Some(Asked::Call(open)) = at(message, &["params", "requestId"]).and_then(|id| self.take(&key(id))) {
                    self.end_of(open, Outcome::Cancelled);
                }
            }
            Kind::Notification(_) | Kind::Answer(_) | Kind::Other => {}
        }
    }

    /// A message of the server arrives.
    pub fn received(&mut self, message: &Value) {
        if let Some(batch) = message.as_array() {
            return batch.iter().for_each(|message| self.received(message));
        }
        let Kind::Answer(id) = kind(message) else { return };
        let Some(asked) = self.take(&key(id)) else { return };
        let result = message.get("result");
        match (asked, result) {
            (Asked::Greeting, Some(result)) => self.observer.greeted(&self.server, result),
            (Asked::Tools { is_first }, Some(result)) => {
                let tools = result.get("tools").and_then(Value::as_array).unwrap_or_default();
                self.observer.listed(&self.server, tools, is_first);
            }
            (Asked::Call(open), Some(result)) => self.answered(open, result),
            (Asked::Call(open), None) => {
                let error = message.get("error").cloned().unwrap_or_default();
                self.end_of(open, Outcome::Error(error));
            }
            (Asked::Task(task), Some(result)) => self.task(&task, result),
            (Asked::Greeting | Asked::Tools { .. } | Asked::Task(_), None) => {}
        }
    }

    /// Nothing more comes from the server.
    pub fn end(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.count = 0;
        let open = waiting.into_values().flatten().filter_map(|asked| match asked {
            Asked::Call(open) => Some(open),
            Asked::Greeting | Asked::Tools { .. } | Asked::Task(_) => None,
        });
        let mut open: Vec<Open> = open.chain(std::mem::take(&mut self.tasks).into_values()).collect();
        open.sort_by_key(|open| open.started);
        for open in open {
            self.end_of(open, Outcome::Unanswered);
        }
    }

    /// Nothing of what was seen can be lost when this has returned.
    pub fn settle(&self) {
        self.observer.settle();
    }

    fn take(&mut self, id: &str) -> Option<Asked> {
        let waiting = self.waiting.get_mut(id)?;
        let asked = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(id);
        }
        self.count -= usize::from(asked.is_some());
        asked
    }

    /// A result ends the call, unless it only says that the call is a task now, or that the client has to answer something first and call again.
    fn answered(&mut self, open: Open, result: &Value) {
        let kind = result.get("resultType").and_then(Value::as_str).unwrap_or_default();
        let is_plain = result.get("content").is_some();
        let task = at(result, &["task", "taskId"]).or(result.get("taskId").filter(|_| kind == "task")).and_then(Value::as_str);
        match task {
            _ if kind == "input_required" => {}
            Some(task) if !is_plain => {
                self.tasks.insert(task.to_owned(), open);
            }
            Some(_) | None => self.end_of(open, Outcome::Result(result.clone())),
        }
    }

    fn task(&mut self, task: &str, answer: &Value) {
        let whole = answer.get("content").map(|_| answer).or(answer.get("result"));
        let outcome = match (whole, answer.get("error")) {
            (Some(result), _) => Outcome::Result(result.clone()),
            (None, Some(error)) => Outcome::Error(error.clone()),
            (None, None) => return,
        };
        if let Some(open) = self.tasks.remove(task) {
            self.end_of(open, outcome);
        }
    }

    fn end_of(&self, open: Open, outcome: Outcome) {
        let Open { tool, arguments, started } = open;
        self.observer.called(&self.server, &Call { tool, arguments, outcome, started, ended: Micros::now() });
    }
}

fn asked(method: &str, message: &Value) -> Option<Asked> {
    let params = message.get("params");
    let param = |key: &str| params.and_then(|params| params.get(key));
    match method {
        "initialize" | "server/discover" => Some(Asked::Greeting),
        "tools/list" => Some(Asked::Tools { is_first: param("cursor").is_none_or(Value::is_null) }),
        "tools/call" => {
            let arguments = param("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
            Some(Asked::Call(Open { tool: param("name")?.as_str()?.into(), arguments, started: Micros::now() }))
        }
        "tasks/get" | "tasks/result" => Some(Asked::Task(param("taskId")?.as_str()?.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
