//! Laws of questions to people.

use crate::place::{Place, event, json, lease, question, question_id, run_id, running, worker};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{
    Commit, EscalationFilter, EscalationId, EscalationStatus, NewEscalation, Question, Resolution, RunRest, Settled, Status, StoreError,
    What,
};

fn answer(name: &str, by: &str, at: i64) -> Resolution {
    Resolution {
        escalation: question_id(name),
        by: by.into(),
        answer: json(&format!("{{\"by\":\"{by}\",\"n\":1.0}}")),
        event: Some(event("ask", at, What::Succeeded(json(&format!("\"{by}\""))))),
        at: Moment(at),
    }
}

pub async fn one_of_many_answers_counts(place: Place) {
    let stores = [place.open().await, place.open().await];
    for round in 0..5 {
        let run = running(&*stores[0], &format!("r{round}"), "w", 5000).await;
        let name = format!("q{round}");
        let ask = Commit {
            events: vec![event("ask", 1500, What::Escalated(question_id(&name)))],
            opened: vec![question(&name, Some(&run))],
            rest: Some(RunRest::Waiting { wake_at: Some(Moment(90_000)) }),
            ..Commit::default()
        };
        assert_eq!(stores[0].commit(&run, &worker("w"), 0, &ask, Moment(1500)).await, Ok(1));
        let mut tasks = tokio::task::JoinSet::new();
        for index in 0..20 {
            let (store, resolution) = (stores[index % 2].clone(), answer(&name, &format!("p{index}"), 1600));
            tasks.spawn(async move { store.resolve_escalation(resolution).await.expect("an answer") });
        }
        let settled = tasks.join_all().await;
        let done: Vec<_> =
            settled.iter().filter_map(|settled| if let Settled::Done(record) = settled { Some(record) } else { None }).collect();
        assert_eq!(done.len(), 1, "{settled:?}");
        let record = stores[1].escalation(&question_id(&name)).await.expect("an answer").expect("a question");
        assert_eq!(*done[0], Box::new(record.clone()));
        assert!(settled.iter().all(|settled| matches!(settled, Settled::Done(_)) || *settled == Settled::Ended(Box::new(record.clone()))));
        let by = record.resolved_by.clone().expect("somebody");
        assert_eq!(record.answer, Some(answer(&name, &by, 1600).answer));
        assert_eq!((record.status, record.ended_at, record.claim), (EscalationStatus::Resolved, Some(Moment(1600)), None));
        // The event is there once, and the run goes on.
        let journal = stores[1].events(&run).await.expect("a journal");
        assert_eq!(journal.len(), 2);
        assert_eq!(Some(&journal[1]), answer(&name, &by, 1600).event.as_ref());
        let run = stores[1].run(&run).await.expect("an answer").expect("a run");
        assert_eq!((run.status, run.wake_at, run.events, run.updated_at), (Status::Queued, None, 2, Moment(1600)));
        assert_eq!(stores[0].claim_runs(lease("v", 99_000), Moment(1600), 9).await.expect("runs").len(), 1);
    }
    assert_eq!(stores[0].resolve_escalation(answer("nothing", "ann", 1)).await, Ok(Settled::NoSuchEscalation));

    // Answers and ends of the run at once: one is first, and nobody waits for another for ever.
    for round in 0..20 {
        let run = running(&*stores[0], &format!("s{round}"), "w", 5000).await;
        let name = format!("s{round}");
        let ask = Commit { opened: vec![question(&name, Some(&run))], ..Commit::default() };
        assert_eq!(stores[0].commit(&run, &worker("w"), 0, &ask, Moment(1500)).await, Ok(0));
        let end = Commit { rest: Some(RunRest::Done(json("1"))), ..Commit::default() };
        let by = worker("w");
        let (ended, settled) =
            tokio::join!(stores[0].commit(&run, &by, 0, &end, Moment(1600)), stores[1].resolve_escalation(answer(&name, "ann", 1600)));
        let events = stores[0].events(&run).await.expect("a journal").len() as u64;
        match settled.expect("an answer") {
            Settled::Done(_) => assert_eq!((ended, events), (Ok(1), 1)),
            Settled::Ended(_) => assert_eq!((ended, events), (Ok(0), 0)),
            other => panic!("{other:?}"),
        }
    }
}

pub async fn claims_hold_until_they_run_out(place: Place) {
    let store = place.open().await;
    store.open_escalation(question("q", None)).await.expect("a question");
    let id = question_id("q");
    let claim = async |by: &str, until: i64, now: i64| {
        store.claim_escalation(&id, &by.into(), Moment(until), Moment(now)).await.expect("an answer")
    };
    let Settled::Done(record) = claim("ann", 2000, 1000).await else { panic!("nobody has it") };
    assert_eq!((record.status, &record.claim), (EscalationStatus::Claimed, &Some(("ann".into(), Moment(2000)))));
    assert_eq!(store.escalation(&id).await, Ok(Some(*record)));
    assert_eq!(claim("bob", 5000, 1999).await, Settled::ClaimedBy("ann".into()));
    assert_eq!(store.resolve_escalation(answer("q", "bob", 1999)).await, Ok(Settled::ClaimedBy("ann".into())));
    assert!(matches!(claim("ann", 3000, 1999).await, Settled::Done(_)));
    assert_eq!(claim("bob", 5000, 2999).await, Settled::ClaimedBy("ann".into()));
    assert!(matches!(claim("bob", 5000, 3000).await, Settled::Done(_)));
    assert_eq!(store.resolve_escalation(answer("q", "ann", 3100)).await, Ok(Settled::ClaimedBy("bob".into())));
    // A claim that has run out keeps nobody from answering.
    assert!(matches!(store.resolve_escalation(answer("q", "ann", 5000)).await, Ok(Settled::Done(_))));
    assert!(matches!(claim("bob", 9000, 6000).await, Settled::Ended(_)));
    let nothing = store.claim_escalation(&question_id("nothing"), &"ann".into(), Moment(1), Moment(0)).await;
    assert_eq!(nothing, Ok(Settled::NoSuchEscalation));

    store.open_escalation(question("mine", None)).await.expect("a question");
    let mine = store.claim_escalation(&question_id("mine"), &"ann".into(), Moment(2000), Moment(1000)).await;
    assert!(matches!(mine, Ok(Settled::Done(_))));
    assert!(matches!(store.resolve_escalation(answer("mine", "ann", 1500)).await, Ok(Settled::Done(_))));

    let mut tasks = tokio::task::JoinSet::new();
    store.open_escalation(question("wanted", None)).await.expect("a question");
    for index in 0..20 {
        let store = store.clone();
        tasks.spawn(async move {
            store
                .claim_escalation(&question_id("wanted"), &format!("p{index}").into(), Moment(2000), Moment(1000))
                .await
                .expect("an answer")
        });
    }
    let settled = tasks.join_all().await;
    assert_eq!(settled.iter().filter(|settled| matches!(settled, Settled::Done(_))).count(), 1, "{settled:?}");
}

pub async fn lists_are_in_order_of_urgency(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    for (name, role, priority, at, of_run) in [
        ("late", "reviewer", 2, 1200, false),
        ("early", "reviewer", 2, 1100, true),
        ("urgent", "admin\0", 1, 1300, false),
        ("idle", "reviewer", 4, 1000, false),
        ("done", "reviewer", 1, 900, false),
        ("held", "reviewer", 3, 1000, false),
    ] {
        let mut new = question(name, of_run.then_some(&run));
        new.question = Question { role: role.into(), priority, message: format!("{name}\0"), ..new.question };
        new.created_at = Moment(at);
        store.open_escalation(new).await.expect("a question");
    }
    assert!(matches!(store.resolve_escalation(Resolution { event: None, ..answer("done", "ann", 1400) }).await, Ok(Settled::Done(_))));
    let held = store.claim_escalation(&question_id("held"), &"ann".into(), Moment(2000), Moment(1000)).await;
    assert!(matches!(held, Ok(Settled::Done(_))));

    let all = EscalationFilter { role: None, status: None, run: None, now: Moment(1999), limit: 100 };
    let names = async |filter: EscalationFilter| {
        let list = store.escalations(filter).await.expect("a list");
        list.into_iter().map(|record| record.id.0.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(all.clone()).await, ["done", "urgent", "early", "late", "held", "idle"]);
    assert_eq!(names(EscalationFilter { limit: 2, ..all.clone() }).await, ["done", "urgent"]);
    assert_eq!(names(EscalationFilter { role: Some("admin\0".into()), ..all.clone() }).await, ["urgent"]);
    assert_eq!(names(EscalationFilter { run: Some(run.clone()), ..all.clone() }).await, ["early"]);
    let of = |status: EscalationStatus| EscalationFilter { status: Some(status), ..all.clone() };
    assert_eq!(names(of(EscalationStatus::Pending)).await, ["urgent", "early", "late", "idle"]);
    assert_eq!(names(of(EscalationStatus::Claimed)).await, ["held"]);
    assert_eq!(names(of(EscalationStatus::Resolved)).await, ["done"]);
    assert_eq!(names(of(EscalationStatus::Closed)).await, Vec::<String>::new());
    // When the claim has run out, it is none.
    let later = EscalationFilter { now: Moment(2000), role: Some("reviewer".into()), ..of(EscalationStatus::Pending) };
    assert_eq!(names(later.clone()).await, ["early", "late", "held", "idle"]);
    assert_eq!(names(EscalationFilter { status: Some(EscalationStatus::Claimed), ..later.clone() }).await, Vec::<String>::new());
    let list = store.escalations(later).await.expect("a list");
    assert!(list.iter().all(|record| record.status == EscalationStatus::Pending && record.claim.is_none()));
}

pub async fn opening_twice_is_opening_once(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    let new = NewEscalation {
        id: EscalationId("q\0\u{1}".into()),
        question: Question {
            role: "a\0".into(),
            kind: "'".into(),
            subkind: "".into(),
            priority: 4,
            message: "\u{1}\u{1f642}".to_owned(),
            data: Some(json("[1.0,\"\\u0000\"]")),
            form: Some(json("{\"type\":\"object\"}")),
        },
        deadline: Some(Moment(7)),
        ..question("q", Some(&run))
    };
    assert_eq!(store.open_escalation(new.clone()).await, Ok(()));
    assert_eq!(store.open_escalation(new.clone()).await, Ok(()));
    let other = NewEscalation { created_at: Moment(8), ..new.clone() };
    assert!(matches!(store.open_escalation(other).await, Err(StoreError::Broken(_))));
    let record = store.escalation(&new.id).await.expect("an answer").expect("a question");
    assert_eq!((record.id, record.asked_by, record.question), (new.id, new.asked_by, new.question));
    assert_eq!((record.status, record.created_at, record.deadline), (EscalationStatus::Pending, new.created_at, new.deadline));
    assert_eq!((record.claim, record.ended_at, record.resolved_by, record.answer), (None, None, None, None));
    assert_eq!(store.escalation(&question_id("nothing")).await, Ok(None));
    assert_eq!(store.run(&run_id("r")).await.expect("an answer").expect("a run").events, 0);
    assert!(matches!(store.open_escalation(question("lost", Some(&run_id("nobody")))).await, Err(StoreError::Broken(_))));
}
