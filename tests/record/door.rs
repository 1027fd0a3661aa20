//! Who may come over HTTP, and messages that nobody should send there.

use crate::conversation::{HELLO, text};
use crate::listening::{Listening, call, head, recorder};
use crate::support::{Folder, ended, fixture_server, ltc};
use ltc_workflow::{Value, json};

const TOKEN: &str = "0123456789-abcdefgh";

fn hello() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{HELLO}}}"#)
}

#[test]
fn pages_of_others_and_names_of_others_are_refused_everywhere() {
    let listening = Listening::lively(&[]);
    let session = listening.shake_hands();
    let port = listening.port;
    for method in ["POST", "GET", "DELETE"] {
        for place in ["/mcp", "/mcp/any"] {
            for line in [
                "host: evil.example".to_owned(),
                format!("host: evil.example:{port}"),
                "host: ".to_owned(),
                format!("host: localhost:{port}\norigin: http://evil.example"),
                format!("host: localhost:{port}\norigin: null"),
                format!("host: localhost:{port}\norigin: http://localhost:{port}.evil.example"),
            ] {
                let head = format!("{method} {place} HTTP/1.1\ncontent-type: application/json\nmcp-session-id: {session}\n{line}");
                let reply = listening.request(&head, &hello());
                assert_eq!(reply.status, 403, "{head}: {reply:?}");
            }
        }
    }
    // A page that is ours, and another name of this machine.
    let line = format!("host: localhost:{port}\norigin: http://localhost:{port}");
    let ours = listening.request(&format!("{}\n{line}", head(&session)), &call(1, "say", "{}"));
    assert_eq!(text(&ours.message()), "a says {}");
    // Nothing of a refused client is recorded, and no file made for it.
    assert!(!listening.file(2).exists());
}

#[test]
fn a_token_is_asked_for_where_there_is_one_and_is_nowhere_in_the_recording() {
    let folder = Folder::new();
    let token = folder.file("token", &format!("{TOKEN}\n"));
    let mut command = recorder(&folder);
    command.arg("--token-file").arg(token).arg("--").arg(fixture_server()).args(["lively", "a"]);
    let listening = Listening::start(&mut command, folder);
    for line in ["", "\nauthorization: Bearer 0123456789-abcdefgi", "\nauthorization: Basic 0123456789-abcdefgh"] {
        let reply = listening.request(&format!("{}{line}", head("")), &hello());
        assert_eq!((reply.status, reply.header("www-authenticate")), (401, Some("Bearer")), "{reply:?}");
    }
    let with_token = |session: &str| format!("{}\nauthorization: Bearer {TOKEN}", head(session));
    let hello = listening.request(&with_token(""), &hello());
    let session = hello.header("mcp-session-id").expect("a session").to_owned();
    // A session's name is no token.
    assert_eq!(listening.call(&session, 1, "say", "{}").status, 401);
    let said = listening.request(&with_token(&session), &call(1, "say", "{}"));
    assert_eq!(text(&said.message()), "a says {}");
    assert!(!std::fs::read_to_string(listening.file(1)).expect("it is there").contains(TOKEN));
}

#[test]
fn others_are_listened_to_with_a_token_only() {
    let folder = Folder::new();
    let ended = ended(ltc(["record", "--listen", "0.0.0.0:0"]).env_remove("LTC_TOKEN").current_dir(folder.path()).args(["--", "x"]));
    assert!(ended.code == 1 && ended.stderr.contains("token-required"), "{ended:?}");
}

#[test]
fn who_may_come_is_said_only_where_somebody_can() {
    let told = ended(ltc(["record", "--allow-host", "example.com", "--", "x"]).env_remove("LTC_TOKEN"));
    assert!(told.code == 2 && told.stderr.contains("--listen is missing"), "{told:?}");
    let folder = Folder::new();
    let nowhere = folder.path().join("no/such/folder/r.jsonl");
    let told = ended(ltc(["record", "--listen", "127.0.0.1:0", "-o"]).arg(nowhere).args(["--", "x"]).env_remove("LTC_TOKEN"));
    assert!(told.code == 1 && told.stderr.contains("cannot-write"), "{told:?}");
}

#[test]
fn what_is_no_message_is_refused_and_the_next_one_is_answered() {
    let listening = Listening::lively(&[]);
    let session = listening.shake_hands();
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for (body, status) in [
        ("not json", 400),
        ("", 400),
        ("[]", 400),
        ("7", 400),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, 400),
        (deep.as_str(), 400),
        // Answers to nothing, and the end of nothing.
        (r#"{"jsonrpc":"2.0","id":{"a":[]},"result":null}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12}}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#, 202),
    ] {
        let reply = listening.post(&session, body);
        assert_eq!(reply.status, status, "{}: {reply:?}", &body[..body.len().min(80)]);
    }
    let laid_out = "{\n  \"jsonrpc\": \"2.0\",\r\n  \"id\": 99999999999999999999999,\n  \"method\": \"tools/call\",\n  \"params\": {\"name\": \"say\", \"arguments\": {\"n\": 1.10}}\n}\n";
    let reply = listening.post(&session, laid_out);
    assert_eq!(text(&reply.message()), r#"a says {"n":1.10}"#);
    assert!(reply.body.contains(r#""id": 99999999999999999999999,"#), "{reply:?}");
    // Who has no session, one of somebody else, or sends something else.
    for (head, status) in [
        ("POST /mcp HTTP/1.1\ncontent-type: application/json".to_owned(), 400),
        ("POST /mcp HTTP/1.1\ncontent-type: application/json\nmcp-session-id: guessed".to_owned(), 404),
        (format!("POST /mcp HTTP/1.1\ncontent-type: text/plain\nmcp-session-id: {session}"), 415),
        ("GET /mcp HTTP/1.1\naccept: text/event-stream".to_owned(), 400),
        (format!("GET /mcp HTTP/1.1\naccept: text/html\nmcp-session-id: {session}"), 406),
        ("GET /mcp HTTP/1.1\naccept: text/event-stream\nmcp-protocol-version: 2026-07-28".to_owned(), 405),
        ("DELETE /mcp HTTP/1.1\nmcp-session-id: guessed".to_owned(), 404),
        (format!("PUT /mcp HTTP/1.1\nmcp-session-id: {session}"), 405),
    ] {
        let reply = listening.request(&head, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        assert_eq!(reply.status, status, "{head}: {reply:?}");
    }
}

#[test]
fn the_same_id_twice_at_once_is_refused_and_a_question_comes_with_its_call() {
    let listening = Listening::lively(&[]);
    let session = listening.shake_hands();
    let mut asking = listening.open(&head(&session), &call(1, "ask", "{}"));
    let mut said = Vec::new();
    // The question shows that the call is under way.
    while !String::from_utf8_lossy(&said).contains("sampling/createMessage") {
        let mut bytes = [0; 1000];
        let count = std::io::Read::read(&mut asking, &mut bytes).expect("it goes on");
        assert!(count > 0, "{}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&bytes[..count]);
    }
    let refused = listening.call(&session, 1, "say", "{}");
    assert!(refused.body.contains("a request of this id is under way"), "{refused:?}");
    let taken = listening.post(&session, r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.10}}"#);
    assert_eq!(taken.status, 202);
    std::io::Read::read_to_end(&mut asking, &mut said).expect("it ends");
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("content-type: text/event-stream") && said.contains(r#"{\"n\":1.10}"#), "{said}");
}

fn newer(method: &str) -> String {
    format!("POST /mcp HTTP/1.1\ncontent-type: application/json\nmcp-protocol-version: 2026-07-28\nmcp-method: {method}")
}

fn newer_call(id: usize, tool: &str, client: &str, token: &str) -> String {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{client}","version":"1"}}{token}}}"#
    );
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":1.10}},"_meta":{meta}}}}}"#)
}

#[test]
fn clients_without_sessions_get_their_own_answers() {
    let listening = Listening::lively(&[("LIVELY_MODERN", "1")]);
    // The same id at once, of clients that call themselves the same, and the first one hangs up.
    let slow = listening.open(&newer("tools/call"), &newer_call(1, "slow", "x", ""));
    let own = listening.request(&newer("tools/call"), &newer_call(1, "say", "x", ""));
    let message = own.message();
    assert_eq!(message.get("id").map(json::to_string).as_deref(), Some("1"));
    assert!(text(&message).starts_with(r#"a says {"n":1.10}"#), "{own:?}");
    drop(slow);
    let counted = listening.request(&newer("tools/call"), &newer_call(1, "count", "x", r#","progressToken":"mine""#));
    let token = |event: &Value| event.get("params").and_then(|params| params.get("progressToken")?.as_str().map(str::to_owned));
    let tokens: Vec<String> = counted.events().iter().filter_map(token).collect();
    assert_eq!(tokens, ["mine", "mine", "mine"], "{counted:?}");
    let recorded = crate::conversation::records(&listening.file(1), 3);
    assert!(recorded.iter().any(|record| json::to_string(record).contains("gave the call up")), "{recorded:?}");
    // Another client has another recording; and what no server knows is told by the status too.
    let other = listening.request(&newer("tools/call"), &newer_call(1, "say", "y", ""));
    assert!(text(&other.message()).starts_with("a says"), "{other:?}");
    assert_eq!(crate::conversation::records(&listening.file(2), 1).len(), 3);
    let unknown = newer_call(1, "say", "y", "").replace("tools/call", "of/tomorrow");
    assert_eq!(listening.request(&newer("of/tomorrow"), &unknown).status, 404);
    // Headers that say something else than the message, and a session's business without one.
    let differs = listening.request(&newer("tools/list"), &newer_call(1, "say", "y", ""));
    assert!(differs.status == 400 && differs.body.contains("-32020"), "{differs:?}");
    let answer = listening.request(
        "POST /mcp HTTP/1.1\ncontent-type: application/json\nmcp-protocol-version: 2026-07-28",
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    );
    assert_eq!(answer.status, 400, "{answer:?}");
}
