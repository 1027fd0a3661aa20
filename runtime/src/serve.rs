//! The MCP servers: what clients see of the operations and the active workflows, over stdio and streamable HTTP.
//!
//! They decide nothing: a call is read, given to an operation of [`crate::service`], and what comes back is shown in the protocol's way. Both eras of
//! the protocol are answered on every endpoint, `initialize` of 2025-11-25 and before, and `server/discover` of 2026-07-28.
//!
//! | file | what it is |
//! |---|---|
//! | `handler` | what the protocol library asks of a server |
//! | `tools` | operations and workflows as tools |
//! | `calls` | a call, from the request to its answer: waiting, progress, cancelling, becoming a task |
//! | `results` | outputs and refusals as results of tools |
//! | `resources` | documents as resources |
//! | `tasks` | runs as tasks of the extension `io.modelcontextprotocol/tasks` |
//! | `correlation` | what a call says about the recording that it belongs to |
//! | `changes` | who hears that the tools, or a task, have changed |
//! | `http`, `token` | the other transport, and who may come |
//! | `rest` | the operations under `/api` |

mod calls;
mod changes;
mod correlation;
mod handler;
#[cfg(feature = "listen")]
mod http;
mod resources;
#[cfg(feature = "listen")]
mod rest;
mod results;
mod tasks;
#[cfg(feature = "listen")]
mod token;
mod tools;

#[cfg(feature = "listen")]
pub(crate) use http::{Allowed, LONGEST_ARRIVAL, arrived, bind};
#[cfg(feature = "listen")]
pub use http::{Listen, listen};
#[cfg(feature = "listen")]
pub use token::Token;

use crate::problem::Problem;
use crate::service::{OPERATIONS, Service, Surface};
use crate::stdio::{transport, wire};
use changes::Registry;
use handler::Connection;
use ltc_workflow::nearest::nearest;
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServiceExt};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;

/// The server whose tools are also the active workflows.
pub const WORKFLOWS: &str = "mcp-workflows";

/// The server whose tools are also those of all registered servers.
pub const GATEWAY: &str = "gateway";

/// The server whose resources are the documents.
pub const DOCS: &str = "docs";

/// The names of all MCP servers.
pub fn names() -> BTreeSet<&'static str> {
    let place = |surface: Surface| match surface {
        Surface::At(name) => Some(name),
        Surface::Exempt(_) => None,
    };
    OPERATIONS.iter().filter_map(|operation| place(operation.mcp)).collect()
}

/// Which of the MCP servers are served at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Which(BTreeSet<&'static str>);

impl Which {
    /// The two that an agent wants which uses workflows.
    pub fn usual() -> Which {
        Which(names().into_iter().filter(|name| [WORKFLOWS, "human-queue"].contains(name)).collect())
    }

    /// These: one server with all their tools.
    ///
    /// # Errors
    /// `no-such-mcp-server`.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Which, Problem> {
        let several: Result<Vec<Which>, Problem> = names.into_iter().map(Which::only).collect();
        Ok(Which(several?.into_iter().flat_map(|which| which.0).collect()))
    }

    /// Whether active workflows are among their tools.
    fn has_workflows(&self) -> bool {
        self.has(WORKFLOWS) || self.has(GATEWAY)
    }

    /// The one of this name.
    ///
    /// # Errors
    /// `no-such-mcp-server`.
    pub fn only(name: &str) -> Result<Which, Problem> {
        let known = names();
        match known.get(name) {
            Some(name) => Ok(Which(BTreeSet::from([*name]))),
            None => {
                let words: Vec<&str> = known.into_iter().collect();
                let help = match nearest(name, words.iter().copied()) {
                    Some(near) => format!("perhaps `{near}` is meant"),
                    None => format!("there are {}", words.join(", ")),
                };
                let message = format!("there is no MCP server `{}` here", crate::text::one_line(name));
                Err(Problem::new("no-such-mcp-server", "", message).help(help))
            }
        }
    }

    /// Whether the server of this name is among them.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether an operation on this surface is among their tools.
    fn shows(&self, surface: Surface) -> bool {
        match surface {
            Surface::At(name) => self.has(name),
            Surface::Exempt(_) => false,
        }
    }

    /// What the server calls itself.
    fn title(&self) -> String {
        match self.0.iter().next() {
            Some(name) if self.0.len() == 1 => (*name).to_owned(),
            Some(_) | None => "ltc".to_owned(),
        }
    }
}

/// What all connections to one place share.
struct Place {
    service: Arc<Service>,
    which: Which,
    registry: Registry,
    /// Becomes true when the process, or the only connection, ends.
    ending: watch::Receiver<bool>,
}

/// Whether a request came over HTTP.
#[cfg(feature = "listen")]
fn is_over_http(context: &RequestContext<RoleServer>) -> bool {
    context.extensions.get::<::http::request::Parts>().is_some()
}

#[cfg(not(feature = "listen"))]
fn is_over_http(_: &RequestContext<RoleServer>) -> bool {
    false
}

/// Serves over stdin and stdout until the client closes its side or `end` resolves. Runs that a call waits for go on where and when somebody works on
/// them; the call is told so. Nothing else may write to stdout meanwhile.
///
/// It works on no runs by itself: beside it goes [`Service::work`], which is to end when this has returned.
///
/// # Errors
/// Where the client's first messages are none of the protocol.
pub async fn stdio(service: Arc<Service>, which: Which, end: impl Future<Output = ()>) -> Result<(), Problem> {
    let (ending, is_ending) = watch::channel(false);
    let transport = transport::Pipes::of_this_process(ending.clone())
        .map_err(|error| Problem::new("no-threads", "", format!("stdin and stdout cannot be served: {error}")))?;
    let registry = Registry::default();
    let place = Arc::new(Place { service: service.clone(), which, registry: registry.clone(), ending: is_ending });
    let serving = async move {
        let running = match Connection::new(place).serve(transport).await {
            Ok(running) => running,
            // A client that says nothing and goes has done nothing wrong.
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
            Err(error) => {
                let why = crate::text::one_line(&error.to_string());
                return Err(Problem::new("no-handshake", "stdin", format!("the client does not begin as the protocol says: {why}")));
            }
        };
        let stop = running.cancellation_token();
        let mut waiting = std::pin::pin!(running.waiting());
        let mut end = std::pin::pin!(end);
        tokio::select! {
            _ = &mut waiting => {}
            () = &mut end => {
                ending.send_replace(true);
                stop.cancel();
                // The calls under way are answered first.
                let _ = waiting.await;
            }
        }
        Ok(())
    };
    let served = tokio::select! {
        served = serving => served,
        never = registry.watch(service.clone()) => match never {},
        never = service.follow_servers() => match never {},
    };
    service.recordings().end().await;
    served
}
