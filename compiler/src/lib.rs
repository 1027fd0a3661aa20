//! Traces in, workflow out.
#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::as_conversions, clippy::panic))]

pub mod dead;
pub mod diagnostics;
pub mod emit;
pub mod explain;
pub mod generalize;
pub mod hints;
pub mod identifiers;
pub mod index;
pub mod ingest;
pub mod lint;
pub mod lower;
pub mod names;
pub mod naming;
mod node;
pub mod order;
pub mod origins;
pub mod patterns;
pub mod placeholders;
pub mod plan;
pub mod region;
pub mod reroll;
pub mod rewrite;
pub mod script;
pub mod secrecy;
pub mod steps;
pub mod text;
pub mod trace;
pub mod tree;
pub mod verify;
pub mod weight;

use diagnostics::{Diagnostic, Severity};
use explain::Explanation;
use index::Index;
use ltc_workflow::{Object, Value, Workflow};
use plan::Plan;
use script::Script;
use std::collections::BTreeSet;
use trace::Trace;
use verify::Verdict;

/// The documentation of the compiler, in Markdown.
pub const DOCUMENTATION: &str = include_str!("../README.md");

/// What a compilation may be told.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The workflow's name.
    pub name: Option<String>,
    /// Whether a run that ended in the middle is compiled up to there.
    pub partial: bool,
    /// Whether the runs are told step by step, as [`emit_rust`] needs them.
    pub record: bool,
}

/// What a compilation gives.
#[derive(Debug)]
pub struct Compilation {
    /// The workflow, unless something made it impossible.
    pub workflow: Option<Workflow>,
    /// Where everything comes from.
    pub explanation: Explanation,
    /// Guesses, doubts and mistakes, most severe first.
    pub diagnostics: Vec<Diagnostic>,
    /// Per run: what the inputs were, with those that the compiler made.
    pub given: Vec<Object>,
    /// What the workflow does in the recorded runs, step by step, without secrets; where the options want it.
    pub recording: Option<Value>,
    /// Whether the workflow does what was recorded. Where it does not, an error among the diagnostics says so, and it must not be used.
    pub verdict: Verdict,
}

/// Compiles the runs of one task.
pub fn compile(traces: &[Trace], options: &Options) -> Compilation {
    let mut diagnostics = Vec::new();
    let scripts: Vec<_> = traces.iter().map(|trace| script::read(trace, options.partial, &mut diagnostics)).collect();
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Compilation::refused(diagnostics);
    }
    let indexes: Vec<_> = scripts.iter().map(index::build).collect();
    let plan = plan(&scripts, &indexes, MOST_PASSES);
    let alive = dead::alive(&plan, &scripts);
    let (plan, lowered) = lower::lower(plan, &scripts, alive, options.name.as_deref());
    let explanation = explain::explanation(&plan, &lowered.renamed, &lowered.steps, &scripts);
    let (made, runs) = (plan.made(&scripts, &lowered.alive), plan.runs(&lowered.given));
    let verdict = verify::verify_compiled(&lowered.workflow, traces, &made, &runs);
    let recording = options.record.then(|| verify::record(&lowered.workflow, &made, &runs, &plan.secrets));

    diagnostics.extend(lowered.diagnostics);
    let living = plan.diagnostics.iter().filter(|told| told.node.is_none_or(|node| lowered.alive.contains(&node)));
    diagnostics.extend(living.map(|told| lowered.renamed.in_told(told)));
    // What a lint calls an error was recorded, and went well: only its warnings count here.
    let servers: Vec<_> = scripts.iter().flat_map(|script| script.servers.iter().cloned()).collect();
    diagnostics.extend(lint::lint(&lowered.workflow, &servers).into_iter().filter(|d| d.severity == Severity::Warning));
    // Where the reason is known why nothing can be written, that the replay differs is no news.
    let has_reason = diagnostics.iter().any(|d: &Diagnostic| d.severity == Severity::Error);
    diagnostics.extend(verdict.diagnostics.iter().filter(|d| !has_reason || d.code != verify::REPLAY_DIFFERS).cloned());
    let diagnostics = plan.secrets.hidden_in(diagnostics).into_iter().map(Diagnostic::visible).collect();
    Compilation {
        workflow: plan.is_whole(&lowered.alive).then_some(lowered.workflow),
        explanation: explanation.without(&plan.secrets),
        diagnostics,
        given: lowered.given,
        recording,
        verdict,
    }
}

/// The files of a Rust crate that does what `workflow` does, as it was compiled from `traces` and is written in `document`.
///
/// # Errors
/// Why the compiler could not write it, which is a mistake of the compiler.
pub fn emit_rust(made: &Compilation, traces: &[Trace], document: &str, runtime_path: Option<&str>) -> Result<Vec<emit::File>, String> {
    let (Some(workflow), Some(recording)) = (&made.workflow, &made.recording) else { return Err("there is no workflow".to_owned()) };
    let servers: Vec<_> = traces.iter().flat_map(|trace| trace.servers.iter().cloned()).collect();
    let recorded = |call: &trace::Call| match &call.outcome {
        trace::Outcome::Result(body) => Some(emit::Recorded {
            server: identifiers::server_name(&call.server),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            result: body.decode(),
        }),
        _ => None,
    };
    let calls: Vec<_> = traces.iter().flat_map(|trace| &trace.calls).filter_map(recorded).collect();
    let origin = |step: &explain::Explained| {
        let arguments = step.arguments.iter().map(|argument| (argument.path.clone(), argument.origin.clone())).collect();
        (step.step.clone(), emit::StepOrigin { calls: step.calls.clone(), arguments })
    };
    let origins = made.explanation.steps.iter().map(origin).collect();
    let source = emit::Source { workflow, document, servers: &servers, calls: &calls, origins: &origins, recording, runtime_path };
    emit::files(&source)
}

/// How often a loop that turned out to be none sends the passes back.
const MOST_PASSES: usize = 6;

/// Finds the loops, lays the runs over each other, and explains every value. A loop that cannot be told is taken for straight code, and
/// the passes begin again; after `most_passes` of them no loop is looked for, and the plan says so.
fn plan(scripts: &[Script], indexes: &[Index], most_passes: usize) -> Plan {
    let mut banned = BTreeSet::new();
    for pass in 0.. {
        let last = pass >= most_passes;
        let regions = scripts.iter().zip(indexes).enumerate().map(|(run, (script, index))| {
            let banned = banned.iter().filter(|(r, _)| *r == run).map(|(_, call)| *call).collect();
            if last { reroll::straight(script) } else { reroll::reroll(script, index, &banned) }
        });
        let tree = generalize::generalize(scripts, indexes, regions.collect());
        let mut plan = origins::explain(scripts, indexes, tree);
        if last {
            plan.diagnostics.push(plan::Told { node: None, diagnostic: loops_given_up(), exprs: Vec::new() });
        }
        if last || plan.banned.is_subset(&banned) {
            return plan;
        }
        banned.extend(plan.banned);
    }
    Plan::default()
}

fn loops_given_up() -> Diagnostic {
    let message = "too many repeated calls could not be told as loops: none was looked for, and every call stands by itself";
    Diagnostic::new(Severity::Question, "loops-given-up", "", message).help("compile a shorter run of the same task")
}

impl Compilation {
    fn refused(diagnostics: Vec<Diagnostic>) -> Compilation {
        let mut diagnostics: Vec<_> = diagnostics.into_iter().map(Diagnostic::visible).collect();
        diagnostics.sort();
        Compilation {
            workflow: None,
            explanation: Explanation::default(),
            diagnostics,
            given: Vec::new(),
            recording: None,
            verdict: Verdict::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_are_given_up_are_told() {
        let recording = include_bytes!("../../fixtures/cases/each-of-an-input/recording.json");
        let traces = ingest::read("recording.json", recording, None).expect("it is read").traces;
        let scripts: Vec<_> = traces.iter().map(|trace| script::read(trace, false, &mut Vec::new())).collect();
        let indexes: Vec<_> = scripts.iter().map(index::build).collect();
        let told = |most_passes| {
            let plan = plan(&scripts, &indexes, most_passes);
            let loops = plan.points.values().filter(|point| matches!(point, plan::Point::Each { .. })).count();
            (loops, plan.diagnostics.iter().any(|told| told.diagnostic.code == "loops-given-up"))
        };
        assert_eq!(told(MOST_PASSES), (1, false));
        assert_eq!(told(0), (0, true));
    }
}
