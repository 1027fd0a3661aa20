//! One client's side of a relay, where its messages come as requests of HTTP: what it sends, and what waits for an answer.

use super::super::message::{self, Kind, at, key, kind, line};
use crate::pipes;
use axum::http::StatusCode;
use ltc_workflow::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// So many messages wait for a client that reads slowly, or has no stream open.
pub(super) const WAITING: usize = 256;
/// Where a request says how its progress is called.
const TOKEN: [&str; 3] = ["params", "_meta", "progressToken"];
/// What a client hears on one request.
pub enum Said {
    /// Something before the answer.
    Before(Vec<u8>),
    /// The answer, which is the last thing.
    Answer { bytes: Vec<u8>, status: StatusCode, is_error: bool },
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A request of the same id is under way.
    SameId,
    /// The session has ended.
    Over,
}

/// A request that waits.
pub(super) struct Exchange {
    pub(super) to: mpsc::Sender<Said>,
    pub(super) token: Option<String>,
    /// What the client calls the request and its progress, where that is not what the relay calls them.
    pub(super) own: Option<(Value, Option<Value>)>,
    /// Which one came last.
    pub(super) number: i64,
}

/// A session.
pub struct Session {
    lines: mpsc::Sender<pipes::Line>,
    stop: watch::Sender<bool>,
    /// Whether several clients may come as this one: then ids are ours, and who hangs up waits no longer.
    pub(super) is_shared: bool,
    state: Mutex<State>,
}

pub(super) struct State {
    pub(super) open: BTreeMap<String, Exchange>,
    pub(super) events: Option<mpsc::Sender<Vec<u8>>>,
    pub(super) held: VecDeque<Vec<u8>>,
    last: i64,
    has_called: bool,
    heard: Instant,
    is_over: bool,
}

impl Session {
    /// A session whose messages go to `lines`.
    pub fn new(lines: mpsc::Sender<pipes::Line>, is_shared: bool) -> Session {
        let state = State {
            open: BTreeMap::new(),
            events: None,
            held: VecDeque::new(),
            last: 0,
            has_called: false,
            heard: Instant::now(),
            is_over: false,
        };
        Session { lines, stop: watch::channel(false).0, is_shared, state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the relay to end.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Resolves when somebody asked for the end.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stop = self.stop.subscribe();
        async move {
            // Without a sender nobody waits for anything any more.
            let _ = stop.wait_for(|is_stopped| *is_stopped).await;
        }
    }

    /// Whether nobody has said anything for `silence`, and nobody waits.
    pub fn is_silent(&self, silence: Duration) -> bool {
        let state = self.state();
        let listens = state.events.as_ref().is_some_and(|events| !events.is_closed());
        state.open.is_empty() && !listens && state.heard.elapsed() > silence
    }

    /// Whether calls were made, and none is under way.
    pub fn has_done_its_work(&self) -> bool {
        let state = self.state();
        state.has_called && state.open.is_empty()
    }

    /// Sends a request; what is said to it comes out of what this gives.
    pub async fn ask(self: &Arc<Self>, id: &Value, method: &str, request: &Value, bytes: Vec<u8>) -> Result<Waiting, Refused> {
        let (to, said) = mpsc::channel(WAITING);
        let (waiting, bytes) = {
            let mut state = self.state();
            if state.is_over {
                return Err(Refused::Over);
            }
            state.heard = Instant::now();
            state.has_called |= method == "tools/call";
            state.last += 1;
            let number = state.last;
            let token = at(request, &TOKEN);
            let (name, token, own, bytes) = if self.is_shared {
                let ours = Value::from(number);
                let renamed = message::with(&message::with(request, &["id"], ours.clone()), &TOKEN, ours.clone());
                (key(&ours), token.map(|_| key(&ours)), Some((id.clone(), token.cloned())), line(&renamed))
            } else {
                (key(id), token.map(key), None, bytes)
            };
            if state.open.contains_key(&name) {
                return Err(Refused::SameId);
            }
            state.open.insert(name.clone(), Exchange { to, token, own, number });
            (Waiting { session: self.clone(), name, said }, bytes)
        };
        self.lines.send(Some(bytes)).await.map_err(|_| Refused::Over)?;
        Ok(waiting)
    }

    /// Sends what wants no answer.
    pub async fn tell(&self, message: &Value, bytes: Vec<u8>) -> Result<(), Refused> {
        let bytes = {
            let mut state = self.state();
            if state.is_over {
                return Err(Refused::Over);
            }
            state.heard = Instant::now();
            match kind(message) {
                Kind::Notification("notifications/cancelled") if self.is_shared => {
                    let path = ["params", "requestId"];
                    let theirs = at(message, &path);
                    let own = |exchange: &Exchange| exchange.own.as_ref().map(|(id, _)| id.clone());
                    let found = state.open.iter().filter(|(_, exchange)| own(exchange).as_ref() == theirs).max_by_key(|(_, it)| it.number);
                    // Nobody works on it any more.
                    let Some((_, exchange)) = found else { return Ok(()) };
                    line(&message::with(message, &path, Value::from(exchange.number)))
                }
                Kind::Request(..) | Kind::Notification(_) | Kind::Answer(_) | Kind::Other => bytes,
            }
        };
        self.lines.send(Some(bytes)).await.map_err(|_| Refused::Over)
    }

    /// The stream of events; the one before it ends.
    pub fn events(&self) -> Result<mpsc::Receiver<Vec<u8>>, Refused> {
        let (to, events) = mpsc::channel(WAITING);
        let mut state = self.state();
        if state.is_over {
            return Err(Refused::Over);
        }
        state.heard = Instant::now();
        for bytes in std::mem::take(&mut state.held) {
            // No more are held than there is room for.
            let _ = to.try_send(bytes);
        }
        state.events = Some(to);
        Ok(events)
    }

    /// Nothing more comes from the relay; whoever waits is told why.
    pub fn over(&self, why: &str) {
        let open = {
            let mut state = self.state();
            state.is_over = true;
            state.events = None;
            state.held.clear();
            std::mem::take(&mut state.open)
        };
        for (name, Exchange { to, own, .. }) in open {
            let id = own.map_or_else(|| json::parse(name.as_bytes()).unwrap_or_default(), |(id, _)| id);
            let bytes = line(&message::error(&id, -32000, why));
            // Who reads so slowly that there is no room sees the stream end.
            let _ = to.try_send(Said::Answer { bytes, status: StatusCode::OK, is_error: true });
        }
    }

    /// Nobody listens to this request any more. In the newer protocol that means that nobody wants its answer.
    fn hang_up(self: &Arc<Self>, name: &str) {
        let Some(exchange) = self.state().open.remove(name) else { return };
        if !self.is_shared {
            return;
        }
        let params = [("requestId", Value::from(exchange.number))].into_iter().collect::<ltc_workflow::Object>();
        let cancelled = line(&message::notification("notifications/cancelled", Some(params.into())));
        let session = self.clone();
        // Without a runtime everything is at its end.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // The relay may be gone as well.
                let _ = session.lines.send(Some(cancelled)).await;
            });
        }
    }
}

/// A request of a client that is there.
pub struct Waiting {
    session: Arc<Session>,
    name: String,
    said: mpsc::Receiver<Said>,
}

impl Waiting {
    /// What is said next.
    pub async fn next(&mut self) -> Option<Said> {
        self.said.recv().await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.session.hang_up(&self.name);
    }
}
