//! One scenario, recorded in every format and variant, reads into the same trace, save for what a format cannot say.
//!
//! `fixtures/ingest/expected.json` is the trace. Each format has a folder with its recordings and an `expect.json` that says of each file
//! what it is and what it cannot say: `errors` (no mark for them), `servers` (no names), `turns`, `tools` (no descriptions), `task`.

#![allow(clippy::disallowed_methods, reason = "the fixtures are files")]

use ltc_compiler::ingest::{self, FORMATS, Ingested};
use ltc_compiler::trace::{Body, Call, DEFAULT_SERVER, Outcome, Trace};
use ltc_workflow::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/ingest")
}

fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(folder().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn read(path: &str) -> Ingested {
    ingest::read(path, &bytes(path), None).unwrap_or_else(|problems| panic!("{path}: {problems:#?}"))
}

fn expected() -> Trace {
    read("expected.json").traces.remove(0)
}

/// What a file is expected to be read as.
struct Expected<'e> {
    path: String,
    about: &'e Value,
}

impl Expected<'_> {
    fn cannot(&self, what: &str) -> bool {
        let list = self.about.get("cannot").and_then(Value::as_array).unwrap_or_default();
        list.iter().any(|item| item.as_str() == Some(what))
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.about.get(key).and_then(Value::as_str)
    }

    /// The expected calls, as far as the format can tell them.
    fn calls(&self, calls: &[Call]) -> Vec<Call> {
        let wanted = calls.iter().filter(|c| self.text("only").is_none_or(|only| only == c.server));
        let mut wanted: Vec<Call> = wanted.cloned().collect();
        for call in &mut wanted {
            if self.cannot("servers") {
                call.server = DEFAULT_SERVER.into();
            }
            if let (Outcome::ToolError(body), true) = (call.outcome.clone(), self.cannot("errors")) {
                call.outcome = Outcome::Result(body);
            }
        }
        wanted
    }

    fn check(&self, expected: &Trace, found: &Trace) {
        let path = &self.path;
        let task = self.text("task").or(expected.task.as_deref()).filter(|_| !self.cannot("task"));
        assert_eq!(found.task.as_deref(), task, "{path}: the task");
        assert_eq!(found.output, None, "{path}: prose is no output");
        let wanted = self.calls(&expected.calls);
        let names = |calls: &[Call]| calls.iter().map(|c| format!("{}/{}", c.server, c.tool)).collect::<Vec<_>>();
        assert_eq!(names(&found.calls), names(&wanted), "{path}: the calls");
        for (found, wanted) in found.calls.iter().zip(&wanted) {
            let at = format!("{path}: {} of {}/{}", found.id, found.server, found.tool);
            assert_eq!(found.arguments, wanted.arguments, "{at}: the arguments");
            assert_eq!(said(&found.outcome), said(&wanted.outcome), "{at}: the outcome");
            if !self.cannot("turns") {
                assert_eq!(found.turn, wanted.turn, "{at}: the turn");
            }
            if self.about.get("times").is_some() {
                assert_eq!((found.started_at, found.ended_at), (wanted.started_at, wanted.ended_at), "{at}: the times");
            }
        }
        let ids: BTreeSet<&str> = found.calls.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids.len(), found.calls.len(), "{path}: every call has an id of its own");
        let called: BTreeSet<&str> = found.calls.iter().map(|c| c.server.as_str()).collect();
        let listed: Vec<&str> = found.servers.iter().map(|s| s.name.as_str()).collect();
        assert!(listed.is_sorted() && called.iter().all(|name| listed.contains(name)), "{path}: the servers {listed:?}");
        if !self.cannot("tools") {
            self.check_tools(expected, found, &called);
        }
    }

    fn check_tools(&self, expected: &Trace, found: &Trace, called: &BTreeSet<&str>) {
        for server in &expected.servers {
            let same = found.servers.iter().find(|s| s.name == server.name || (self.cannot("servers") && s.name == DEFAULT_SERVER));
            let Some(same) =
                same.filter(|s| called.contains(s.name.as_str())).filter(|_| self.text("only").is_none_or(|o| o == server.name))
            else {
                assert!(self.text("only").is_some(), "{}: nothing is known of {}", self.path, server.name);
                continue;
            };
            for tool in &server.tools {
                let found = same.tools.iter().find(|t| t.name == tool.name);
                let found = found.unwrap_or_else(|| panic!("{}: nothing is known of {}/{}", self.path, server.name, tool.name));
                assert_eq!(
                    (&found.input_schema, &found.description),
                    (&tool.input_schema, &tool.description),
                    "{}: {}",
                    self.path,
                    tool.name
                );
            }
        }
    }
}

/// An outcome by its kind and by what a workflow sees of it.
fn said(outcome: &Outcome) -> (&'static str, Value) {
    let seen = |body: &Body| body.decode();
    match outcome {
        Outcome::Result(body) => ("result", seen(body)),
        Outcome::ToolError(body) => ("tool error", seen(body)),
        Outcome::RpcError { code, message } => ("rpc error", Value::string(format!("{code} {message}"))),
        Outcome::Refused => ("refused", Value::Null),
        Outcome::Missing => ("missing", Value::Null),
    }
}

#[test]
fn every_format_reads_the_same_trace() {
    let trace = expected();
    for format in FORMATS {
        let about = json::parse(&bytes(&format!("{}/expect.json", format.name))).expect("an expect.json of JSON");
        let files = about.as_object().expect("an object of files");
        assert!(!files.is_empty(), "{} has no recording", format.name);
        for (file, about) in files.iter() {
            let path = format!("{}/{file}", format.name);
            let expected = Expected { path: path.clone(), about };
            let mut found = read(&path);
            assert_eq!(found.format, format.name, "{path}: the format");
            assert!(expected.text("note").is_some_and(|note| !note.is_empty()), "{path}: a note says what it is");
            if let Some(given) = about.get("given").and_then(Value::as_array) {
                let servers = given.iter().map(|name| (name.as_str().unwrap_or_default(), json::parse(b"{}").unwrap_or_default()));
                let servers = Value::Object(servers.collect());
                found.traces.iter_mut().for_each(|trace| drop(ingest::apply_servers(trace, &servers)));
            }
            let runs = about.get("runs").and_then(Value::as_number).and_then(ltc_workflow::Number::as_i64).unwrap_or(1);
            assert_eq!(i64::try_from(found.traces.len()), Ok(runs), "{path}: the runs");
            found.traces.iter().for_each(|found| expected.check(&trace, found));
        }
    }
}

#[test]
fn every_recording_is_expected_to_be_something() {
    let mut known = BTreeSet::from(["expected.json".to_owned()]);
    for format in FORMATS {
        let about = json::parse(&bytes(&format!("{}/expect.json", format.name))).expect("an expect.json of JSON");
        known.insert(format!("{}/expect.json", format.name));
        known.extend(about.as_object().expect("an object of files").keys().map(|file| format!("{}/{file}", format.name)));
    }
    for folder_entry in std::fs::read_dir(folder()).expect("the fixtures") {
        let path = folder_entry.expect("an entry").path();
        let files = if path.is_dir() {
            std::fs::read_dir(&path).expect("a folder").map(|e| e.expect("an entry").path()).collect()
        } else {
            vec![path]
        };
        for file in files {
            let name = file.strip_prefix(folder()).expect("a file of the fixtures").display().to_string();
            assert!(known.contains(&name), "nothing says what {name} is expected to be");
        }
    }
}

#[test]
fn the_list_of_formats_is_in_order() {
    let names: BTreeSet<&str> = FORMATS.iter().map(|f| f.name).collect();
    assert_eq!(names.len(), FORMATS.len(), "names are unique");
    for format in FORMATS {
        assert!(format.summary.len() > 20, "{} says what it is", format.name);
        assert!(format.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{} is in kebab-case", format.name);
    }
}

#[test]
fn each_recording_is_recognized_by_one_format_alone_or_by_the_first() {
    for format in FORMATS {
        let about = json::parse(&bytes(&format!("{}/expect.json", format.name))).expect("an expect.json of JSON");
        for file in about.as_object().expect("an object of files").keys() {
            let path = format!("{}/{file}", format.name);
            let named = ingest::read(&path, &bytes(&path), Some(format.name)).expect("the format that it is in");
            assert_eq!(named, read(&path), "{path}: naming the format changes nothing");
        }
    }
}

#[test]
fn a_trace_is_written_such_that_it_is_read_again() {
    for format in FORMATS {
        let about = json::parse(&bytes(&format!("{}/expect.json", format.name))).expect("an expect.json of JSON");
        for file in about.as_object().expect("an object of files").keys() {
            for trace in read(&format!("{}/{file}", format.name)).traces {
                let written = json::to_string_pretty(&ltc_compiler::trace::to_json(&trace));
                let again = ingest::read("", written.as_bytes(), None).expect("what was written");
                assert_eq!(again.traces, vec![trace], "{}/{file}", format.name);
                assert_eq!(again.notes, vec![], "{}/{file}", format.name);
            }
        }
    }
}
