//! One connection, spoken by the MCP library.

use super::child::Remains;
use super::ears::Ears;
use super::{Tool, ToolCall, ToolResult, Upstream, failure, wire};
use crate::approximate::{Inexact, to_serde};
use crate::text;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::Value;
use ltc_workflow::advance::Failure;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData, InitializeRequestParams, MetaObject, RequestMetaObject};
use rmcp::service::{Peer, RunningService, ServiceError};
use std::sync::{Arc, Mutex, PoisonError};

/// What serves the other side's requests: nothing, we are only a client.
pub type Service = RunningService<RoleClient, InitializeRequestParams>;

/// A connection to a server.
pub struct Client {
    server: String,
    peer: Peer<RoleClient>,
    service: tokio::sync::Mutex<Option<Service>>,
    /// What a child process leaves behind.
    remains: Option<Arc<Mutex<Remains>>>,
    ears: Arc<Ears>,
}

impl Client {
    /// A connection that is established.
    pub fn new(server: &str, service: Service, remains: Option<Arc<Mutex<Remains>>>, ears: Arc<Ears>) -> Client {
        let peer = service.peer().clone();
        Client { server: server.to_owned(), peer, service: tokio::sync::Mutex::new(Some(service)), remains, ears }
    }

    fn broken(&self, error: ServiceError) -> Failure {
        match error {
            ServiceError::McpError(error) => failure("rpc-error", rpc_error(&error)),
            ServiceError::TransportSend(error) if self.peer.is_transport_closed() => self.died(&chain(&*error.error)),
            ServiceError::TransportSend(error) => failure("http-error", text::one_line(&chain(&*error.error))),
            ServiceError::TransportClosed => self.died("the connection is closed"),
            ServiceError::UnexpectedResponse => failure("bad-answer", "the server answered something else than a result of this call"),
            error => failure("bad-answer", text::one_line(&error.to_string())),
        }
    }

    fn died(&self, otherwise: &str) -> Failure {
        let Some(remains) = &self.remains else { return failure("server-died", otherwise) };
        failure("server-died", remains.lock().unwrap_or_else(PoisonError::into_inner).describe())
    }

    async fn call_tool(&self, call: &ToolCall) -> Result<ToolResult, Failure> {
        let arguments = Value::Object(call.arguments.clone());
        let mut params = CallToolRequestParams::new(call.tool.to_string());
        params.arguments = to_serde(&arguments, Inexact::Text).as_object().cloned();
        let mut meta = serde_json::Map::new();
        meta.insert("ltc/run".to_owned(), call.run.as_str().into());
        meta.insert("ltc/step".to_owned(), call.step.0.as_str().into());
        meta.insert(wire::ARGUMENTS.to_owned(), ltc_workflow::json::to_string(&arguments).into());
        let listening = call.hearing.as_ref().map(|hearing| self.ears.listen(hearing));
        if let Some(listening) = &listening {
            meta.insert(wire::HEARD.to_owned(), listening.token.into());
        }
        params.meta = Some(RequestMetaObject(MetaObject(meta)));
        let _waiting = self.ears.shelf.wait();
        let result = match self.peer.call_tool_once(params).await.map_err(|error| self.broken(error))? {
            CallToolResponse::Complete(result) => result,
            CallToolResponse::InputRequired(_) => {
                return Err(failure("input-required", "the tool asks for input that a workflow cannot give"));
            }
            CallToolResponse::Task(_) => return Err(failure("bad-answer", "the tool started a task, which was not offered to it")),
            _ => return Err(failure("bad-answer", "the tool answered in a way that is unknown here")),
        };
        drop(listening);
        let Some(whole) = wire::result(result.meta.as_ref(), &self.ears.shelf) else {
            // A result with none of the known fields: nothing was said, and it is no error.
            return Ok(ToolResult::default());
        };
        Ok(ToolResult {
            content: whole.get("content").and_then(Value::as_array).unwrap_or_default().to_vec(),
            structured: whole.get("structuredContent").cloned(),
            is_error: whole.get("isError").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    async fn list_tools(&self) -> Result<Vec<Tool>, Failure> {
        let tools = self.peer.list_all_tools().await.map_err(|error| self.broken(error))?;
        let exact = |tool: &rmcp::model::Tool| {
            let whole = wire::carried(tool.meta.as_ref(), wire::TOOL).unwrap_or_default();
            Tool {
                name: tool.name.as_ref().into(),
                input_schema: whole.get("inputSchema").cloned(),
                output_schema: whole.get("outputSchema").cloned(),
                entry: whole,
            }
        };
        Ok(tools.iter().map(exact).collect())
    }
}

/// An error and its causes in one line, without the library's word for ours.
pub fn chain(error: &dyn std::error::Error) -> String {
    let said = error.to_string();
    let mut text = said.strip_prefix("Client error: ").unwrap_or(&said).to_owned();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

/// A JSON-RPC error in words.
pub fn rpc_error(error: &ErrorData) -> String {
    let said = text::one_line(&error.message);
    match &error.data {
        None => format!("{said} (JSON-RPC error {})", error.code.0),
        Some(data) => format!("{said} (JSON-RPC error {}, {})", error.code.0, text::one_line(&data.to_string())),
    }
}

impl Upstream for Client {
    fn tools(&self) -> BoxFuture<'_, Result<Vec<Tool>, Failure>> {
        self.list_tools().boxed()
    }

    fn call<'c>(&'c self, call: &'c ToolCall) -> BoxFuture<'c, Result<ToolResult, Failure>> {
        self.call_tool(call).boxed()
    }

    fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {
            if let Some(service) = self.service.lock().await.take() {
                // The way it ended says nothing more: all calls have their ends.
                let _ = service.cancel().await;
            }
        }
        .boxed()
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("server", &self.server).finish_non_exhaustive()
    }
}
