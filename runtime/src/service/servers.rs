//! MCP servers in the registry: added, changed, tried, called. What they look like stands in `server_views`.

use super::refusal::Code;
use super::server_said::Spoken;
use super::server_views::{
    AddMcpServer, ConnectMcpServer, DisconnectMcpServer, GetMcpServer, ImportMcpServers, Imported, ListMcpServers, ListMcpTools,
    McpServerList, McpServerSummary, McpServerView, McpToolList, RefusedServer, RemoveMcpServer, Removed, TagMatch, UpdateMcpServer,
};
use super::{Caller, Exact, Refusal, Service, pages};
use crate::adapter::Client;
use crate::clock::Moment;
use crate::pool;
use crate::problem::Problem;
use crate::run;
use crate::secrets::Redactor;
use crate::servers::{self, Elsewhere, literal};
use crate::store::{Found, ServerChange, ServerEntry, ServerFilter, ServerName, ServerRecord, Tagged};
use crate::text;
use crate::upstream::Tool;
use ltc_workflow::advance::Failure;
use ltc_workflow::document::Transport;
use ltc_workflow::{Value, Workflow};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const PAGE: u32 = 100;

/// The longest name of a server: with the name of a tool it has to fit into what clients take for the name of a tool.
const LONGEST_NAME: usize = 64;

/// A server that is to be reached: as which client, and what nobody is to see of it.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) client: Client,
    pub(super) redactor: Redactor,
}

impl Service {
    /// A server of the registry.
    ///
    /// # Errors
    /// `NotFound` with the nearest name, or what the store says.
    pub async fn mcp_server(&self, name: &str) -> Result<ServerRecord, Refusal> {
        let store = self.driver.store();
        if let Some(record) = store.server(&ServerName(name.into())).await? {
            return Ok(record);
        }
        let known = store.servers(ServerFilter { limit: pages::LARGEST, ..ServerFilter::default() }).await?;
        let near = ltc_workflow::nearest::nearest(name, known.iter().map(|record| record.entry.name.0.as_str()));
        let mut refusal = Refusal::not_found("server", name);
        if let Some(near) = near {
            refusal.message.push_str(&format!("; perhaps `{near}` is meant"));
        }
        Err(refusal)
    }

    /// The way to a server, with its variables filled in.
    pub(super) fn reached(&self, record: &ServerRecord) -> Result<Reached, Vec<Problem>> {
        let name = &record.entry.name.0;
        let overrides = BTreeMap::from([(name.clone(), record.entry.transport.clone())]);
        let elsewhere = Elsewhere { overrides: &overrides, registry: &BTreeMap::new() };
        let environment = self.driver.environment().as_ref();
        let mut found = servers::endpoints([name], &Workflow::new("none"), elsewhere, &BTreeSet::new(), environment)?;
        let redactor = run::redactor(None, &found, environment);
        let endpoint = found.by_name.remove(name).ok_or_else(Vec::new)?;
        self.driver.adapter().conceal(&redactor);
        Ok(Reached { client: Client { name: name.clone(), endpoint }, redactor })
    }

    /// Connects to a server, and writes down how it was found, with its tools.
    pub(super) async fn tried(&self, record: &ServerRecord) -> Result<(Reached, Vec<Tool>, Option<ServerRecord>), Refusal> {
        let (name, revision, store) = (&record.entry.name, record.revision, self.driver.store());
        let reached = match self.reached(record) {
            Ok(reached) => reached,
            Err(problems) => {
                let refusal = Refusal::because(Code::Missing, problems);
                store.note_server(name, revision, Found::Failed(refusal.message.clone()), Moment::now()).await?;
                return Err(refusal);
            }
        };
        match pool::tools(self.driver.adapter().as_ref(), &reached.client).await {
            Ok(tools) => {
                let entries = reached.redactor.value(&Value::array(tools.iter().map(|tool| tool.entry.clone()).collect()));
                let noted = store.note_server(name, revision, Found::Connected { tools: entries }, Moment::now()).await?;
                Ok((reached, tools, noted))
            }
            Err(failure) => {
                let refusal = self.not_reached(&reached, failure);
                store.note_server(name, revision, Found::Failed(refusal.message.clone()), Moment::now()).await?;
                Err(refusal)
            }
        }
    }

    pub(super) fn not_reached(&self, reached: &Reached, failure: Failure) -> Refusal {
        let message = reached.redactor.text(&text::lines(&failure.message));
        let code = match failure.code.as_str() {
            "connect-failed" | "no-tools" => Code::Missing,
            _ => Code::Unavailable,
        };
        Refusal::new(code, message)
    }

    /// Connects to every server that wants to be connected to before anybody asks; how each was found is written down.
    ///
    /// # Errors
    /// What the store says.
    pub async fn connect_automatically(&self) -> Result<(), Refusal> {
        let filter = ServerFilter { auto_connect: Some(true), limit: pages::LARGEST, ..ServerFilter::default() };
        let wanted = self.driver.store().servers(filter).await?;
        // Why one is not there stands with it in the registry.
        futures_util::future::join_all(wanted.iter().map(|record| async move { drop(self.tried(record).await) })).await;
        Ok(())
    }
}

pub(super) async fn list(service: Arc<Service>, asked: ListMcpServers, _: Caller) -> Result<McpServerList, Refusal> {
    let limit = pages::limit(asked.limit, PAGE);
    let offset = asked.offset.unwrap_or(0);
    let tags: BTreeSet<SmolStr> = asked.tags.into_iter().map(SmolStr::from).collect();
    let tagged = (!tags.is_empty()).then_some(match asked.tag_match.unwrap_or(TagMatch::Any) {
        TagMatch::Any => Tagged::Any(tags),
        TagMatch::All => Tagged::All(tags),
    });
    let filter = ServerFilter {
        status: asked.status.map(Into::into),
        auto_connect: asked.auto_connect,
        tagged,
        offset,
        limit: limit.saturating_add(1),
    };
    let mut records = service.driver.store().servers(filter).await?;
    let is_more = pages::cut(&mut records, limit);
    let next_offset = is_more.then(|| offset.saturating_add(limit));
    Ok(McpServerList { servers: records.into_iter().map(McpServerSummary::from).collect(), next_offset })
}

pub(super) async fn get(service: Arc<Service>, asked: GetMcpServer, _: Caller) -> Result<McpServerView, Refusal> {
    service.mcp_server(&asked.server_name).await.map(McpServerView::from)
}

pub(super) async fn add(service: Arc<Service>, asked: AddMcpServer, _: Caller) -> Result<McpServerView, Refusal> {
    let mut problems = Vec::new();
    problems.extend(bad_name(&asked.name));
    problems.extend(service.bad_hints(asked.compile_hints.as_ref(), "/compile_hints"));
    let transport = spoken(&asked.name, &asked.spoken(), &mut problems);
    let Some(transport) = transport.filter(|_| problems.is_empty()) else { return Err(Refusal::because(Code::Invalid, problems)) };
    let entry = ServerEntry {
        name: ServerName(asked.name.as_str().into()),
        description: asked.description,
        transport,
        auto_connect: asked.auto_connect,
        tags: asked.tags.into_iter().map(SmolStr::from).collect(),
        compile_hints: asked.compile_hints.map(|hints| hints.0),
        metadata: asked.metadata.map(|metadata| metadata.0),
    };
    let added = service.driver.store().add_server(entry, Moment::now()).await?;
    service.has_changed();
    let taken = || Refusal::new(Code::Conflict, format!("there is a server `{}` already", text::one_line(&asked.name)));
    added.map(McpServerView::from).ok_or_else(taken)
}

pub(super) async fn update(service: Arc<Service>, asked: UpdateMcpServer, _: Caller) -> Result<McpServerView, Refusal> {
    service.mcp_server(&asked.server_name).await?;
    let mut problems = service.bad_hints(asked.compile_hints.as_ref().and_then(Option::as_ref), "/compile_hints");
    let said = asked.spoken();
    let transport = if said == Spoken::default() { None } else { spoken(&asked.server_name, &said, &mut problems) };
    if !problems.is_empty() {
        return Err(Refusal::because(Code::Invalid, problems));
    }
    let exact = |given: Option<Option<Exact>>| given.map(|value| value.map(|value| value.0));
    let change = ServerChange {
        description: asked.description,
        transport,
        auto_connect: asked.auto_connect,
        tags: asked.tags.map(|tags| tags.into_iter().map(SmolStr::from).collect()),
        compile_hints: exact(asked.compile_hints),
        metadata: exact(asked.metadata),
    };
    let name = ServerName(asked.server_name.as_str().into());
    let changed = service.driver.store().update_server(&name, change, Moment::now()).await?;
    service.has_changed();
    changed.map(McpServerView::from).ok_or_else(|| Refusal::not_found("server", &asked.server_name))
}

pub(super) async fn remove(service: Arc<Service>, asked: RemoveMcpServer, _: Caller) -> Result<Removed, Refusal> {
    let record = service.mcp_server(&asked.server_name).await?;
    service.driver.store().remove_server(&record.entry.name).await?;
    if let Ok(reached) = service.reached(&record) {
        service.driver.adapter().disconnect_client(&reached.client).await;
    }
    service.has_changed();
    Ok(Removed { name: asked.server_name })
}

pub(super) async fn connect(service: Arc<Service>, asked: ConnectMcpServer, _: Caller) -> Result<McpServerView, Refusal> {
    let record = service.mcp_server(&asked.server_name).await?;
    let (_, _, noted) = service.tried(&record).await?;
    service.has_changed();
    let changed =
        || Refusal::new(Code::Conflict, format!("the server `{}` was changed while it was tried", text::one_line(&asked.server_name)));
    noted.map(McpServerView::from).ok_or_else(changed)
}

pub(super) async fn disconnect(service: Arc<Service>, asked: DisconnectMcpServer, _: Caller) -> Result<McpServerView, Refusal> {
    let record = service.mcp_server(&asked.server_name).await?;
    // Without its variables nobody can have connected to it here.
    if let Ok(reached) = service.reached(&record) {
        service.driver.adapter().disconnect_client(&reached.client).await;
    }
    let noted = service.driver.store().note_server(&record.entry.name, record.revision, Found::Disconnected, Moment::now()).await?;
    service.has_changed();
    Ok(noted.unwrap_or(record).into())
}

pub(super) async fn tools(service: Arc<Service>, asked: ListMcpTools, _: Caller) -> Result<McpToolList, Refusal> {
    let record = service.mcp_server(&asked.server_name).await?;
    let tools = match record.tools.as_ref().filter(|_| !asked.refresh) {
        Some(known) => known.as_array().unwrap_or_default().to_vec(),
        None => {
            let (reached, tools, _) = service.tried(&record).await?;
            service.has_changed();
            tools.iter().map(|tool| reached.redactor.value(&tool.entry)).collect()
        }
    };
    Ok(McpToolList { server_name: asked.server_name, tools: tools.into_iter().map(Exact).collect() })
}

pub(super) async fn import(service: Arc<Service>, asked: ImportMcpServers, caller: Caller) -> Result<Imported, Refusal> {
    let mut imported = Imported { added: Vec::new(), updated: Vec::new(), refused: Vec::new() };
    let (_, entries) = servers::entries(&asked.document.0).map_err(|problem| Refusal::because(Code::Invalid, vec![problem]))?;
    for (name, entry) in entries.iter() {
        let is_there = service.driver.store().server(&ServerName(name.clone())).await?.is_some();
        let done = match AddMcpServer::of_entry(name, entry) {
            Err(refusal) => Err(refusal),
            Ok(asked_for) if is_there && asked.replace => update(service.clone(), asked_for.into_update(), caller.clone()).await,
            Ok(asked_for) => add(service.clone(), asked_for, caller.clone()).await,
        };
        match done {
            Ok(view) if is_there => imported.updated.push(view.name),
            Ok(view) => imported.added.push(view.name),
            Err(refusal) if matches!(refusal.code, Code::Invalid | Code::Conflict | Code::NotFound) => {
                imported.refused.push(RefusedServer { name: name.to_string(), why: refusal.message, problems: refusal.problems });
            }
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(imported)
}

fn bad_name(name: &str) -> Option<Problem> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.chars().all(is_good) && name.len() <= LONGEST_NAME {
        return None;
    }
    let message = format!("`{}` is no name for a server", text::one_line(name));
    let help = format!("a name has up to {LONGEST_NAME} letters, digits, `-`, `_` and `.`, and begins with a letter or a digit");
    Some(Problem::new("bad-name", "/name", message).help(help))
}

/// How a server is reached, from what was said; what is wrong goes to `problems`.
fn spoken(name: &str, said: &Spoken, problems: &mut Vec<Problem>) -> Option<Transport> {
    let transport = match servers::read_transport(&said.entry(), "") {
        Ok(transport) => transport,
        Err(problem) => {
            problems.push(problem);
            return None;
        }
    };
    let (given, is) =
        (said.transport.as_deref().map(|word| if word == "streamable-http" { "http" } else { word }), servers::transport_kind(&transport));
    if let Some(given) = given.filter(|given| *given != is) {
        let message =
            format!("the transport `{}` is reached by {}", text::one_line(given), if given == "stdio" { "a `command`" } else { "a `url`" });
        problems.push(Problem::new("bad-servers", "/transport", message));
    }
    let of_commands = [("args", said.args.is_some()), ("env", said.env.is_some()), ("cwd", said.cwd.is_some())];
    let of_urls = [("headers", said.headers.is_some())];
    let (strange, has_none): (&[(&str, bool)], _) = match &transport {
        Transport::Stdio { .. } => (&of_urls, "a server that is started by a `command` has none"),
        Transport::Http { .. } => (&of_commands, "a server that is reached by a `url` has none"),
    };
    let strange = strange.iter().filter(|(_, is_given)| *is_given);
    problems.extend(strange.map(|(field, _)| Problem::new("bad-servers", format!("/{field}"), has_none)));
    problems.extend(literal::secrets(name, &transport));
    Some(transport)
}
