//! Several servers: one to the client, and a failure of one is its own.

use crate::conversation::{Conversation, calls, names, records, text};
use crate::support::{Folder, fixture_server, ltc};
use ltc_workflow::{Value, json};
use std::path::PathBuf;

struct Many {
    folder: Folder,
    conversation: Conversation,
}

/// Lively servers of these names, and whatever else is in the file.
fn many(servers: &[&str], others: &str) -> Many {
    let folder = Folder::new();
    let command = json::quote(&fixture_server().display().to_string());
    let entries: Vec<String> =
        servers.iter().map(|name| format!(r#""{name}":{{"command":{command},"args":["lively","{name}"]}}"#)).collect();
    let file = folder.file("mcp.json", &format!(r#"{{"mcpServers":{{{}{others}}}}}"#, entries.join(",")));
    let mut recorder = ltc(["record", "--servers"]);
    recorder.arg(file).arg("-o").arg(folder.path().join("r.jsonl"));
    Many { conversation: Conversation::with(&mut recorder), folder }
}

impl Many {
    fn file(&self) -> PathBuf {
        self.folder.path().join("r.jsonl")
    }

    fn call(&mut self, id: &str, tool: &str) -> Value {
        self.conversation.ask(id, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"n":1.10}}}}"#))
    }
}

fn method(message: &Value) -> &str {
    message.get("method").and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn several_servers_are_one_with_names_that_say_whose_they_are() {
    let mut many = many(&["a", "b"], "");
    let hello = many.conversation.shake_hands();
    let said = hello.get("result").expect("a result");
    let expected = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{},"completions":{}}"#;
    assert_eq!(said.get("capabilities").map(json::to_string).as_deref(), Some(expected));
    assert_eq!(said.get("instructions").and_then(Value::as_str), Some("a:\nBe a.\n\nb:\nBe b."));
    let tools = many.conversation.ask("1", "tools/list", "{}");
    let own = ["say", "ask", "count", "slow", "change", "die"];
    let all: Vec<String> = ["a", "b"].iter().flat_map(|server| own.iter().map(move |tool| format!("{server}__{tool}"))).collect();
    assert_eq!(names(&tools, "tools", "name"), all);
    assert!(json::to_string(&tools).contains(r#""maximum":1e400"#) && tools.get("result").and_then(|all| all.get("nextCursor")).is_none());
    let prompts = many.conversation.ask("2", "prompts/list", "{}");
    assert_eq!(names(&prompts, "prompts", "name"), ["a__greet", "b__greet"]);
    let resources = many.conversation.ask("3", "resources/list", "{}");
    assert_eq!(names(&resources, "resources", "uri"), ["a://one", "b://one"]);
    let templates = many.conversation.ask("4", "resources/templates/list", "{}");
    assert_eq!(names(&templates, "resourceTemplates", "uriTemplate"), ["a://{n}", "b://{n}"]);

    assert_eq!(text(&many.call("5", "b__say")), r#"b says {"n":1.10}"#);
    assert_eq!(text(&many.call(r#""5""#, "a__say")), r#"a says {"n":1.10}"#);
    let read = |many: &mut Many, uri: &str| {
        let answer = many.conversation.ask("6", "resources/read", &format!(r#"{{"uri":"{uri}"}}"#));
        answer.get("result").and_then(|result| result.get("contents")?.at(0)?.get("text")?.as_str().map(str::to_owned))
    };
    assert_eq!(read(&mut many, "b://one").as_deref(), Some("of b"));
    // In no list, but one of the servers knows it.
    assert_eq!(read(&mut many, "b://of a template").as_deref(), Some("of b"));
    assert_eq!(read(&mut many, "c://one"), None);
    let prompt = many.conversation.ask("7", "prompts/get", r#"{"name":"b__greet"}"#);
    assert!(json::to_string(&prompt).contains("greet of b"));
    let completion = many.conversation.ask("8", "completion/complete", r#"{"ref":{"type":"ref/prompt","name":"b__greet"}}"#);
    assert!(json::to_string(&completion).contains(r#"{"values":["b"]}"#));
    let refused = many.call("9", "c__say");
    assert!(json::to_string(&refused).contains("there is no tool `c__say`"), "{refused:?}");
    let unknown = many.conversation.ask("10", "of/tomorrow", "{}");
    assert!(json::to_string(&unknown).contains(r#""data":{"n":1.10}"#), "{unknown:?}");

    // In the recording tools have their own names.
    assert_eq!(calls(&records(&many.file(), 2)), ["b/say", "a/say"]);
}

#[test]
fn questions_progress_and_cancellation_find_their_way_in_both_directions() {
    let mut many = many(&["a", "b"], "");
    many.conversation.shake_hands();
    many.conversation.ask("1", "tools/list", "{}");
    // Both ask under the same id and the same token; the answers come in the other order.
    for (id, server) in [("2", "a"), ("3", "b")] {
        many.conversation.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{server}__ask"}}}}"#));
    }
    let questions = [many.conversation.message(), many.conversation.message()];
    let ids: Vec<String> = questions.iter().map(|question| question.get("id").map(json::to_string).unwrap_or_default()).collect();
    assert!(questions.iter().all(|question| method(question) == "sampling/createMessage"), "{questions:?}");
    assert_ne!(ids[0], ids[1]);
    let token = |question: &Value| question.get("params").and_then(|params| params.get("_meta")?.get("progressToken")).map(json::to_string);
    let (first, second) = (token(&questions[0]).expect("a token"), token(&questions[1]).expect("a token"));
    assert_ne!(first, second);
    many.conversation
        .say(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{second},"progress":1}}}}"#));
    let echoed = many.conversation.message();
    assert!(json::to_string(&echoed).contains("progress 'p'"), "{echoed:?}");
    for id in ids.iter().rev() {
        many.conversation.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"of":{id}}}}}"#));
    }
    let mut answers = [many.conversation.message(), many.conversation.message()];
    answers.sort_by_key(|answer| answer.get("id").map(json::to_string));
    let mut heard: Vec<String> = answers.iter().map(text).collect();
    heard.sort();
    let mut expected: Vec<String> = ids.iter().map(|id| format!(r#"{{"of":{id}}}"#)).collect();
    expected.sort();
    assert_eq!(heard, expected);

    many.conversation
        .say(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"b__count","_meta":{"progressToken":"mine"}}}"#);
    let heard = many.conversation.until_answer("4");
    let steps = heard.iter().filter(|message| json::to_string(message).contains(r#""progressToken":"mine""#)).count();
    assert_eq!((steps, heard.len()), (3, 4));

    many.conversation.say(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"b__slow"}}"#);
    many.conversation.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#);
    let cancelled = many.conversation.message();
    assert!(json::to_string(&cancelled).contains("cancelled "), "{cancelled:?}");
    let changed = {
        many.conversation.say(r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a__change"}}"#);
        many.conversation.until_answer("6")
    };
    assert_eq!(method(&changed[0]), "notifications/tools/list_changed");
    let records = records(&many.file(), 5);
    let slow = records.iter().find(|record| record.get("tool").and_then(Value::as_str) == Some("slow")).expect("it is recorded");
    assert!(json::to_string(slow).contains("gave the call up"), "{slow:?}");
}

#[test]
fn what_was_answered_is_recorded_at_once() {
    let mut many = many(&["a", "b"], "");
    many.conversation.shake_hands();
    for id in 1..=20 {
        many.call(&id.to_string(), if id % 2 == 0 { "a__say" } else { "b__say" });
        let text = std::fs::read_to_string(many.file()).expect("it is there");
        assert!(text.matches("\"tool\"").count() == id && text.ends_with('\n'), "{text}");
    }
}

#[test]
fn a_server_that_dies_fails_alone_and_the_next_call_starts_it_again() {
    let mut many = many(&["a", "b"], r#","c":{"command":"/no/such/server"}"#);
    many.conversation.shake_hands();
    let tools = many.conversation.ask("1", "tools/list", "{}");
    assert_eq!(names(&tools, "tools", "name").len(), 12);
    many.conversation.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__die"}}"#);
    let heard = many.conversation.until_answer("2");
    let error = json::to_string(heard.last().expect("an answer"));
    assert!(error.contains("server a") && error.contains("exit status: 3"), "{error}");
    let mut after = heard;
    while !after.iter().any(|message| method(message) == "notifications/tools/list_changed") {
        after.push(many.conversation.message());
    }
    let tools = many.conversation.ask("3", "tools/list", "{}");
    assert!(names(&tools, "tools", "name").iter().all(|name| name.starts_with("b__")), "{tools:?}");
    assert_eq!(text(&many.call("4", "b__say")), r#"b says {"n":1.10}"#);
    assert_eq!(text(&many.call("5", "a__say")), r#"a says {"n":1.10}"#);
    let tools = many.conversation.ask("6", "tools/list", "{}");
    assert_eq!(names(&tools, "tools", "name").len(), 12);
    let (code, _) = many.conversation.leave();
    assert_eq!(code, 0);
}

#[test]
fn servers_of_the_newer_protocol_are_one_too() {
    let folder = Folder::new();
    let command = json::quote(&fixture_server().display().to_string());
    let entry = |name: &str| format!(r#""{name}":{{"command":{command},"args":["lively","{name}"],"env":{{"LIVELY_MODERN":"1"}}}}"#);
    let file = folder.file("mcp.json", &format!("{{{},{}}}", entry("a"), entry("b")));
    let mut recorder = ltc(["record", "--servers"]);
    let mut conversation = Conversation::with(recorder.arg(file).arg("-o").arg(folder.path().join("r.jsonl")));
    let said = conversation.ask("1", "server/discover", "{}");
    assert!(json::to_string(&said).contains(r#""supportedVersions":["2026-07-28"]"#), "{said:?}");
    let tools = conversation.ask("2", "tools/list", "{}");
    assert_eq!(names(&tools, "tools", "name").len(), 12);
    let answer = conversation.ask("3", "tools/call", r#"{"name":"b__say","arguments":{}}"#);
    assert_eq!(text(&answer), "b says {}");
}
