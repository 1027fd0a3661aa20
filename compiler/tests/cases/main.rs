//! The cases: a folder of `fixtures/cases` is a test.
//!
//! A case has recordings (`recording.json`, or `1.json`, `2.json` … of one task), perhaps `hints.yaml` and `servers.json`, and a README
//! that says what the trap is and what is right. `expect/must.yaml` states what must be so, reasoned out before the compiler was asked;
//! recordings in `worlds/` are other runs of the same task, which the compiled workflow must do as well, call for call. The snapshots beside
//! it (`workflow.yaml`, `diagnostics.txt`, `explain.txt`) show everything else; `INSTA_UPDATE=always cargo test -p ltc-compiler --test
//! cases` rewrites them, and the diff is the review. A case whose must.yaml does not hold shows no snapshot, and fails. Of some cases, and of
//! the demo, the Rust is a snapshot too (`rust`).

#![allow(clippy::disallowed_methods)] // Folders are read.

mod case;
mod must;
mod rust;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use ltc_compiler::{Options, compile, emit_rust, ingest};
use ltc_workflow::yaml;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cases");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(&root).expect("fixtures/cases").filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_dir()).collect();
    folders.sort();
    let trial = |folder: PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let pending = case::must(&folder).is_ok_and(|must| must.pending);
        Trial::test(name, move || check(&folder)).with_ignored_flag(pending)
    };
    let mut trials: Vec<Trial> = folders.into_iter().map(trial).collect();
    trials.push(Trial::test("demo-as-rust", check_demo));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn check(folder: &Path) -> Result<(), Failed> {
    let case = case::read(folder)?;
    let made = case.compile();
    let mut mistakes = case.slips();
    mistakes.extend(case.mistakes(&made));
    mistakes.extend(case.leaks(&made));
    if !folder.join("README.md").is_file() {
        mistakes.push("there is no README.md".to_owned());
    }
    if !mistakes.is_empty() {
        let list: String = mistakes.iter().map(|m| format!("  - {m}\n")).collect();
        return Err(format!("\n{list}\n{}\n{}\n{}", made.print, made.diagnostics, made.explanation).into());
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder.join("expect"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!("workflow.yaml", made.print);
        insta::assert_snapshot!("diagnostics.txt", made.diagnostics);
        insta::assert_snapshot!("explain.txt", made.explanation);
    });
    if rust::is_shown(folder) {
        rust::compare(folder, &case.rust(&made)?)?;
    }
    Ok(())
}

fn check_demo() -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/demo");
    let recording = fs::read(folder.join("late-orders.json"))?;
    let traces = ingest::read("late-orders.json", &recording, None).map_err(|errors| format!("{errors:?}"))?.traces;
    let made = compile(&traces, &Options { record: true, ..Options::default() });
    let document = made.workflow.as_ref().map(yaml::print).ok_or("nothing was compiled")?;
    rust::compare(&folder, &emit_rust(&made, &traces, &document, None)?)?;
    Ok(())
}
