//! Runs as tasks of the extension `io.modelcontextprotocol/tasks`.
//!
//! The id of a task is the id of its run, and its state is what the store says: it survives this process, and any process over the same store
//! answers for it. A question to a person is an input request of the task where the client can ask its user, and its form is one that the
//! protocol's forms can say; else somebody answers it through the human queue, and the task says that it waits.

use super::results::{self, Shape};
use super::wire::{ANSWERS, is_modern};
use super::{Place, tools};
use crate::clock::unique_name;
use crate::observe::Unobserved;
use crate::service::{Caller, Operation, Refusal};
use crate::store::RunId;
use crate::upstream::wire::carried;
use ltc_workflow::{Object, Value};
use rmcp::RoleServer;
use rmcp::model::{DetailedTask, ErrorData, InputRequest, InputRequests, JsonObject, Task, TaskPayload, UpdateTaskParams};
use rmcp::service::RequestContext;
use std::sync::Arc;

/// What the ids of runs begin with that were begun by the tool of a workflow: the result of such a task is the output.
const BY_TOOL: &str = "tool-";

/// How often a client is asked to look.
const POLL_MILLIS: u64 = 1000;

/// A name for a run that the tool of a workflow begins.
pub fn name_by_tool() -> RunId {
    RunId(format!("{BY_TOOL}{}", unique_name()).into())
}

/// Whether the result of this run, as a task, is its output.
pub fn is_by_tool(run: &RunId) -> bool {
    run.0.starts_with(BY_TOOL)
}

/// Whether a request may be answered with a task.
pub fn are_taken(context: &RequestContext<RoleServer>) -> bool {
    is_modern(context) && context.meta.client_capabilities().is_some_and(|client| client.supports_tasks())
}

fn caller() -> Caller {
    Caller::new(Arc::new(Unobserved))
}

async fn ask(place: &Place, operation: &'static str, input: Object) -> Result<Value, Refusal> {
    let operation = Operation::named(operation).ok_or_else(|| Refusal::new(crate::service::Code::Broken, "an operation is not there"))?;
    operation.call(&place.service, &input.into(), caller()).await
}

fn of_run(run: &RunId) -> Object {
    Object::from_iter([("run_id", Value::String(run.0.clone()))])
}

/// A run as a task, as it stands now.
pub async fn detailed(place: &Place, run: &RunId, context: &RequestContext<RoleServer>) -> Result<DetailedTask, Refusal> {
    let view = ask(place, "get_run", of_run(run)).await?;
    let text = |key: &str| view.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut said = None;
    let payload = match text("status") {
        "done" | "failed" => {
            let shape = if is_by_tool(run) { Shape::Output { is_promised: false, takes_any: is_modern(context) } } else { Shape::Run };
            TaskPayload::Completed { result: json_object(&results::run(&view, shape)) }
        }
        "cancelled" => TaskPayload::Cancelled,
        status => {
            let (requests, others) = open_questions(place, &view, context).await?;
            said = Some(if !others.is_empty() {
                format!("waits for a person, who answers through `claim_and_resolve`: {}", others.join("; "))
            } else if !requests.is_empty() {
                "waits for an answer".to_owned()
            } else if status == "waiting" {
                format!("waits until {}", text("wake_at"))
            } else {
                status.to_owned()
            });
            if requests.is_empty() { TaskPayload::Working } else { TaskPayload::InputRequired { input_requests: requests } }
        }
    };
    let mut task = Task::new(run.0.as_str(), payload.status(), text("created_at"), text("updated_at")).with_poll_interval_ms(POLL_MILLIS);
    task.status_message = said;
    Ok(DetailedTask::new(task, payload))
}

fn json_object(value: &impl serde::Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(object)) => object,
        Ok(_) | Err(_) => JsonObject::new(),
    }
}

/// The questions of a run that the client can ask its user, and words for those that it cannot.
async fn open_questions(
    place: &Place,
    view: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<(InputRequests, Vec<String>), Refusal> {
    let can_ask = context.client_capabilities().is_some_and(|client| client.elicitation.is_some());
    let mut requests = InputRequests::new();
    let mut others = Vec::new();
    for id in view.get("escalations").and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str) {
        let question = ask(place, "check_resolution", Object::from_iter([("escalation_id", Value::from(id))])).await?;
        match form(&question).filter(|_| can_ask) {
            Some(request) => {
                requests.insert(id.to_owned(), request);
            }
            None => {
                let role = question.get("role").and_then(Value::as_str).unwrap_or_default();
                others.push(format!("{} is asked {id}", crate::text::one_line(role)));
            }
        }
    }
    Ok((requests, others))
}

/// The question as a form of the protocol, if such a form says all of it.
fn form(question: &Value) -> Option<InputRequest> {
    let schema = tools::approximately(question.get("form")?);
    let message = question.get("message").and_then(Value::as_str)?;
    let request = serde_json::json!({
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema}
    });
    let request: InputRequest = serde_json::from_value(request).ok()?;
    // What the library does not know it leaves out: then it would not be the same form.
    let written = serde_json::to_value(&request).ok()?;
    (written.pointer("/params/requestedSchema") == Some(&schema)).then_some(request)
}

/// Answers questions that a task waits for.
pub async fn update(place: &Place, params: &UpdateTaskParams, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    let run = RunId(params.task_id.as_str().into());
    let view = ask(place, "get_run", of_run(&run)).await.map_err(|refusal| tools::error(&refusal))?;
    let open: Vec<&str> = view.get("escalations").and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str).collect();
    let answers = carried(Some(&context.meta.0), ANSWERS).unwrap_or_default();
    let Some(answers) = answers.as_object() else { return Err(ErrorData::invalid_params("`inputResponses` is an object", None)) };
    let who = context.client_info().map_or_else(|| "mcp-client".to_owned(), |client| client.name);
    for (id, answer) in answers.iter() {
        // The protocol wants answers to nothing, and second ones, to be let pass.
        if !open.contains(&id.as_str()) {
            continue;
        }
        let content = match answer.get("action").and_then(Value::as_str) {
            Some("accept") => answer.get("content").cloned().unwrap_or_else(|| Object::default().into()),
            Some(_) | None => {
                let words = "the question stays open: only an answer with the action `accept` settles it; `tasks/cancel` gives the run up";
                return Err(ErrorData::invalid_params(words, None));
            }
        };
        let input = Object::from_iter([
            ("escalation_id", Value::String(id.clone())),
            ("resolver_id", Value::from(who.as_str())),
            ("payload", content),
        ]);
        if let Err(refusal) = ask(place, "claim_and_resolve", input).await {
            let data = serde_json::to_value(&refusal).ok();
            return Err(ErrorData { data, ..tools::error(&refusal) });
        }
    }
    Ok(())
}

/// Cancels the run of a task.
pub async fn cancel(place: &Place, run: &RunId) -> Result<(), ErrorData> {
    ask(place, "cancel_run", of_run(run)).await.map(|_| ()).map_err(|refusal| tools::error(&refusal))
}

/// The run as it is answered with when a call becomes a task, once there is one.
pub async fn seed(place: &Place, run: &RunId, context: &RequestContext<RoleServer>) -> Option<Task> {
    detailed(place, run, context).await.ok().map(|task| task.task)
}
