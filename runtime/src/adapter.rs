//! The way to MCP servers: one trait, and all access to them goes through it. Who embeds the runtime puts another way in its place.

use crate::secrets::Redactor;
use crate::servers::Endpoint;
use crate::upstream::{Limits, Tool, ToolCall, ToolResult};
use futures_util::future::BoxFuture;
use ltc_workflow::advance::Failure;
use smol_str::SmolStr;

/// Which client of a server is meant: two workflows that reach a server in one way under one name share it, and two names within one workflow
/// are two clients, each with a state of its own on the server's side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client {
    /// The server's name.
    pub name: SmolStr,
    /// How it is reached, with all variables filled in.
    pub endpoint: Endpoint,
}

/// Reaches MCP servers. The functions may be called at once, also for one client; [`crate::pool::Connections`] is our own way.
pub trait McpAdapter: Send + Sync {
    /// Gets ready, where there is something to get ready. It may be called more than once, and nobody has to.
    ///
    /// # Errors
    /// `connect-failed` with the reason.
    fn connect(&self) -> BoxFuture<'_, Result<(), Failure>>;

    /// Ends all clients; child processes have ended when this has. A client that is asked for afterwards is connected again.
    fn disconnect(&self) -> BoxFuture<'_, ()>;

    /// Connects a client that is not connected, or whose connection broke.
    ///
    /// # Errors
    /// `connect-failed` with the reason.
    fn connect_client<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, Result<(), Failure>>;

    /// Ends a client. Its calls that are under way fail; who calls next connects it again.
    fn disconnect_client<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, ()>;

    /// The tools that a server has now; its client is connected where it is not.
    ///
    /// # Errors
    /// A failure of the way there or back.
    fn list_tools<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, Result<Vec<Tool>, Failure>>;

    /// Calls a tool; its client is connected where it is not. An error is a failure of the way there or back; a result that is an error is a
    /// [`ToolResult`]. Dropping the future tells the server that nobody waits any more.
    ///
    /// # Errors
    /// A failure of the way there or back.
    fn call_tool<'c>(&'c self, client: &'c Client, call: &'c ToolCall) -> BoxFuture<'c, Result<ToolResult, Failure>>;

    /// Resolves to servers that say that their tools have changed, or that were started anew; never where nobody would know. What it gives is not given again.
    fn changed(&self) -> BoxFuture<'_, Vec<Client>> {
        Box::pin(std::future::pending())
    }

    /// How long connections and calls may take. Who calls keeps to the limit of calls; connecting keeps to its own.
    fn limits(&self) -> Limits;

    /// A line for the people who watch this process, which concerns no server.
    fn tell(&self, _line: &str) {}

    /// These secrets are not to appear in whatever the adapter shows from now on.
    fn conceal(&self, secrets: &Redactor);
}
