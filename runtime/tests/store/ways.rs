//! How often a commit goes to PostgreSQL and back: over a network that is what it costs.

use crate::place::{Place, event, json, run_id, running, worker};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{Commit, RunRest, Status, What, open};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// What sqlx asks an idle connection, to see whether it lives: a Sync and nothing else.
const PING: &[u8] = &[b'S', 0, 0, 0, 4];

/// Passes connections on to the socket of a server, and counts the messages to it that are answered.
fn counting(listener: UnixListener, server: String, ways: Arc<AtomicUsize>) {
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = UnixStream::connect(&server).await.expect("the server");
            let ((mut asks, mut hears), (mut answers, mut takes)) = (client.into_split(), server.into_split());
            let ways = ways.clone();
            tokio::spawn(async move {
                let mut bytes = vec![0; 1 << 16];
                while let Ok(count @ 1..) = asks.read(&mut bytes).await {
                    if &bytes[..count] != PING {
                        ways.fetch_add(1, Ordering::SeqCst);
                    }
                    if takes.write_all(&bytes[..count]).await.is_err() {
                        return;
                    }
                }
            });
            tokio::spawn(async move { tokio::io::copy(&mut answers, &mut hears).await });
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_one_way_to_postgresql_and_back() {
    let Some(place) = Place::postgres() else { return };
    let address = place.address();
    // postgres://USER@FOLDER/DATABASE; the server of DATABASE_URL has no folder that is known here.
    let Some((head, database)) = address.rsplit_once('/').filter(|(head, _)| head.contains("%2F")) else { return };
    let (user, folder) = head.rsplit_once('@').expect("a user");
    let between = tempfile::Builder::new().prefix("ltc-ways-").tempdir_in("/tmp").expect("a folder");
    let socket = |folder: &Path| folder.join(".s.PGSQL.5432").display().to_string();
    let ways = Arc::new(AtomicUsize::new(0));
    let listener = UnixListener::bind(socket(between.path())).expect("a socket");
    counting(listener, socket(Path::new(&folder.replace("%2F", "/"))), ways.clone());
    let store = open(&format!("{user}@{}/{database}", between.path().display().to_string().replace('/', "%2F"))).await.expect("it opens");

    let run = running(&*store, "r", "w", 9000).await;
    let (by, mut known) = (worker("w"), 0);
    let mut counted = Vec::new();
    for step in 0..20 {
        let events = vec![event(&format!("s{step}"), 1, What::Succeeded(json("1"))), event(&format!("s{}", step + 1), 1, What::Started)];
        let before = ways.load(Ordering::SeqCst);
        known = store.commit(&run, &by, known, &Commit { events, ..Commit::default() }, Moment(2)).await.expect("a commit");
        counted.push(ways.load(Ordering::SeqCst) - before);
    }
    // Some make a connection, or prepare the statement on one.
    assert!(counted.iter().filter(|ways| **ways == 1).count() >= 15, "{counted:?}");
    assert_eq!((known, store.events(&run).await.expect("a journal").len()), (40, 40));

    let commit =
        Commit { events: vec![event("s20", 3, What::Succeeded(json("2")))], rest: Some(RunRest::Done(json("3"))), ..Commit::default() };
    assert_eq!(store.commit(&run, &by, known, &commit, Moment(3)).await, Ok(41));
    let record = store.run(&run_id("r")).await.expect("an answer").expect("a run");
    assert_eq!((record.status, record.output, record.ended_at), (Status::Done, Some(json("3")), Some(Moment(3))));
}
