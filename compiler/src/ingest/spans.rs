//! Spans of tools → traces: what OTLP, Jaeger, OpenInference, Langfuse and LangSmith have in common.
//!
//! Before: spans in any order, each with its attributes in some dialect. After: a trace for each trace id that has calls, in the order of
//! their starts. The spans that a client, a server and an agent's framework opened for one call are one call. Where tools have no spans at
//! all, the calls are those in the messages of the model's spans; where spans have no content, their arguments and results come from there.

mod assemble;
mod dialect;
pub(crate) mod messages;

use super::node::Node;
use crate::trace::Outcome;
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::collections::BTreeMap;

pub(crate) use assemble::assemble;

/// On which side of a connection a span was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Client,
    Server,
    #[default]
    Inside,
}

impl Kind {
    /// From a kind in words or in OTLP's numbers.
    pub fn of(value: Option<&Value>) -> Kind {
        let word = match value {
            Some(Value::String(word)) => word.to_ascii_lowercase(),
            Some(Value::Number(number)) => number.as_str().to_owned(),
            _ => return Kind::Inside,
        };
        match word.trim_start_matches("span_kind_") {
            "client" | "3" => Kind::Client,
            "server" | "2" => Kind::Server,
            _ => Kind::Inside,
        }
    }
}

/// A span, whoever recorded it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    pub trace: SmolStr,
    pub id: SmolStr,
    pub parent: SmolStr,
    pub name: SmolStr,
    pub kind: Kind,
    pub start: Option<i128>,
    pub end: Option<i128>,
    pub attributes: BTreeMap<SmolStr, Value>,
    /// What stands beside the attributes: bodies and attributes of events.
    pub events: Vec<Value>,
    pub is_error: bool,
    /// What the status says about the error.
    pub message: Option<SmolStr>,
    /// The name of the service that recorded it.
    pub service: Option<SmolStr>,
    /// Whether the recorder itself says that this is a tool.
    pub is_tool: bool,
    pub place: String,
}

impl Span {
    /// The attribute under a dotted key, in one piece or nested.
    pub fn get(&self, key: &str) -> Option<&Value> {
        if let Some(value) = self.attributes.get(key) {
            return Some(value).filter(|v| !v.is_null());
        }
        let (head, rest) = key.split_once('.')?;
        let mut value = self.attributes.get(head)?;
        for step in rest.split('.') {
            value = value.get(step).or_else(|| value.at(step.parse().ok()?))?;
        }
        Some(value).filter(|v| !v.is_null())
    }

    /// The string under a dotted key.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str).filter(|s| !s.is_empty())
    }

    /// Takes the plain attributes of a node in.
    pub fn take_attributes(&mut self, node: &Node<'_>) {
        self.attributes.extend(node.entries().into_iter().map(|(key, node)| (key.clone(), node.value.clone())));
    }
}

/// A call, as a span tells of it.
#[derive(Clone, Debug)]
struct Told {
    id: Option<SmolStr>,
    name: SmolStr,
    /// The server, where an attribute names one.
    server: Option<SmolStr>,
    arguments: Option<Value>,
    outcome: Option<Outcome>,
    /// Whether the outcome is a result that was recorded, and not only the status of a span.
    has_result: bool,
}
