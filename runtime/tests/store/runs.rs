//! Laws of runs: made, read, listed, cancelled, taken out.

use crate::place::{Place, create, definition, event, json, lease, new_run, question, question_id, run_id, running, worker};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{
    Commit, Created, Definition, DefinitionId, EscalationId, EscalationStatus, NewEscalation, NewRun, NewVersion, Resolution, RunFilter,
    RunRest, Settled, Status, Store, StoreError, VersionState, What,
};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Text that a careless store would change: NUL, escapes of NUL, quotes, characters of four bytes, what looks like SQL.
const AWKWARD: &str = "a\0b\u{1}c\u{1}\u{1}\u{2}\\u0000 '\"$1; DROP TABLE runs; -- \u{1f642} \u{10ffff} Größe\r\n";

pub async fn creating_twice_changes_nothing(place: Place) {
    let (one, two) = (place.open().await, place.open().await);
    create(&*one, new_run("r")).await;
    let before = one.run(&run_id("r")).await.expect("a run").expect("it is there");
    let other = NewRun {
        workflow: "other".into(),
        input: json("[1]"),
        definition: definition("another"),
        created_at: Moment(2000),
        lease: Some(lease("w", 9000)),
        ..new_run("r")
    };
    assert_eq!(two.create_run(other.clone()).await, Ok(Created::Exists(Box::new(before.clone()))));
    assert_eq!(two.run(&run_id("r")).await, Ok(Some(before)));
    assert_eq!(two.definition(&other.definition.id).await, Ok(None));

    // Of many who make one at once, one does.
    let mut tasks = tokio::task::JoinSet::new();
    for index in 0..20 {
        let store = if index % 2 == 0 { one.clone() } else { two.clone() };
        tasks.spawn(async move { store.create_run(NewRun { created_at: Moment(index), ..new_run("shared") }).await });
    }
    let made = tasks.join_all().await;
    assert_eq!(made.iter().filter(|made| **made == Ok(Created::New)).count(), 1, "{made:?}");
    assert!(made.iter().all(Result::is_ok), "{made:?}");
}

pub async fn a_run_is_read_as_it_was_written(place: Place) {
    let store = place.open().await;
    let new = NewRun {
        id: run_id(AWKWARD),
        workflow: AWKWARD.into(),
        definition: Definition { id: DefinitionId("sha256:1".into()), text: format!("# {AWKWARD}") },
        input: json("{\"z\": 1.0, \"a\": [123456789012345678901234567890, 1e400, -0], \"\\u0000\": \"\\u0000\"}"),
        created_at: Moment(-5),
        deadline: Some(Moment(i64::MAX)),
        lease: Some(lease(AWKWARD, 7)),
    };
    create(&*store, new.clone()).await;
    let run = place.open().await.run(&new.id).await.expect("a run").expect("it is there");
    assert_eq!((&run.id, &run.workflow, &run.definition, &run.input), (&new.id, &new.workflow, &new.definition.id, &new.input));
    assert_eq!((run.created_at, run.updated_at, run.deadline, run.wake_at), (Moment(-5), Moment(-5), Some(Moment(i64::MAX)), None));
    assert_eq!((run.status, run.lease, run.events, run.ended_at), (Status::Running, new.lease, 0, None));
    assert_eq!((run.is_cancel_requested, run.output, run.failure), (false, None, None));
    assert_eq!(store.definition(&new.definition.id).await, Ok(Some(new.definition)));
    assert_eq!(store.run(&run_id("another")).await, Ok(None));
    assert_eq!(store.events(&run_id("another")).await, Ok(Vec::new()));
}

pub async fn pages_have_neither_gap_nor_double(place: Place) {
    let store = place.open().await;
    // Several with one time: the name decides.
    for index in 0..25 {
        let workflow = if index % 3 == 0 { "a" } else { "b" };
        create(&*store, NewRun { created_at: Moment(index / 4), workflow: workflow.into(), ..new_run(&format!("r{index:02}")) }).await;
    }
    store.cancel_run(&run_id("r09"), Moment(50)).await.expect("it is cancelled");
    let all = RunFilter { status: None, workflow: None, after: None, limit: 100 };
    let newest_first: Vec<String> = (0..25).rev().map(|index| format!("r{index:02}")).collect();
    for limit in [1, 4, 7, 25] {
        let names = paged(&*store, RunFilter { limit, ..all.clone() }).await;
        assert_eq!(names, newest_first, "pages of {limit}");
    }
    let of_a: Vec<String> = (0..25).rev().filter(|index| index % 3 == 0).map(|index| format!("r{index:02}")).collect();
    assert_eq!(paged(&*store, RunFilter { workflow: Some("a".into()), limit: 2, ..all.clone() }).await, of_a);
    assert_eq!(paged(&*store, RunFilter { status: Some(Status::Cancelled), limit: 2, ..all.clone() }).await, ["r09"]);
    let queued_of_a: Vec<String> = of_a.iter().filter(|name| *name != "r09").cloned().collect();
    let filter = RunFilter { status: Some(Status::Queued), workflow: Some("a".into()), limit: 3, ..all };
    assert_eq!(paged(&*store, filter).await, queued_of_a);
}

async fn paged(store: &dyn Store, mut filter: RunFilter) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let page = store.runs(filter.clone()).await.expect("a page");
        assert!(page.len() <= filter.limit as usize);
        let Some(last) = page.last() else {
            return names;
        };
        filter.after = Some((last.created_at, last.id.clone()));
        names.extend(page.into_iter().map(|run| run.id.0.to_string()));
    }
}

pub async fn cancelling_ends_what_nobody_has(place: Place) {
    let store = place.open().await;
    create(&*store, new_run("queued")).await;
    let waiting = running(&*store, "waiting", "w", 5000).await;
    let commit = Commit {
        events: vec![event("ask", 1500, What::Escalated(question_id("q")))],
        opened: vec![question("q", Some(&waiting))],
        rest: Some(RunRest::Waiting { wake_at: None }),
        ..Commit::default()
    };
    assert_eq!(store.commit(&waiting, &worker("w"), 0, &commit, Moment(1500)).await, Ok(1));
    let left = running(&*store, "left", "gone", 1900).await;
    let held = running(&*store, "held", "w", 5000).await;

    for (name, events) in [("queued", 1), ("waiting", 2), ("left", 1)] {
        let run = store.cancel_run(&run_id(name), Moment(2000)).await.expect("an answer").expect("a run");
        assert_eq!((run.status, run.ended_at, run.updated_at), (Status::Cancelled, Some(Moment(2000)), Moment(2000)), "{name}");
        assert_eq!((run.events, &run.lease, run.wake_at, run.is_cancel_requested), (events, &None, None, true), "{name}");
        assert_eq!(store.run(&run_id(name)).await, Ok(Some(run)), "{name}");
        let journal = store.events(&run_id(name)).await.expect("a journal");
        assert_eq!(journal.last(), Some(&event("", 2000, What::Cancelled)), "{name}");
    }
    let question = store.escalation(&question_id("q")).await.expect("an answer").expect("a question");
    assert_eq!((question.status, question.ended_at), (EscalationStatus::Closed, Some(Moment(2000))));
    // The one that had it notices.
    assert_eq!(store.commit(&left, &worker("gone"), 0, &Commit::default(), Moment(2100)).await, Err(StoreError::LeaseLost));

    let run = store.cancel_run(&held, Moment(2000)).await.expect("an answer").expect("a run");
    assert_eq!((run.status, run.is_cancel_requested, run.events), (Status::Running, true, 0));
    let rest = Commit { rest: Some(RunRest::Cancelled), events: vec![event("a", 2200, What::Cancelled)], ..Commit::default() };
    assert_eq!(store.commit(&held, &worker("w"), 0, &rest, Moment(2200)).await, Ok(1));
    let ended = store.run(&held).await.expect("an answer").expect("a run");
    assert_eq!(ended.status, Status::Cancelled);
    assert_eq!(store.cancel_run(&held, Moment(3000)).await, Ok(Some(ended)));
    assert_eq!(store.cancel_run(&run_id("another"), Moment(3000)).await, Ok(None));

    // Whoever asks while the worker is about to let it wait is heard.
    let unlucky = running(&*store, "unlucky", "w", 5000).await;
    store.cancel_run(&unlucky, Moment(2000)).await.expect("an answer");
    let wait = Commit { rest: Some(RunRest::Waiting { wake_at: None }), ..Commit::default() };
    assert_eq!(store.commit(&unlucky, &worker("w"), 0, &wait, Moment(2001)).await, Ok(0));
    assert_eq!(store.run(&unlucky).await.expect("an answer").expect("a run").status, Status::Queued);
}

pub async fn pruning_takes_old_runs_with_all_that_is_theirs(place: Place) {
    let store = place.open().await;
    let kept = NewVersion {
        name: "w".into(),
        definition: definition("deployed"),
        description: None,
        state: VersionState::Active,
        made_of: None,
        at: Moment(1),
    };
    store.put_version(kept.clone()).await.expect("a version");
    // More than one step of the work takes out.
    for index in 0..450 {
        let name = format!("old{index}");
        let of = if index == 0 { "deployed" } else { "old" };
        let run = NewRun { lease: Some(lease("w", 5000)), definition: definition(of), ..new_run(&name) };
        create(&*store, run.clone()).await;
        let commit = Commit {
            events: vec![event("a", 1500, What::Succeeded(json("1")))],
            opened: vec![question(&name, Some(&run.id))],
            rest: Some(RunRest::Done(json("2"))),
            ..Commit::default()
        };
        assert_eq!(store.commit(&run.id, &worker("w"), 0, &commit, Moment(1500)).await, Ok(1));
    }
    create(&*store, NewRun { definition: definition("queued"), ..new_run("queued") }).await;
    let young = running(&*store, "young", "w", 5000).await;
    let done = Commit { rest: Some(RunRest::Done(json("2"))), ..Commit::default() };
    assert_eq!(store.commit(&young, &worker("w"), 0, &done, Moment(1501)).await, Ok(0));

    // Questions that are no run's: about runs that failed, and asked by people.
    for run in ["old7", "old300", "young", "queued"] {
        let about = NewEscalation { id: EscalationId::about_failure(&run_id(run)), ..question("about", None) };
        store.open_escalation(about).await.expect("it is opened");
    }
    for (name, at) in [("answered", Some(1500)), ("answered late", Some(1501)), ("open", None)] {
        store.open_escalation(question(name, None)).await.expect("it is opened");
        if let Some(at) = at {
            let answer = Resolution { escalation: question_id(name), by: "ann".into(), answer: json("1"), event: None, at: Moment(at) };
            assert!(matches!(store.resolve_escalation(answer).await, Ok(Settled::Done(_))));
        }
    }

    assert_eq!(store.prune(Moment(1500)).await, Ok(0));
    assert_eq!(store.prune(Moment(1501)).await, Ok(450));
    let about = |run: &str| EscalationId::about_failure(&run_id(run));
    let questions = [
        (about("old7"), false),
        (about("old300"), false),
        (about("young"), true),
        (about("queued"), true),
        (question_id("answered"), false),
        (question_id("answered late"), true),
        (question_id("open"), true),
    ];
    for (id, is_there) in questions {
        assert_eq!(store.escalation(&id).await.expect("an answer").is_some(), is_there, "{}", id.0);
    }
    let all = store.runs(RunFilter { status: None, workflow: None, after: None, limit: 1000 }).await.expect("a list");
    let left: BTreeSet<&str> = all.iter().map(|run| run.id.0.as_str()).collect();
    assert_eq!(left, BTreeSet::from(["queued", "young"]));
    assert_eq!(store.events(&run_id("old7")).await, Ok(Vec::new()));
    assert_eq!(store.escalation(&question_id("old7")).await, Ok(None));
    for (text, is_there) in [("deployed", true), ("queued", true), ("workflow: w", true), ("old", false)] {
        let found = store.definition(&definition(text).id).await.expect("an answer");
        assert_eq!(found.is_some(), is_there, "{text}");
    }
    // The name is free again.
    assert_eq!(store.create_run(NewRun { definition: definition("old"), ..new_run("old7") }).await, Ok(Created::New));

    // Whoever makes runs while definitions are taken out gets his own.
    let (maker, pruner) = (place.open().await, place.open().await);
    let pruning = tokio::spawn(async move {
        for _ in 0..40 {
            pruner.prune(Moment(1501)).await.expect("old runs go");
        }
    });
    for index in 0..40 {
        let run = NewRun { definition: definition("coming and going"), lease: Some(lease("w", 5000)), ..new_run(&format!("brief{index}")) };
        create(&*maker, run.clone()).await;
        assert_eq!(maker.commit(&run.id, &worker("w"), 0, &done, Moment(1400)).await, Ok(0));
    }
    pruning.await.expect("pruning ends");
}

/// Numbers from 0 to 9999 as `n (i)`, in both databases.
pub const MANY: &str = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)";

pub async fn ten_thousand_runs_are_listed_quickly(place: Place) {
    let store = place.open().await;
    create(&*store, new_run("first")).await;
    place
        .sql(&format!(
            "INSERT INTO runs (id, workflow, definition, status, created_at, updated_at, due_at) {MANY} \
             SELECT 'r' || i, 'w' || (i % 50), (SELECT definition FROM runs), 'queued', i, i, i FROM n"
        ))
        .await;
    place.sql("INSERT INTO run_texts (run, input) SELECT id, '{}' FROM runs WHERE id <> 'first'").await;
    let begun = Instant::now();
    let page = RunFilter { status: None, workflow: None, after: Some((Moment(5000), run_id("r5000"))), limit: 50 };
    for round in 0..20 {
        for workflow in [None, Some(format!("w{round}").into())] {
            for status in [None, Some(Status::Queued), Some(Status::Done)] {
                let expected = if status == Some(Status::Done) { 0 } else { 50 };
                let runs = store.runs(RunFilter { workflow: workflow.clone(), status, ..page.clone() }).await.expect("a list");
                assert_eq!(runs.len(), expected);
            }
        }
        assert_eq!(store.claim_runs(lease("w", 99_999), Moment(1), 5).await.expect("runs").len(), 5);
    }
    // 120 pages and 20 claims: far less than a second where nothing is searched for row by row.
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}
