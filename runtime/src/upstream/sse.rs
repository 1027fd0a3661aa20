//! A server of the old SSE transport (protocol 2024-11-05): messages come as events of one long answer, and go as POST requests to the address that the
//! first event names.
//!
//! That address must have the origin of the server: a header with a token in it goes to the configured host and nowhere else.

use super::client::chain;
use super::ears::Ears;
use super::http::{bounded, reqwest_client};
use super::wire::{self, Refused};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use http::{HeaderMap, header};
use reqwest::Url;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use sse_stream::{Sse, SseStream};
use std::sync::Arc;

/// The way to one server, whoever writes and reads the messages.
pub(crate) struct Way {
    post: Post,
    events: BoxStream<'static, Result<Sse, sse_stream::Error>>,
}

/// Where messages go.
#[derive(Clone)]
pub(crate) struct Post {
    client: reqwest::Client,
    address: Url,
    headers: HeaderMap,
}

impl Way {
    /// Opens the stream of events at `url`, and waits for the address that messages go to.
    ///
    /// # Errors
    /// Where the server does not answer with events, or names an address of another origin.
    pub(crate) async fn open(url: &str, headers: HeaderMap) -> Result<Way, String> {
        let client = reqwest_client(url)?;
        let base = Url::parse(url).map_err(|error| format!("the URL is none: {error}"))?;
        let asked = client.get(base.clone()).headers(headers.clone()).header(header::ACCEPT, "text/event-stream").send().await;
        let answer = asked.map_err(|error| chain(&error.without_url()))?;
        if !answer.status().is_success() {
            return Err(format!("HTTP {}", answer.status()));
        }
        let mut events = SseStream::from_bytes_stream(bounded(answer.bytes_stream())).boxed();
        loop {
            let event = events.try_next().await.map_err(|error| chain(&error))?;
            let event = event.ok_or("the server closed the stream before it said where messages go")?;
            if event.event.as_deref() != Some("endpoint") {
                continue;
            }
            let address = base.join(event.data.unwrap_or_default().trim()).map_err(|error| format!("messages go to no URL: {error}"))?;
            if address.origin() != base.origin() {
                return Err("the server wants messages to go to another host".to_owned());
            }
            return Ok(Way { post: Post { client, address, headers }, events });
        }
    }

    /// Where messages go.
    pub(crate) fn post(&self) -> Post {
        self.post.clone()
    }

    /// The next message; nothing where the stream has ended. One that broke is at its end too.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            let event = self.events.try_next().await.ok().flatten()?;
            let is_message = event.event.as_deref().is_none_or(|event| event == "message");
            if let Some(message) = event.data.filter(|_| is_message) {
                return Some(message);
            }
        }
    }
}

impl Post {
    /// Sends a message; its answer is an event.
    ///
    /// # Errors
    /// Where it does not arrive.
    pub(crate) async fn send(self, message: impl Into<reqwest::Body>) -> Result<(), String> {
        let request = self.client.post(self.address).headers(self.headers).header(header::CONTENT_TYPE, "application/json");
        let answer = request.body(message).send().await.map_err(|error| chain(&error.without_url()))?;
        if answer.status().is_success() { Ok(()) } else { Err(format!("HTTP {}", answer.status())) }
    }
}

/// The transport to one server.
pub struct SseTransport {
    way: Option<Way>,
    ears: Arc<Ears>,
}

impl SseTransport {
    /// Opens it.
    ///
    /// # Errors
    /// Where the server does not answer with events, or names an address of another origin.
    pub async fn open(url: &str, headers: HeaderMap, ears: Arc<Ears>) -> Result<SseTransport, String> {
        Way::open(url, headers).await.map(|way| SseTransport { way: Some(way), ears })
    }
}

/// The message in an event, or what the library is told instead.
fn message(text: &str) -> Option<ServerJsonRpcMessage> {
    let read = wire::incoming(text.as_bytes(), &|_, _| None)
        .and_then(|text| serde_json::from_str(&text).map_err(|error| Refused { id: wire::id_of(text.as_bytes()), why: error.to_string() }));
    match read {
        Ok(message) => Some(message),
        Err(Refused { id: None, why: _ }) => None,
        Err(Refused { id, why }) => {
            let why = format!("the server's answer cannot be read: {why}");
            Some(ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::PARSE_ERROR, why, None), id))
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = std::io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let post = self.way.as_ref().map(Way::post);
        let text = wire::outgoing(&message).map_err(std::io::Error::other);
        async move {
            let post = post.ok_or(std::io::ErrorKind::NotConnected)?;
            post.send(text?).await.map_err(std::io::Error::other)
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            // A stream that broke ends the connection; the next call makes a new one.
            if let Some(message) = message(&self.way.as_mut()?.next().await?)
                && !self.ears.hear(&message)
            {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.way = None;
        Ok(())
    }
}
