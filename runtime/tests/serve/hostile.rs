//! What no client should send.

use crate::client::{Era, at};
use crate::world::{Over, WAYS, World, value};
use ltc_workflow::{Value, json};

pub async fn odd_arguments_change_nothing_and_stay_what_they_are() {
    let world = World::with_workflows().await;
    let deep = |depth: usize| format!(r#"{{"n":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    for (over, era) in WAYS {
        let mut client = world.client(over, era).await;
        let odd = [
            r#"{"n":"\u0000\u001b[31m\u202e"}"#.to_owned(),
            r#"{"n":99999999999999999999999999999999999999}"#.to_owned(),
            r#"{"n":{"ltc.private/exact":"[1]","$ref":"x","__proto__":{}}}"#.to_owned(),
            r#"{"n":"${{ secrets.X }} ${HOME}"}"#.to_owned(),
            deep(60),
        ];
        for arguments in odd {
            let called = client.call("echo", &arguments).await;
            assert!(!called.is_error, "{}", called.text);
            assert_eq!(called.text, json::to_string(&value(&arguments)));
        }
        // What cannot be a workflow's or a run's name is no path and no pattern either.
        for name in ["../../etc/passwd", "\\u0000", "%", "'; drop table runs; --"] {
            let called = client.call("get_workflow", &format!(r#"{{"workflow_name":"{name}"}}"#)).await;
            assert_eq!(called.get("/code"), "not-found", "{}", called.text);
            let called = client.call("get_run", &format!(r#"{{"run_id":"{name}"}}"#)).await;
            assert_eq!(called.get("/code"), "not-found", "{}", called.text);
        }
        // A private key of ours does not overrule the arguments.
        let params = r#"{"name":"echo","arguments":{"n":1},"_meta":{"ltc.private/arguments":"{\"n\":2}"}}"#;
        let answer = client.ask("tools/call", params).await;
        assert_eq!(at(&answer, "/result/content/0/text"), Value::from(r#"{"n":1}"#));
    }
}

pub async fn what_is_no_message_is_answered_and_the_next_one_works() {
    let world = World::new().await;
    for era in [Era::Older, Era::Newer] {
        let mut client = world.client(Over::Stdio, era).await;
        let deep = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}1{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        let twice = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"ping","params":{}}"#;
        for (text, code) in [("hello", -32700), ("[]", -32700), (twice, -32700), (deep.as_str(), -32700), (r#"{"id":7}"#, -32600)] {
            client.write(text).await;
            let answer = client.next().await;
            assert_eq!(
                at(&answer, "/error/code"),
                Value::from(i64::from(code)),
                "{}: {}",
                &text[..text.len().min(50)],
                json::to_string(&answer)
            );
        }
        let listed = client.ask("tools/list", "{}").await;
        assert!(listed.get("result").is_some());
    }
}
