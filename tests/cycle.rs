//! The cycle, with the compiler, real servers and real processes: a workflow asks, the answer comes with a recording, and nobody is asked again while what was
//! made of it fits and works, also through kills.

#![cfg(unix)]

#[path = "record/conversation.rs"]
#[allow(dead_code)] // Each test uses its part.
mod conversation;
#[path = "../runtime/tests/support/postgres.rs"]
#[allow(dead_code)] // It has more than is used here.
mod postgres;
#[path = "support/served.rs"]
#[allow(dead_code)] // Each test uses its part.
mod served;
mod support;
#[path = "cycle/walk.rs"]
mod walk;

use ltc_workflow::{Value, json};
use std::path::PathBuf;
use support::{Ended, Folder, ended, fixture_server, ltc};

const WORKFLOW: &str = r#"workflow: w
version: 1
inputs: { name: {} }
steps:
  - id: ask
    escalate: { role: clerk, message: "Make what?", data: { name: "${{ inputs.name }}" }, form: { type: object, required: [made] }, triage: true }
output: "${{ steps.ask.made }}"
"#;

/// A store, a workflow that asks, and a log of what its server was asked.
struct Place {
    folder: Folder,
    address: String,
    workflow: PathBuf,
}

impl Place {
    fn new(address: Option<String>) -> Place {
        let folder = Folder::new();
        let workflow = folder.file("w.yaml", WORKFLOW);
        let address = address.unwrap_or_else(|| folder.path().join("ltc.db").display().to_string());
        Place { folder, address, workflow }
    }

    fn ltc(&self, arguments: &[&str]) -> Ended {
        ended(ltc(arguments).args(["--store", &self.address]))
    }

    /// What a command that works prints.
    fn value(&self, arguments: &[&str]) -> Value {
        let ended = self.ltc(arguments);
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
        json::parse(ended.stdout.as_bytes()).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {ended:?}"))
    }

    fn run(&self, id: &str, input: &str) -> Ended {
        self.ltc(&["run", &self.workflow.display().to_string(), "--id", id, "--input", input])
    }

    /// The question that a run waits for an answer to.
    fn question(&self, waiting: &Ended) -> (String, Value) {
        assert_eq!(waiting.code, 4, "{waiting:?}");
        let (_, behind) = waiting.stderr.split_once("ltc resolve ").expect("it says how to answer");
        let id = behind.split(' ').next().expect("an id").to_owned();
        let question = self.value(&["resolve", &id, "--show"]);
        (id, question)
    }

    /// Keeps a recording in which `tool` was called with the name `first`, as if it had been recorded.
    fn record(&self, id: &str, tool: &str, question: &str) {
        let (server, log) = (fixture_server().display().to_string(), self.folder.path().join("calls").display().to_string());
        let recording = format!(
            r#"{{"format":"ltc.trace/1","task":"Make it","servers":{{"a":{{"command":{},"args":["counting","a",{}],
                "tools":[{{"name":"{tool}","inputSchema":{{"type":"object","properties":{{"name":{{"type":"string"}}}}}}}}]}}}},
                "calls":[{{"id":"1","server":"a","tool":"{tool}","arguments":{{"name":"first"}},
                "result":{{"content":[],"structuredContent":{{"made":"first"}}}}}}],"output":{{"made":"first"}}}}"#,
            json::quote(&server),
            json::quote(&log)
        );
        let file = self.folder.file(&format!("{id}.json"), &recording);
        let added = self.value(&["traces", "add", &file.display().to_string(), "--id", id, "--escalation", question]);
        assert_eq!(text(&added, &["trace_ids"]), format!("[\"{id}\"]"));
    }

    /// How often the server has done something.
    fn done(&self) -> usize {
        let log = std::fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        log.lines().filter(|line| line.contains(r#""what":"done""#)).count()
    }
}

fn text(value: &Value, path: &[&str]) -> String {
    match path.iter().try_fold(value, |at, key| at.get(key)) {
        Some(Value::String(text)) => text.to_string(),
        Some(other) => json::to_string(other),
        None => String::new(),
    }
}

fn solved_once(address: Option<String>) {
    let place = Place::new(address);
    let waiting = place.run("one", r#"{"name":"first"}"#);
    let (question, asked) = place.question(&waiting);
    assert_eq!((text(&asked, &["type"]), text(&asked, &["data", "input"])), ("triage".to_owned(), r#"{"name":"first"}"#.to_owned()));
    place.record("t", "add", &question);
    assert_eq!(text(&place.value(&["traces", "show", "t"]), &["input"]), r#"{"name":"first"}"#);
    let resolved = place.value(&["resolve", &question, r#"{"answer":{"made":"by hand"},"trace_id":"t"}"#]);
    assert_eq!(text(&resolved, &["learned", "is_tried"]), "true", "{resolved:?}");
    assert_eq!(text(&resolved, &["learned", "version", "name"]), "solve-w-ask");
    assert_eq!(text(&resolved, &["learned", "version", "state"]), "deployed");
    let resumed = place.ltc(&["resume", "one"]);
    assert_eq!((resumed.code, resumed.stdout.trim()), (0, "\"by hand\""), "{resumed:?}");
    assert_eq!(place.done(), 0);

    // With the same and with another input nobody is asked.
    for (id, name) in [("two", "first"), ("three", "second")] {
        let ended = place.run(id, &format!(r#"{{"name":"{name}"}}"#));
        assert_eq!((ended.code, ended.stdout.trim()), (0, format!("\"{name}\"").as_str()), "{ended:?}");
    }
    assert_eq!(place.done(), 2);
    // One that does not fit is asked about at once.
    let (_, asked) = place.question(&place.run("four", r#"{"name":4}"#));
    assert_eq!((text(&asked, &["message"]).as_str(), place.done()), ("Make what?", 2));

    // What is in the store can be looked at, verified and compiled again.
    assert_eq!(place.ltc(&["workflows", "verify", "solve-w-ask", "--version", "1"]).code, 0);
    let again = place.value(&["workflows", "recompile", "solve-w-ask"]);
    assert_eq!((text(&again, &["version", "version"]), text(&again, &["version", "state"])), ("1".to_owned(), "deployed".to_owned()));
    assert!(place.ltc(&["traces", "explain", "t"]).stdout.contains("a/add"));
}

#[test]
fn what_was_solved_once_runs_through_with_no_person() {
    solved_once(None);
}

#[test]
fn what_was_solved_once_runs_through_with_no_person_on_postgresql() {
    if let Some(server) = postgres::Postgres::shared() {
        solved_once(Some(server.database().address()));
    }
}

#[test]
fn a_solution_that_fails_is_told_of_and_a_person_is_asked() {
    let place = Place::new(None);
    let (question, _) = place.question(&place.run("one", r#"{"name":"first"}"#));
    // The server never does what this recording shows.
    place.record("t", "broken", &question);
    let resolved = place.value(&["resolve", &question, r#"{"answer":{"made":"by hand"},"trace_id":"t","activate":true}"#]);
    assert_eq!(text(&resolved, &["learned", "version", "state"]), "active", "{resolved:?}");
    let (question, asked) = place.question(&place.run("two", r#"{"name":"second"}"#));
    let message = text(&asked, &["message"]);
    assert!(message.contains("solve-w-ask (version 1) was tried first, and failed with tool-error"), "{message}");
    assert_eq!(text(&asked, &["data", "tried", "failure", "code"]), "tool-error");
    place.value(&["resolve", &question, r#"{"answer":{"made":"again by hand"}}"#]);
    assert_eq!(place.ltc(&["resume", "two"]).stdout.trim(), "\"again by hand\"");
}

#[test]
fn a_solution_that_is_killed_goes_on_where_it_was_and_does_nothing_twice() {
    let place = Place::new(None);
    let (question, _) = place.question(&place.run("one", r#"{"name":"first"}"#));
    place.record("t", "add", &question);
    place.value(&["resolve", &question, r#"{"answer":{"made":"by hand"},"trace_id":"t"}"#]);
    for (id, when, done) in [("before", "before", "again"), ("after", "after", "done")] {
        let before = place.done();
        let mut command = ltc(["run", &place.workflow.display().to_string(), "--id", id, "--input", r#"{"name":"x"}"#]);
        let killed = ended(command.args(["--store", &place.address]).env("COUNTING_KILL", format!("a:1:{when}")));
        assert_eq!(killed.code, -1, "{killed:?}");
        // Nobody knows whether the call was made: that is asked, and nothing is called.
        let (question, asked) = place.question(&place.ltc(&["resume", id]));
        assert_eq!((text(&asked, &["type"]), text(&asked, &["step"])), ("in-doubt".to_owned(), "ask:add".to_owned()));
        let is_done = usize::from(done == "done");
        assert_eq!(place.done() - before, is_done);
        let answer = if done == "done" { r#"{"outcome":"done","result":{"made":"x"}}"# } else { r#"{"outcome":"again"}"# };
        place.value(&["resolve", &question, answer]);
        let resumed = place.ltc(&["resume", id]);
        assert_eq!((resumed.code, resumed.stdout.trim()), (0, "\"x\""), "{resumed:?}");
        assert_eq!(place.done() - before, 1);
    }
}

#[test]
fn the_cycle_is_walked_by_tools_over_stdio() {
    walk::walk(&mut walk::Stdio::new(None));
}

#[test]
fn the_cycle_is_walked_by_tools_over_stdio_on_postgresql() {
    if let Some(server) = postgres::Postgres::shared() {
        let database = server.database();
        walk::walk(&mut walk::Stdio::new(Some(database.address())));
    }
}

#[test]
fn the_cycle_is_walked_by_tools_over_http() {
    walk::walk(&mut walk::Http::new(None));
}

#[test]
fn the_cycle_is_walked_by_tools_over_http_on_postgresql() {
    if let Some(server) = postgres::Postgres::shared() {
        let database = server.database();
        walk::walk(&mut walk::Http::new(Some(database.address())));
    }
}
