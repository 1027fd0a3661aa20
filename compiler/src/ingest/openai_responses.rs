//! OpenAI Responses: items, requests, responses, event streams, and YAML cassettes of HTTP traffic with them.
//!
//! A `function_call` joins its output by `call_id`, never by `id`. A hosted `mcp_call` holds its own result, and `error` says that it failed.
//! Items that a later request repeats are once. Hosted tools other than MCP's record no result, and are left out.

use super::names::Name;
use super::node::Node;
use super::problems::{self, Notes};
use super::recorder::{Asked, Recorder};
use super::results::{self, Answer};
use super::runs::{self, Run};
use super::{Format, Sample, tools, words};
use crate::diagnostics::Diagnostic;
use crate::trace::{Outcome, Trace};
use ltc_workflow::document::Transport;
use ltc_workflow::{Number, Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const OPENAI_RESPONSES: Format = Format {
    name: "openai-responses",
    summary: "OpenAI Responses items, requests and responses, with function tools or hosted MCP, and YAML cassettes of them",
    detect,
    read,
};

fn detect(sample: &Sample) -> bool {
    let Ok(runs) = runs::of(sample) else { return false };
    runs.iter().take(64).any(|run| run.holder.str("object") == Some("response") || run.messages.iter().any(|item| is_item(item)))
}

fn is_item(item: &Node<'_>) -> bool {
    let kinds = ["function_call", "function_call_output", "mcp_call", "mcp_list_tools", "mcp_approval_request", "custom_tool_call"];
    item.str("type").is_some_and(|kind| kinds.contains(&kind))
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let runs = runs::of(sample).map_err(|error| vec![error])?;
    let traces = if sample.is_traffic() {
        read_runs(&runs, notes).map(|trace| vec![trace])
    } else {
        runs.iter().map(|run| read_runs(std::slice::from_ref(run), notes)).collect()
    };
    traces.map_err(|error| vec![error])
}

/// One trace of requests that belong together: those of a cassette repeat each other's items.
fn read_runs(runs: &[Run<'_>], notes: &mut Notes) -> Result<Trace, Diagnostic> {
    let mut reader = Reader { repeats: runs.len() > 1, ..Reader::default() };
    for run in runs {
        if run.holder.str("object") == Some("response") {
            reader.recorder.id = run.holder.str("id").map(SmolStr::new);
        }
        reader.parameters(&run.holder)?;
        run.messages.iter().try_for_each(|item| reader.item(item))?;
    }
    Ok(reader.recorder.finish(notes))
}

/// Reads items one after another.
#[derive(Default)]
pub(super) struct Reader {
    pub recorder: Recorder,
    /// Whether items come again without their ids.
    repeats: bool,
    seen: BTreeSet<SmolStr>,
    approvals: BTreeMap<SmolStr, Option<usize>>,
    turn: Option<u32>,
}

impl Reader {
    /// The tools of a request: descriptions of functions, and MCP servers with their URLs.
    pub fn parameters(&mut self, holder: &Node<'_>) -> Result<(), Diagnostic> {
        for tool in holder.get("tools").iter().flat_map(Node::items) {
            match (tool.str("type"), tool.str("server_label")) {
                (Some("mcp"), Some(label)) => {
                    self.recorder.knows(label);
                    if let Some(url) = tool.text("server_url")? {
                        // Headers may hold secrets, and stay out of the trace.
                        self.recorder.transport(label, Transport::Http { url: url.to_string(), headers: BTreeMap::new(), sse: false });
                    }
                }
                _ => self.recorder.tools([tool]),
            }
        }
        Ok(())
    }

    /// One item.
    pub fn item(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        if let Some(text) = item.value.as_str() {
            self.recorder.words(text);
            return Ok(());
        }
        let kind = item.str("type").unwrap_or("message");
        let is_call = matches!(kind, "function_call" | "custom_tool_call");
        if !is_call {
            self.turn = None;
        }
        match kind {
            "message" if item.str("role") == Some("user") => {
                if let Some(content) = item.raw("content") {
                    words::keep(&mut self.recorder, content);
                }
            }
            "function_call" | "custom_tool_call" => self.call(item)?,
            "function_call_output" | "custom_tool_call_output" => self.output(item)?,
            "mcp_list_tools" => self.list_tools(item)?,
            "mcp_approval_request" => self.approval_request(item)?,
            "mcp_approval_response" => self.approval_response(item)?,
            "mcp_call" => self.mcp_call(item)?,
            kind if kind.ends_with("_call") => {
                self.recorder.notes.push(problems::left_out(item.place(), "a hosted tool that records no result"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether an item comes for the first time. The placeholder that LiteLLM writes for every id is no id.
    fn is_new(&mut self, kind: &str, id: Option<&str>) -> bool {
        id.is_none_or(|id| id == "__fake_id__" || self.seen.insert(format!("{kind} {id}").into()))
    }

    fn call(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        let (id, name) = (item.text("call_id")?.or(item.text("id")?), item.need_text("name")?);
        let key = if self.repeats { id.as_deref() } else { item.str("id") };
        if !self.is_new("call", key) {
            return Ok(());
        }
        let name = match item.text("namespace")? {
            Some(namespace) => Name::of(namespace.strip_prefix("mcp__").unwrap_or(&namespace), &name),
            None => self.recorder.split(&name),
        };
        let turn = Some(*self.turn.get_or_insert_with(|| self.recorder.next_turn()));
        let asked = Asked { id, started_at: None, turn };
        if let Some(input) = item.raw("input").filter(|_| item.str("type") == Some("custom_tool_call")) {
            let arguments = [("input", input.clone())].into_iter().collect();
            self.recorder.call(asked, &name, arguments, &item.place());
        } else {
            self.recorder.ask(asked, &name, item.raw("arguments"), &item.place());
        }
        Ok(())
    }

    fn output(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        let key = if self.repeats { item.str("call_id") } else { item.str("id") };
        if !self.is_new("output", key) {
            return Ok(());
        }
        let id = item.need_text("call_id")?;
        let answer = results::peel(item.raw("output").unwrap_or(&Value::Null));
        if answer.cut {
            self.recorder.notes.push(problems::cut_result(item.place()));
        }
        self.recorder.result(&id, answer.outcome(false), None, item.place());
        Ok(())
    }

    fn list_tools(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        let Some(label) = item.text("server_label")? else {
            return Ok(());
        };
        self.recorder.knows(&label);
        for tool in item.list("tools")?.iter().filter_map(tools::read) {
            self.recorder.tool(&label, tool);
        }
        Ok(())
    }

    fn hosted(&mut self, item: &Node<'_>) -> Result<Option<usize>, Diagnostic> {
        let (name, id) = (item.need_text("name")?, item.text("id")?);
        let name = match item.text("server_label")? {
            Some(label) => Name::of(&label, &name),
            None => self.recorder.split(&name),
        };
        Ok(self.recorder.ask(Asked { id, ..Asked::default() }, &name, item.raw("arguments"), &item.place()))
    }

    fn approval_request(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        let id = item.need_text("id")?;
        if self.is_new("approval", Some(&id)) {
            let index = self.hosted(item)?;
            self.approvals.insert(id, index);
        }
        Ok(())
    }

    fn approval_response(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        let id = item.need_text("approval_request_id")?;
        let asked = self.approvals.get(&id).copied().flatten();
        if let Some(index) = asked.filter(|_| item.bool("approve") == Some(false)) {
            self.recorder.end(index, Outcome::Refused, None);
        }
        Ok(())
    }

    /// A call that was asked for approval is the call of the request.
    fn mcp_call(&mut self, item: &Node<'_>) -> Result<(), Diagnostic> {
        if !self.is_new("mcp", item.str("id")) {
            return Ok(());
        }
        let approved = item.str("approval_request_id").and_then(|id| self.approvals.get(id).copied().flatten());
        let index = match approved {
            Some(index) => Some(index),
            None => self.hosted(item)?,
        };
        if let Some(index) = index {
            self.recorder.end(index, hosted_outcome(item), None);
        }
        Ok(())
    }
}

/// How a hosted call ended: `error` is a text, a protocol error with a code, or the content of an error result.
fn hosted_outcome(item: &Node<'_>) -> Outcome {
    let output = item.raw("output").map(results::peel);
    match item.raw("error") {
        Some(Value::Object(error)) if error.contains_key("content") => match error.get("content") {
            Some(content) => results::tool_result(content).outcome(true),
            None => Outcome::Missing,
        },
        Some(Value::Object(error)) => rpc_error(error),
        Some(error) => results::tool_result(error).outcome(true),
        None => match output {
            Some(answer) => answer.outcome(item.str("status") == Some("failed")),
            None if item.str("status") == Some("failed") => Answer::default().outcome(true),
            None => Outcome::Missing,
        },
    }
}

fn rpc_error(error: &Object) -> Outcome {
    let code = error.get("code").and_then(Value::as_number).and_then(Number::as_i64).unwrap_or_default();
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    Outcome::RpcError { code, message }
}
