//! Descriptions of tools, in the spellings of MCP, of the providers' APIs and of OpenTelemetry.

use super::node::Node;
use crate::trace::Tool;
use ltc_workflow::Value;
use ltc_workflow::json;
use std::borrow::Cow;

/// A tool as any of them describes it; nothing where there is no name. A schema may be JSON in a string.
pub(crate) fn read(node: &Node<'_>) -> Option<Tool> {
    let inner = node.get("function").or_else(|| node.get("toolSpec")).unwrap_or_else(|| node.clone());
    let name = inner.str("name").filter(|name| !name.is_empty())?;
    let schema = |keys: &[&str]| keys.iter().find_map(|key| inner.raw(key)).and_then(schema);
    let annotations = inner.get("annotations");
    let hint = |key: &str, other: &str| annotations.as_ref().and_then(|a| a.bool(key).or_else(|| a.bool(other)));
    Some(Tool {
        name: name.into(),
        description: inner.str("description").map(str::to_owned),
        input_schema: schema(&["inputSchema", "input_schema", "parameters", "parameters_json_schema"]),
        output_schema: schema(&["outputSchema", "output_schema"]),
        read_only: hint("readOnlyHint", "read_only_hint"),
        idempotent: hint("idempotentHint", "idempotent_hint"),
        destructive: hint("destructiveHint", "destructive_hint"),
    })
}

fn schema(value: &Value) -> Option<Value> {
    let value = match value {
        Value::String(text) => Cow::Owned(json::parse(text.as_bytes()).ok()?),
        _ => Cow::Borrowed(value),
    };
    matches!(*value, Value::Object(_) | Value::Bool(_)).then(|| value.into_owned())
}
