//! The registered servers with their tools, as they are known here: one list of tools under names that are told apart, `mcp_<server>_<tool>`, and the way to each.
//!
//! For a call only the number of changes is read from the store, and not even that where it was just read; what stands there is read when it has changed.

use super::servers::Reached;
use super::{Refusal, Service, pages};
use crate::problem::Problem;
use crate::relay::{self, apart};
use crate::servers;
use crate::store::{ServerFilter, ServerRecord};
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A tool of a registered server.
#[derive(Clone)]
pub struct GatewayTool {
    /// What it is called here.
    pub name: SmolStr,
    /// What the server calls it.
    pub tool: SmolStr,
    /// Its entry in the server's `tools/list`.
    pub entry: Value,
    /// The server.
    pub(super) server: Arc<KnownServer>,
}

/// A registered server, as it stands in the store.
pub(super) struct KnownServer {
    pub(super) record: ServerRecord,
    tools: BTreeMap<SmolStr, Value>,
    /// As `ltc.trace/1` has it.
    pub(super) traced: Value,
    reached: OnceLock<Reached>,
}

/// All of them, at one number of changes.
pub(crate) struct Table {
    changes: u64,
    servers: BTreeMap<SmolStr, Arc<KnownServer>>,
    tools: Vec<GatewayTool>,
    by_name: BTreeMap<SmolStr, usize>,
}

/// The table that was last made, and when it was last known to be the newest.
#[derive(Default)]
pub(super) struct Known(Mutex<Option<(Arc<Table>, Instant)>>);

/// For so long what another process changes may be unknown here: it would not be told of it sooner either. What this process changes is known at once.
const FRESH: Duration = Duration::from_millis(50);

impl Known {
    fn table(&self) -> Option<(Arc<Table>, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, table: &Arc<Table>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((table.clone(), Instant::now()));
    }

    /// What is known may be old.
    pub(super) fn doubt(&self) {
        if let Some((_, at)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            *at = at.checked_sub(FRESH).unwrap_or(*at);
        }
    }
}

impl KnownServer {
    pub(super) fn new(record: ServerRecord) -> KnownServer {
        let entries = record.tools.as_ref().and_then(Value::as_array).unwrap_or_default();
        let tools = entries.iter().filter_map(|entry| Some((entry.get("name")?.as_str()?.into(), entry.clone()))).collect();
        let traced = traced(&record);
        KnownServer { record, tools, traced, reached: OnceLock::new() }
    }

    /// A tool's entry in the list that was last heard.
    pub(super) fn tool(&self, name: &str) -> Option<&Value> {
        self.tools.get(name)
    }

    /// The way to it. Where a variable is missing, it is looked for again.
    pub(super) fn reached(&self, service: &Service) -> Result<Reached, Vec<Problem>> {
        if let Some(reached) = self.reached.get() {
            return Ok(reached.clone());
        }
        let reached = service.reached(&self.record)?;
        Ok(self.reached.get_or_init(|| reached).clone())
    }
}

/// A server, as `ltc.trace/1` has it.
fn traced(record: &ServerRecord) -> Value {
    let mut entry = servers::write_transport(&record.entry.transport);
    if let Some(tools) = &record.tools {
        entry.insert("tools", tools.clone());
    }
    if !record.entry.tags.is_empty() {
        entry.insert("tags", record.entry.tags.iter().map(|tag| Value::String(tag.clone())).collect());
    }
    if let Some(hints) = &record.entry.compile_hints {
        entry.insert("compile_hints", hints.clone());
    }
    entry.into()
}

impl Table {
    fn new(changes: u64, records: Vec<ServerRecord>) -> Table {
        let servers: BTreeMap<SmolStr, Arc<KnownServer>> =
            records.into_iter().map(|record| (record.entry.name.0.clone(), Arc::new(KnownServer::new(record)))).collect();
        let listed = servers.iter().flat_map(|(name, server)| {
            let entries = server.record.tools.as_ref().and_then(Value::as_array).unwrap_or_default();
            let named = entries.iter().filter_map(|entry| Some((SmolStr::new(entry.get("name")?.as_str()?), entry)));
            named.map(move |(tool, entry)| (name.clone(), tool, entry.clone(), server.clone()))
        });
        let listed: Vec<(SmolStr, SmolStr, Value, Arc<KnownServer>)> = listed.collect();
        let own: Vec<(SmolStr, SmolStr)> = listed.iter().map(|(server, tool, ..)| (server.clone(), tool.clone())).collect();
        let names = apart(&relay::Gateway, &own);
        let tools = listed.into_iter().zip(names).map(|((_, tool, entry, server), name)| GatewayTool { name, tool, entry, server });
        let tools: Vec<GatewayTool> = tools.collect();
        let by_name = tools.iter().enumerate().map(|(at, tool)| (tool.name.clone(), at)).collect();
        Table { changes, servers, tools, by_name }
    }

    fn tool(&self, name: &str) -> Option<&GatewayTool> {
        self.by_name.get(name).and_then(|at| self.tools.get(*at))
    }

    /// The tools, by server and as each lists them.
    pub fn tools(&self) -> &[GatewayTool] {
        &self.tools
    }
}

impl Service {
    /// The servers as they are registered now.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn gateway_table(&self) -> Result<Arc<Table>, Refusal> {
        let store = self.driver.store();
        let changes = store.server_changes().await?;
        let known = self.gateway.table().map(|(table, _)| table);
        if let Some(table) = known.as_ref().filter(|table| table.changes == changes) {
            self.gateway.keep(table);
            return Ok(table.clone());
        }
        let records = store.servers(ServerFilter { limit: pages::LARGEST, ..ServerFilter::default() }).await?;
        let table = Arc::new(Table::new(changes, records));
        self.gateway.keep(&table);
        if let Some(known) = known {
            self.let_go_of_removed(&known, &table).await;
        }
        Ok(table)
    }

    /// As they were just now.
    async fn recent_table(&self) -> Result<Arc<Table>, Refusal> {
        match self.gateway.table().filter(|(_, at)| at.elapsed() < FRESH) {
            Some((table, _)) => Ok(table),
            None => self.gateway_table().await,
        }
    }

    /// A server that somebody has taken out of the registry is not kept running here.
    async fn let_go_of_removed(&self, before: &Table, now: &Table) {
        for (_, gone) in before.servers.iter().filter(|(name, _)| !now.servers.contains_key(*name)) {
            if let Some(reached) = gone.reached.get() {
                self.driver.adapter().disconnect_client(&reached.client).await;
            }
        }
    }

    /// The tool that is called `name` here.
    ///
    /// # Errors
    /// What the store says.
    pub async fn gateway_tool(&self, name: &str) -> Result<Option<GatewayTool>, Refusal> {
        if let Some(tool) = self.recent_table().await?.tool(name) {
            return Ok(Some(tool.clone()));
        }
        // It may have come since.
        Ok(self.gateway_table().await?.tool(name).cloned())
    }

    /// The registered server of this name.
    pub(super) async fn known_server(&self, name: &str) -> Result<Arc<KnownServer>, Refusal> {
        match self.recent_table().await?.servers.get(name) {
            Some(known) => Ok(known.clone()),
            // One that came since, one of very many, or none.
            None => Ok(Arc::new(KnownServer::new(self.mcp_server(name).await?))),
        }
    }
}
