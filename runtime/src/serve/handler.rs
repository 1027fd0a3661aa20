//! What the MCP library asks of a server.

use super::calls::{self, Calls};
use super::{DOCS, GATEWAY, Place, changes, correlation, resources, tasks, tools, wire};
use crate::service::Recording;
use crate::store::RunId;
use crate::upstream::wire::carried;
use ltc_workflow::{Object, Value};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam, ErrorData, GetTaskParams, GetTaskResult,
    Implementation, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestMethod,
    ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities, ServerConfig, SubscriptionFilter,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use std::sync::Arc;

/// One client, or one request where there are no connections.
pub struct Connection {
    place: Arc<Place>,
    calls: Calls,
    /// What is done with tools of registered servers, where they are among the tools.
    recording: Option<Arc<Recording>>,
}

impl Connection {
    /// A client at `place`.
    pub fn new(place: Arc<Place>) -> Connection {
        let recording = place.which.has(GATEWAY).then(|| place.service.recordings().begin());
        Connection { place, calls: Calls::default(), recording }
    }

    /// What is written down of a call goes here: with those of its connection, unless it says more itself.
    fn recording(&self, context: &RequestContext<RoleServer>) -> Option<Arc<Recording>> {
        let own = self.recording.as_ref()?;
        Some(correlation::name(context).map_or_else(|| own.clone(), |name| self.place.service.recordings().named(&name)))
    }
}

const OF_WORKFLOWS: &str = "Workflows that were compiled from what an agent did once. Each active workflow is a tool of its own; the others list, run, \
    ask for, cancel and resume runs. A tool that fails says why and where, with the id of its run.";
const OF_PEOPLE: &str = "Questions to people: ask one, wait for its answer, list what is open, answer.";
const OF_COMPILER: &str = "Workflows of recordings: list what was recorded, compile it into a draft, look where each value comes from and what is open, verify, \
    deploy, roll back, and compile again when more was recorded.";

const OF_GATEWAY: &str = "Tools of all registered servers, as mcp_<server>_<tool>. What is done with them over this connection is recorded; \
    who claims a question first (claim_escalation) has it recorded as the question's solution. Without a connection of your own (HTTP, protocol 2026-07-28) call them \
    by call_mcp_tool, with the trace_id that the claim gave.";

const OF_QUERIES: &str = "Questions about many runs at once: how many there are and how they stand, which workflows fail or are slow, why, which steps take time, \
    what people are asked and how long they take. Nothing is changed, and no input or output is shown.";

const OF_DOCS: &str = "The documentation of this product: search it, and read the documents or their sections.";

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let has_workflows = self.place.which.has_workflows();
        let mut capabilities = if has_workflows {
            ServerCapabilities::builder().enable_tools().enable_tool_list_changed().enable_tasks().build()
        } else {
            ServerCapabilities::builder().enable_tools().build()
        };
        if self.place.which.has(DOCS) {
            capabilities.resources = Some(ResourcesCapability::default());
        }
        let words = [
            (has_workflows, OF_WORKFLOWS),
            (self.place.which.has("human-queue"), OF_PEOPLE),
            (self.place.which.has("workflow-compiler"), OF_COMPILER),
            (self.place.which.has(GATEWAY), OF_GATEWAY),
            (self.place.which.has("db-query"), OF_QUERIES),
            (self.place.which.has(DOCS), OF_DOCS),
        ];
        let about: Vec<&str> = words.into_iter().filter(|(is_there, _)| *is_there).map(|(_, words)| words).collect();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new(self.place.which.title(), env!("CARGO_PKG_VERSION")))
            .with_instructions(about.join(" "))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        tools::list(&self.place, request.and_then(|page| page.cursor)).await
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let arguments = match carried(Some(&context.meta.0), wire::ARGUMENTS) {
            Some(Value::Object(arguments)) => arguments,
            Some(_) | None => Object::default(),
        };
        calls::call(&self.place, &self.calls, self.recording(&context), &request.name, arguments, &context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.place.which.has(DOCS) {
            return Err(ErrorData::method_not_found::<ListResourcesRequestMethod>());
        }
        Ok(resources::list(&self.place))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.place.which.has(DOCS) {
            return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
        }
        resources::read(&self.place, &request.uri)
    }

    async fn on_cancelled(&self, notification: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        if let Some(id) = notification.request_id {
            self.calls.cancel(&id);
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.place.which.has_workflows() {
            tokio::spawn(changes::tell_older(self.place.clone(), context.peer));
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // The library takes out of it what was not advertised.
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        changes::tell(&self.place, context).await;
        Ok(())
    }

    async fn get_task(&self, request: GetTaskParams, context: RequestContext<RoleServer>) -> Result<GetTaskResult, ErrorData> {
        let run = RunId(request.task_id.into());
        let task = tasks::detailed(&self.place, &run, &context).await.map_err(|refusal| tools::error(&refusal))?;
        Ok(GetTaskResult::new(task))
    }

    async fn update_task(&self, request: UpdateTaskParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        tasks::update(&self.place, &request, &context).await
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        tasks::cancel(&self.place, &RunId(request.task_id.into())).await
    }
}
