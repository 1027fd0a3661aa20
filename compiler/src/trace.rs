//! A recording, whatever format it came in: what the agent was asked, which servers it had, and which calls it made.

use crate::hints::Hints;
use ltc_workflow::document::Transport;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

pub mod instant;
mod json;

pub use json::to_json;

/// The version of the trace format that this compiler reads and writes.
pub const FORMAT: &str = "ltc.trace/1";

/// The JSON Schema of `ltc.trace/1`.
pub const SCHEMA: &str = include_str!("../schema/trace.schema.json");

/// The server of tools that belong to none: what an agent has built in, and functions that a harness offers without a server.
pub const DEFAULT_SERVER: &str = "tools";

/// One recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Its id, where the recording has one.
    pub id: Option<SmolStr>,
    /// What the agent was asked, in words.
    pub task: Option<String>,
    /// What the run was given, as data.
    pub input: Option<Object>,
    /// What the run returned.
    pub output: Option<Value>,
    /// The servers, in the order of their names.
    pub servers: Vec<Server>,
    /// The calls in their order: that of `started_at` where every call has one, else that of the recording.
    pub calls: Vec<Call>,
}

/// A server, as far as the recording knows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// The name by which calls refer to it.
    pub name: SmolStr,
    /// How it is reached.
    pub transport: Option<Transport>,
    /// What `tools/list` said.
    pub tools: Vec<Tool>,
    /// Words to find it by.
    pub tags: Vec<SmolStr>,
    /// What a person told the compiler about it.
    pub hints: Hints,
}

/// An entry of `tools/list`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// Its name: any text.
    pub name: SmolStr,
    /// Its description.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Option<Value>,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Value>,
    /// `annotations.readOnlyHint`
    pub read_only: Option<bool>,
    /// `annotations.idempotentHint`
    pub idempotent: Option<bool>,
    /// `annotations.destructiveHint`
    pub destructive: Option<bool>,
}

/// One tool call and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its id in the recording, unique in the trace.
    pub id: SmolStr,
    /// The server's name; [`DEFAULT_SERVER`] where the recording knows none.
    pub server: SmolStr,
    /// The tool's name.
    pub tool: SmolStr,
    /// The arguments.
    pub arguments: Object,
    /// How it ended.
    pub outcome: Outcome,
    /// When it started, in nanoseconds since 1970.
    pub started_at: Option<i128>,
    /// When it ended, in nanoseconds since 1970.
    pub ended_at: Option<i128>,
    /// The message of parallel calls that it belongs to.
    pub turn: Option<u32>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With a result that is no error.
    Result(Body),
    /// With a result that says it is an error (`isError`).
    ToolError(Body),
    /// With a JSON-RPC error.
    RpcError {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// A person did not let it happen.
    Refused,
    /// The recording ends before it did.
    Missing,
}

/// What a `CallToolResult` carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// `content`: blocks.
    pub content: Vec<Value>,
    /// `structuredContent`
    pub structured: Option<Value>,
}

impl Body {
    /// A result that is one block of text.
    pub fn text(text: impl Into<SmolStr>) -> Body {
        let block = [("type", Value::from("text")), ("text", Value::String(text.into()))];
        Body { content: vec![block.into_iter().collect::<Object>().into()], structured: None }
    }

    /// The value that a workflow sees.
    pub fn decode(&self) -> Value {
        ltc_workflow::outcome::decode(&self.content, self.structured.as_ref())
    }
}
