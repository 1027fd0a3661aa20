//! The tools of all registered servers as one list, under names that are told apart: `mcp_<server>_<tool>`.

use super::{Refusal, Service};
use crate::relay::{self, apart};
use crate::store::ServerFilter;
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::sync::{Arc, Mutex, PoisonError};

/// How many servers are looked at.
const MOST_SERVERS: u32 = 1000;

/// A tool of a registered server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayTool {
    /// What it is called here.
    pub name: SmolStr,
    /// The server.
    pub server: SmolStr,
    /// What the server calls it.
    pub tool: SmolStr,
    /// Its entry in the server's `tools/list`.
    pub entry: Value,
}

/// The list as it was last made, with the number of changes that it was made at.
#[derive(Default)]
pub(super) struct Known(Mutex<Option<(u64, Arc<Vec<GatewayTool>>)>>);

impl Service {
    /// The tools of all servers that were connected to at least once, by server and tool.
    ///
    /// # Errors
    /// What the store says.
    pub async fn gateway_tools(&self) -> Result<Arc<Vec<GatewayTool>>, Refusal> {
        let store = self.driver.store();
        let changes = store.server_changes().await?;
        let known = self.gateway.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, tools)) = known.filter(|(at, _)| *at == changes) {
            return Ok(tools);
        }
        let servers = store.servers(ServerFilter { limit: MOST_SERVERS, ..ServerFilter::default() }).await?;
        let mut found: Vec<(SmolStr, SmolStr, Value)> = Vec::new();
        for server in &servers {
            let tools = server.tools.as_ref().and_then(Value::as_array).unwrap_or_default();
            let named = tools.iter().filter_map(|entry| Some((entry.get("name")?.as_str()?, entry)));
            found.extend(named.map(|(tool, entry)| (server.entry.name.0.clone(), tool.into(), entry.clone())));
        }
        let own: Vec<(SmolStr, SmolStr)> = found.iter().map(|(server, tool, _)| (server.clone(), tool.clone())).collect();
        let names = apart(&relay::Gateway, &own);
        let tools = found.into_iter().zip(names).map(|((server, tool, entry), name)| GatewayTool { name, server, tool, entry });
        let tools = Arc::new(tools.collect::<Vec<_>>());
        *self.gateway.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((changes, tools.clone()));
        Ok(tools)
    }

    /// The tool that is called `name` here.
    ///
    /// # Errors
    /// What the store says.
    pub async fn gateway_tool(&self, name: &str) -> Result<Option<GatewayTool>, Refusal> {
        Ok(self.gateway_tools().await?.iter().find(|tool| tool.name == name).cloned())
    }
}
