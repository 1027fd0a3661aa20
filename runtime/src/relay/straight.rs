//! One server that is a child of this process, for the client that started it: two threads, each of which reads from one side and writes to the other.
//!
//! Nothing is handed from thread to thread, and what is there at once is read, recorded and written at once: that is what a call costs.

use super::message;
use super::watch::Watch;
use super::{Ended, LAST_ANSWERS, Relay};
use crate::observe::Log;
use crate::pipes;
use crate::servers::Endpoint;
use crate::upstream::child::{self, Started};
use crate::upstream::stdio::LONGEST_MESSAGE;
use batch::{Batch, Source};
use ltc_workflow::{Value, json};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

mod batch;

/// What the two threads share.
struct Shared {
    server: String,
    watch: Mutex<Watch>,
    /// The server's stdin, until the client closes its side.
    input: Mutex<Option<File>>,
    /// Whether it did.
    has_left: AtomicBool,
    /// Our stdout.
    out: Mutex<File>,
    log: Arc<dyn Log>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Relays until one side is gone.
///
/// # Errors
/// Where the server cannot be started, or there are no threads.
pub async fn run(name: &str, endpoint: &Endpoint, relay: &Relay, stop: impl Future<Output = ()> + Send) -> std::io::Result<Ended> {
    let Started { mut child, input, output } = child::start(name, endpoint, relay.log.clone())?;
    let (input, output) = (File::from(input.into_owned_fd()?), File::from(output.into_owned_fd()?));
    let from_client = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let out = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let shared = Arc::new(Shared {
        server: name.to_owned(),
        watch: Mutex::new(Watch::new(name, relay.observer.clone())),
        input: Mutex::new(Some(input)),
        has_left: AtomicBool::new(false),
        out: Mutex::new(out),
        log: relay.log.clone(),
    });
    let (leaving, left) = oneshot::channel();
    let (going, mut gone) = oneshot::channel();
    let clients = shared.clone();
    std::thread::Builder::new().name("client".to_owned()).spawn(move || clients.to_server(from_client, leaving))?;
    let servers = shared.clone();
    std::thread::Builder::new().name("server".to_owned()).spawn(move || servers.to_client(output, going))?;
    let left = async {
        tokio::select! {
            Ok(()) = left => {}
            () = stop => {}
        }
    };
    let ended = tokio::select! {
        // What the server said last goes first.
        biased;
        _ = &mut gone => {
            child.bury().await;
            // A server that ends because its client has left does what it should.
            let has_left = shared.has_left.load(Ordering::SeqCst);
            if has_left { Ended::Left } else { Ended::ServerGone(locked(&child.remains()).describe()) }
        }
        () = left => {
            // A server that does not read what it was sent learns of the end when it is ended.
            if let Ok(mut input) = shared.input.try_lock() {
                *input = None;
            }
            // The server may still have answers for a client that only closed its side.
            let _ = tokio::time::timeout(LAST_ANSWERS, &mut gone).await;
            Ended::Left
        }
    };
    if let Err(error) = child.end().await {
        relay.log.server_said(name, &crate::text::one_line(&format!("(it cannot be ended) {error}")));
    }
    let mut watch = locked(&shared.watch);
    watch.end();
    watch.settle();
    Ok(ended)
}

impl Shared {
    fn see(&self, see: fn(&mut Watch, &Value), batch: &Batch) {
        let mut watch = locked(&self.watch);
        for line in batch.lines() {
            // What is no message passes as well: it is not for us to judge.
            if let Ok(message) = json::parse(line) {
                see(&mut watch, &message);
            }
        }
        watch.settle();
    }

    /// What the client sends. When it closes its side, so is the server's stdin.
    fn to_server(&self, from_client: File, left: oneshot::Sender<()>) {
        let mut source = Source::new(from_client, pipes::LONGEST_MESSAGE);
        let mut batch = Batch::default();
        while source.next(&mut batch) {
            for _ in 0..batch.too_long() {
                let why = message::error(&Value::Null, -32600, "the message is longer than this relay takes");
                // Where it is gone, it reads no answers either.
                let _ = locked(&self.out).write_all(&[message::line(&why).as_slice(), b"\n"].concat());
            }
            self.see(Watch::sent, &batch);
            let mut input = locked(&self.input);
            let Some(input) = input.as_mut() else { return };
            if input.write_all(batch.bytes()).is_err() {
                // Whoever reads from it sees that it is gone, after what it said last. Nobody has left.
                drop(left);
                return;
            }
        }
        self.has_left.store(true, Ordering::SeqCst);
        *locked(&self.input) = None;
        // Where nobody waits for it, everything is at its end.
        let _ = left.send(());
    }

    /// What the server says: recorded, and then passed on.
    fn to_client(&self, output: File, _gone: oneshot::Sender<()>) {
        let mut source = Source::new(output, LONGEST_MESSAGE);
        let mut batch = Batch::default();
        while source.next(&mut batch) {
            for _ in 0..batch.too_long() {
                let words = format!("(on stdout, left out) a message is longer than {LONGEST_MESSAGE} bytes");
                self.log.server_said(&self.server, &words);
            }
            self.see(Watch::received, &batch);
            if locked(&self.out).write_all(batch.bytes()).is_err() {
                return;
            }
        }
    }
}
