//! Runs that fail, or that were cut off in a call: what the question about them carries, and what is tried or offered the next time.

use crate::agent::{Agent, at, register, register_restless, text, until};
use crate::support::{Folder, ended};
use ltc_workflow::{Value, json};
use std::process::Stdio;

fn run(folder: &Folder, workflow: &std::path::Path, id: &str) -> i32 {
    ended(at(folder, ["run"]).arg(workflow).args(["--id", id, "--input", r#"{"status":"late"}"#])).code
}

fn question(agent: &mut Agent, about: &str) -> Value {
    let (work, _) = agent.call("get_available_work", "{}");
    let questions = work.get("escalations").and_then(Value::as_array).expect("questions").to_vec();
    let of = |question: &&Value| question.get("data").and_then(|data| data.get("run_id")).and_then(Value::as_str) == Some(about);
    questions.iter().find(of).unwrap_or_else(|| panic!("nothing about {about} in {}", json::to_string(&work))).clone()
}

#[test]
fn a_run_that_failed_is_solved_through_the_gateway_and_the_next_one_solves_itself_unless_it_wrote() {
    let folder = Folder::new();
    register(&folder, "desk");
    register_restless(&folder);
    let head = "version: 1\ntriage: true\ninputs: { status: { type: string } }\nservers: { r: { } }\n";
    let fails = "  - id: look\n    set: { n: \"${{ parse_json('{') }}\" }\n";
    let quiet = folder.file("quiet.yaml", &format!("workflow: quiet\n{head}steps:\n{fails}"));
    let writes = folder
        .file("writes.yaml", &format!("workflow: writes\n{head}steps:\n  - id: echo\n    call: r/echo\n    with: {{ a: 1 }}\n{fails}"));
    let mut agent = Agent::greet(&folder);
    for (workflow, name) in [(&quiet, "quiet"), (&writes, "writes")] {
        let (first, second) = (format!("{name}-1"), format!("{name}-2"));
        assert_eq!(run(&folder, workflow, &first), 1);
        let asked = question(&mut agent, &first);
        let id = text(&asked, "escalation_id");
        let trace = text(&agent.call("claim_escalation", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent"}}"#)).0, "trace_id");
        let (orders, _) = agent.call("mcp_desk_list_orders", r#"{"status":"late"}"#);
        let payload = format!(r#"{{"answer":{},"trace_id":"{trace}"}}"#, json::to_string(&orders));
        let (resolved, is_error) =
            agent.call("claim_and_resolve", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent","payload":{payload}}}"#));
        let learned = resolved.get("learned").cloned().unwrap_or_default();
        assert!(!is_error && learned.get("is_tried") == Some(&Value::Bool(true)), "{}", json::to_string(&resolved));
        if name == "quiet" {
            let done = ended(at(&folder, ["run"]).arg(workflow).args(["--id", &second, "--input", r#"{"status":"late"}"#]));
            assert_eq!((done.code, json::parse(done.stdout.as_bytes())), (0, Ok(orders)), "{done:?}");
        } else {
            assert_eq!(run(&folder, workflow, &second), 1);
            let asked = question(&mut agent, &second);
            let offered = asked.get("data").and_then(|data| data.get("offered")).map(json::to_string);
            assert_eq!(offered.as_deref(), Some(r#"{"workflow":"solve-writes","version":1}"#), "{}", json::to_string(&asked));
            assert!(text(&asked, "message").contains("not run by itself"), "{}", text(&asked, "message"));
        }
    }
}

#[test]
fn a_call_in_doubt_is_asked_about_with_its_run_its_journal_and_its_tools() {
    let folder = Folder::new();
    let (log, _) = register_restless(&folder);
    let steps = "steps:\n  - id: before\n    call: r/echo\n    with: { a: 1.10 }\n  - id: hold\n    call: r/hold\n    with: { status: \"${{ inputs.status }}\" }\n";
    let workflow = format!("workflow: w\nversion: 1\ninputs: {{ status: {{ type: string }} }}\nservers: {{ r: {{ }} }}\n{steps}");
    let workflow = folder.file("w.yaml", &workflow);
    let mut command = at(&folder, ["run"]);
    command.arg(&workflow).args(["--id", "d", "--input", r#"{"status":"late"}"#]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    until("the call reaches the server", || std::fs::read_to_string(&log).ok().filter(|log| log.contains(r#""name":"hold""#)));
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert_eq!(ended(&mut at(&folder, ["resume", "d"])).code, 4);
    let mut agent = Agent::greet(&folder);
    let asked = question(&mut agent, "d");
    assert_eq!(text(&asked, "type"), "in-doubt");
    let data = asked.get("data").cloned().unwrap_or_default();
    let shown = |key: &str| data.get(key).map(json::to_string).unwrap_or_default();
    assert_eq!((shown("workflow"), shown("input"), shown("step")), ("\"w\"".into(), r#"{"status":"late"}"#.into(), "\"hold\"".into()));
    assert!(shown("events").contains(r#""a":1.10"#) && shown("events").contains(r#""event":"started""#), "{}", shown("events"));
    assert!(
        data.get("tools").and_then(|tools| tools.get("r")).is_some_and(|tools| json::to_string(tools).contains("hold")),
        "{}",
        shown("tools")
    );
    // Whoever claims it is recorded as working on that run's matter.
    let id = text(&asked, "escalation_id");
    let trace = text(&agent.call("claim_escalation", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent"}}"#)).0, "trace_id");
    let document = crate::agent::trace(&folder, &trace);
    assert_eq!(document.get("input").map(json::to_string).as_deref(), Some(r#"{"status":"late"}"#));
    let payload = r#"{"outcome":"give-up"}"#;
    let (_, is_error) =
        agent.call("claim_and_resolve", &format!(r#"{{"escalation_id":"{id}","resolver_id":"agent","payload":{payload}}}"#));
    assert!(!is_error);
}
