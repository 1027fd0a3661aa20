//! The wire: MCP's JSON-RPC messages, bare or in the envelope of a recorder, and in recorded HTTP traffic.
//!
//! Known envelopes: mcpsnoop (`direction`, `raw`), toddegray/mcp-recorder (`dir`, `msg`), devhelm's mcp-recorder (`interactions`), both
//! mcp-cassettes (`sender`, `payload`; `dir`, `frame`), mcp-debug (`dir: req|res`), explore-mcp (`call_tool` with a `count`), HAR and VCR.
//! Here each becomes a frame: which connection, who sent it, which message, when. `wire.rs` finds the calls in them.

use super::moments;
use super::node::Node;
use super::problems::Notes;
use super::recorder::Recorder;
use super::wire::{Frame, Sender, Wire};
use super::{Format, Sample};
use crate::diagnostics::Diagnostic;
use crate::trace::Trace;
use ltc_workflow::document::Transport;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

pub(super) const MCP_JSONRPC: Format = Format {
    name: "mcp-jsonrpc",
    summary: "MCP messages: bare JSON lines, HAR and VCR, mcpsnoop, mcp-recorder, mcp-cassette, mcp-debug, explore-mcp",
    detect,
    read,
};

fn detect(sample: &Sample) -> bool {
    let is_message =
        |value: Option<&Value>| value.is_some_and(|v| v.get("jsonrpc").is_some() || v.at(0).is_some_and(|v| v.get("jsonrpc").is_some()));
    sample.head().iter().any(|record| {
        let inside = ["raw", "msg", "frame", "payload", "request"].iter().any(|key| is_message(record.get(key)));
        let in_list =
            |list: &str, key: &str| record.get(list).and_then(Value::as_array).is_some_and(|l| l.iter().any(|i| is_message(i.get(key))));
        let is_debug = record.get("dir").and_then(Value::as_str).is_some_and(|d| d == "req" || d == "res") && record.get("id").is_some();
        is_message(Some(record))
            || inside
            || in_list("interactions", "request")
            || in_list("messages", "payload")
            || is_debug
            || is_client_log(record)
    })
}

/// explore-mcp logs what a Python client does.
fn is_client_log(record: &Value) -> bool {
    let kind = record.get("type").and_then(Value::as_str);
    record.get("count").is_some()
        && (kind == Some("request") && record.get("method").is_some() || kind == Some("response") && record.get("result").is_some())
}

fn read(sample: &Sample, notes: &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>> {
    let mut recorder = Recorder::default();
    let mut frames = Vec::new();
    let mut header = Header::default();
    for record in sample.records() {
        envelope(&record, &mut header, &mut frames, &mut recorder);
    }
    if frames.iter().all(|f| f.at.is_some()) {
        frames.sort_by_key(|f| f.at);
    }
    let mut wire = Wire::new(recorder);
    for frame in &frames {
        wire.frame(frame).map_err(|error| vec![error])?;
    }
    let transport = header.transport.take();
    Ok(vec![wire.finish(transport, notes)])
}

/// What a file says once for all of its frames.
#[derive(Default)]
struct Header {
    started: Option<i128>,
    transport: Option<Transport>,
    server: Option<SmolStr>,
}

/// The frames of a record: one, or all of a file that is one object.
fn envelope(record: &Node<'_>, header: &mut Header, frames: &mut Vec<Frame>, recorder: &mut Recorder) {
    let mut push = |session: &str, label: Option<&str>, sender: Sender, node: &Node<'_>, at: Option<i128>| {
        let (session, label) = (SmolStr::new(session), label.map(SmolStr::new));
        let messages: Vec<Node<'_>> = if node.value.as_array().is_some() { node.items().collect() } else { vec![node.clone()] };
        for message in messages.iter().filter(|m| m.value.as_object().is_some()) {
            let (session, label, (line, pointer)) = (session.clone(), label.clone(), message.origin());
            frames.push(Frame { session, label, sender, message: message.value.clone(), at, line, pointer: pointer.to_owned() });
        }
    };
    let offset = |header: &Header, node: &Node<'_>, key: &str| Some(header.started? + moments::scaled(node.raw(key)?, 6)?);
    if let Some(raw) = record.get("raw") {
        let (session, label) = (record.str("session_id").unwrap_or_default(), record.str("server_label"));
        if record.bool("truncated") == Some(true) {
            recorder.notes.push(super::problems::cut_result(record.place()));
        }
        push(session, label, Sender::of(record.str("direction")), &raw, record.raw("ts").and_then(moments::any));
    } else if let Some(message) = record.get("msg") {
        push("", None, Sender::of(record.str("dir")), &message, record.raw("t").and_then(|t| moments::scaled(t, 9)));
    } else if record.str("type") == Some("summary") {
        header.transport = record.get("server").and_then(|s| command_of(&s));
    } else if record.str("type") == Some("header") {
        header.started = record.raw("startedAt").and_then(moments::any);
        header.transport = record.get("command").and_then(|c| command_line(&c));
    } else if let Some(frame) = record.get("frame") {
        push("", None, Sender::of(record.str("dir")), &frame, offset(header, record, "t"));
    } else if let Some(messages) = record.get("messages").filter(|m| m.value.at(0).is_none_or(|m| m.get("payload").is_some())) {
        header.started = record.raw("recorded_at").and_then(moments::any);
        header.transport = record.str("server_url").map(url);
        for item in messages.items() {
            if let Some(payload) = item.get("payload") {
                push("", header.server.as_deref(), Sender::of(item.str("sender")), &payload, offset(header, &item, "t_offset_ms"));
            }
        }
    } else if let Some(interactions) = record.get("interactions") {
        header.transport = record.get("metadata").and_then(|m| m.str("server_url").map(url));
        for item in interactions.items() {
            item.get("request").iter().for_each(|request| push("", None, Sender::Client, request, None));
            item.get("response").iter().for_each(|response| push("", None, Sender::Server, response, None));
        }
    } else if record.get("uri").is_some() || (record.get("request").is_some() && record.get("jsonrpc").is_none()) {
        let session = record.str("session").or(record.str("uri")).unwrap_or_default();
        let at = record.raw("started_at").and_then(moments::any);
        let end = at.and_then(|at| Some(at + moments::scaled(record.raw("took_ms")?, 6)?)).or(at);
        record.get("request").iter().for_each(|request| push(session, None, Sender::Client, request, at));
        record.get("response").iter().for_each(|response| push(session, None, Sender::Server, response, end));
        if header.transport.is_none() {
            header.transport = record.str("uri").map(url);
        }
    } else if is_client_log(record.value) {
        client_log(record, frames);
    } else {
        let sender = match record.str("dir") {
            Some("req") => Sender::Client,
            Some("res") => Sender::Server,
            _ => Sender::Unknown,
        };
        push("", record.str("server"), sender, record, record.raw("ts").and_then(moments::any));
    }
}

/// A line of explore-mcp as the message that it stands for.
fn client_log(record: &Node<'_>, frames: &mut Vec<Frame>) {
    let id = record.raw("count").cloned().unwrap_or_default();
    let fields: Vec<(&str, Value)> = if record.str("type") == Some("request") {
        let arguments = record.get("args");
        let argument = |at: usize| arguments.as_ref().and_then(|a| a.value.at(at)).cloned();
        let method = match record.str("method") {
            Some("call_tool") => "tools/call",
            Some("list_tools") => "tools/list",
            _ => "other",
        };
        let params: Object = [("name", argument(0)), ("arguments", argument(1))].into_iter().filter_map(|(k, v)| Some((k, v?))).collect();
        vec![("id", id), ("method", Value::from(method)), ("params", params.into())]
    } else {
        let answer = match (record.raw("error"), record.raw("result")) {
            (Some(error), _) => {
                let message = error.as_str().map_or_else(|| ltc_workflow::json::to_string(error), str::to_owned);
                let error: Object = [("code", Value::from(0_i64)), ("message", Value::string(message))].into_iter().collect();
                ("error", error.into())
            }
            (None, result) => ("result", result.cloned().unwrap_or_default()),
        };
        vec![("id", id), answer]
    };
    let sender = if record.str("type") == Some("request") { Sender::Client } else { Sender::Server };
    let message = fields.into_iter().collect::<Object>().into();
    let (line, pointer) = record.origin();
    frames.push(Frame { session: "".into(), label: None, sender, message, at: None, line, pointer: pointer.to_owned() });
}

fn url(url: &str) -> Transport {
    Transport::Http { url: url.to_owned(), headers: BTreeMap::new(), sse: false }
}

fn command_of(server: &Node<'_>) -> Option<Transport> {
    let args = server.get("args").iter().flat_map(Node::items).filter_map(|a| a.value.as_str().map(str::to_owned)).collect();
    Some(Transport::Stdio { command: server.str("command")?.to_owned(), args, env: BTreeMap::new(), cwd: None })
}

fn command_line(command: &Node<'_>) -> Option<Transport> {
    let mut words = command.items().filter_map(|a| a.value.as_str().map(str::to_owned));
    Some(Transport::Stdio { command: words.next()?, args: words.collect(), env: BTreeMap::new(), cwd: None })
}
