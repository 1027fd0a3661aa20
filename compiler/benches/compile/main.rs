//! How long the compiler takes, and how much memory, beside a plain parse of the same bytes by serde_json in the same run.
//!
//! `cargo bench -p ltc-compiler` prints a table; `cargo bench -p ltc-compiler -- mixed-1000` prints the rows whose names contain a word;
//! `-- --only compile mixed-10000` compiles again and again and does nothing else, for a profiler. Times are medians. Memory is the most that was allocated
//! at once beside the file, plus the file.

#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // A program that prints a table.

mod recordings;

use ltc_compiler::diagnostics::Diagnostic;
use ltc_compiler::{Options, compile, ingest};
use ltc_workflow::yaml;
use peak_alloc::PeakAlloc;
use std::hint::black_box;
use std::time::{Duration, Instant};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// How long each measurement is repeated at least, as long as it does not take many times as long already.
const ENOUGH: Duration = Duration::from_millis(400);

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench").peekable();
    let only = arguments.next_if(|a| a == "--only").and_then(|_| arguments.next());
    let words: Vec<String> = arguments.collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    if only.is_none() {
        println!("| recording | file | parse | read | compile | print | all | × parse | memory | × file |");
        println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    }
    for recording in recordings::all().into_iter().filter(|r| wanted(&r.name)) {
        let bytes = (recording.bytes)();
        match only.as_deref() {
            Some("parse") => (0..10).for_each(|_| drop(black_box(parse(&bytes)))),
            Some(_) => (0..10).for_each(|_| drop(black_box(whole(&bytes)))),
            None => println!("{}", row(&recording.name, &bytes)),
        }
    }
}

fn row(name: &str, bytes: &[u8]) -> String {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let (took, text) = whole(bytes);
    let peak = MEMORY.peak_usage().saturating_sub(before) + bytes.len();
    assert!(text.contains("steps:"), "{name} compiles");
    let parsed = median(|| timed(|| parse(bytes)).0);
    let all = median(|| {
        let took = whole(bytes).0;
        took.iter().sum()
    });
    let [read, compile, print] = took;
    let times = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} | {:.1} | {} | {:.1} |",
        size(bytes.len()),
        time(parsed),
        time(read),
        time(compile),
        time(print),
        time(all),
        times(all, parsed),
        size(peak),
        peak as f64 / bytes.len() as f64
    )
}

/// The yardstick.
fn parse(bytes: &[u8]) -> serde_json::Value {
    serde_json::from_slice(bytes).expect("the recording is JSON")
}

/// Bytes in, text out: what `ltc compile` does between its two files. The times of its parts, and the text.
fn whole(bytes: &[u8]) -> ([Duration; 3], String) {
    let (read, ingested) = timed(|| ingest::read("bench", bytes, None).expect("the recording is read"));
    let (compiled, compilation) = timed(|| compile(&ingested.traces, &Options::default()));
    let (printed, text) = timed(|| match &compilation.workflow {
        Some(workflow) => yaml::print(workflow) + &compilation.explanation.to_text(),
        None => compilation.diagnostics.iter().map(|d: &Diagnostic| format!("{}: {}\n", d.place, d.message)).collect(),
    });
    ([read, compiled, printed], text)
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let made = black_box(work());
    (start.elapsed(), made)
}

fn median(mut measure: impl FnMut() -> Duration) -> Duration {
    let start = Instant::now();
    let mut times = vec![measure()];
    while times.len() < 3 && start.elapsed() < ENOUGH * 20 || times.len() < 101 && start.elapsed() < ENOUGH {
        times.push(measure());
    }
    times.sort();
    times[times.len() / 2]
}

fn time(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    match micros {
        m if m < 1_000.0 => format!("{m:.0} µs"),
        m if m < 1_000_000.0 => format!("{:.1} ms", m / 1e3),
        m => format!("{:.2} s", m / 1e6),
    }
}

fn size(bytes: usize) -> String {
    let kib = bytes as f64 / 1024.0;
    if kib < 1024.0 { format!("{kib:.0} KiB") } else { format!("{:.1} MiB", kib / 1024.0) }
}
