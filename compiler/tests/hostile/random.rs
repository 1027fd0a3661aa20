//! Recordings of any shape: few values, so that they collide; few keys, so that names agree by chance; calls that repeat.
//!
//! Whatever they are, the compiler comes to an end, soon, and what it writes does what was recorded.

use super::{object, wrongs};
use ltc_compiler::diagnostics::Severity;
use ltc_compiler::ingest;
use ltc_workflow::{Value, json};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// How long a recording of a dozen small calls may take at most, without optimization.
const SOON: Duration = Duration::from_secs(20);

const KEYS: [&str; 9] = ["id", "name", "items", "state", "next", "key", "a.b", "user_id", "count"];
const TEXTS: [&str; 14] = [
    "usr_81kd2",
    "usr_99xx0",
    "open",
    "done",
    "",
    "a",
    "12",
    "007",
    "2026-02-04",
    "Ada Marsh",
    "usr_81kd2/usr_99xx0",
    "x: usr_81kd2\ny: 12",
    "{\"id\":\"usr_81kd2\"}",
    "https://x.example/usr_99xx0?a=12",
];
const NUMBERS: [&str; 8] = ["0", "1", "2", "3", "12", "10.0", "9007199254740993", "81244"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
        3 => proptest::sample::select(&NUMBERS[..]).prop_map(|n| json::parse(n.as_bytes()).expect("a number")),
        1 => proptest::sample::select(vec![Value::Null, Value::Bool(true), Value::Bool(false)]),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::array),
            record(inner.clone()).boxed(),
            proptest::collection::vec(record(inner), 1..4).prop_map(Value::array),
        ]
    })
}

fn record(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::vec((proptest::sample::select(&KEYS[..]), inner), 0..4).prop_map(object)
}

/// A result: JSON in a text, structured, prose, or an error.
fn result() -> impl Strategy<Value = Value> {
    let text = |text: &str| Value::array(vec![object([("type", Value::from("text")), ("text", Value::from(text))])]);
    prop_oneof![
        6 => value().prop_map(move |v| object([("content", text(&json::to_string(&v)))])),
        2 => record(value()).prop_map(move |v| object([("content", text(&json::to_string(&v))), ("structuredContent", v)])),
        1 => (scalar(), scalar()).prop_map(move |(a, b)| object([("content", text(&format!("id: {}\nname: {}\n", json::to_string(&a), json::to_string(&b))))])),
        1 => Just(object([("content", text("it failed")), ("isError", Value::Bool(true))])),
    ]
}

fn call() -> impl Strategy<Value = Value> {
    let tool = proptest::sample::select(vec!["get_user", "list_items", "send", "set_state"]);
    (tool, record(value()), result(), proptest::option::weighted(0.2, 0_i64..3)).prop_map(|(tool, arguments, result, turn)| {
        let server = if tool == "send" { "mail" } else { "desk" };
        let mut entries = vec![("server", Value::from(server)), ("tool", Value::from(tool)), ("arguments", arguments), ("result", result)];
        entries.extend(turn.map(|turn| ("turn", Value::from(turn))));
        object(entries)
    })
}

/// Calls, some of them made again, alike or with the next value.
fn calls() -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec((call(), proptest::sample::select(vec![1_usize, 1, 1, 2, 3])), 0..6)
        .prop_map(|calls| calls.into_iter().flat_map(|(call, times)| std::iter::repeat_n(call, times)).collect())
}

/// A recording that shows itself as the file that it is.
#[derive(Clone)]
struct Recording(String);

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn trace() -> impl Strategy<Value = Recording> {
    (proptest::option::of(record(value())), calls(), proptest::option::weighted(0.4, value())).prop_map(|(input, calls, output)| {
        let tool = |name: &str, reads: bool| {
            let annotations = object([("readOnlyHint", Value::Bool(reads))]);
            object([("name", Value::from(name)), ("inputSchema", object([("type", Value::from("object"))])), ("annotations", annotations)])
        };
        let desk = object([("tools", Value::array(vec![tool("get_user", true), tool("list_items", true), tool("set_state", false)]))]);
        let mut entries =
            vec![("format", Value::from("ltc.trace/1")), ("servers", object([("desk", desk)])), ("calls", Value::array(calls))];
        entries.extend(input.map(|input| ("input", input)));
        entries.extend(output.map(|output| ("output", output)));
        Recording(json::to_string(&object(entries)))
    })
}

fn check(recordings: &[Recording]) -> Result<(), TestCaseError> {
    let start = Instant::now();
    let mut traces = Vec::new();
    for recording in recordings {
        match ingest::read("random.json", recording.0.as_bytes(), None) {
            Ok(ingested) => traces.extend(ingested.traces),
            Err(errors) => prop_assert!(errors.iter().any(|e| e.severity == Severity::Error)),
        }
    }
    if !traces.is_empty() {
        let (_, wrong) = wrongs(&traces);
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    prop_assert!(start.elapsed() < SOON, "it took {:?}", start.elapsed());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, max_shrink_iters: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_recording_ends_soon_and_does_what_was_recorded(recording in trace()) {
        check(&[recording])?;
    }

    #[test]
    fn any_recordings_together_do_too(a in trace(), b in trace(), again in 0..3_usize) {
        let runs = [a.clone(), b, a];
        check(runs.get(again..).unwrap_or_default())?;
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = ingest::read("random", &bytes, None);
    }

    #[test]
    fn any_damage_to_a_recording_is_read_or_refused(recording in trace(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = recording.0.into_bytes();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(ingested) = ingest::read("random", &bytes, None) {
            let (_, wrong) = wrongs(&ingested.traces);
            prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
