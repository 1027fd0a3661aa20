//! What a relay says to a client that comes over HTTP: each answer finds the request that it is for.
//!
//! What belongs to a request (its progress, its subscription) goes where its answer will go. What names none goes to the stream of events that the
//! client keeps open for that, or along with the request that came last: questions rather there, everything else rather as an event. Where there is
//! neither, it is kept until the stream is opened.

use super::super::message::{self, Kind, at, key, kind, line};
use super::session::{Exchange, Said, Session, WAITING};
use axum::http::StatusCode;
use ltc_workflow::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

/// A client that reads nothing for so long is not waited for.
const SLOWEST: Duration = Duration::from_secs(30);
/// Where a message says which subscription it belongs to: by the id of the request that began it.
const SUBSCRIPTION: [&str; 3] = ["params", "_meta", "io.modelcontextprotocol/subscriptionId"];

impl Session {
    /// A line of the relay.
    pub async fn hear(&self, bytes: Vec<u8>) {
        match json::parse(&bytes) {
            Ok(Value::Array(batch)) => {
                for message in batch.iter() {
                    self.message(message, line(message)).await;
                }
            }
            Ok(message) => {
                let bytes = bytes.trim_ascii();
                // A line break would end the event.
                let is_one = !bytes.contains(&b'\r') && !bytes.contains(&b'\n');
                let bytes = if is_one { bytes.to_vec() } else { line(&message) };
                self.message(&message, bytes).await;
            }
            Err(error) => {
                // What cannot be read cannot be passed on here; who waits for it hears that.
                let id = crate::upstream::wire::id_text(&bytes).and_then(|id| json::parse(id.as_bytes()).ok());
                if let Some(id) = id {
                    let error = message::error(&id, -32700, &format!("the server's answer cannot be read: {error}"));
                    self.message(&error, line(&error)).await;
                }
            }
        }
    }

    async fn message(&self, message: &Value, bytes: Vec<u8>) {
        match kind(message) {
            Kind::Answer(id) => {
                let Some(Exchange { to, own, .. }) = self.state().open.remove(&key(id)) else { return };
                let bytes = own.map_or(bytes, |(id, _)| line(&message::with(message, &["id"], id)));
                let is_error = message.get("error").is_some();
                send(&to, Said::Answer { bytes, status: self.status(message), is_error }).await;
            }
            Kind::Notification("notifications/progress") => {
                let path = ["params", "progressToken"];
                let token = at(message, &path).map(key);
                self.about(message, bytes, &path, |_, exchange| exchange.token.is_some() && exchange.token == token).await;
            }
            Kind::Notification(_) if at(message, &SUBSCRIPTION).is_some() => {
                let subscription = at(message, &SUBSCRIPTION).map(key).unwrap_or_default();
                self.about(message, bytes, &SUBSCRIPTION, |name, _| name == subscription).await;
            }
            Kind::Request(..) => self.to_anybody(bytes, true).await,
            Kind::Notification(_) => self.to_anybody(bytes, false).await,
            Kind::Other => {}
        }
    }

    /// What is about one request, which it names at the end of `path`.
    async fn about(&self, message: &Value, bytes: Vec<u8>, path: &[&str], is_it: impl Fn(&str, &Exchange) -> bool) {
        let found = {
            let state = self.state();
            let found = state.open.iter().find(|(name, exchange)| is_it(name, exchange));
            found.map(|(_, exchange)| (exchange.to.clone(), exchange.own.clone()))
        };
        match found {
            Some((to, own)) => {
                let name = own.map(|(id, token)| if path == SUBSCRIPTION { id } else { token.unwrap_or(id) });
                let bytes = name.map_or(bytes, |name| line(&message::with(message, path, name)));
                send(&to, Said::Before(bytes)).await;
            }
            // Nobody knows the name any more under which that goes.
            None if self.is_shared => {}
            None => self.to_anybody(bytes, false).await,
        }
    }

    /// What belongs to no request that it names. Clients take a question for what it is only along with something that they have asked.
    async fn to_anybody(&self, bytes: Vec<u8>, is_question: bool) {
        let is_heard = match is_question {
            true => self.along(&bytes).await || self.as_event(&bytes).await,
            false => self.as_event(&bytes).await || self.along(&bytes).await,
        };
        let mut state = self.state();
        // Of a client without a session nobody knows whether it comes again.
        if !is_heard && !self.is_shared {
            if state.held.len() == WAITING {
                state.held.pop_front();
            }
            state.held.push_back(bytes);
        }
    }

    /// Along with the request that came last, if there is one.
    async fn along(&self, bytes: &[u8]) -> bool {
        let last = self.state().open.values().max_by_key(|exchange| exchange.number).map(|exchange| exchange.to.clone());
        match last {
            Some(last) => send(&last, Said::Before(bytes.to_vec())).await,
            None => false,
        }
    }

    /// On the stream of events, if the client has one open.
    async fn as_event(&self, bytes: &[u8]) -> bool {
        let Some(events) = self.state().events.clone() else { return false };
        let is_heard = matches!(tokio::time::timeout(SLOWEST, events.send(bytes.to_vec())).await, Ok(Ok(())));
        let mut state = self.state();
        if !is_heard && state.events.as_ref().is_some_and(|own| own.same_channel(&events)) {
            state.events = None;
        }
        is_heard
    }

    /// The newer protocol tells some errors by the status of HTTP too.
    fn status(&self, answer: &Value) -> StatusCode {
        let code = at(answer, &["error", "code"]).and_then(Value::as_number).and_then(|code| code.as_i64());
        match code.filter(|_| self.is_shared) {
            Some(-32601) => StatusCode::NOT_FOUND,
            Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
            Some(_) | None => StatusCode::OK,
        }
    }
}

/// Whether somebody takes it.
async fn send(to: &mpsc::Sender<Said>, said: Said) -> bool {
    matches!(tokio::time::timeout(SLOWEST, to.send(said)).await, Ok(Ok(())))
}
