//! Workflows: what there is, what it takes and does, its versions.

use super::refusal::Code;
use super::{Caller, Exact, Refusal, Service, pages};
use crate::clock::Moment;
use crate::definition::Bundle;
use crate::offered::input_schema;
use crate::preflight;
use crate::store::{NewVersion, VersionFilter, VersionRecord, VersionState};
use ltc_workflow::{Workflow, yaml};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What `list_workflows` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListWorkflows {
    /// Only workflows that stand so; `active` where it is left out.
    #[serde(default)]
    pub state: Option<State>,
    /// How many at most, 100 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(default)]
    #[schemars(regex(pattern = "@[0-9]{1,9}$"))]
    pub after: Option<String>,
}

/// How a version of a workflow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is looked at, and cannot be run.
    Draft,
    /// It can be run by name and version.
    Deployed,
    /// It is the one that its name means.
    Active,
    /// It is out of use.
    Archived,
}

/// What `list_workflows` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkflowList {
    /// The workflows, by name.
    pub workflows: Vec<WorkflowSummary>,
    /// Where there are more: what `after` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A workflow in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkflowSummary {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// How it stands.
    pub state: State,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its input.
    pub input_schema: Exact,
}

/// What `get_workflow` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetWorkflow {
    /// The workflow's name.
    pub workflow_name: String,
    /// The version; the active one where it is left out.
    #[serde(default)]
    pub version: Option<u32>,
}

/// What `get_workflow` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WorkflowView {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// How it stands.
    pub state: State,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its input.
    pub input_schema: Exact,
    /// Names of the secrets that it needs.
    pub secrets: Vec<String>,
    /// The tools that it calls, by server.
    pub tools: BTreeMap<String, Vec<String>>,
    /// The workflows that it runs.
    pub runs: Vec<String>,
    /// Where it comes from: the comment at the head of its document.
    pub provenance: Vec<String>,
    /// The document, in YAML.
    pub document: String,
    /// All versions of this name, the newest first.
    pub versions: Vec<VersionView>,
}

/// A version of a workflow.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionView {
    /// The workflow's name.
    pub name: String,
    /// The version.
    pub version: u32,
    /// How it stands.
    pub state: State,
    /// When it was kept.
    pub created_at: String,
    /// The digest of the workflow with all that it runs.
    pub digest: String,
    /// The recordings that it was compiled from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace_ids: Vec<String>,
}

/// What `deploy_workflow` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployWorkflow {
    /// The workflow's document, in YAML.
    pub document: String,
    /// The documents of workflows that it runs, and those run, where they are not deployed under their names.
    #[serde(default)]
    pub library: Vec<String>,
    /// How it is to stand; `active` where it is left out.
    #[serde(default)]
    pub state: Option<State>,
}

/// What `set_workflow_state` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetWorkflowState {
    /// The workflow's name.
    pub workflow_name: String,
    /// The version; the active one where it is left out.
    #[serde(default)]
    pub version: Option<u32>,
    /// How it is to stand. The version that was active becomes `deployed` where another becomes `active`.
    pub state: State,
}

impl From<State> for VersionState {
    fn from(state: State) -> VersionState {
        match state {
            State::Draft => VersionState::Draft,
            State::Deployed => VersionState::Deployed,
            State::Active => VersionState::Active,
            State::Archived => VersionState::Archived,
        }
    }
}

impl From<VersionState> for State {
    fn from(state: VersionState) -> State {
        match state {
            VersionState::Draft => State::Draft,
            VersionState::Deployed => State::Deployed,
            VersionState::Active => State::Active,
            VersionState::Archived => State::Archived,
        }
    }
}

impl From<VersionRecord> for VersionView {
    fn from(record: VersionRecord) -> VersionView {
        VersionView {
            name: record.name.into(),
            version: record.version,
            state: record.state.into(),
            created_at: record.created_at.to_string(),
            digest: record.definition.0.into(),
            trace_ids: record.made_of.into_iter().flat_map(|of| of.traces).map(|trace| trace.0.into()).collect(),
        }
    }
}

impl Service {
    /// A version of a workflow, or the active one, with its documents.
    ///
    /// # Errors
    /// `NotFound`, or what the store says.
    pub async fn workflow(&self, name: &str, version: Option<u32>) -> Result<(VersionRecord, Arc<Bundle>), Refusal> {
        let store = self.driver.store();
        let Some(record) = store.version(&name.into(), version).await? else {
            return Err(match version {
                Some(version) => Refusal::not_found("workflow", &format!("{name}` of version `{version}")),
                None => Refusal::not_found("active workflow", name),
            });
        };
        let bundle = self.bundles.get(&record.definition, store.as_ref()).await?;
        Ok((record, bundle))
    }
}

const PAGE: u32 = 100;

pub(super) async fn list(service: Arc<Service>, asked: ListWorkflows, _: Caller) -> Result<WorkflowList, Refusal> {
    let (records, next) = page(&service, &asked).await?;
    let mut workflows = Vec::with_capacity(records.len());
    for record in records {
        let bundle = service.bundles.get(&record.definition, service.driver.store().as_ref()).await?;
        workflows.push(WorkflowSummary {
            name: record.name.into(),
            version: record.version,
            state: record.state.into(),
            description: record.description,
            input_schema: Exact(input_schema(&bundle.workflow)),
        });
    }
    Ok(WorkflowList { workflows, next })
}

/// A page of versions, and where the next one begins.
pub(super) async fn page(service: &Service, asked: &ListWorkflows) -> Result<(Vec<VersionRecord>, Option<String>), Refusal> {
    let limit = pages::limit(asked.limit, PAGE);
    let after = asked.after.as_deref().map(read_cursor).transpose()?;
    let state = asked.state.unwrap_or(State::Active).into();
    let filter = VersionFilter { name: None, state: Some(state), after, limit: limit + 1 };
    let mut records = service.driver.store().versions(filter).await?;
    let is_more = pages::cut(&mut records, limit);
    let next = records.last().filter(|_| is_more).map(|last| format!("{}@{}", last.name, last.version));
    Ok((records, next))
}

fn read_cursor(cursor: &str) -> Result<(SmolStr, u32), Refusal> {
    let parts = cursor.rsplit_once('@').and_then(|(name, version)| Some((name.into(), version.parse().ok()?)));
    parts.ok_or_else(pages::no_cursor)
}

pub(super) async fn get(service: Arc<Service>, asked: GetWorkflow, _: Caller) -> Result<WorkflowView, Refusal> {
    let (record, bundle) = service.workflow(&asked.workflow_name, asked.version).await?;
    let filter = VersionFilter { name: Some(record.name.clone()), state: None, after: None, limit: pages::LARGEST };
    let versions = service.driver.store().versions(filter).await?;
    let workflow = &bundle.workflow;
    let tools = preflight::calls(workflow).into_iter();
    Ok(WorkflowView {
        name: record.name.into(),
        version: record.version,
        state: record.state.into(),
        description: workflow.description.clone(),
        input_schema: Exact(input_schema(workflow)),
        secrets: workflow.secrets.iter().map(ToString::to_string).collect(),
        tools: tools.map(|(server, tools)| (server.into(), tools.into_iter().map(Into::into).collect())).collect(),
        runs: preflight::runs(workflow).into_iter().map(Into::into).collect(),
        provenance: workflow.header.clone(),
        document: yaml::print(workflow),
        versions: versions.into_iter().map(VersionView::from).collect(),
    })
}

pub(super) async fn deploy(service: Arc<Service>, asked: DeployWorkflow, _: Caller) -> Result<VersionView, Refusal> {
    let workflow = parsed("document", &asked.document)?;
    let mut library: BTreeMap<SmolStr, Workflow> = BTreeMap::new();
    for (index, text) in asked.library.iter().enumerate() {
        let other = parsed(&format!("library/{index}"), text)?;
        library.insert(other.name.clone(), other);
    }
    let mut bundle = Bundle { workflow, library };
    service.complete(&mut bundle).await?;
    let version = NewVersion {
        name: bundle.workflow.name.clone(),
        definition: bundle.definition(),
        description: bundle.workflow.description.clone(),
        state: asked.state.unwrap_or(State::Active).into(),
        made_of: None,
        at: Moment::now(),
    };
    let record = service.driver.store().put_version(version).await?;
    service.has_changed();
    Ok(record.into())
}

pub(super) fn parsed(place: &str, text: &str) -> Result<Workflow, Refusal> {
    yaml::read(text).map_err(|problems| {
        let problem = |problem: yaml::Problem| {
            let place = format!("{place}:{}:{}", problem.line, problem.column);
            crate::problem::Problem { code: problem.code, place, message: problem.message, help: problem.help }
        };
        Refusal::because(Code::Invalid, problems.into_iter().map(problem).collect())
    })
}

impl Service {
    /// Adds the active versions of workflows that are run and not in the library: what is deployed keeps running what it was deployed with.
    async fn complete(&self, bundle: &mut Bundle) -> Result<(), Refusal> {
        let mut wanted: Vec<SmolStr> = preflight::runs(&bundle.workflow).into_iter().collect();
        wanted.extend(bundle.library.values().flat_map(preflight::runs));
        while let Some(name) = wanted.pop() {
            if name == bundle.workflow.name || bundle.library.contains_key(&name) {
                continue;
            }
            let (_, other) = self.workflow(&name, None).await?;
            wanted.extend(preflight::runs(&other.workflow));
            bundle.library.insert(name, other.workflow.clone());
        }
        Ok(())
    }
}

pub(super) async fn set_state(service: Arc<Service>, asked: SetWorkflowState, _: Caller) -> Result<VersionView, Refusal> {
    let (record, _) = service.workflow(&asked.workflow_name, asked.version).await?;
    let set = service.driver.store().set_version_state(&record.name, record.version, asked.state.into()).await?;
    service.has_changed();
    set.map(VersionView::from).ok_or_else(|| Refusal::not_found("workflow", &asked.workflow_name))
}
