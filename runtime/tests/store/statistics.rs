//! Laws of questions about many runs at once: what is counted is what is there, and the same in every database.

use crate::place::{Place, create, event, json, new_run, question, question_id, run_id, running, worker};
use crate::runs::MANY;
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{
    Asking, Commit, Counting, Happened, NewRun, NewVersion, Resolution, RunRest, Status, Store, Took, VersionState, What, Window,
};
use ltc_workflow::advance::Failure;
use std::time::{Duration, Instant};

const DAY: i64 = 86_400_000;

fn failure(code: &str, step: &str) -> Failure {
    Failure { code: code.into(), message: "no".into(), step: Some(ltc_workflow::advance::StepKey(step.into())) }
}

/// A run of a workflow that was asked for and ended then.
async fn ended(store: &dyn Store, id: &str, workflow: &str, created_at: i64, ended_at: i64, rest: RunRest) {
    let lease = Some(crate::place::lease("w", i64::MAX));
    create(store, NewRun { workflow: workflow.into(), created_at: Moment(created_at), lease, ..new_run(id) }).await;
    let commit = Commit { rest: Some(rest), ..Commit::default() };
    store.commit(&run_id(id), &worker("w"), 0, &commit, Moment(ended_at)).await.expect("it ends");
}

fn done() -> RunRest {
    RunRest::Done(json("1"))
}

/// Workflows whose names sort differently by bytes and by words, and an hour and a day apart.
async fn some_runs(store: &dyn Store) {
    for (index, took) in [(1, 10), (2, 20), (3, 30), (4, 1000)] {
        ended(store, &format!("a{index}"), "a", 1000 + index, 1000 + index + took, done()).await;
    }
    ended(store, "f1", "Zed", DAY + 1, DAY + 5, RunRest::Failed(failure("tool-error", "each[1]/put"))).await;
    ended(store, "f2", "a", DAY + 3_600_000, DAY + 3_600_001, RunRest::Failed(failure("timeout", "get"))).await;
    create(store, NewRun { workflow: "a\0b".into(), created_at: Moment(2 * DAY), ..new_run("q") }).await;
}

/// From when, which workflow, which status, how many.
type Counted = (Option<i64>, Option<String>, Option<Status>, u64);

fn counting() -> Counting {
    Counting { limit: 100, ..Counting::default() }
}

pub async fn runs_are_counted_as_they_stand(place: Place) {
    let store = place.open().await;
    assert_eq!(store.count_runs(counting()).await, Ok(Vec::new()));
    some_runs(&*store).await;
    let counted = async |counting: Counting| -> Vec<Counted> {
        let counts = store.count_runs(counting).await.expect("counts");
        let parts = |count: ltc_runtime::store::RunCount| {
            (count.from.map(|from| from.0), count.workflow.map(|name| name.to_string()), count.status, count.runs)
        };
        counts.into_iter().map(parts).collect()
    };
    assert_eq!(counted(counting()).await, [(None, None, None, 7)]);
    let name = |name: &str| Some(name.to_owned());
    // Upper case is before lower case, and a NUL before any letter: by bytes.
    let by_workflow = Counting { by_workflow: true, ..counting() };
    assert_eq!(
        counted(by_workflow.clone()).await,
        [(None, name("Zed"), None, 1), (None, name("a"), None, 5), (None, name("a\0b"), None, 1)]
    );
    let by_both = Counting { by_status: true, every: Some(DAY), ..by_workflow };
    let all = [
        (Some(0), name("a"), Some(Status::Done), 4),
        (Some(DAY), name("Zed"), Some(Status::Failed), 1),
        (Some(DAY), name("a"), Some(Status::Failed), 1),
        (Some(2 * DAY), name("a\0b"), Some(Status::Queued), 1),
    ];
    assert_eq!(counted(by_both.clone()).await, all);
    let page = |offset, limit| Counting { offset, limit, ..by_both.clone() };
    assert_eq!([counted(page(0, 3)).await, counted(page(3, 3)).await].concat(), all);
    // The first instant of a window is in it, the last is not.
    let runs = Window { workflow: Some("a".into()), since: Some(Moment(1002)), until: Some(Moment(1004)) };
    assert_eq!(counted(Counting { runs, ..counting() }).await, [(None, None, None, 2)]);
    assert_eq!(counted(Counting { status: Some(Status::Failed), ..counting() }).await, [(None, None, None, 2)]);
    let hours = counted(Counting { every: Some(3_600_000), status: Some(Status::Failed), ..counting() }).await;
    assert_eq!(hours.iter().map(|hour| hour.0).collect::<Vec<_>>(), [Some(DAY), Some(DAY + 3_600_000)]);
}

pub async fn workflows_are_compared_by_how_their_runs_ended(place: Place) {
    let store = place.open().await;
    some_runs(&*store).await;
    let version = |name: &str, state| NewVersion {
        name: name.into(),
        definition: crate::place::definition(name),
        description: None,
        state,
        made_of: None,
        at: Moment(1),
    };
    for (name, state) in [("a", VersionState::Active), ("idle", VersionState::Active), ("draft", VersionState::Draft)] {
        store.put_version(version(name, state)).await.expect("a version");
    }
    let figures = store.workflow_figures(Window::default()).await.expect("figures");
    let names: Vec<&str> = figures.iter().map(|figures| figures.workflow.as_str()).collect();
    assert_eq!(names, ["Zed", "a", "a\0b", "idle"]);
    // Queued, running, waiting, done, failed, cancelled.
    assert_eq!(
        figures.iter().map(|figures| figures.runs).collect::<Vec<_>>(),
        [[0, 0, 0, 0, 1, 0], [0, 0, 0, 4, 1, 0], [1, 0, 0, 0, 0, 0], [0; 6]]
    );
    // Of 10, 20, 30 and 1000 the second is the median; 95 of 100 are four of four.
    assert_eq!(figures[1].took, Some(Took { median: 20, p95: 1000, longest: 1000 }));
    assert_eq!((figures[1].slowest.clone(), figures[1].last_run_at), (Some(run_id("a4")), Some(Moment(DAY + 3_600_000))));
    assert_eq!((&figures[0].took, &figures[3].took, figures[3].last_run_at), (&None, &None, None));

    let window = Window { workflow: Some("a".into()), since: None, until: Some(Moment(DAY)) };
    let of_a = store.workflow_figures(window).await.expect("figures");
    assert_eq!(of_a.iter().map(|figures| (figures.workflow.as_str(), figures.runs[4])).collect::<Vec<_>>(), [("a", 0)]);
    // One that is active is there although it had no run then.
    let before = Window { until: Some(Moment(1)), ..Window::default() };
    assert_eq!(store.workflow_figures(before).await.expect("figures").len(), 2);
}

pub async fn percentiles_are_durations_that_were_there(place: Place) {
    let store = place.open().await;
    let expected = |n: i64| Took { median: (n + 1) / 2, p95: (95 * n + 99) / 100, longest: n };
    for n in 1..=41_i64 {
        ended(&*store, &format!("r{n}"), "w", n, n + n, done()).await;
        let figures = store.workflow_figures(Window::default()).await.expect("figures");
        assert_eq!(figures[0].took, Some(expected(n)), "{n} runs that took 1 to {n} ms");
    }
}

pub async fn failures_come_newest_first(place: Place) {
    let store = place.open().await;
    some_runs(&*store).await;
    let failed = store.failed_runs(Window::default(), 10).await.expect("runs");
    let seen: Vec<_> = failed.iter().map(|run| (run.run.0.as_str(), run.workflow.as_str(), run.failure.clone())).collect();
    assert_eq!(seen, [("f2", "a", failure("timeout", "get")), ("f1", "Zed", failure("tool-error", "each[1]/put"))]);
    assert_eq!(store.failed_runs(Window::default(), 1).await.expect("runs").len(), 1);
    let window = Window { workflow: Some("Zed".into()), ..Window::default() };
    assert_eq!(store.failed_runs(window, 10).await.expect("runs")[0].run, run_id("f1"));
}

pub async fn events_of_the_newest_runs_come_run_by_run(place: Place) {
    let store = place.open().await;
    for (id, at) in [("old", 1000), ("new", 2000), ("quiet", 3000)] {
        let lease = Some(crate::place::lease("w", i64::MAX));
        create(&*store, NewRun { created_at: Moment(at), lease, ..new_run(id) }).await;
        if id == "quiet" {
            continue;
        }
        let events = vec![
            event("a", at + 1, What::Started),
            event("b", at + 2, What::SleepUntil(Moment(9))),
            event("c", at + 3, What::Escalated(question_id("q"))),
            event("a", at + 4, What::Failed(failure("x", "a"))),
            event("a", at + 5, What::Again),
            event("a", at + 6, What::Succeeded(json("1"))),
        ];
        store.commit(&run_id(id), &worker("w"), 0, &Commit { events, ..Commit::default() }, Moment(at + 9)).await.expect("events");
    }
    let seen = async |runs, limit| -> Vec<(String, i64, Happened)> {
        let events = store.step_events(Window::default(), runs, limit).await.expect("events");
        events.into_iter().map(|event| (event.run.0.to_string(), event.at.0 - event.created_at.0, event.happened)).collect()
    };
    use Happened::{Asked, Else, Failed, Sleeps, Started, Succeeded};
    let happened = [Started, Sleeps, Asked, Failed, Else, Succeeded];
    let of = |run: &str| happened.iter().zip(1..).map(|(what, at)| (run.to_owned(), at, *what)).collect::<Vec<_>>();
    assert_eq!(seen(2, 100).await, [of("new"), of("old")].concat());
    assert_eq!(seen(1, 100).await, of("new"));
    assert_eq!(seen(2, 8).await, [of("new"), of("old")[..2].to_vec()].concat());
}

pub async fn questions_are_summed_up_by_role(place: Place) {
    let store = place.open().await;
    let ask = async |id: &str, role: &str, at: i64, deadline: Option<i64>| {
        let mut new = question(id, None);
        (new.question.role, new.created_at, new.deadline) = (role.into(), Moment(at), deadline.map(Moment));
        store.open_escalation(new).await.expect("it is asked");
    };
    for (id, role, at, deadline) in [
        ("p1", "clerk", 200, None),
        ("p2", "clerk", 100, Some(900)),
        ("c1", "clerk", 50, None),
        ("c2", "clerk", 300, None),
        ("r1", "clerk", 10, None),
        ("r2", "clerk", 20, None),
        ("r3", "Boss", 400, None),
    ] {
        ask(id, role, at, deadline).await;
    }
    for (id, until) in [("c1", 1000), ("c2", 2000)] {
        store.claim_escalation(&question_id(id), &"me".into(), Moment(until), Moment(500)).await.expect("a claim");
    }
    for (id, at) in [("r1", 110), ("r2", 520), ("r3", 450)] {
        let resolution = Resolution { escalation: question_id(id), by: "me".into(), answer: json("1"), event: None, at: Moment(at) };
        store.resolve_escalation(resolution).await.expect("an answer");
    }
    let run = running(&*store, "gone", "w", i64::MAX).await;
    let commit = Commit { opened: vec![question("x", Some(&run))], rest: Some(done()), ..Commit::default() };
    store.commit(&run, &worker("w"), 0, &commit, Moment(3000)).await.expect("it ends");

    let asking = Asking { role: None, since: None, until: Some(Moment(600)), now: Moment(1000) };
    let roles = store.role_figures(asking.clone()).await.expect("figures");
    assert_eq!(roles.iter().map(|role| role.role.as_str()).collect::<Vec<_>>(), ["Boss", "clerk"]);
    let clerk = &roles[1];
    // A claim that runs out just now is none.
    assert_eq!((clerk.pending, clerk.claimed, clerk.overdue, clerk.resolved, clerk.closed), (3, 1, 1, 2, 0));
    assert_eq!(clerk.oldest, Some((question_id("c1"), Moment(50))));
    assert_eq!(clerk.took, Some(Took { median: 100, p95: 500, longest: 500 }));
    assert_eq!((roles[0].oldest.clone(), roles[0].took.map(|took| took.median)), (None, Some(50)));
    let boss = store.role_figures(Asking { role: Some("Boss".into()), ..asking.clone() }).await.expect("figures");
    assert_eq!(boss, roles[..1]);
    let closed = store.role_figures(Asking { since: Some(Moment(600)), until: None, ..asking }).await.expect("figures");
    assert_eq!(closed.iter().map(|role| (role.closed, role.pending)).collect::<Vec<_>>(), [(1, 0)]);
}

pub async fn ten_thousand_runs_are_counted_quickly(place: Place) {
    let store = place.open().await;
    create(&*store, new_run("first")).await;
    place
        .sql(&format!(
            "INSERT INTO runs (id, workflow, definition, status, created_at, updated_at, ended_at, events) {MANY} \
             SELECT 'r' || i, 'w' || (i % 50), (SELECT definition FROM runs), CASE WHEN i % 10 = 0 THEN 'failed' ELSE 'done' END, i, i, i + i % 97, 1 FROM n"
        ))
        .await;
    let failed = r#"CASE WHEN status = 'failed' THEN '{"code":"c","message":"m"}' END"#;
    place.sql(&format!("INSERT INTO run_texts (run, input, failure) SELECT id, '{{}}', {failed} FROM runs WHERE id <> 'first'")).await;
    place.sql("INSERT INTO events (run, seq, step, at, kind, is_end) SELECT id, 1, 'a', created_at, 'started', 0 FROM runs").await;
    let begun = Instant::now();
    for _ in 0..5 {
        let by = Counting { by_workflow: true, by_status: true, every: Some(1000), limit: 1000, ..Counting::default() };
        // The runs of one of the fifty workflows all failed, or none did; the first run is of another workflow.
        assert_eq!(store.count_runs(by).await.expect("counts").len(), 50 * 10 + 1);
        assert_eq!(store.workflow_figures(Window::default()).await.expect("figures").len(), 50 + 1);
        assert_eq!(store.failed_runs(Window::default(), 2000).await.expect("runs").len(), 1000);
        assert_eq!(store.step_events(Window::default(), 1000, 5000).await.expect("events").len(), 1000);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
