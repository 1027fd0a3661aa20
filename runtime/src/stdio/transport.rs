//! The client that started us: one message a line on stdin and stdout.

use super::wire::Wire;
use crate::pipes::{self, LONGEST_MESSAGE, Line, Written};
use crate::upstream::wire::{Refused, id_of};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Stdin and stdout.
pub struct Pipes {
    lines: mpsc::Receiver<Line>,
    out: mpsc::Sender<Written>,
    wire: Arc<Wire>,
    ending: watch::Sender<bool>,
}

impl Pipes {
    /// Those of this process; `ending` becomes true when the client closes its side.
    pub fn of_this_process(ending: watch::Sender<bool>) -> std::io::Result<Pipes> {
        let (lines, out) = pipes::of_this_process()?;
        Ok(Pipes { lines, out, wire: Arc::default(), ending })
    }

    /// The message in a line, or what the client is told instead.
    fn message(&self, line: &Line) -> Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>> {
        let refused = |code: ErrorCode, refused: Refused| {
            Box::new(ServerJsonRpcMessage::error(ErrorData::new(code, crate::text::one_line(&refused.why), None), refused.id))
        };
        let Some(bytes) = line else {
            let why = format!("a message is longer than {LONGEST_MESSAGE} bytes");
            return Err(refused(ErrorCode::INVALID_REQUEST, Refused { id: None, why }));
        };
        let text = self.wire.incoming(bytes).map_err(|why| refused(ErrorCode::PARSE_ERROR, why))?;
        serde_json::from_str(&text)
            .map_err(|error| refused(ErrorCode::INVALID_REQUEST, Refused { id: id_of(bytes), why: error.to_string() }))
    }
}

impl Transport<RoleServer> for Pipes {
    type Error = std::io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let out = self.out.clone();
        let text = serde_json::to_string(&message).map(|text| self.wire.outgoing(text));
        async move { pipes::write(&out, text.map_err(std::io::Error::other)?.into_bytes()).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(line) = self.lines.recv().await else {
                self.ending.send_replace(true);
                return None;
            };
            match self.message(&line) {
                Ok(message) => return Some(message),
                // A client that is gone needs no answer.
                Err(refused) => drop(pipes::write(&self.out, serde_json::to_vec(&refused).unwrap_or_default()).await),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close();
        Ok(())
    }
}
