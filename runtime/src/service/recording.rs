//! One recording in the store while it is written: what is told is put down in its order, and whoever told it hears when it is there.
//!
//! Secrets are replaced by what stands for them, as `ltc record` does; what is found to be one later is not taken out of calls that are written already.

use super::tool_calls::{Made, Outcome};
use crate::adapter::McpAdapter;
use crate::clock::{Moment, unique_name};
use crate::record::{DEEPEST, StandIns, is_shallow};
use crate::store::{EscalationId, NewTrace, Noted, Store, StoreError, TraceAbout, TraceCall, TraceId, TraceOutcome};
use ltc_workflow::{Object, Value};
use smol_str::{SmolStr, format_smolstr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// How many calls go into the store at once.
const AT_ONCE: usize = 64;

/// How long a client waits for its answer because of a store that is slow; the call is written down all the same as soon as that can be done.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How long a store may be away until a recording ends without what comes.
const LONGEST_ABSENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// From so many bytes on, the text of a result is looked through beside everything else.
const LARGE: usize = 1024 * 1024;

/// Where recordings go, and who is told when one cannot go on.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) store: Arc<dyn Store>,
    pub(super) adapter: Arc<dyn McpAdapter>,
    /// How many recordings are being written.
    pub(super) writing: watch::Sender<usize>,
    /// Becomes true when what is open is to end.
    pub(super) ending: watch::Sender<bool>,
}

/// A recording. It begins with the first thing that is told, and ends when nobody can tell it anything any more.
pub(super) struct Trace {
    place: Place,
    by: SmolStr,
    pub(super) id: TraceId,
    /// The question that it works on, and who has claimed that.
    pub(super) works_on: OnceLock<(EscalationId, SmolStr)>,
    queue: OnceLock<mpsc::UnboundedSender<Told>>,
}

/// Who waits until something is written.
type Waiting = Option<oneshot::Sender<()>>;

enum Told {
    Call(Box<Made>, Moment, Waiting),
    About(Box<TraceAbout>, Waiting),
    /// Somebody wants to read all that was told before.
    Read(Waiting),
}

impl Trace {
    pub(super) fn new(place: Place, by: SmolStr) -> Trace {
        Trace { place, by, id: TraceId(unique_name().into()), works_on: OnceLock::new(), queue: OnceLock::new() }
    }

    /// Whether anything was told.
    pub(super) fn has_begun(&self) -> bool {
        self.queue.get().is_some()
    }

    /// Writes down a call; when this returns it is there, unless the store is slow or away.
    pub(super) async fn call(&self, made: Made) {
        self.written_with(|waiting| Told::Call(Box::new(made), Moment::now(), waiting)).await;
    }

    /// Writes down a call for which nobody waits any more.
    pub(super) fn call_given_up(&self, made: Made) {
        self.tell(Told::Call(Box::new(made), Moment::now(), None));
    }

    /// Writes down what the recording is of.
    pub(super) async fn about(&self, about: TraceAbout) {
        self.written_with(|waiting| Told::About(Box::new(about), waiting)).await;
    }

    /// Resolves when all that was told so far can be read, or never will be.
    pub(super) async fn written(&self) {
        if self.has_begun() {
            self.written_with(Told::Read).await;
        }
    }

    async fn written_with(&self, told: impl FnOnce(Waiting) -> Told) {
        let (sender, written) = oneshot::channel();
        self.tell(told(Some(sender)));
        // A writer that gave up is gone, and its end of this with it.
        let _ = tokio::time::timeout(LONGEST_WAIT, written).await;
    }

    fn tell(&self, told: Told) {
        // Where the threads of the process are gone already, nobody writes any more.
        let Ok(threads) = tokio::runtime::Handle::try_current() else { return };
        let queue = self.queue.get_or_init(|| {
            let (queue, told) = mpsc::unbounded_channel();
            let begin = NewTrace {
                id: self.id.clone(),
                by: self.by.clone(),
                about: TraceAbout::default(),
                servers: Object::default(),
                started_at: Moment::now(),
            };
            threads.spawn(write(self.place.clone(), begin, told, Counted::one_more(self.place.writing.clone())));
            queue
        });
        // It is written for as long as the recording is there.
        let _ = queue.send(told);
    }
}

/// Counts a recording that is being written, for as long as it is.
struct Counted(watch::Sender<usize>);

impl Counted {
    fn one_more(writing: watch::Sender<usize>) -> Counted {
        writing.send_modify(|count| *count += 1);
        Counted(writing)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Writes down what is told, until nobody tells any more. A store that is away is asked again; one that stays away ends the recording, and nothing else.
async fn write(place: Place, begin: NewTrace, told: mpsc::UnboundedReceiver<Told>, _counted: Counted) {
    let id = begin.id.clone();
    let secrets = Some(Box::default());
    let writer =
        Writer { place: place.clone(), id: id.clone(), secrets, known: BTreeSet::new(), calls: 0, ready: Vec::new(), waiting: Vec::new() };
    if let Err(why) = written(writer, begin, told).await {
        place.adapter.tell(&format!("the recording {} ends here, and what comes is not recorded: {why}", id.0));
    }
}

async fn written(mut writer: Writer, begin: NewTrace, mut told: mpsc::UnboundedReceiver<Told>) -> Result<(), String> {
    let store = writer.place.store.clone();
    insist(|| store.open_trace(begin.clone())).await?;
    let mut next = Vec::new();
    let mut ending = writer.place.ending.subscribe();
    loop {
        tokio::select! {
            biased;
            count = told.recv_many(&mut next, AT_ONCE) => if count == 0 { break },
            // What was told already still comes.
            _ = ending.wait_for(|is_ending| *is_ending) => told.close(),
        }
        for told in next.drain(..) {
            match told {
                Told::Call(made, ended_at, waiting) => {
                    writer.make_ready(*made, ended_at).await?;
                    writer.waiting.extend(waiting);
                }
                Told::Read(waiting) => writer.waiting.extend(waiting),
                Told::About(about, waiting) => {
                    writer.put().await?;
                    noted(insist(|| store.note_trace(&writer.id, &about, Moment::now())).await?)?;
                    writer.waiting.extend(waiting);
                }
            }
        }
        writer.put().await?;
    }
    // A recording without an end is one that goes on, or broke off: it can be read all the same.
    insist(|| store.end_trace(&writer.id, None, Moment::now())).await.map(drop)
}

struct Writer {
    place: Place,
    id: TraceId,
    /// Away only while a large result is looked through.
    secrets: Option<Box<StandIns>>,
    known: BTreeSet<SmolStr>,
    calls: u64,
    /// What is put down next, and who waits for that.
    ready: Vec<TraceCall>,
    waiting: Vec<oneshot::Sender<()>>,
}

impl Writer {
    async fn make_ready(&mut self, made: Made, ended_at: Moment) -> Result<(), String> {
        let (server, entry) = (made.server.clone(), made.entry.clone());
        self.calls += 1;
        let id = format_smolstr!("call_{}", self.calls);
        let mut secrets = self.secrets.take().unwrap_or_default();
        let (secrets, call) = if made.size() < LARGE {
            let call = ready(&mut secrets, id, made, ended_at);
            (secrets, call)
        } else {
            let looking = tokio::task::spawn_blocking(move || {
                let call = ready(&mut secrets, id, made, ended_at);
                (secrets, call)
            });
            looking.await.map_err(|error| error.to_string())?
        };
        if self.known.insert(server.clone()) {
            let (store, entry) = (&self.place.store, secrets.hide(&entry));
            noted(insist(|| store.note_trace_server(&self.id, &server, &entry, ended_at)).await?)?;
        }
        self.secrets = Some(secrets);
        self.ready.push(call);
        Ok(())
    }

    async fn put(&mut self) -> Result<(), String> {
        if !self.ready.is_empty() {
            let store = &self.place.store;
            noted(insist(|| store.append_calls(&self.id, &self.ready)).await?)?;
            self.ready.clear();
        }
        // Who waited may be gone.
        self.waiting.drain(..).for_each(|waiting| waiting.send(()).unwrap_or_default());
        Ok(())
    }
}

/// Does `step`, again where the store is away.
async fn insist<'s, T>(step: impl Fn() -> crate::store::Answer<'s, T>) -> Result<T, String> {
    let (mut pause, since) = (FIRST_PAUSE, Moment::now());
    loop {
        match step().await {
            Ok(done) => return Ok(done),
            Err(StoreError::Unavailable(_)) if since.until(Moment::now()) < LONGEST_ABSENCE => {}
            Err(error) => return Err(error.to_string()),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn noted(noted: Noted) -> Result<(), String> {
    match noted {
        Noted::Calls(_) => Ok(()),
        Noted::Ended => Err("it has ended".to_owned()),
        Noted::NoSuchTrace => Err("it was taken out".to_owned()),
    }
}

/// A call as it is kept: without secrets, and no deeper than what reads it goes.
fn ready(secrets: &mut StandIns, id: SmolStr, made: Made, ended_at: Moment) -> TraceCall {
    let Made { server, tool, arguments, outcome, started_at, entry: _, schema } = made;
    let arguments = Value::Object(arguments);
    let arguments = if is_shallow(&arguments, DEEPEST) { arguments } else { Object::default().into() };
    secrets.find_in_arguments(&server, &arguments, schema.as_ref(), &BTreeMap::new());
    let outcome = match outcome {
        Outcome::Answered(result) => {
            let result = result.to_json();
            if is_shallow(&result, DEEPEST) {
                secrets.find_in_result(&server, &result);
                TraceOutcome::Result(secrets.hide(&result))
            } else {
                TraceOutcome::Error { code: 0, message: "the result was nested too deep to be recorded".to_owned() }
            }
        }
        Outcome::Failed(message) => TraceOutcome::Error { code: 0, message },
        Outcome::GivenUp => TraceOutcome::Error { code: 0, message: "the client gave the call up".to_owned() },
    };
    let arguments = secrets.hide(&arguments).as_object().cloned().unwrap_or_default();
    TraceCall { id, server, tool, arguments, outcome, started_at, ended_at, turn: None }
}
