//! The client that started us: one message a line on stdin and stdout.
//!
//! Both are read and written by threads of their own: a read of stdin cannot be called off, and would keep the process from ending.

use super::wire::Wire;
use crate::upstream::wire::{Refused, id_of};
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::io::{BufRead, Write};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// The longest message that is read.
const LONGEST_MESSAGE: usize = 64 * 1024 * 1024;

/// How many messages may wait on their way in or out.
const WAITING: usize = 64;

/// A line of stdin; nothing where it was longer than it may be.
type Line = Option<Vec<u8>>;

/// A line for stdout, and who wants to know that it is written.
type Written = (String, oneshot::Sender<std::io::Result<()>>);

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
        let (read, lines) = mpsc::channel(WAITING);
        let (out, written) = mpsc::channel(WAITING);
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || read_lines(&mut std::io::stdin().lock(), LONGEST_MESSAGE, &read))?;
        std::thread::Builder::new().name("stdout".to_owned()).spawn(move || write_lines(written))?;
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

fn read_lines(input: &mut impl BufRead, longest: usize, lines: &mpsc::Sender<Line>) {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let Ok(available) = input.fill_buf() else { return };
        let end = available.iter().position(|byte| *byte == b'\n');
        let text = &available[..end.unwrap_or(available.len())];
        is_too_long |= text.len() > longest.saturating_sub(line.len());
        if !is_too_long {
            line.extend_from_slice(text);
        }
        let is_last = available.is_empty();
        let taken = end.map_or(available.len(), |end| end + 1);
        input.consume(taken);
        if end.is_some() || is_last {
            let whole = std::mem::take(&mut line);
            let given = if std::mem::take(&mut is_too_long) { None } else { Some(whole) };
            let is_empty = given.as_ref().is_some_and(|line| line.trim_ascii().is_empty());
            if !is_empty && lines.blocking_send(given).is_err() || is_last {
                return;
            }
        }
    }
}

fn write_lines(mut written: mpsc::Receiver<Written>) {
    let mut out = std::io::stdout().lock();
    while let Some((mut line, done)) = written.blocking_recv() {
        line.push('\n');
        let result = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        // Whoever sent it may be gone.
        let _ = done.send(result);
    }
}

async fn write(out: mpsc::Sender<Written>, text: String) -> std::io::Result<()> {
    let closed = || std::io::Error::new(std::io::ErrorKind::BrokenPipe, "stdout is closed");
    let (done, is_done) = oneshot::channel();
    out.send((text, done)).await.map_err(|_| closed())?;
    is_done.await.map_err(|_| closed())?
}

impl Transport<RoleServer> for Pipes {
    type Error = std::io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let out = self.out.clone();
        let text = serde_json::to_string(&message).map(|text| self.wire.outgoing(text));
        async move { write(out, text.map_err(std::io::Error::other)?).await }
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
                Err(refused) => drop(write(self.out.clone(), serde_json::to_string(&refused).unwrap_or_default()).await),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_next_one_is_whole() {
        let (read, mut lines) = mpsc::channel(16);
        read_lines(&mut &b"abc\n\n  \nabcdef\nxy\r\nz"[..], 3, &read);
        drop(read);
        let mut seen = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            seen.push(line.map(|line| String::from_utf8_lossy(&line).into_owned()));
        }
        assert_eq!(seen, [Some("abc".to_owned()), None, Some("xy\r".to_owned()), Some("z".to_owned())]);
    }
}
