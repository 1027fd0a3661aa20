//! Laws of what goes wrong.

use crate::place::{Place, create, event, json, lease, new_run, run_id, running, store_of_process, worker};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{Commit, DefinitionId, NewRun, ServerFilter, StoreError, What, open};
use std::io::{BufRead, BufReader};
use std::time::Duration;

pub async fn many_open_one_store(place: Place) {
    let mut tasks = tokio::task::JoinSet::new();
    let address = place.address();
    for index in 0..12 {
        let address = address.clone();
        tasks.spawn(async move {
            let store = open(&address).await.expect("the store opens");
            create(&*store, new_run(&format!("r{index}"))).await;
        });
    }
    assert_eq!(tasks.join_all().await.len(), 12);
}

pub async fn calls_that_are_given_up_leave_no_lock(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    let commit = Commit { events: vec![event("a", 1, What::Started); 3], ..Commit::default() };
    // Given up at ever later points: before the transaction, within it, while it ends.
    for micros in 0..400_u64 {
        let by = worker("w");
        let given_up = tokio::time::timeout(Duration::from_micros(micros * 5), store.commit(&run, &by, 0, &commit, Moment(1)));
        if let Ok(done) = given_up.await {
            done.expect("nothing is in the way");
        }
        if micros % 50 == 0 {
            create(&*store, NewRun { input: json("1"), ..new_run(&format!("r{micros}")) }).await;
        }
    }
    // The last one may still be on its way; this one comes behind it.
    let count = store.commit(&run, &worker("w"), 0, &commit, Moment(1)).await.expect("nothing is in the way");
    assert_eq!(store.events(&run).await.expect("a journal").len() as u64, count);
    assert_eq!(store.run(&run).await.expect("an answer").expect("a run").events, count);
    assert_eq!(count % 3, 0);
    assert_eq!(store.run(&run_id("r0")).await.expect("an answer").expect("a run").input, json("1"));
}

pub async fn newer_tables_are_refused(place: Place) {
    drop(place.open().await);
    place.sql("UPDATE ltc_schema SET version = version + 1").await;
    let Err(refused) = open(&place.address()).await else { panic!("the tables are newer") };
    assert!(refused.to_string().contains("a newer ltc made them"), "{refused}");
    place.sql("UPDATE ltc_schema SET version = version - 1").await;
    drop(place.open().await);
}

pub async fn older_tables_are_brought_up_to_date(place: Place) {
    let first = match &place {
        Place::Sqlite(folder) => {
            std::fs::create_dir(folder.path().join("new")).expect("a folder");
            std::fs::File::create(folder.path().join("new/ltc.db")).expect("an empty file");
            include_str!("../../migrations/sqlite/0001.sql")
        }
        Place::Postgres(_) => include_str!("../../migrations/postgres/0001.sql"),
    };
    place.sql(first).await;
    place.sql("CREATE TABLE ltc_schema (version BIGINT NOT NULL); INSERT INTO ltc_schema (version) VALUES (1)").await;
    place.sql("INSERT INTO definitions (id, text) VALUES ('d', 'kept')").await;
    let store = place.open().await;
    assert_eq!(store.servers(ServerFilter { limit: 1, ..ServerFilter::default() }).await, Ok(Vec::new()));
    assert_eq!(store.server_changes().await, Ok(0));
    let kept = store.definition(&DefinitionId("d".into())).await.expect("an answer").expect("it is still there");
    assert_eq!(kept.text, "kept");
}

pub async fn what_cannot_be_read_is_broken(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    let commit = Commit { events: vec![event("a", 1, What::Succeeded(json("1")))], ..Commit::default() };
    assert_eq!(store.commit(&run, &worker("w"), 0, &commit, Moment(1)).await, Ok(1));
    for spoil in [
        "UPDATE events SET payload = '{'",
        "UPDATE events SET payload = NULL",
        "UPDATE events SET payload = '1', kind = 'from the future'",
        "UPDATE events SET kind = 'sleep-until', payload = '1.5'",
        "UPDATE events SET kind = 'failed', payload = '{\"code\":\"x\"}'",
    ] {
        place.sql(spoil).await;
        let journal = store.events(&run).await;
        assert!(matches!(journal, Err(StoreError::Broken(_))), "{spoil}: {journal:?}");
    }
    place.sql("UPDATE run_texts SET input = '{\"secret words\":1,\"secret words\":2'").await;
    assert!(matches!(store.run(&run).await, Err(StoreError::Broken(_))));
    // A run that cannot be read holds the others up once, and not for ever.
    create(&*store, NewRun { created_at: Moment(8000), ..new_run("behind") }).await;
    let claim = async || store.claim_runs(lease("v", 9000), Moment(8000), 1).await;
    assert!(matches!(claim().await, Err(StoreError::Broken(_))));
    assert_eq!(claim().await.expect("runs").len(), 1);
    assert_eq!(claim().await, Ok(Vec::new()));
    let both = store.claim_runs(lease("u", 20_000), Moment(9000), 5).await.expect("runs");
    assert_eq!(both.into_iter().map(|run| run.id).collect::<Vec<_>>(), [run_id("behind")]);
}

pub async fn a_killed_process_loses_nothing_that_was_told(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    for _ in 0..3 {
        let before = store.events(&run).await.expect("a journal").len();
        let mut process = place.process("faults::committing_process").spawn().expect("another process");
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut told = lines.by_ref().filter_map(|line| line.strip_prefix("told ").and_then(|count| count.parse::<usize>().ok()));
        assert!(told.nth(20).is_some_and(|count| count > before), "it commits");
        process.kill().expect("it is running");
        let last = told.last().unwrap_or(before);
        process.wait().expect("it ends");
        // What it had sent already arrives without it.
        let mut journal = store.events(&run).await.expect("a journal");
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let later = store.events(&run).await.expect("a journal");
            if later.len() == journal.len() {
                break;
            }
            journal = later;
        }
        assert!(journal.len() >= last, "{} of {last}", journal.len());
        assert_eq!(journal.len() % 3, 0);
        // What it was just doing when it ended is done as a whole or not at all, and nothing is locked.
        let count = store.commit(&run, &worker("w"), 0, &Commit::default(), Moment(1)).await.expect("a commit");
        assert_eq!(store.events(&run).await.expect("a journal").len() as u64, count);
    }
}

#[tokio::test]
#[ignore = "is a process of another test"]
async fn committing_process() {
    if let Some(store) = store_of_process().await {
        println!();
        loop {
            let commit = Commit { events: vec![event("a", 1, What::Started); 3], ..Commit::default() };
            let count = store.commit(&run_id("r"), &worker("w"), 0, &commit, Moment(1)).await.expect("a commit");
            println!("told {count}");
        }
    }
}
