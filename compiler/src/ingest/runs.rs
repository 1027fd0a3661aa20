//! Files of conversations → runs: what is shared by the providers' formats, whose messages come in many wrappers.

use super::Sample;
use super::node::Node;
use crate::diagnostics::Diagnostic;
use ltc_workflow::{Object, Value};

/// A run: the object that holds it (parameters, tools, an id), and its messages.
#[derive(Clone, Debug)]
pub(crate) struct Run<'v> {
    /// The object around the messages, or the list itself.
    pub holder: Node<'v>,
    /// The messages in their order; those of the answer come last.
    pub messages: Vec<Node<'v>>,
}

/// Keys under which harnesses keep the messages of a run.
const MESSAGES: [&str; 6] = ["messages", "traj", "trajectory", "conversation", "input", "items"];

/// So many earlier requests are compared with, when a log repeats its conversations.
const COMPARED: usize = 8;

/// All runs of a file: a list of messages, an object that holds one, a list or lines of such objects, and results with `simulations`.
/// Of a log that repeats the conversation with each request, the last request is the run.
pub(crate) fn of(sample: &Sample) -> Result<Vec<Run<'_>>, Diagnostic> {
    let records = sample.records();
    if records.iter().all(|r| is_message(r.value)) {
        return Ok(records.first().map(|first| Run { holder: first.clone(), messages: records.clone() }).into_iter().collect());
    }
    let mut runs: Vec<Run<'_>> = Vec::new();
    for record in records {
        for run in of_record(&record)? {
            let open = runs.len().saturating_sub(COMPARED);
            let earlier = runs.iter().skip(open).rposition(|earlier| continues(&run, earlier));
            match earlier.and_then(|at| runs.get_mut(open + at)) {
                Some(earlier) => *earlier = run,
                None => runs.push(run),
            }
        }
    }
    Ok(runs)
}

/// Whether one of the first runs of a file has a message, by its role, of which `test` is true.
pub(crate) fn have_message(sample: &Sample, test: impl Fn(&Node<'_>) -> bool) -> bool {
    const LOOKED_AT: usize = 64;
    let Ok(runs) = of(sample) else { return false };
    runs.iter().take(LOOKED_AT).flat_map(|run| &run.messages).any(|m| m.get("role").is_some() && test(m))
}

fn of_record<'v>(record: &Node<'v>) -> Result<Vec<Run<'v>>, Diagnostic> {
    if record.value.as_array().is_some() {
        let messages: Vec<Node<'v>> = record.items().collect();
        return Ok(vec![Run { holder: record.clone(), messages }]);
    }
    if let Some(simulations) = record.get("simulations") {
        return simulations.items().map(|node| Ok(Run { messages: node.list("messages")?, holder: node })).collect();
    }
    let holder = ["request", "body", "params", "kwargs"].iter().find_map(|key| record.get(key)).filter(|r| messages_of(r).is_some());
    let holder = holder.unwrap_or_else(|| record.clone());
    let mut messages = match messages_of(&holder) {
        Some(node) if node.value.as_str().is_some() => vec![node],
        Some(node) if node.value.as_array().is_none() => return Err(node.wrong("a list of messages")),
        Some(node) => node.items().collect(),
        None => Vec::new(),
    };
    let response = record.get("response").filter(|r| r.value.as_object().is_some()).unwrap_or_else(|| record.clone());
    messages.extend(answers(&response));
    Ok(vec![Run { holder, messages }])
}

fn messages_of<'v>(node: &Node<'v>) -> Option<Node<'v>> {
    MESSAGES.iter().find_map(|key| node.get(key)).filter(|m| m.value.as_object().is_none())
}

/// What a response adds: `output` items, `choices`, or an assistant message itself.
fn answers<'v>(response: &Node<'v>) -> Vec<Node<'v>> {
    let mut answers = Vec::new();
    if let Some(output) = response.get("output") {
        answers.extend(output.items());
    }
    if let Some(choices) = response.get("choices") {
        answers.extend(choices.items().take(1).filter_map(|choice| choice.get("message")));
    }
    if response.str("role").is_some() && response.get("content").is_some() {
        answers.push(response.clone());
    }
    answers
}

/// Whether this is a message or an item: what has a role or the type of an item.
fn is_message(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_str);
    let has_messages = MESSAGES.iter().any(|key| value.get(key).is_some_and(|m| m.as_array().is_some()));
    !has_messages && value.get("output").is_none_or(|o| kind.is_some() || o.is_null()) && (value.get("role").is_some() || kind.is_some())
}

/// Requests name a model. Results of a harness do not, and two runs of one task may well begin alike.
fn is_request(run: &Run<'_>) -> bool {
    run.holder.get("model").is_some()
}

/// Whether `later` begins with all the messages of `earlier`.
fn continues(later: &Run<'_>, earlier: &Run<'_>) -> bool {
    is_request(later)
        && is_request(earlier)
        && !earlier.messages.is_empty()
        && later.messages.len() >= earlier.messages.len()
        && earlier.messages.iter().zip(&later.messages).all(|(a, b)| same_message(a.value, b.value))
}

/// Whether two messages say the same; the marks that steer a provider's cache move from request to request.
fn same_message(a: &Value, b: &Value) -> bool {
    let role = |m: &Value| m.get("role").cloned();
    role(a) == role(b)
        && match (a.get("content"), b.get("content")) {
            (Some(Value::Array(a)), Some(Value::Array(b))) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_block(a, b)),
            (Some(Value::Array(blocks)), Some(Value::String(text))) | (Some(Value::String(text)), Some(Value::Array(blocks))) => {
                matches!(blocks.as_slice(), [only] if only.get("text").and_then(Value::as_str) == Some(text.as_str()))
            }
            _ => a == b || (a.get("content") == b.get("content") && a.get("tool_calls") == b.get("tool_calls")),
        }
}

fn same_block(a: &Value, b: &Value) -> bool {
    if a == b {
        return true;
    }
    let plain = |block: &Value| {
        let mut object = block.as_object()?.clone();
        object.remove("cache_control");
        Some::<Object>(object)
    };
    plain(a) == plain(b)
}
