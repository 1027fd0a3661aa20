//! What one connection does with tools of registered servers, as a recording in the store.
//!
//! A call is written down right after its answer, in order, without the client waiting for it. Secrets are replaced by what stands for them, as `ltc record`
//! does; what is found to be one later is not taken out of calls that are written already.

use crate::clock::{Moment, unique_name};
use crate::record::StandIns;
use crate::store::{EscalationRecord, NewTrace, Store, TraceAbout, TraceCall, TraceId, TraceOutcome};
use crate::upstream::ToolResult;
use ltc_workflow::{Object, Value};
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, oneshot};

/// The recording of one connection; it begins with the first thing that is to be written down, and ends with the connection.
pub struct Recording {
    store: Arc<dyn Store>,
    by: SmolStr,
    id: TraceId,
    queue: OnceLock<mpsc::UnboundedSender<Told>>,
}

/// A call that came to its end.
pub(super) struct Made {
    pub(super) server: SmolStr,
    pub(super) tool: SmolStr,
    pub(super) arguments: Object,
    pub(super) outcome: Result<ToolResult, String>,
    pub(super) started_at: Moment,
    /// The server, as it stands in `ltc.trace/1`.
    pub(super) entry: Value,
    /// The schema of the arguments.
    pub(super) schema: Option<Value>,
}

enum Told {
    Call(Box<Made>, Moment),
    About(Box<TraceAbout>),
    /// Somebody wants to read all that was told before.
    Read(oneshot::Sender<()>),
}

impl Recording {
    /// A recording of what `by` does.
    pub fn new(store: Arc<dyn Store>, by: impl Into<SmolStr>) -> Recording {
        Recording { store, by: by.into(), id: TraceId(unique_name().into()), queue: OnceLock::new() }
    }

    /// Its name in the store.
    pub fn id(&self) -> &TraceId {
        &self.id
    }

    /// Writes down a call.
    pub(super) fn call(&self, made: Made) {
        self.tell(Told::Call(Box::new(made), Moment::now()));
    }

    /// What is done from now on answers this question.
    pub(super) fn works_on(&self, escalation: &EscalationRecord) {
        let data = escalation.question.data.as_ref();
        let text = |key: &str| data.and_then(|data| data.get(key)).and_then(Value::as_str);
        self.tell(Told::About(Box::new(TraceAbout {
            task: Some(escalation.question.message.clone()),
            workflow: text("workflow").map(SmolStr::new),
            escalation: Some(escalation.id.clone()),
            input: data.and_then(|data| data.get("input")).and_then(Value::as_object).cloned(),
        })));
    }

    /// Resolves when all that was done so far can be read, or never will be.
    pub(super) async fn written(&self) {
        let (sender, written) = oneshot::channel();
        self.tell(Told::Read(sender));
        // A writer that gave up is gone, and its end of this with it.
        let _ = written.await;
    }

    fn tell(&self, told: Told) {
        let queue = self.queue.get_or_init(|| {
            let (queue, told) = mpsc::unbounded_channel();
            let begin = NewTrace {
                id: self.id.clone(),
                by: self.by.clone(),
                about: TraceAbout::default(),
                servers: Object::default(),
                started_at: Moment::now(),
            };
            tokio::spawn(write(self.store.clone(), begin, told));
            queue
        });
        // It is written for as long as the recording is there.
        let _ = queue.send(told);
    }
}

/// Writes down what is told, until nobody tells any more. A store that is away is asked again; one that stays away ends the recording, and nothing else.
async fn write(store: Arc<dyn Store>, begin: NewTrace, mut told: mpsc::UnboundedReceiver<Told>) {
    let id = begin.id.clone();
    let mut writer = Writer { store, id: id.clone(), secrets: StandIns::default(), known: BTreeSet::new(), calls: 0 };
    if writer.store.open_trace(begin).await.is_err() {
        return;
    }
    while let Some(told) = told.recv().await {
        let written = match told {
            Told::Call(made, ended_at) => writer.call(*made, ended_at).await,
            Told::Read(reader) => {
                // Who waited may be gone.
                let _ = reader.send(());
                true
            }
            Told::About(about) => writer.store.note_trace(&id, &about, Moment::now()).await.is_ok(),
        };
        if !written {
            return;
        }
    }
    // A recording without an end is one that goes on, or broke off: it can be read all the same.
    let _ = writer.store.end_trace(&id, None, Moment::now()).await;
}

struct Writer {
    store: Arc<dyn Store>,
    id: TraceId,
    secrets: StandIns,
    known: BTreeSet<SmolStr>,
    calls: u64,
}

impl Writer {
    async fn call(&mut self, made: Made, ended_at: Moment) -> bool {
        let Made { server, tool, arguments, outcome, started_at, entry, schema } = made;
        let arguments = Value::Object(arguments);
        self.secrets.find_in_arguments(&server, &arguments, schema.as_ref(), &BTreeMap::new());
        let outcome = match outcome {
            Ok(result) => {
                let result = as_json(&result);
                self.secrets.find_in_result(&server, &result);
                TraceOutcome::Result(self.secrets.hide(&result))
            }
            Err(message) => TraceOutcome::Error { code: 0, message },
        };
        if self.known.insert(server.clone()) {
            let entry = self.secrets.hide(&entry);
            if self.store.note_trace_server(&self.id, &server, &entry, ended_at).await.is_err() {
                return false;
            }
        }
        let arguments = self.secrets.hide(&arguments).as_object().cloned().unwrap_or_default();
        self.calls += 1;
        let id = format_smolstr!("call_{}", self.calls);
        let call = TraceCall { id, server, tool, arguments, outcome, started_at, ended_at, turn: None };
        self.store.append_call(&self.id, &call).await.is_ok()
    }
}

fn as_json(result: &ToolResult) -> Value {
    let mut object: Object = [("content", Value::array(result.content.clone()))].into_iter().collect();
    if let Some(structured) = &result.structured {
        object.insert("structuredContent", structured.clone());
    }
    object.insert("isError", Value::from(result.is_error));
    object.into()
}
