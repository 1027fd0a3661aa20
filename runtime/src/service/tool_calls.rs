//! A call of a tool of a registered server: made, written down where the caller is recorded, and answered, in this order.

use super::gateway::{GatewayTool, KnownServer};
use super::recording::Trace;
use super::refusal::Code;
use super::server_views::{CallMcpTool, McpToolResult};
use super::servers::Reached;
use super::{Caller, Exact, Refusal, Service};
use crate::clock::{Moment, unique_name};
use crate::observe;
use crate::pool;
use crate::preflight;
use crate::problem::Problem;
use crate::store::TraceId;
use crate::upstream::{ToolCall, ToolResult};
use ltc_workflow::advance::StepKey;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::sync::Arc;
use std::time::Duration;

/// A call that came to its end, as a recording has it.
pub(super) struct Made {
    pub(super) server: SmolStr,
    pub(super) tool: SmolStr,
    pub(super) arguments: Object,
    pub(super) outcome: Outcome,
    pub(super) started_at: Moment,
    /// The server, as it stands in `ltc.trace/1`.
    pub(super) entry: Value,
    /// The schema of the arguments.
    pub(super) schema: Option<Value>,
}

/// How it ended.
pub(super) enum Outcome {
    /// The server answered.
    Answered(ToolResult),
    /// There was no answer, because of this.
    Failed(String),
    /// Nobody waits for the answer any more.
    GivenUp,
}

impl Made {
    /// About how long the text of the answer is.
    pub(super) fn size(&self) -> usize {
        let Outcome::Answered(result) = &self.outcome else { return 0 };
        result
            .content
            .iter()
            .flat_map(|block| ["text", "data", "blob"].map(|key| block.get(key).and_then(Value::as_str).map_or(0, str::len)))
            .sum()
    }
}

pub(super) async fn call(service: Arc<Service>, asked: CallMcpTool, caller: Caller) -> Result<McpToolResult, Refusal> {
    let server = service.known_server(&asked.server_name).await?;
    let arguments = match asked.arguments.map(|arguments| arguments.0) {
        None => Object::default(),
        Some(Value::Object(arguments)) => arguments,
        Some(other) => {
            let problem =
                Problem::new("invalid-input", "/arguments", format!("an object is expected, not a value of type {}", other.type_name()));
            return Err(Refusal::because(Code::Invalid, vec![problem]));
        }
    };
    let recording = match asked.trace_id {
        None => caller.recording,
        Some(id) => Some(service.recordings.claimed(&TraceId(id.as_str().into())).ok_or_else(|| {
            let mut refusal = Refusal::not_found("recording", &id);
            refusal.message.push_str(" that is open here; `claim_escalation` gives one, which ends with the answer");
            refusal
        })?),
    };
    let limit = asked.timeout_seconds.map(Duration::from_secs);
    let call = Asked { tool: asked.tool_name.into(), arguments, limit };
    let result = service.made(&server, call, Caller { recording, ..caller }).await?;
    Ok(McpToolResult {
        content: result.content.into_iter().map(Exact).collect(),
        structured_content: result.structured.map(Exact),
        is_error: result.is_error,
    })
}

/// What is to be called.
struct Asked {
    tool: SmolStr,
    arguments: Object,
    limit: Option<Duration>,
}

impl Service {
    /// Calls a tool of a registered server.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn call_upstream(&self, tool: &GatewayTool, arguments: Object, caller: Caller) -> Result<ToolResult, Refusal> {
        self.made(&tool.server, Asked { tool: tool.tool.clone(), arguments, limit: None }, caller).await
    }

    async fn made(&self, server: &KnownServer, asked: Asked, caller: Caller) -> Result<ToolResult, Refusal> {
        let Asked { tool, arguments, limit } = asked;
        let reached = if server.tool(&tool).is_some() {
            server.reached(self).map_err(|problems| Refusal::because(Code::Missing, problems))?
        } else {
            // The server may have got it since.
            let (reached, tools, _) = self.tried(&server.record).await?;
            if let Some(problem) = preflight::missing(&server.record.entry.name.0, &tool, &tools) {
                return Err(Refusal::because(Code::NotFound, vec![problem]));
            }
            reached
        };
        let step = StepKey(SmolStr::new_static("call"));
        let hearing = observe::hearing(&caller.observer, &step);
        let call = ToolCall { tool, arguments, step, run: unique_name().into(), hearing };
        let mut open = caller.recording.map(|recording| Open { trace: recording.trace(), made: Some(begun(server, &call)) });
        let result = pool::call(self.driver.adapter().as_ref(), &reached.client, &call, limit).await;
        let result = match result {
            Ok(result) => Ok(shown(&reached, result)),
            Err(failure) => Err(self.not_reached(&reached, failure)),
        };
        if let Some((trace, made)) = open.as_mut().and_then(|open| Some((open.trace.clone(), open.made.take()?))) {
            let outcome = match &result {
                Ok(result) => Outcome::Answered(result.clone()),
                Err(refusal) => Outcome::Failed(refusal.message.clone()),
            };
            trace.call(Made { outcome, ..made }).await;
        }
        result
    }
}

/// A call that is under way. Where it is given up, that is written down: nobody knows whether it was made.
struct Open {
    trace: Arc<Trace>,
    made: Option<Made>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            self.trace.call_given_up(made);
        }
    }
}

fn begun(server: &KnownServer, call: &ToolCall) -> Made {
    Made {
        server: server.record.entry.name.0.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        outcome: Outcome::GivenUp,
        started_at: Moment::now(),
        entry: server.traced.clone(),
        schema: server.tool(&call.tool).and_then(|entry| entry.get("inputSchema")).cloned(),
    }
}

/// The answer without secrets of the server's configuration.
fn shown(reached: &Reached, result: ToolResult) -> ToolResult {
    let value = |value: &Value| reached.redactor.value(value);
    ToolResult {
        content: result.content.iter().map(value).collect(),
        structured: result.structured.as_ref().map(value),
        is_error: result.is_error,
    }
}
