//! Workflows beside recordings: what is as recorded, and what is told where it is not.

use super::*;
use crate::diagnostics::Severity;
use crate::trace::{Body, Call, Outcome, Server, Tool};
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::template::Template;
use ltc_workflow::{Object, json, yaml};
use proptest::prelude::*;

pub(super) fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn object(text: &str) -> Object {
    value(text).as_object().unwrap().clone()
}

/// A recording: one call a line, `server/tool {arguments} -> result`. Tools named `get…`, `list…` and `search…` are known to read.
pub(super) fn trace(input: &str, calls: &str) -> Trace {
    let mut trace = Trace { input: Some(object(input)), ..Trace::default() };
    for (at, line) in calls.lines().map(str::trim).filter(|l| !l.is_empty()).enumerate() {
        let (name, rest) = line.split_once(' ').unwrap();
        let (arguments, result) = rest.split_once(" -> ").unwrap();
        let (server, tool) = name.split_once('/').unwrap();
        if !trace.servers.iter().any(|s| s.name == server) {
            trace.servers.push(Server { name: server.into(), ..Server::default() });
        }
        let known = trace.servers.iter_mut().find(|s| s.name == server).unwrap();
        let read_only = ["get", "list", "search"].iter().any(|word| tool.starts_with(word));
        known.tools.push(Tool { name: tool.into(), read_only: read_only.then_some(true), ..Tool::default() });
        trace.calls.push(Call {
            id: format!("call_{}", at + 1).into(),
            server: server.into(),
            tool: tool.into(),
            arguments: object(arguments),
            outcome: Outcome::Result(Body { content: Vec::new(), structured: Some(value(result)) }),
            started_at: None,
            ended_at: None,
            turn: None,
        });
    }
    trace
}

/// A workflow of these inputs and steps.
pub(super) fn workflow(text: &str) -> Workflow {
    let text = format!("workflow: test\nversion: 1\n{}", text.trim_start_matches('\n'));
    yaml::read(&text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

pub(super) fn told(verdict: &Verdict) -> Vec<String> {
    verdict.diagnostics.iter().map(|d| format!("{} {} {}: {}", d.severity.name(), d.code, d.place, d.message)).collect()
}

const CALLS: &str = r#"
    a/list_things {} -> {"things": [{"id": "x1"}, {"id": "x2"}]}
    a/close {"id": "x1"} -> {"done": 1}
    b/note {"text": "closed x1"} -> {}
    a/get_state {} -> {"open": 1}
    a/close {"id": "x2"} -> {"done": 2}
"#;

/// What is told of a workflow of these steps, in the world of [`CALLS`].
fn of(steps: &str) -> Vec<String> {
    told(&verify(&workflow(&format!("steps:\n{steps}")), &[trace("{}", CALLS)], false))
}

const LIST: &str = "  - { id: list, call: a/list_things }\n";
const FIRST: &str = "  - { id: first, call: a/close, with: { id: \"${{ steps.list.things[0].id }}\" } }\n";
const NOTE: &str = "  - { id: note, call: b/note, with: { text: \"closed ${{ steps.list.things[0].id }}\" } }\n";
const STATE: &str = "  - { id: state, call: a/get_state }\n";
const SECOND: &str = "  - { id: second, call: a/close, with: { id: \"${{ steps.list.things[1].id }}\" } }\n";

#[test]
fn exactly_the_recorded_calls_pass_and_reads_may_be_left_out() {
    assert_eq!(of(&[LIST, FIRST, NOTE, STATE, SECOND].concat()), Vec::<String>::new());
    assert_eq!(of(&[LIST, FIRST, NOTE, SECOND].concat()), Vec::<String>::new());
    // The read may go past the write on the other server, not past those on its own.
    assert_eq!(of(&[LIST, FIRST, STATE, NOTE, SECOND].concat()), Vec::<String>::new());
}

#[test]
fn every_write_is_made_once_and_in_its_order() {
    assert_eq!(
        of(&[LIST, FIRST, NOTE].concat()),
        [
            "error replay-differs call call_5 (a/close): was recorded with {\"id\":\"x2\"}; the workflow does not make it (nothing says that the tool only reads)"
        ]
    );
    assert_eq!(
        of(&[LIST, NOTE, FIRST, SECOND].concat()),
        ["error replay-differs step first: call call_2 (a/close) is made after call call_3 (b/note); it was recorded before it"]
    );
    let again = FIRST.replace("id: first", "id: again");
    assert_eq!(
        of(&[LIST, FIRST, NOTE, SECOND, &again].concat()),
        ["error replay-differs step again: calls a/close with {\"id\":\"x1\"}; the recording has no such call, or it was made already"]
    );
}

#[test]
fn a_read_stays_between_the_writes_of_its_server() {
    assert_eq!(
        of(&[LIST, STATE, FIRST, NOTE, SECOND].concat()),
        ["error replay-differs step state: call call_4 (a/get_state) is made before call call_2 (a/close); it was recorded after it"]
    );
    assert_eq!(
        of(&[LIST, FIRST, NOTE, SECOND, STATE].concat()),
        ["error replay-differs step state: call call_4 (a/get_state) is made after call call_5 (a/close); it was recorded before it"]
    );
}

#[test]
fn other_arguments_are_told_by_their_place() {
    let note = NOTE.replace("closed", "shut");
    assert_eq!(
        of(&[LIST, FIRST, &note, SECOND].concat()),
        ["error replay-differs step note: call call_3 (b/note) was recorded with \"closed x1\" at /text; the workflow sends \"shut x1\""]
    );
    let other = "  - { id: other, call: c/unheard_of, with: { n: 1.0 } }\n";
    assert_eq!(
        of(&[LIST, other].concat()),
        ["error replay-differs step other: calls c/unheard_of with {\"n\":1.0}; the recording has no such call, or it was made already"]
    );
}

#[test]
fn a_run_that_fails_is_told_with_its_step() {
    let wrong = FIRST.replace("things[0]", "items[0]");
    let [told] = of(&[LIST, &wrong].concat()).try_into().unwrap();
    assert!(told.starts_with("error replay-differs step first: the run fails in the recorded world: "), "{told}");
    assert!(told.ends_with("(no-such-key)"), "{told}");
}

#[test]
fn numbers_are_compared_by_their_spelling() {
    let calls = "a/set {\"n\": 1} -> {}";
    let with = |n: &str| {
        told(&verify(&workflow(&format!("steps:\n  - {{ id: set, call: a/set, with: {{ n: {n} }} }}\n")), &[trace("{}", calls)], false))
    };
    assert!(with("1").is_empty());
    assert_eq!(with("1.0"), ["error replay-differs step set: call call_1 (a/set) was recorded with 1 at /n; the workflow sends 1.0"]);
}

#[test]
fn of_equal_reads_with_other_results_either_may_be_the_one() {
    let calls = r#"
        a/get_token {} -> {"token": "t1"}
        a/get_token {} -> {"token": "t2"}
        a/use {"token": "t2"} -> {}
        a/get_token {} -> {"token": "t3"}
        a/use {"token": "t3"} -> {}
    "#;
    let steps = "steps:
  - { id: one, call: a/get_token }
  - { id: use_one, call: a/use, with: { token: \"${{ steps.one.token }}\" } }
  - { id: two, call: a/get_token }
  - { id: use_two, call: a/use, with: { token: \"${{ steps.two.token }}\" } }
";
    assert_eq!(told(&verify(&workflow(steps), &[trace("{}", calls)], false)), Vec::<String>::new());
}

#[test]
fn outputs_are_compared_where_one_was_recorded() {
    let output = |output: &str| {
        let recorded = Trace { output: Some(value(r#"{"n": [1, 2], "by": null}"#)), ..trace("{}", "a/get {} -> {\"n\": [1, 2]}") };
        let workflow = workflow(&format!("steps:\n  - {{ id: get, call: a/get }}\noutput: {output}\n"));
        verify(&workflow, &[recorded], false)
    };
    assert!(output("{ n: \"${{ steps.get.n }}\", by: null }").diagnostics.is_empty());
    let other = output("{ n: [1, 3], by: null }");
    assert_eq!(told(&other), ["error replay-differs output: the recorded output is 2 at /n/1; the workflow returns 3"]);
    assert!(!other.replays());
    let open = output("{ n: null, by: null }");
    assert_eq!(told(&open), ["question open-output output: the recorded output is [1,2] at /n; the workflow returns null there"]);
    assert!(open.replays());
}

#[test]
fn a_secret_may_be_any_text_and_is_never_told() {
    let steps = "secrets: [KEY]
steps:
  - { id: login, call: a/login, with: { user: u, password: \"${{ secrets.KEY }}\" } }
  - { id: sign, call: a/sign, with: { header: \"Bearer ${{ secrets.KEY }}\" } }
";
    let calls = |second: &str| {
        format!("a/login {{\"user\": \"u\", \"password\": \"hunter2\"}} -> {{}}\na/sign {{\"header\": \"{second}\"}} -> {{}}")
    };
    assert_eq!(told(&verify(&workflow(steps), &[trace("{}", &calls("Bearer hunter2"))], false)), Vec::<String>::new());
    for other in ["Basic hunter2", "Bearer other"] {
        let [text] = told(&verify(&workflow(steps), &[trace("{}", &calls(other))], false)).try_into().unwrap();
        assert!(text.starts_with("error replay-differs step sign: "), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    let known = Given { input: Object::default(), secrets: [("KEY".into(), "hunter2".into())].into() };
    let traces = [trace("{}", &calls("Basic hunter2"))];
    let scripts = [script::read(&traces[0], false, &mut Vec::new())];
    let [text] = told(&verify_compiled(&workflow(steps), &traces, &scripts, &[known])).try_into().unwrap();
    assert!(text.contains("(the value of KEY)") && !text.contains("hunter2"), "{text}");
}

#[test]
fn inputs_that_were_made_come_from_the_examples_of_the_workflow() {
    let steps = "inputs:
  name: { examples: [a, b] }
  colour: { examples: [red, blue] }
steps:
  - { id: paint, call: a/paint, with: { name: \"${{ inputs.name }}\", colour: \"${{ inputs.colour }}\" } }
";
    let painted = |name: &str, colour: &str| trace("{}", &format!("a/paint {{\"name\": \"{name}\", \"colour\": \"{colour}\"}} -> {{}}"));
    let verdict = verify(&workflow(steps), &[painted("b", "blue"), painted("a", "blue"), painted("a", "green")], false);
    assert_eq!((told(&verdict), verdict.recorded), (vec![], Tally { passed: 3, tried: 3 }));
    let twice =
        steps.to_owned() + "  - { id: again, call: a/paint, with: { name: \"${{ inputs.name }}\", colour: \"${{ inputs.colour }}\" } }\n";
    let other = "a/paint {\"name\": \"a\", \"colour\": \"red\"} -> {}\na/paint {\"name\": \"a\", \"colour\": \"green\"} -> {}";
    let verdict = verify(&workflow(&twice), &[trace("{}", other)], false);
    assert_eq!(
        told(&verdict),
        ["error replay-differs step again: call call_2 (a/paint) was recorded with \"green\" at /colour; the workflow sends \"red\""]
    );
}

#[test]
fn inputs_that_nothing_tells_are_found_out() {
    let steps = "inputs:
  count: { type: integer, examples: [1, 2, 3] }
  name: { type: string }
steps:
  - { id: make, call: a/make, with: { count: \"${{ inputs.count }}\", text: \"for ${{ inputs.name }}: ${{ inputs.count }}\" } }
";
    let recorded = trace(r#"{"other": 1}"#, r#"a/make {"count": 4, "text": "for Zoë: 4"} -> {}"#);
    assert_eq!(
        told(&verify(&workflow(steps), &[recorded], false)),
        ["note input-not-taken input other: the recording was given it; the workflow does not take it"]
    );
    let other = trace("{}", r#"a/make {"count": 4, "text": "for Zoë: 5"} -> {}"#);
    assert!(!verify(&workflow(steps), &[other], false).replays());
}

#[test]
fn what_no_recording_can_answer_is_told() {
    let asks =
        verify(&workflow("steps:\n  - id: ask\n    escalate: { role: boss, message: Really? }\n"), &[trace("{}", "a/get {} -> 1")], false);
    assert_eq!(told(&asks), ["note asks-a-person step ask: asks a person; the recording has no answer, so null was given"]);
    assert!(asks.replays());
    // Somebody may have written a question into a workflow; one that was just compiled asks nobody on the way that was recorded.
    let recorded = trace("{}", "a/get {} -> 1");
    let script = script::read(&recorded, false, &mut Vec::new());
    let known = Given { input: Object::default(), secrets: std::collections::BTreeMap::new() };
    let asks = workflow("steps:\n  - id: ask\n    escalate: { role: boss, message: Really? }\n");
    let compiled = verify_compiled(&asks, &[recorded], &[script], &[known]);
    assert_eq!(told(&compiled), ["error asks-a-person step ask: asks a person where the recorded run asked nobody"]);
    assert!(!compiled.replays());
    let runs = verify(&workflow("steps:\n  - { id: other, run: other-workflow }\n"), &[trace("{}", "a/get {} -> 1")], false);
    assert_eq!(told(&runs), ["error replay-differs step other: runs the workflow other-workflow, of which the recording knows nothing"]);
}

#[test]
fn a_run_that_ended_in_the_middle_is_refused_unless_it_is_partial() {
    let mut cut = trace("{}", "a/do {} -> 1\na/do {\"again\": true} -> 1");
    cut.calls[1].outcome = Outcome::Missing;
    let steps = workflow("steps:\n  - { id: do, call: a/do }\n");
    assert_eq!(
        verify(&steps, &[cut.clone()], false).diagnostics.iter().map(|d| (d.severity, d.code)).collect::<Vec<_>>(),
        [(Severity::Error, "unfinished-run")]
    );
    assert_eq!(told(&verify(&steps, &[cut], true)), Vec::<String>::new());
}

#[test]
fn a_script_without_what_nobody_needs_has_all_its_writes() {
    let script = script::read(&trace("{}", CALLS), false, &mut Vec::new());
    let ids = |script: &Script| script.calls.iter().map(|c| c.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&script.only(&Default::default())), ["call_2", "call_3", "call_5"]);
    assert_eq!(ids(&script.only(&[0].into())), ["call_1", "call_2", "call_3", "call_5"]);
}

#[test]
fn of_many_differences_some_are_told() {
    let steps = "steps:
  - id: each
    for: { each: n, in: \"${{ split('a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a', ',') }}\" }
    steps:
      - { id: do, call: a/do, with: { n: \"${{ n }}\" }, catch: { steps: [ { id: pass, set: { } } ] } }
";
    let verdict = verify(&workflow(steps), &[trace("{}", "a/do {\"n\": \"a\"} -> 1")], false);
    assert_eq!(verdict.diagnostics.len(), 21);
    assert!(told(&verdict).contains(&"error replay-differs the recording: 4 more differences".to_owned()));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        "[a-z0-9 _/{}$\\\\\"é%]{0,12}".prop_map(|text| Value::from(text.as_str())),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::array),
            proptest::collection::vec(("[a-z/~]{0,3}", inner), 0..4).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_calls() -> impl Strategy<Value = Vec<(String, Value, Value)>> {
    proptest::collection::vec(("get|put|set_3", any_value(), any_value()), 1..6)
}

/// The workflow that makes the recorded calls with literal arguments, and those calls.
fn literally(calls: &[(String, Value, Value)]) -> (Workflow, Trace) {
    let mut recorded = Trace::default();
    let mut workflow = Workflow::new("literal");
    for (at, (tool, argument, result)) in calls.iter().enumerate() {
        let arguments: Object = [("x", argument.clone())].into_iter().collect();
        let with = vec![("x".into(), Template::constant(argument))];
        let kind = StepKind::Call { server: "s".into(), tool: tool.as_str().into(), with };
        workflow.steps.push(Step::new(format!("s{at}"), kind));
        recorded.calls.push(Call {
            id: format!("call_{at}").into(),
            server: "s".into(),
            tool: tool.as_str().into(),
            arguments,
            outcome: Outcome::Result(Body { content: Vec::new(), structured: Some(result.clone()) }),
            started_at: None,
            ended_at: None,
            turn: None,
        });
    }
    (workflow, recorded)
}

proptest! {
    #[test]
    fn a_recording_made_literal_replays_exactly(calls in any_calls()) {
        let (workflow, recorded) = literally(&calls);
        let verdict = verify(&workflow, &[recorded], false);
        prop_assert!(verdict.replays(), "{:?}", told(&verdict));
    }

    #[test]
    fn a_recording_less_one_call_or_with_one_call_more_does_not(calls in any_calls(), at in any::<prop::sample::Index>()) {
        let (mut workflow, recorded) = literally(&calls);
        let step = workflow.steps.remove(at.index(calls.len()));
        prop_assert!(!verify(&workflow, std::slice::from_ref(&recorded), false).replays());
        let (mut workflow, _) = literally(&calls);
        workflow.steps.push(Step { id: "more".into(), ..step });
        prop_assert!(!verify(&workflow, &[recorded], false).replays());
    }
}
