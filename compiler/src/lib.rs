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
use ltc_workflow::document::StepKind;
use ltc_workflow::{Object, Value, Workflow};
use plan::Plan;
use script::Script;
use std::cmp::Reverse;
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
    /// Whether a secret was found in the runs.
    pub has_secrets: bool,
}

/// Compiles the runs of one task. Where one run alone gives a workflow that does all of them and is smaller, that one is taken: runs that are laid
/// over each other may part for no other reason than that a list had one item.
pub fn compile(traces: &[Trace], options: &Options) -> Compilation {
    let all = together(traces, options);
    let size = all.workflow.as_ref().filter(|_| !has_error(&all.diagnostics)).map(size);
    // What one run shows to be a secret, another one alone may not.
    if traces.len() < 2
        || all.has_secrets
        || size.is_some_and(|(_, conditions)| conditions == 0) && all.workflow.as_ref().is_some_and(|w| takes_only(w, traces))
    {
        return all;
    }
    let mut longest: Vec<usize> = (0..traces.len()).collect();
    longest.sort_by_key(|at| Reverse(traces.get(*at).map_or(0, |trace| trace.calls.len())));
    let alone = longest.into_iter().take(MOST_ALONE).filter_map(|at| alone(traces, at, options));
    let smaller = alone.filter(|(_, parts, _)| size.is_none_or(|(steps, conditions)| *parts < steps + conditions));
    smaller.min_by_key(|(at, parts, _)| (*parts, *at)).map_or(all, |(_, _, made)| made)
}

/// So many of several runs, those with most calls, are compiled alone.
const MOST_ALONE: usize = 3;

/// The compilation of the run at `at`, with how many parts its workflow has, where that does all runs.
fn alone(traces: &[Trace], at: usize, options: &Options) -> Option<(usize, usize, Compilation)> {
    let made = together(traces.get(at..=at)?, &Options { record: false, ..options.clone() });
    let workflow = made.workflow.as_ref().filter(|w| w.secrets.is_empty() && takes_only(w, traces))?;
    let (steps, conditions) = size(workflow);
    let verdict = verify::verify(workflow, traces, options.partial);
    if has_error(&made.diagnostics) || has_error(&verdict.diagnostics) || !verdict.replays() {
        return None;
    }
    let mut diagnostics: Vec<_> = made.diagnostics.into_iter().filter(|d| !made.verdict.diagnostics.contains(d)).collect();
    // What is true of all runs is no guess from one.
    diagnostics.iter_mut().filter(|d| d.code == "picked-from-list").for_each(|d| d.severity = Severity::Note);
    diagnostics.extend(verdict.diagnostics.iter().cloned());
    diagnostics.push(made_of_one_run(at, traces.len()));
    diagnostics.sort();
    let recording = options.record.then(|| verify::record_traces(workflow, traces, options.partial));
    let given = traces.iter().map(|trace| trace.input.clone().unwrap_or_default()).collect();
    Some((at, steps + conditions, Compilation { diagnostics, verdict, given, recording, ..made }))
}

fn has_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// Whether all inputs of a workflow are those of every run.
fn takes_only(workflow: &Workflow, traces: &[Trace]) -> bool {
    let given = |name: &str| traces.iter().all(|trace| trace.input.as_ref().is_some_and(|input| input.contains_key(name)));
    workflow.inputs.keys().all(|name| given(name))
}

/// How many steps a workflow has, and how many conditions under which they are done.
fn size(workflow: &Workflow) -> (usize, usize) {
    let (mut count, mut conditions) = (0, 0);
    steps::each(&workflow.steps, &mut |step, _| {
        count += 1;
        let cases = if let StepKind::Switch { cases } = &step.kind { cases.len() } else { 0 };
        conditions += usize::from(step.when.is_some()) + cases;
    });
    (count, conditions)
}

fn made_of_one_run(at: usize, of: usize) -> Diagnostic {
    let message =
        format!("the workflow is made of run {} alone: it does all {of} runs, and is smaller than what they give together", at + 1);
    Diagnostic::new(Severity::Note, "made-of-one-run", "", message)
}

/// The compilation of runs that are laid over each other.
fn together(traces: &[Trace], options: &Options) -> Compilation {
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
    let has_secrets = (0..scripts.len()).any(|run| !plan.secrets.of(run).is_empty());
    Compilation {
        workflow: plan.is_whole(&lowered.alive).then_some(lowered.workflow),
        explanation: explanation.without(&plan.secrets),
        diagnostics,
        given: lowered.given,
        recording,
        verdict,
        has_secrets,
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
            has_secrets: false,
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
