//! What is PostgreSQL's own: a server that goes away and comes back, and addresses with passwords.

use crate::place::{event, new_run, running, worker};
use crate::postgres::Cluster;
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{Commit, StoreError, What, open};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_is_used_again() {
    // Its own: the others go on with theirs.
    let Some(cluster) = Cluster::start() else { return };
    let store = open(&cluster.address("postgres")).await.expect("the store opens");
    let run = running(&*store, "r", "w", 5000).await;
    let commit = Commit { events: vec![event("a", 1, What::Started)], ..Commit::default() };
    // As many connections as there may be, so that each has to notice.
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (store, run, commit) = (store.clone(), run.clone(), commit.clone());
        tasks.spawn(async move { store.commit(&run, &worker("w"), 0, &commit, Moment(1)).await });
    }
    assert!(tasks.join_all().await.iter().all(Result::is_ok));

    cluster.stop();
    let begun = Instant::now();
    let by = worker("w");
    let (written, read) = tokio::join!(store.commit(&run, &by, 0, &commit, Moment(1)), store.run(&run));
    assert!(matches!(written, Err(StoreError::Unavailable(_))), "{written:?}");
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    assert!(begun.elapsed() < Duration::from_secs(7), "{:?}", begun.elapsed());

    cluster.start_again();
    for index in 0..20 {
        assert_eq!(store.commit(&run, &worker("w"), 0, &commit, Moment(1)).await, Ok(41 + index));
    }
    assert_eq!(store.events(&run).await.expect("a journal").len(), 60);

    // Whoever is cut off in the middle is told so, and not that something is broken.
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (store, run, commit) = (store.clone(), run.clone(), commit.clone());
        tasks.spawn(async move {
            loop {
                match store.commit(&run, &worker("w"), 0, &commit, Moment(1)).await {
                    Ok(_) => {}
                    Err(error) => return error,
                }
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    tokio::task::block_in_place(|| cluster.stop());
    for error in tasks.join_all().await {
        assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    }
    cluster.start_again();
    assert_eq!(store.create_run(new_run("after")).await, Ok(ltc_runtime::store::Created::New));
    let record = store.run(&run).await.expect("an answer").expect("a run");
    assert_eq!(store.events(&run).await.expect("a journal").len() as u64, record.events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_in_no_error() {
    let mut tasks = tokio::task::JoinSet::new();
    for address in [
        "postgres://user:hunter2@127.0.0.1:1/db",
        "postgres://user:hunter2@127.0.0.1:port/db",
        "postgres://user:/hunter2@127.0.0.1/db",
        "postgres://user:?sslmode=hunter2@127.0.0.1/db",
        "postgres://user@127.0.0.1/db?sslmode=hunter2",
        "postgres://user@127.0.0.1:1/db?password=hunter2",
        "postgresql://hunter2",
    ] {
        tasks.spawn(async move {
            let Err(error) = open(address).await else { panic!("nobody is there") };
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        });
    }
    tasks.join_all().await;
}
