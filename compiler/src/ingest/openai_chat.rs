//! OpenAI Chat Completions, and the harnesses that log in its shape: tau-bench, tau2 simulation results, LiveMCPBench, MCPMark, Toolathlon.
//!
//! - The name of a server stands in the name of the tool, if anywhere.
//! - There is no mark for errors, except tau2's `error`, the marks of wrappers, and two sentences that only a harness says: LiveMCPBench's
//!   `Tool call timed out.`, and Toolathlon's `Error running tool X: ` with the name of the tool that was called.
//! - LiveMCPBench's `execute-tool` is a tool that calls a tool: what is recorded is the inner call.
//! - In tau2 the simulated user has tools as well; what the user does is not what the agent did, and is left out.

use super::names::Name;
use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::{Asked, Recorder};
use super::results::{self, Answer};
use super::runs::{self, Run};
use super::{Format, Sample, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Outcome, Trace, instant};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const OPENAI_CHAT: Format = Format {
    name: "openai-chat",
    summary: "OpenAI Chat Completions messages; tau-bench, tau2, LiveMCPBench, MCPMark and Toolathlon logs",
    detect,
    read,
};

fn detect(sample: &Sample) -> bool {
    runs::have_message(sample, |m| is_call(m) || is_result(m) || m.get("content").is_some())
}

fn is_call(message: &Node<'_>) -> bool {
    message.get("tool_calls").is_some() || message.get("function_call").is_some()
}

fn is_result(message: &Node<'_>) -> bool {
    matches!(message.str("role"), Some("tool" | "function"))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let runs = runs::of(sample).map_err(|error| vec![error])?;
    runs.iter().map(|run| read_run(run, notes)).collect::<Result<_, _>>().map_err(|error| vec![error])
}

/// What has to be known of a call until its result comes.
#[derive(Default)]
struct Pending {
    /// The names of calls as the harness has them, by id.
    names: BTreeMap<SmolStr, SmolStr>,
    /// The legacy call that waits for its result, which has a name and no id.
    legacy: Option<(SmolStr, usize)>,
    /// Ids of calls of the simulated user.
    users: BTreeSet<SmolStr>,
}

fn read_run(run: &Run<'_>, notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut recorder = Recorder::default();
    recorder.id = id_of(&run.holder);
    for key in ["tools", "functions"] {
        recorder.tools(run.holder.get(key).iter().flat_map(Node::items));
    }
    if let Some(tools) = run.holder.get("tool_calls").and_then(|t| t.get("tools")) {
        recorder.tools(tools.items());
    }
    let mut pending = Pending::default();
    for message in &run.messages {
        match message.str("role") {
            Some("user" | "human") => {
                if let Some(content) = message.raw("content") {
                    words::keep(&mut recorder, content);
                }
                for call in message.list("tool_calls")? {
                    recorder.notes.push(problems::left_out(call.place(), "what the simulated user did"));
                    pending.users.extend(call.text("id")?);
                }
            }
            Some("assistant") => assistant(&mut recorder, message, &mut pending)?,
            Some("tool") if message.get("tool_messages").is_some() => {
                for message in message.list("tool_messages")? {
                    result(&mut recorder, &message, &mut pending)?;
                }
            }
            Some("tool" | "function") => result(&mut recorder, message, &mut pending)?,
            _ => {}
        }
    }
    Ok(recorder.finish(notes))
}

/// The id of a run, which may be a number.
fn id_of(holder: &Node<'_>) -> Option<SmolStr> {
    ["id", "request_id", "task_id"].iter().find_map(|key| match holder.raw(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.as_str().into()),
        _ => None,
    })
}

fn assistant(recorder: &mut Recorder, message: &Node<'_>, pending: &mut Pending) -> Result<(), Diagnostic> {
    let calls = message.list("tool_calls")?;
    let legacy = message.get("function_call").filter(|call| call.value.as_object().is_some());
    if calls.is_empty() && legacy.is_none() {
        return Ok(());
    }
    let started_at = message.str("timestamp").and_then(instant::parse);
    let turn = Some(recorder.next_turn());
    for call in &calls {
        if call.str("requestor") == Some("user") {
            pending.users.extend(call.text("id")?);
            continue;
        }
        let function = call.get("function").or_else(|| call.get("custom")).unwrap_or_else(|| call.clone());
        let name = function.need_text("name")?;
        let id = call.text("id")?;
        if let Some(id) = &id {
            pending.names.insert(id.clone(), name.clone());
        }
        let given = function.raw("arguments").or_else(|| function.raw("input"));
        ask(recorder, Asked { id, started_at, turn }, &name, given, &call.place());
    }
    if let Some(function) = legacy {
        let name = function.need_text("name")?;
        let asked = Asked { id: None, started_at, turn };
        let index = ask(recorder, asked, &name, function.raw("arguments"), &function.place());
        pending.legacy = index.map(|index| (name, index));
    }
    Ok(())
}

fn ask(recorder: &mut Recorder, asked: Asked, name: &str, given: Option<&Value>, place: &str) -> Option<usize> {
    if let Some((inner, given)) = execute_tool(name, given) {
        return recorder.ask(asked, &inner, given.as_ref(), place);
    }
    let name = recorder.split(name);
    recorder.ask(asked, &name, given, place)
}

const EXECUTE_TOOL: [&str; 2] = ["execute-tool", "execute_tool"];

/// The call inside of LiveMCPBench's `execute-tool`: `{server_name, tool_name, params}`.
fn execute_tool(name: &str, given: Option<&Value>) -> Option<(Name, Option<Value>)> {
    if !EXECUTE_TOOL.contains(&name) {
        return None;
    }
    let arguments: Object = super::arguments::read(given).ok()?;
    let (server, tool) = (arguments.get("server_name")?.as_str()?, arguments.get("tool_name")?.as_str()?);
    Some((Name::of(server, tool), arguments.get("params").cloned()))
}

fn result(recorder: &mut Recorder, message: &Node<'_>, pending: &mut Pending) -> Result<(), Diagnostic> {
    let id = message.text("tool_call_id")?.or(message.text("id")?);
    if id.as_ref().is_some_and(|id| pending.users.contains(id)) || message.str("requestor") == Some("user") {
        return Ok(());
    }
    let called = id.as_ref().and_then(|id| pending.names.get(id).cloned());
    let answer = results::peel(message.raw("content").unwrap_or(&Value::Null));
    if answer.cut {
        recorder.notes.push(problems::cut_result(message.place()));
    }
    let error = message.bool("error") == Some(true) || is_harness_error(&answer, called.as_deref());
    let outcome = answer.outcome(error);
    let at = message.str("timestamp").and_then(instant::parse);
    let name = message.text("name")?;
    match (id, pending.legacy.take()) {
        (Some(id), legacy) => {
            pending.legacy = legacy;
            recorder.result(&id, outcome, at, message.place());
        }
        (None, Some((called, index))) if name.as_ref().is_none_or(|name| *name == called) => recorder.end(index, outcome, at),
        (None, _) => recorder.notes.push(problems::result_without_call(message.place(), name.as_deref().unwrap_or_default())),
    }
    Ok(())
}

/// The sentences that only a harness says; each is bound to the call that it is about.
fn is_harness_error(answer: &Answer, called: Option<&str>) -> bool {
    let (Some(called), Outcome::Result(body)) = (called, answer.clone().outcome(false)) else {
        return false;
    };
    let text = ltc_workflow::outcome::text_of(&body.content);
    (EXECUTE_TOOL.contains(&called) && text == "Tool call timed out.")
        || text.strip_prefix("Error running tool ").and_then(|rest| rest.strip_prefix(called)).is_some_and(|rest| rest.starts_with(':'))
}
