//! Laws of the journal: what is written down, by whom, and what becomes of the run.

use crate::place::{Place, create, event, json, lease, new_run, question, question_id, running, worker};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{Commit, EscalationStatus, Event, NewRun, Resolution, RunRest, Settled, Status, StoreError, What};
use ltc_workflow::Value;
use ltc_workflow::advance::{Failure, StepKey};

fn events(events: Vec<Event>) -> Commit {
    Commit { events, ..Commit::default() }
}

pub async fn values_keep_their_digits_and_bytes(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    let texts = [
        "1.0",
        "-0",
        "123456789012345678901234567890",
        "0.1000000000000000000000000000000001",
        "1e400",
        "1E+2",
        "{\"z\":1,\"a\":2,\"\":3}",
        "[null,true,false,[],{}]",
        "\"\\u0000 \\u0001 \\u001f\"",
        "\"\u{1f642}\u{10ffff} \u{2028} Größe\"",
        "\"$1 ' \\\" \\\\ ; --\"",
        "null",
    ];
    let failure = Failure { code: "tool-error".into(), message: "a\0b\u{1}\n".to_owned(), step: Some(StepKey("l[2]/s@2".into())) };
    let mut all: Vec<Event> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| event(&format!("l[{index}]/s"), 10 - index as i64, What::Succeeded(json(text))))
        .collect();
    all.push(event("f", 1, What::Failed(failure.clone())));
    all.push(event("g", 1, What::Failed(Failure { step: None, ..failure })));
    all.push(event("s", 1, What::SleepUntil(Moment(i64::MAX))));
    all.push(event("e\0\u{1}", 1, What::Escalated(question_id("q\0\u{1}"))));
    all.push(event("d", 1, What::Started));
    all.push(event("d", 1, What::Again));
    all.push(event("", 1, What::Cancelled));
    all.extend((0..100).map(|index| event(&format!("many[{index}]"), 2, What::Started)));
    // In parts of every size, behind one another.
    let mut rest = all.as_slice();
    for size in [0, 1, 2, 3, all.len() - 6] {
        let (part, behind) = rest.split_at(size);
        rest = behind;
        let count = (all.len() - rest.len()) as u64;
        assert_eq!(store.commit(&run, &worker("w"), 0, &events(part.to_vec()), Moment(2000)).await, Ok(count));
    }
    let read = place.open().await.events(&run).await.expect("a journal");
    assert_eq!(read, all);
    for (event, text) in read.iter().zip(texts) {
        let What::Succeeded(value) = &event.what else { panic!("{event:?}") };
        assert_eq!(ltc_workflow::json::to_string(value), text);
    }
    let record = store.run(&run).await.expect("an answer").expect("a run");
    assert_eq!((record.events, record.updated_at), (all.len() as u64, Moment(2000)));
}

pub async fn a_step_ends_once_unless_it_is_done_again(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    let other = running(&*store, "other", "w", 5000).await;
    let done = || event("a", 1, What::Succeeded(json("1")));
    let failed = || event("a", 1, What::Failed(Failure { code: "x".into(), message: String::new(), step: None }));
    let again = || event("a", 1, What::Again);
    let commit = async |what: Vec<Event>| store.commit(&run, &worker("w"), 0, &events(what), Moment(1)).await;
    assert_eq!(commit(vec![event("a", 1, What::Started), done()]).await, Ok(2));
    for second in [done(), failed()] {
        assert!(matches!(commit(vec![second]).await, Err(StoreError::Broken(_))));
    }
    // Within one commit, too, and nothing of it stays.
    assert!(matches!(commit(vec![again(), done(), done()]).await, Err(StoreError::Broken(_))));
    assert!(matches!(commit(vec![event("b", 1, What::Succeeded(Value::Null)), done()]).await, Err(StoreError::Broken(_))));
    assert_eq!(store.events(&run).await.expect("a journal").len(), 2);
    assert_eq!(commit(vec![event("b", 1, What::Succeeded(Value::Null)), event("a", 1, What::Started)]).await, Ok(4));
    assert_eq!(commit(vec![again(), failed(), again(), done()]).await, Ok(8));
    assert!(matches!(commit(vec![failed()]).await, Err(StoreError::Broken(_))));
    assert_eq!(commit(vec![again()]).await, Ok(9));
    assert_eq!(commit(vec![done()]).await, Ok(10));
    // Another run's steps are others.
    assert_eq!(store.commit(&other, &worker("w"), 0, &events(vec![done()]), Moment(1)).await, Ok(1));
}

pub async fn answers_that_came_meanwhile_are_not_slept_through(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    let ask = Commit {
        events: vec![event("ask", 1500, What::Escalated(question_id("q"))), event("t", 1500, What::SleepUntil(Moment(9000)))],
        opened: vec![question("q", Some(&run))],
        ..Commit::default()
    };
    assert_eq!(store.commit(&run, &worker("w"), 0, &ask, Moment(1500)).await, Ok(2));
    let answer = Resolution {
        escalation: question_id("q"),
        by: "ann".into(),
        answer: json("true"),
        event: Some(event("ask", 1600, What::Succeeded(json("true")))),
        at: Moment(1600),
    };
    assert!(matches!(store.resolve_escalation(answer).await, Ok(Settled::Done(_))));
    assert_eq!(store.run(&run).await.expect("an answer").expect("a run").status, Status::Running);

    let wait = Commit { rest: Some(RunRest::Waiting { wake_at: Some(Moment(9000)) }), ..Commit::default() };
    assert_eq!(store.commit(&run, &worker("w"), 2, &wait, Moment(1700)).await, Ok(3));
    let record = store.run(&run).await.expect("an answer").expect("a run");
    assert_eq!((record.status, record.wake_at, record.lease), (Status::Queued, None, None));
    assert_eq!(store.claim_runs(lease("v", 5000), Moment(1700), 9).await.expect("runs").len(), 1);
    // Who knows of all lets it wait.
    assert_eq!(store.commit(&run, &worker("v"), 3, &wait, Moment(1800)).await, Ok(3));
    let record = store.run(&run).await.expect("an answer").expect("a run");
    assert_eq!((record.status, record.wake_at, record.lease), (Status::Waiting, Some(Moment(9000)), None));
}

pub async fn an_end_closes_questions_and_the_journal(place: Place) {
    let store = place.open().await;
    let failure = Failure { code: "timeout".into(), message: "too late".to_owned(), step: Some(StepKey("a".into())) };
    let ends = [
        (RunRest::Done(json("1.0")), Status::Done),
        (RunRest::Failed(failure.clone()), Status::Failed),
        (RunRest::Cancelled, Status::Cancelled),
    ];
    for (index, (rest, status)) in ends.into_iter().enumerate() {
        let name = |part: &str| format!("{part}{index}");
        let run = running(&*store, &name("r"), "w", 5000).await;
        let names = [name("open"), name("closed"), name("answered"), name("claimed")];
        let opened = names.iter().map(|name| question(name, Some(&run))).collect();
        assert_eq!(store.commit(&run, &worker("w"), 0, &Commit { opened, ..Commit::default() }, Moment(1100)).await, Ok(0));
        let answer =
            Resolution { escalation: question_id(&name("answered")), by: "ann".into(), answer: json("1"), event: None, at: Moment(1200) };
        assert!(matches!(store.resolve_escalation(answer).await, Ok(Settled::Done(_))));
        let claimed = store.claim_escalation(&question_id(&name("claimed")), &"ann".into(), Moment(9000), Moment(1200)).await;
        assert!(matches!(claimed, Ok(Settled::Done(_))));
        let close = Commit { closed: vec![question_id(&name("closed")), question_id(&name("answered"))], ..Commit::default() };
        assert_eq!(store.commit(&run, &worker("w"), 0, &close, Moment(1300)).await, Ok(0));
        let end = Commit { rest: Some(rest), events: vec![event("a", 1400, What::Succeeded(json("2")))], ..Commit::default() };
        assert_eq!(store.commit(&run, &worker("w"), 0, &end, Moment(1400)).await, Ok(1));

        let record = store.run(&run).await.expect("an answer").expect("a run");
        assert_eq!((record.status, record.ended_at, record.lease, record.wake_at), (status, Some(Moment(1400)), None, None));
        assert_eq!(record.output, (status == Status::Done).then(|| json("1.0")));
        assert_eq!(record.failure, (status == Status::Failed).then(|| failure.clone()));
        for (name, status, ended_at) in [
            ("open", EscalationStatus::Closed, 1400),
            ("closed", EscalationStatus::Closed, 1300),
            ("answered", EscalationStatus::Resolved, 1200),
            ("claimed", EscalationStatus::Closed, 1400),
        ] {
            let question = store.escalation(&question_id(&format!("{name}{index}"))).await.expect("an answer").expect("a question");
            assert_eq!((question.status, question.ended_at, question.claim), (status, Some(Moment(ended_at)), None), "{name}");
        }
        assert_eq!(store.commit(&run, &worker("w"), 1, &Commit::default(), Moment(1500)).await, Err(StoreError::LeaseLost));
        let late = Resolution {
            escalation: question_id(&name("open")),
            by: "ann".into(),
            answer: json("1"),
            event: Some(event("ask", 1, What::Succeeded(json("1")))),
            at: Moment(1500),
        };
        assert!(matches!(store.resolve_escalation(late).await, Ok(Settled::Ended(_))));
        assert_eq!(store.events(&run).await.expect("a journal").len(), 1);
        assert_eq!(store.claim_runs(lease("v", 9000), Moment(8000), 9).await, Ok(Vec::new()));
    }
}

pub async fn a_commit_that_fails_leaves_nothing(place: Place) {
    let store = place.open().await;
    let run = running(&*store, "r", "w", 5000).await;
    store.open_escalation(question("q", None)).await.expect("a question");
    let before = store.run(&run).await;
    let too_deep = (0..200).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    let commits = [
        // A question of that name is there, a value that nobody could read again, a step that ends twice.
        Commit {
            events: vec![event("a", 1, What::Started)],
            opened: vec![question("p", Some(&run)), question("q", Some(&run))],
            ..Commit::default()
        },
        events(vec![event("a", 1, What::Started), event("b", 1, What::Succeeded(too_deep.clone()))]),
        Commit { opened: vec![question("p", Some(&run))], rest: Some(RunRest::Done(too_deep)), ..Commit::default() },
        // A question of a run that is not there.
        Commit { opened: vec![question("p", Some(&crate::place::run_id("nobody")))], ..Commit::default() },
    ];
    for commit in commits {
        assert!(matches!(store.commit(&run, &worker("w"), 0, &commit, Moment(2000)).await, Err(StoreError::Broken(_))), "{commit:?}");
        assert_eq!(store.run(&run).await, before);
        assert_eq!(store.events(&run).await, Ok(Vec::new()));
        assert_eq!(store.escalation(&question_id("p")).await, Ok(None));
    }
    assert_eq!(store.commit(&run, &worker("v"), 0, &Commit::default(), Moment(2000)).await, Err(StoreError::LeaseLost));
    assert_eq!(
        store.commit(&crate::place::run_id("nobody"), &worker("w"), 0, &Commit::default(), Moment(2000)).await,
        Err(StoreError::LeaseLost)
    );
    create(&*store, NewRun { ..new_run("queued") }).await;
    assert_eq!(
        store.commit(&crate::place::run_id("queued"), &worker("w"), 0, &Commit::default(), Moment(2000)).await,
        Err(StoreError::LeaseLost)
    );
}
