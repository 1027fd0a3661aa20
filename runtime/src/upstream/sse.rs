//! A server of the old SSE transport (protocol 2024-11-05): messages come as events of one long answer, and go as POST requests to the address that the
//! first event names.
//!
//! That address must have the origin of the server: a header with a token in it goes to the configured host and nowhere else.

use super::client::chain;
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

/// The transport to one server.
pub struct SseTransport {
    client: reqwest::Client,
    post: Url,
    headers: HeaderMap,
    events: BoxStream<'static, Result<Sse, sse_stream::Error>>,
}

impl SseTransport {
    /// Opens the stream of events at `url`, and waits for the address that messages go to.
    ///
    /// # Errors
    /// Where the server does not answer with events, or names an address of another origin.
    pub async fn open(url: &str, headers: HeaderMap) -> Result<SseTransport, String> {
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
            let post = base.join(event.data.unwrap_or_default().trim()).map_err(|error| format!("messages go to no URL: {error}"))?;
            if post.origin() != base.origin() {
                return Err("the server wants messages to go to another host".to_owned());
            }
            return Ok(SseTransport { client, post, headers, events });
        }
    }
}

/// The message in an event, or what the library is told instead.
fn message(text: &str) -> Option<ServerJsonRpcMessage> {
    let read = wire::incoming(text.as_bytes())
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
        let request = self.client.post(self.post.clone()).headers(self.headers.clone()).header(header::CONTENT_TYPE, "application/json");
        let text = wire::outgoing(&message).map_err(std::io::Error::other);
        async move {
            let answer = request.body(text?).send().await;
            let answer = answer.map_err(|error| std::io::Error::other(chain(&error.without_url())))?;
            if answer.status().is_success() { Ok(()) } else { Err(std::io::Error::other(format!("HTTP {}", answer.status()))) }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            // A stream that broke ends the connection; the next call makes a new one.
            let event = self.events.try_next().await.ok().flatten()?;
            let is_message = event.event.as_deref().is_none_or(|event| event == "message");
            if let Some(message) = event.data.filter(|_| is_message).as_deref().and_then(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures_util::stream::empty().boxed();
        Ok(())
    }
}
