//! The cycle, through the operations and with a compiler of the test's own: recordings become drafts, answers become solutions, and solutions are tried
//! before a person is asked.

use ltc_runtime::compiling::{Compiled, Compiler, Explained, Finding, Severity, Tally, Task, Verified};
use ltc_runtime::drive::Driver;
use ltc_runtime::environment::ProcessEnvironment;
use ltc_runtime::observe::{Log, Unobserved};
use ltc_runtime::pool::Connections;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::service::{Caller, Code, Operation, Refusal, Service};
use ltc_runtime::store;
use ltc_runtime::upstream::{Connector, Limits};
use ltc_workflow::{Value, Workflow, json, yaml};
use std::collections::BTreeMap;
use std::sync::Arc;

struct Silent;

impl Log for Silent {
    fn learn(&self, _: &Redactor) {}

    fn server_said(&self, _: &str, _: &str) {}

    fn redact(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// Makes of recordings the workflow whose steps and output stand in the output of the last one; a hint `doubt` is a question.
struct Fake;

fn finding(severity: Severity) -> Finding {
    Finding { severity, code: "fake", place: "call 1".into(), message: "a finding".into(), candidates: Vec::new(), help: None }
}

impl Compiler for Fake {
    fn read(&self, text: &str, _: Option<&str>) -> Result<(Vec<Value>, Vec<Finding>), Vec<Finding>> {
        json::parse(text.as_bytes()).map(|value| (vec![value], Vec::new())).map_err(|_| vec![finding(Severity::Error)])
    }

    fn hints(&self, hints: &Value, place: &str) -> Vec<Finding> {
        let is_wrong = hints.get("wrong").is_some();
        if is_wrong { vec![Finding { place: format!("{place}/wrong"), ..finding(Severity::Error) }] } else { Vec::new() }
    }

    fn compile(&self, task: &Task) -> Compiled {
        let last = task.traces.last().and_then(|trace| trace.get("output")).and_then(Value::as_str).unwrap_or_default();
        if last.is_empty() {
            return Compiled { findings: vec![finding(Severity::Error)], ..Compiled::default() };
        }
        let inputs = task.traces.last().and_then(|trace| trace.get("input")).and_then(Value::as_object).cloned().unwrap_or_default();
        let inputs: Vec<String> = inputs.keys().map(|name| format!("{name}: {{ type: integer }}")).collect();
        let name = task.name.clone().unwrap_or_else(|| "of-a-task".to_owned());
        let text = format!("workflow: {name}\nversion: 1\ninputs: {{ {} }}\n{last}", inputs.join(", "));
        let doubtful = task.hints.get("s").and_then(|hints| hints.get("doubt")).is_some();
        Compiled {
            workflow: Some(yaml::read(&text).expect("a workflow in a test")),
            findings: if doubtful { vec![finding(Severity::Question)] } else { Vec::new() },
            verified: Verified {
                verified: true,
                recorded: Tally { passed: task.traces.len(), tried: task.traces.len() },
                ..Verified::default()
            },
        }
    }

    fn explain(&self, task: &Task) -> Explained {
        Explained { text: format!("{} recordings", task.traces.len()), ..Explained::default() }
    }

    fn verify(&self, workflow: &Workflow, task: &Task) -> Verified {
        let is_same = self.compile(&Task { name: Some(workflow.name.to_string()), ..task.clone() }).workflow.as_ref() == Some(workflow);
        Verified { verified: is_same, ..Verified::default() }
    }
}

struct World {
    service: Arc<Service>,
    _folder: tempfile::TempDir,
}

fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

impl World {
    async fn new(compiler: bool) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store::open(&folder.path().join("ltc.db").display().to_string()).await.expect("the store opens");
        let connections = Arc::new(Connections::new(Connector { log: Arc::new(Silent), limits: Limits::default() }));
        let driver = Arc::new(Driver::new(store, connections, BTreeMap::new(), Arc::new(ProcessEnvironment)));
        let service = if compiler { Service::with_compiler(driver, Arc::new(Fake)) } else { Service::new(driver) };
        World { service, _folder: folder }
    }

    async fn tried(&self, operation: &str, input: &str) -> Result<Value, Refusal> {
        let operation = Operation::named(operation).unwrap_or_else(|| panic!("no {operation}"));
        operation.call(&self.service, &value(input), Caller::new(Arc::new(Unobserved))).await
    }

    async fn call(&self, operation: &str, input: &str) -> Value {
        self.tried(operation, input).await.unwrap_or_else(|refusal| panic!("{operation} {input}: {refusal}"))
    }

    async fn add(&self, id: &str, input: &str, output: &str, more: &str) {
        let recording = format!(
            r#"{{"format":"ltc.trace/1","input":{input},"output":{},"servers":{{"s":{{}}}},"calls":[
                {{"id":"a","server":"s","tool":"t","arguments":{{"n":12345678901234567890123}},"result":{{"content":[]}},"started_at":"2026-01-02T03:04:05.006Z"}}]}}"#,
            json::quote(output)
        );
        let added = self.call("add_trace", &format!(r#"{{"recording":{recording},"trace_id":"{id}"{more}}}"#)).await;
        assert_eq!(text(&added, "/trace_ids/0"), id);
    }

    async fn deploy(&self, document: &str) {
        self.call("deploy_workflow", &format!(r#"{{"document":{}}}"#, json::quote(document))).await;
    }
}

/// What is at a pointer, as text.
fn text(value: &Value, pointer: &str) -> String {
    let at = pointer.split('/').skip(1).try_fold(value, |at, key| match key.parse::<usize>() {
        Ok(index) if at.as_array().is_some() => at.as_array().and_then(|items| items.get(index)),
        _ => at.get(key),
    });
    match at {
        Some(Value::String(text)) => text.to_string(),
        Some(other) => json::to_string(other),
        None => String::new(),
    }
}

const PLUS_ONE: &str = "steps:\n  - id: sum\n    set: { n: \"${{ inputs.n + 1 }}\" }\noutput: \"${{ steps.sum.n }}\"\n";
const PLUS_TWO: &str = "steps:\n  - id: sum\n    set: { n: \"${{ inputs.n + 2 }}\" }\noutput: \"${{ steps.sum.n }}\"\n";
const ASKS: &str = "workflow: w\nversion: 1\ninputs: { n: {} }\nsteps:\n  - id: ask\n    escalate: { role: r, message: What?, data: { n: \"${{ inputs.n }}\" }, form: { type: integer }, triage: true }\noutput: \"${{ steps.ask }}\"\n";

#[tokio::test]
async fn recordings_become_drafts_that_are_compiled_again_told_apart_and_deployed() {
    let world = World::new(true).await;
    world.add("one", r#"{"n":1}"#, PLUS_ONE, "").await;
    world.add("two", r#"{"n":1}"#, PLUS_TWO, "").await;
    let shown = world.call("get_trace", r#"{"trace_id":"one"}"#).await;
    assert_eq!(text(&shown, "/document/calls/0/arguments/n"), "12345678901234567890123");
    assert_eq!(text(&shown, "/document/calls/0/started_at"), "2026-01-02T03:04:05.006Z");
    assert_eq!(world.tried("add_trace", r#"{"recording":"{"}"#).await.expect_err("no recording").code, Code::Invalid);

    let looked = world.call("compile_traces", r#"{"trace_ids":["one"],"workflow_name":"p","dry_run":true}"#).await;
    assert_eq!(text(&looked, "/version"), "");
    let draft =
        world.call("compile_traces", r#"{"trace_ids":["one","one"],"workflow_name":"p","hints":{"s":{"doubt":1,"inputs":["n"]}}}"#).await;
    assert_eq!(
        (text(&draft, "/version/state"), text(&draft, "/questions"), text(&draft, "/version/trace_ids")),
        ("draft".into(), "1".into(), r#"["one"]"#.into())
    );
    // A draft is none that can be run.
    assert_eq!(
        world.tried("invoke_workflow", r#"{"workflow_name":"p","version":1,"input":{"n":1}}"#).await.expect_err("a draft").code,
        Code::Conflict
    );
    world.call("set_workflow_state", r#"{"workflow_name":"p","version":1,"state":"active"}"#).await;
    assert_eq!(text(&world.call("invoke_workflow", r#"{"workflow_name":"p","input":{"n":1}}"#).await, "/output"), "2");
    // The same once more does not take what is active out of use.
    let same = world.call("compile_traces", r#"{"trace_ids":["one"],"workflow_name":"p"}"#).await;
    assert_eq!((text(&same, "/version/version"), text(&same, "/version/state")), ("1".into(), "active".into()));

    // Feedback is an edit of the hints: this one takes the doubt away.
    let more = world.call("recompile_workflow", r#"{"workflow_name":"p","trace_ids":["two"],"hints":{"s":{"doubt":null}}}"#).await;
    assert_eq!(
        (text(&more, "/version/version"), text(&more, "/questions"), text(&more, "/version/trace_ids")),
        ("2".into(), "0".into(), r#"["one","two"]"#.into())
    );
    let diff = world.call("diff_workflow_versions", r#"{"workflow_name":"p","from":1}"#).await;
    let diff = text(&diff, "/diff");
    assert!(
        diff.contains("--- p version 1") && diff.contains("+++ p version 2") && diff.contains("\n-") && diff.contains("inputs.n + 2"),
        "{diff}"
    );
    assert_eq!(text(&world.call("diff_workflow_versions", r#"{"workflow_name":"p","from":1,"to":1}"#).await, "/diff"), "");
    let versions = world.call("list_workflow_versions", r#"{"workflow_name":"p"}"#).await;
    assert_eq!((text(&versions, "/versions/0/state"), text(&versions, "/versions/1/state")), ("draft".into(), "active".into()));
    assert_eq!(text(&world.call("verify_workflow", r#"{"workflow_name":"p","version":2}"#).await, "/verified"), "true");
    assert_eq!(
        text(&world.call("verify_workflow", r#"{"workflow_name":"p","version":2,"trace_ids":["one"]}"#).await, "/verified"),
        "false"
    );
    assert_eq!(text(&world.call("explain_traces", r#"{"trace_ids":["one","two"]}"#).await, "/text"), "2 recordings");
    // Forward, and back.
    world.call("set_workflow_state", r#"{"workflow_name":"p","version":2,"state":"active"}"#).await;
    assert_eq!(text(&world.call("invoke_workflow", r#"{"workflow_name":"p","input":{"n":1}}"#).await, "/output"), "3");
    world.call("set_workflow_state", r#"{"workflow_name":"p","version":1,"state":"active"}"#).await;
    assert_eq!(text(&world.call("invoke_workflow", r#"{"workflow_name":"p","input":{"n":1}}"#).await, "/output"), "2");

    world.call("delete_trace", r#"{"trace_id":"one"}"#).await;
    for (operation, input, code) in [
        ("compile_traces", r#"{"trace_ids":["one"]}"#, Code::NotFound),
        ("compile_traces", r#"{"trace_ids":[]}"#, Code::Invalid),
        ("recompile_workflow", r#"{"workflow_name":"p"}"#, Code::NotFound),
        ("recompile_workflow", r#"{"workflow_name":"none"}"#, Code::NotFound),
        ("list_workflow_versions", r#"{"workflow_name":"none"}"#, Code::NotFound),
        ("diff_workflow_versions", r#"{"workflow_name":"p","from":9}"#, Code::NotFound),
    ] {
        assert_eq!(world.tried(operation, input).await.expect_err(operation).code, code, "{operation} {input}");
    }
}

#[tokio::test]
async fn without_a_compiler_what_needs_one_is_refused_and_the_rest_works() {
    let world = World::new(false).await;
    let refused = world.tried("add_trace", r#"{"recording":"x"}"#).await.expect_err("no compiler");
    assert!(refused.code == Code::Missing && refused.message.contains("no compiler"), "{refused}");
    assert_eq!(text(&world.call("list_traces", "{}").await, "/traces"), "[]");
}

/// Asks, and gives the question.
async fn asked(world: &World, input: &str) -> (String, Value) {
    let run = world.call("invoke_workflow", &format!(r#"{{"workflow_name":"w","input":{input}}}"#)).await;
    assert_eq!(text(&run, "/status"), "waiting", "{run:?}");
    let question = world.call("check_resolution", &format!(r#"{{"escalation_id":"{}"}}"#, text(&run, "/escalations/0"))).await;
    (text(&run, "/run_id"), question)
}

async fn answered(world: &World, question: &Value, payload: &str) -> Value {
    let id = text(question, "/escalation_id");
    world.call("claim_and_resolve", &format!(r#"{{"escalation_id":"{id}","resolver_id":"me","payload":{payload}}}"#)).await
}

async fn output(world: &World, run: &str) -> String {
    let run = world.call("resume_run", &format!(r#"{{"run_id":"{run}"}}"#)).await;
    assert_eq!(text(&run, "/status"), "done", "{run:?}");
    text(&run, "/output")
}

#[tokio::test]
async fn what_was_solved_once_is_not_asked_again_while_it_fits_and_works() {
    let world = World::new(true).await;
    world.deploy(ASKS).await;
    let (run, question) = asked(&world, r#"{"n":1}"#).await;
    assert_eq!((text(&question, "/type"), text(&question, "/data/input")), ("triage".into(), r#"{"n":1}"#.into()));
    assert_eq!(
        (text(&question, "/data/workflow"), text(&question, "/data/step"), text(&question, "/data/run_id")),
        ("w".into(), "ask".into(), run.clone())
    );
    // The recording says no input: it is what the question carried.
    world.add("t", "null", PLUS_ONE, &format!(r#","escalation_id":"{}""#, text(&question, "/escalation_id"))).await;
    let resolved = answered(&world, &question, r#"{"answer":2,"trace_id":"t"}"#).await;
    assert_eq!(
        (text(&resolved, "/learned/is_tried"), text(&resolved, "/learned/version/name"), text(&resolved, "/learned/version/state")),
        ("true".into(), "solve-w-ask".into(), "deployed".into())
    );
    assert_eq!(output(&world, &run).await, "2");

    let again = world.call("invoke_workflow", r#"{"workflow_name":"w","input":{"n":41},"run_id":"again"}"#).await;
    assert_eq!((text(&again, "/status"), text(&again, "/output")), ("done".into(), "42".into()));
    let journal = world.call("get_run", r#"{"run_id":"again","events":true}"#).await;
    assert_eq!(text(&journal, "/events/0/step"), "ask@chosen");
    assert_eq!(text(&journal, "/events/0/value"), r#"{"workflow":"solve-w-ask","version":1}"#);

    // What does not fit is asked at once.
    let (run, question) = asked(&world, r#"{"n":"forty"}"#).await;
    assert_eq!((text(&question, "/message"), text(&question, "/data/tried")), ("What?".into(), String::new()));
    assert_eq!(text(&answered(&world, &question, r#"{"answer":7}"#).await, "/payload"), "7");
    assert_eq!(output(&world, &run).await, "7");

    // Archived, it is tried no more.
    world.call("set_workflow_state", r#"{"workflow_name":"solve-w-ask","version":1,"state":"archived"}"#).await;
    asked(&world, r#"{"n":1}"#).await;
}

#[tokio::test]
async fn a_solution_that_fails_or_answers_something_else_is_told_of_and_a_person_is_asked() {
    let world = World::new(true).await;
    world.deploy(ASKS).await;
    for (id, steps, said) in [
        ("bad", "steps:\n  - id: sum\n    set: { n: \"${{ parse_json('{') }}\" }\noutput: \"${{ steps.sum.n }}\"\n", "failed with"),
        ("odd", "steps: []\noutput: a text\n", "wrong-answer"),
    ] {
        let (_, question) = asked(&world, r#"{"n":"none"}"#).await;
        world.add(id, r#"{"n":1}"#, steps, "").await;
        let resolved = answered(&world, &question, &format!(r#"{{"answer":1,"trace_id":"{id}","activate":true}}"#)).await;
        assert_eq!(text(&resolved, "/learned/version/state"), "active", "{resolved:?}");
        let (run, question) = asked(&world, r#"{"n":5}"#).await;
        let message = text(&question, "/message");
        assert!(message.starts_with("What?") && message.contains("solve-w-ask") && message.contains(said), "{message}");
        assert_eq!(text(&question, "/data/tried/workflow"), "solve-w-ask");
        answered(&world, &question, r#"{"answer":6}"#).await;
        assert_eq!(output(&world, &run).await, "6");
        let journal = world.call("get_run", &format!(r#"{{"run_id":"{run}","events":true}}"#)).await;
        let steps: Vec<String> = (0..4)
            .map(|at| format!("{} {}", text(&journal, &format!("/events/{at}/step")), text(&journal, &format!("/events/{at}/event"))))
            .collect();
        assert_eq!(steps, ["ask@chosen succeeded", "ask@solution failed", "ask escalated", "ask succeeded"]);
    }
}

#[tokio::test]
async fn an_open_question_about_a_recording_is_a_draft_and_nothing_is_tried() {
    let world = World::new(true).await;
    world.deploy(ASKS).await;
    let (_, question) = asked(&world, r#"{"n":1}"#).await;
    // Nothing comes of this one, and the answer counts all the same.
    world.add("none", r#"{"n":1}"#, "", "").await;
    let resolved = answered(&world, &question, r#"{"answer":2,"trace_id":"none"}"#).await;
    assert_eq!(
        (text(&resolved, "/status"), text(&resolved, "/learned/is_tried"), text(&resolved, "/learned/version")),
        ("resolved".into(), "false".into(), String::new())
    );
    asked(&world, r#"{"n":1}"#).await;
    // An answer that is none, or a recording that is not there, changes nothing.
    let (_, question) = asked(&world, r#"{"n":1}"#).await;
    let id = text(&question, "/escalation_id");
    for (payload, code) in
        [(r#"2"#, Code::Invalid), (r#"{"answer":"2"}"#, Code::Invalid), (r#"{"answer":2,"trace_id":"gone"}"#, Code::NotFound)]
    {
        let input = format!(r#"{{"escalation_id":"{id}","resolver_id":"me","payload":{payload}}}"#);
        assert_eq!(world.tried("claim_and_resolve", &input).await.expect_err(payload).code, code, "{payload}");
    }
    assert_eq!(text(&world.call("check_resolution", &format!(r#"{{"escalation_id":"{id}"}}"#)).await, "/status"), "pending");
}

#[tokio::test]
async fn a_run_that_fails_asks_once_where_its_workflow_wants_that_and_only_runs_ask_so() {
    let world = World::new(true).await;
    let failing = "steps:\n  - id: look\n    set: { n: \"${{ parse_json('{') }}\" }\n";
    world.deploy(&format!("workflow: w\nversion: 1\ntriage: true\ninputs: {{ n: {{}} }}\n{failing}")).await;
    world.deploy(&format!("workflow: quiet\nversion: 1\ninputs: {{ n: {{}} }}\n{failing}")).await;
    world.call("invoke_workflow", r#"{"workflow_name":"quiet","input":{"n":5}}"#).await;
    assert_eq!(text(&world.call("get_available_work", "{}").await, "/count"), "0");
    let run = world.call("invoke_workflow", r#"{"workflow_name":"w","input":{"n":5},"run_id":"r"}"#).await;
    assert_eq!(text(&run, "/status"), "failed");
    let work = world.call("get_available_work", "{}").await;
    assert_eq!((text(&work, "/count"), text(&work, "/escalations/0/escalation_id")), ("1".into(), "triage-r".into()));
    let question = world.call("check_resolution", r#"{"escalation_id":"triage-r"}"#).await;
    assert_eq!(
        (text(&question, "/data/run_id"), text(&question, "/data/input"), text(&question, "/subtype")),
        ("r".into(), r#"{"n":5}"#.into(), "failed-run".into())
    );
    world.add("t", r#"{"n":5}"#, PLUS_ONE, "").await;
    let resolved = answered(&world, &question, r#"{"answer":null,"trace_id":"t"}"#).await;
    assert_eq!(text(&resolved, "/learned/version/name"), "solve-w");

    let forged = r#"{"role":"r","message":"m","type":"triage","data":{"workflow":"w","step":"ask","input":{}}}"#;
    assert_eq!(world.tried("escalate_to_human", forged).await.expect_err("forged").code, Code::Invalid);
}

#[tokio::test]
async fn what_solved_a_run_that_failed_stands_in_for_the_next_one_that_does() {
    let world = World::new(true).await;
    let failing = "steps:\n  - id: look\n    set: { n: \"${{ parse_json('{') }}\" }\noutput: { n: \"${{ steps.look.n }}\" }\n";
    world.deploy(&format!("workflow: w\nversion: 1\ntriage: true\ninputs: {{ n: {{}} }}\n{failing}")).await;
    let run = async |id: &str, n: &str| {
        let run = world.call("invoke_workflow", &format!(r#"{{"workflow_name":"w","input":{{"n":{n}}},"run_id":"{id}"}}"#)).await;
        (text(&run, "/status"), text(&run, "/output"))
    };
    let question = async |id: &str| world.call("check_resolution", &format!(r#"{{"escalation_id":"triage-{id}"}}"#)).await;
    let solution = |output: &str| PLUS_ONE.replace("output: \"${{ steps.sum.n }}\"", &format!("output: {output}"));
    assert_eq!(run("a", "5").await, ("failed".into(), String::new()));
    // The answer stands for the run's output, and has to look like it.
    let asked = question("a").await;
    world.add("t", r#"{"n":5}"#, &solution("{ n: \"${{ steps.sum.n }}\" }"), "").await;
    let other = r#"{"escalation_id":"triage-a","resolver_id":"me","payload":{"answer":6,"trace_id":"t"}}"#;
    assert_eq!(world.tried("claim_and_resolve", other).await.expect_err("no such output").code, Code::Invalid);
    let resolved = answered(&world, &asked, r#"{"answer":{"n":6},"trace_id":"t"}"#).await;
    assert_eq!((text(&resolved, "/learned/is_tried"), text(&resolved, "/learned/version/name")), ("true".into(), "solve-w".into()));

    assert_eq!(run("b", "41").await, ("done".into(), r#"{"n":42}"#.into()));
    let journal = world.call("get_run", r#"{"run_id":"b","events":true}"#).await;
    assert_eq!((text(&journal, "/events/0/step"), text(&journal, "/events/1/step")), ("@failure@chosen".into(), "@failure".into()));
    assert_eq!(world.tried("check_resolution", r#"{"escalation_id":"triage-b"}"#).await.expect_err("nobody is asked").code, Code::NotFound);
    // An input that it does not take, and one that is archived: a person is asked.
    assert_eq!(run("c", "\"x\"").await.0, "failed");
    assert_eq!((text(&question("c").await, "/data/tried"), text(&question("c").await, "/data/offered")), (String::new(), String::new()));

    // One that asks a person holds the run up until there is an answer; what it says then is the output.
    let asks = "steps:\n  - id: q\n    escalate: { role: r, message: And?, form: { type: integer } }\noutput: { n: \"${{ steps.q }}\" }\n";
    world.add("asks", r#"{"n":5}"#, asks, "").await;
    answered(&world, &question("c").await, r#"{"answer":{"n":1},"trace_id":"asks","activate":true}"#).await;
    assert_eq!(run("d", "7").await.0, "waiting");
    let waiting = world.call("get_run", r#"{"run_id":"d"}"#).await;
    let inner = world.call("check_resolution", &format!(r#"{{"escalation_id":"{}"}}"#, text(&waiting, "/escalations/0"))).await;
    assert_eq!(text(&inner, "/message"), "And?");
    answered(&world, &inner, "9").await;
    assert_eq!(output(&world, "d").await, r#"{"n":9}"#);

    // One that fails, or gives something else: that is told.
    for (id, output, said) in [("bad", "{ n: \"${{ parse_json('{') }}\" }", "failed with"), ("odd", "{ m: 1 }", "wrong-answer")] {
        world.call("set_workflow_state", r#"{"workflow_name":"solve-w","version":1,"state":"active"}"#).await;
        assert_eq!(run(&format!("before-{id}"), "\"x\"").await.0, "failed");
        world.add(id, r#"{"n":5}"#, &solution(output), "").await;
        let asked = question(&format!("before-{id}")).await;
        answered(&world, &asked, &format!(r#"{{"answer":{{"n":1}},"trace_id":"{id}","activate":true}}"#)).await;
        assert_eq!(run(id, "5").await.0, "failed");
        let asked = question(id).await;
        assert_eq!(text(&asked, "/data/tried/workflow"), "solve-w", "{asked:?}");
        assert!(text(&asked, "/message").contains(said), "{asked:?}");
    }
}
