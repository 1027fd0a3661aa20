//! Clients that come over streamable HTTP: a relay for each, at `/mcp`.
//!
//! In the older era of the protocol `initialize` begins a session, and its name is a header of all that follows. The newer era has none: clients that
//! come to the same place (`/mcp`, or any name behind it) and call themselves the same are one, until one of them looks around (`server/discover`)
//! after work was done. Who may come is what `serve` says.

mod heard;
mod replies;
mod session;
mod sessions;

use super::message::{Kind, at, kind, line};
use crate::problem::Problem;
use crate::serve::{self, Allowed, LONGEST_ARRIVAL, Listen};
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{ACCEPT, ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ltc_workflow::{Value, json};
use replies::{EVENTS, JSON, answered, no_session, over, refused, shown};
use session::{Refused, Said, Session};
pub use sessions::{Begin, Begun, Farewell};
use sessions::{Key, Sessions};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long connections may take to close when everything ends.
const LAST_CONNECTIONS: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The first version of the newer era.
const NEWER: &str = "2026-07-28";
/// Where a request of the newer era says its version, and who sends it.
const OWN_VERSION: [&str; 3] = ["params", "_meta", "io.modelcontextprotocol/protocolVersion"];
const OWN_NAME: [&str; 3] = ["params", "_meta", "io.modelcontextprotocol/clientInfo"];

const INVALID_REQUEST: i64 = -32600;
const PARSE_ERROR: i64 = -32700;
const HEADER_MISMATCH: i64 = -32020;

/// Listens, and gives the address and what serves there until `end` resolves; every client gets a relay that `begin` makes.
///
/// # Errors
/// `token-required` where others could reach the address, and `cannot-listen`.
pub async fn listen(
    listen: Listen,
    begin: Begin,
    end: impl Future<Output = ()>,
) -> Result<(SocketAddr, impl Future<Output = ()>), Problem> {
    let (listener, address, allowed) = serve::bind(&listen).await?;
    let sessions = Sessions::new(begin);
    let place = Place { sessions: sessions.clone(), largest_body: listen.largest_body };
    let methods = || get(events).post(post).delete(delete);
    let router = Router::new()
        .route("/mcp", methods())
        .route("/mcp/{place}", methods())
        .with_state(place)
        .layer(from_fn_with_state(allowed, guarded))
        .route("/healthz", get(async || "ok\n"));
    let serving = async move {
        let (ending, mut is_ending) = watch::channel(false);
        let serving = axum::serve(listener, router).with_graceful_shutdown(async move {
            // Without a sender everything is at its end.
            let _ = is_ending.wait_for(|is_ending| *is_ending).await;
        });
        let ended = async {
            end.await;
            sessions.end().await;
            ending.send_replace(true);
            tokio::time::sleep(LAST_CONNECTIONS).await;
        };
        tokio::select! {
            _ = serving => {}
            () = ended => {}
            never = sessions.forget_silent() => match never {},
        }
    };
    Ok((address, serving))
}

#[derive(Clone)]
struct Place {
    sessions: Arc<Sessions>,
    largest_body: usize,
}

async fn guarded(State(allowed): State<Allowed>, request: Request, next: Next) -> Response {
    match allowed.refuses(request.headers()) {
        Some((StatusCode::UNAUTHORIZED, why)) => {
            (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], format!("{why}\n")).into_response()
        }
        Some((status, why)) => (status, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn is_newer(version: Option<&str>) -> bool {
    version.is_some_and(|version| version >= NEWER)
}

/// The name behind `/mcp/`, if there is one.
type Named = Option<Path<String>>;

async fn post(State(place): State<Place>, named: Named, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers;
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !media.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON) {
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "a message is application/json\n").into_response();
    }
    let bytes = match tokio::time::timeout(LONGEST_ARRIVAL, serve::arrived(body, place.largest_body)).await {
        Ok(Ok(Some(bytes))) => bytes,
        Ok(Ok(None)) => {
            let why = format!("a message has at most {} bytes\n", place.largest_body);
            return (StatusCode::PAYLOAD_TOO_LARGE, why).into_response();
        }
        Ok(Err(_)) => return (StatusCode::BAD_REQUEST, "the message did not arrive\n").into_response(),
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "the message took too long\n").into_response(),
    };
    let parsed = match json::parse(&bytes) {
        Ok(parsed) => parsed,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &Value::Null, PARSE_ERROR, &error.to_string()),
    };
    // One message is one line, however the client laid it out.
    let bytes = if bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')) { line(&parsed) } else { bytes };
    match kind(&parsed) {
        Kind::Other if parsed.as_array().is_some() => {
            refused(StatusCode::BAD_REQUEST, &Value::Null, INVALID_REQUEST, "one message is sent at a time")
        }
        Kind::Other => refused(StatusCode::BAD_REQUEST, &Value::Null, INVALID_REQUEST, "this is no message"),
        Kind::Request(id, "initialize") if !headers.contains_key(SESSION) => match place.sessions.begin() {
            Ok((name, session)) => greeted(session, &name, id, &parsed, bytes).await,
            Err(why) => no_session(id, why),
        },
        Kind::Request(id, method) => match found(&place, named, &headers, &parsed) {
            Ok(session) => match session.ask(id, method, &parsed, bytes).await {
                Ok(waiting) => answered(waiting).await,
                Err(Refused::SameId) => refused(StatusCode::OK, id, INVALID_REQUEST, "a request of this id is under way"),
                Err(Refused::Over) => over(),
            },
            Err(refused) => *refused,
        },
        Kind::Notification(_) | Kind::Answer(_) => match found(&place, named, &headers, &parsed) {
            Ok(session) => match session.tell(&parsed, bytes).await {
                Ok(()) => StatusCode::ACCEPTED.into_response(),
                Err(Refused::Over | Refused::SameId) => over(),
            },
            Err(refused) => *refused,
        },
    }
}

/// Whose message this is.
fn found(place: &Place, named: Named, headers: &HeaderMap, message: &Value) -> Result<Arc<Session>, Box<Response>> {
    if let Some(name) = headers.get(SESSION) {
        return name.to_str().ok().and_then(|name| place.sessions.given(name)).ok_or_else(|| Box::new(over()));
    }
    let id = message.get("id").cloned().unwrap_or_default();
    let wrong = |code, why| Err(Box::new(refused(StatusCode::BAD_REQUEST, &id, code, why)));
    let (said, own) = (header(headers, &VERSION), at(message, &OWN_VERSION).and_then(Value::as_str));
    if !is_newer(own.or(said)) {
        let why = "the header Mcp-Session-Id is missing: a session begins with initialize";
        return wrong(INVALID_REQUEST, why);
    }
    // Whoever decides by the headers decides what is done.
    let method = message.get("method").and_then(Value::as_str);
    let differs = |said: Option<&str>, own: Option<&str>| said.zip(own).is_some_and(|(said, own)| said != own);
    if differs(said, own) || differs(header(headers, &METHOD), method) {
        return wrong(HEADER_MISMATCH, "the headers say something else than the message");
    }
    if matches!(kind(message), Kind::Answer(_)) {
        return wrong(INVALID_REQUEST, "nothing was asked");
    }
    let named = named.map(|Path(named)| named).unwrap_or_default();
    let client = at(message, &OWN_NAME).map(json::to_string).unwrap_or_default();
    place.sessions.same(&named, &client, method == Some("server/discover")).map_err(|why| Box::new(no_session(&id, why)))
}

/// The answer to a handshake, with the name of the session.
async fn greeted(session: Arc<Session>, name: &str, id: &Value, request: &Value, bytes: Vec<u8>) -> Response {
    // A client that goes before it knows the name never comes again.
    let mut unnamed = Unnamed(Some(session.clone()));
    let mut waiting = match session.ask(id, "initialize", request, bytes).await {
        Ok(waiting) => waiting,
        Err(Refused::SameId | Refused::Over) => return over(),
    };
    let first = waiting.next().await;
    let is_refused = matches!(&first, None | Some(Said::Answer { is_error: true, .. }));
    let mut response = shown(first, waiting);
    if !is_refused && let Ok(name) = HeaderValue::from_str(name) {
        unnamed.0 = None;
        response.headers_mut().insert(SESSION, name);
    }
    response
}

/// A session whose name no client knows; it ends with this.
struct Unnamed(Option<Arc<Session>>);

impl Drop for Unnamed {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.stop();
        }
    }
}

/// The session of a request that is no message.
fn of_session(place: &Place, headers: &HeaderMap) -> Result<(String, Arc<Session>), Box<Response>> {
    let Some(name) = header(headers, &SESSION) else {
        if is_newer(header(headers, &VERSION)) {
            return Err(Box::new((StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")]).into_response()));
        }
        return Err(Box::new((StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing\n").into_response()));
    };
    place.sessions.given(name).map(|session| (name.to_owned(), session)).ok_or_else(|| Box::new(over()))
}

async fn events(State(place): State<Place>, headers: HeaderMap) -> Response {
    let accepts = header(&headers, &ACCEPT).unwrap_or_default();
    if !accepts.contains(EVENTS) && !accepts.contains("*/*") {
        return (StatusCode::NOT_ACCEPTABLE, "events are text/event-stream\n").into_response();
    }
    match of_session(&place, &headers).map(|(_, session)| session.events()) {
        Ok(Ok(events)) => replies::unasked(events),
        Ok(Err(Refused::Over | Refused::SameId)) => over(),
        Err(refused) => *refused,
    }
}

/// The client has done its work.
async fn delete(State(place): State<Place>, headers: HeaderMap) -> Response {
    match of_session(&place, &headers) {
        Ok((name, session)) => {
            place.sessions.forget(&Key::Given(name), &session);
            session.stop();
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refused) => *refused,
    }
}
