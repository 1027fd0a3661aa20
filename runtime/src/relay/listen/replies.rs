//! What is answered over HTTP: messages as JSON or as events, and refusals.

use super::super::message::{self, line};
use super::session::{Said, Waiting};
use super::sessions::NoSession;
use crate::text;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt};
use ltc_workflow::Value;
use std::time::Duration;
use tokio::sync::mpsc;

/// So long a client waits for the first word before it is told that somebody works on its request.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a stream says that it is still there.
const ALIVE: Duration = Duration::from_secs(15);

pub const JSON: &str = "application/json";
pub const EVENTS: &str = "text/event-stream";

const NO_SERVER: i64 = -32000;

/// A refusal as a message, so that a client can show it.
pub fn refused(status: StatusCode, id: &Value, code: i64, why: &str) -> Response {
    (status, [(CONTENT_TYPE, JSON)], line(&message::error(id, code, &text::one_line(why)))).into_response()
}

/// There was one, perhaps: the client begins a new one.
pub fn over() -> Response {
    (StatusCode::NOT_FOUND, "there is no such session\n").into_response()
}

/// Why there is none.
pub fn no_session(id: &Value, why: NoSession) -> Response {
    match why {
        NoSession::Full => refused(StatusCode::SERVICE_UNAVAILABLE, id, NO_SERVER, "there are too many sessions"),
        NoSession::Ending => refused(StatusCode::SERVICE_UNAVAILABLE, id, NO_SERVER, "this server ends"),
        NoSession::Failed(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, id, NO_SERVER, &error.to_string()),
    }
}

/// An answer that is the first word is JSON; else everything comes as events.
pub async fn answered(mut waiting: Waiting) -> Response {
    match tokio::time::timeout(PATIENCE, waiting.next()).await {
        Ok(first) => shown(first, waiting),
        Err(_) => streamed(None, waiting),
    }
}

pub fn shown(first: Option<Said>, waiting: Waiting) -> Response {
    match first {
        Some(Said::Answer { bytes, status, is_error: _ }) => (status, [(CONTENT_TYPE, JSON)], bytes).into_response(),
        Some(before @ Said::Before(_)) => streamed(Some(before), waiting),
        None => (StatusCode::BAD_GATEWAY, "the session ended without an answer\n").into_response(),
    }
}

fn event(bytes: &[u8]) -> Bytes {
    [b"event: message\ndata: ", bytes, b"\n\n"].concat().into()
}

fn streamed(first: Option<Said>, waiting: Waiting) -> Response {
    let events = stream::unfold((first, Some(waiting)), async |(first, waiting)| {
        let mut waiting = waiting?;
        let said = match first {
            Some(said) => Ok(Some(said)),
            None => tokio::time::timeout(ALIVE, waiting.next()).await,
        };
        match said {
            Ok(Some(Said::Before(bytes))) => Some((event(&bytes), (None, Some(waiting)))),
            Ok(Some(Said::Answer { bytes, .. })) => Some((event(&bytes), (None, None))),
            Ok(None) => None,
            Err(_) => Some((Bytes::from_static(b":\n\n"), (None, Some(waiting)))),
        }
    });
    as_events(events)
}

fn as_events(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let body = Body::from_stream(events.map(Ok::<Bytes, std::convert::Infallible>));
    ([(CONTENT_TYPE, EVENTS), (CACHE_CONTROL, "no-cache")], body).into_response()
}

/// What the server says without being asked. The first comment tells the client that it is heard.
pub fn unasked(events: mpsc::Receiver<Vec<u8>>) -> Response {
    as_events(stream::unfold((true, events), async |(is_first, mut events): (bool, mpsc::Receiver<Vec<u8>>)| {
        if is_first {
            return Some((Bytes::from_static(b":\n\n"), (false, events)));
        }
        match tokio::time::timeout(ALIVE, events.recv()).await {
            Ok(Some(bytes)) => Some((event(&bytes), (false, events))),
            Ok(None) => None,
            Err(_) => Some((Bytes::from_static(b":\n\n"), (false, events))),
        }
    }))
}
