//! The engine against a journal and a world that are scripted.

use super::*;
use crate::journal::{Call, Journal, World};
use crate::observe::Unobserved;
use futures_util::future::BoxFuture;
use ltc_workflow::document::ToolEffect;
use ltc_workflow::{Object, json, yaml};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// A world in which a call's tool says how it ends: `ok`, `slow` (after a while), `fail`, `never`. It remembers what was begun and ended.
#[derive(Clone, Default)]
struct Script(Arc<Mutex<Vec<String>>>);

impl Script {
    fn note(&self, word: &str, key: &StepKey) {
        self.0.lock().expect("no test panics while it notes").push(format!("{word} {key}"));
    }

    fn notes(&self) -> Vec<String> {
        self.0.lock().expect("no test panics while it notes").clone()
    }
}

impl World for Script {
    fn call<'w>(&'w self, key: &'w StepKey, call: Call<'w>) -> BoxFuture<'w, Result<Value, Failure>> {
        async move {
            self.note("begin", key);
            let ended = match call.tool.as_str() {
                "fail" => Err(Failure { code: "tool-error".into(), message: "no".into(), step: None }),
                "slow" => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Ok(Value::from("slow"))
                }
                "never" => std::future::pending().await,
                _ => Ok(Value::from("ok")),
            };
            self.note("end", key);
            ended
        }
        .boxed()
    }

    fn effect(&self, _server: &str, _tool: &str) -> ToolEffect {
        ToolEffect::Write
    }

    fn workflow(&self, _name: &str) -> Option<&Workflow> {
        static CHILD: std::sync::LazyLock<Workflow> = std::sync::LazyLock::new(|| {
            let steps = call("x", "slow") + &call("y", "ok");
            let wait = "          - id: z\n            wait: 1h\n";
            let text = format!("workflow: c\nversion: 1\nservers: {{ s: {{}} }}\nsteps:\n{}", branches(&[&steps, wait]));
            yaml::read(&text).expect("a workflow in a test")
        });
        Some(&CHILD)
    }

    fn start(&self, _workflow: &Workflow, input: Object) -> Start {
        Start { input, ..Start::default() }
    }
}

fn journal(script: &Script) -> Journal {
    Journal::in_memory(Arc::new(script.clone()), Arc::new(Unobserved), watch::channel(None).1)
}

async fn run_with(steps: &str, journal: &Journal) -> Rest {
    let text = format!("workflow: w\nversion: 1\nservers: {{ s: {{}} }}\nsteps:\n{steps}");
    let workflow = yaml::read(&text).expect("a workflow in a test");
    run(&workflow, &Start::default(), journal, &Unobserved).await
}

async fn rest_of(steps: &str) -> (Rest, Vec<String>) {
    let script = Script::default();
    let rest = run_with(steps, &journal(&script)).await;
    (rest, script.notes())
}

fn branches(branches: &[&str]) -> String {
    let list: String = branches.iter().map(|steps| format!("      - steps:\n{steps}")).collect();
    format!("  - id: p\n    parallel:\n{list}")
}

fn call(id: &str, tool: &str) -> String {
    format!("          - id: {id}\n            call: s/{tool}\n")
}

#[tokio::test(start_paused = true)]
async fn what_may_be_under_way_at_once_is() {
    let steps = branches(&[&call("a", "slow"), &(call("b", "ok") + &call("c", "ok"))]) + "output: \"${{ steps.a }}\"\n";
    let (rest, notes) = rest_of(&steps).await;
    assert_eq!(rest, Rest::Done(Value::from("slow")));
    assert_eq!(notes, ["begin a", "begin b", "end b", "begin c", "end c", "end a"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_waits_for_calls_and_gives_timers_up() {
    let wait = "          - id: w\n            wait: 1h\n";
    let before = tokio::time::Instant::now();
    let (rest, notes) = rest_of(&branches(&[&call("a", "fail"), &call("b", "slow"), wait])).await;
    let Rest::Failed(failure) = rest else { panic!("{rest:?}") };
    assert_eq!(failure.step, Some(StepKey("a".into())));
    assert_eq!(notes, ["begin a", "end a", "begin b", "end b"]);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_waits_for_the_calls_of_workflows_within_it_and_no_more_of_them_is_begun() {
    let run = "          - id: r\n            run: c\n";
    let before = tokio::time::Instant::now();
    let (rest, notes) = rest_of(&branches(&[&(call("a", "ok") + &call("b", "fail")), run])).await;
    assert!(matches!(rest, Rest::Failed(_)), "{rest:?}");
    assert_eq!(notes, ["begin a", "end a", "begin r:x", "begin b", "end b", "end r:x"]);
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_person_first_does_what_else_there_is() {
    let ask = "          - id: q\n            escalate: { role: reviewer, message: \"May I?\" }\n";
    let (rest, notes) = rest_of(&(branches(&[ask, &(call("a", "slow") + &call("b", "ok"))]) + "  - id: after\n    call: s/ok\n")).await;
    let Rest::Waiting { steps: questions, wake_at: None } = rest else { panic!("{rest:?}") };
    let keys: Vec<&str> = questions.iter().map(|(key, _)| key.0.as_str()).collect();
    assert_eq!(keys, ["q"]);
    assert_eq!(notes, ["begin a", "end a", "begin b", "end b"]);
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_never_done_again() {
    let script = Script::default();
    let journal = journal(&script);
    let steps = "  - id: a\n    call: s/ok\n  - id: b\n    call: s/never\n";
    let cut = tokio::time::timeout(Duration::from_secs(1), run_with(steps, &journal)).await;
    assert!(cut.is_err(), "b never ends");
    assert_eq!(script.notes(), ["begin a", "end a", "begin b"]);
    // The same journal, and a world in which b ends.
    let rest = run_with(&steps.replace("never", "ok"), &journal).await;
    assert_eq!(rest, Rest::Done(Value::Null));
    assert_eq!(script.notes(), ["begin a", "end a", "begin b", "begin b", "end b"]);
}

#[tokio::test(start_paused = true)]
async fn loops_keep_to_their_width_and_results_to_their_places() {
    let steps = "  - id: each\n    for: { each: n, in: \"${{ [1, 2, 3] }}\", at_once: 2, gather: \"${{ n }}\" }\n    steps:\n      - id: c\n        call: s/slow\noutput: \"${{ steps.each }}\"\n";
    let (rest, notes) = rest_of(steps).await;
    let Rest::Done(output) = rest else { panic!("{rest:?}") };
    assert_eq!(json::to_string(&output), "[1,2,3]");
    assert_eq!(notes[..2], ["begin each[0]/c", "begin each[1]/c"]);
    assert_eq!(notes.iter().filter(|note| note.starts_with("end")).count(), 3);
    let third = notes.iter().position(|note| note == "begin each[2]/c").expect("the third is begun");
    assert!(notes[..third].iter().any(|note| note.starts_with("end")), "{notes:?}");
}
