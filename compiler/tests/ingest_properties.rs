//! Properties of the ingest: nothing that a file says makes it panic, and what is written down is read again.

#![allow(clippy::disallowed_methods, reason = "the fixtures are files")]

use ltc_compiler::hints::Hints;
use ltc_compiler::ingest::{self, FORMATS};
use ltc_compiler::trace::{Body, Call, Outcome, Server, Tool, Trace, to_json};
use ltc_workflow::document::{Duration, Transport};
use ltc_workflow::{Number, Object, Value, json};
use proptest::prelude::*;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn recordings() -> Vec<Vec<u8>> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the fixtures") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { collect(&path, found) } else { found.push(path) }
        }
    }
    let mut paths = Vec::new();
    collect(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/ingest"), &mut paths);
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a recording")).collect()
}

/// Reads as every format, and as what it looks like; a trace that comes out is one that is read again.
fn read_anyhow(bytes: &[u8]) {
    for from in FORMATS.iter().map(|f| Some(f.name)).chain([None]) {
        match ingest::read("x", bytes, from) {
            Err(problems) => assert!(!problems.is_empty()),
            Ok(read) => {
                for trace in read.traces {
                    assert!(!trace.calls.is_empty());
                    let written = json::to_string(&to_json(&trace));
                    let again = ingest::read("", written.as_bytes(), None).expect("what was written");
                    assert_eq!(again.traces, [trace]);
                }
            }
        }
    }
}

fn name() -> impl Strategy<Value = SmolStr> {
    prop_oneof!["[a-z]{1,6}", "[a-z_-]{0,3}(__)?[a-z.\"\\\\/~ ]{1,5}", "\\PC{1,6}"].prop_map(SmolStr::from)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?"
            .prop_map(|n| Number::parse(&n).map(Value::Number).unwrap_or_default()),
        "\\PC{0,12}".prop_map(|t| Value::from(t.as_str())),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::array),
            prop::collection::btree_map(name(), inner, 0..5).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Object> {
    prop::collection::btree_map(name(), value(), 0..4).prop_map(|m| m.into_iter().collect())
}

fn body() -> impl Strategy<Value = Body> {
    let block = object().prop_map(Value::Object);
    (prop::collection::vec(block, 0..3), prop::option::of(value())).prop_map(|(content, structured)| Body { content, structured })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        body().prop_map(Outcome::Result),
        body().prop_map(Outcome::ToolError),
        (any::<i64>(), "\\PC{0,9}").prop_map(|(code, message)| Outcome::RpcError { code, message }),
        Just(Outcome::Refused),
        Just(Outcome::Missing),
    ]
}

fn instant() -> impl Strategy<Value = Option<i128>> {
    prop::option::of(prop_oneof![
        any::<i64>().prop_map(i128::from),
        any::<i128>(),
        (0_i64..4_000_000_000).prop_map(|s| i128::from(s) * 1_000_000_000)
    ])
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map("\\PC{1,5}", "\\PC{0,5}", 0..3)
}

fn transport() -> impl Strategy<Value = Transport> {
    prop_oneof![
        ("\\PC{0,5}", prop::collection::vec("\\PC{0,5}", 0..3), texts(), prop::option::of("\\PC{0,5}"))
            .prop_map(|(command, args, env, cwd)| Transport::Stdio { command, args, env, cwd }),
        ("\\PC{0,5}", texts(), any::<bool>()).prop_map(|(url, headers, sse)| Transport::Http { url, headers, sse }),
    ]
}

fn tool() -> impl Strategy<Value = Tool> {
    let flag = || prop::option::of(any::<bool>());
    let schema = || prop::option::of(object().prop_map(Value::Object));
    (name(), prop::option::of("\\PC{0,5}"), schema(), schema(), flag(), flag(), flag()).prop_map(
        |(name, description, input_schema, output_schema, read_only, idempotent, destructive)| Tool {
            name,
            description,
            input_schema,
            output_schema,
            read_only,
            idempotent,
            destructive,
        },
    )
}

fn hints() -> impl Strategy<Value = Hints> {
    let names = || prop::collection::btree_set(name(), 0..3);
    (prop::option::of("\\PC{0,9}"), names(), names(), prop::option::of(any::<u64>()), prop::collection::vec((name(), name()), 0..3))
        .prop_map(|(note, keep, volatile, millis, order)| {
            let timeout = millis.map(|millis| Duration { millis });
            Hints { note, keep, volatile, timeout, order, ..Hints::default() }
        })
}

fn server(name: SmolStr) -> impl Strategy<Value = Server> {
    (prop::option::of(transport()), prop::collection::vec(tool(), 0..3), prop::collection::vec(self::name(), 0..3), hints())
        .prop_map(move |(transport, tools, tags, hints)| Server { name: name.clone(), transport, tools, tags, hints })
}

/// A trace as the ingest makes them: in order, with a server for every call, and ids that are unique.
fn trace() -> impl Strategy<Value = Trace> {
    let calls = prop::collection::btree_map(
        name(),
        (name(), name(), object(), outcome(), instant(), instant(), prop::option::of(any::<u32>())),
        1..5,
    );
    (prop::option::of(name()), prop::option::of("\\PC{0,9}"), prop::option::of(object()), prop::option::of(value()), calls)
        .prop_flat_map(|(id, task, input, output, calls)| {
            let servers: BTreeSet<SmolStr> = calls.values().map(|c| c.0.clone()).collect();
            let servers: Vec<_> = servers.into_iter().map(server).collect();
            (Just((id, task, input, output, calls)), servers)
        })
        .prop_map(|((id, task, input, output, calls), servers)| {
            let call = |(id, (server, tool, arguments, outcome, started_at, ended_at, turn))| Call {
                id,
                server,
                tool,
                arguments,
                outcome,
                started_at,
                ended_at,
                turn,
            };
            let mut calls: Vec<Call> = calls.into_iter().map(call).collect();
            if calls.iter().all(|c| c.started_at.is_some()) {
                calls.sort_by_key(|c| c.started_at);
            }
            Trace { id, task, input, output, servers, calls }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_written_is_read_again(trace in trace()) {
        let written = json::to_string_pretty(&to_json(&trace));
        let read = ingest::read("", written.as_bytes(), None).expect("what was written");
        prop_assert_eq!(read.format, "ltc-trace");
        prop_assert_eq!(read.traces, vec![trace]);
        prop_assert_eq!(read.notes, vec![]);
    }

    #[test]
    fn bytes_of_any_kind_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_anyhow(&bytes);
    }

    #[test]
    fn values_of_any_kind_are_read_or_refused(values in prop::collection::vec(value(), 1..4)) {
        let lines: Vec<String> = values.iter().map(json::to_string).collect();
        read_anyhow(lines.join("\n").as_bytes());
    }
}

/// A recording in which a part was replaced by something else: bytes cut, doubled or changed, or a value put in another's place.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let recordings = recordings();
    (0..recordings.len(), any::<prop::sample::Index>(), 0_usize..400, 0_u8..5, value()).prop_map(move |(which, at, length, how, other)| {
        let recording = &recordings[which];
        let start = at.index(recording.len());
        let end = (start + length).min(recording.len());
        let (head, middle, tail) = (&recording[..start], &recording[start..end], &recording[end..]);
        match how {
            0 => [head, tail].concat(),
            1 => [head, middle, middle, tail].concat(),
            2 => head.to_vec(),
            3 => [head, &middle.iter().rev().copied().collect::<Vec<u8>>()[..], tail].concat(),
            _ => replaced(recording, start, &other),
        }
    })
}

/// The recording with `other` in place of the value that starts at or behind `from`, as far as that is a scalar, a list or an object in JSON.
fn replaced(recording: &[u8], from: usize, other: &Value) -> Vec<u8> {
    let Some(colon) = recording[from..].iter().position(|b| *b == b':').map(|i| from + i + 1) else {
        return recording.to_vec();
    };
    for end in colon + 1..recording.len().min(colon + 3_000) {
        let text = &recording[colon..end];
        let closes = recording.get(end).is_none_or(|b| b",}]\n".contains(b));
        if closes && json::parse(text).is_ok() {
            return [&recording[..colon], json::to_string(other).as_bytes(), &recording[end..]].concat();
        }
    }
    recording.to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(384))]

    #[test]
    fn recordings_that_were_tampered_with_are_read_or_refused(bytes in mutated()) {
        read_anyhow(&bytes);
    }
}
