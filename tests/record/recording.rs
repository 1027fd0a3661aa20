//! The recording: whole whatever is killed, without secrets, and good for a workflow that runs.

use crate::conversation::{Conversation, calls, names, recording, records, text};
use crate::support::{Folder, ended, fixture_server, ltc};
use ltc_workflow::{Value, json};
use std::process::Command;

fn call(conversation: &mut Conversation, id: usize, tool: &str, arguments: &str) -> Value {
    conversation.ask(&id.to_string(), "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
}

#[test]
fn what_was_answered_is_recorded_when_the_relay_is_killed() {
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    let mut conversation = Conversation::with(&mut recording(&file, &["stdio"]));
    conversation.shake_hands();
    for id in 1..=50 {
        call(&mut conversation, id, "echo", &format!(r#"{{"n":{id}}}"#));
        // The answer is there, so the call is.
        assert_eq!(calls(&records(&file, id)).len(), id);
    }
    conversation.child.kill().expect("it can be killed");
    let text = std::fs::read_to_string(&file).expect("it is there");
    assert!(text.ends_with('\n') && text.lines().count() == 52, "{text}");
    let told = ended(ltc(["convert"]).arg(&file));
    assert_eq!((told.code, told.stdout.matches("\"tool\"").count()), (0, 50), "{}", told.stderr);
}

#[test]
fn a_recording_is_lines_whatever_its_file_is_called_and_is_read_so() {
    let folder = Folder::new();
    let file = folder.path().join("r.json");
    let mut conversation = Conversation::with(&mut recording(&file, &["stdio"]));
    conversation.shake_hands();
    call(&mut conversation, 1, "echo", r#"{"n":1.10}"#);
    conversation.leave();
    // A head, a server, and a call.
    assert_eq!(records(&file, 1).len(), 3);
    let document = ended(ltc(["convert"]).arg(&file));
    let document = json::parse(document.stdout.as_bytes()).expect("one document");
    let arguments = document.get("calls").and_then(|calls| calls.at(0)?.get("arguments")).map(json::to_string);
    assert_eq!(arguments.as_deref(), Some(r#"{"n":1.10}"#));
    let compiled = ended(ltc(["compile"]).arg(&file));
    assert!(compiled.code == 0 && compiled.stdout.contains("echo"), "{compiled:?}");
}

#[test]
fn what_was_answered_is_recorded_when_the_client_is_killed_and_the_server_ends_too() {
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    let mut conversation = Conversation::with(&mut recording(&file, &["stdio"]));
    conversation.shake_hands();
    call(&mut conversation, 1, "echo", "{}");
    conversation.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang","arguments":{}}}"#);
    // A client that is killed closes its pipes.
    let (code, _) = conversation.leave();
    assert_eq!(code, 0);
    let records = records(&file, 2);
    assert_eq!(calls(&records), ["unruly/echo", "unruly/hang"]);
    assert!(records.last().is_some_and(|last| last.get("result").is_none()), "{records:?}");
}

#[cfg(unix)]
#[test]
fn a_polite_request_to_end_ends_the_servers_too() {
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    let mut conversation = Conversation::with(&mut recording(&file, &["stdio"]));
    conversation.shake_hands();
    call(&mut conversation, 1, "echo", "{}");
    let asked = Command::new("kill").args(["-TERM", &conversation.child.id().to_string()]).status().expect("there is a kill");
    assert!(asked.success());
    assert_eq!(conversation.child.wait().expect("it ends").code(), Some(0));
    assert_eq!(records(&file, 1).len(), 3);
}

#[test]
fn a_second_session_goes_behind_the_first_or_beside_it() {
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    let begin = || {
        let mut conversation = Conversation::with(&mut recording(&file, &["stdio"]));
        conversation.shake_hands();
        call(&mut conversation, 1, "echo", "{}");
        conversation
    };
    begin().leave();
    let second = begin();
    assert_eq!(calls(&records(&file, 2)).len(), 2);
    begin().leave();
    second.leave();
    assert_eq!(calls(&records(&file, 2)).len(), 2, "the third one has a file of its own");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
    let told = ended(ltc(["compile"]).arg(&file));
    assert_eq!(told.code, 2, "{}", told.stderr);
    assert!(told.stderr.contains("error[several-runs]"), "{}", told.stderr);
}

#[test]
fn a_secret_is_in_no_recording_and_the_workflow_reads_it_from_the_environment() {
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    let hints = folder.file("hints.yaml", "unruly:\n  secret: { pin: DOOR_PIN }\n  effects: { echo: write }\n");
    let mut command = ltc(["record", "-o"]);
    command.arg(&file).arg("--hints").arg(hints).args(["--name", "unruly", "--"]).arg(fixture_server()).arg("stdio");
    let mut conversation = Conversation::with(&mut command);
    conversation.shake_hands();
    let tools = conversation.ask("9", "tools/list", "{}");
    assert!(names(&tools, "tools", "name").contains(&"echo".to_owned()));
    let arguments = r#"{"user":"u-7731","password":"correct horse","pin":"4815162342","url":"https://h/?api_key=zz-top-77&p=1"}"#;
    let answer = call(&mut conversation, 1, "echo", arguments);
    assert!(text(&answer).contains("correct horse"), "the client sees everything");
    call(&mut conversation, 2, "echo", r#"{"token_of":"correct horse","password":"correct horse"}"#);
    conversation.leave();
    let recorded = std::fs::read_to_string(&file).expect("it is there");
    for secret in ["correct horse", "4815162342", "zz-top-77"] {
        assert!(!recorded.contains(secret), "{secret} is in {recorded}");
    }
    let compiled = ended(ltc(["compile"]).arg(&file));
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    let yaml = compiled.stdout;
    for part in ["${{ secrets.UNRULY_PASSWORD }}", "${{ secrets.DOOR_PIN }}", "https://h/?api_key=${{ secrets.UNRULY_API_KEY }}&p=1"] {
        assert!(yaml.contains(part), "{part} is missing in {yaml}");
    }
    assert!(!yaml.contains("[secret "), "{yaml}");
    let workflow = folder.file("w.yaml", &yaml);
    let ran = ended(
        ltc(["run", "--ephemeral"])
            .arg(workflow)
            .env("UNRULY_PASSWORD", "another horse")
            .env("DOOR_PIN", "1234567")
            .env("UNRULY_API_KEY", "key-of-today"),
    );
    assert_eq!(ran.code, 0, "{}\n{yaml}", ran.stderr);
}

#[test]
fn what_was_recorded_compiles_and_runs_where_it_was_never_recorded() {
    let folder = Folder::new();
    let file = folder.path().join("r.jsonl");
    let mut command = ltc(["record", "-o"]);
    let hints = folder.file("hints.yaml", "inputs: [status]\n");
    command.arg(&file).args(["--name", "desk", "--task", "Write to whose order is late.", "--hints"]).arg(hints);
    let mut conversation = Conversation::with(command.arg("--").arg(fixture_server()).arg("desk"));
    conversation.shake_hands();
    conversation.ask("0", "tools/list", "{}");
    let structured = |answer: &Value| answer.get("result").and_then(|result| result.get("structuredContent")).cloned().expect("data");
    let field = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let orders = structured(&call(&mut conversation, 1, "list_orders", r#"{"status":"late"}"#));
    let mut id = 1;
    for order in orders.get("orders").and_then(Value::as_array).expect("orders") {
        id += 2;
        let customer = structured(&call(&mut conversation, id, "get_customer", &format!(r#"{{"id":"{}"}}"#, field(order, "customer"))));
        let parcel = order.get("tracking").map(json::to_string).expect("a parcel");
        let (to, order) = (field(&customer, "email"), field(order, "id"));
        let mail = format!(r#"{{"to":"{to}","subject":"Your order {order}","body":"It is in parcel {parcel}."}}"#);
        call(&mut conversation, id + 1, "send_mail", &mail);
    }
    conversation.leave();
    let workflow = folder.path().join("w.yaml");
    let compiled = ended(ltc(["compile"]).arg(&file).arg("-o").arg(&workflow));
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    let yaml = std::fs::read_to_string(&workflow).expect("it is written");
    assert!(yaml.contains("for:"), "{yaml}");
    // One order is shipped, and it was in no recording.
    let ran = ended(ltc(["run", "--ephemeral"]).arg(&workflow).args(["--input", r#"{"status":"shipped"}"#]));
    assert_eq!(ran.code, 0, "{}\n{yaml}", ran.stderr);
}
