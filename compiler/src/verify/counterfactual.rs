//! The counterfactual worlds of a run, one after the other.
//!
//! They are tried only where the run itself is replayed as recorded. How much is done is bounded, so that a long recording is verified in the time
//! that it takes to read it; what is not done is told.

use super::census::Census;
use super::changed::Ground;
use super::places::{Base, Lists, lists};
use super::replay::Replay;
use super::secrets::Learned;
use super::sizes::{Size, other_size};
use super::spread::Spread;
use super::{NotTried, Run, Tried, Verdict, observe, renamed, rounds};
use crate::steps;
use ltc_workflow::advance::Start;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::Expr;
use ltc_workflow::{Value, Workflow};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// How many calls are made in all counterfactual worlds together.
pub const MOST_CALLS: usize = 150_000;

/// Tries the worlds of a run that was replayed as recorded, and adds what came out to `verdict`.
pub fn worlds(verdict: &mut Verdict, left: &mut usize, workflow: &Workflow, run: &Run, start: &Start, replay: &Replay) {
    let start = &found_out(start, &replay.learned);
    let mut census = Census::of(workflow, run.script, &start.input, run.output);
    let frozen = renamed::frozen(workflow, run, &mut census);
    let mut tried = Trying { verdict, left, run, learned: &replay.learned, secrets: &workflow.secrets, skipped: 0 };
    tried.world("other ids", 2, || renamed::other_ids(workflow, run, start, &census, frozen));
    let (lists, repeats) = (lists(workflow), repeats(workflow));
    if lists.places.is_empty() && lists.loops.is_empty() && repeats.is_empty() {
        return tried.finish();
    }
    let probed = observe::with_probes(workflow);
    let calls: FxHashMap<SmolStr, usize> = replay.made.iter().filter_map(|made| Some((made.step.0.clone(), made.call?))).collect();
    let observed = observe::observe(&probed, start, calls, &|call| run.script.calls.get(call).map(|act| act.value.clone()));
    let ground = Ground { probed: &probed, script: run.script, observed: &observed, census: &census, start };
    sizes(&mut tried, workflow, &ground, &lists);
    for (id, until, body) in repeats {
        for more in [false, true] {
            tried.world(&rounds::world(id, more), 1, || rounds::other_rounds(&ground, id, until, body, more));
        }
    }
    tried.finish();
}

fn sizes(tried: &mut Trying, workflow: &Workflow, ground: &Ground, lists: &Lists) {
    for (id, base) in &lists.loops {
        if let Base::None(why) = base {
            tried.not(&format!("the list of `{id}` with other items"), why.clone());
        }
    }
    for (place, uses) in lists.places.iter().filter(|(_, uses)| uses.iterated || uses.picked) {
        if ground.script.calls.len() >= *tried.left {
            tried.skipped += Size::ALL.len();
            continue;
        }
        match Spread::of(ground, lists, place) {
            Err(why) => tried.not(&format!("`{place}` with other items"), why),
            Ok(spread) => {
                for size in Size::ALL {
                    tried.world(&size.of(place), 1, || other_size(workflow, ground, lists, place, *uses, &spread, size));
                }
            }
        }
    }
}

/// The start, with what was found out of secrets and inputs in the recorded world.
fn found_out(start: &Start, learned: &Learned) -> Start {
    let text = |(name, value): (&SmolStr, &SmolStr)| match learned.fill(&Value::String(value.clone())).0 {
        Value::String(value) => (name.clone(), value),
        _ => (name.clone(), value.clone()),
    };
    let secrets: BTreeMap<SmolStr, SmolStr> = start.secrets.iter().map(text).collect();
    Start { input: learned.fill_object(&start.input).0, secrets, ..start.clone() }
}

fn repeats(workflow: &Workflow) -> Vec<(&SmolStr, &Expr, &[Step])> {
    let mut found = Vec::new();
    steps::each(&workflow.steps, &mut |step, _| {
        if let StepKind::Repeat { until, steps, .. } = &step.kind {
            found.push((&step.id, until, steps.as_slice()));
        }
    });
    found
}

struct Trying<'t, 'r> {
    verdict: &'t mut Verdict,
    left: &'t mut usize,
    run: &'t Run<'r>,
    learned: &'t Learned,
    secrets: &'t [SmolStr],
    /// How many worlds were not tried because enough was.
    skipped: usize,
}

impl Trying<'_, '_> {
    /// Tries a world in which the workflow is run about `runs` times.
    fn world(&mut self, world: &str, runs: usize, attempt: impl FnOnce() -> Tried) {
        let cost = self.run.script.calls.len().saturating_add(1).saturating_mul(runs);
        if cost > *self.left {
            self.skipped += 1;
            return;
        }
        match attempt() {
            Tried::Same => return,
            Tried::Not(why) => return self.not(world, why),
            Tried::Passed => self.verdict.counterfactual.passed += 1,
            Tried::Failed(diagnostics) => {
                let learned = self.learned;
                let (run, secrets) = (self.run, self.secrets);
                let placed = |mut d: crate::diagnostics::Diagnostic| {
                    d.place = run.placed(&d.place);
                    d.renamed(|text| learned.hide(text, secrets))
                };
                self.verdict.diagnostics.extend(diagnostics.into_iter().map(placed));
            }
        }
        *self.left -= cost;
        self.verdict.counterfactual.tried += 1;
    }

    fn finish(self) {
        if self.skipped > 0 {
            let world = self.run.placed(&format!("{} more", super::count(self.skipped, "world")));
            self.verdict.not_tried.push(NotTried { world, why: "the recording is so long that enough was tried".to_owned() });
        }
    }

    fn not(&mut self, world: &str, why: String) {
        self.verdict.not_tried.push(NotTried { world: self.run.placed(world), why });
    }
}

#[cfg(test)]
mod tests;
