//! Servers: started, greeted, gone, started again by the next call.

use super::super::Relay;
use super::super::link::{self, Link, Sender};
use super::super::message::{self, line, notification, request, result};
use super::super::watch::Watch;
use super::{Hub, Pending, SERVER_FAILED, Then};
use crate::servers::Endpoint;
use crate::text;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long a handshake may take. A launcher may download the server first.
const LONGEST_GREETING: Duration = Duration::from_secs(60);
/// A server that leaves more than this unread does not read at all.
const MOST_UNREAD: usize = 256 * 1024 * 1024;
/// Lists that change when a server comes or goes: the capability, and what is said.
const CHANGES: [(&str, &str); 3] = [
    ("tools", "notifications/tools/list_changed"),
    ("prompts", "notifications/prompts/list_changed"),
    ("resources", "notifications/resources/list_changed"),
];

/// What happens.
pub enum Event {
    Message { server: usize, generation: u64, bytes: Vec<u8> },
    Gone { server: usize, generation: u64, words: String },
    LateGreeting { server: usize, generation: u64 },
    LateList(i64),
}

enum State {
    /// Nobody has wanted it yet.
    Fresh,
    /// It was asked to shake hands; what waits for that.
    Greeting(Vec<Value>),
    Up,
    /// It was there once.
    Gone,
}

/// One server.
pub struct Server {
    pub name: SmolStr,
    endpoint: Endpoint,
    state: State,
    /// Which of its connections is the one that counts.
    pub generation: u64,
    open: Option<Open>,
    pub watch: Watch,
    /// What it answered to the handshake.
    pub said: Option<Value>,
    /// Its tools and prompts, as it names them.
    pub tools: Vec<SmolStr>,
    pub prompts: Vec<SmolStr>,
}

/// A connection.
struct Open {
    out: mpsc::UnboundedSender<Vec<u8>>,
    unread: Arc<AtomicUsize>,
    close: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    pub fn new(name: &SmolStr, endpoint: &Endpoint, relay: &Relay) -> Server {
        Server {
            name: name.clone(),
            endpoint: endpoint.clone(),
            state: State::Fresh,
            generation: 0,
            open: None,
            watch: Watch::new(name, relay.observer.clone()),
            said: None,
            tools: Vec::new(),
            prompts: Vec::new(),
        }
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.state, State::Gone)
    }

    /// Whether it may know what the capability names: it said so, or nobody asked it.
    pub fn can(&self, capability: &str) -> bool {
        self.said.as_ref().and_then(|said| said.get("capabilities")).is_none_or(|own| own.get(capability).is_some())
    }

    pub fn close(mut self) -> Option<JoinHandle<()>> {
        self.watch.end();
        let open = self.open?;
        // Where nobody hears it, the connection is at its end already.
        let _ = open.close.send(());
        Some(open.task)
    }
}

async fn write(mut sender: Sender, mut lines: mpsc::UnboundedReceiver<Vec<u8>>, unread: Arc<AtomicUsize>) {
    while let Some(line) = lines.recv().await {
        let length = line.len();
        if sender.send(line).await.is_err() {
            return;
        }
        unread.fetch_sub(length, Ordering::Relaxed);
    }
}

impl Hub<'_> {
    /// Sends a message to a server, which is started if need be.
    pub(super) fn tell(&mut self, server: usize, message: Value) {
        if matches!(self.servers[server].state, State::Fresh | State::Gone) {
            self.start(server);
        }
        match &mut self.servers[server].state {
            State::Greeting(held) => held.push(message),
            State::Up => self.put(server, &message),
            // It could not be started; who waits has been told.
            State::Fresh | State::Gone => {}
        }
    }

    /// Sends a request of which the answer is for `then`.
    pub(super) fn ask(&mut self, server: usize, message: &Value, then: Then) -> i64 {
        let id = self.next();
        self.pending.insert(id, Pending { server, then });
        self.tell(server, message::with(message, &["id"], Value::from(id)));
        id
    }

    fn put(&mut self, server: usize, message: &Value) {
        let known = &mut self.servers[server];
        known.watch.sent(message);
        let Some(open) = &known.open else { return };
        let line = line(message);
        let unread = open.unread.fetch_add(line.len(), Ordering::Relaxed);
        // A connection that broke tells so itself.
        let _ = open.out.send(line);
        if unread > MOST_UNREAD {
            self.gone(server, "the server does not read what it is sent");
        }
    }

    fn start(&mut self, server: usize) {
        let known = &mut self.servers[server];
        known.generation += 1;
        let generation = known.generation;
        let Link { sender, mut receiver, mut ending } = match link::open(&known.name, &known.endpoint, &self.relay.log) {
            Ok(link) => link,
            Err(error) => return self.gone(server, &format!("it cannot be started: {error}")),
        };
        let (out, lines) = mpsc::unbounded_channel();
        let (close, mut closing) = oneshot::channel();
        let unread = Arc::new(AtomicUsize::new(0));
        let writer = tokio::spawn(write(sender, lines, unread.clone()));
        let (events, name, log) = (self.events.clone(), known.name.clone(), self.relay.log.clone());
        let task = tokio::spawn(async move {
            let words = loop {
                tokio::select! {
                    bytes = receiver.next() => match bytes {
                        Some(bytes) => if events.send(Event::Message { server, generation, bytes }).await.is_err() { break None },
                        None => break Some(ending.bury().await),
                    },
                    _ = &mut closing => break None,
                }
            };
            writer.abort();
            // Its stdin closes with the writer, and that has to be before it is waited for.
            let _ = writer.await;
            if let Some(words) = words {
                let _ = events.send(Event::Gone { server, generation, words }).await;
            }
            ending.end(&name, &log).await;
        });
        let was_there = matches!(known.state, State::Gone);
        known.open = Some(Open { out, unread, close, task });
        known.state = State::Up;
        match self.greeting.clone() {
            Some(params) => self.greet(server, params),
            None if was_there => self.changed(server),
            None => {}
        }
    }

    /// Shakes hands with a server that is up, in the client's words.
    pub(super) fn greet(&mut self, server: usize, params: Value) {
        if matches!(self.servers[server].state, State::Fresh | State::Gone) {
            // Starting it greets it.
            return self.start(server);
        }
        let id = self.next();
        self.pending.insert(id, Pending { server, then: Then::Greeting });
        self.put(server, &request(id, "initialize", params));
        if matches!(self.servers[server].state, State::Up) {
            self.servers[server].state = State::Greeting(Vec::new());
        }
        let (events, generation) = (self.events.clone(), self.servers[server].generation);
        tokio::spawn(async move {
            tokio::time::sleep(LONGEST_GREETING).await;
            let _ = events.send(Event::LateGreeting { server, generation }).await;
        });
    }

    pub(super) fn late_greeting(&mut self, server: usize, generation: u64) {
        let known = &self.servers[server];
        if known.generation == generation && matches!(known.state, State::Greeting(_)) {
            self.gone(server, &format!("there was no handshake within {} s", LONGEST_GREETING.as_secs()));
        }
    }

    /// The answer to the handshake.
    pub(super) fn greeted(&mut self, server: usize, answer: &Value) {
        let Some(said) = answer.get("result") else {
            let why = message::at(answer, &["error", "message"]).and_then(Value::as_str).unwrap_or("it gave no reason");
            return self.gone(server, &format!("it refused the handshake: {}", text::one_line(why)));
        };
        let is_first = self.hello.is_some();
        let known = &mut self.servers[server];
        known.said = Some(said.clone());
        if let State::Greeting(held) = std::mem::replace(&mut known.state, State::Up) {
            if self.is_initialized {
                self.put(server, &notification("notifications/initialized", None));
            }
            for message in held {
                self.put(server, &message);
            }
        }
        if is_first {
            self.hello_from(None);
        } else {
            self.changed(server);
        }
    }

    /// A server is gone: whoever waits for it is told, and everybody else goes on.
    pub(super) fn gone(&mut self, server: usize, words: &str) {
        let known = &mut self.servers[server];
        known.watch.end();
        let was_up = matches!(known.state, State::Up);
        let was_greeting = matches!(std::mem::replace(&mut known.state, State::Gone), State::Greeting(_) | State::Fresh);
        known.generation += 1;
        if let Some(open) = known.open.take() {
            // It may be at its end already; the task ends what is left of it.
            let _ = open.close.send(());
        }
        let why = format!("server {}: {words}", known.name);
        self.relay.log.server_said(&known.name.clone(), &text::one_line(words));
        let waiting: Vec<i64> = self.pending.iter().filter(|(_, pending)| pending.server == server).map(|(id, _)| *id).collect();
        for id in waiting {
            let Some(Pending { then, .. }) = self.pending.remove(&id) else { continue };
            let error = message::error(&Value::from(id), SERVER_FAILED, &why);
            match then {
                Then::Greeting => {}
                then => self.answered(server, id, then, &error),
            }
        }
        let asked: Vec<i64> = self.asked.iter().filter(|(_, asked)| asked.server == server).map(|(id, _)| *id).collect();
        for id in asked {
            self.asked.remove(&id);
            let params: Object = [("requestId", Value::from(id))].into_iter().collect();
            self.say(notification("notifications/cancelled", Some(params.into())));
        }
        if self.hello.is_some() && was_greeting {
            self.hello_from(Some(why));
        } else if was_up {
            self.changed(server);
        }
    }

    /// One more server has said yes or no.
    fn hello_from(&mut self, refusal: Option<String>) {
        let Some(hello) = &mut self.hello else { return };
        hello.open = hello.open.saturating_sub(1);
        hello.refusals.extend(refusal);
        if hello.open > 0 {
            return;
        }
        let Some(hello) = self.hello.take() else { return };
        let said: Vec<(&SmolStr, &Value)> =
            self.servers.iter().filter(|known| !known.is_gone()).filter_map(|known| Some((&known.name, known.said.as_ref()?))).collect();
        if said.is_empty() {
            return self.refuse(&hello.client, SERVER_FAILED, &hello.refusals.join("; "));
        }
        let merged = super::lists::greeting(&said);
        self.say(result(&hello.client, merged));
    }

    /// What a server has to offer is there now, or no longer.
    fn changed(&mut self, server: usize) {
        if !self.is_initialized && self.greeting.is_some() {
            return;
        }
        for (capability, method) in CHANGES {
            if self.servers[server].can(capability) {
                self.say(notification(method, None));
            }
        }
    }
}
