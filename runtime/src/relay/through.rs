//! One server: what the client sends reaches it byte for byte, and what it answers reaches the client so.

use super::link::{self, Link};
use super::watch::Watch;
use super::{Ended, LAST_ANSWERS, Lines, Relay, message};
use crate::servers::Endpoint;
use ltc_workflow::{Value, json};
use std::sync::{Mutex, PoisonError};

/// So many bytes are sent at once where many lines wait.
const AT_ONCE: usize = 64 * 1024;

/// Relays until one side is gone.
pub async fn run(
    name: &str,
    endpoint: &Endpoint,
    relay: &Relay,
    (mut lines, out): Lines,
    stop: impl Future<Output = ()> + Send,
) -> std::io::Result<Ended> {
    let Link { mut sender, mut receiver, mut ending } = link::open(name, endpoint, &relay.log)?;
    let watch = Mutex::new(Watch::new(name, relay.observer.clone()));
    let see = |see: fn(&mut Watch, &Value), bytes: &[u8]| {
        // What is no message passes as well: it is not for us to judge.
        if let Ok(message) = json::parse(bytes) {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            see(&mut watch, &message);
            watch.settle();
        }
    };
    let to_server = async {
        while let Some(line) = lines.recv().await {
            let mut next = Some(line);
            let mut bytes = Vec::new();
            // What else is there already goes along.
            while let Some(line) = next.take() {
                match line {
                    Some(line) => {
                        see(Watch::sent, &line);
                        if !bytes.is_empty() {
                            bytes.push(b'\n');
                        }
                        bytes.extend_from_slice(&line);
                    }
                    None => {
                        let why = message::error(&Value::Null, -32600, "the message is longer than this relay takes");
                        // Where it is gone, it reads no answers either.
                        let _ = out.send((message::line(&why), None)).await;
                    }
                }
                if sender.takes_several() && bytes.len() < AT_ONCE {
                    next = lines.try_recv().ok();
                }
            }
            if !bytes.is_empty() && sender.send(bytes).await.is_err() {
                // Whoever reads from it sees that it is gone, after what it said last.
                std::future::pending::<()>().await;
            }
        }
        drop(sender);
    };
    let to_client = async {
        while let Some(bytes) = receiver.next().await {
            see(Watch::received, &bytes);
            if out.send((bytes, None)).await.is_err() {
                return;
            }
        }
    };
    tokio::pin!(to_client);
    let left = async {
        tokio::select! {
            () = to_server => {}
            () = stop => {}
        }
    };
    let ended = tokio::select! {
        // What the server said last goes first.
        biased;
        () = &mut to_client => Ended::ServerGone(ending.bury().await),
        () = left => {
            // The server may still have answers for a client that only closed its side.
            let _ = tokio::time::timeout(LAST_ANSWERS, &mut to_client).await;
            Ended::Left
        }
    };
    ending.end(name, &relay.log).await;
    {
        let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.end();
        watch.settle();
    }
    // What is on its way to stdout gets there before we end.
    let (done, is_done) = tokio::sync::oneshot::channel();
    if out.send((Vec::new(), Some(done))).await.is_ok() {
        let _ = tokio::time::timeout(LAST_ANSWERS, is_done).await;
    }
    Ok(ended)
}
