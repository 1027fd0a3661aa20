//! A server whose tools are the workflows of this program. Each call is a run that lives as long as the call: it is kept nowhere, ends between its steps
//! where the client cancels the request or goes, and cannot wait for a person.

use super::progress::Telling;
use super::shown;
use super::transport::Pipes;
use super::wire::{ARGUMENTS, is_modern};
use crate::adapter::McpAdapter;
use crate::clock::{Moment, unique_name};
use crate::definition::Bundle;
use crate::durable::Stop;
use crate::engine::Rest;
use crate::environment::ProcessEnvironment;
use crate::journal::Journal;
use crate::native::{NativeWorkflow, run_by};
use crate::observe::{Observer, Unobserved};
use crate::offered::Offered;
use crate::perform::RunName;
use crate::problem::Problem;
use crate::run::{Given, Request, prepare};
use crate::upstream::wire::carried;
use ltc_workflow::{Object, Value, Workflow};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{RwLock, watch};

/// Serves these workflows over stdin and stdout until the client closes its side. Nothing else may write to stdout meanwhile.
///
/// # Errors
/// Where the client's first messages are none of the protocol.
pub async fn serve(workflows: Vec<(NativeWorkflow, Workflow)>, adapter: Arc<dyn McpAdapter>) -> Result<(), String> {
    let (ending, ended) = watch::channel(false);
    let transport = Pipes::of_this_process(ending).map_err(|error| error.to_string())?;
    let under_way = Arc::new(RwLock::new(()));
    let served = match Server::new(workflows, adapter, under_way.clone(), ended).serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
        // A client that says nothing and goes has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(format!("the client does not begin as the protocol says: {error}")),
    };
    // The runs of calls that nobody waits for any more end between their steps.
    drop(under_way.write().await);
    served
}

/// The server.
struct Server {
    workflows: Vec<(NativeWorkflow, Offered)>,
    /// All of them: they may run each other.
    library: BTreeMap<SmolStr, Workflow>,
    adapter: Arc<dyn McpAdapter>,
    /// Each run holds it for reading.
    under_way: Arc<RwLock<()>>,
    /// Becomes true when the client goes.
    ending: watch::Receiver<bool>,
}

impl Server {
    fn new(
        workflows: Vec<(NativeWorkflow, Workflow)>,
        adapter: Arc<dyn McpAdapter>,
        under_way: Arc<RwLock<()>>,
        ending: watch::Receiver<bool>,
    ) -> Server {
        let library: BTreeMap<SmolStr, Workflow> =
            workflows.iter().map(|(_, workflow)| (workflow.name.clone(), workflow.clone())).collect();
        let offered = |workflow: Workflow| Offered::of(&Bundle { library: run_by(&workflow, &library), workflow });
        let workflows = workflows.into_iter().map(|(native, workflow)| (native, offered(workflow))).collect();
        Server { workflows, library, adapter, under_way, ending }
    }

    /// Resolves when the client cancels the request or goes.
    async fn nobody_waits(&self, context: &RequestContext<RoleServer>) {
        let mut ending = self.ending.clone();
        tokio::select! {
            () = context.ct.cancelled() => {}
            // The channel is gone with the connection.
            _ = ending.wait_for(|is_over| *is_over) => {}
        }
    }

    /// Runs a workflow; `None` where nobody waits for it any more.
    async fn run(
        &self,
        native: &NativeWorkflow,
        offered: &Offered,
        arguments: Object,
        observer: Arc<dyn Observer>,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let _under_way = self.under_way.read().await;
        let workflow = self.library.get(&offered.name)?.clone();
        let library = run_by(&workflow, &self.library);
        let run = RunName { id: unique_name().into(), started_at: Moment::now().to_string().into() };
        let (input, nothing) = (Value::Object(arguments), BTreeMap::new());
        let (input, environment) = (Given::Plain(&input), &ProcessEnvironment);
        let prepared = match prepare(Request { workflow, library, input, servers: &nothing, registry: &nothing, environment, run }) {
            Ok(prepared) => prepared,
            Err(problems) => return Some(refused("invalid", &problems)),
        };
        let redactor = prepared.redactor();
        let run = tokio::select! {
            connected = prepared.connect(self.adapter.clone()) => match connected {
                Ok((run, _)) => run,
                Err(problems) => return Some(refused("unavailable", &problems)),
            },
            () = self.nobody_waits(context) => return None,
        };
        let (stop, stopped) = watch::channel(None);
        let journal = Journal::in_memory(run.world(), observer.clone(), stopped);
        let mut going = std::pin::pin!(run.go_native(native, &journal, observer.as_ref()));
        let rest = tokio::select! {
            rest = &mut going => Some(rest),
            () = self.nobody_waits(context) => None,
        };
        let Some(rest) = rest else {
            stop.send_replace(Some(Stop::Cancel));
            going.await;
            return None;
        };
        let failed = |code: &str, message: &str, step: Option<&str>| {
            let step = step.map(|step| ("step", Value::from(step)));
            let failure = [("code", Value::from(code)), ("message", Value::from(redactor.text(message).as_str()))];
            let failure: Object = failure.into_iter().chain(step).collect();
            let run: Object = [("status", Value::from("failed")), ("failure", failure.into())].into_iter().collect();
            shown::of(&run.into(), true)
        };
        Some(match rest {
            Rest::Done(output) => {
                let output = redactor.value(&output);
                let mut result = shown::of(&output, false);
                if output.as_object().is_none() && !is_modern(context) {
                    result.structured_content = None;
                }
                result
            }
            Rest::Failed(failure) => failed(&failure.code, &failure.message, failure.step.as_ref().map(|key| key.0.as_str())),
            Rest::Waiting { steps, .. } => {
                let step = steps.first().map(|(key, _)| key.0.as_str());
                failed(
                    "asks-a-person",
                    "a person is asked, and the runs of this server are not kept; with the feature `serve` they are",
                    step,
                )
            }
            Rest::Interrupted(_) => failed("interrupted", "the run was interrupted", None),
        })
    }
}

/// Everything that is wrong before step one.
fn refused(code: &str, problems: &[Problem]) -> CallToolResult {
    let problem = |problem: &Problem| {
        let text = |text: &str| Value::from(text);
        let Problem { code, place, message, help } = problem;
        let said = [("code", text(code)), ("place", text(place)), ("message", text(message))];
        Value::from(said.into_iter().chain(help.as_deref().map(|help| ("help", text(help)))).collect::<Object>())
    };
    let message = problems.first().map(|problem| problem.message.as_str()).unwrap_or_default();
    let said = [("code", Value::from(code)), ("message", Value::from(message)), ("problems", problems.iter().map(problem).collect())];
    shown::of(&said.into_iter().collect::<Object>().into(), true)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let title = match self.workflows.as_slice() {
            [(_, only)] => only.name.as_str(),
            _ => "workflows",
        };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(title, env!("CARGO_PKG_VERSION")))
            .with_instructions("Workflows that were compiled from what an agent did once. A tool that fails says why and where.")
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let tool = |offered: &Offered| {
            let about = offered.description.clone().unwrap_or_else(|| format!("Runs the workflow {}.", offered.name));
            shown::workflow(offered, offered.name.to_string(), about)
        };
        Ok(ListToolsResult::with_all_items(self.workflows.iter().map(|(_, offered)| tool(offered)).collect()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let arguments = match carried(Some(&context.meta.0), ARGUMENTS) {
            Some(Value::Object(arguments)) => arguments,
            Some(_) | None => Object::default(),
        };
        let Some((native, offered)) = self.workflows.iter().find(|(_, offered)| offered.name == request.name.as_ref()) else {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", crate::text::one_line(&request.name)), None));
        };
        let telling = context.meta.get_progress_token().map(|token| Telling::begin(token, context.peer.clone(), true));
        let observer = telling.as_ref().map_or_else(|| Arc::new(Unobserved) as Arc<dyn Observer>, Telling::observer);
        let answer = self.run(native, offered, arguments, observer, &context).await;
        if let Some(telling) = telling {
            telling.end().await;
        }
        answer.map(CallToolResponse::from).ok_or_else(|| ErrorData::internal_error("nobody waits for this any more", None))
    }
}
