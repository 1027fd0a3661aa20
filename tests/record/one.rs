//! One server: what passes is what would have passed without anybody in between, byte for byte.

use crate::conversation::{Conversation, HELLO, calls, direct, recording, records, text};
use crate::support::{Folder, HttpServer, ltc};
use ltc_workflow::{Value, json};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// What is answered to these lines, up to the end.
fn answers(command: &mut Command, lines: &[&str]) -> Vec<String> {
    let mut conversation = Conversation::with(command);
    lines.iter().for_each(|line| conversation.say(line));
    let (_, said) = conversation.leave();
    said
}

fn is_the_same_with_and_without(server: &[&str], environment: &[(&str, &str)], lines: &[&str]) -> Vec<String> {
    let folder = Folder::new();
    let without = answers(direct(server).envs(environment.iter().copied()), lines);
    let with = answers(recording(&folder.path().join("r.jsonl"), server).envs(environment.iter().copied()), lines);
    assert_eq!(with, without);
    without
}

#[test]
fn all_of_the_older_protocol_passes_byte_for_byte() {
    let hello = format!(r#"{{"jsonrpc":"2.0","id":"h","method":"initialize","params":{HELLO}}}"#);
    let lines = [
        hello.as_str(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"id":1,"jsonrpc":"2.0","method":"tools/list"}"#,
        r#"{"id":1,"jsonrpc":"2.0","method":"tools/list","params":{"cursor":"2"}}"#,
        r#"{"id":123456789012345678901234567890,  "jsonrpc":"2.0","method":"tools/call","params":{"name":"say","arguments":{"n":1.10,"x":1e400,"z":123456789012345678901234567890}}}"#,
        r#"{"id":2,"jsonrpc":"2.0","method":"tools/call","params":{"name":"ask"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#,
        r#"{"id":1,"jsonrpc":"2.0","result":{"model":"m","content":{"type":"text","text":"\u00e4"}}}"#,
        r#"{"id":3,"jsonrpc":"2.0","method":"tools/call","params":{"name":"count","_meta":{"progressToken":7}}}"#,
        r#"{"id":4,"jsonrpc":"2.0","method":"tools/call","params":{"name":"slow"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#,
        r#"{"id":5,"jsonrpc":"2.0","method":"tools/call","params":{"name":"change"}}"#,
        r#"{"id":6,"jsonrpc":"2.0","method":"resources/list"}"#,
        r#"{"id":7,"jsonrpc":"2.0","method":"resources/read","params":{"uri":"a://one"}}"#,
        r#"{"id":8,"jsonrpc":"2.0","method":"resources/subscribe","params":{"uri":"a://one"}}"#,
        r#"{"id":9,"jsonrpc":"2.0","method":"prompts/list"}"#,
        r#"{"id":10,"jsonrpc":"2.0","method":"prompts/get","params":{"name":"greet"}}"#,
        r#"{"id":11,"jsonrpc":"2.0","method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"}}}"#,
        r#"{"id":12,"jsonrpc":"2.0","method":"of/tomorrow","params":[1]}"#,
        r#"{"id":13,"jsonrpc":"2.0","method":"logging/setLevel","params":{"level":"info"}}"#,
    ];
    let said = is_the_same_with_and_without(&["lively", "a"], &[], &lines);
    // One answer to each of 16 requests but the one that was given up; and one question, three steps, one echo of a step, one that it
    // was given up, two changes.
    assert_eq!(said.len(), 15 + 1 + 3 + 1 + 1 + 2, "{said:#?}");
}

#[test]
fn the_newer_protocol_passes_byte_for_byte() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let lines = [
        format!(r#"{{"id":1,"jsonrpc":"2.0","method":"initialize","params":{HELLO}}}"#),
        format!(r#"{{"id":2,"jsonrpc":"2.0","method":"server/discover","params":{{{meta}}}}}"#),
        format!(r#"{{"id":3,"jsonrpc":"2.0","method":"tools/list","params":{{{meta}}}}}"#),
        format!(r#"{{"id":4,"jsonrpc":"2.0","method":"tools/call","params":{{"name":"say","arguments":{{"n":1.10}},{meta}}}}}"#),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let said = is_the_same_with_and_without(&["lively", "a"], &[("LIVELY_MODERN", "1")], &lines);
    assert_eq!(said.len(), 4);
}

#[test]
fn what_is_no_message_passes_too_and_is_not_recorded() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{{"d":{}1{}}}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let call = |tool: &str, arguments: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#)
    };
    let lines = [
        "not json".to_owned(),
        "[]".to_owned(),
        String::new(),
        deep,
        call("garbage", "{}"),
        call("banner", "{}"),
        call("twice", "{}"),
        call("raw", r#"{"result":"{\"content\":7}"}"#),
        call("echo", r#"{"a":1,"a":2}"#),
        call("echo", r#"{"huge":1e999999,"n":-0}"#),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    is_the_same_with_and_without(&["stdio"], &[], &lines);
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    answers(&mut recording(&file, &["stdio"]), &lines);
    // That of `garbage` has no answer that can be read, so the next one under its id is taken for it.
    let records = records(&file, 5);
    assert!(calls(&records).iter().all(|call| call.starts_with("server/")), "nobody shook hands: {records:?}");
}

#[test]
fn messages_larger_than_any_pipe_pass_while_others_wait() {
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    let mut conversation = Conversation::with(&mut recording(&file, &["lively", "a"]));
    conversation.shake_hands();
    let large = "x".repeat(1 << 20);
    let line = |id: usize, words: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"say","arguments":{{"w":"{words}"}}}}}}"#)
    };
    for id in 1..=4 {
        conversation.say(&line(id, &large));
        conversation.say(&line(10 + id, "small"));
    }
    for id in 1..=4 {
        assert_eq!(text(&conversation.answer(&id.to_string())).len(), "a says {\"w\":\"\"}".len() + large.len());
        assert_eq!(text(&conversation.answer(&(10 + id).to_string())), r#"a says {"w":"small"}"#);
    }
    assert_eq!(calls(&records(&file, 8)).len(), 8);
}

#[test]
fn a_server_that_ends_ends_the_conversation_with_its_last_words() {
    let folder = Folder::new();
    let mut conversation = Conversation::with(&mut recording(&folder.path().join("r.jsonl"), &["lively", "a"]));
    conversation.shake_hands();
    conversation.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"die","arguments":{}}}"#);
    let status = conversation.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    let records = records(&folder.path().join("r.jsonl"), 1);
    let last = records.last().expect("a call");
    assert!(last.get("result").is_none() && last.get("error").is_none(), "{last:?}");
}

#[test]
fn a_server_that_is_none_is_said_at_once() {
    let folder = Folder::new();
    let mut command = crate::support::ltc(["record", "-o"]);
    let ended = crate::support::ended(command.arg(folder.path().join("r")).args(["--", "/no/such/server"]));
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("error[connect-failed]") && ended.stdout.is_empty(), "{ended:?}");
}

#[test]
fn a_server_behind_a_url_is_passed_through_too() {
    let server = HttpServer::start(&BTreeMap::new());
    for (path, kind) in [("/json", "http"), ("/events", "http"), ("/sse", "sse")] {
        let folder = Folder::new();
        let url = format!("http://127.0.0.1:{}{path}", server.port);
        let entry = format!(r#"{{"h":{{"type":"{kind}","url":"{url}","headers":{{"X-Api-Key":"letmein"}}}}}}"#);
        let file = folder.path().join("r.jsonl");
        let mut recorder = ltc(["record", "--servers"]);
        let mut conversation = Conversation::with(recorder.arg(folder.file("mcp.json", &entry)).arg("-o").arg(&file));
        let hello = conversation.shake_hands();
        assert!(json::to_string(&hello).contains(r#""name":"unruly""#), "{hello:?}");
        let arguments = r#"{"n":123456789012345678901234567890,"x":[1.10,1e400]}"#;
        let answer = conversation.ask("123456789012345678901", "tools/call", &format!(r#"{{"name":"echo","arguments":{arguments}}}"#));
        let structured = answer.get("result").and_then(|result| result.get("structuredContent"));
        assert_eq!(structured.map(json::to_string).as_deref(), Some(arguments));
        conversation.leave();
        let records = records(&file, 1);
        assert_eq!(calls(&records), ["h/echo"]);
        let text: Vec<String> = records.iter().map(json::to_string).collect();
        assert!(!text.concat().contains("letmein") && text.concat().contains("${X_API_KEY}"), "{text:?}");
    }
}

#[test]
fn a_url_that_fails_is_an_error_of_the_request_and_not_of_the_relay() {
    let server = HttpServer::start(&BTreeMap::new());
    for (path, said) in [("/moved", "HTTP 307"), ("/broken", "HTTP 500"), ("/no-key", "HTTP 401")] {
        let folder = Folder::new();
        let entry = format!(r#"{{"h":{{"url":"http://127.0.0.1:{}{path}"}}}}"#, server.port);
        let mut recorder = ltc(["record", "--servers"]);
        let mut conversation =
            Conversation::with(recorder.arg(folder.file("mcp.json", &entry)).arg("-o").arg(folder.path().join("r.jsonl")));
        let refused = conversation.ask("1", "initialize", HELLO);
        let message = refused.get("error").and_then(|error| error.get("message")).and_then(Value::as_str).unwrap_or_default();
        assert!(message.contains(said) && !message.contains('\u{1b}'), "{path}: {refused:?}");
        assert_eq!(conversation.leave().0, 0);
    }
    let folder = Folder::new();
    for (path, why) in [("/sse/astray", "another host"), ("/broken", "HTTP 500"), ("/moved", "HTTP 307")] {
        let url = format!("http://127.0.0.1:{}{path}", server.port);
        let entry = format!(r#"{{"h":{{"type":"sse","url":"{url}","headers":{{"X-Api-Key":"letmein"}}}}}}"#);
        let mut recorder = ltc(["record", "--servers"]);
        recorder.arg(folder.file("mcp.json", &entry)).arg("-o").arg(folder.path().join("r.jsonl"));
        let mut child = recorder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
        let open = child.stdin.take();
        let ended = child.wait_with_output().expect("it ends by itself");
        drop(open);
        let said = (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned());
        assert!(said.0 == Some(1) && said.1.contains("server-died") && said.1.contains(why), "{said:?}");
        assert!(!said.1.contains("letmein"), "{said:?}");
    }
}
