//! A connection to a server at the level of lines: a child process, or a URL that is spoken to as if it were one.

#[cfg(feature = "http")]
use super::http::{self, HttpLink};
#[cfg(feature = "http")]
use super::sse::{self, LastWords};
use crate::observe::Log;
use crate::servers::Endpoint;
use crate::text;
use crate::upstream::child::{self, Child, Started};
use crate::upstream::lines::{Line, Lines};
use crate::upstream::stdio::LONGEST_MESSAGE;
use std::sync::{Arc, PoisonError};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};

/// Both directions, and what ends them.
pub struct Link {
    pub sender: Sender,
    pub receiver: Receiver,
    pub ending: Ending,
}

/// Takes messages for the server; when it is dropped, the server learns that no more come.
pub enum Sender {
    Child(ChildStdin),
    #[cfg(feature = "http")]
    Http(HttpLink),
    #[cfg(feature = "http")]
    Sse(tokio::sync::mpsc::Sender<Vec<u8>>),
}

/// Gives the messages of the server.
pub enum Receiver {
    Child {
        lines: Lines<ChildStdout>,
        server: String,
        log: Arc<dyn Log>,
    },
    #[cfg(feature = "http")]
    Http(tokio::sync::mpsc::Receiver<Vec<u8>>),
}

/// What is left of a connection when nothing is sent any more.
pub enum Ending {
    Child(Child),
    #[cfg(feature = "http")]
    Http(http::Closing),
    #[cfg(feature = "http")]
    Sse(LastWords),
}

/// Opens a connection; nothing has been said yet.
///
/// # Errors
/// Where the program cannot be started, or the URL not be reached in this way.
pub fn open(server: &str, endpoint: &Endpoint, log: &Arc<dyn Log>) -> std::io::Result<Link> {
    match endpoint {
        Endpoint::Stdio { .. } => {
            let Started { child, input, output } = child::start(server, endpoint, log.clone())?;
            let receiver = Receiver::Child { lines: Lines::new(output, LONGEST_MESSAGE), server: server.to_owned(), log: log.clone() };
            Ok(Link { sender: Sender::Child(input), receiver, ending: Ending::Child(child) })
        }
        #[cfg(not(feature = "http"))]
        Endpoint::Http { .. } => Err(std::io::Error::other("this program was built without HTTP (the feature `http` of ltc-runtime)")),
        #[cfg(feature = "http")]
        Endpoint::Http { url, headers, sse: true } => {
            let ((lines, messages), words) = sse::open(url, headers).map_err(std::io::Error::other)?;
            Ok(Link { sender: Sender::Sse(lines), receiver: Receiver::Http(messages), ending: Ending::Sse(words) })
        }
        #[cfg(feature = "http")]
        Endpoint::Http { url, headers, sse: false } => {
            let (link, messages, closing) = http::open(url, headers).map_err(std::io::Error::other)?;
            Ok(Link { sender: Sender::Http(link), receiver: Receiver::Http(messages), ending: Ending::Http(closing) })
        }
    }
}

impl Sender {
    /// Whether one [`Sender::send`] may hold several lines.
    pub fn takes_several(&self) -> bool {
        match self {
            Sender::Child(_) => true,
            #[cfg(feature = "http")]
            Sender::Http(_) | Sender::Sse(_) => false,
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Where the server is gone; whoever reads its messages learns so too.
    pub async fn send(&mut self, mut line: Vec<u8>) -> std::io::Result<()> {
        match self {
            Sender::Child(input) => {
                line.push(b'\n');
                input.write_all(&line).await?;
                input.flush().await
            }
            #[cfg(feature = "http")]
            Sender::Http(link) => {
                link.send(line).await;
                Ok(())
            }
            #[cfg(feature = "http")]
            Sender::Sse(lines) => lines.send(line).await.map_err(|_| std::io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Receiver {
    /// The next message; nothing when the server is gone.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        match self {
            Receiver::Child { lines, server, log } => loop {
                match lines.next().await? {
                    Line::Whole(bytes) if bytes.trim_ascii().is_empty() => {}
                    Line::Whole(bytes) => return Some(bytes),
                    Line::TooLong(_) => {
                        log.server_said(server, &format!("(on stdout, left out) a message is longer than {LONGEST_MESSAGE} bytes"));
                    }
                }
            },
            #[cfg(feature = "http")]
            Receiver::Http(messages) => messages.recv().await,
        }
    }
}

impl Ending {
    /// Waits for the last words of a server that is gone, and tells them.
    pub async fn bury(&mut self) -> String {
        match self {
            Ending::Child(child) => {
                child.bury().await;
                child.remains().lock().unwrap_or_else(PoisonError::into_inner).describe()
            }
            #[cfg(feature = "http")]
            Ending::Http(_) => "the connection is closed".to_owned(),
            #[cfg(feature = "http")]
            Ending::Sse(words) => words.tell(),
        }
    }

    /// Ends it; the sender is gone already.
    pub async fn end(&mut self, server: &str, log: &Arc<dyn Log>) {
        let ended = match self {
            Ending::Child(child) => child.end().await,
            #[cfg(feature = "http")]
            Ending::Http(closing) => {
                closing.close().await;
                Ok(())
            }
            #[cfg(feature = "http")]
            Ending::Sse(_) => Ok(()),
        };
        if let Err(error) = ended {
            log.server_said(server, &text::one_line(&format!("(it cannot be ended) {error}")));
        }
    }
}
