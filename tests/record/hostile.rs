//! Messages that nobody should send, to a relay of several servers: it answers what can be answered, and goes on.

use crate::conversation::{Conversation, text};
use crate::support::{Folder, fixture_server, ltc};
use ltc_workflow::json;

#[test]
fn whatever_a_client_sends_the_relay_goes_on() {
    let folder = Folder::new();
    let command = json::quote(&fixture_server().display().to_string());
    let servers = format!(r#"{{"a":{{"command":{command},"args":["lively","a"]}},"u":{{"command":{command},"args":["stdio"]}}}}"#);
    let file = folder.file("mcp.json", &servers);
    let mut recorder = ltc(["record", "--servers"]);
    let mut conversation = Conversation::with(recorder.arg(file).arg("-o").arg(folder.path().join("r.jsonl")));
    conversation.shake_hands();
    conversation.say("not json");
    conversation.say_bytes(b"\xff\xfe{}");
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    conversation.say(&deep);
    let refused = json::to_string(&conversation.answer("1"));
    assert!(refused.contains("-32700") && refused.contains("levels of nesting"), "{refused}");
    // Answers to nothing, progress of nothing, the end of nothing, and things that are nothing.
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99999999999999999999999,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":{"a":[]},"error":null}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        "[]",
        "7",
        "null",
        r#"{"method":7,"id":null}"#,
    ] {
        conversation.say(line);
    }
    // The same id twice, and an id past 64 bits.
    let call = r#"{"jsonrpc":"2.0","id":99999999999999999999999,"method":"tools/call","params":{"name":"a__say","arguments":{"n":1.10}}}"#;
    conversation.say(call);
    conversation.say(call);
    for _ in 0..2 {
        assert_eq!(text(&conversation.answer("99999999999999999999999")), r#"a says {"n":1.10}"#);
    }
    for (id, params) in [("2", "{}"), ("3", r#"{"name":7}"#), ("4", r#"{"name":""}"#), ("5", "[]"), ("6", "7")] {
        let refused = json::to_string(&conversation.ask(id, "tools/call", params));
        assert!(refused.contains("there is no tool"), "{refused}");
    }
    // What a server sends that it should not.
    let call = |conversation: &mut Conversation, id: &str, tool: &str, arguments: &str| {
        conversation.ask(id, "tools/call", &format!(r#"{{"name":"u__{tool}","arguments":{arguments}}}"#))
    };
    let garbage = json::to_string(&call(&mut conversation, "10", "garbage", "{}"));
    assert!(garbage.contains("the server's answer cannot be read"), "{garbage}");
    assert_eq!(text(&call(&mut conversation, "11", "banner", "{}")), "after the banner");
    assert_eq!(text(&call(&mut conversation, "12", "twice", "{}")), "one");
    let odd = json::to_string(&call(&mut conversation, "13", "raw", r#"{"result":"[1e400]"}"#));
    assert_eq!(odd, r#"{"jsonrpc":"2.0","id":13,"result":[1e400]}"#);
    assert_eq!(text(&call(&mut conversation, "14", "echo", r#"{"n":1.10}"#)), r#"{"n":1.10}"#);
    let (code, _) = conversation.leave();
    assert_eq!(code, 0);
    let told = crate::support::ended(ltc(["convert"]).arg(folder.path().join("r.jsonl")));
    assert_eq!(told.code, 0, "what was recorded can be read: {}", told.stderr);
}
