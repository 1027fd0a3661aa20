//! The MCP servers that a run calls, behind a border of our own: nothing outside this folder knows the library that speaks the protocol.

pub(crate) mod child;
mod client;
mod connect;
mod ears;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod lines;
mod shelf;
#[cfg(feature = "http")]
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod wire;

#[cfg(feature = "http")]
pub(crate) use client::chain;
pub use connect::{Connector, Limits};
pub use ears::{Ears, Hearing, Progress};

use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Failure, StepKey};
use ltc_workflow::{Object, Value, digest, outcome};
use smol_str::SmolStr;

/// A connection to a server. Calls may be made at once; dropping the future of a call tells the server that nobody waits for it.
pub trait Upstream: Send + Sync {
    /// The tools that the server has now.
    fn tools(&self) -> BoxFuture<'_, Result<Vec<Tool>, Failure>>;

    /// Calls a tool. An error is a failure of the way there or back; a result that is an error is a [`ToolResult`].
    fn call<'c>(&'c self, call: &'c ToolCall) -> BoxFuture<'c, Result<ToolResult, Failure>>;

    /// Whether the connection can still be used.
    fn is_open(&self) -> bool;

    /// Ends the connection; a child process has ended when this has.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A tool, as far as a run looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: SmolStr,
    /// The JSON Schema of its arguments.
    pub input_schema: Option<Value>,
    /// The JSON Schema of its structured result.
    pub output_schema: Option<Value>,
    /// All that the server says of it: its entry in `tools/list`.
    pub entry: Value,
}

impl Tool {
    /// What the workflow remembers of its schemas.
    pub fn digest(&self) -> SmolStr {
        digest::of_tool(&self.name, self.input_schema.as_ref(), self.output_schema.as_ref())
    }
}

/// A call that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The tool's name.
    pub tool: SmolStr,
    /// The arguments; their numbers arrive with the digits that they have here.
    pub arguments: Object,
    /// The step that makes the call: sent along, so that a server can tell a repetition from a new call.
    pub step: StepKey,
    /// The run that the step belongs to.
    pub run: SmolStr,
    /// Who hears how far it has come; the server is not asked to say so where nobody does.
    pub hearing: Option<Hearing>,
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// `content`: blocks.
    pub content: Vec<Value>,
    /// `structuredContent`
    pub structured: Option<Value>,
    /// `isError`
    pub is_error: bool,
}

impl ToolResult {
    /// The result as a `CallToolResult`.
    pub fn to_json(&self) -> Value {
        let mut result = Object::default();
        result.insert("content", Value::array(self.content.clone()));
        if let Some(structured) = &self.structured {
            result.insert("structuredContent", structured.clone());
        }
        if self.is_error {
            result.insert("isError", Value::from(true));
        }
        result.into()
    }

    /// The value that the workflow sees.
    ///
    /// # Errors
    /// `tool-error` with the text of the result, where the result is one.
    pub fn decode(&self) -> Result<Value, Failure> {
        if !self.is_error {
            return Ok(outcome::decode(&self.content, self.structured.as_ref()));
        }
        let text = outcome::text_of(&self.content);
        let message = match (&self.structured, text.is_empty()) {
            (_, false) => text,
            (Some(structured), true) => ltc_workflow::json::to_string(structured),
            (None, true) => "the tool failed and said nothing".to_owned(),
        };
        Err(failure("tool-error", message))
    }
}

/// A failure that no step is named in yet.
pub(crate) fn failure(code: &str, message: impl Into<String>) -> Failure {
    Failure { code: SmolStr::new(code), message: message.into(), step: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    fn result(text: &str, structured: Option<&str>, is_error: bool) -> ToolResult {
        let content = json::parse(text.as_bytes()).expect("valid JSON in a test");
        let structured = structured.map(|text| json::parse(text.as_bytes()).expect("valid JSON in a test"));
        ToolResult { content: content.as_array().expect("a list").to_vec(), structured, is_error }
    }

    #[test]
    fn an_error_says_what_the_tool_said() {
        let said = result(r#"[{"type":"text","text":"no such page"}]"#, Some("{}"), true).decode();
        assert_eq!(said, Err(failure("tool-error", "no such page")));
        let structured = result("[]", Some(r#"{"why":1.0}"#), true).decode();
        assert_eq!(structured, Err(failure("tool-error", r#"{"why":1.0}"#)));
    }
}
