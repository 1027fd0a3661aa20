//! A server behind a URL: the HTTP under streamable HTTP, with our own reading and writing of messages.
//!
//! The MCP library keeps the session, resumes event streams and knows the headers of both eras of the protocol. What it is given here are
//! requests that carry exact numbers, and answers that passed through [`wire::incoming`]. Redirects are not followed: a header with a token
//! in it goes to the configured host and nowhere else.

use super::client::chain;
use super::ears::Ears;
use super::wire;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http::{HeaderName, HeaderValue, StatusCode, header};
use ltc_workflow::{Object, Value, json};
use reqwest::{RequestBuilder, Response};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The largest answer that is read: the longest message over stdio too.
const LARGEST_ANSWER: usize = 256 * 1024 * 1024;
/// How much of the body of an HTTP error is shown.
const LARGEST_EXCUSE: usize = 4 * 1024;
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(20);

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

type HttpError = StreamableHttpError<Lost>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The client of one server.
#[derive(Clone)]
pub struct HttpClient {
    client: reqwest::Client,
    ears: Arc<Ears>,
}

impl HttpClient {
    /// A client for `url`.
    ///
    /// # Errors
    /// Where TLS cannot be set up: most often because the machine has no root certificates.
    pub fn new(url: &str, ears: Arc<Ears>) -> Result<HttpClient, String> {
        reqwest_client(url).map(|client| HttpClient { client, ears })
    }
}

/// A client for `url` that follows no redirect.
///
/// # Errors
/// Where TLS cannot be set up: most often because the machine has no root certificates.
pub(crate) fn reqwest_client(url: &str) -> Result<reqwest::Client, String> {
    // An error says that a provider of cryptography is there already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("ltc/", env!("CARGO_PKG_VERSION")));
    if url.starts_with("http://") {
        // Without TLS no certificates are needed, and a machine may have none.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| chain(&error.without_url()))
}

/// An error of the way: it and its causes, without the URL, which may hold a key.
#[derive(Debug)]
pub struct Lost(String);

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

fn lost(error: reqwest::Error) -> HttpError {
    StreamableHttpError::Client(Lost(chain(&error.without_url())))
}

#[expect(clippy::iter_over_hash_type, reason = "the order of headers of different names means nothing")]
fn with_headers(mut request: RequestBuilder, auth: Option<String>, headers: Headers) -> Result<RequestBuilder, HttpError> {
    if let Some(token) = auth {
        request = request.bearer_auth(token);
    }
    for (name, value) in headers {
        if [header::ACCEPT.as_str(), SESSION, LAST_EVENT].contains(&name.as_str()) {
            return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
        }
        request = request.header(name, value);
    }
    Ok(request)
}

fn media_type(response: &Response) -> Option<String> {
    let value = response.headers().get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Refusals that say something about us rather than about the message.
fn refusal(response: &Response) -> Option<HttpError> {
    let status = response.status();
    let challenge = response.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    match (status, challenge) {
        (StatusCode::UNAUTHORIZED, Some(challenge)) => {
            Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge.to_owned())))
        }
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => {
            Some(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}").into()))
        }
        (StatusCode::TOO_MANY_REQUESTS, _) => Some(HttpStatusError::new(status.as_u16(), retry_after(response)).into()),
        _ => None,
    }
}

fn retry_after(response: &Response) -> Option<String> {
    response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

async fn body(response: Response, largest: usize) -> Result<Vec<u8>, HttpError> {
    let too_large = StreamableHttpError::ResponseBodyTooLarge { max_size: largest };
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.try_next().await.map_err(lost)? {
        if chunk.len() > largest - bytes.len() {
            return Err(too_large);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The beginning of a body that explains an error.
async fn excuse(response: Response) -> String {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Ok(Some(chunk)) = stream.try_next().await {
        bytes.extend_from_slice(&chunk[..chunk.len().min(LARGEST_EXCUSE - bytes.len())]);
        if bytes.len() == LARGEST_EXCUSE {
            break;
        }
    }
    crate::text::one_line(&String::from_utf8_lossy(&bytes))
}

/// The message in `bytes`, or an error that answers the request `id`.
fn message(bytes: &[u8], id: Option<&RequestId>, ears: &Ears) -> Result<ServerJsonRpcMessage, HttpError> {
    let why = match wire::incoming(bytes, &|answered, result| shelved(ears, id, answered, result)) {
        Ok(text) => match serde_json::from_str(&text) {
            Ok(message) => return Ok(message),
            Err(error) => error.to_string(),
        },
        Err(refused) => refused.why,
    };
    match id {
        Some(id) => Ok(unreadable(&why, id)),
        None => Err(StreamableHttpError::UnexpectedServerResponse(why.into())),
    }
}

fn unreadable(why: &str, id: &RequestId) -> ServerJsonRpcMessage {
    let why = format!("the server's answer cannot be read: {why}");
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::PARSE_ERROR, why, None), Some(id.clone()))
}

/// What is heard of before the library reads it; an answer is read once only, and may be large.
fn hear(ears: &Ears, text: &str) {
    if text.contains(r#""method":"notifications/"#)
        && let Ok(message) = serde_json::from_str(text)
    {
        ears.hear(&message);
    }
}

/// Where the result of the request `id` lies from now on.
fn shelved(ears: &Ears, id: Option<&RequestId>, answered: &Value, result: &Object) -> Option<i64> {
    let is_of = id.and_then(|id| serde_json::to_string(id).ok()) == Some(json::to_string(answered));
    is_of.then(|| ears.shelf.put(result.clone()))
}

/// The events of a response, each with its message made ready for the library.
fn events(response: Response, id: Option<RequestId>, ears: Arc<Ears>) -> BoxStream<'static, Result<Sse, SseError>> {
    let bytes = bounded(response.bytes_stream());
    let ready = move |mut event: Sse| {
        if let Some(data) = event.data.take() {
            let shelve: wire::Shelve<'_> = &|answered, result| shelved(&ears, id.as_ref(), answered, result);
            event.data = Some(match (wire::incoming(data.as_bytes(), shelve), &id) {
                (Ok(text), _) => {
                    hear(&ears, &text);
                    text
                }
                (Err(refused), Some(id)) if !data.trim().is_empty() => serde_json::to_string(&unreadable(&refused.why, id)).unwrap_or(data),
                (Err(_), _) => data,
            });
        }
        event
    };
    SseStream::from_bytes_stream(bytes).map_ok(ready).boxed()
}

/// The bytes of a stream of events, ended by an error where one event grows past all bounds.
pub(crate) fn bounded<B: AsRef<[u8]>>(
    bytes: impl Stream<Item = Result<B, reqwest::Error>> + Send + 'static,
) -> impl Stream<Item = Result<B, std::io::Error>> + Send + 'static {
    let mut event = 0_usize;
    let mut line = 0_usize;
    bytes.map(move |chunk| {
        let chunk = chunk.map_err(|error| std::io::Error::other(error.without_url()))?;
        for byte in chunk.as_ref() {
            event += 1;
            match byte {
                b'\n' if line == 0 => event = 0,
                b'\n' => line = 0,
                b'\r' => {}
                _ => line += 1,
            }
        }
        if event > LARGEST_ANSWER {
            return Err(std::io::Error::other(format!("an event is larger than {LARGEST_ANSWER} bytes")));
        }
        Ok(chunk)
    })
}

impl StreamableHttpClient for HttpClient {
    type Error = Lost;

    async fn post_message(
        &self,
        uri: Arc<str>,
        sent: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let text = wire::outgoing(&sent).map_err(|why| StreamableHttpError::Io(std::io::Error::other(why)))?;
        let id = match &sent {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) | JsonRpcMessage::Error(_) => None,
        };
        let is_discovery = matches!(&sent, JsonRpcMessage::Request(r) if matches!(r.request, ClientRequest::DiscoverRequest(_)));
        let mut request = self.client.post(uri.as_ref()).header(header::ACCEPT, format!("{JSON}, {EVENTS}"));
        request = with_headers(request, auth, headers)?.header(header::CONTENT_TYPE, JSON);
        if let Some(session) = &session {
            request = request.header(SESSION, session.as_ref());
        }
        let response = request.body(text).send().await.map_err(lost)?;
        if let Some(refusal) = refusal(&response) {
            return Err(refusal);
        }
        let status = response.status();
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let given = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let media = media_type(&response);
        if !status.is_success() {
            return failed(response, media.as_deref(), id.as_ref(), is_discovery && session.is_none(), &self.ears).await;
        }
        let Some(id) = id else { return Ok(StreamableHttpPostResponse::Accepted) };
        match media.as_deref() {
            Some(EVENTS) => Ok(StreamableHttpPostResponse::Sse(events(response, Some(id), self.ears.clone()), given)),
            Some(JSON) => {
                Ok(StreamableHttpPostResponse::Json(message(&body(response, LARGEST_ANSWER).await?, Some(&id), &self.ears)?, given))
            }
            _ if status == StatusCode::ACCEPTED => Ok(StreamableHttpPostResponse::Accepted),
            _ => Err(StreamableHttpError::UnexpectedContentType(media)),
        }
    }

    async fn delete_session(&self, uri: Arc<str>, session: Arc<str>, auth: Option<String>, headers: Headers) -> Result<(), HttpError> {
        let request = with_headers(self.client.delete(uri.as_ref()).header(SESSION, session.as_ref()), auth, headers)?;
        let response = request.send().await.map_err(lost)?;
        if response.status() != StatusCode::METHOD_NOT_ALLOWED {
            response.error_for_status().map_err(lost)?;
        }
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let mut request = with_headers(self.client.get(uri.as_ref()).header(header::ACCEPT, EVENTS), auth, headers)?;
        if let Some(session) = session {
            request = request.header(SESSION, session.as_ref());
        }
        if let Some(last_event) = last_event {
            request = request.header(LAST_EVENT, last_event);
        }
        let response = request.send().await.map_err(lost)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if let Some(refusal) = refusal(&response) {
            return Err(refusal);
        }
        let response = response.error_for_status().map_err(lost)?;
        match media_type(&response) {
            Some(media) if media == EVENTS => Ok(events(response, None, self.ears.clone())),
            media => Err(StreamableHttpError::UnexpectedContentType(media)),
        }
    }
}

/// An answer with a status that is no success: a JSON-RPC error in it counts, whatever the status.
async fn failed(
    response: Response,
    media: Option<&str>,
    id: Option<&RequestId>,
    is_discovery: bool,
    ears: &Ears,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let retry_after = retry_after(&response);
    let text = if media == Some(JSON) {
        let bytes = body(response, LARGEST_ANSWER).await?;
        if let Ok(ServerJsonRpcMessage::Error(mut error)) = message(&bytes, None, ears) {
            // Who refuses before reading the message cannot know its id.
            error.id = id.cloned();
            return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), None));
        }
        crate::text::one_line(&String::from_utf8_lossy(&bytes[..bytes.len().min(LARGEST_EXCUSE)]))
    } else {
        excuse(response).await
    };
    if let Some(id) = id.filter(|_| is_discovery && status.is_client_error()) {
        let error = ErrorData::invalid_request(format!("HTTP {status}: {text}"), None);
        return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id.clone())), None));
    }
    if status.is_server_error() && text.is_empty() {
        return Err(HttpStatusError::new(status.as_u16(), retry_after).into());
    }
    let why = if text.is_empty() { format!("HTTP {status}") } else { format!("HTTP {status}: {text}") };
    Err(StreamableHttpError::UnexpectedServerResponse(why.into()))
}
