//! Results against the output schemas of their tools, where they have one.
//!
//! A structured result that its own server's schema refuses does not flow into the next step: the call fails with `result-mismatch`. A result
//! without structured content is what older servers send, and is let through.

use crate::approximate::{Inexact, to_serde};
use crate::text;
use crate::upstream::{Tool, ToolResult, failure};
use ltc_workflow::advance::Failure;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// How many violations a message tells.
const MOST_TOLD: usize = 3;

/// The output schemas of servers, by server and tool.
#[derive(Default)]
pub struct Expectations(RwLock<BTreeMap<(SmolStr, SmolStr), Arc<jsonschema::Validator>>>);

impl Expectations {
    /// Expects what the tools of `server` promise. A schema that is none promises nothing.
    pub fn learn(&self, server: &str, tools: &[Tool]) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for tool in tools {
            let schema = tool.output_schema.as_ref().map(|schema| to_serde(schema, Inexact::Nearest));
            if let Some(validator) = schema.and_then(|schema| jsonschema::validator_for(&schema).ok()) {
                known.insert((SmolStr::new(server), tool.name.clone()), Arc::new(validator));
            }
        }
    }

    /// Checks what a tool answered.
    ///
    /// # Errors
    /// `result-mismatch` with the first violations.
    pub fn check(&self, server: &str, tool: &SmolStr, result: &ToolResult) -> Result<(), Failure> {
        let Some(structured) = result.structured.as_ref().filter(|_| !result.is_error) else { return Ok(()) };
        let key = (SmolStr::new(server), tool.clone());
        let Some(validator) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned() else { return Ok(()) };
        let structured = to_serde(structured, Inexact::Nearest);
        let violations: Vec<String> = validator
            .iter_errors(&structured)
            .take(MOST_TOLD)
            .map(|error| format!("{} {}", error.instance_path(), text::one_line(&error.to_string())).trim_start().to_owned())
            .collect();
        if violations.is_empty() {
            return Ok(());
        }
        let message = format!("the result is not what the tool's own output schema promises: {}", violations.join("; "));
        Err(failure("result-mismatch", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::{Value, json};

    #[test]
    fn a_result_that_breaks_its_promise_is_refused() {
        let schema = json::parse(br#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#).ok();
        let tool = Tool { name: "t".into(), input_schema: None, output_schema: schema, entry: Value::Null };
        let broken = Tool { name: "b".into(), input_schema: None, output_schema: json::parse(br#"{"type":7}"#).ok(), entry: Value::Null };
        let expectations = Expectations::default();
        expectations.learn("s", &[tool, broken]);
        let check = |tool: &str, structured: &str, is_error: bool| {
            let structured = json::parse(structured.as_bytes()).ok();
            expectations
                .check("s", &tool.into(), &ToolResult { content: Vec::new(), structured, is_error })
                .map_err(|failure| failure.message)
        };
        assert_eq!(check("t", r#"{"n":123456789012345678901234567890}"#, false), Ok(()));
        assert!(check("t", r#"{"n":"1"}"#, false).is_err_and(|message| message.contains("/n ")));
        assert!(check("t", "{}", false).is_err());
        assert_eq!(check("t", "{}", true), Ok(()));
        assert_eq!(check("b", "{}", false), Ok(()));
        assert_eq!(check("unknown", "{}", false), Ok(()));
        assert_eq!(expectations.check("s", &"t".into(), &ToolResult::default()), Ok(()));
    }
}
