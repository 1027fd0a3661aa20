//! Connections: made on first use, shared by the steps of a run and by all runs of this process, made again where they broke.

use crate::expected::Expectations;
use crate::secrets::Redactor;
use crate::servers::Endpoint;
use crate::upstream::{Connector, Limits, Tool, ToolCall, Upstream, failure};
use futures_util::future::join_all;
use ltc_workflow::Value;
use ltc_workflow::advance::Failure;
use ltc_workflow::document;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex;

/// The connections of this process, by the name of the server and how it is reached: two workflows that reach it in one way share it, and two
/// names within one workflow are two servers, each with a state of its own.
pub struct Connections {
    connector: Connector,
    places: std::sync::Mutex<BTreeMap<(SmolStr, Endpoint), Arc<Place>>>,
}

struct Place {
    name: SmolStr,
    endpoint: Endpoint,
    connection: Mutex<Option<Arc<dyn Upstream>>>,
}

impl Connections {
    /// No connections yet.
    pub fn new(connector: Connector) -> Connections {
        Connections { connector, places: std::sync::Mutex::default() }
    }

    /// The servers of a run, by their names in its workflow.
    pub fn pool(self: &Arc<Self>, endpoints: BTreeMap<SmolStr, Endpoint>) -> Pool {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = |name: SmolStr, endpoint: Endpoint| {
            let made = || Arc::new(Place { name: name.clone(), endpoint: endpoint.clone(), connection: Mutex::default() });
            let place = places.entry((name.clone(), endpoint.clone())).or_insert_with(made).clone();
            (name, place)
        };
        let places = endpoints.into_iter().map(|(name, endpoint)| place(name, endpoint)).collect();
        Pool { connections: self.clone(), places, expectations: Expectations::default() }
    }

    /// What servers say from now on is shown without these secrets.
    pub fn conceal(&self, secrets: &Redactor) {
        self.connector.log.learn(secrets);
    }

    /// Ends all connections, all at once.
    pub async fn close(&self) {
        let places: Vec<Arc<Place>> = self.places.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        join_all(places.iter().map(|place| place.close())).await;
    }
}

/// The servers of one run.
pub struct Pool {
    connections: Arc<Connections>,
    places: BTreeMap<SmolStr, Arc<Place>>,
    expectations: Expectations,
}

impl Pool {
    /// How long connections and calls may take.
    pub fn limits(&self) -> Limits {
        self.connections.connector.limits
    }

    /// Expects results as the tools of `server` promise them.
    pub fn expect(&self, server: &str, tools: &[Tool]) {
        self.expectations.learn(server, tools);
    }

    /// The connection to `server`; those who want it at once wait for one handshake.
    ///
    /// # Errors
    /// `no-such-server` or `connect-failed`.
    pub async fn connection(&self, server: &str) -> Result<Arc<dyn Upstream>, Failure> {
        let place = self.places.get(server).ok_or_else(|| failure("no-such-server", format!("there is no server {server}")))?;
        place.connection(&self.connections.connector).await
    }

    /// Calls a tool and decodes what it answers.
    ///
    /// # Errors
    /// What went wrong on the way, `timeout`, `tool-error`, or `result-mismatch`.
    pub async fn call(&self, server: &str, call: &ToolCall, timeout: Option<document::Duration>) -> Result<Value, Failure> {
        let connection = self.connection(server).await?;
        let limit = timeout.map_or(self.limits().call, |limit| Duration::from_millis(limit.millis));
        match tokio::time::timeout(limit, connection.call(call)).await {
            Ok(result) => {
                let result = result?;
                self.expectations.check(server, &call.tool, &result)?;
                result.decode()
            }
            Err(_) => Err(timed_out(&format!("{server}/{}", call.tool), limit)),
        }
    }
}

impl Place {
    async fn connection(&self, connector: &Connector) -> Result<Arc<dyn Upstream>, Failure> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(open.clone());
        }
        if let Some(broken) = connection.take() {
            broken.close().await;
        }
        let made = connector.connect(&self.name, &self.endpoint).await?;
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
