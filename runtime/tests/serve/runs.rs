//! Runs through tools: outputs, failures, refusals, progress, cancelling.

use crate::client::{Called, Client, Era, Way, at, names};
use crate::world::{Over, WAYS, World, value};
use ltc_runtime::store::Status;
use ltc_workflow::{Value, json};
use std::time::Duration;

const NUMBERS: &str = r#"[123456789012345678901234567890,1.10,1e400,-0,{"b":"\u0000","a":null}]"#;

pub async fn a_workflow_is_a_tool_whose_result_is_its_output() {
    let world = World::with_workflows().await;
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        let called = client.call("echo", &format!(r#"{{"n":{NUMBERS}}}"#)).await;
        assert!(!called.is_error, "{}", called.text);
        assert_eq!(called.text, json::to_string(&value(&format!(r#"{{"n":{NUMBERS}}}"#))));
        assert!(called.structured.is_some());
        let run = at(&called.meta, "/ltc~1run");
        let run = if run.is_null() { called.meta.get("ltc/run").cloned().unwrap_or_default() } else { run };
        let kept = world.run(run.as_str().expect("the run is named")).await.expect("it is kept");
        assert_eq!(kept.status, Status::Done);
        assert_eq!(kept.output.map(|output| json::to_string(&output)), Some(called.text));
        // An output that is no object is structured content for clients that take it.
        let bare = client.call("bare", r#"{"n":1.10}"#).await;
        assert_eq!((bare.text.as_str(), bare.structured.is_some()), ("1.10", era == Era::Newer));
    }
    let echoed = json::to_string(&value(&format!(r#"{{"n":{NUMBERS}}}"#)));
    assert_eq!(world.calls("echo"), vec![echoed; WAYS.len()]);
}

pub async fn a_run_that_fails_says_where_and_why() {
    let world = World::with_workflows().await;
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        for (tool, arguments) in
            [("fail", r#"{"words":"no such page"}"#), ("invoke_workflow", r#"{"workflow_name":"fail","input":{"words":"no such page"}}"#)]
        {
            let called = client.call(tool, arguments).await;
            assert!(called.is_error, "{}", called.text);
            assert_eq!(called.get("/failure/code"), "tool-error");
            assert_eq!(called.get("/failure/step"), "a");
            assert!(called.get("/failure/message").contains("no such page"), "{}", called.text);
            let kept = world.run(&called.get("/run_id")).await.expect("it is kept");
            assert_eq!(kept.status, Status::Failed);
        }
    }
}

pub async fn a_refused_input_says_every_place_and_leaves_nothing() {
    let world = World::with_workflows().await;
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        let called = client.call("slow", r#"{"millis":"soon","wrong":1}"#).await;
        assert!(called.is_error);
        assert_eq!(called.get("/code"), "invalid");
        let places: Vec<String> = (0..2).map(|n| called.get(&format!("/problems/{n}/place"))).collect();
        assert_eq!(places, ["/wrong", "/millis"], "{}", called.text);
        // The input of an operation too.
        let called = client.call("get_run", r#"{"run_id":7,"extra":true}"#).await;
        assert!(called.is_error);
        let places: Vec<String> = (0..2).map(|n| called.get(&format!("/problems/{n}/place"))).collect();
        assert!(places.contains(&"/run_id".to_owned()) && places.contains(&"/".to_owned()), "{}", called.text);
    }
    assert!(world.runs().await.is_empty());
}

pub async fn an_unknown_tool_is_an_error_of_the_protocol() {
    let world = World::with_workflows().await;
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        // The last two are there, but not as tools of this server.
        for tool in ["nonsense", "WORKFLOW_echo", "claim_and_resolve", "deploy_workflow"] {
            let answer = client.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{}}}}"#)).await;
            assert_eq!(at(&answer, "/error/code"), Value::from(-32602_i64), "{}", json::to_string(&answer));
            assert!(at(&answer, "/error/message").as_str().expect("words").contains("Unknown tool"));
        }
    }
}

pub async fn every_operation_on_runs_works_and_fails_as_it_should() {
    let world = World::with_workflows().await;
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        let list = client.call("list_workflows", "{}").await;
        assert_eq!(list.get("/workflows/1/name"), "bare", "{}", list.text);
        assert!(client.call("list_workflows", r#"{"after":"nonsense"}"#).await.is_error);
        let shown = client.call("get_workflow", r#"{"workflow_name":"echo"}"#).await;
        assert!(shown.get("/document").contains("call: u/echo"), "{}", shown.text);
        assert_eq!(client.call("get_workflow", r#"{"workflow_name":"none"}"#).await.get("/code"), "not-found");
        assert_eq!(client.call("invoke_workflow", r#"{"workflow_name":"none"}"#).await.get("/code"), "not-found");

        let invoked = client.call("invoke_workflow", r#"{"workflow_name":"echo","input":{"n":1.10}}"#).await;
        assert!(!invoked.is_error);
        let output = at(invoked.structured.as_ref().expect("a run"), "/output");
        assert_eq!(json::to_string(&output), r#"{"n":1.10}"#);
        let id = invoked.get("/run_id");
        let got = client.call("get_run", &format!(r#"{{"run_id":"{id}","events":true}}"#)).await;
        assert_eq!(got.get("/status"), "done");
        assert_eq!(got.get("/events/0/event"), "succeeded", "{}", got.text);
        let missing = client.call("get_run", r#"{"run_id":"none"}"#).await;
        assert_eq!((missing.is_error, missing.get("/code").as_str()), (true, "not-found"));
        assert_eq!(client.call("list_runs", r#"{"limit":1}"#).await.get("/runs/0/run_id"), id);

        let begun = client.call("invoke_workflow", r#"{"workflow_name":"ask","async":true}"#).await;
        assert!(!begun.is_error);
        let id = begun.get("/run_id");
        world.until(&id, Status::Waiting).await;
        let resumed = client.call("resume_run", &format!(r#"{{"run_id":"{id}"}}"#)).await;
        assert_eq!((resumed.is_error, resumed.get("/status").as_str()), (false, "waiting"));
        assert_eq!(client.call("resume_run", r#"{"run_id":"none"}"#).await.get("/code"), "not-found");
        let cancelled = client.call("cancel_run", &format!(r#"{{"run_id":"{id}"}}"#)).await;
        assert_eq!((cancelled.is_error, cancelled.get("/status").as_str()), (false, "cancelled"));
        assert_eq!(world.run(&id).await.expect("it is kept").status, Status::Cancelled);
        assert_eq!(client.call("cancel_run", r#"{"run_id":"none"}"#).await.get("/code"), "not-found");
    }
}

pub async fn a_workflow_named_as_an_operation_is_told_apart() {
    let world = World::new().await;
    world.deploy("get_run", "{}", "  - id: a\n    set: { x: 1 }\n", "{ mine: \"yes\" }").await;
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        let list = names(&client.ask("tools/list", "{}").await);
        assert_eq!(list.iter().filter(|name| name.contains("get_run")).collect::<Vec<_>>(), ["get_run", "WORKFLOW_get_run"]);
        assert_eq!(client.call("WORKFLOW_get_run", "{}").await.text, r#"{"mine":"yes"}"#);
        assert!(client.call("get_run", "{}").await.is_error);
    }
}

pub async fn a_run_that_waits_for_a_person_is_answered_with() {
    let world = World::with_workflows().await;
    let mut client = world.client(Over::Stdio, Era::Older).await;
    let called = client.call("ask", "{}").await;
    assert_eq!((called.is_error, called.get("/status").as_str()), (false, "waiting"));
    assert!(!called.get("/escalations/0").is_empty(), "{}", called.text);
    assert_eq!(world.run(&called.get("/run_id")).await.expect("it is kept").status, Status::Waiting);
}

pub async fn progress_names_the_steps_in_their_order() {
    let world = World::with_workflows().await;
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        let params = r#"{"name":"slow","arguments":{"millis":10},"_meta":{"progressToken":"p"}}"#;
        let answer = client.ask("tools/call", params).await;
        assert!(!Called::of(&answer).is_error);
        let told: Vec<String> = client.notes.iter().map(|note| json::to_string(note.get("params").unwrap_or(&Value::Null))).collect();
        let expected = [(1, "first"), (2, "second")]
            .map(|(count, step)| format!(r#"{{"progressToken":"p","progress":{count}.0,"message":"{step}"}}"#));
        let same = |told: &String, expected: &String| {
            let (told, expected) = (value(told), value(expected));
            let number = |value: &Value| at(value, "/progress").as_number().map(|n| n.as_f64());
            at(&told, "/message") == at(&expected, "/message")
                && number(&told) == number(&expected)
                && at(&told, "/progressToken") == at(&expected, "/progressToken")
        };
        assert!(told.len() == 2 && told.iter().zip(&expected).all(|(told, expected)| same(told, expected)), "{over:?} {era:?} {told:?}");
    }
}

/// The one run that there is, once its first step is under way.
async fn run_under_way(world: &World) -> String {
    for _ in 0..100 {
        if !world.calls("sleep").is_empty() {
            return world.runs().await.remove(0);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no run begins")
}

pub async fn a_cancelled_request_cancels_its_run() {
    for era in [Era::Older, Era::Newer] {
        let world = World::with_workflows().await;
        let mut client = world.client(Over::Stdio, era).await;
        let id = client.send("tools/call", r#"{"name":"slow","arguments":{"millis":1500}}"#).await;
        let run = run_under_way(&world).await;
        client.tell("notifications/cancelled", &format!(r#"{{"requestId":{id}}}"#)).await;
        world.until(&run, Status::Cancelled).await;
        // Nothing was begun behind the step that was under way, and there is no answer to what was cancelled.
        assert!(world.calls("count").is_empty());
        let next = client.send("tools/list", "{}").await;
        client.answer(next).await;
        assert!(client.notes.iter().all(|note| note.get("id") != Some(&Value::from(id))));
    }
}

pub async fn who_hangs_up_cancels_the_run_in_the_newer_era_and_leaves_it_alone_in_the_older() {
    for era in [Era::Older, Era::Newer] {
        let world = World::with_workflows().await;
        let client: Client = world.client(Over::Http, era).await;
        let Way::Http(http) = &client.way else { panic!("it is HTTP") };
        let served = http.served.clone();
        let lost = tokio::spawn(async move {
            let mut client = client;
            client.call("slow", r#"{"millis":1500}"#).await
        });
        let run = run_under_way(&world).await;
        lost.abort();
        match era {
            Era::Older => {
                let kept = world.until(&run, Status::Done).await;
                assert_eq!(kept.output, Some(value(r#"{"slept":1500}"#)));
                assert_eq!(world.calls("count").len(), 1);
            }
            Era::Newer => {
                world.until(&run, Status::Cancelled).await;
                assert!(world.calls("count").is_empty());
            }
        }
        drop(served);
    }
}
