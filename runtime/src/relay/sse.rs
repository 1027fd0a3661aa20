//! A server of the old SSE transport, spoken to as if it were a pipe: messages go out as POST requests in their order, and come as events.

use super::http::{AT_ONCE, WAITING, given_headers, pass};
use super::message::{self, Kind, kind};
use crate::text;
use crate::upstream::sse::{Post, Way};
use ltc_workflow::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// How long the server may take to say where messages go.
const LONGEST_OPENING: Duration = Duration::from_secs(60);

/// Why the server is gone.
#[derive(Clone, Default)]
pub struct LastWords(Arc<Mutex<String>>);

impl LastWords {
    pub fn tell(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where messages for the server go, and where those from it come from.
type Both = (mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>);

/// A way to `url`, the messages that come from there, and why they end.
///
/// # Errors
/// Where a header is none.
pub fn open(url: &str, given: &BTreeMap<String, String>) -> Result<(Both, LastWords), String> {
    let headers = given_headers(given)?;
    let (lines, to_send) = mpsc::channel(WAITING);
    let (messages, received) = mpsc::channel(WAITING);
    let words = LastWords::default();
    let (url, told) = (url.to_owned(), words.clone());
    tokio::spawn(async move {
        let why = match tokio::time::timeout(LONGEST_OPENING, Way::open(&url, headers)).await {
            Ok(Ok(way)) => speak(way, to_send, messages.clone()).await,
            Ok(Err(why)) => text::one_line(&why),
            Err(_) => format!("there was no stream of events within {} s", LONGEST_OPENING.as_secs()),
        };
        *told.0.lock().unwrap_or_else(PoisonError::into_inner) = why;
        // Whoever reads to the end asks for the words then.
        drop(messages);
    });
    Ok(((lines, received), words))
}

/// Speaks until one side ends, and says why. A client that leaves gets the answers that are still due.
async fn speak(mut way: Way, mut lines: mpsc::Receiver<Vec<u8>>, messages: mpsc::Sender<Vec<u8>>) -> String {
    let post = way.post();
    let to_client = messages.clone();
    let due = watch::channel(0_usize).0;
    let sending = async {
        // What is under way ends with everything else.
        let mut under_way = JoinSet::new();
        while let Some(line) = lines.recv().await {
            let parsed = json::parse(&line).unwrap_or_default();
            let id = match kind(&parsed) {
                Kind::Request(id, _) => Some(id.clone()),
                Kind::Notification(_) | Kind::Answer(_) | Kind::Other => None,
            };
            let is_handshake = parsed.get("method").and_then(Value::as_str) == Some("initialize");
            let is_request = id.is_some();
            let sent = send(post.clone(), line, id, to_client.clone());
            if !is_request || is_handshake {
                sent.await;
                continue;
            }
            due.send_modify(|due| *due += 1);
            while under_way.try_join_next().is_some() {}
            // Where so many are under way, one has to end first.
            if under_way.len() >= AT_ONCE {
                under_way.join_next().await;
            }
            under_way.spawn(sent);
        }
        let mut is_due = due.subscribe();
        tokio::select! {
            // The sender is there for as long as this is.
            _ = is_due.wait_for(|due| *due == 0) => {}
            () = to_client.closed() => {}
        }
    };
    let receiving = async {
        while let Some(data) = way.next().await {
            let is_answer = json::parse(data.as_bytes()).is_ok_and(|message| matches!(kind(&message), Kind::Answer(_)));
            if !data.trim().is_empty() && pass(&messages, data.into_bytes()).await.is_err() {
                return;
            }
            if is_answer {
                due.send_modify(|due| *due = due.saturating_sub(1));
            }
        }
    };
    tokio::select! {
        () = sending => "the connection is closed".to_owned(),
        () = receiving => "the server ended the stream of events".to_owned(),
    }
}

/// Sends a message; that it cannot be sent is the answer of a request.
async fn send(post: Post, line: Vec<u8>, id: Option<Value>, messages: mpsc::Sender<Vec<u8>>) {
    if let (Err(why), Some(id)) = (post.send(line).await, id) {
        // The client may be gone.
        let _ = messages.send(message::line(&message::error(&id, -32000, &text::one_line(&why)))).await;
    }
}
