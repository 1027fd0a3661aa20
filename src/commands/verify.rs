//! `ltc verify`: whether a workflow does what was recorded, and what would have been recorded in another world.

use super::printed;
use crate::exit::Exit;
use crate::progress::busy;
use crate::report::{self, Report};
use crate::traces::TraceOptions;
use crate::{compiler, documents, traces};
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::verify::{Tally, Verdict};
use ltc_workflow::{Object, Value, json};
use std::path::PathBuf;

/// Replay a workflow in the recorded world and in counterfactual ones
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workflow; - is stdin
    #[arg(value_name = "WORKFLOW")]
    workflow: PathBuf,
    /// The recordings that it has to agree with
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// A run that ended in the middle counts up to there
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    options: TraceOptions,
}

/// Verifies.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let inputs = documents::read(&arguments.workflow, report)
        .and_then(|workflow| Ok((workflow, traces::read(&arguments.traces, &arguments.options, report)?)));
    let (workflow, traces) = match inputs {
        Ok(inputs) => inputs,
        Err(exit) => return exit,
    };
    let verdict = busy(report, "replaying", || compiler::verify(&workflow, &traces, arguments.partial));
    let is_verified = compiler::is_verified(&verdict);
    let exit = if is_verified { Exit::Done } else { Exit::Failed };
    if report.json {
        return printed(&format!("{}\n", json::to_string_pretty(&to_json(&verdict, is_verified))), exit, report);
    }
    report.say_all(&verdict.diagnostics);
    for skipped in &verdict.not_tried {
        report.say(&Diagnostic::new(
            Severity::Note,
            "not-tried",
            skipped.world.as_str(),
            format!("this world was not tried: {}", skipped.why),
        ));
    }
    let Verdict { recorded, counterfactual, .. } = &verdict;
    let count = |tally: &Tally| format!("{} of {}", tally.passed, tally.tried);
    let words = if is_verified { "verified" } else { "not verified" };
    let counted = format!("{} recorded runs and {} counterfactual worlds", count(recorded), count(counterfactual));
    report.tell(
        if is_verified { "verified" } else { "not-verified" },
        &format!("{words}: {} does what it should in {counted}", workflow.name),
    );
    exit
}

fn to_json(verdict: &Verdict, is_verified: bool) -> Value {
    let tally = |tally: &Tally| -> Value {
        let entries = [("passed", Value::from(tally.passed)), ("tried", Value::from(tally.tried))];
        entries.into_iter().collect::<Object>().into()
    };
    let skipped = verdict.not_tried.iter().map(|skipped| -> Value {
        let entries = [("world", Value::from(skipped.world.as_str())), ("why", Value::from(skipped.why.as_str()))];
        entries.into_iter().collect::<Object>().into()
    });
    let entries = [
        ("verified", Value::from(is_verified)),
        ("recorded", tally(&verdict.recorded)),
        ("counterfactual", tally(&verdict.counterfactual)),
        ("not_tried", skipped.collect()),
        ("diagnostics", verdict.diagnostics.iter().map(report::to_json).collect()),
    ];
    entries.into_iter().collect::<Object>().into()
}
