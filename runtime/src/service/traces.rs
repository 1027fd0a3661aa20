//! Recordings in the store: listed, read as `ltc.trace/1`, taken out.

use super::{Caller, Exact, Refusal, Service, pages};
use crate::clock::Moment;
use crate::store::{EscalationId, TraceFilter, TraceId, TraceRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use std::sync::Arc;
use std::time::Duration;

/// What `list_traces` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTraces {
    /// Only recordings that work on this question.
    #[serde(default)]
    pub escalation_id: Option<String>,
    /// Only recordings of this workflow.
    #[serde(default)]
    pub workflow_name: Option<String>,
    /// Only recordings of just this task.
    #[serde(default)]
    pub task: Option<String>,
    /// Only recordings that go on, or only those that have ended.
    #[serde(default)]
    pub open: Option<bool>,
    /// How many at most, 50 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(default)]
    #[schemars(regex(pattern = "^-?[0-9]{1,15}@"))]
    pub after: Option<String>,
}

/// What `list_traces` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceList {
    /// The recordings, the newest first.
    pub traces: Vec<TraceSummary>,
    /// Where there are more: what `after` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A recording, without its calls.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceSummary {
    /// Its id.
    pub trace_id: String,
    /// What the agent was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The workflow that it may become, or that it stands in for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_name: Option<String>,
    /// The question to people that it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation_id: Option<String>,
    /// Who was recorded, or over which connection.
    pub recorded_by: String,
    /// How many calls it has.
    pub calls: u64,
    /// Whether it goes on.
    pub open: bool,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// What `get_trace` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTrace {
    /// The id of the recording.
    pub trace_id: String,
}

/// What `get_trace` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TraceView {
    /// The recording, without its calls.
    #[serde(flatten)]
    pub about: TraceSummary,
    /// The whole recording: a document of the format `ltc.trace/1`.
    pub document: Exact,
}

/// What `delete_trace` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteTrace {
    /// The id of the recording.
    pub trace_id: String,
}

/// What `delete_trace` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Deleted {
    /// The id of the recording that is gone.
    pub trace_id: String,
}

/// What `prune_traces` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PruneTraces {
    /// Recordings in which nothing has happened for longer than this go: a number of seconds.
    pub older_than_seconds: u64,
}

/// What `prune_traces` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PrunedTraces {
    /// How many recordings went.
    pub traces: u64,
}

impl From<TraceRecord> for TraceSummary {
    fn from(record: TraceRecord) -> TraceSummary {
        TraceSummary {
            trace_id: record.id.0.into(),
            task: record.about.task,
            workflow_name: record.about.workflow.map(Into::into),
            escalation_id: record.about.escalation.map(|id| id.0.into()),
            recorded_by: record.by.into(),
            calls: record.calls,
            open: record.ended_at.is_none(),
            started_at: record.started_at.to_string(),
            ended_at: record.ended_at.map(|at| at.to_string()),
        }
    }
}

const PAGE: u32 = 50;

pub(super) async fn list(service: Arc<Service>, asked: ListTraces, _: Caller) -> Result<TraceList, Refusal> {
    let limit = pages::limit(asked.limit, PAGE);
    let after = asked.after.as_deref().map(pages::read_cursor).transpose()?;
    let filter = TraceFilter {
        escalation: asked.escalation_id.map(|id| EscalationId(id.into())),
        workflow: asked.workflow_name.map(SmolStr::from),
        task: asked.task,
        is_open: asked.open,
        after: after.map(|(at, id)| (at, TraceId(id.into()))),
        limit: limit + 1,
    };
    let mut records = service.driver.store().traces(filter).await?;
    let is_more = pages::cut(&mut records, limit);
    let next = records.last().filter(|_| is_more).map(|last| pages::cursor(last.started_at, &last.id.0));
    Ok(TraceList { traces: records.into_iter().map(TraceSummary::from).collect(), next })
}

pub(super) async fn get(service: Arc<Service>, asked: GetTrace, _: Caller) -> Result<TraceView, Refusal> {
    let id = TraceId(asked.trace_id.into());
    let store = service.driver.store();
    match (store.trace(&id).await?, store.trace_document(&id).await?) {
        (Some(record), Some(document)) => Ok(TraceView { about: record.into(), document: Exact(document) }),
        (Some(_), None) | (None, Some(_) | None) => Err(Refusal::not_found("recording", &id.0)),
    }
}

pub(super) async fn delete(service: Arc<Service>, asked: DeleteTrace, _: Caller) -> Result<Deleted, Refusal> {
    let id = TraceId(asked.trace_id.into());
    if service.driver.store().delete_trace(&id).await? {
        Ok(Deleted { trace_id: id.0.into() })
    } else {
        Err(Refusal::not_found("recording", &id.0))
    }
}

pub(super) async fn prune(service: Arc<Service>, asked: PruneTraces, _: Caller) -> Result<PrunedTraces, Refusal> {
    let before = Moment::now().before(Duration::from_secs(asked.older_than_seconds));
    Ok(PrunedTraces { traces: service.driver.store().prune_traces(before).await? })
}
