//! A server behind a URL, spoken to as if it were a pipe: each message goes out as a POST, whatever comes back goes into one queue.
//!
//! The session, the version of the protocol and the headers that name a request are those of streamable HTTP. A stream of events that breaks before
//! its answer is an error for the request that waits; it is not resumed. Redirects are not followed.

use super::message::{self, Kind, at, kind};
use crate::text;
use crate::upstream::http::{bounded, reqwest_client};
use futures_util::{StreamExt, TryStreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use ltc_workflow::{Value, json};
use reqwest::Response;
use sse_stream::SseStream;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// So many requests are under way at once.
pub(super) const AT_ONCE: usize = 64;
/// So many messages wait for the client.
pub(super) const WAITING: usize = 64;
/// The largest answer that is read.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;
/// The pause before a stream of events that ended is asked for again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the end of a session may take.
const LAST_WORD: Duration = Duration::from_secs(2);

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// How the server is reached, and what it said about that.
struct Way {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    session: Mutex<Option<HeaderValue>>,
    version: Mutex<Option<HeaderValue>>,
    slots: Arc<Semaphore>,
}

/// The way there.
pub struct HttpLink {
    way: Arc<Way>,
    messages: mpsc::Sender<Vec<u8>>,
    events: Option<JoinHandle<()>>,
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        if let Some(events) = &self.events {
            events.abort();
        }
    }
}

/// What is done when all is said.
pub struct Closing(Arc<Way>);

/// A way to `url`, the messages that come from there, and how it ends.
///
/// # Errors
/// Where a header is none, or TLS cannot be set up.
pub fn open(url: &str, given: &BTreeMap<String, String>) -> Result<(HttpLink, mpsc::Receiver<Vec<u8>>, Closing), String> {
    let headers = given_headers(given)?;
    let client = reqwest_client(url)?;
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    let way = Arc::new(Way { client, url: url.to_owned(), headers, session: Mutex::default(), version: Mutex::default(), slots });
    let (messages, received) = mpsc::channel(WAITING);
    let closing = Closing(way.clone());
    Ok((HttpLink { way, messages, events: None }, received, closing))
}

/// Headers, as they are sent.
///
/// # Errors
/// Where one is none.
pub(super) fn given_headers(given: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{}` is no name of a header", text::one_line(name)))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| format!("the value of the header {key} cannot stand in a header"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

impl HttpLink {
    /// Sends a message; what comes back, an error of the way too, is a message of the server.
    pub async fn send(&mut self, line: Vec<u8>) {
        let parsed = json::parse(&line).unwrap_or_default();
        let is_handshake = parsed.get("method").and_then(Value::as_str) == Some("initialize");
        let exchange = exchange(self.way.clone(), line, parsed.clone(), self.messages.clone());
        if is_handshake {
            exchange.await;
            if self.events.is_none() {
                self.events = Some(tokio::spawn(listen(self.way.clone(), self.messages.clone())));
            }
        } else if matches!(kind(&parsed), Kind::Request(..)) {
            // Where all are taken, one has to end first.
            let slot = self.way.slots.clone().acquire_owned().await;
            tokio::spawn(async move {
                exchange.await;
                drop(slot);
            });
        } else {
            exchange.await;
        }
    }
}

impl Closing {
    /// Ends the session, if there is one.
    pub async fn close(&self) {
        let Some(session) = self.0.session.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let request = self.0.client.delete(&self.0.url).headers(self.0.headers.clone()).header(SESSION, session);
        // A server that forgets a session by itself does as well.
        let _ = tokio::time::timeout(LAST_WORD, request.send()).await;
    }
}

impl Way {
    fn headers_for(&self, message: &Value) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(session) = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            headers.insert(SESSION, session);
        }
        let own = at(message, &["params", "_meta", "io.modelcontextprotocol/protocolVersion"]).and_then(Value::as_str);
        let own = own.and_then(|version| HeaderValue::from_str(version).ok());
        if let Some(version) = own.or_else(|| self.version.lock().unwrap_or_else(PoisonError::into_inner).clone()) {
            headers.insert(VERSION, version);
        }
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            let mut name = |header: &'static str, value: &str| {
                // A name that no header can hold is not sent; a server that insists on it says so.
                if let Ok(value) = HeaderValue::from_str(value) {
                    headers.insert(HeaderName::from_static(header), value);
                }
            };
            name("mcp-method", method);
            let param = ["name", "uri", "taskId"].iter().find_map(|key| at(message, &["params", key]).and_then(Value::as_str));
            if let Some(param) = param.filter(|param| param.bytes().all(|byte| (0x20..0x7f).contains(&byte))) {
                name("mcp-name", param);
            }
        }
        headers
    }
}

async fn exchange(way: Arc<Way>, line: Vec<u8>, message: Value, messages: mpsc::Sender<Vec<u8>>) {
    let id = match kind(&message) {
        Kind::Request(id, _) => Some(id.clone()),
        Kind::Notification(_) | Kind::Answer(_) | Kind::Other => None,
    };
    let answered = answer(&way, line, &message, id.as_ref(), &messages).await;
    if let (Err(why), Some(id)) = (answered, id) {
        // The client may be gone.
        let _ = messages.send(message::line(&message::error(&id, -32000, &text::one_line(&why)))).await;
    }
}

/// Puts what answers the message into the queue.
async fn answer(way: &Way, line: Vec<u8>, message: &Value, id: Option<&Value>, messages: &mpsc::Sender<Vec<u8>>) -> Result<(), String> {
    let request = way.client.post(&way.url).headers(way.headers_for(message));
    let request = request.header(header::ACCEPT, format!("{JSON}, {EVENTS}")).header(header::CONTENT_TYPE, JSON);
    let response = request.body(line).send().await.map_err(said)?;
    let is_handshake = message.get("method").and_then(Value::as_str) == Some("initialize");
    let session = response.headers().get(SESSION).cloned().filter(|_| is_handshake);
    let status = response.status();
    let media = media_type(&response);
    if let Some(session) = session {
        *way.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }
    if media.as_deref() == Some(EVENTS) && status.is_success() {
        let mut is_answered = false;
        let mut events = SseStream::from_bytes_stream(bounded(response.bytes_stream()));
        while let Some(event) = events.next().await {
            let Some(data) = event.map_err(|error| error.to_string())?.data.filter(|data| !data.trim().is_empty()) else { continue };
            let found = json::parse(data.as_bytes()).unwrap_or_default();
            is_answered |= matches!((kind(&found), id), (Kind::Answer(found), Some(id)) if found == id);
            learn(way, is_handshake, &found);
            pass(messages, data.into_bytes()).await?;
        }
        return if is_answered || id.is_none() { Ok(()) } else { Err("the stream of events ended before the answer".to_owned()) };
    }
    let body = body(response).await?;
    let parsed = json::parse(&body).ok();
    let is_answer = parsed.as_ref().is_some_and(|found| matches!(kind(found), Kind::Answer(_)) || found.as_array().is_some());
    match (id, parsed) {
        (Some(id), Some(found)) if is_answer && !status.is_success() && found.get("id").is_none_or(Value::is_null) => {
            // Who refuses before reading the message cannot know its id.
            pass(messages, message::line(&message::with(&with_id(&found), &["id"], id.clone()))).await
        }
        (Some(_), Some(found)) if is_answer => {
            learn(way, is_handshake, &found);
            pass(messages, body).await
        }
        (Some(_), _) => {
            let shown = text::one_line(&String::from_utf8_lossy(&body[..body.len().min(400)]));
            Err(if shown.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {shown}") })
        }
        (None, _) => Ok(()),
    }
}

fn with_id(message: &Value) -> Value {
    let mut object = message.as_object().cloned().unwrap_or_default();
    object.insert("id", Value::Null);
    object.into()
}

/// The version that was agreed on is said with every request from then on.
fn learn(way: &Way, is_handshake: bool, answer: &Value) {
    let version = at(answer, &["result", "protocolVersion"]).and_then(Value::as_str).filter(|_| is_handshake);
    if let Some(version) = version.and_then(|version| HeaderValue::from_str(version).ok()) {
        *way.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
    }
}

/// # Errors
/// Where the client is gone.
pub(super) async fn pass(messages: &mpsc::Sender<Vec<u8>>, data: Vec<u8>) -> Result<(), String> {
    // One message is one line, however the server laid it out.
    let line = if data.contains(&b'\n') { json::parse(&data).map(|message| message::line(&message)).unwrap_or(data) } else { data };
    messages.send(line).await.map_err(|_| "the client is gone".to_owned())
}

/// What the server says without being asked.
async fn listen(way: Arc<Way>, messages: mpsc::Sender<Vec<u8>>) {
    loop {
        let request = way.client.get(&way.url).headers(way.headers_for(&Value::Null)).header(header::ACCEPT, EVENTS);
        if let Ok(response) = request.send().await {
            if !response.status().is_success() || media_type(&response).as_deref() != Some(EVENTS) {
                return;
            }
            let mut events = SseStream::from_bytes_stream(bounded(response.bytes_stream()));
            while let Some(Ok(event)) = events.next().await {
                if let Some(data) = event.data.filter(|data| !data.trim().is_empty())
                    && pass(&messages, data.into_bytes()).await.is_err()
                {
                    return;
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn said(error: reqwest::Error) -> String {
    // Without the URL, which may hold a key.
    crate::upstream::chain(&error.without_url())
}

fn media_type(response: &Response) -> Option<String> {
    let value = response.headers().get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

async fn body(response: Response) -> Result<Vec<u8>, String> {
    if response.status() == StatusCode::ACCEPTED {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.try_next().await.map_err(said)? {
        if chunk.len() > LARGEST_ANSWER - bytes.len() {
            return Err(format!("the answer is larger than {LARGEST_ANSWER} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
