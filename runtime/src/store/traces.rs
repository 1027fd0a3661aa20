//! Recordings in the store: what came from an agent, call by call, until it is read as one `ltc.trace/1`.
//!
//! Nothing is taken out here: who records has made secrets unreadable before.

use super::EscalationId;
use crate::clock::Moment;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

/// The name of a recording.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(pub SmolStr);

/// What a recording is of; what is not known is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceAbout {
    /// What the agent was asked.
    pub task: Option<String>,
    /// The workflow that it may become, or that it stands in for.
    pub workflow: Option<SmolStr>,
    /// The question to people that it works on.
    pub escalation: Option<EscalationId>,
    /// The structured input of what is done.
    pub input: Option<Object>,
}

/// A recording that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTrace {
    /// Its name.
    pub id: TraceId,
    /// Who is recorded, or over which connection.
    pub by: SmolStr,
    /// What it is of, as far as that is known.
    pub about: TraceAbout,
    /// The servers that are there: name to entry, as in `ltc.trace/1`.
    pub servers: Object,
    /// When it began.
    pub started_at: Moment,
}

/// A call that was made, with how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceCall {
    /// Its name within the recording.
    pub id: SmolStr,
    /// The server.
    pub server: SmolStr,
    /// The tool.
    pub tool: SmolStr,
    /// The arguments.
    pub arguments: Object,
    /// How it ended.
    pub outcome: TraceOutcome,
    /// When it was made.
    pub started_at: Moment,
    /// When it ended.
    pub ended_at: Moment,
    /// Calls of one number were made at once.
    pub turn: Option<u32>,
}

/// How a recorded call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceOutcome {
    /// The server answered with this `CallToolResult`.
    Result(Value),
    /// The server answered with a JSON-RPC error, or not at all.
    Error {
        /// The error's number.
        code: i64,
        /// What was said.
        message: String,
    },
    /// A person did not let it happen.
    Refused,
    /// The recording ends before it did.
    Missing,
}

impl TraceCall {
    /// The call as `ltc.trace/1` has it.
    pub fn to_json(&self) -> Value {
        let mut call = Object::default();
        call.insert("id", Value::String(self.id.clone()));
        call.insert("server", Value::String(self.server.clone()));
        call.insert("tool", Value::String(self.tool.clone()));
        call.insert("arguments", Value::Object(self.arguments.clone()));
        match &self.outcome {
            TraceOutcome::Result(result) => call.insert("result", result.clone()),
            TraceOutcome::Error { code, message } => {
                let error: Object = [("code", Value::from(*code)), ("message", Value::string(message.as_str()))].into_iter().collect();
                call.insert("error", Value::Object(error))
            }
            TraceOutcome::Refused => call.insert("refused", Value::from(true)),
            TraceOutcome::Missing => {}
        };
        call.insert("started_at", Value::string(self.started_at.to_string()));
        call.insert("ended_at", Value::string(self.ended_at.to_string()));
        if let Some(turn) = self.turn {
            call.insert("turn", Value::from(i64::from(turn)));
        }
        Value::Object(call)
    }
}

/// A recording, without its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// Its name.
    pub id: TraceId,
    /// Who was recorded, or over which connection.
    pub by: SmolStr,
    /// What it is of.
    pub about: TraceAbout,
    /// How many calls it has.
    pub calls: u64,
    /// When it began.
    pub started_at: Moment,
    /// When something last happened in it.
    pub touched_at: Moment,
    /// When it ended; `None` where it goes on, or broke off.
    pub ended_at: Option<Moment>,
    /// What it returned.
    pub output: Option<Value>,
}

impl TraceRecord {
    /// The whole recording as `ltc.trace/1`.
    pub fn document(&self, servers: Object, calls: Vec<Value>) -> Value {
        let about = &self.about;
        let fields = [
            ("format", Some(Value::from("ltc.trace/1"))),
            ("id", Some(Value::String(self.id.0.clone()))),
            ("task", about.task.as_deref().map(Value::string)),
            ("input", about.input.clone().map(Value::Object)),
            ("output", self.output.clone()),
            ("servers", Some(Value::Object(servers))),
            ("calls", Some(Value::array(calls))),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()
    }
}

/// What became of what was to be written down in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It is written down; the recording has so many calls now.
    Calls(u64),
    /// The recording has ended.
    Ended,
    /// There is no such recording.
    NoSuchTrace,
}

/// Which recordings are wanted, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFilter {
    /// Only those that work on this question.
    pub escalation: Option<EscalationId>,
    /// Only those of this workflow.
    pub workflow: Option<SmolStr>,
    /// Only those of just this task.
    pub task: Option<String>,
    /// Only those that go on, or only those that have ended.
    pub is_open: Option<bool>,
    /// Only those behind this one in the list: the last of the page before.
    pub after: Option<(Moment, TraceId)>,
    /// How many at most.
    pub limit: u32,
}
