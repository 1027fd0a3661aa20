//! The queue of questions to people.

use crate::client::{Client, Served};
use crate::world::{Over, WAYS, World};
use ltc_runtime::store::{EscalationId, EscalationStatus, Status};
use std::sync::Arc;
use std::time::Duration;

pub async fn every_tool_of_the_queue_works_and_fails_as_it_should() {
    let world = World::new().await;
    let store = world.service.driver().store().clone();
    for (over, era) in WAYS {
        let mut client = world.client_of(over, era, "human-queue").await;
        let form = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"number"}}}"#;
        let asked =
            client.call("escalate_to_human", &format!(r#"{{"role":"{over:?}","message":"How many?","data":1e400,"form":{form}}}"#)).await;
        assert!(!asked.is_error, "{}", asked.text);
        assert!(asked.text.contains("1e400"), "{}", asked.text);
        let id = asked.get("/escalation_id");
        assert!(client.call("escalate_to_human", r#"{"role":"r","message":"m","priority":9}"#).await.is_error);
        assert!(client.call("escalate_to_human", r#"{"role":"r"}"#).await.is_error);

        let open = client.call("get_available_work", &format!(r#"{{"role":"{over:?}"}}"#)).await;
        assert_eq!(open.get("/escalations/0/escalation_id"), id);
        assert!(client.call("get_available_work", r#"{"limit":"all"}"#).await.is_error);
        assert_eq!(client.call("check_resolution", &format!(r#"{{"escalation_id":"{id}"}}"#)).await.get("/status"), "pending");
        assert_eq!(client.call("check_resolution", r#"{"escalation_id":"none"}"#).await.get("/code"), "not-found");

        let answer = |payload: &str| format!(r#"{{"escalation_id":"{id}","resolver_id":"me","payload":{payload}}}"#);
        let wrong = client.call("claim_and_resolve", &answer(r#"{"n":"many"}"#)).await;
        assert_eq!((wrong.is_error, wrong.get("/problems/0/place").as_str()), (true, "/payload/n"));
        let missing = client.call("claim_and_resolve", r#"{"escalation_id":"none","resolver_id":"me","payload":1}"#).await;
        assert_eq!((missing.is_error, missing.get("/code").as_str()), (true, "not-found"));
        let now = ltc_runtime::clock::Moment::now();
        store
            .claim_escalation(&EscalationId(id.as_str().into()), &"other".into(), now.after(Duration::from_secs(60)), now)
            .await
            .expect("a claim");
        let claimed = client.call("claim_and_resolve", &answer(r#"{"n":1}"#)).await;
        assert_eq!((claimed.is_error, claimed.get("/code").as_str()), (true, "conflict"));
        assert!(claimed.get("/message").contains("other"));
        store.claim_escalation(&EscalationId(id.as_str().into()), &"other".into(), now, now).await.expect("a claim that is over");
        let right = client.call("claim_and_resolve", &answer(r#"{"n":12345678901234567890123}"#)).await;
        assert!(!right.is_error, "{}", right.text);
        let again = client.call("claim_and_resolve", &answer(r#"{"n":1}"#)).await;
        assert_eq!((again.is_error, again.get("/code").as_str()), (true, "conflict"));
        let kept = store.escalation(&EscalationId(id.as_str().into())).await.expect("a store").expect("it is kept");
        assert_eq!(kept.status, EscalationStatus::Resolved);
        assert_eq!(kept.answer.map(|answer| ltc_workflow::json::to_string(&answer)), Some(r#"{"n":12345678901234567890123}"#.to_owned()));

        let unanswered = client.call("escalate_and_wait", r#"{"role":"nobody","message":"Hello?","timeout_seconds":1}"#).await;
        assert_eq!((unanswered.is_error, unanswered.get("/status").as_str()), (false, "pending"));
        assert!(client.call("escalate_and_wait", "{}").await.is_error);
    }
}

pub async fn of_twenty_answers_one_wins() {
    let world = World::with_workflows().await;
    let served = Arc::new(Served::listening(&[&world.address(), "127.0.0.1:0"]).await);
    let begun = world.operation("invoke_workflow", r#"{"workflow_name":"ask","async":true}"#).await.expect("it begins");
    let run = begun.get("run_id").and_then(|id| id.as_str()).expect("an id").to_owned();
    world.until(&run, Status::Waiting).await;
    let view = world.operation("get_run", &format!(r#"{{"run_id":"{run}"}}"#)).await.expect("it is there");
    let question = crate::client::at(&view, "/escalations/0").as_str().expect("a question").to_owned();
    let answers = (0..20).map(|n| {
        let (served, question) = (served.clone(), question.clone());
        tokio::spawn(async move {
            let era = if n % 2 == 0 { crate::client::Era::Older } else { crate::client::Era::Newer };
            let mut client = Client::at(served, "human-queue", era).await;
            let input = format!(r#"{{"escalation_id":"{question}","resolver_id":"p{n}","payload":{{"ok":{}}}}}"#, n % 2 == 0);
            (n, client.call("claim_and_resolve", &input).await)
        })
    });
    let mut won = Vec::new();
    for answer in answers.collect::<Vec<_>>() {
        let (n, called) = answer.await.expect("an answer");
        if called.is_error {
            assert_eq!(called.get("/code"), "conflict", "{}", called.text);
        } else {
            won.push(n);
        }
    }
    assert_eq!(won.len(), 1);
    let kept = world.until(&run, Status::Done).await;
    assert_eq!(kept.output, Some(crate::world::value(&format!(r#"{{"ok":{}}}"#, won[0] % 2 == 0))));
}

pub async fn an_answer_wakes_who_waits() {
    let world = World::new().await;
    let mut asking = world.client_of(Over::Stdio, crate::client::Era::Older, "human-queue").await;
    let id =
        asking.send("tools/call", r#"{"name":"escalate_and_wait","arguments":{"role":"r","message":"Now?","timeout_seconds":60}}"#).await;
    let mut answering = world.client_of(Over::Http, crate::client::Era::Newer, "human-queue").await;
    let question = loop {
        let open = answering.call("get_available_work", r#"{"role":"r"}"#).await;
        let question = open.get("/escalations/0/escalation_id");
        if !question.is_empty() {
            break question;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let input = format!(r#"{{"escalation_id":"{question}","resolver_id":"me","payload":"yes"}}"#);
    assert!(!answering.call("claim_and_resolve", &input).await.is_error);
    let answer = asking.answer(id).await;
    let called = crate::client::Called::of(&answer);
    assert_eq!((called.get("/status").as_str(), called.get("/payload").as_str()), ("resolved", "yes"));
}
