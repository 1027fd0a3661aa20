//! Which call goes into which recording.
//!
//! | who calls | one recording is |
//! |---|---|
//! | over a connection (stdio; HTTP with a session) | what the connection does, until it claims a question after it has answered another |
//! | in the era without connections, over HTTP, with a name for it (`ltc/trace` in `_meta`, the header `Ltc-Trace`), or with a `traceparent` | all calls of that name, or of that trace |
//! | whoever gives `trace_id` to `call_mcp_tool` | that of the claim that named it |
//! | anybody else | one call |
//!
//! What a client is called (`clientInfo`) joins nothing: two agents of one make are two.

use super::recording::{Place, Trace};
use crate::adapter::McpAdapter;
use crate::store::{EscalationRecord, Store, TraceAbout, TraceId};
use ltc_workflow::Value;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long a recording that no connection has is kept open without a call: as long as a silent session.
const LONGEST_SILENCE: Duration = Duration::from_secs(3600);

/// How many recordings are kept open that no connection has; the one that was silent longest goes first.
const MOST_KEPT: usize = 1000;

/// How long the end of the process waits for what is not written yet.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Who is recorded.
const BY: &str = "gateway";

/// The recordings that this process writes.
pub struct Recordings {
    place: Place,
    kept: Mutex<Kept>,
}

/// What is open without a connection, and since when it is silent.
#[derive(Default)]
struct Kept {
    claimed: BTreeMap<TraceId, (Arc<Trace>, Instant)>,
    named: BTreeMap<SmolStr, (Arc<Recording>, Instant)>,
}

/// What one client does, one recording after the other.
pub struct Recording {
    place: Place,
    current: Mutex<Arc<Trace>>,
}

impl Recordings {
    pub(super) fn new(store: Arc<dyn Store>, adapter: Arc<dyn McpAdapter>) -> Recordings {
        Recordings {
            place: Place { store, adapter, writing: watch::Sender::new(0), ending: watch::Sender::new(false) },
            kept: Mutex::default(),
        }
    }

    /// That of a client of which nothing is recorded yet.
    pub fn begin(&self) -> Arc<Recording> {
        self.of(Arc::new(Trace::new(self.place.clone(), BY.into())))
    }

    /// That of all who give this name: a recording that goes on under it, or one that begins.
    pub fn named(&self, name: &str) -> Arc<Recording> {
        if let Some(claimed) = self.claimed(&TraceId(name.into())) {
            return claimed;
        }
        let begun = self.begin();
        let mut kept = self.kept();
        kept.forget();
        let (recording, used) = kept.named.entry(name.into()).or_insert_with(|| (begun, Instant::now()));
        *used = Instant::now();
        recording.clone()
    }

    /// That of a claim, where it is open in this process.
    pub fn claimed(&self, id: &TraceId) -> Option<Arc<Recording>> {
        let mut kept = self.kept();
        let (trace, used) = kept.claimed.get_mut(id)?;
        *used = Instant::now();
        Some(self.of(trace.clone()))
    }

    fn of(&self, trace: Arc<Trace>) -> Arc<Recording> {
        Arc::new(Recording { place: self.place.clone(), current: Mutex::new(trace) })
    }

    /// What is done from now on answers this question, which `who` has claimed. Without a recording of the client's own it is only recorded what comes with the name
    /// that this gives.
    pub(super) async fn works_on(&self, recording: &Recording, escalation: &EscalationRecord, who: &str) -> TraceId {
        let claim = (escalation.id.clone(), SmolStr::new(who));
        let trace = {
            let mut kept = self.kept();
            kept.forget();
            let known = kept.claimed.values().map(|(trace, _)| trace).find(|trace| trace.works_on.get() == Some(&claim));
            let trace = match known {
                Some(known) => {
                    *recording.current() = known.clone();
                    known.clone()
                }
                None => recording.for_claim(claim),
            };
            kept.claimed.insert(trace.id.clone(), (trace.clone(), Instant::now()));
            trace
        };
        let data = escalation.question.data.as_ref();
        let text = |key: &str| data.and_then(|data| data.get(key)).and_then(Value::as_str);
        let about = TraceAbout {
            task: Some(escalation.question.message.clone()),
            workflow: text("workflow").map(SmolStr::new),
            escalation: Some(escalation.id.clone()),
            input: data.and_then(|data| data.get("input")).and_then(Value::as_object).cloned(),
        };
        trace.about(about).await;
        trace.id.clone()
    }

    /// Resolves when all that was done so far in a recording of this process can be read.
    pub(super) async fn written(&self, id: &TraceId) {
        let claimed = self.kept().claimed.get(id).map(|(trace, _)| trace.clone());
        if let Some(trace) = claimed {
            trace.written().await;
        }
    }

    /// The question has its answer: what comes is of something else.
    pub(super) fn answered(&self, recording: Option<&Recording>, escalation: &EscalationRecord) {
        let is_of = |trace: &Trace| trace.works_on.get().is_some_and(|(id, _)| *id == escalation.id);
        let mut kept = self.kept();
        let named: Vec<Arc<Recording>> = kept.named.values().map(|(recording, _)| recording.clone()).collect();
        for recording in named.iter().map(AsRef::as_ref).chain(recording) {
            let mut current = recording.current();
            if is_of(&current) {
                *current = Arc::new(Trace::new(self.place.clone(), BY.into()));
            }
        }
        kept.claimed.retain(|_, (trace, _)| !is_of(trace));
    }

    /// The process ends: what is not written yet is waited for.
    pub async fn end(&self) {
        *self.kept() = Kept::default();
        self.place.ending.send_replace(true);
        let mut writing = self.place.writing.subscribe();
        // A store that is away is not waited for any longer.
        let _ = tokio::time::timeout(LAST_WORDS, writing.wait_for(|count| *count == 0)).await;
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Ends what was silent for too long, and makes room.
    fn forget(&mut self) {
        let now = Instant::now();
        let is_heard = |used: &Instant| now.duration_since(*used) < LONGEST_SILENCE;
        self.claimed.retain(|_, (_, used)| is_heard(used));
        self.named.retain(|_, (_, used)| is_heard(used));
        if self.claimed.len() >= MOST_KEPT
            && let Some(oldest) = self.claimed.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone())
        {
            self.claimed.remove(&oldest);
        }
        if self.named.len() >= MOST_KEPT
            && let Some(oldest) = self.named.iter().min_by_key(|(_, (_, used))| *used).map(|(name, _)| name.clone())
        {
            self.named.remove(&oldest);
        }
    }
}

impl Recording {
    fn current(&self) -> MutexGuard<'_, Arc<Trace>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the next call goes.
    pub(super) fn trace(&self) -> Arc<Trace> {
        self.current().clone()
    }

    /// The recording of what is done for a claim. What was done before the first one is part of it: it may be how the answer was found.
    fn for_claim(&self, claim: (crate::store::EscalationId, SmolStr)) -> Arc<Trace> {
        let mut current = self.current();
        if current.works_on.get().is_some_and(|known| *known != claim) {
            *current = Arc::new(Trace::new(self.place.clone(), BY.into()));
        }
        let _ = current.works_on.set(claim);
        current.clone()
    }
}
