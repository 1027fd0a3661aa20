//! A server that is a child process: one message a line on its stdin and stdout, and whatever it likes on its stderr.

use super::child::{self, Child, Remains, Started};
use super::ears::Ears;
use super::lines::{Line, Lines};
use super::wire::{self, Refused};
use crate::observe::Log;
use crate::servers::Endpoint;
use crate::text;
use ltc_workflow::{Value, json};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};

/// The longest message that is read.
pub(crate) const LONGEST_MESSAGE: usize = 256 * 1024 * 1024;
/// The transport to a child process.
pub struct ChildTransport {
    child: Child,
    output: Lines<ChildStdout>,
    input: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    /// Requests whose answer is still to come: where an answer cannot be read, they are told.
    waiting: Arc<Mutex<BTreeSet<String>>>,
    server: String,
    log: Arc<dyn Log>,
    ears: Arc<Ears>,
}

/// Starts the server; what it leaves behind is told through the second value.
///
/// # Errors
/// Where the program cannot be started.
pub fn start(
    server: &str,
    endpoint: &Endpoint,
    log: Arc<dyn Log>,
    ears: Arc<Ears>,
) -> std::io::Result<(ChildTransport, Arc<Mutex<Remains>>)> {
    let Started { child, input, output } = child::start(server, endpoint, log.clone())?;
    let remains = child.remains();
    let transport = ChildTransport {
        child,
        output: Lines::new(output, LONGEST_MESSAGE),
        input: Arc::new(tokio::sync::Mutex::new(Some(input))),
        waiting: Arc::default(),
        server: server.to_owned(),
        log,
        ears,
    };
    Ok((transport, remains))
}

impl ChildTransport {
    /// The message in a line, or what the library is told instead; nothing where the line is no message at all.
    fn message(&self, line: &Line) -> Option<ServerJsonRpcMessage> {
        let refused = match line {
            Line::Whole(bytes) => match self.read(bytes) {
                Ok(message) => {
                    if self.ears.hear(&message) {
                        return None;
                    }
                    self.answered(&message);
                    return Some(message);
                }
                Err(refused) => refused,
            },
            Line::TooLong(_) => Refused { id: None, why: format!("a message is longer than {LONGEST_MESSAGE} bytes") },
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let only = (waiting.len() == 1).then(|| waiting.iter().next().cloned()).flatten();
        let looks_like_a_message = line.bytes().trim_ascii_start().starts_with(b"{");
        let id = refused.id.as_ref().map(key).or(only.filter(|_| looks_like_a_message));
        let Some(id) = id.filter(|id| waiting.remove(id)) else {
            drop(waiting);
            let shown = text::one_line(&String::from_utf8_lossy(&line.bytes()[..line.bytes().len().min(200)]));
            self.log.server_said(&self.server, &self.log.redact(&format!("(on stdout, no message) {shown}")));
            return None;
        };
        let why = format!("the server's answer cannot be read: {}", refused.why);
        let id = serde_json::from_str::<RequestId>(&id).ok();
        Some(ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::PARSE_ERROR, why, None), id))
    }

    fn read(&self, line: &[u8]) -> Result<ServerJsonRpcMessage, Refused> {
        let is_waited_for = |id: &Value| self.waiting.lock().unwrap_or_else(PoisonError::into_inner).contains(&json::to_string(id));
        let text = wire::incoming(line, &|id, result| is_waited_for(id).then(|| self.ears.shelf.put(result.clone())))?;
        serde_json::from_str(&text).map_err(|error| Refused { id: wire::id_of(line), why: error.to_string() })
    }

    fn answered(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = id {
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&key(id));
        }
    }
}

/// An id as a key: its JSON.
fn key(id: &RequestId) -> String {
    serde_json::to_string(id).unwrap_or_default()
}

impl Transport<RoleClient> for ChildTransport {
    type Error = std::io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let input = self.input.clone();
        let waiting = self.waiting.clone();
        let text = wire::outgoing(&message).map_err(std::io::Error::other);
        async move {
            let mut line = text?;
            line.push('\n');
            if let JsonRpcMessage::Request(request) = &message {
                waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(key(&request.id));
            }
            let mut input = input.lock().await;
            let Some(input) = input.as_mut() else {
                return Err(std::io::Error::new(std::io::ErrorKind::NotConnected, "the connection is closed"));
            };
            match input.write_all(line.as_bytes()).await {
                // The server is gone: whoever reads its output learns so, with its last words.
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
                Err(error) => Err(error),
                Ok(()) => input.flush().await,
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let Some(line) = self.output.next().await else {
                self.child.bury().await;
                return None;
            };
            if line.bytes().trim_ascii().is_empty() {
                continue;
            }
            if let Some(message) = self.message(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.input.lock().await.take();
        self.child.end().await
    }
}
