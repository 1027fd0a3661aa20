//! Reading is the inverse of printing, for any workflow and any text in it.

use super::*;
use crate::document::{Case, Catch, Duration, Retry, Server, Step, StepKind, ToolEffect, Transport};
use crate::expr::Expr;
use crate::expr::tests::{hostile_text, number};
use crate::hidden::is_hidden;
use crate::template::{Piece, Template};
use crate::value::{Object, Value};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use smol_str::SmolStr;

/// Any JSON value.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        hostile_text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::array), object_of(inner).prop_map(Value::Object),]
    })
}

fn object_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Object> {
    vec((hostile_text(), value), 0..4).prop_map(Object::from_entries)
}

/// An expression that is fine at any place.
fn expr() -> impl Strategy<Value = Expr> {
    prop_oneof![
        crate::expr::tests::expression().prop_filter("names from outside", |e| e.references().is_empty()),
        Just(Expr::input("text").binary(crate::expr::BinaryOp::Equal, Expr::Literal(Value::from("a 'quoted' \\ text")))),
        hostile_text().prop_filter("the escape of a literal opening", |t| t != "${{").prop_map(|t| Expr::Literal(Value::String(t))),
    ]
}

/// A template in its one form.
fn template() -> impl Strategy<Value = Template> {
    let text = || vec(prop_oneof![hostile_text().prop_map(Piece::Text), expr().prop_map(Piece::Expr)], 0..4).prop_map(Template::text);
    let leaf = prop_oneof![value().prop_map(|v| Template::constant(&v)), text(), expr().prop_map(Template::Expr)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![vec(inner.clone(), 0..3).prop_map(Template::Array), arguments_of(inner).prop_map(Template::Object)]
    })
    .prop_filter("an escape alone", |t| Template::parse(&t.print()).as_ref() == Ok(t))
}

fn arguments_of(template: impl Strategy<Value = Template>) -> impl Strategy<Value = Vec<(SmolStr, Template)>> {
    btree_map(hostile_text(), template, 0..4).prop_map(|entries| entries.into_iter().collect())
}

fn duration() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(|millis| Duration { millis })
}

fn kind(depth: u32) -> BoxedStrategy<StepKind> {
    let flat = prop_oneof![
        ("[A-Za-z0-9_.-]{1,8}", hostile_text().prop_filter("a name", |t| !t.is_empty()), arguments_of(template()))
            .prop_map(|(server, tool, with)| StepKind::Call { server: server.into(), tool, with }),
        (hostile_text(), template(), option::of(value()), option::of(template()), option::of(1..=4_u8), any::<bool>()).prop_map(
            |(role, message, form, data, priority, triage)| {
                let message = match message {
                    text @ (Template::Text(_) | Template::Expr(_) | Template::Literal(Value::String(_))) => text,
                    _ => Template::Literal(Value::from("m")),
                };
                StepKind::Escalate { role, message, form, data, priority, triage }
            }
        ),
        duration().prop_map(|duration| StepKind::Wait { duration }),
        arguments_of(template()).prop_map(|values| StepKind::Set { values }),
        ("[a-z0-9][a-z0-9_-]{0,8}", arguments_of(template())).prop_map(|(name, with)| StepKind::Run { workflow: name.into(), with }),
    ];
    if depth == 0 {
        return flat.boxed();
    }
    let body = || steps(depth - 1);
    let list = (expr(), option::of(expr()), 1..9_u32, option::of(template()), body())
        .prop_map(|(list, test, at_once, gather, steps)| StepKind::For { each: "each_one".into(), list, test, at_once, gather, steps });
    let repeat = (expr(), option::of(duration()), option::of(1..1000_u32), option::of(template()), body())
        .prop_map(|(until, every, at_most, gather, steps)| StepKind::Repeat { until, every, at_most, gather, steps });
    let case = (expr(), body()).prop_map(|(when, steps)| Case { when: Some(when), steps });
    let switch = (vec(case, 0..3), option::of(body())).prop_map(|(mut cases, last)| {
        cases.extend(last.map(|steps| Case { when: None, steps }));
        StepKind::Switch { cases }
    });
    let parallel = vec(body(), 0..3).prop_map(|branches| StepKind::Parallel { branches });
    prop_oneof![3 => flat, 1 => list, 1 => repeat, 1 => switch, 1 => parallel].boxed()
}

fn steps(depth: u32) -> BoxedStrategy<Vec<Step>> {
    let retry = (1..9_u32, duration(), number().prop_filter("not negative", |n| !n.as_str().starts_with('-')))
        .prop_map(|(attempts, backoff, factor)| Retry { attempts, backoff, factor });
    let catch = (option::of(expr()), if depth == 0 { Just(Vec::new()).boxed() } else { steps(depth - 1) })
        .prop_map(|(when, steps)| Catch { when, steps });
    let fail_when = prop_oneof![expr(), Just(Expr::name("result").key("error"))];
    let around = (option::of(hostile_text()), option::of(expr()), option::of(fail_when));
    let step = (around, kind(depth), option::of(retry), option::of(duration()), option::of(catch));
    let step = step.prop_map(|((note, when, fail_when), kind, retry, timeout, catch)| {
        let fail_when = fail_when.filter(|_| matches!(kind, StepKind::Call { .. }));
        let timeout = timeout.filter(|_| matches!(kind, StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Run { .. }));
        Step { id: "x".into(), note: note.map(String::from), when, kind, fail_when, retry, timeout, catch }
    });
    vec(step, 0..3).boxed()
}

/// Gives every step an id of its own.
fn number_steps(steps: &mut [Step], next: &mut usize) {
    for step in steps {
        step.id = ["s", "0", "on", "a-b_", "null"].get(*next % 5).map_or("s".into(), |prefix| format!("{prefix}{next}")).into();
        *next += 1;
        match &mut step.kind {
            StepKind::For { steps, .. } | StepKind::Repeat { steps, .. } => number_steps(steps, next),
            StepKind::Switch { cases } => cases.iter_mut().for_each(|c| number_steps(&mut c.steps, next)),
            StepKind::Parallel { branches } => branches.iter_mut().for_each(|b| number_steps(b, next)),
            StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Wait { .. } | StepKind::Set { .. } | StepKind::Run { .. } => {}
        }
        if let Some(catch) = &mut step.catch {
            number_steps(&mut catch.steps, next);
        }
    }
}

/// The name of an item differs from that of the loop around.
fn name_items(steps: &mut [Step], depth: usize) {
    for step in steps {
        match &mut step.kind {
            StepKind::For { each, steps, .. } => {
                *each = format!("each_{depth}").into();
                name_items(steps, depth + 1);
            }
            StepKind::Repeat { steps, .. } => name_items(steps, depth),
            StepKind::Switch { cases } => cases.iter_mut().for_each(|c| name_items(&mut c.steps, depth)),
            StepKind::Parallel { branches } => branches.iter_mut().for_each(|b| name_items(b, depth)),
            StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Wait { .. } | StepKind::Set { .. } | StepKind::Run { .. } => {}
        }
        if let Some(catch) = &mut step.catch {
            name_items(&mut catch.steps, depth);
        }
    }
}

fn server() -> impl Strategy<Value = Server> {
    let text = || hostile_text().prop_map(String::from);
    let words = || btree_map(text(), text(), 0..3);
    let stdio = (text(), vec(text(), 0..3), words(), option::of(text())).prop_map(|(command, args, env, cwd)| Transport::Stdio {
        command,
        args,
        env,
        cwd,
    });
    let http = (text(), words(), any::<bool>()).prop_map(|(url, headers, sse)| Transport::Http { url, headers, sse });
    let effect = proptest::sample::select(ToolEffect::ALL.to_vec());
    (option::of(prop_oneof![stdio, http]), btree_map(hostile_text(), hostile_text(), 0..3), btree_map(hostile_text(), effect, 0..3))
        .prop_map(|(transport, tools, effects)| Server { transport, tools, effects })
}

/// Any workflow that can be written.
pub(crate) fn workflow() -> impl Strategy<Value = Workflow> {
    let input = (hostile_text(), object_of(value()).prop_map(Value::Object));
    let head =
        (vec("[ -~é😀]{0,30}", 0..3), "[a-z0-9][a-z0-9_-]{0,12}", 1..u32::MAX, option::of(hostile_text()), any::<bool>(), vec(input, 0..3));
    let rest = (
        proptest::collection::btree_set("[A-Z_]{1,6}", 0..3),
        btree_map("[A-Za-z0-9_.-]{1,8}", server(), 0..3),
        steps(2),
        option::of(template()),
    );
    (head, rest).prop_map(|((header, name, version, description, triage, inputs), (secrets, servers, mut steps, output))| {
        number_steps(&mut steps, &mut 0);
        name_items(&mut steps, 0);
        let mut inputs = Object::from_entries(inputs);
        inputs.insert("text", Value::Object(Object::default()));
        Workflow {
            header,
            name: name.into(),
            version,
            description: description.map(String::from),
            triage,
            inputs,
            secrets: secrets.into_iter().map(SmolStr::from).collect(),
            servers: servers.into_iter().map(|(name, server)| (name.into(), server)).collect(),
            steps,
            output,
        }
    })
}

proptest! {
    #[test]
    fn reading_is_the_inverse_of_printing(workflow in workflow()) {
        let text = print(&workflow);
        match read(&text) {
            Ok(again) => {
                prop_assert_eq!(&again, &workflow, "{}", text);
                prop_assert_eq!(print(&again), text);
            }
            Err(problems) => prop_assert!(false, "{:?}\n{}", problems, text),
        }
    }

    #[test]
    fn what_is_printed_hides_nothing(workflow in workflow(), header in vec(hostile_text().prop_map(String::from), 0..3)) {
        let text = print(&Workflow { header, ..workflow });
        let (head, body): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        prop_assert!(!body.concat().contains(is_hidden), "{}", text);
        prop_assert!(!head.concat().contains(|c| is_hidden(c) && c != '\t'), "{}", text);
        // What is told in a comment is told once.
        prop_assert_eq!(read(&text).map(|again| print(&again)), Ok(text));
    }

    #[test]
    fn formatting_leaves_the_canonical_layout_as_it_is(workflow in workflow()) {
        let text = print(&workflow);
        prop_assert_eq!(format(&text), Ok(Formatted { text, lost: Vec::new() }));
    }

    #[test]
    fn formatting_loses_no_comment_silently(workflow in workflow(), places in vec((any::<usize>(), 0..8_usize, any::<bool>()), 1..5)) {
        let workflow = Workflow { header: vec!["top".to_string()], ..workflow };
        let mut lines: Vec<String> = print(&workflow).lines().map(String::from).collect();
        for (at, (place, indent, behind)) in places.into_iter().enumerate() {
            let place = 1 + place % lines.len();
            match lines.get_mut(place) {
                Some(line) if behind => line.push_str(&std::format!(" # comment-{at}.")),
                _ => lines.insert(place, std::format!("{}#comment-{at}.", " ".repeat(indent))),
            }
        }
        let text = lines.join("\n") + "\n";
        // A comment inside of a text is part of the text, and may break it.
        if let Ok(formatted) = format(&text) {
            for at in 0..4 {
                let name = std::format!("comment-{at}.");
                let kept = formatted.text.matches(&name).count() + formatted.lost.iter().filter(|l| l.text.contains(&name)).count();
                prop_assert_eq!(kept, text.matches(&name).count(), "{}\n{}\n{}", name, text, formatted.text);
            }
            let again = read(&formatted.text).map(|w| Workflow { header: Vec::new(), ..w });
            prop_assert_eq!(again, read(&text).map(|w| Workflow { header: Vec::new(), ..w }));
            prop_assert_eq!(format(&formatted.text), Ok(Formatted { lost: Vec::new(), ..formatted }));
        }
    }

    #[test]
    fn values_survive_byte_for_byte(value in value()) {
        let mut workflow = Workflow::new("w");
        workflow.output = Some(Template::constant(&value));
        let again = read(&print(&workflow)).map_err(|p| TestCaseError::fail(std::format!("{p:?}")))?;
        let kept = again.output.map(|o| o.evaluate(&Object::default(), &mut Default::default()));
        let shown = kept.and_then(Result::ok).flatten().map(|v| crate::json::to_string(&v));
        prop_assert_eq!(shown, Some(crate::json::to_string(&value)));
    }

    #[test]
    fn any_text_is_read_or_refused(text in vec(hostile_text(), 0..20).prop_map(|parts| parts.concat())) {
        for text in [text.clone(), std::format!("workflow: w\nsteps:\n  - id: a\n    {text}\n")] {
            if let Ok(workflow) = read(&text) {
                prop_assert_eq!(read(&print(&workflow)), Ok(workflow));
            }
        }
    }
}

/// Reads YAML documents, each in a JSON string on its own line, and writes what PyYAML makes of them as JSON.
const PYTHON: &str = "
import sys, json, yaml
def texts(v):
    if isinstance(v, dict): return {k if isinstance(k, str) else repr(k): texts(x) for k, x in v.items()}
    if isinstance(v, list): return [texts(x) for x in v]
    return v if isinstance(v, str) else 0
for line in sys.stdin:
    print(json.dumps(texts(yaml.safe_load(json.loads(line)))))
";

/// Whether `theirs` is `ours` wherever `ours` is a text; other scalars may be read in other ways.
fn same_texts(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_texts(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same_texts(value, other)))
        }
        (Value::Null | Value::Bool(_) | Value::Number(_), _) => true,
        (Value::String(_) | Value::Array(_) | Value::Object(_), _) => false,
    }
}

#[test]
#[allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "the other reader is a program")]
fn another_reader_sees_the_same_texts() {
    use proptest::strategy::ValueTree;
    use std::io::Write;
    use std::process::{Command, Stdio};
    let there = Command::new("python3").args(["-c", "import yaml"]).output().is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("skipped: python3 with PyYAML is not there");
        return;
    }
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let documents: Vec<String> = (0..60).map(|_| print(&workflow().new_tree(&mut runner).unwrap().current())).collect();
    let input: String = documents.iter().map(|d| crate::json::quote(d) + "\n").collect();
    let mut child = Command::new("python3").args(["-c", PYTHON]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let lines: Vec<&[u8]> = output.stdout.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
    assert_eq!(lines.len(), documents.len());
    for (document, line) in documents.iter().zip(lines) {
        let (ours, _) = read_value(document).unwrap();
        let theirs = crate::json::parse(line).unwrap();
        assert!(same_texts(&ours, &theirs), "{document}\n{}\n{}", crate::json::to_string(&ours), crate::json::to_string(&theirs));
    }
}
