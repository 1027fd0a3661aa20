//! What clients see of workflows: tools, and outputs as results of tools. The text is the JSON, and the same stands beside it as structured content; a
//! text that nobody could take for JSON is itself.

use super::wire::{exact, exact_object};
use crate::offered::Offered;
use ltc_workflow::document::ToolEffect;
use ltc_workflow::{Object, Value, json};
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};
use std::sync::Arc;

/// A workflow as a tool of this name.
pub fn workflow(workflow: &Offered, name: String, about: String) -> Tool {
    let mut tool = Tool::new(name, about, exact_object(&without_headers(&workflow.input_schema)));
    tool.output_schema = workflow.output_schema.as_ref().map(|schema| Arc::new(exact_object(schema)));
    let is_at_most = |effect| workflow.effect <= effect && !workflow.asks;
    let hints = ToolAnnotations::new().read_only(is_at_most(ToolEffect::Read)).open_world(workflow.calls || workflow.asks);
    let hints = hints.idempotent(is_at_most(ToolEffect::Idempotent));
    // What a tool that writes takes away is not known: then nothing is said, which means that it may.
    tool.annotations = Some(if is_at_most(ToolEffect::Read) { hints.destructive(false) } else { hints });
    tool
}

/// Schemas of inputs that were taken from a tool may ask clients to send a value as a header too. We would have to hold it against the body, and do
/// not: so we do not ask for it.
pub fn without_headers(schema: &Value) -> Value {
    let Some((whole, properties)) = schema.as_object().zip(schema.get("properties").and_then(Value::as_object)) else {
        return schema.clone();
    };
    let plain = |property: &Value| match property {
        Value::Object(object) if object.contains_key(HEADER) => {
            let mut object = object.clone();
            object.remove(HEADER);
            object.into()
        }
        other => other.clone(),
    };
    let mut whole = whole.clone();
    whole.insert("properties", properties.iter().map(|(name, property)| (name.clone(), plain(property))).collect::<Object>().into());
    whole.into()
}

const HEADER: &str = "x-mcp-header";

/// A value as a result.
pub fn of(value: &Value, is_error: bool) -> CallToolResult {
    let text = match value {
        Value::String(words) if json::parse(words.as_bytes()).is_err() => words.to_string(),
        value => json::to_string(value),
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(exact(value));
    result.is_error = Some(is_error);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> String {
        let value = json::parse(value.as_bytes()).expect("JSON");
        of(&value, false).content.first().and_then(ContentBlock::as_text).expect("a text").text.clone()
    }

    #[test]
    fn a_text_is_itself_unless_it_would_be_taken_for_something_else() {
        assert_eq!(text(r#""Hello, \"you\"!\n""#), "Hello, \"you\"!\n");
        for value in [r#""7""#, r#""null""#, r#""{\"a\":1}""#, r#""\"quoted\"""#, "7", "null", r#"{"a":1.10}"#] {
            assert_eq!(text(value), value);
        }
    }

    #[test]
    fn nobody_is_asked_for_a_header_that_nobody_checks() {
        let schema =
            |more: &str| json::parse(format!(r#"{{"type":"object","properties":{{"a":{{"maximum":1.10{more}}},"b":true}}}}"#).as_bytes());
        let asking = schema(r#","x-mcp-header":"Region""#).expect("JSON");
        assert_eq!(without_headers(&asking), schema("").expect("JSON"));
    }
}
