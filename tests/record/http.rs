//! Sessions over HTTP: each has servers and a recording of its own, whole whatever is killed.

use crate::conversation::{calls, records, text};
use crate::listening::{Listening, call, head, recorder};
use crate::support::{Folder, ended, fixture_server, ltc};
use ltc_workflow::json;
use std::io::Read;
use std::time::Duration;

#[test]
fn each_session_has_servers_and_a_recording_of_its_own() {
    let listening = Listening::lively(&[]);
    let (one, other) = (listening.shake_hands(), listening.shake_hands());
    assert_ne!(one, other);
    // The same id at once, for two.
    for (session, n) in [(&one, "1.10"), (&other, "2.20"), (&one, "3.30")] {
        let reply = listening.call(session, 7, "say", &format!(r#"{{"n":{n}}}"#));
        assert_eq!(text(&reply.message()), format!(r#"a says {{"n":{n}}}"#));
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
    // A third one only looks around.
    let third = listening.shake_hands();
    let left = listening.request(&format!("DELETE /mcp HTTP/1.1\nmcp-session-id: {third}"), "");
    assert_eq!(left.status, 204, "{left:?}");
    assert_eq!(listening.post(&third, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 404);
    let mut found: Vec<usize> = [1, 2].iter().map(|number| records(&listening.file(*number), 1).len()).collect();
    found.sort_unstable();
    // A head, a server, and the calls.
    assert_eq!(found, [3, 4]);
    let began = std::time::Instant::now();
    while listening.file(3).exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "a session without a call leaves a file");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_recording_of_another_day_is_written_over() {
    let folder = Folder::new();
    for (name, text) in [("r-1.jsonl", "of another day"), ("r-2.jsonl", "")] {
        folder.file(name, text);
    }
    let mut command = recorder(&folder);
    command.arg("--").arg(fixture_server()).args(["lively", "a"]);
    let listening = Listening::start(&mut command, folder);
    let session = listening.shake_hands();
    listening.call(&session, 1, "say", "{}");
    assert_eq!(calls(&records(&listening.file(3), 1)), ["lively-a/say"]);
    for (number, text) in [(1, "of another day"), (2, "")] {
        assert_eq!(std::fs::read_to_string(listening.file(number)).expect("it is there"), text);
    }
}

#[test]
fn what_was_answered_is_recorded_when_client_and_relay_are_killed() {
    let mut listening = Listening::lively(&[]);
    let session = listening.shake_hands();
    for id in 1..=20 {
        listening.call(&session, id, "say", &format!(r#"{{"n":{id}}}"#));
        // The answer is there, so the call is.
        let text = std::fs::read_to_string(listening.file(1)).expect("it is there");
        assert_eq!(text.matches("\"tool\"").count(), id, "{text}");
    }
    // A client that is gone in the middle of a call; its session goes on.
    drop(listening.open(&head(&session), &call(21, "slow", "{}")));
    assert_eq!(text(&listening.call(&session, 22, "say", "{}").message()), "a says {}");
    listening.child.kill().expect("it can be killed");
    listening.child.wait().expect("it ends");
    let text = std::fs::read_to_string(listening.file(1)).expect("it is there");
    assert!(text.ends_with('\n'), "{text}");
    let told = ended(ltc(["convert"]).arg(listening.file(1)));
    assert_eq!((told.code, told.stdout.matches("\"tool\"").count()), (0, 21), "{}", told.stderr);
}

#[cfg(unix)]
#[test]
fn a_polite_request_to_end_ends_all_sessions_and_tells_who_waits() {
    let mut listening = Listening::lively(&[]);
    let session = listening.shake_hands();
    let mut waiting = listening.open(&head(&session), &call(1, "slow", "{}"));
    // The next answer shows that the call is under way.
    listening.call(&session, 2, "say", "{}");
    let asked = std::process::Command::new("kill").args(["-TERM", &listening.child.id().to_string()]).status().expect("there is a kill");
    assert!(asked.success());
    let mut said = String::new();
    waiting.read_to_string(&mut said).expect("an answer");
    assert!(said.contains(r#""id":1,"error""#) && said.contains("the session has ended"), "{said}");
    assert_eq!(listening.child.wait().expect("it ends").code(), Some(0));
    let recorded = records(&listening.file(1), 2);
    assert_eq!(calls(&recorded), ["lively-a/say", "lively-a/slow"]);
    assert!(recorded.last().is_some_and(|last| last.get("result").is_none() && last.get("error").is_none()), "{recorded:?}");
}

#[test]
fn a_server_that_dies_ends_its_session_and_no_other() {
    let listening = Listening::lively(&[]);
    let (one, other) = (listening.shake_hands(), listening.shake_hands());
    let error = json::to_string(&listening.call(&one, 1, "die", "{}").message());
    assert!(error.contains(r#""id":1"#) && error.contains("exit status: 3"), "{error}");
    assert_eq!(listening.call(&one, 2, "say", "{}").status, 404, "the client begins a new session then");
    assert_eq!(text(&listening.call(&other, 2, "say", "{}").message()), "a says {}");
}

#[test]
fn a_server_that_is_none_is_said_to_the_client() {
    let folder = Folder::new();
    let mut command = recorder(&folder);
    let listening = Listening::start(command.args(["--", "/no/such/server"]), folder);
    let reply = listening.post("", r#"{"jsonrpc":"2.0","id":"h","method":"initialize","params":{}}"#);
    assert!(reply.body.contains(r#""id":"h""#) && reply.body.contains("the server cannot be started"), "{reply:?}");
    assert_eq!(reply.header("mcp-session-id"), None);
}

#[cfg(unix)]
#[test]
fn a_client_that_goes_before_its_session_has_a_name_leaves_nothing() {
    let folder = Folder::new();
    let mut command = recorder(&folder);
    // It never answers.
    let listening = Listening::start(command.args(["--", "sleep", "1000"]), folder);
    let waiting = listening.open(&head(""), r#"{"jsonrpc":"2.0","id":"h","method":"initialize","params":{}}"#);
    let until = |is_there: bool| {
        let began = std::time::Instant::now();
        while listening.file(1).exists() != is_there {
            assert!(began.elapsed() < Duration::from_secs(20), "the session is there: {}", !is_there);
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    until(true);
    drop(waiting);
    until(false);
}
