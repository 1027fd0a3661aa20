//! Traces in, workflow out.

pub mod dead;
pub mod diagnostics;
pub mod explain;
pub mod generalize;
pub mod hints;
pub mod index;
pub mod ingest;
pub mod lower;
pub mod names;
pub mod origins;
pub mod region;
pub mod reroll;
pub mod rewrite;
pub mod script;
pub mod steps;
pub mod text;
pub mod trace;
pub mod tree;
pub mod verify;

use diagnostics::{Diagnostic, Severity};
use explain::Explanation;
use ltc_workflow::{Object, Workflow};
use std::collections::BTreeSet;
use trace::Trace;
use tree::NodeId;
use verify::{Given, Verdict};

/// What a compilation may be told.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The workflow's name.
    pub name: Option<String>,
    /// Whether a run that ended in the middle is compiled up to there.
    pub partial: bool,
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
    /// Whether the workflow does what was recorded. Where it does not, an error among the diagnostics says so, and it must not be used.
    pub verdict: Verdict,
}

/// How often a loop that turned out to be none sends the pipeline back.
const MOST_PASSES: usize = 6;

/// Compiles the runs of one task.
pub fn compile(traces: &[Trace], options: &Options) -> Compilation {
    let mut diagnostics = Vec::new();
    let scripts: Vec<_> = traces.iter().map(|trace| script::read(trace, options.partial, &mut diagnostics)).collect();
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Compilation::refused(diagnostics);
    }
    let indexes: Vec<_> = scripts.iter().map(index::build).collect();
    let mut banned = BTreeSet::new();
    for pass in 0.. {
        let regions = scripts.iter().zip(&indexes).enumerate().map(|(run, (script, index))| {
            let banned = banned.iter().filter(|(r, _)| *r == run).map(|(_, call)| *call).collect();
            if pass < MOST_PASSES { reroll::reroll(script, index, &banned) } else { reroll::straight(script) }
        });
        let tree = generalize::generalize(&scripts, &indexes, regions.collect());
        let plan = origins::explain(&scripts, &indexes, tree);
        if pass < MOST_PASSES && !plan.banned.is_subset(&banned) {
            banned.extend(plan.banned);
            continue;
        }
        let (plan, lowered) = lower::lower(plan, &scripts, traces, options.name.as_deref());
        diagnostics.extend(lowered.diagnostics.iter().cloned());
        let explanation = explain::explanation(&plan, &lowered, &scripts);
        let of_the_living = |(node, _): &(Option<NodeId>, Diagnostic)| node.is_none_or(|n| lowered.alive.contains(&n));
        let told = plan.diagnostics.iter().filter(|d| of_the_living(d)).map(|(_, d)| d.clone());
        diagnostics.extend(told.map(|d| d.renamed(|text| lowered.renamed.in_text(text))));
        let made: Vec<_> = scripts.iter().enumerate().map(|(run, script)| script.only(&plan.tree.calls_at(&lowered.alive, run))).collect();
        let runs: Vec<_> =
            lowered.given.iter().enumerate().map(|(run, input)| Given { input: input.clone(), secrets: plan.secrets.of(run) }).collect();
        let verdict = verify::verify_compiled(&lowered.workflow, traces, &made, &runs);
        diagnostics.extend(verdict.diagnostics.iter().cloned());
        diagnostics.sort();
        diagnostics.dedup();
        return Compilation { workflow: Some(lowered.workflow), explanation, diagnostics, given: lowered.given, verdict };
    }
    Compilation::refused(diagnostics)
}

impl Compilation {
    fn refused(mut diagnostics: Vec<Diagnostic>) -> Compilation {
        diagnostics.sort();
        Compilation { workflow: None, explanation: Explanation::default(), diagnostics, given: Vec::new(), verdict: Verdict::default() }
    }
}
