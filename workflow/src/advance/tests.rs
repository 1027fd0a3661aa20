//! What each kind of step means, on small workflows.

use super::*;
use crate::document::{Case, Catch, Retry, Step, StepKind};
use crate::expr::{Expr, parse::parse};
use crate::json;
use crate::template::Template;
use crate::value::Number;

fn expr(text: &str) -> Expr {
    parse(text).unwrap()
}

fn template(text: &str) -> Template {
    Template::parse(&json::parse(text.as_bytes()).unwrap()).unwrap()
}

fn call(id: &str, with: &str) -> Step {
    let Template::Object(with) = template(with) else { panic!("{with}") };
    Step::new(id, StepKind::Call { server: "s".into(), tool: id.into(), with })
}

fn each(id: &str, list: &str, steps: Vec<Step>) -> Step {
    Step::new(id, StepKind::For { each: "item".into(), list: expr(list), test: None, at_once: 1, gather: None, steps })
}

fn workflow(steps: Vec<Step>, output: &str) -> Workflow {
    Workflow { steps, output: Some(template(output)), ..Workflow::new("w") }
}

fn retry(attempts: u32) -> Option<Retry> {
    Some(Retry { attempts, backoff: Duration { millis: 1000 }, factor: Number::parse("1.5").unwrap() })
}

/// Answers calls with their arguments, or as told; writes down every key with its arguments.
#[derive(Default)]
struct Echo {
    seen: Vec<String>,
    told: BTreeMap<&'static str, Ended>,
}

impl World for Echo {
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended {
        let (shown, value) = match &effect {
            Effect::Call { arguments, .. } => (json::to_string(&arguments.clone().into()), arguments.clone().into()),
            Effect::Sleep(duration) => (duration.to_string(), Value::Null),
            Effect::Escalate { message, .. } => (message.clone(), Value::from("answer")),
            Effect::Run { input, .. } => (json::to_string(&input.clone().into()), Value::from("ran")),
        };
        self.seen.push(format!("{key} {shown}"));
        self.told.get(key.0.as_str()).cloned().unwrap_or(Ended::Succeeded(value))
    }
}

fn failed(code: &str) -> Ended {
    Ended::Failed(Failure { code: code.into(), message: "told to".into(), step: None })
}

fn told(told: impl IntoIterator<Item = (&'static str, Ended)>) -> Echo {
    Echo { seen: Vec::new(), told: told.into_iter().collect() }
}

fn run(workflow: &Workflow, world: &mut Echo) -> Result<String, String> {
    let input = json::parse(br#"{"list": [1, 2, 3], "yes": true}"#).unwrap();
    let start = Start {
        input: input.as_object().unwrap().clone(),
        secrets: [("TOKEN".into(), "t0k".into())].into(),
        started_at: "2026-01-02T03:04:05Z".into(),
        id: "run-1".into(),
    };
    match run_in(workflow, &start, world) {
        Ok(value) => Ok(json::to_string(&value)),
        Err(failure) => Err(format!("{} {}", failure.code, failure.step.map_or("-".into(), |s| s.0))),
    }
}

#[test]
fn steps_run_in_order_and_see_the_ones_before() {
    let w = workflow(
        vec![
            call("a", r#"{"token": "${{ secrets.TOKEN }}", "at": "${{ run.started_at }}"}"#),
            Step { when: Some(expr("inputs.yes == false")), ..call("skipped", "{}") },
            call("b", r#"{"a": "${{ steps.a.at }}", "s": "${{ steps.skipped.x ?? omit }}"}"#),
            Step::new("c", StepKind::Set { values: vec![("x".into(), template(r#""${{ len(steps.b.a) }}""#))] }),
            Step::new("r", StepKind::Run { workflow: "other".into(), with: vec![("n".into(), template(r#""${{ steps.c.x }}""#))] }),
            Step::new("w", StepKind::Wait { duration: Duration { millis: 5000 } }),
        ],
        r#"["${{ steps.c }}", "${{ steps.r }}", "${{ steps.w }}"]"#,
    );
    let mut world = Echo::default();
    assert_eq!(run(&w, &mut world).unwrap(), r#"[{"x":20},"ran",null]"#);
    let expected = [r#"a {"token":"t0k","at":"2026-01-02T03:04:05Z"}"#, r#"b {"a":"2026-01-02T03:04:05Z"}"#, r#"r {"n":20}"#, "w 5s"];
    assert_eq!(world.seen, expected);
}

#[test]
fn for_goes_over_the_items_that_pass_its_test() {
    let mut body = each("loop_it", "inputs.list", vec![call("inner", r#"{"n": "${{ item }}", "at": "${{ loop.index }}"}"#)]);
    if let StepKind::For { test, gather, .. } = &mut body.kind {
        *test = Some(expr("item != 2"));
        *gather = Some(template(r#""${{ steps.inner.n + 10 }}""#));
    }
    let w = workflow(
        vec![body, each("plain", "[]", vec![])],
        r#"["${{ steps.loop_it }}", "${{ steps.plain }}", "${{ steps.inner ?? 'hidden' }}"]"#,
    );
    let mut world = Echo::default();
    assert_eq!(run(&w, &mut world).unwrap(), r#"[[11,13],null,"hidden"]"#);
    assert_eq!(world.seen, [r#"loop_it[0]/inner {"n":1,"at":0}"#, r#"loop_it[2]/inner {"n":3,"at":2}"#]);
    let not_a_list = workflow(vec![each("x", "inputs.yes", vec![])], "null");
    assert_eq!(run(&not_a_list, &mut Echo::default()), Err("wrong-type x".into()));
}

#[test]
fn repeat_sees_the_round_before_and_ends_when_told() {
    let page = call("page", r#"{"cursor": "${{ (previous.page.cursor ?? 0) + 1 }}", "round": "${{ loop.index }}"}"#);
    let repeat = |until: &str, at_most, gather: Option<Template>| {
        let every = Some(Duration { millis: 2000 });
        workflow(
            vec![Step::new("pages", StepKind::Repeat { until: expr(until), every, at_most, gather, steps: vec![page.clone()] })],
            r#""${{ steps.pages }}""#,
        )
    };
    let mut world = Echo::default();
    let gathered = repeat("steps.page.cursor == 3", Some(3), Some(template(r#""${{ steps.page.cursor }}""#)));
    assert_eq!(run(&gathered, &mut world).unwrap(), "[1,2,3]");
    let expected = [
        r#"pages[0]/page {"cursor":1,"round":0}"#,
        "pages[1]@wait 2s",
        r#"pages[1]/page {"cursor":2,"round":1}"#,
        "pages[2]@wait 2s",
        r#"pages[2]/page {"cursor":3,"round":2}"#,
    ];
    assert_eq!(world.seen, expected);
    assert_eq!(run(&repeat("steps.page.round == 1", None, None), &mut Echo::default()).unwrap(), r#"{"cursor":2,"round":1}"#);
    assert_eq!(run(&repeat("false", Some(2), None), &mut Echo::default()), Err("not-reached pages".into()));
}

#[test]
fn a_repeat_that_never_ends_fails() {
    let until = expr("false");
    let endless = Step::new("spin", StepKind::Repeat { until, every: None, at_most: None, gather: None, steps: vec![] });
    assert_eq!(run(&workflow(vec![endless], "null"), &mut Echo::default()), Err("too-much-work spin".into()));
}

#[test]
fn switch_takes_the_first_true_case_and_its_steps_stay_visible() {
    let switch = |tests: [Option<&str>; 2]| {
        let [a, b] = tests.map(|t| t.map(expr));
        let cases =
            vec![Case { when: a, steps: vec![call("one", r#"{"n": 1}"#)] }, Case { when: b, steps: vec![call("two", r#"{"n": 2}"#)] }];
        workflow(
            vec![Step::new("pick", StepKind::Switch { cases })],
            r#"["${{ steps.pick.n ?? 'none' }}", "${{ steps.one.n ?? 'none' }}", "${{ steps.two.n ?? 'none' }}"]"#,
        )
    };
    assert_eq!(run(&switch([Some("inputs.yes"), Some("true")]), &mut Echo::default()).unwrap(), r#"[1,1,"none"]"#);
    assert_eq!(run(&switch([Some("false"), None]), &mut Echo::default()).unwrap(), r#"[2,"none",2]"#);
    assert_eq!(run(&switch([Some("false"), Some("null")]), &mut Echo::default()).unwrap(), r#"["none","none","none"]"#);
    assert_eq!(run(&switch([Some("'x'"), None]), &mut Echo::default()), Err("not-boolean pick".into()));
}

#[test]
fn parallel_branches_do_not_see_each_other() {
    let branches = vec![vec![call("a", r#"{"n": 1}"#)], vec![call("b", r#"{"seen": "${{ steps.a.n ?? 'hidden' }}"}"#)]];
    let w = workflow(
        vec![Step::new("both", StepKind::Parallel { branches })],
        r#"["${{ steps.a.n }}", "${{ steps.b.seen }}", "${{ steps.both }}"]"#,
    );
    assert_eq!(run(&w, &mut Echo::default()).unwrap(), r#"[1,"hidden",null]"#);
}

#[test]
fn failed_effects_are_tried_again_and_expressions_are_not() {
    let w = |with: &str, attempts| workflow(vec![Step { retry: retry(attempts), ..call("fetch", with) }], r#""${{ steps.fetch.n }}""#);
    let mut world = told([("fetch", failed("tool-error")), ("fetch@2", failed("tool-error"))]);
    assert_eq!(run(&w(r#"{"n": 1}"#, 3), &mut world).unwrap(), "1");
    assert_eq!(world.seen, [r#"fetch {"n":1}"#, "fetch@2@wait 1s", r#"fetch@2 {"n":1}"#, "fetch@3@wait 1s500ms", r#"fetch@3 {"n":1}"#]);
    let mut world = told([("fetch", failed("tool-error")), ("fetch@2", failed("timeout"))]);
    assert_eq!(run(&w(r#"{"n": 1}"#, 2), &mut world), Err("timeout fetch".into()));
    let mut world = Echo::default();
    assert_eq!(run(&w(r#"{"n": "${{ inputs.none }}"}"#, 3), &mut world), Err("no-such-key fetch".into()));
    assert_eq!(world.seen.len(), 0);
}

#[test]
fn a_success_that_says_that_it_failed_is_a_failure() {
    let says = |text: &str| Ended::Succeeded(json::parse(text.as_bytes()).unwrap());
    let test = "result.error ?? null != null and steps.before.n == 7";
    let step = |retry| Step { fail_when: Some(expr(test)), retry, ..call("query", "{}") };
    let w = |step| workflow(vec![call("before", r#"{"n": 7}"#), step], r#""${{ steps.query.rows ?? steps.query }}""#);
    let (bad, good) = (r#"{"error": "no such table", "rows": []}"#, r#"{"error": null, "rows": [1]}"#);

    // What is no failure goes through as it is, whether the key is null or missing.
    assert_eq!(run(&w(step(None)), &mut told([("query", says(good))])).unwrap(), "[1]");
    assert_eq!(run(&w(step(None)), &mut told([("query", says("{}"))])).unwrap(), "{}");
    assert_eq!(run(&w(step(None)), &mut told([("query", says(bad))])), Err("failed-result query".into()));
    // It counts as an attempt, like any other failure.
    let mut world = told([("query", says(bad)), ("query@2", failed("tool-error")), ("query@3", says(good))]);
    assert_eq!(run(&w(step(retry(3))), &mut world).unwrap(), "[1]");
    assert_eq!(
        world.seen.get(1..).unwrap_or_default(),
        ["query {}", "query@2@wait 1s", "query@2 {}", "query@3@wait 1s500ms", "query@3 {}"]
    );
    let mut world = told([("query", failed("tool-error")), ("query@2", says(bad))]);
    assert_eq!(run(&w(step(retry(2))), &mut world), Err("failed-result query".into()));
    // A test that cannot be worked out is a mistake of the workflow, and no reason to call again.
    let wrong = Step { fail_when: Some(expr("result.error != null")), ..step(retry(3)) };
    let mut world = told([("query", says("{}"))]);
    assert_eq!(run(&w(wrong), &mut world), Err("no-such-key query".into()));
    assert_eq!(world.seen.len(), 2);

    let steps = vec![Step::new("plan_b", StepKind::Set { values: vec![("rows".into(), template(r#""${{ error.message }}""#))] })];
    let caught = Step { catch: Some(Catch { when: Some(expr("error.code == 'failed-result'")), steps }), ..step(None) };
    let message = format!(r#"the result is a failure, as `{test}` is true of it: {{"error":"no such table","rows":[]}}"#);
    assert_eq!(run(&w(caught), &mut told([("query", says(bad))])).unwrap(), json::quote(&message));
}

#[test]
fn a_failed_result_is_shown_in_short() {
    let message = |result: Value| {
        let step = Step { fail_when: Some(expr("true")), ..call("big", "{}") };
        let mut world = told([("big", Ended::Succeeded(result))]);
        run_in(&workflow(vec![step], "null"), &Start::default(), &mut world).unwrap_err().message
    };
    assert_eq!(
        message(Value::string("é".repeat(500))),
        format!("the result is a failure, as `true` is true of it: \"{}…", "é".repeat(199))
    );
    let many: Value = (0..1_000_000).map(|n: usize| Value::from(n)).collect();
    assert_eq!(message(many), "the result is a failure, as `true` is true of it: a list too large to be shown");
}

#[test]
fn a_second_attempt_of_a_branching_step_has_keys_of_its_own() {
    let branches = vec![vec![call("a", "{}")], vec![call("b", "{}")]];
    let both = Step { retry: retry(2), ..Step::new("both", StepKind::Parallel { branches }) };
    let mut world = told([("b", failed("tool-error"))]);
    assert_eq!(run(&workflow(vec![both], "null"), &mut world).unwrap(), "null");
    assert_eq!(world.seen, ["a {}", "b {}", "both@2@wait 1s", "both@2/a {}", "both@2/b {}"]);
}

#[test]
fn catch_sees_the_error_and_gives_the_value() {
    let with_catch = |when: Option<&str>| {
        let steps = vec![call("plan_b", r#"{"n": "${{ error.code }}: ${{ error.message }} (${{ error.step }})"}"#)];
        let step = Step { catch: Some(Catch { when: when.map(expr), steps }), ..call("risky", "{}") };
        workflow(vec![each("l", "[1]", vec![step])], r#""done""#)
    };
    let mut world = told([("l[0]/risky", failed("tool-error"))]);
    assert_eq!(run(&with_catch(Some("error.code == 'tool-error'")), &mut world).unwrap(), r#""done""#);
    assert_eq!(world.seen, ["l[0]/risky {}", r#"l[0]/plan_b {"n":"tool-error: told to (l[0]/risky)"}"#]);
    let mut world = told([("l[0]/risky", failed("timeout"))]);
    assert_eq!(run(&with_catch(Some("error.code == 'tool-error'")), &mut world), Err("timeout l[0]/risky".into()));

    let catch = Some(Catch { when: None, steps: vec![call("plan_b", r#"{"n": 5}"#)] });
    let w =
        workflow(vec![Step { catch, ..call("a", r#"{"x": "${{ inputs.none }}"}"#) }], r#"["${{ steps.a.n }}", "${{ steps.plan_b.n }}"]"#);
    assert_eq!(run(&w, &mut Echo::default()).unwrap(), "[5,5]");
}

#[test]
fn advance_asks_for_as_much_as_may_be_under_way() {
    let mut body = each("l", "[1, 2, 3, 4]", vec![call("x", r#"{"n": "${{ item }}"}"#), call("y", "{}")]);
    if let StepKind::For { at_once, .. } = &mut body.kind {
        *at_once = 2;
    }
    let w = workflow(vec![body], "null");
    let mut history: BTreeMap<StepKey, Ended> = BTreeMap::new();
    let asked = |history: &BTreeMap<StepKey, Ended>| match advance(&w, &Start::default(), history) {
        Next::Do(effects) => effects.into_iter().map(|(key, _)| key.0.to_string()).collect::<Vec<_>>(),
        Next::Done(value) => vec![format!("done {}", json::to_string(&value))],
        Next::Failed(failure) => vec![format!("failed {}", failure.code)],
    };
    let key = |text: &str| StepKey(text.into());
    assert_eq!(asked(&history), ["l[0]/x", "l[1]/x"]);
    history.insert(key("l[1]/x"), Ended::Succeeded(Value::Null));
    assert_eq!(asked(&history), ["l[0]/x", "l[1]/y"]);
    history.insert(key("l[1]/y"), failed("boom"));
    assert_eq!(asked(&history), ["l[0]/x"]);
    history.insert(key("l[0]/x"), failed("first"));
    assert_eq!(asked(&history), ["failed first"]);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test of time")]
fn ten_thousand_steps_take_no_time() {
    let steps = (0..10_000).map(|n| call(&format!("s{n}"), &format!(r#"{{"n": "${{{{ steps.s{}.n ?? 1 }}}}"}}"#, n.max(1) - 1))).collect();
    let w = workflow(steps, r#""${{ steps.s9999.n }}""#);
    let before = std::time::Instant::now();
    assert_eq!(run(&w, &mut Echo::default()).unwrap(), "1");
    assert!(before.elapsed().as_secs() < 2, "{:?}", before.elapsed());
}

/// Drives a run with every effect that may be under way begun, and the oldest of them ended next; gives how many there were.
fn driven(workflow: &Workflow) -> usize {
    let (start, nothing) = (Start::default(), BTreeMap::new());
    let mut progress = Progress::new(workflow, &start, &nothing);
    let (mut under_way, mut count) = (std::collections::VecDeque::new(), 0);
    loop {
        match progress.next_effects() {
            Next::Done(_) => return count,
            Next::Failed(failure) => panic!("{failure:?}"),
            Next::Do(effects) => under_way.extend(effects.into_iter().map(|(key, _)| key)),
        }
        let key: StepKey = under_way.pop_front().unwrap();
        count += 1;
        progress.end(&key, Ended::Succeeded(Value::from(count)));
    }
}

#[test]
fn a_step_costs_the_same_late_in_a_run() {
    let line = (0..2_000).map(|n| call(&format!("s{n}"), "{}")).collect();
    let list = format!("[{}]", vec!["0"; 5_000].join(","));
    let mut loop_over = each("each", &list, vec![call("a", r#"{"n": "${{ loop.index }}"}"#)]);
    if let StepKind::For { at_once, gather, .. } = &mut loop_over.kind {
        (*at_once, *gather) = (4, Some(template(r#""${{ steps.a }}""#)));
    }
    let until = expr("loop.index == 4999");
    let rounds =
        StepKind::Repeat { until, every: None, at_most: None, gather: None, steps: vec![call("a", r#"{"n": "${{ previous.a ?? 0 }}"}"#)] };
    for (steps, expected) in [(line, 2_000), (vec![loop_over], 5_000), (vec![Step::new("rounds", rounds)], 5_000)] {
        let before = std::time::Instant::now();
        assert_eq!(driven(&workflow(steps, "null")), expected);
        // Where each step looked at those before it again, there would be more than ten million looks.
        assert!(before.elapsed().as_secs() < 5, "{:?}", before.elapsed());
        eprintln!("{expected} steps: {:?} each", before.elapsed() / u32::try_from(expected).unwrap());
    }
}
