//! Scratch.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "it reads files; the crate does not")]
use ltc_workflow::document::*;
fn steps(s: &[Step], d: usize) {
    for s in s {
        let pad = "  ".repeat(d);
        let w = s.when.as_ref().map(|w| format!(" when {w}")).unwrap_or_default();
        match &s.kind {
            StepKind::Call { server, tool, with } => {
                println!("{pad}{}: {server}/{tool}{w}", s.id);
                for (k, t) in with {
                    println!("{pad}    {k}: {}", ltc_workflow::json::to_string(&t.print()));
                }
            }
            StepKind::For { each, list, test, gather, steps: inner, .. } => {
                println!(
                    "{pad}{}: for {each} in {list} where {:?} gather {:?}{w}",
                    s.id,
                    test.as_ref().map(|t| t.to_string()),
                    gather.as_ref().map(|g| ltc_workflow::json::to_string(&g.print()))
                );
                steps(inner, d + 1);
            }
            StepKind::Repeat { until, every, at_most, gather, steps: inner } => {
                println!(
                    "{pad}{}: repeat until {until} every {every:?} at_most {at_most:?} gather {:?}{w}",
                    s.id,
                    gather.as_ref().map(|g| ltc_workflow::json::to_string(&g.print()))
                );
                steps(inner, d + 1);
            }
            StepKind::Switch { cases } => {
                println!("{pad}{}: switch", s.id);
                for c in cases {
                    println!("{pad} case {:?}", c.when.as_ref().map(|w| w.to_string()));
                    steps(&c.steps, d + 1);
                }
            }
            k => println!("{pad}{}: {k:?}", s.id),
        }
    }
}
fn main() {
    let mut traces = Vec::new();
    for f in std::env::args().skip(1) {
        let bytes = std::fs::read(&f).unwrap();
        match ltc_compiler::ingest::read(&f, &bytes, None) {
            Ok(i) => traces.extend(i.traces),
            Err(e) => {
                println!("{e:?}");
                return;
            }
        }
    }
    let t = std::time::Instant::now();
    let c = ltc_compiler::compile(&traces, &Default::default());
    eprintln!("{:?}", t.elapsed());
    if let Some(w) = &c.workflow {
        println!("{} inputs {}", w.name, ltc_workflow::json::to_string(&w.inputs.clone().into()));
        steps(&w.steps, 1);
        println!("  output {}", w.output.as_ref().map(|o| ltc_workflow::json::to_string(&o.print())).unwrap_or_default());
    }
    for d in &c.diagnostics {
        println!("  {} {} {}: {} {:?}", d.severity.name(), d.code, d.place, d.message, d.candidates);
    }
}
