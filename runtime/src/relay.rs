//! Between a client and the servers behind it, at the level of JSON-RPC messages: nothing is typed, so nothing is lost, rounded, or too new.
//!
//! One server is passed through line for line (`through`, and `straight` where nothing but pipes is in between), in whatever era of the protocol
//! the two sides speak. Several are one server to the client (`merged`): names are made by a [`Naming`], ids are rewritten both ways, and a server
//! that dies is that server's failure only. In both cases an [`Observer`] sees the calls where they leave for a server (`watch`), with the server's
//! own names. The client is the one that started this process, or each of those that come over HTTP (`listen`) has a relay of its own.

#[cfg(feature = "http")]
mod http;
mod link;
#[cfg(feature = "listen")]
mod listen;
mod merged;
mod message;
mod naming;
#[cfg(feature = "http")]
mod sse;
#[cfg(unix)]
mod straight;
mod through;
mod watch;

#[cfg(feature = "listen")]
pub use listen::{Begin, Begun, Farewell, listen};
pub use naming::{Gateway, Naming, Qualified, apart};
pub use watch::{Call, Observer, Outcome};

use crate::observe::Log;
use crate::pipes;
use crate::servers::Endpoint;
use smol_str::SmolStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a server may go on answering after the client closed its side.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// The client's side.
pub struct Client(Side);

enum Side {
    /// It started this process.
    Process,
    /// It came over HTTP.
    #[cfg(feature = "listen")]
    Lines(Lines),
}

/// Lines that come from a client, and lines for it.
type Lines = (mpsc::Receiver<pipes::Line>, mpsc::Sender<pipes::Written>);

impl Client {
    /// The client that started this process, over stdin and stdout; nothing else may use them.
    pub fn of_this_process() -> Client {
        Client(Side::Process)
    }

    fn lines(self) -> std::io::Result<Lines> {
        match self.0 {
            Side::Process => pipes::of_this_process(),
            #[cfg(feature = "listen")]
            Side::Lines(lines) => Ok(lines),
        }
    }
}

/// What stands between a client and its servers.
pub struct Relay {
    /// The servers, by the names that an observer knows them by.
    pub servers: Vec<(SmolStr, Endpoint)>,
    /// What tools and prompts are called where there are several servers.
    pub naming: Arc<dyn Naming>,
    /// Sees the calls.
    pub observer: Arc<dyn Observer>,
    /// Takes what servers say beside the protocol.
    pub log: Arc<dyn Log>,
}

/// How the relay came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client closed its side, or somebody asked for an end.
    Left,
    /// The only server is gone: its last words.
    ServerGone(String),
}

impl Relay {
    /// Relays until the client leaves, or `stop` is ready. All servers have ended when this has.
    ///
    /// # Errors
    /// Where the only server cannot be started, or there are no threads.
    pub async fn run(self, client: Client, stop: impl Future<Output = ()> + Send) -> std::io::Result<Ended> {
        match (self.servers.as_slice(), client) {
            #[cfg(unix)]
            ([(name, endpoint @ Endpoint::Stdio { .. })], Client(Side::Process)) => straight::run(name, endpoint, &self, stop).await,
            ([(name, endpoint)], client) => through::run(name, endpoint, &self, client.lines()?, stop).await,
            (_, client) => {
                merged::run(&self, client.lines()?, stop).await;
                Ok(Ended::Left)
            }
        }
    }
}
