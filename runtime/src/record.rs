//! What passes a relay → a recording in `ltc.trace/1`, written as it goes: after each call everything up to that call is there.
//!
//! A line is the beginning of the recording, what is known of a server, or a call. A secret is replaced by what stands for it, the same for the same
//! value wherever it appears; where a value turns out to be one, what is written already is written again without it.

mod described;
mod file;
mod stand_ins;

pub use described::Described;
pub use file::{FileSink, Unusable};

use crate::clock::unique_name;
use crate::observe::Log;
use crate::relay::{Call, Observer, Outcome};
use crate::text;
use ltc_workflow::json::MAX_DEPTH;
use ltc_workflow::{Object, Value};
use smol_str::{SmolStr, format_smolstr};
pub(crate) use stand_ins::StandIns;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Deeper values are left out: the lines around them have to be read again.
pub(crate) const DEEPEST: usize = MAX_DEPTH - 16;

/// Where a recording goes, record by record.
pub trait Sink: Send {
    /// Adds a record.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn append(&mut self, record: &Value) -> std::io::Result<()>;

    /// What was added is there when this returns, whatever happens to this process.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn settle(&mut self) -> std::io::Result<()>;

    /// Puts `change` of each record in its place.
    ///
    /// # Errors
    /// Where it cannot be written: then all is as it was.
    fn rewrite(&mut self, change: &dyn Fn(&Value) -> Value) -> std::io::Result<()>;
}

/// Writes a recording.
pub struct Recorder {
    state: Mutex<State>,
    log: Arc<dyn Log>,
}

struct State {
    sink: Box<dyn Sink>,
    secrets: StandIns,
    servers: BTreeMap<SmolStr, Known>,
    calls: u64,
    is_broken: bool,
}

/// A server, as far as the recording knows it.
#[derive(Default)]
struct Known {
    described: Described,
    tools: Vec<Value>,
    /// The last line about it.
    written: Option<Value>,
    /// Whether that line says all that is known: nothing is compared for a call otherwise.
    is_told: bool,
}

impl Recorder {
    /// Begins a recording of calls of these servers, by the names that the relay knows them by; `task` is what the agent is asked to do.
    ///
    /// # Errors
    /// Where nothing can be written.
    pub fn begin(
        mut sink: Box<dyn Sink>,
        task: Option<&str>,
        servers: Vec<(SmolStr, Described)>,
        log: Arc<dyn Log>,
    ) -> std::io::Result<Recorder> {
        let mut head: Object = [("format", Value::from("ltc.trace/1")), ("id", Value::string(unique_name()))].into_iter().collect();
        let mut secrets = StandIns::default();
        for (_, described) in &servers {
            for (name, value) in &described.secrets {
                secrets.learn(name, value);
            }
        }
        if let Some(task) = task {
            head.insert("task", Value::from(task));
        }
        sink.append(&secrets.hide(&head.into()))?;
        sink.settle()?;
        let servers = servers.into_iter().map(|(name, described)| (name, Known { described, ..Known::default() })).collect();
        Ok(Recorder { state: Mutex::new(State { sink, secrets, servers, calls: 0, is_broken: false }), log })
    }

    /// How many calls were written.
    pub fn calls(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).calls
    }

    fn write(&self, write: impl FnOnce(&mut State) -> std::io::Result<()>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_broken {
            return;
        }
        if let Err(error) = write(&mut state) {
            // The client's work goes on; it is only not recorded any more.
            state.is_broken = true;
            self.log.server_said("record", &text::one_line(&format!("the recording cannot be written, and ends here: {error}")));
        }
    }
}

impl Observer for Recorder {
    fn greeted(&self, server: &str, answer: &Value) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = state.servers.get_mut(server) else { return };
        let own = answer.get("serverInfo").and_then(|info| info.get("name")).and_then(Value::as_str);
        known.described.name_itself(own.unwrap_or_default());
        known.is_told = false;
    }

    fn listed(&self, server: &str, tools: &[Value], is_first: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = state.servers.get_mut(server) else { return };
        if is_first {
            known.tools.clear();
        }
        let readable = |tool: &&Value| tool.get("name").is_some_and(|name| name.as_str().is_some()) && is_shallow(tool, DEEPEST);
        known.tools.extend(tools.iter().filter(readable).cloned());
        known.is_told = false;
    }

    fn called(&self, server: &str, call: &Call) {
        self.write(|state| state.call(server, call));
    }

    fn settle(&self) {
        self.write(|state| state.sink.settle());
    }
}

impl State {
    fn call(&mut self, server: &str, call: &Call) -> std::io::Result<()> {
        let known = self.servers.entry(server.into()).or_default();
        let name = known.described.name();
        let tool = known.tools.iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(&call.tool));
        let schema = tool.and_then(|tool| tool.get("inputSchema"));
        let arguments = Value::Object(call.arguments.clone());
        let before = self.secrets.count();
        self.secrets.find_in_arguments(&name, &arguments, schema, &known.described.hinted);
        match &call.outcome {
            Outcome::Result(result) => self.secrets.find_in_result(&name, result),
            Outcome::Error(_) | Outcome::Cancelled | Outcome::Unanswered => {}
        }
        if self.secrets.count() > before {
            let secrets = &self.secrets;
            self.sink.rewrite(&|record| secrets.hide(record))?;
        }
        if !known.is_told {
            let line = self.secrets.hide(&known.described.line(&name, &known.tools));
            if known.written.as_ref() != Some(&line) {
                self.sink.append(&line)?;
                known.written = Some(line);
            }
            known.is_told = true;
        }
        let number = self.calls + 1;
        let record = self.secrets.hide(&record(&name, number, call));
        self.sink.append(&record)?;
        self.calls = number;
        Ok(())
    }
}

/// A call as a line.
fn record(server: &SmolStr, number: u64, call: &Call) -> Value {
    let arguments = Value::Object(call.arguments.clone());
    let arguments = if is_shallow(&arguments, DEEPEST) { arguments } else { Object::default().into() };
    let mut record: Object = [
        ("id", Value::String(format_smolstr!("call_{number}"))),
        ("server", Value::String(server.clone())),
        ("tool", Value::String(call.tool.clone())),
        ("arguments", arguments),
    ]
    .into_iter()
    .collect();
    let error = |code: Value, message: Value| -> Value { [("code", code), ("message", message)].into_iter().collect::<Object>().into() };
    match &call.outcome {
        Outcome::Result(result) => match readable(result).filter(|result| is_shallow(result, DEEPEST)) {
            Some(result) => record.insert("result", result),
            None => record
                .insert("error", error(Value::from(0_i64), Value::from("the result was no result, or nested too deep to be recorded"))),
        },
        Outcome::Error(said) => {
            let code = said.get("code").filter(|code| code.as_number().is_some_and(|code| code.as_i64().is_some())).cloned();
            let message = said.get("message").filter(|message| message.as_str().is_some()).cloned();
            record.insert("error", error(code.unwrap_or_else(|| Value::from(0_i64)), message.unwrap_or_else(|| Value::from(""))));
        }
        Outcome::Cancelled => record.insert("error", error(Value::from(0_i64), Value::from("the client gave the call up"))),
        Outcome::Unanswered => {}
    }
    record.insert("started_at", Value::string(call.started.to_string()));
    record.insert("ended_at", Value::string(call.ended.to_string()));
    record.into()
}

/// A result, as far as it is one: what no reader would take is left out.
fn readable(result: &Value) -> Option<Value> {
    let mut kept = result.as_object()?.clone();
    if let Some(content) = kept.get("content").cloned() {
        let blocks = content.as_array().unwrap_or_default().iter().filter(|block| block.as_object().is_some()).cloned().collect();
        kept.insert("content", blocks);
    }
    if kept.get("isError").is_some_and(|flag| flag.as_bool().is_none()) {
        kept.remove("isError");
    }
    Some(kept.into())
}

/// Whether `value` has at most `levels` levels.
pub(crate) fn is_shallow(value: &Value, levels: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_shallow(item, levels - 1)),
        Value::Object(object) => levels > 0 && object.iter().all(|(_, item)| is_shallow(item, levels - 1)),
    }
}

#[cfg(test)]
mod tests;
