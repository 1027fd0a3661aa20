//! Several servers that are one to the client: one task owns all that is known, and everything that happens is an event for it.
//!
//! | file | what it is |
//! |---|---|
//! | `servers` | servers: started, greeted, gone, started again by the next call |
//! | `client` | what the client sends, and where it goes |
//! | `answers` | what servers send, and whose it is |
//! | `lists` | lists of several servers, page by page, as one |

mod answers;
mod client;
mod lists;
mod servers;

use super::message::{self, line};
use super::{LAST_ANSWERS, Lines, Relay};
use crate::pipes;
use lists::Gather;
use ltc_workflow::Value;
use servers::{Event, Server};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// So many events wait for the task that owns everything.
const WAITING: usize = 256;

/// What is said where a server does not do what was asked of it.
const SERVER_FAILED: i64 = -32000;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const PARSE_ERROR: i64 = -32700;

/// Relays until the client leaves.
pub async fn run(relay: &Relay, (mut lines, out): Lines, stop: impl Future<Output = ()> + Send) {
    let (events, mut happened) = mpsc::channel(WAITING);
    let mut hub = Hub::new(relay, events);
    let mut leaves: Option<Instant> = None;
    tokio::pin!(stop);
    loop {
        let deadline = leaves.unwrap_or_else(Instant::now);
        tokio::select! {
            () = &mut stop => break,
            () = tokio::time::sleep_until(deadline), if leaves.is_some() => break,
            line = lines.recv(), if leaves.is_none() => match line {
                Some(Some(bytes)) => hub.client_line(&bytes),
                Some(None) => hub.say(message::error(&Value::Null, INVALID_REQUEST, "the message is longer than this relay takes")),
                None => leaves = Some(Instant::now() + LAST_ANSWERS),
            },
            Some(event) = happened.recv() => hub.happened(event),
        }
        if !hub.flush(&out).await || leaves.is_some() && !hub.owes_an_answer() {
            break;
        }
    }
    happened.close();
    hub.close().await;
    let (done, is_done) = oneshot::channel();
    if out.send((Vec::new(), Some(done))).await.is_ok() {
        // What is on its way to stdout gets there before we end.
        let _ = tokio::time::timeout(LAST_ANSWERS, is_done).await;
    }
}

/// What a request to a server is for.
enum Then {
    /// Its answer is that of the client's request.
    Pass(Value),
    /// The handshake.
    Greeting,
    /// A page of a list.
    Page(i64),
    /// A question that goes from server to server until one has an answer.
    Turn(i64),
    /// One of several that listen for the client.
    Fan(i64),
    /// Nobody waits for the answer.
    Ignore,
}

struct Pending {
    server: usize,
    then: Then,
}

/// A request of a server that waits for the client.
struct Asked {
    server: usize,
    id: Value,
    token: Option<Value>,
}

/// A question that goes from server to server.
struct Turn {
    client: Value,
    message: Value,
    left: Vec<usize>,
}

/// A subscription that all servers have.
struct Fan {
    client: Value,
    open: usize,
    is_acknowledged: bool,
}

/// The handshake with the client, while servers are still asked.
struct Hello {
    client: Value,
    open: usize,
    refusals: Vec<String>,
}

/// All that is known of one client and its servers.
struct Hub<'r> {
    relay: &'r Relay,
    servers: Vec<Server>,
    events: mpsc::Sender<Event>,
    to_client: Vec<Vec<u8>>,
    /// What the client said in its handshake; nothing in the era without one.
    greeting: Option<Value>,
    is_initialized: bool,
    hello: Option<Hello>,
    last: i64,
    pending: BTreeMap<i64, Pending>,
    gathers: BTreeMap<i64, Gather>,
    turns: BTreeMap<i64, Turn>,
    fans: BTreeMap<i64, Fan>,
    asked: BTreeMap<i64, Asked>,
    tools: BTreeMap<SmolStr, (usize, SmolStr)>,
    prompts: BTreeMap<SmolStr, (usize, SmolStr)>,
    resources: BTreeMap<SmolStr, usize>,
    tasks: BTreeMap<SmolStr, usize>,
}

impl<'r> Hub<'r> {
    fn new(relay: &'r Relay, events: mpsc::Sender<Event>) -> Hub<'r> {
        Hub {
            relay,
            servers: relay.servers.iter().map(|(name, endpoint)| Server::new(name, endpoint, relay)).collect(),
            events,
            to_client: Vec::new(),
            greeting: None,
            is_initialized: false,
            hello: None,
            last: 0,
            pending: BTreeMap::new(),
            gathers: BTreeMap::new(),
            turns: BTreeMap::new(),
            fans: BTreeMap::new(),
            asked: BTreeMap::new(),
            tools: BTreeMap::new(),
            prompts: BTreeMap::new(),
            resources: BTreeMap::new(),
            tasks: BTreeMap::new(),
        }
    }

    /// A number that nothing else has: ids of requests in both directions, lists, turns.
    fn next(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    fn say(&mut self, message: Value) {
        self.to_client.push(line(&message));
    }

    fn refuse(&mut self, client: &Value, code: i64, why: &str) {
        self.say(message::error(client, code, &crate::text::one_line(why)));
    }

    fn happened(&mut self, event: Event) {
        match event {
            Event::Message { server, generation, bytes } => {
                if self.servers[server].generation == generation {
                    self.server_line(server, &bytes);
                }
            }
            Event::Gone { server, generation, words } => {
                if self.servers[server].generation == generation {
                    self.gone(server, &words);
                }
            }
            Event::LateGreeting { server, generation } => self.late_greeting(server, generation),
            Event::LateList(list) => self.finish_list(list),
        }
    }

    /// Hands out what is to be said; false where nobody hears it any more.
    async fn flush(&mut self, out: &mpsc::Sender<pipes::Written>) -> bool {
        self.relay.observer.settle();
        for line in std::mem::take(&mut self.to_client) {
            if out.send((line, None)).await.is_err() {
                return false;
            }
        }
        true
    }

    fn owes_an_answer(&self) -> bool {
        self.hello.is_some() || self.pending.values().any(|pending| matches!(pending.then, Then::Pass(_) | Then::Page(_) | Then::Turn(_)))
    }

    async fn close(self) {
        let closing: Vec<_> = self.servers.into_iter().filter_map(Server::close).collect();
        self.relay.observer.settle();
        for task in closing {
            // One that panicked has nothing left to end.
            let _ = task.await;
        }
    }
}
