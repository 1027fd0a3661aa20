//! Laws of claims: no run is two workers', and none is forgotten.

use crate::place::{Place, create, event, json, lease, new_run, run_id, running, store_of_process, worker};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{Claim, Commit, NewRun, Renewed, RunId, RunRest, Status, Store, StoreError, What};
use std::collections::BTreeSet;

const RUNS: usize = 200;

async fn many_queued(store: &dyn Store) {
    for index in 0..RUNS {
        create(store, NewRun { created_at: Moment(index as i64), ..new_run(&format!("r{index:03}")) }).await;
    }
}

/// Claims until nothing is left.
async fn claim_all(store: &dyn Store, worker: &str, at_once: u32) -> Vec<RunId> {
    let mut mine = Vec::new();
    let mut in_vain = 0;
    // Rows that another worker is just looking at are left out: one empty answer does not mean that nothing is there.
    while in_vain < 20 {
        let runs = store.claim_runs(lease(worker, 9000), Moment(500), at_once).await.expect("runs");
        assert!(runs.len() <= at_once as usize);
        in_vain = if runs.is_empty() { in_vain + 1 } else { 0 };
        for run in runs {
            assert_eq!((run.status, run.lease), (Status::Running, Some(lease(worker, 9000))));
            mine.push(run.id);
        }
        if in_vain > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    mine
}

fn assert_each_once(mut claimed: Vec<String>) {
    claimed.sort();
    let all: Vec<String> = (0..RUNS).map(|index| format!("r{index:03}")).collect();
    assert_eq!(claimed, all);
}

pub async fn each_run_goes_to_one_worker(place: Place) {
    let stores = [place.open().await, place.open().await];
    many_queued(&*stores[0]).await;
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..50 {
        let store = stores[index % 2].clone();
        tasks.spawn(async move { claim_all(&*store, &format!("worker {index}"), 1 + index as u32 % 5).await });
    }
    assert_each_once(tasks.join_all().await.into_iter().flatten().map(|run| run.0.to_string()).collect());
}

pub async fn each_run_goes_to_one_process(place: Place) {
    let store = place.open().await;
    many_queued(&*store).await;
    let processes: Vec<_> = (0..3).map(|_| place.process("claims::claiming_process").spawn().expect("another process")).collect();
    let mut claimed = Vec::new();
    for process in processes {
        let output = process.wait_with_output().expect("its output");
        assert!(output.status.success());
        let lines = String::from_utf8(output.stdout).expect("text");
        claimed.extend(lines.lines().filter_map(|line| line.strip_prefix("claimed ")).map(str::to_owned));
    }
    assert_each_once(claimed);
}

#[tokio::test]
#[ignore = "is a process of another test"]
async fn claiming_process() {
    if let Some(store) = store_of_process().await {
        println!();
        for run in claim_all(&*store, &format!("process {}", std::process::id()), 3).await {
            println!("claimed {}", run.0);
        }
    }
}

pub async fn a_lease_that_ran_out_goes_to_another(place: Place) {
    let (one, two) = (place.open().await, place.open().await);
    let run = running(&*one, "r", "first", 2000).await;
    let commit = Commit { events: vec![event("a", 1100, What::Started)], ..Commit::default() };
    assert_eq!(one.commit(&run, &worker("first"), 0, &commit, Moment(1100)).await, Ok(1));
    assert_eq!(two.claim_runs(lease("second", 5000), Moment(1999), 9).await, Ok(Vec::new()));
    let claimed = two.claim_runs(lease("second", 5000), Moment(2000), 9).await.expect("runs");
    assert_eq!(claimed.len(), 1);
    assert_eq!((&claimed[0].id, claimed[0].events, claimed[0].updated_at), (&run, 1, Moment(2000)));
    for rest in [None, Some(RunRest::Queued), Some(RunRest::Waiting { wake_at: None }), Some(RunRest::Done(json("1")))] {
        let late = Commit { events: vec![event("b", 2100, What::Started)], rest, ..Commit::default() };
        assert_eq!(one.commit(&run, &worker("first"), 1, &late, Moment(2100)).await, Err(StoreError::LeaseLost));
    }
    assert_eq!(one.renew(lease("first", 9000)).await, Ok(Vec::new()));
    assert_eq!(two.events(&run).await.expect("a journal").len(), 1);
    assert_eq!(two.commit(&run, &worker("second"), 1, &commit, Moment(2100)).await, Ok(2));
}

pub async fn a_lease_that_nobody_took_is_still_ours(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 2000).await;
    let commit = Commit { events: vec![event("a", 8000, What::Started)], ..Commit::default() };
    assert_eq!(store.commit(&run, &worker("w"), 0, &commit, Moment(8000)).await, Ok(1));
    assert_eq!(store.renew(lease("w", 9000)).await, Ok(vec![Renewed { run, is_cancel_requested: false }]));
    assert_eq!(store.claim_runs(lease("v", 9999), Moment(8999), 9).await, Ok(Vec::new()));
}

pub async fn what_is_due_can_be_claimed(place: Place) {
    let store = place.open().await;
    let rest = |wake_at: Option<i64>| Commit { rest: Some(RunRest::Waiting { wake_at: wake_at.map(Moment) }), ..Commit::default() };
    for (name, deadline, wake_at) in [
        ("timer", None, Some(3000)),
        ("deadline", Some(3500), None),
        ("both", Some(3300), Some(9000)),
        ("timer first", Some(9000), Some(3100)),
        ("person", None, None),
    ] {
        let run = NewRun { deadline: deadline.map(Moment), lease: Some(lease("w", 5000)), ..new_run(name) };
        create(&*store, run.clone()).await;
        assert_eq!(store.commit(&run.id, &worker("w"), 0, &rest(wake_at), Moment(1500)).await, Ok(0));
    }
    running(&*store, "left", "w", 3200).await;
    // Queued runs are anybody's, whatever the clocks say.
    create(&*store, NewRun { created_at: Moment(2500), ..new_run("queued") }).await;
    create(&*store, NewRun { created_at: Moment(99_000), ..new_run("from the future") }).await;

    let claim = async |now: i64, limit: u32| {
        let runs = store.claim_runs(lease("v", 50_000), Moment(now), limit).await.expect("runs");
        runs.into_iter().map(|run| run.id.0.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(claim(2999, 0).await, Vec::<String>::new());
    assert_eq!(claim(2999, 1).await, ["queued"]);
    assert_eq!(claim(3299, 3).await, ["timer", "timer first", "left"]);
    assert_eq!(claim(3500, 9).await, ["both", "deadline", "from the future"]);
    assert_eq!(claim(49_999, 9).await, Vec::<String>::new());
    let woken = store.run(&run_id("timer")).await.expect("an answer").expect("a run");
    assert_eq!((woken.wake_at, woken.status), (None, Status::Running));

    // Who gives a run back gives it to all.
    let back = Commit { rest: Some(RunRest::Queued), ..Commit::default() };
    assert_eq!(store.commit(&run_id("timer"), &worker("v"), 0, &back, Moment(4000)).await, Ok(0));
    assert_eq!(claim(4000, 9).await, ["timer"]);
}

pub async fn one_run_can_be_claimed(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 2000).await;
    let held = store.run(&run).await.expect("an answer").expect("a run");
    assert_eq!(store.claim_run(&run, lease("v", 5000), Moment(1999)).await, Ok(Claim::Held(Box::new(held))));
    // One's own is prolonged; one that ran out changes hands.
    assert!(matches!(store.claim_run(&run, lease("w", 3000), Moment(1999)).await, Ok(Claim::Claimed(_))));
    let Ok(Claim::Claimed(claimed)) = store.claim_run(&run, lease("v", 5000), Moment(3000)).await else { panic!("nobody has it") };
    assert_eq!((&claimed.lease, claimed.updated_at), (&Some(lease("v", 5000)), Moment(3000)));
    assert_eq!(store.run(&run).await, Ok(Some(*claimed)));
    // One that waits for nothing in particular, too.
    let rest = Commit { rest: Some(RunRest::Waiting { wake_at: Some(Moment(90_000)) }), ..Commit::default() };
    assert_eq!(store.commit(&run, &worker("v"), 0, &rest, Moment(3100)).await, Ok(0));
    let Ok(Claim::Claimed(claimed)) = store.claim_run(&run, lease("u", 5000), Moment(3200)).await else { panic!("nobody has it") };
    assert_eq!((claimed.status, claimed.wake_at), (Status::Running, None));
    let done = Commit { rest: Some(RunRest::Done(json("1"))), ..Commit::default() };
    assert_eq!(store.commit(&run, &worker("u"), 0, &done, Moment(3300)).await, Ok(0));
    let ended = store.run(&run).await.expect("an answer").expect("a run");
    assert_eq!(store.claim_run(&run, lease("u", 9000), Moment(9999)).await, Ok(Claim::Ended(Box::new(ended))));
    assert_eq!(store.claim_run(&run_id("nobody"), lease("u", 9000), Moment(9999)).await, Ok(Claim::NoSuchRun));

    // Of many who want one, one gets it.
    create(&*store, new_run("wanted")).await;
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..20 {
        let store = store.clone();
        tasks.spawn(async move { store.claim_run(&run_id("wanted"), lease(&format!("w{index}"), 5000), Moment(2000)).await });
    }
    let claims = tasks.join_all().await;
    assert_eq!(claims.iter().filter(|claim| matches!(claim, Ok(Claim::Claimed(_)))).count(), 1);
    assert_eq!(claims.iter().filter(|claim| matches!(claim, Ok(Claim::Held(_)))).count(), 19);
}

pub async fn a_worker_that_is_gone_lets_go_of_its_runs_and_of_no_others(place: Place) {
    let store = place.open().await;
    running(&*store, "a", "gone", 2000).await;
    running(&*store, "b", "gone", 9000).await;
    running(&*store, "c", "there", 9000).await;
    create(&*store, NewRun { created_at: Moment(5000), ..new_run("queued") }).await;
    assert_eq!(store.workers().await, Ok(vec![worker("gone"), worker("there")]));
    // The lease of `a` has run out by itself.
    assert_eq!(store.end_leases(&worker("gone"), Moment(3000)).await, Ok(1));
    assert_eq!(store.end_leases(&worker("gone"), Moment(3000)).await, Ok(0));
    assert_eq!(store.end_leases(&worker("nobody"), Moment(3000)).await, Ok(0));
    // Nobody took them yet: what their worker writes still counts, as with any lease that ran out.
    let commit = Commit { events: vec![event("s", 3000, What::Started)], ..Commit::default() };
    assert_eq!(store.commit(&run_id("b"), &worker("gone"), 0, &commit, Moment(3000)).await, Ok(1));
    let taken = store.claim_runs(lease("u", 9000), Moment(3000), 9).await.expect("runs");
    let names: BTreeSet<RunId> = taken.into_iter().map(|run| run.id).collect();
    assert_eq!(names, ["a", "b", "queued"].map(run_id).into());
    assert_eq!(store.commit(&run_id("b"), &worker("gone"), 1, &commit, Moment(3001)).await, Err(StoreError::LeaseLost));
    assert_eq!(store.workers().await, Ok(vec![worker("there"), worker("u")]));
}

pub async fn a_worker_can_ask_which_of_its_runs_are_unwanted(place: Place) {
    let store = place.open().await;
    for (name, of) in [("a", "w"), ("b", "w"), ("c", "w"), ("others", "v")] {
        running(&*store, name, of, 2000).await;
    }
    assert_eq!(store.unwanted(&worker("w")).await, Ok(Vec::new()));
    for name in ["c", "a", "others"] {
        store.cancel_run(&run_id(name), Moment(1500)).await.expect("an answer");
    }
    assert_eq!(store.unwanted(&worker("w")).await, Ok(vec![run_id("a"), run_id("c")]));
    let commit = Commit { rest: Some(RunRest::Cancelled), ..Commit::default() };
    store.commit(&run_id("a"), &worker("w"), 0, &commit, Moment(1600)).await.expect("it is ours");
    assert_eq!(store.unwanted(&worker("w")).await, Ok(vec![run_id("c")]));
}

pub async fn renewing_tells_of_cancellation(place: Place) {
    let store = place.open().await;
    let mut runs = BTreeSet::new();
    for name in ["a", "b", "c"] {
        runs.insert(running(&*store, name, "w", 2000).await);
    }
    running(&*store, "others", "v", 2000).await;
    create(&*store, new_run("queued")).await;
    store.cancel_run(&run_id("b"), Moment(1500)).await.expect("an answer");
    let renewed = store.renew(lease("w", 4000)).await.expect("leases");
    let told: Vec<(&str, bool)> = renewed.iter().map(|renewed| (renewed.run.0.as_str(), renewed.is_cancel_requested)).collect();
    assert_eq!(told, [("a", false), ("b", true), ("c", false)]);
    let taken = store.claim_runs(lease("u", 9000), Moment(3999), 9).await.expect("runs");
    let names: BTreeSet<RunId> = taken.into_iter().map(|run| run.id).collect();
    assert_eq!(names, BTreeSet::from([run_id("others"), run_id("queued")]));
    assert_eq!(store.run(&run_id("a")).await.expect("an answer").expect("a run").lease, Some(lease("w", 4000)));
    assert_eq!(store.renew(lease("nobody", 4000)).await, Ok(Vec::new()));
}
