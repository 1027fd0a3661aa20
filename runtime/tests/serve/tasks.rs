//! Runs as tasks: they live in the store, not in a server.

use crate::client::{Called, Client, Era, at};
use crate::world::{Over, World, value};
use ltc_runtime::store::Status;
use ltc_workflow::{Value, json};
use std::time::Duration;

const TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
const TASKS_AND_FORMS: &str = r#"{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

async fn client(world: &World, over: Over, capabilities: &str) -> Client {
    let mut client = world.client(over, Era::Newer).await;
    client.capabilities = capabilities.to_owned();
    client
}

async fn begun(client: &mut Client, tool: &str, arguments: &str) -> String {
    let answer = client.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)).await;
    assert_eq!(at(&answer, "/result/resultType"), Value::from("task"), "{}", json::to_string(&answer));
    at(&answer, "/result/taskId").as_str().expect("an id").to_owned()
}

async fn task(client: &mut Client, id: &str) -> Value {
    let answer = client.ask("tasks/get", &format!(r#"{{"taskId":"{id}"}}"#)).await;
    answer.get("result").unwrap_or_else(|| panic!("{}", json::to_string(&answer))).clone()
}

async fn until(client: &mut Client, id: &str, status: &str) -> Value {
    for _ in 0..100 {
        let task = task(client, id).await;
        if at(&task, "/status") == status {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{id} does not become {status}")
}

pub async fn a_quick_run_is_answered_directly_and_a_slow_one_becomes_a_task() {
    let world = World::with_workflows().await;
    for over in [Over::Stdio, Over::Http] {
        let mut client = client(&world, over, TASKS).await;
        assert_eq!(client.call("echo", r#"{"n":1.10}"#).await.text, r#"{"n":1.10}"#);
        for (tool, arguments) in
            [("slow", r#"{"millis":2000}"#), ("invoke_workflow", r#"{"workflow_name":"slow","input":{"millis":2000}}"#)]
        {
            let id = begun(&mut client, tool, arguments).await;
            let first = task(&mut client, &id).await;
            assert_eq!(at(&first, "/status"), Value::from("working"), "{}", json::to_string(&first));
            let done = until(&mut client, &id, "completed").await;
            let called = Called::in_result(done.get("result").expect("a result"));
            assert!(!called.is_error);
            // Each has the result that its tool promises.
            let output = if tool == "slow" { called.text } else { json::to_string(&at(&called.structured.expect("a run"), "/output")) };
            assert_eq!(output, r#"{"slept":2000}"#);
            assert_eq!(world.run(&id).await.expect("the task is the run").status, Status::Done);
        }
        // What waits for a person is a task at once.
        let id = begun(&mut client, "ask", "{}").await;
        assert_eq!(at(&task(&mut client, &id).await, "/status"), Value::from("working"));
        let unknown = client.ask("tasks/get", r#"{"taskId":"none"}"#).await;
        assert_eq!(at(&unknown, "/error/code"), Value::from(-32602_i64));
        client.ask("tasks/cancel", &format!(r#"{{"taskId":"{id}"}}"#)).await;
    }
}

pub async fn a_task_outlives_its_server_and_any_other_answers_for_it() {
    let world = World::with_workflows().await;
    let mut first = client(&world, Over::Stdio, TASKS).await;
    let id = begun(&mut first, "slow", r#"{"millis":2500}"#).await;
    let mut second = client(&world, Over::Http, TASKS).await;
    assert_eq!(at(&task(&mut second, &id).await, "/status"), Value::from("working"));
    // The first ends; whoever works on runs over the store goes on.
    first.close();
    first.ended().await;
    let done = until(&mut second, &id, "completed").await;
    assert_eq!(at(&done, "/result/structuredContent"), value(r#"{"slept":2500}"#), "{}", json::to_string(&done));
    drop(second);
    let mut third = client(&world, Over::Stdio, TASKS).await;
    assert_eq!(at(&task(&mut third, &id).await, "/result/structuredContent"), value(r#"{"slept":2500}"#));
    assert_eq!(world.calls("count").len(), 1, "what has ended is not done again");
}

pub async fn a_client_that_does_not_declare_tasks_gets_none() {
    let world = World::with_workflows().await;
    for (over, era) in crate::world::WAYS {
        let mut client = world.client(over, era).await;
        let called = client.call("slow", r#"{"millis":1300}"#).await;
        assert_eq!(called.text, r#"{"slept":1300}"#);
        let run = world.runs().await.remove(0);
        let refused = client.ask("tasks/get", &format!(r#"{{"taskId":"{run}"}}"#)).await;
        assert!(refused.get("error").is_some(), "{}", json::to_string(&refused));
    }
}

pub async fn an_open_question_is_an_input_request_and_is_answered_once() {
    let world = World::with_workflows().await;
    for over in [Over::Stdio, Over::Http] {
        let mut client = client(&world, over, TASKS_AND_FORMS).await;
        let id = begun(&mut client, "ask", "{}").await;
        let waiting = until(&mut client, &id, "input_required").await;
        let requests = at(&waiting, "/inputRequests");
        let (question, request) = requests.as_object().expect("requests").iter().next().expect("one request");
        assert_eq!(at(request, "/params/message"), Value::from("May I?"));
        assert_eq!(at(request, "/params/requestedSchema/properties/ok/type"), Value::from("boolean"));
        let question = question.to_string();
        let update = |answers: String| format!(r#"{{"taskId":"{id}","inputResponses":{{{answers}}}}}"#);
        for wrong in [
            format!(r#""{question}":{{"action":"decline"}}"#),
            format!(r#""{question}":{{"action":"accept","content":{{"ok":"perhaps"}}}}"#),
        ] {
            let refused = client.ask("tasks/update", &update(wrong)).await;
            assert_eq!(at(&refused, "/error/code"), Value::from(-32602_i64), "{}", json::to_string(&refused));
        }
        let right = format!(r#""{question}":{{"action":"accept","content":{{"ok":true}}}}"#);
        let taken = client.ask("tasks/update", &update(right.clone())).await;
        assert!(taken.get("result").is_some(), "{}", json::to_string(&taken));
        let done = until(&mut client, &id, "completed").await;
        assert_eq!(at(&done, "/result/structuredContent"), value(r#"{"ok":true}"#));
        // An answer to nothing, or a second one, is let pass and changes nothing.
        for late in [right.replace("true", "false"), r#""none":{"action":"accept","content":{"ok":true}}"#.to_owned()] {
            let passed = client.ask("tasks/update", &update(late)).await;
            assert!(passed.get("result").is_some(), "{}", json::to_string(&passed));
        }
        assert_eq!(world.run(&id).await.expect("it is kept").output, Some(value(r#"{"ok":true}"#)));
        let kept = world.operation("check_resolution", &format!(r#"{{"escalation_id":"{question}"}}"#)).await.expect("it is kept");
        assert_eq!((at(&kept, "/status"), at(&kept, "/resolver_id")), (Value::from("resolved"), Value::from("test")));
    }
}

pub async fn a_question_that_no_form_can_say_is_left_to_the_queue() {
    let world = World::with_workflows().await;
    let nested = "  - id: ask\n    escalate: { role: reviewer, message: \"Which?\", form: { type: object, properties: { all: { type: array, items: { type: object } } } } }\n";
    world.deploy("nested", "{}", nested, "{ all: \"${{ steps.ask.all }}\" }").await;
    for (tool, capabilities) in [("nested", TASKS_AND_FORMS), ("ask", TASKS)] {
        let mut client = client(&world, Over::Stdio, capabilities).await;
        let begun = client.call("invoke_workflow", &format!(r#"{{"workflow_name":"{tool}","async":true}}"#)).await;
        let id = begun.get("/run_id");
        world.until(&id, Status::Waiting).await;
        let waiting = task(&mut client, &id).await;
        assert_eq!(at(&waiting, "/status"), Value::from("working"), "{}", json::to_string(&waiting));
        assert!(at(&waiting, "/statusMessage").as_str().expect("words").contains("reviewer"), "{}", json::to_string(&waiting));
    }
}

pub async fn a_cancelled_task_is_a_cancelled_run() {
    let world = World::with_workflows().await;
    let mut client = client(&world, Over::Stdio, TASKS).await;
    let id = begun(&mut client, "slow", r#"{"millis":2500}"#).await;
    let taken = client.ask("tasks/cancel", &format!(r#"{{"taskId":"{id}"}}"#)).await;
    assert!(taken.get("result").is_some(), "{}", json::to_string(&taken));
    let cancelled = until(&mut client, &id, "cancelled").await;
    assert_eq!(cancelled.get("result"), None);
    assert_eq!(world.run(&id).await.expect("it is kept").status, Status::Cancelled);
    assert!(world.calls("count").is_empty(), "no step was begun any more");
    // One that nobody works on is cancelled by any process, at once.
    let id = begun(&mut client, "ask", "{}").await;
    let mut other = self::client(&world, Over::Http, TASKS).await;
    other.ask("tasks/cancel", &format!(r#"{{"taskId":"{id}"}}"#)).await;
    assert_eq!(at(&task(&mut client, &id).await, "/status"), Value::from("cancelled"));
    let unknown = client.ask("tasks/cancel", r#"{"taskId":"none"}"#).await;
    assert_eq!(at(&unknown, "/error/code"), Value::from(-32602_i64));
}

pub async fn who_listens_to_a_task_hears_of_its_end() {
    let world = World::with_workflows().await;
    let mut worker = client(&world, Over::Stdio, TASKS).await;
    let id = begun(&mut worker, "slow", r#"{"millis":2500}"#).await;
    // Another process tells of it.
    let mut listener = client(&world, Over::Stdio, TASKS).await;
    let listening = listener.send("subscriptions/listen", &format!(r#"{{"notifications":{{"taskIds":["{id}"]}}}}"#)).await;
    let acknowledged = listener.next().await;
    assert_eq!(at(&acknowledged, "/params/notifications/taskIds/0"), Value::from(id.as_str()), "{}", json::to_string(&acknowledged));
    let mut seen = Vec::new();
    loop {
        let note = listener.next().await;
        assert_eq!(at(&note, "/method"), Value::from("notifications/tasks"), "{}", json::to_string(&note));
        let meta = at(&note, "/params/_meta");
        assert_eq!(meta.get("io.modelcontextprotocol/subscriptionId"), Some(&Value::from(listening)));
        seen.push(at(&note, "/params/status").as_str().expect("a status").to_owned());
        if seen.last().is_some_and(|status| status == "completed") {
            assert_eq!(at(&note, "/params/result/structuredContent"), value(r#"{"slept":2500}"#));
            break;
        }
    }
    assert_eq!(seen.first().map(String::as_str), Some("working"));
}
