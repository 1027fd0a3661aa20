//! A survey of a folder of recordings, for people: `LTC_TRACES=folder cargo test -p ltc-compiler --test ingest_survey -- --nocapture` prints
//! what each file was read as. Without the variable nothing happens.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a survey for people reads files and prints")]

use ltc_compiler::ingest;
use ltc_compiler::trace::{Outcome, Trace};
use ltc_workflow::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

fn count(traces: &[Trace], which: fn(&Outcome) -> bool) -> usize {
    traces.iter().flat_map(|t| &t.calls).filter(|c| which(&c.outcome)).count()
}

fn servers(traces: &[Trace]) -> String {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for call in traces.iter().flat_map(|t| &t.calls) {
        *calls.entry(&call.server).or_default() += 1;
    }
    calls.iter().map(|(server, n)| format!("{server} {n}")).collect::<Vec<_>>().join(", ")
}

fn short(text: &str) -> String {
    let head: String = text.chars().take(150).collect();
    if head.len() < text.len() { format!("{head}…") } else { head }
}

fn show(trace: &Trace) {
    println!("    id {:?}, task {}", trace.id, short(&format!("{:?}", trace.task)));
    for server in &trace.servers {
        println!("    server {} {:?} {} tools", server.name, server.transport, server.tools.len());
    }
    for call in &trace.calls {
        let arguments = json::to_string(&call.arguments.clone().into());
        println!("    {} {}/{} turn {:?} at {:?} {}", call.id, call.server, call.tool, call.turn, call.started_at, short(&arguments));
        let text = match &call.outcome {
            Outcome::Result(body) => format!("= {}", json::to_string(&body.decode())),
            Outcome::ToolError(body) => format!("! {}", json::to_string(&body.decode())),
            other => format!("{other:?}"),
        };
        println!("        {}", short(&text));
    }
}

#[test]
fn survey() {
    let Some(folder) = std::env::var_os("LTC_TRACES").map(PathBuf::from) else {
        return;
    };
    let mut paths = Vec::new();
    files(&folder, &mut paths);
    println!("| file | format | runs | calls | errors | refused | missing | servers | notes |\n|---|---|---|---|---|---|---|---|---|");
    for path in paths {
        let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        match ingest::read("", &std::fs::read(&path).expect("a file"), None) {
            Ok(read) => {
                let traces = &read.traces;
                let errors = count(traces, |o| matches!(o, Outcome::ToolError(_) | Outcome::RpcError { .. }));
                let (refused, missing) = (count(traces, |o| *o == Outcome::Refused), count(traces, |o| *o == Outcome::Missing));
                let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
                read.notes.iter().for_each(|n| *notes.entry(n.code).or_default() += 1);
                let notes = notes.iter().map(|(code, n)| format!("{code} {n}")).collect::<Vec<_>>().join(", ");
                let calls = count(traces, |_| true);
                println!(
                    "| {name} | {} | {} | {calls} | {errors} | {refused} | {missing} | {} | {notes} |",
                    read.format,
                    traces.len(),
                    servers(traces)
                );
                if std::env::var_os("LTC_SHOW").is_some() {
                    traces.iter().for_each(show);
                }
            }
            Err(problems) => {
                let why: Vec<String> = problems.iter().take(2).map(|p| format!("{} {} {}", p.code, p.place, p.message)).collect();
                println!("| {name} | refused: {} |", why.join("; "));
            }
        }
    }
}
