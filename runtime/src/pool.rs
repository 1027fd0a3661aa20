//! The connections of a run: made on first use, shared by its steps, made again where they broke.

use crate::expected::Expectations;
use crate::servers::Endpoint;
use crate::upstream::{Connector, Limits, Tool, ToolCall, Upstream, failure};
use futures_util::future::join_all;
use ltc_workflow::Value;
use ltc_workflow::advance::Failure;
use ltc_workflow::document;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Connections by the name of the server.
pub struct Pool {
    connector: Connector,
    places: BTreeMap<SmolStr, Place>,
    expectations: Expectations,
}

struct Place {
    endpoint: Endpoint,
    connection: Mutex<Option<Arc<dyn Upstream>>>,
}

impl Pool {
    /// A pool without connections.
    pub fn new(connector: Connector, endpoints: BTreeMap<SmolStr, Endpoint>) -> Pool {
        let place = |(name, endpoint)| (name, Place { endpoint, connection: Mutex::default() });
        Pool { connector, places: endpoints.into_iter().map(place).collect(), expectations: Expectations::default() }
    }

    /// How long connections and calls may take.
    pub fn limits(&self) -> Limits {
        self.connector.limits
    }

    /// Expects results as the tools of `server` promise them.
    pub fn expect(&self, server: &str, tools: &[Tool]) {
        self.expectations.learn(server, tools);
    }

    /// The connection to `server`; steps that want it at once wait for one handshake.
    ///
    /// # Errors
    /// `no-such-server` or `connect-failed`.
    pub async fn connection(&self, server: &str) -> Result<Arc<dyn Upstream>, Failure> {
        let place = self.places.get(server).ok_or_else(|| failure("no-such-server", format!("there is no server {server}")))?;
        let mut connection = place.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(open.clone());
        }
        if let Some(broken) = connection.take() {
            broken.close().await;
        }
        let made = self.connector.connect(server, &place.endpoint).await?;
        *connection = Some(made.clone());
        Ok(made)
    }

    /// Calls a tool and decodes what it answers.
    ///
    /// # Errors
    /// What went wrong on the way, `timeout`, `tool-error`, or `result-mismatch`.
    pub async fn call(&self, server: &str, call: &ToolCall, timeout: Option<document::Duration>) -> Result<Value, Failure> {
        let connection = self.connection(server).await?;
        let limit = timeout.map_or(self.connector.limits.call, |limit| Duration::from_millis(limit.millis));
        match tokio::time::timeout(limit, connection.call(call)).await {
            Ok(result) => {
                let result = result?;
                self.expectations.check(server, &call.tool, &result)?;
                result.decode()
            }
            Err(_) => Err(timed_out(&format!("{server}/{}", call.tool), limit)),
        }
    }

    /// Ends all connections, all at once.
    pub async fn close(&self) {
        join_all(self.places.values().map(Place::close)).await;
    }
}

impl Place {
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
