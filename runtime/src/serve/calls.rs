//! A call of a tool, from the request to its answer: waiting, progress, cancelling, becoming a task.
//!
//! | what happens while a run is waited for | what becomes of it |
//! |---|---|
//! | it ends | it is the answer |
//! | the client cancels the request | the run is cancelled |
//! | the client hangs up, over HTTP in the newer era | the same: there it is how a request is cancelled |
//! | the connection is lost elsewhere | the run goes on |
//! | the server ends | the run is released, and the answer says so |
//! | a second has passed or a person is waited for, and the request takes tasks | the answer is a task |

use super::results::{self, Shape};
use super::{GATEWAY, Place, changes, is_over_http, tasks, tools};
use crate::clock::unique_name;
use crate::observe::{Observer, Unobserved};
use crate::offered::Offered;
use crate::service::{Caller, Code, GatewayTool, Operation, Recording, Refusal};
use crate::stdio::progress::Telling;
use crate::stdio::wire::is_modern;
use crate::store::RunId;
use crate::upstream::ToolResult;
use ltc_workflow::{Object, Value};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CreateTaskResult, ErrorData, RequestId};
use rmcp::service::RequestContext;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A run that ends in this time is answered directly, also where the request takes tasks.
const QUICK: Duration = Duration::from_secs(1);

/// How often a run that is to become a task is looked for, where it was not there at first.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// In which time the notification arrives that a request was cancelled, once the library has said so.
const CANCELLED_SOON: Duration = Duration::from_secs(1);

/// How many cancelled requests are remembered that were not seen yet.
const MOST_EARLY: usize = 64;

/// What a tool stands for.
enum Way {
    Operation(&'static Operation),
    Workflow(Box<Offered>),
    Upstream(Box<GatewayTool>),
}

async fn way(place: &Place, tool: &str) -> Result<Way, ErrorData> {
    if let Some(operation) = Operation::named(tool).filter(|operation| place.which.shows(operation.mcp)) {
        return Ok(Way::Operation(operation));
    }
    if place.which.has(GATEWAY)
        && let Some(upstream) = place.service.gateway_tool(tool).await.map_err(|refusal| tools::error(&refusal))?
    {
        return Ok(Way::Upstream(Box::new(upstream)));
    }
    let unknown = || ErrorData::invalid_params(format!("Unknown tool: {}", crate::text::one_line(tool)), None);
    let Some(workflow) = tools::workflow_of(tool).filter(|_| place.which.has_workflows()) else { return Err(unknown()) };
    match place.service.offered_as(workflow).await {
        Ok(offered) => Ok(Way::Workflow(Box::new(offered))),
        Err(refusal) if refusal.code == Code::NotFound => Err(unknown()),
        Err(refusal) => Err(tools::error(&refusal)),
    }
}

/// What is to be called.
enum Call {
    Operation(&'static Operation, Object),
    Upstream(Box<GatewayTool>, Object),
}

/// What a call gives.
enum Given {
    Value(Value),
    Result(ToolResult),
}

impl Call {
    async fn made(self, place: &Place, caller: Caller) -> Result<Given, Refusal> {
        match self {
            Call::Operation(operation, input) => operation.call(&place.service, &input.into(), caller).await.map(Given::Value),
            Call::Upstream(tool, arguments) => place.service.call_upstream(&tool, arguments, caller).await.map(Given::Result),
        }
    }
}

/// A call that is to be made and waited for.
struct Asked {
    call: Call,
    /// The run that it begins and waits for.
    begins: Option<RunId>,
    /// How the run is answered with, where it is one.
    shape: Option<Shape>,
}

const INVOKE: &str = "invoke_workflow";

fn asked(way: Way, arguments: Object, is_modern: bool) -> Result<Asked, ErrorData> {
    match way {
        Way::Workflow(offered) => {
            let operation = Operation::named(INVOKE).ok_or_else(|| ErrorData::internal_error("an operation is not there", None))?;
            let run = tasks::name_by_tool();
            let input = [
                ("workflow_name", Value::String(offered.name.clone())),
                ("input", Value::Object(arguments)),
                ("run_id", Value::String(run.0.clone())),
            ];
            let shape = Shape::Output { is_promised: offered.output_schema.is_some(), takes_any: is_modern };
            Ok(Asked { call: Call::Operation(operation, Object::from_iter(input)), begins: Some(run), shape: Some(shape) })
        }
        Way::Upstream(tool) => Ok(Asked { call: Call::Upstream(tool, arguments), begins: None, shape: None }),
        Way::Operation(operation) if operation.name == INVOKE => {
            let mut input = arguments;
            let waits = input.get("async").and_then(Value::as_bool) != Some(true);
            if waits && !input.contains_key("run_id") {
                // A run whose name is known can be cancelled, and be a task.
                input.insert("run_id", Value::from(unique_name().as_str()));
            }
            let begins = input.get("run_id").and_then(Value::as_str).filter(|_| waits).map(|id| RunId(id.into()));
            Ok(Asked { call: Call::Operation(operation, input), begins, shape: waits.then_some(Shape::Run) })
        }
        Way::Operation(operation) => {
            let shape = (operation.name == "resume_run").then_some(Shape::Run);
            Ok(Asked { call: Call::Operation(operation, arguments), begins: None, shape })
        }
    }
}

/// The requests of one connection that are waited for.
#[derive(Default)]
pub struct Calls(Mutex<Open>);

#[derive(Default)]
struct Open {
    waiting: BTreeMap<String, Arc<Notify>>,
    /// Cancelled before their calls were seen: the library handles messages beside each other.
    early: VecDeque<String>,
}

/// One of them.
struct Waiting<'c> {
    calls: &'c Calls,
    key: String,
    cancelled: Arc<Notify>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.calls.open().waiting.remove(&self.key);
    }
}

fn key(id: &RequestId) -> String {
    serde_json::to_string(id).unwrap_or_default()
}

impl Calls {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client cancels a request.
    pub fn cancel(&self, id: &RequestId) {
        let key = key(id);
        let mut open = self.open();
        match open.waiting.get(&key) {
            Some(call) => call.notify_one(),
            None => {
                if open.early.len() == MOST_EARLY {
                    open.early.pop_front();
                }
                open.early.push_back(key);
            }
        }
    }

    fn begin(&self, id: &RequestId) -> Waiting<'_> {
        let key = key(id);
        let cancelled = Arc::new(Notify::new());
        let mut open = self.open();
        if let Some(at) = open.early.iter().position(|early| *early == key) {
            open.early.remove(at);
            cancelled.notify_one();
        }
        open.waiting.insert(key.clone(), cancelled.clone());
        Waiting { calls: self, key, cancelled }
    }
}

/// Calls a tool.
pub async fn call(
    place: &Arc<Place>,
    calls: &Calls,
    recording: Option<Arc<Recording>>,
    tool: &str,
    arguments: Object,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let waiting = calls.begin(&context.id);
    let asked = asked(way(place, tool).await?, arguments, is_modern(context))?;
    let are_steps = match &asked.call {
        Call::Operation(operation, _) => operation.name != "call_mcp_tool",
        Call::Upstream(..) => false,
    };
    let telling = context.meta.get_progress_token().map(|token| Telling::begin(token, context.peer.clone(), are_steps));
    let observer: Arc<dyn Observer> = match &telling {
        Some(telling) => telling.observer(),
        None => Arc::new(Unobserved),
    };
    let answer = waited(place, &waiting, asked, Caller { observer, recording }, context).await;
    if let Some(telling) = telling {
        telling.end().await;
    }
    answer
}

async fn waited(
    place: &Arc<Place>,
    waiting: &Waiting<'_>,
    Asked { call, begins, shape }: Asked,
    caller: Caller,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let going_on = place.clone();
    // A task of its own: what it begins does not hang on the connection.
    let mut going = tokio::spawn(async move { call.made(&going_on, caller).await });
    // A run of such a name that is no output would be taken for one.
    let by_tool = matches!(shape, Some(Shape::Output { .. }));
    let task = begins.as_ref().filter(|run| tasks::are_taken(context) && tasks::is_by_tool(run) == by_tool);
    let mut look = Box::pin(tokio::time::sleep(QUICK));
    loop {
        tokio::select! {
            biased;
            ended = &mut going => {
                // What waits for a person may wait for long.
                if let (Some(run), Ok(Ok(Given::Value(view)))) = (task, &ended)
                    && view.get("status").and_then(Value::as_str) == Some("waiting")
                    && let Some(seed) = tasks::seed(place, run, context).await
                {
                    return Ok(CallToolResponse::Task(CreateTaskResult::new(seed)));
                }
                return answer(ended, shape);
            }
            () = changes::ended(&place.ending) => {
                going.abort();
                let what = begins.map(|run| format!("; the run {} goes on as soon as a process works on it", run.0)).unwrap_or_default();
                let refusal = Refusal::new(Code::Unavailable, format!("this server ends{what}"));
                return Ok(results::refusal(&refusal).into());
            }
            () = context.ct.cancelled() => {
                // The library says in one way that the request was cancelled and that the connection is lost; the notification says which, where there is one.
                let is_cancelled = hanging_up_cancels(context)
                    || tokio::time::timeout(CANCELLED_SOON, waiting.cancelled.notified()).await.is_ok();
                return Err(given_up(place, going, begins.as_ref(), is_cancelled).await);
            }
            () = &mut look, if task.is_some() => {
                if let Some(run) = task && let Some(seed) = tasks::seed(place, run, context).await {
                    going.abort();
                    return Ok(CallToolResponse::Task(CreateTaskResult::new(seed)));
                }
                look = Box::pin(tokio::time::sleep(LOOK_EVERY));
            }
        }
    }
}

/// Whether the protocol has no other way to cancel the request than to hang up: over HTTP from 2026-07-28 on, where a server must take it so.
fn hanging_up_cancels(context: &RequestContext<RoleServer>) -> bool {
    is_over_http(context) && is_modern(context)
}

/// Nobody waits for the answer any more.
async fn given_up<T>(place: &Place, going: JoinHandle<T>, begins: Option<&RunId>, is_cancelled: bool) -> ErrorData {
    let given_up = ErrorData::internal_error("nobody waits for this any more", None);
    match begins {
        // Where there is no run yet, none is begun any more; one that came meanwhile is cancelled too.
        Some(run) if is_cancelled => {
            let is_known = tasks::cancel(place, run).await.is_ok();
            going.abort();
            let _ = going.await;
            if !is_known {
                drop(tasks::cancel(place, run).await);
            }
        }
        // What has not begun yet is let go on until it has; a run that has begun goes on by itself.
        Some(run) if place.service.view(run).await.is_err() => {}
        Some(_) | None => going.abort(),
    }
    given_up
}

fn answer(ended: Result<Result<Given, Refusal>, tokio::task::JoinError>, shape: Option<Shape>) -> Result<CallToolResponse, ErrorData> {
    let ended = ended.map_err(|_| ErrorData::internal_error("the call came to no end here", None))?;
    let result = match (ended, shape) {
        (Ok(Given::Result(answer)), _) => results::upstream(&answer),
        (Ok(Given::Value(run)), Some(shape)) => results::run(&run, shape),
        (Ok(Given::Value(output)), None) => results::of(&output, false),
        (Err(refusal), _) => results::refusal(&refusal),
    };
    Ok(result.into())
}
