//! Runs that are ended from outside: cancelled, too late, interrupted. Nothing else is begun; what is under way is brought to its end, except where nobody wants the run any more.

#![cfg(unix)]

mod support;

use ltc_workflow::{Value, json};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use support::{Ended, Folder, ended, fixture_server, ltc};

/// A run with a store and a log of its own.
struct Place {
    folder: Folder,
    log: PathBuf,
}

impl Place {
    fn new() -> Place {
        let folder = Folder::new();
        let log = folder.path().join("log");
        Place { folder, log }
    }

    fn workflow(&self, steps: &str) -> PathBuf {
        // Whatever reaches the server is logged on its way.
        let (log, server) = (self.log.display().to_string(), fixture_server().display().to_string());
        let arguments = ["-c", "tee -a \"$1\" | \"$2\" stdio", "sh", &log, &server].map(json::quote).join(", ");
        let servers = format!("servers:\n  u:\n    command: sh\n    args: [{arguments}]\n");
        self.folder.file("w.yaml", &format!("workflow: w\nversion: 1\n{servers}steps:\n{steps}output: over\n"))
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("ltc.db")
    }

    /// A command over the store.
    fn ltc(&self, arguments: &[&str]) -> Ended {
        ended(ltc(arguments).arg("--store").arg(self.store()))
    }

    /// `ltc run` of the steps, under way.
    fn begun(&self, steps: &str, arguments: &[&str]) -> Child {
        let path = self.workflow(steps);
        let mut command = ltc(["run", "--id", "r"]);
        command.args(arguments).arg(path).arg("--store").arg(self.store());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command can be started")
    }

    /// Tools that were called, by step.
    fn called(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| Some(line.split(r#""ltc/step":""#).nth(1)?.split('"').next()?.to_owned())).collect()
    }

    fn until_called(&self, step: &str) {
        let begun = Instant::now();
        while !self.called().iter().any(|called| called == step) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{step} is not called");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The run as `ltc runs show` gives it, without its journal, and what happened in it.
    fn shown(&self) -> (String, Vec<String>) {
        let shown = self.ltc(&["runs", "show", "r"]);
        // Where nothing is kept of it yet, it stands nowhere.
        let run = json::parse(shown.stdout.as_bytes()).unwrap_or_default();
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let events = run.get("events").and_then(Value::as_array).unwrap_or_default();
        (text(&run, "status"), events.iter().map(|event| format!("{} {}", text(event, "step"), text(event, "event"))).collect())
    }

    fn until_it_stands(&self, status: &str) {
        let begun = Instant::now();
        while self.shown().0 != status {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", self.shown());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill can be started");
    assert!(sent.success());
}

fn end(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

const ASK: &str = "  - id: ask\n    escalate: { role: reviewer, message: \"May I?\" }\n";

fn sleep(id: &str, millis: u32) -> String {
    format!("  - id: {id}\n    call: u/sleep\n    with: {{ millis: {millis} }}\n")
}

fn question(said: &Ended) -> String {
    let (_, behind) = said.stderr.split_once("ltc resolve ").expect("it says how to answer");
    behind.split(' ').next().expect("an id").to_owned()
}

#[test]
fn a_run_that_waits_for_a_person_is_cancelled_at_once() {
    let place = Place::new();
    let waiting = end(place.begun(ASK, &[]));
    assert_eq!(waiting.code, 4, "{waiting:?}");
    let cancelled = place.ltc(&["cancel", "r"]);
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert_eq!(place.shown().0, "cancelled");
    let answered = place.ltc(&["resolve", &question(&waiting), "1"]);
    assert!(answered.code == 1 && answered.stderr.contains("error[conflict]") && answered.stderr.contains("is closed"), "{answered:?}");
    let resumed = place.ltc(&["resume", "r"]);
    assert!(resumed.code == 1 && resumed.stderr.contains("error[run-cancelled]"), "{resumed:?}");
    assert_eq!(place.shown().1, ["ask escalated", " cancelled"]);
}

#[test]
fn a_cancelled_run_gives_up_its_calls_tells_their_servers_and_begins_no_other() {
    let place = Place::new();
    let calls = "  - id: long\n    call: u/hang\n".to_owned() + &sleep("never", 1);
    let steps = format!("  - id: p\n    parallel:\n      - steps:\n{}      - steps:\n{}", indented(&calls), indented(ASK));
    let child = place.begun(&steps, &[]);
    place.until_called("long");
    let asked = Instant::now();
    let cancelled = place.ltc(&["cancel", "r"]);
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    let run = end(child);
    assert!(run.code == 1 && run.stderr.contains("error[run-cancelled]"), "{run:?}");
    // Its lease is renewed every five seconds, and the call would go on for minutes.
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    let (status, events) = place.shown();
    assert_eq!(status, "cancelled");
    assert_eq!(place.called(), ["long"]);
    // It was begun, and nobody knows how it ended: it is in doubt.
    let of_call: Vec<&String> = events.iter().filter(|event| event.starts_with("long ")).collect();
    assert_eq!(of_call, ["long started"], "{events:?}");
    assert!(events.last().is_some_and(|last| last == " cancelled"), "{events:?}");
    assert_eq!(place.ltc(&["resolve"]).stdout, "", "nobody is asked any more");
    let told = std::fs::read_to_string(&place.log).expect("a log");
    assert!(told.lines().any(|line| line.contains("notifications/cancelled")), "{told}");
}

fn indented(steps: &str) -> String {
    steps.lines().map(|line| format!("        {line}\n")).collect()
}

#[test]
fn a_deadline_passes_while_a_person_is_waited_for() {
    let place = Place::new();
    let waiting = end(place.begun(ASK, &["--deadline", "700ms"]));
    assert_eq!(waiting.code, 4, "{waiting:?}");
    std::thread::sleep(Duration::from_millis(800));
    let late = place.ltc(&["resume", "r"]);
    assert!(late.code == 1 && late.stderr.contains("deadline: the run did not end by"), "{late:?}");
    let answered = place.ltc(&["resolve", &question(&waiting), "1"]);
    assert!(answered.code == 1 && answered.stderr.contains("error[conflict]"), "{answered:?}");
}

#[test]
fn a_long_timer_is_not_slept_through_by_a_deadline_or_a_cancellation() {
    for is_cancelled in [false, true] {
        let place = Place::new();
        let before = Instant::now();
        let arguments: &[&str] = if is_cancelled { &[] } else { &["--deadline", "1s"] };
        let child = place.begun("  - id: w\n    wait: 1h\n", arguments);
        if is_cancelled {
            place.until_it_stands("waiting");
            assert_eq!(place.ltc(&["cancel", "r"]).code, 0);
        }
        let run = end(child);
        let code = if is_cancelled { "error[run-cancelled]" } else { "deadline: the run did not end by" };
        assert!(run.code == 1 && run.stderr.contains(code), "{run:?}");
        assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    }
}

#[test]
fn a_polite_request_ends_the_command_behind_the_call_that_is_under_way() {
    let place = Place::new();
    let steps = sleep("a", 900) + &sleep("b", 1);
    let child = place.begun(&steps, &[]);
    place.until_called("a");
    signal(&child, "-TERM");
    let interrupted = end(child);
    assert!(interrupted.code == 130 && interrupted.stderr.contains("ltc resume r"), "{interrupted:?}");
    assert_eq!(place.shown().0, "queued");
    assert_eq!(place.called(), ["a"]);
    let resumed = place.ltc(&["resume", "r"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "\"over\"\n"), "{resumed:?}");
    assert_eq!(place.called(), ["a", "b"]);
}

#[test]
fn ctrl_c_twice_cuts_a_call_off_and_a_person_is_asked_about_it() {
    let place = Place::new();
    let steps = "  - id: a\n    call: u/hang\n".to_owned() + &sleep("b", 1);
    let child = place.begun(&steps, &[]);
    place.until_called("a");
    let before = Instant::now();
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-INT");
    let interrupted = end(child);
    assert!(interrupted.code == 130 && interrupted.stderr.contains("cut off"), "{interrupted:?}");
    assert!(before.elapsed() < Duration::from_secs(3), "{:?}", before.elapsed());
    let resumed = place.ltc(&["resume", "r"]);
    assert!(resumed.code == 4 && resumed.stderr.contains("operator is asked"), "{resumed:?}");
    assert_eq!(place.called(), ["a"], "it is not called a second time unasked");
    let answered = place.ltc(&["resolve", &question(&resumed), r#"{"outcome":"done","result":{"x":1}}"#]);
    assert_eq!(answered.code, 0, "{answered:?}");
    let resumed = place.ltc(&["resume", "r"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "\"over\"\n"), "{resumed:?}");
    assert_eq!(place.called(), ["a", "b"]);
    assert!(place.shown().1.contains(&"a succeeded".to_owned()));
}

#[test]
fn a_question_with_a_timeout_is_answered_by_nobody_after_it() {
    let place = Place::new();
    let steps = "  - id: ask\n    escalate: { role: reviewer, message: \"May I?\" }\n    timeout: 500ms\n    catch:\n      steps:\n        - id: caught\n          set: { x: \"${{ error.code }}\" }\n";
    let waiting = end(place.begun(steps, &[]));
    assert_eq!(waiting.code, 4, "{waiting:?}");
    std::thread::sleep(Duration::from_millis(600));
    let late = place.ltc(&["resolve", &question(&waiting), "1"]);
    assert!(late.code == 1 && late.stderr.contains("error[conflict]"), "{late:?}");
    let resumed = place.ltc(&["resume", "r"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "\"over\"\n"), "{resumed:?}");
    assert_eq!(place.shown().1, ["ask escalated", "ask failed"]);
}

#[test]
fn a_run_is_gone_on_with_by_one_process_at_a_time() {
    let place = Place::new();
    let child = place.begun(&(sleep("a", 1200) + &sleep("b", 1)), &[]);
    place.until_called("a");
    let refused = place.ltc(&["resume", "r"]);
    assert!(refused.code == 1 && refused.stderr.contains("another process works on the run r"), "{refused:?}");
    let done = end(child);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(place.called(), ["a", "b"]);
}
