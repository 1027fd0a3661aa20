//! A server that is a child process: one message a line on its stdin and stdout, and whatever it likes on its stderr.
//!
//! The child leads a process group of its own, so that a server started by a launcher ends with it, and a Ctrl-C in the terminal reaches us
//! alone: we end the servers after the calls. When we are killed, the child's stdin closes.

use super::wire::{self, Refused};
use crate::observe::Log;
use crate::servers::Endpoint;
use crate::text;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::{BTreeSet, VecDeque};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

/// The longest message that is read.
const LONGEST_MESSAGE: usize = 256 * 1024 * 1024;
/// The longest line of stderr that is kept whole.
const LONGEST_LINE: usize = 8 * 1024;
/// How many lines of stderr are told when the server dies.
const LAST_LINES: usize = 10;
/// How long a server may take to end after its stdin closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long we wait for the last words of a server that died.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What is known about a child when it is gone.
#[derive(Debug, Default)]
pub struct Remains {
    status: Option<ExitStatus>,
    lines: VecDeque<String>,
}

impl Remains {
    /// One sentence about the end, and the last lines of stderr.
    pub fn describe(&self) -> String {
        let mut text = match self.status {
            Some(status) => format!("the server ended ({status})"),
            None => "the server closed its output".to_owned(),
        };
        if !self.lines.is_empty() {
            text.push_str("; its last words:");
            for line in &self.lines {
                text.push_str("\n  ");
                text.push_str(line);
            }
        }
        text
    }
}

/// The transport to a child process.
pub struct ChildTransport {
    child: Box<dyn ChildWrapper>,
    output: Lines<ChildStdout>,
    input: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    /// Requests whose answer is still to come: where an answer cannot be read, they are told.
    waiting: Arc<Mutex<BTreeSet<String>>>,
    stderr: Option<JoinHandle<()>>,
    remains: Arc<Mutex<Remains>>,
    server: String,
    log: Arc<dyn Log>,
    has_ended: bool,
}

impl Drop for ChildTransport {
    /// A connection that is dropped without being closed (a run that is interrupted) takes the whole group with it.
    fn drop(&mut self) {
        if !self.has_ended {
            // It may have ended by itself.
            let _ = self.child.start_kill();
        }
    }
}

/// Starts the server; what it leaves behind is told through the second value.
///
/// # Errors
/// Where the program cannot be started.
pub fn start(server: &str, endpoint: &Endpoint, log: Arc<dyn Log>) -> std::io::Result<(ChildTransport, Arc<Mutex<Remains>>)> {
    let Endpoint::Stdio { command, args, env, cwd, hidden } = endpoint else {
        return Err(std::io::Error::other("this server is no child process"));
    };
    let mut wrap = CommandWrap::with_new(command, |child| {
        for name in hidden {
            child.env_remove(name);
        }
        child.args(args).envs(env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = cwd {
            child.current_dir(cwd);
        }
    });
    wrap.wrap(KillOnDrop);
    #[cfg(unix)]
    wrap.wrap(ProcessGroup::leader());
    let mut child = wrap.spawn()?;
    let closed = || std::io::Error::other("the server has no stdin, stdout or stderr");
    let input = child.stdin().take().ok_or_else(closed)?;
    let output = child.stdout().take().ok_or_else(closed)?;
    let errors = child.stderr().take().ok_or_else(closed)?;
    let remains = Arc::new(Mutex::new(Remains::default()));
    let stderr = tokio::spawn(follow(Lines::new(errors, LONGEST_LINE), server.to_owned(), log.clone(), remains.clone()));
    let transport = ChildTransport {
        child,
        output: Lines::new(output, LONGEST_MESSAGE),
        input: Arc::new(tokio::sync::Mutex::new(Some(input))),
        waiting: Arc::default(),
        stderr: Some(stderr),
        remains: remains.clone(),
        server: server.to_owned(),
        log,
        has_ended: false,
    };
    Ok((transport, remains))
}

async fn follow<R: AsyncRead + Unpin>(mut lines: Lines<R>, server: String, log: Arc<dyn Log>, remains: Arc<Mutex<Remains>>) {
    while let Some(line) = lines.next().await {
        // Secrets first: in a line that is cut short, or cleaned, half of one would not be found.
        let line = text::one_line(&log.redact(&String::from_utf8_lossy(line.bytes())));
        if line.is_empty() {
            continue;
        }
        {
            let mut remains = remains.lock().unwrap_or_else(PoisonError::into_inner);
            if remains.lines.len() == LAST_LINES {
                remains.lines.pop_front();
            }
            remains.lines.push_back(line.clone());
        }
        log.server_said(&server, &line);
    }
}

impl ChildTransport {
    /// The message in a line, or what the library is told instead; nothing where the line is no message at all.
    fn message(&self, line: &Line) -> Option<ServerJsonRpcMessage> {
        let refused = match line {
            Line::Whole(bytes) => match read(bytes) {
                Ok(message) => {
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

    /// Waits for the end of a child that closed its stdout, and for its last words.
    async fn bury(&mut self) {
        let status = tokio::time::timeout(LAST_WORDS, self.child.wait()).await;
        if let Some(stderr) = self.stderr.take() {
            let mut stderr = stderr;
            if tokio::time::timeout(LAST_WORDS, &mut stderr).await.is_err() {
                stderr.abort();
            }
        }
        if let Ok(Ok(status)) = status {
            self.remains.lock().unwrap_or_else(PoisonError::into_inner).status = Some(status);
        }
    }
}

/// An id as a key: its JSON.
fn key(id: &RequestId) -> String {
    serde_json::to_string(id).unwrap_or_default()
}

fn read(line: &[u8]) -> Result<ServerJsonRpcMessage, Refused> {
    let text = wire::incoming(line)?;
    serde_json::from_str(&text).map_err(|error| Refused { id: wire::id_of(line), why: error.to_string() })
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
                self.bury().await;
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
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            #[cfg(unix)]
            let asked = self.child.signal(SIGTERM).is_ok();
            #[cfg(not(unix))]
            let asked = false;
            if !asked || tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
                Box::into_pin(self.child.kill()).await?;
            }
        }
        self.has_ended = true;
        Ok(())
    }
}

/// The number that POSIX gives it.
#[cfg(unix)]
const SIGTERM: i32 = 15;

/// A line of bytes, without its end.
enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// The beginning of a line that is longer than allowed.
    TooLong(Vec<u8>),
}

impl Line {
    fn bytes(&self) -> &[u8] {
        match self {
            Line::Whole(bytes) | Line::TooLong(bytes) => bytes,
        }
    }
}

/// Lines of bounded length. `next` may be dropped at any time without losing a byte.
struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    longest: usize,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(read: R, longest: usize) -> Lines<R> {
        Lines { read: BufReader::with_capacity(64 * 1024, read), line: Vec::new(), longest, is_too_long: false }
    }

    async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.read.fill_buf().await.ok()?;
            if available.is_empty() {
                return if self.line.is_empty() { None } else { Some(self.take()) };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let text = &available[..end.unwrap_or(available.len())];
            let room = self.longest.saturating_sub(self.line.len());
            self.is_too_long |= text.len() > room;
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            self.read.consume(taken);
            if end.is_some() {
                return Some(self.take());
            }
        }
    }

    fn take(&mut self) -> Line {
        let bytes = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) { Line::TooLong(bytes) } else { Line::Whole(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_the_next_one_is_whole() {
        let mut lines = Lines::new(&b"abc\n\nabcdef\nxy"[..], 3);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await {
            let is_whole = matches!(line, Line::Whole(_));
            seen.push((String::from_utf8_lossy(line.bytes()).into_owned(), is_whole));
        }
        let expected = [("abc", true), ("", true), ("abc", false), ("xy", true)].map(|(text, is_whole)| (text.to_owned(), is_whole));
        assert_eq!(seen, expected);
    }
}
