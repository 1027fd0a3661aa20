//! From recordings to drafts: read, compiled, explained, verified, and told apart.

use super::compiler_views::{
    AddTrace, AddedTraces, CompileTraces, CompiledView, DiffWorkflowVersions, Difference, ExplainTraces, Explanation, ListWorkflowVersions,
    RecompileWorkflow, VerifyWorkflow, VersionList, edited, edits, escaped,
};
use super::refusal::Code;
use super::workflows::{VersionView, parsed};
use super::{Caller, Exact, Refusal, Service, pages};
use crate::clock::{Moment, unique_name};
use crate::compiling::{Compiled, Compiler, Finding, Severity, Task, Verified};
use crate::definition::Bundle;
use crate::offered::input_schema;
use crate::problem::Problem;
use crate::store::{
    EscalationId, MadeOf, NewTrace, NewVersion, Noted, ServerName, StoreError, TraceAbout, TraceCall, TraceId, TraceOutcome, VersionFilter,
    VersionRecord, VersionState,
};
use ltc_workflow::{Object, Value, Workflow, json, yaml};
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many recordings are compiled into one workflow.
const MOST_TRACES: usize = 100;

/// How many bytes the recordings of one compilation may have.
const LARGEST: usize = 64 * 1024 * 1024;

/// How many lines around a change are shown.
const CONTEXT: usize = 3;

impl Service {
    /// Calls the compiler on a thread that may be busy.
    pub(super) async fn busy<T: Send + 'static>(&self, work: impl FnOnce(&dyn Compiler) -> T + Send + 'static) -> Result<T, Refusal> {
        let Some(compiler) = self.compiler.clone() else {
            return Err(Refusal::new(Code::Missing, "this program has no compiler: `ltc` has one, a crate of workflows does not"));
        };
        // Nobody closes it.
        let permit = self.compiling.clone().acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(compiler.as_ref())
        });
        done.await.map_err(|_| Refusal::new(Code::Broken, "the compiler broke down over this: that is a mistake of the compiler"))
    }

    /// What is wrong with the hints for one server, which stand at `place`. Without a compiler it is only seen that they are hints at all.
    pub(super) fn bad_hints(&self, hints: Option<&Exact>, place: &str) -> Vec<Problem> {
        let Some(Exact(hints)) = hints else { return Vec::new() };
        match (hints, &self.compiler) {
            (Value::Object(_) | Value::String(_), None) => Vec::new(),
            (Value::Object(_) | Value::String(_), Some(compiler)) => compiler.hints(hints, place).iter().map(problem).collect(),
            (other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)), _) => {
                vec![Problem::new("bad-hints", place, format!("an object is expected, not a value of type {}", other.type_name()))]
            }
        }
    }

    /// The edits of hints, by server and key, each looked at; a `null` takes one away, whatever it is.
    fn edits(&self, hints: Option<Exact>) -> Result<Object, Refusal> {
        let given = edits(hints)?;
        let mut problems = Vec::new();
        for (server, edits) in given.iter() {
            let kept = edits.as_object().into_iter().flat_map(Object::iter).filter(|(_, value)| !value.is_null());
            let kept: Object = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
            problems.extend(self.bad_hints(Some(&Exact(kept.into())), &format!("/hints/{}", escaped(server))));
        }
        if problems.is_empty() { Ok(given) } else { Err(Refusal::because(Code::Invalid, problems)) }
    }

    /// The recordings of these names, with the hints of the registry under those of their own.
    pub(super) async fn task(&self, ids: &[TraceId]) -> Result<Task, Refusal> {
        if ids.is_empty() {
            return Err(Refusal::new(Code::Invalid, "no recording is named"));
        }
        if ids.len() > MOST_TRACES {
            return Err(Refusal::new(Code::Invalid, format!("at most {MOST_TRACES} recordings become one workflow")));
        }
        let (mut traces, mut size) = (Vec::with_capacity(ids.len()), 0_usize);
        for id in ids {
            let mut document = self.driver.store().trace_document(id).await?.ok_or_else(|| Refusal::not_found("recording", &id.0))?;
            self.complete_trace(id, &mut document).await?;
            size = size.saturating_add(json::to_string(&document).len());
            if size > LARGEST {
                let message = format!("the recordings have more than {} MiB together", LARGEST / (1024 * 1024));
                return Err(Refusal::new(Code::Invalid, message));
            }
            traces.push(document);
        }
        let hints = self.registered_hints(&traces).await?;
        Ok(Task { traces, hints, ..Task::default() })
    }

    /// What a recording does not say of what was given and returned, the question says that it answers.
    async fn complete_trace(&self, id: &TraceId, document: &mut Value) -> Result<(), Refusal> {
        let store = self.driver.store();
        let Some(question) = store.trace(id).await?.and_then(|record| record.about.escalation) else { return Ok(()) };
        let Some(question) = store.escalation(&question).await? else { return Ok(()) };
        let input = question.question.data.as_ref().and_then(|data| data.get("input")).filter(|input| input.as_object().is_some());
        given(document, "input", input.cloned());
        given(document, "output", question.answer);
        Ok(())
    }

    /// What the registry says of the servers of recordings, with what the recordings say over it.
    async fn registered_hints(&self, traces: &[Value]) -> Result<Object, Refusal> {
        let mut own: BTreeMap<SmolStr, Object> = BTreeMap::new();
        for (name, server) in traces.iter().filter_map(|trace| trace.get("servers")?.as_object()).flat_map(Object::iter) {
            let hints = own.entry(name.clone()).or_default();
            // A text is a note for people.
            for (key, value) in server.get("compile_hints").and_then(Value::as_object).into_iter().flat_map(Object::iter) {
                hints.insert(key.clone(), value.clone());
            }
        }
        let mut all = Object::default();
        for (name, over) in own {
            let record = self.driver.store().server(&ServerName(name.clone())).await?;
            let registered = record.and_then(|record| record.entry.compile_hints);
            let mut hints = registered.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
            over.iter().for_each(|(key, value)| hints.insert(key.clone(), value.clone()));
            if !hints.is_empty() {
                all.insert(name, Value::Object(hints));
            }
        }
        Ok(all)
    }

    /// Keeps a compiled workflow as a version.
    pub(super) async fn keep(&self, workflow: &Workflow, made_of: MadeOf, state: VersionState) -> Result<VersionRecord, Refusal> {
        let definition = Bundle { workflow: workflow.clone(), library: BTreeMap::new() }.definition();
        // Where the newest version is this very workflow, and in use, it stays so.
        let newest = self.versions_of(&workflow.name, None).await?.into_iter().next();
        let state = newest.filter(|newest| newest.definition == definition.id).map_or(state, |newest| match (newest.state, state) {
            (VersionState::Active, _) | (VersionState::Deployed, VersionState::Draft) => newest.state,
            (VersionState::Draft | VersionState::Deployed | VersionState::Archived, _) => state,
        });
        let version = NewVersion {
            name: workflow.name.clone(),
            definition,
            description: workflow.description.clone(),
            state,
            made_of: Some(made_of),
            at: Moment::now(),
        };
        let record = self.driver.store().put_version(version).await?;
        self.has_changed();
        Ok(record)
    }

    /// The newest version that was compiled, or that one.
    async fn compiled_version(&self, name: &str, version: Option<u32>) -> Result<(VersionRecord, MadeOf), Refusal> {
        let name = SmolStr::new(name);
        let found = match version {
            Some(_) => self.driver.store().version(&name, version).await?,
            None => self.versions_of(&name, None).await?.into_iter().find(|version| version.made_of.is_some()),
        };
        match found.map(|mut record| (record.made_of.take(), record)) {
            Some((Some(made_of), record)) => Ok((record, made_of)),
            Some((None, record)) => {
                let message = format!("version {} of the workflow {name} was not compiled of recordings that are kept", record.version);
                Err(Refusal::new(Code::Conflict, message))
            }
            None => Err(Refusal::not_found("workflow that was compiled", &name)),
        }
    }

    /// The versions of a workflow, the newest first.
    async fn versions_of(&self, name: &SmolStr, state: Option<VersionState>) -> Result<Vec<VersionRecord>, Refusal> {
        let filter = VersionFilter { name: Some(name.clone()), state, after: None, limit: pages::LARGEST };
        Ok(self.driver.store().versions(filter).await?)
    }
}

/// What the compiler found wrong.
pub(super) fn wrong(findings: &[Finding], otherwise: &str) -> Refusal {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let problems: Vec<Problem> = errors.map(problem).collect();
    if problems.is_empty() { Refusal::new(Code::Invalid, otherwise) } else { Refusal::because(Code::Invalid, problems) }
}

fn problem(finding: &Finding) -> Problem {
    Problem { code: finding.code, place: finding.place.clone(), message: finding.message.clone(), help: finding.help.clone() }
}

fn ids(given: Vec<String>) -> Vec<TraceId> {
    let mut seen = BTreeSet::new();
    given.into_iter().map(|id| TraceId(id.into())).filter(|id| seen.insert(id.clone())).collect()
}

pub(super) async fn compile(service: Arc<Service>, asked: CompileTraces, _: Caller) -> Result<CompiledView, Refusal> {
    let traces = ids(asked.trace_ids);
    let own = edited(Object::default(), &service.edits(asked.hints)?);
    let task = Task { name: asked.workflow_name, partial: asked.partial, ..service.task(&traces).await? };
    drafted(&service, task, traces, own, asked.dry_run).await
}

pub(super) async fn recompile(service: Arc<Service>, asked: RecompileWorkflow, _: Caller) -> Result<CompiledView, Refusal> {
    let (record, made_of) = service.compiled_version(&asked.workflow_name, asked.version).await?;
    let without = ids(asked.without_trace_ids);
    let before = made_of.traces.into_iter().filter(|id| !without.contains(id)).map(|id| id.0.into());
    let traces = ids(before.chain(asked.trace_ids).collect());
    let kept = made_of.hints.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    let own = edited(kept, &service.edits(asked.hints)?);
    let task = Task { name: Some(record.name.into()), partial: asked.partial, ..service.task(&traces).await? };
    drafted(&service, task, traces, own, asked.dry_run).await
}

/// Compiles a task and keeps what comes of it as a draft, with what it was made of.
async fn drafted(service: &Service, task: Task, traces: Vec<TraceId>, own: Object, dry_run: bool) -> Result<CompiledView, Refusal> {
    let hints = edited(task.hints.clone(), &own);
    let task = Task { hints, ..task };
    let compiled = service.busy(move |compiler| compiler.compile(&task)).await?;
    let Some(workflow) = compiled.usable() else { return Err(wrong(&compiled.findings, "nothing comes of these recordings")) };
    let made_of = MadeOf { traces, hints: (!own.is_empty()).then_some(Value::Object(own)) };
    let version = if dry_run { None } else { Some(service.keep(workflow, made_of, VersionState::Draft).await?.into()) };
    Ok(CompiledView {
        workflow_name: workflow.name.clone().into(),
        version,
        document: yaml::print(workflow),
        input_schema: Exact(input_schema(workflow)),
        questions: compiled.questions(),
        verdict: compiled.verified,
        diagnostics: compiled.findings,
    })
}

pub(super) async fn explain(service: Arc<Service>, asked: ExplainTraces, _: Caller) -> Result<Explanation, Refusal> {
    let task = Task { partial: asked.partial, ..service.task(&ids(asked.trace_ids)).await? };
    let explained = service.busy(move |compiler| compiler.explain(&task)).await?;
    Ok(Explanation { explanation: Exact(explained.explanation), text: explained.text, diagnostics: explained.findings })
}

pub(super) async fn verify(service: Arc<Service>, asked: VerifyWorkflow, _: Caller) -> Result<Verified, Refusal> {
    let mut traces = ids(asked.trace_ids);
    let workflow = match asked.document {
        Some(document) => parsed("document", &document)?,
        None => {
            let (record, bundle) = service.workflow(&asked.workflow_name, asked.version).await?;
            if traces.is_empty() {
                traces = record.made_of.map(|of| of.traces).unwrap_or_default();
            }
            bundle.workflow.clone()
        }
    };
    let task = Task { partial: asked.partial, ..service.task(&traces).await? };
    service.busy(move |compiler| compiler.verify(&workflow, &task)).await
}

pub(super) async fn versions(service: Arc<Service>, asked: ListWorkflowVersions, _: Caller) -> Result<VersionList, Refusal> {
    let name = SmolStr::new(&asked.workflow_name);
    let versions = service.versions_of(&name, asked.state.map(Into::into)).await?;
    if versions.is_empty() && asked.state.is_none() {
        return Err(Refusal::not_found("workflow", &name));
    }
    Ok(VersionList { versions: versions.into_iter().map(VersionView::from).collect() })
}

pub(super) async fn diff(service: Arc<Service>, asked: DiffWorkflowVersions, _: Caller) -> Result<Difference, Refusal> {
    let name = SmolStr::new(&asked.workflow_name);
    let newest = service.versions_of(&name, None).await?.first().map(|version| version.version);
    let to = asked.to.or(newest).ok_or_else(|| Refusal::not_found("workflow", &name))?;
    let (_, old) = service.workflow(&name, Some(asked.from)).await?;
    let (_, new) = service.workflow(&name, Some(to)).await?;
    let (old, new) = (yaml::print(&old.workflow), yaml::print(&new.workflow));
    let header = [asked.from, to].map(|version| format!("{name} version {version}"));
    let diff = similar::TextDiff::from_lines(&old, &new).unified_diff().context_radius(CONTEXT).header(&header[0], &header[1]).to_string();
    Ok(Difference { from: asked.from, to, diff: if old == new { String::new() } else { diff } })
}

pub(super) async fn add_trace(service: Arc<Service>, asked: AddTrace, _: Caller) -> Result<AddedTraces, Refusal> {
    let text = match &asked.recording.0 {
        Value::String(text) => text.to_string(),
        document => json::to_string(document),
    };
    if text.len() > LARGEST {
        return Err(Refusal::new(Code::Invalid, format!("a recording has at most {} MiB", LARGEST / (1024 * 1024))));
    }
    let about = service.about(&asked).await?;
    let format = asked.format;
    let read = service.busy(move |compiler| compiler.read(&text, format.as_deref())).await?;
    let (documents, diagnostics) = read.map_err(|findings| wrong(&findings, "this is no recording"))?;
    let given = asked.trace_id.filter(|_| documents.len() == 1);
    let mut trace_ids = Vec::with_capacity(documents.len());
    for document in &documents {
        let id = TraceId(given.clone().map_or_else(|| unique_name().into(), SmolStr::from));
        service.keep_trace(&id, document, about.clone()).await?;
        trace_ids.push(id.0.into());
    }
    Ok(AddedTraces { trace_ids, diagnostics })
}

impl Service {
    /// What somebody says of a recording, and what the question says that it answers.
    async fn about(&self, asked: &AddTrace) -> Result<TraceAbout, Refusal> {
        let escalation = asked.escalation_id.as_ref().map(|id| EscalationId(id.as_str().into()));
        let mut input = match asked.input.as_ref().map(|input| &input.0) {
            Some(Value::Object(input)) => Some(input.clone()),
            Some(_) => return Err(Refusal::new(Code::Invalid, "`input` is an object")),
            None => None,
        };
        let mut workflow = asked.workflow_name.as_deref().map(SmolStr::new);
        if let Some(id) = &escalation {
            let record = self.driver.store().escalation(id).await?.ok_or_else(|| Refusal::not_found("escalation", &id.0))?;
            let data = record.question.data.as_ref();
            input = input.or_else(|| data?.get("input")?.as_object().cloned());
            workflow = workflow.or_else(|| data?.get("workflow")?.as_str().map(SmolStr::new));
        }
        Ok(TraceAbout { task: asked.task.clone(), workflow, escalation, input })
    }

    /// Keeps a whole recording; one that is there already just so was kept by a try of which nobody knew whether it worked.
    async fn keep_trace(&self, id: &TraceId, document: &Value, about: TraceAbout) -> Result<(), Refusal> {
        let store = self.driver.store();
        let calls = document.get("calls").and_then(Value::as_array).unwrap_or_default();
        let calls: Vec<TraceCall> = calls.iter().enumerate().map(|(at, call)| recorded(at, call)).collect();
        let started_at = calls.iter().map(|call| call.started_at).min().unwrap_or(Moment(0));
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        let object = |name: &str| document.get(name).and_then(Value::as_object).cloned();
        let about = TraceAbout { task: text("task").or(about.task), input: object("input").or(about.input), ..about };
        let new = NewTrace { id: id.clone(), by: ADDED.into(), about, servers: object("servers").unwrap_or_default(), started_at };
        let gone = || Refusal::new(Code::Conflict, format!("there is a recording `{}` already", id.0));
        store.open_trace(new).await.map_err(|error| match error {
            StoreError::Broken(_) => gone(),
            StoreError::LeaseLost | StoreError::Unavailable(_) => error.into(),
        })?;
        for calls in calls.chunks(APPENDED_AT_ONCE) {
            match store.append_calls(id, calls).await? {
                Noted::Calls(_) => {}
                Noted::Ended => break,
                Noted::NoSuchTrace => return Err(gone()),
            }
        }
        let ended_at = calls.iter().map(|call| call.ended_at).max().unwrap_or(started_at);
        store.end_trace(id, document.get("output"), ended_at).await?;
        Ok(())
    }
}

/// Says in a recording what it does not say itself.
pub(super) fn given(document: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(object), Some(value)) = (document, value)
        && !object.contains_key(key)
    {
        object.insert(key, value);
    }
}

/// How many calls go into the store at once.
const APPENDED_AT_ONCE: usize = 64;

/// Who has recorded what came as a whole.
const ADDED: &str = "added";

/// The call at a place of an `ltc.trace/1` that was read and written by the compiler. Where nobody says when, the order says it.
fn recorded(at: usize, call: &Value) -> TraceCall {
    let name = |key: &str| call.get(key).and_then(Value::as_str).map(SmolStr::new);
    let moment = |key: &str| call.get(key).and_then(Value::as_str).and_then(Moment::read);
    let order = Moment(i64::try_from(at).unwrap_or(i64::MAX));
    let started_at = moment("started_at").unwrap_or(order);
    let error = || {
        let error = call.get("error")?;
        let code = error.get("code").map(json::to_string).and_then(|code| code.parse().ok()).unwrap_or_default();
        Some(TraceOutcome::Error { code, message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned() })
    };
    let refused = || (call.get("refused") == Some(&Value::Bool(true))).then_some(TraceOutcome::Refused);
    let result = call.get("result").cloned().map(TraceOutcome::Result);
    TraceCall {
        id: name("id").unwrap_or_else(|| format_smolstr!("{}", at + 1)),
        server: name("server").unwrap_or_default(),
        tool: name("tool").unwrap_or_default(),
        arguments: call.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default(),
        outcome: result.or_else(error).or_else(refused).unwrap_or(TraceOutcome::Missing),
        started_at,
        ended_at: moment("ended_at").unwrap_or(started_at),
        turn: call.get("turn").map(json::to_string).and_then(|turn| turn.parse().ok()),
    }
}

/// Whether a compiled workflow may go into use with nobody looking at it.
pub(super) fn is_beyond_doubt(compiled: &Compiled) -> bool {
    compiled.usable().is_some() && compiled.questions() == 0 && compiled.verified.verified
}
