//! One recording gives one workflow: whenever and wherever it is compiled, in whatever order its keys stand, and whatever else it says.
//!
//! Each case of `fixtures/cases` is compiled as it is, again, from another folder, with the keys of every object permuted at random, and
//! with fields that nobody knows. Workflow, explanation and diagnostics must be the same bytes.

#![allow(clippy::disallowed_methods)] // Folders are read.

#[allow(dead_code)]
#[path = "cases/case.rs"]
mod case;
#[allow(dead_code)]
#[path = "cases/must.rs"]
mod must;
mod support;

use case::{Change, Made};
use ltc_workflow::{Object, Value, json};
use std::path::{Path, PathBuf};

/// How many permutations of each recording are tried.
const PERMUTATIONS: u64 = 3;

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cases");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(root).expect("fixtures/cases").filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_dir()).collect();
    folders.sort();
    assert!(folders.len() > 20, "the cases are there");
    folders
}

fn made(folder: &Path, change: Change<'_>) -> Made {
    case::read_with(folder, change).unwrap_or_else(|e| panic!("{}: {e}", folder.display())).compile()
}

/// Compiles every case as it is and changed, and compares every byte.
fn all_are_the_same(what: &str, change: Change<'_>) {
    let mut different = Vec::new();
    for folder in folders() {
        let (as_it_is, changed) = (made(&folder, &|_, bytes| bytes), made(&folder, change));
        for (text, a, b) in [
            ("workflow", &as_it_is.print, &changed.print),
            ("diagnostics", &as_it_is.diagnostics, &changed.diagnostics),
            ("explanation", &as_it_is.explanation, &changed.explanation),
        ] {
            if a != b {
                different.push(format!("{}: the {text} changes {what}:\n{}", folder.display(), first_difference(a, b)));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

fn first_difference(a: &str, b: &str) -> String {
    let lines = a.lines().zip(b.lines()).find(|(a, b)| a != b);
    lines.map_or_else(|| "  one is longer".to_owned(), |(a, b)| format!("  - {a}\n  + {b}"))
}

#[test]
fn once_more_is_the_same() {
    all_are_the_same("when it is compiled again", &|_, bytes| bytes);
}

#[test]
fn in_another_thread_it_is_the_same() {
    std::thread::spawn(|| all_are_the_same("in another thread", &|_, bytes| bytes)).join().expect("the same");
}

#[test]
fn from_another_folder_it_is_the_same() {
    all_are_the_same("with the folder", &|name, bytes| {
        *name = format!("/somewhere/else/on another day/{name}.json");
        bytes
    });
}

#[test]
fn with_permuted_keys_it_is_the_same() {
    for seed in 1..=PERMUTATIONS {
        all_are_the_same(&format!("with the order of keys (seed {seed})"), &|_, bytes| {
            changed(&bytes, &mut |value| permuted(value, &mut Dice(seed)))
        });
    }
}

#[test]
fn with_fields_that_nobody_knows_it_is_the_same() {
    all_are_the_same("with unknown fields", &|_, bytes| changed(&bytes, &mut with_unknown_fields));
}

/// The file, read and written with its value changed. Written otherwise, too: over lines or on one.
fn changed(bytes: &[u8], change: &mut dyn FnMut(&Value) -> Value) -> Vec<u8> {
    let value = json::parse(bytes).expect("a recording is JSON");
    json::to_string(&change(&value)).into_bytes()
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides
    }
}

/// `value` with the keys of every object in another order, also in texts that are the JSON of a result.
fn permuted(value: &Value, dice: &mut Dice) -> Value {
    match value {
        Value::Object(object) => {
            let is_block = object.get("type").and_then(Value::as_str) == Some("text");
            let mut left: Vec<(&smol_str::SmolStr, &Value)> = object.iter().collect();
            let mut entries = Vec::new();
            while !left.is_empty() {
                let (key, item) = left.remove(dice.throw(left.len()));
                let item = match item.as_str() {
                    Some(text) if is_block && key == "text" => permuted_text(text, dice),
                    _ => permuted(item, dice),
                };
                entries.push((key.clone(), item));
            }
            Value::Object(entries.into_iter().collect::<Object>())
        }
        Value::Array(items) => items.iter().map(|item| permuted(item, dice)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// What a tool's text says when it is read as JSON does not depend on the order of keys either.
fn permuted_text(text: &str, dice: &mut Dice) -> Value {
    match json::parse(text.as_bytes()) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => Value::from(json::to_string(&permuted(&value, dice)).as_str()),
        Ok(_) | Err(_) => Value::from(text),
    }
}

/// The recording with fields of other tools at the top, in every call and in every result.
fn with_unknown_fields(value: &Value) -> Value {
    let Some(trace) = value.as_object() else { return value.clone() };
    let vendor = || json::parse(br#"{"latency_ms": 12.50, "tags": ["a", {"inputs": 1}], "note": "${{ inputs.x }}"}"#).expect("JSON");
    let with_more = |value: &Value| match value {
        Value::Object(object) => {
            let mut object = object.clone();
            object.insert("x-vendor", vendor());
            Value::Object(object)
        }
        other => other.clone(),
    };
    let mut trace = trace.clone();
    if let Some(calls) = trace.get("calls").and_then(Value::as_array) {
        let calls = calls.iter().map(|call| {
            let call = with_more(call);
            match (call.as_object(), call.get("result")) {
                (Some(object), Some(result)) => {
                    let mut object = object.clone();
                    object.insert("result", with_more(result));
                    Value::Object(object)
                }
                _ => call,
            }
        });
        let calls = calls.collect();
        trace.insert("calls", calls);
    }
    with_more(&Value::Object(trace))
}
