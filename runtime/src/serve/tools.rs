//! Operations and workflows as tools.

use super::wire::exact_object;
use super::{GATEWAY, Place};
use crate::approximate::{Inexact, to_serde};
use crate::offered::Offered;
use crate::service::{Code, GatewayTool, Kind, OPERATIONS, Operation, Refusal};
use crate::stdio::shown::{self, without_headers};
use ltc_workflow::{Object, Value};
use rmcp::model::{ErrorData, JsonObject, ListToolsResult, Tool, ToolAnnotations};
use std::borrow::Cow;
use std::sync::Arc;

/// How many workflows are on one page.
const PAGE: u32 = 100;

/// What stands before the name of a workflow that is called as an operation is. No workflow's name has capitals.
const APART: &str = "WORKFLOW_";

/// The name of a workflow's tool.
pub fn name_of(workflow: &str) -> Cow<'_, str> {
    if Operation::named(workflow).is_some() { format!("{APART}{workflow}").into() } else { workflow.into() }
}

/// The workflow whose tool has this name, if one has.
pub fn workflow_of(tool: &str) -> Option<&str> {
    let name = tool.strip_prefix(APART).unwrap_or(tool);
    (name_of(name) == tool).then_some(name)
}

/// A page of the tools at `place`: the operations, the tools of registered servers, then the workflows by name.
pub async fn list(place: &Place, cursor: Option<String>) -> Result<ListToolsResult, ErrorData> {
    let is_first = cursor.is_none();
    let (workflows, next) = if place.which.has_workflows() {
        place.service.offered(cursor, PAGE).await.map_err(|refusal| error(&refusal))?
    } else if is_first {
        (Vec::new(), None)
    } else {
        return Err(ErrorData::invalid_params("there is no such page", None));
    };
    let upstream = match is_first && place.which.has(GATEWAY) {
        true => Some(place.service.gateway_table().await.map_err(|refusal| error(&refusal))?),
        false => None,
    };
    let upstream = upstream.iter().flat_map(|table| table.tools());
    let operations = OPERATIONS.iter().filter(|operation| is_first && place.which.shows(operation.mcp)).map(of_operation);
    let mut page =
        ListToolsResult::with_all_items(operations.chain(upstream.map(of_upstream)).chain(workflows.iter().map(of_workflow)).collect());
    page.next_cursor = next;
    Ok(page)
}

/// A refusal where the protocol has no result to put it in.
pub fn error(refusal: &Refusal) -> ErrorData {
    let message = refusal.message.clone();
    match refusal.code {
        Code::Invalid | Code::NotFound | Code::Conflict => ErrorData::invalid_params(message, None),
        Code::Missing | Code::Unavailable | Code::Broken => ErrorData::internal_error(message, None),
    }
}

fn of_operation(operation: &Operation) -> Tool {
    let object = |schema: serde_json::Value| match schema {
        serde_json::Value::Object(object) => Arc::new(object),
        other => Arc::new(JsonObject::from_iter([("const".to_owned(), other)])),
    };
    let mut tool = Tool::new(operation.name, operation.about, object(operation.input_schema()));
    tool.output_schema = Some(object(operation.output_schema()));
    tool.annotations = Some(match operation.kind {
        Kind::Reads => ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false),
        Kind::Sets => ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(false),
        Kind::Adds => ToolAnnotations::new().read_only(false).destructive(false).idempotent(false).open_world(false),
        Kind::Ends => ToolAnnotations::new().read_only(false).destructive(true).idempotent(true).open_world(false),
        Kind::Runs => ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true),
    });
    tool
}

/// A tool of a registered server, as that server shows it but for its name.
fn of_upstream(tool: &GatewayTool) -> Tool {
    let entry = &tool.entry;
    let about = entry.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = entry.get("inputSchema").cloned().unwrap_or_else(|| Object::from_iter([("type", Value::from("object"))]).into());
    let mut shown = Tool::new(tool.name.to_string(), about, exact_object(&without_headers(&schema)));
    shown.title = entry.get("title").and_then(Value::as_str).map(str::to_owned);
    shown.output_schema = entry.get("outputSchema").map(|schema| Arc::new(exact_object(schema)));
    shown.annotations = entry.get("annotations").and_then(|hints| serde_json::from_value(approximately(hints)).ok());
    shown
}

fn of_workflow(workflow: &Offered) -> Tool {
    let name = name_of(&workflow.name);
    let mut about = workflow.description.clone().unwrap_or_else(|| format!("Runs the workflow {}.", workflow.name));
    if name != workflow.name.as_str() {
        about.push_str(&format!("\nThis is the workflow `{}`; the tool of that name is another.", workflow.name));
    }
    shown::workflow(workflow, name.into_owned(), about)
}

/// What a client is told about a schema, where the library wants to look at it.
pub fn approximately(schema: &Value) -> serde_json::Value {
    to_serde(schema, Inexact::Nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_that_is_called_as_an_operation_has_a_name_of_its_own() {
        assert_eq!(name_of("label-issues"), "label-issues");
        assert_eq!(workflow_of("label-issues"), Some("label-issues"));
        assert_eq!(name_of("get_run"), "WORKFLOW_get_run");
        assert_eq!(workflow_of("WORKFLOW_get_run"), Some("get_run"));
        // Neither may be reached by the other's name.
        assert_eq!(workflow_of("get_run"), None);
        assert_eq!(workflow_of("WORKFLOW_label-issues"), None);
        assert!(OPERATIONS.iter().all(|operation| !operation.name.contains(|c: char| c.is_ascii_uppercase())));
    }
}
