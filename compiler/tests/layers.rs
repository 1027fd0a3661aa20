//! The layer rule: a module uses only modules above it, stages use no other stage, and only `lib.rs` knows the order of the stages.
//!
//! Read from the sources: every `crate::` path of every file counts, in a `use` or in the middle of a line. Unit tests are free.

#![allow(clippy::disallowed_methods)] // Sources are read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What everyone may use, and the representations, from the first to the last: each uses only those before it.
const ABOVE_THE_STAGES: [&str; 20] = [
    "diagnostics",  // what people are told
    "text",         // where a text may be cut, and what it looks like
    "names",        // whether two names mean the same
    "identifiers",  // names that are safe everywhere
    "rewrite",      // walks through expressions
    "steps",        // walks through workflows
    "order",        // one order for keys
    "placeholders", // names of steps before they have names
    "secrecy",      // what is secret
    "node",         // a value with its place in a file
    "hints",        // what a person told about a server
    "trace",        // a recording
    "weight",       // how much a value says
    "script",       // the calls that count
    "index",        // where values stand
    "region",       // calls as a tree of loops
    "patterns",     // ways from arguments to the items of lists
    "tree",         // all runs over each other
    "plan",         // where everything comes from
    "naming",       // names for people
];

/// The stages, in the order in which `lib.rs` runs them: each uses what is above, and no other stage.
const STAGES: [&str; 10] = ["ingest", "reroll", "generalize", "origins", "dead", "lower", "explain", "verify", "lint", "emit"];

/// The files of a module: `name.rs` and all in `name/`, without unit tests.
fn files(module: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = vec![root.join(format!("{module}.rs"))];
    let mut open = vec![root.join(module)];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name != "tests.rs") {
                found.push(path);
            }
        }
    }
    found
}

/// The modules of this crate that a source names: `crate::a`, and those in `crate::{a, b::c}`.
fn used(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect();
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match rest.strip_prefix('{') {
            None => {
                found.insert(rest.chars().take_while(|c| is_name(*c)).collect());
            }
            Some(group) => {
                let mut depth = 0;
                let mut name = String::new();
                let mut first = true;
                for c in group.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.insert(std::mem::take(&mut name));
                            first = true;
                        }
                        c if depth == 0 && first && is_name(c) => name.push(c),
                        c if depth == 0 && !c.is_whitespace() => first = false,
                        _ => {}
                    }
                }
                found.insert(name);
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn modules() -> impl Iterator<Item = &'static str> {
    ABOVE_THE_STAGES.into_iter().chain(STAGES)
}

#[test]
fn modules_use_only_what_is_above_them() {
    let mut wrong = Vec::new();
    for (number, module) in modules().enumerate() {
        for file in files(module) {
            let source = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            for other in used(&source) {
                let above = ABOVE_THE_STAGES.iter().take(number).any(|name| *name == other);
                if !above && other != module {
                    wrong.push(format!("{} uses {other}, which is not above {module}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_has_its_layer() {
    let root = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("lib.rs");
    let declared = root.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    assert_eq!(declared.collect::<BTreeSet<_>>(), modules().collect::<BTreeSet<_>>());
    assert_eq!(modules().count(), ABOVE_THE_STAGES.len() + STAGES.len(), "no module stands twice");
}

#[test]
fn the_stages_stand_in_the_order_in_which_they_run() {
    let root = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("lib.rs");
    let after = |at: usize, name: &str| root.get(at..).and_then(|rest| rest.find(name)).map(|found| at + found);
    // `ingest` is called by whoever has the bytes; loops, skeleton and origins are found in one function, the rest in another.
    for (function, stages) in [("fn plan(", &STAGES[1..4]), ("pub fn compile(", &STAGES[4..])] {
        let mut at = root.find(function).expect(function);
        for stage in stages {
            at = after(at, &format!("{stage}::")).unwrap_or_else(|| panic!("{function} runs {stage} after what stands before it"));
        }
    }
}

#[test]
fn paths_are_read_from_every_kind_of_use() {
    let source = "use crate::a::{b, c};\nuse crate::{d, e::{f, g}, h};\nlet x = crate::i::j();\n// crate::k\n#[cfg(test)]\nmod tests {\n    use crate::l;\n}\n";
    assert_eq!(used(source).into_iter().collect::<Vec<_>>(), ["a", "d", "e", "h", "i"]);
}
