//! Clients hear that the tools have changed, whoever changed them.

use crate::client::{Era, at};
use crate::world::{Over, World};
use ltc_workflow::{Value, json};

pub async fn a_deployment_in_another_process_is_heard_of_in_both_eras() {
    let world = World::new().await;
    let mut older = world.client(Over::Stdio, Era::Older).await;
    let mut newer = world.client(Over::Stdio, Era::Newer).await;
    newer.send("subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#).await;
    let acknowledged = newer.next().await;
    assert_eq!(at(&acknowledged, "/params/notifications/toolsListChanged"), Value::from(true), "{}", json::to_string(&acknowledged));
    // The first number is known when the tools are listed a while after the beginning.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    for action in 0..2 {
        if action == 0 {
            world.deploy("fresh", "{}", "  - id: a\n    set: { x: 1 }\n", "{ a: 1 }").await;
        } else {
            world.operation("set_workflow_state", r#"{"workflow_name":"fresh","state":"archived"}"#).await.expect("it is archived");
        }
        for client in [&mut older, &mut newer] {
            let note = client.next().await;
            assert_eq!(at(&note, "/method"), Value::from("notifications/tools/list_changed"), "{}", json::to_string(&note));
            let list = client.ask("tools/list", "{}").await;
            assert_eq!(crate::client::names(&list).contains(&"fresh".to_owned()), action == 0);
        }
    }
}

/// The events of a stream that stays open.
async fn event(stream: &mut reqwest::Response) -> Value {
    let mut text = String::new();
    loop {
        let chunk = tokio::time::timeout(std::time::Duration::from_secs(20), stream.chunk()).await.expect("in time").expect("it is open");
        text.push_str(&String::from_utf8_lossy(&chunk.expect("it is open")));
        if text.ends_with('\n')
            && let Some(message) = crate::client::messages(&text).into_iter().next()
        {
            return message;
        }
    }
}

pub async fn a_deployment_is_heard_of_over_http_too() {
    let world = World::new().await;
    let older = world.client(Over::Http, Era::Older).await;
    let newer = world.client(Over::Http, Era::Newer).await;
    let mut streams = vec![older.stream("").await];
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listen = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{{"_meta":{meta},"notifications":{{"toolsListChanged":true}}}}}}"#
    );
    let mut listening = newer.stream(&listen).await;
    let acknowledged = event(&mut listening).await;
    assert_eq!(at(&acknowledged, "/params/notifications/toolsListChanged"), Value::from(true), "{}", json::to_string(&acknowledged));
    streams.push(listening);
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    world.deploy("fresh", "{}", "  - id: a\n    set: { x: 1 }\n", "{ a: 1 }").await;
    for stream in &mut streams {
        let note = event(stream).await;
        assert_eq!(at(&note, "/method"), Value::from("notifications/tools/list_changed"), "{}", json::to_string(&note));
    }
}
