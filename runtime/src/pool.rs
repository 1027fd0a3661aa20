//! Connections: made on first use, shared by the steps of a run and by all runs of this process, made again where they broke; and the servers of a run,
//! reached through whatever adapter there is.

use crate::adapter::{Client, McpAdapter};
use crate::expected::Expectations;
use crate::secrets::Redactor;
use crate::servers::Endpoint;
use crate::text;
use crate::upstream::{Connector, Ears, Limits, Tool, ToolCall, ToolResult, Upstream, failure};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ltc_workflow::Value;
use ltc_workflow::advance::Failure;
use ltc_workflow::document;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex, Notify};

/// The connections of this process: our own [`McpAdapter`].
pub struct Connections {
    connector: Connector,
    places: std::sync::Mutex<BTreeMap<Client, Arc<Place>>>,
    changed: Arc<Changed>,
}

/// Servers whose tools may be others by now.
#[derive(Default)]
struct Changed {
    clients: std::sync::Mutex<BTreeSet<Client>>,
    is_told: Notify,
}

impl Changed {
    fn tell(&self, client: Client) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).insert(client);
        self.is_told.notify_one();
    }
}

struct Place {
    client: Client,
    connection: Mutex<Option<Arc<dyn Upstream>>>,
}

impl Connections {
    /// No connections yet.
    pub fn new(connector: Connector) -> Connections {
        Connections { connector, places: std::sync::Mutex::default(), changed: Arc::default() }
    }

    fn place(&self, client: &Client) -> Arc<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(Place { client: client.clone(), connection: Mutex::default() });
        places.entry(client.clone()).or_insert_with(made).clone()
    }

    /// The connection of `client`; those who want it at once wait for one handshake.
    async fn connection(&self, client: &Client) -> Result<Arc<dyn Upstream>, Failure> {
        self.place(client).connection(&self.connector, &self.changed).await
    }
}

impl McpAdapter for Connections {
    fn connect(&self) -> BoxFuture<'_, Result<(), Failure>> {
        // Each connection is made when it is first needed.
        async { Ok(()) }.boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        async {
            let places: Vec<Arc<Place>> = self.places.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
            join_all(places.iter().map(|place| place.close())).await;
        }
        .boxed()
    }

    fn connect_client<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, Result<(), Failure>> {
        async move { self.connection(client).await.map(drop) }.boxed()
    }

    fn disconnect_client<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, ()> {
        let place = self.places.lock().unwrap_or_else(PoisonError::into_inner).remove(client);
        async move {
            if let Some(place) = place {
                place.close().await;
            }
        }
        .boxed()
    }

    fn list_tools<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, Result<Vec<Tool>, Failure>> {
        async move { self.connection(client).await?.tools().await }.boxed()
    }

    fn call_tool<'c>(&'c self, client: &'c Client, call: &'c ToolCall) -> BoxFuture<'c, Result<ToolResult, Failure>> {
        async move { self.connection(client).await?.call(call).await }.boxed()
    }

    fn changed(&self) -> BoxFuture<'_, Vec<Client>> {
        async {
            loop {
                let told = self.changed.is_told.notified();
                let clients = std::mem::take(&mut *self.changed.clients.lock().unwrap_or_else(PoisonError::into_inner));
                if !clients.is_empty() {
                    return clients.into_iter().collect();
                }
                told.await;
            }
        }
        .boxed()
    }

    fn limits(&self) -> Limits {
        self.connector.limits
    }

    fn tell(&self, line: &str) {
        let log = &self.connector.log;
        log.server_said("gateway", &text::one_line(&log.redact(line)));
    }

    fn conceal(&self, secrets: &Redactor) {
        self.connector.log.learn(secrets);
    }
}

/// The servers of one run.
pub struct Pool {
    adapter: Arc<dyn McpAdapter>,
    clients: BTreeMap<SmolStr, Client>,
    expectations: Expectations,
}

impl Pool {
    /// The servers of a run, by their names in its workflow.
    pub fn new(adapter: Arc<dyn McpAdapter>, endpoints: BTreeMap<SmolStr, Endpoint>) -> Pool {
        let client = |(name, endpoint): (SmolStr, Endpoint)| (name.clone(), Client { name, endpoint });
        Pool { adapter, clients: endpoints.into_iter().map(client).collect(), expectations: Expectations::default() }
    }

    /// Expects results as the tools of `server` promise them.
    pub fn expect(&self, server: &str, tools: &[Tool]) {
        self.expectations.learn(server, tools);
    }

    fn client(&self, server: &str) -> Result<&Client, Failure> {
        self.clients.get(server).ok_or_else(|| failure("no-such-server", format!("there is no server {server}")))
    }

    /// The tools that `server` has now.
    ///
    /// # Errors
    /// `no-such-server`, `connect-failed`, or `no-tools` where it is reached and does not say them in time.
    pub async fn tools(&self, server: &str) -> Result<Vec<Tool>, Failure> {
        tools(self.adapter.as_ref(), self.client(server)?).await
    }

    /// Calls a tool and decodes what it answers.
    ///
    /// # Errors
    /// What went wrong on the way, `timeout`, `tool-error`, or `result-mismatch`.
    pub async fn call(&self, server: &str, call: &ToolCall, timeout: Option<document::Duration>) -> Result<Value, Failure> {
        let limit = timeout.map(|limit| Duration::from_millis(limit.millis));
        let result = self::call(self.adapter.as_ref(), self.client(server)?, call, limit).await?;
        self.expectations.check(server, &call.tool, &result)?;
        result.decode()
    }
}

/// The tools that the server of `client` has now.
///
/// # Errors
/// `connect-failed`, or `no-tools` where it is reached and does not say them in time.
pub async fn tools(adapter: &dyn McpAdapter, client: &Client) -> Result<Vec<Tool>, Failure> {
    adapter.connect_client(client).await?;
    let limit = adapter.limits().connect;
    let why = match tokio::time::timeout(limit, adapter.list_tools(client)).await {
        Ok(Ok(tools)) => return Ok(tools),
        Ok(Err(failure)) => failure.message,
        Err(_) => format!("no answer within {} s", limit.as_secs()),
    };
    Err(failure("no-tools", format!("the server does not say which tools it has: {why}")))
}

/// Calls a tool, at most for `limit`, or as long as any call may take. Connecting has a limit of its own.
///
/// # Errors
/// What went wrong on the way, or `timeout`.
pub async fn call(adapter: &dyn McpAdapter, client: &Client, call: &ToolCall, limit: Option<Duration>) -> Result<ToolResult, Failure> {
    adapter.connect_client(client).await?;
    let limit = limit.unwrap_or(adapter.limits().call);
    match tokio::time::timeout(limit, adapter.call_tool(client, call)).await {
        Ok(result) => result,
        Err(_) => Err(timed_out(&format!("{}/{}", client.name, call.tool), limit)),
    }
}

impl Place {
    async fn connection(&self, connector: &Connector, changed: &Arc<Changed>) -> Result<Arc<dyn Upstream>, Failure> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(open.clone());
        }
        if let Some(broken) = connection.take() {
            broken.close().await;
            // What is started in its place may have other tools.
            changed.tell(self.client.clone());
        }
        let (client, told) = (self.client.clone(), changed.clone());
        let ears = Ears::new(move || told.tell(client.clone()));
        let made = connector.connect_hearing(&self.client.name, &self.client.endpoint, &ears).await?;
        *connection = Some(made.clone());
        Ok(made)
    }

    async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            connection.close().await;
        }
    }
}

/// The failure of what did not end within `limit`.
pub fn timed_out(what: &str, limit: Duration) -> Failure {
    let limit = if limit.subsec_millis() == 0 { format!("{} s", limit.as_secs()) } else { format!("{} ms", limit.as_millis()) };
    failure("timeout", crate::text::one_line(&format!("{what} did not answer within {limit}")))
}
