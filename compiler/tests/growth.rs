//! Work grows in proportion to the calls, also where long texts share their words: counted, not timed.
//!
//! What takes the time is the places at which each part of each argument stands, and the patterns that come of them. Both are counted for
//! recordings of which one is four times as long as the other: in proportion that is four times as much, with the square sixteen.

use ltc_compiler::index::{self, Index, windows};
use ltc_compiler::patterns::{Homes, leaves, patterns};
use ltc_compiler::script::{self, Script};
use ltc_compiler::{ingest, trace::Trace};
use ltc_workflow::{Object, Value, json};

const NAMES: [&str; 8] = ["parser", "reader", "token", "walker", "source_map", "resolve", "plan", "evaluate"];

/// Lines of a program, all made of the same few names.
fn source(seed: usize, lines: usize) -> String {
    let name = |n: usize| NAMES.get(n % NAMES.len()).copied().unwrap_or_default();
    (0..lines).map(|n| format!("let {}_{} = self.{}({n});\n", name(seed * 7 + n * 3), seed % 9, name(seed + n * 5))).collect()
}

/// Files that are read and edited, so many times.
fn recording(rounds: usize) -> Trace {
    let object = |entries: Vec<(&str, Value)>| Value::from(entries.into_iter().collect::<Object>());
    let call = |tool: &str, arguments: Value, text: String| {
        let block = object(vec![("type", Value::from("text")), ("text", Value::from(text.as_str()))]);
        let result = object(vec![("content", Value::array(vec![block]))]);
        object(vec![("server", Value::from("desk")), ("tool", Value::from(tool)), ("arguments", arguments), ("result", result)])
    };
    let mut calls = Vec::new();
    for round in 0..rounds {
        let path = Value::from(format!("src/{}/{round}.rs", NAMES.get(round % NAMES.len()).copied().unwrap_or_default()).as_str());
        calls.push(call("get_file", object(vec![("path", path.clone())]), source(round, 30)));
        let (old, new) = (Value::from(source(round, 3).as_str()), Value::from(source(round + 1, 4).as_str()));
        calls.push(call("edit_file", object(vec![("path", path), ("old", old), ("new", new)]), source(round + 1, 10)));
    }
    let trace = object(vec![("format", Value::from("ltc.trace/1")), ("calls", Value::array(calls))]);
    let read = ingest::read("recording.json", json::to_string(&trace).as_bytes(), None).expect("it is read");
    read.traces.into_iter().next().expect("a trace")
}

/// The places at which parts of arguments stand.
fn places(script: &Script, index: &Index) -> usize {
    let texts = script.calls.iter().flat_map(leaves).filter_map(|(_, value)| value.as_str());
    texts
        .map(|text| windows(text).into_iter().filter_map(|(a, b)| text.get(a..b)).map(|part| index.places(part).len()).sum::<usize>())
        .sum()
}

/// The patterns of all calls.
fn all_patterns(script: &Script, index: &Index) -> usize {
    (0..script.calls.len()).map(|call| patterns(script, index, &Homes::default(), call).len()).sum()
}

fn work(rounds: usize) -> [usize; 2] {
    let script = script::read(&recording(rounds), false, &mut Vec::new());
    let index = index::build(&script);
    [places(&script, &index), all_patterns(&script, &index)]
}

#[test]
fn texts_that_share_their_words_take_no_square() {
    let (few, many) = (work(20), work(80));
    for (few, many) in few.into_iter().zip(many) {
        assert!(few > 0 && many < few * 8, "{few} became {many}");
    }
}
