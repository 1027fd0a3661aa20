//! Whether a workflow does what was recorded, and would do it with other data.
//!
//! Before: a workflow and the recordings that it was compiled from. After: a verdict. In the *recorded world* each call is answered as it was
//! recorded, and the workflow must make exactly the recorded calls, in an allowed order, and return the recorded output. A workflow that
//! cannot do that is wrong. In *counterfactual worlds* the recording is changed where it might have been different; what the workflow does
//! must change with it. A world that cannot be made for a workflow is told as not tried, never as passed.

mod census;
mod changed;
mod counterfactual;
mod differ;
mod hashes;
mod messages;
mod observe;
mod places;
mod record;
mod recording;
mod renamed;
mod replay;
mod rounds;
mod secrets;
mod sizes;
mod spots;
mod spread;
mod start;
mod tokens;

pub use record::{record, record_traces};

use crate::diagnostics::Diagnostic;
use crate::script::{self, Given, Script};
use crate::trace::Trace;
use ltc_workflow::Value;
use ltc_workflow::advance::Start;
use ltc_workflow::document::Workflow;
use recording::Recording;
use replay::Replay;
use secrets::Learned;
use std::fmt;

/// The code of what is not as recorded.
pub const REPLAY_DIFFERS: &str = "replay-differs";

/// What came out of verifying a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The recorded runs.
    pub recorded: Tally,
    /// The counterfactual worlds that could be made.
    pub counterfactual: Tally,
    /// The counterfactual worlds that could not be made, with the reason.
    pub not_tried: Vec<NotTried>,
    /// What went wrong: errors in the recorded world, questions in counterfactual ones.
    pub diagnostics: Vec<Diagnostic>,
}

/// How many worlds there were, and in how many of them the workflow did what it should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// In how many it did.
    pub passed: usize,
    /// How many there were.
    pub tried: usize,
}

/// A world that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotTried {
    /// Which.
    pub world: String,
    /// Why not.
    pub why: String,
}

/// Verifies `workflow` against recordings of its task. With `partial`, a run that ended in the middle counts up to there.
pub fn verify(workflow: &Workflow, traces: &[Trace], partial: bool) -> Verdict {
    let mut verdict = Verdict::default();
    let mut left = counterfactual::MOST_CALLS;
    for (number, trace) in traces.iter().enumerate() {
        let mut reading = Vec::new();
        let script = script::read(trace, partial, &mut reading);
        verdict.diagnostics.extend(reading.into_iter().filter(|d| d.severity == crate::diagnostics::Severity::Error));
        let starts = start::possible(workflow, &script, number);
        let name = name(trace, number, traces.len());
        let not_taken = script.input.keys().filter(|key| !workflow.inputs.contains_key(key));
        verdict.diagnostics.extend(not_taken.map(|key| messages::input_not_taken(&name, key)));
        verdict.run(&mut left, workflow, &Run { name, script: &script, output: trace.output.as_ref(), may_ask: true }, &starts);
    }
    verdict.finish()
}

/// Verifies what was compiled from `scripts`; `given` says for each what the compiler knows of it.
pub fn verify_compiled(workflow: &Workflow, traces: &[Trace], scripts: &[Script], given: &[Given]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut left = counterfactual::MOST_CALLS;
    for (number, ((trace, script), given)) in traces.iter().zip(scripts).zip(given).enumerate() {
        let start = start::known(workflow, script, &given.input, given.secrets.clone());
        let name = name(trace, number, traces.len());
        verdict.run(&mut left, workflow, &Run { name, script, output: trace.output.as_ref(), may_ask: false }, &[start]);
    }
    verdict.finish()
}

/// A recorded run.
struct Run<'r> {
    name: String,
    script: &'r Script,
    output: Option<&'r Value>,
    /// Whether the workflow may ask a person on the recorded way: somebody may have written that into it, the compiler never does.
    may_ask: bool,
}

impl Run<'_> {
    /// A place in this run, for messages.
    fn placed(&self, place: &str) -> String {
        if self.name.is_empty() { place.to_owned() } else { format!("{}, {place}", self.name) }
    }
}

/// What came out of trying a world.
enum Tried {
    /// The workflow did what it should.
    Passed,
    /// It did not.
    Failed(Vec<Diagnostic>),
    /// The world could not be made.
    Not(String),
    /// The world is one that was tried already.
    Same,
}

/// The name of a recording in messages: nothing where it is the only one.
fn name(trace: &Trace, number: usize, of: usize) -> String {
    match &trace.id {
        _ if of == 1 => String::new(),
        Some(id) => format!("run {} ({id})", number + 1),
        None => format!("run {}", number + 1),
    }
}

impl Verdict {
    fn run(&mut self, left: &mut usize, workflow: &Workflow, run: &Run, starts: &[Start]) {
        let recording = Recording::new(run.script, run.output);
        self.recorded.tried += 1;
        let Some((start, replay)) = best(workflow, &recording, starts) else { return };
        let messages = messages::recorded(workflow, run, &replay);
        self.diagnostics.extend(messages.into_iter().map(|d| d.renamed(|text| replay.learned.hide(text, &workflow.secrets))));
        if replay.breaches.iter().any(|b| messages::is_error(workflow, b)) || !(run.may_ask || replay.asked.is_empty()) {
            let why = "the workflow does not do what was recorded".to_owned();
            self.not_tried.push(NotTried { world: run.placed("counterfactual worlds"), why });
            return;
        }
        self.recorded.passed += 1;
        counterfactual::worlds(self, left, workflow, run, start, &replay);
    }

    fn finish(mut self) -> Verdict {
        self.diagnostics.sort();
        self.diagnostics.dedup();
        self.not_tried.sort();
        self.not_tried.dedup();
        self
    }

    /// Whether every recorded run was replayed exactly.
    pub fn replays(&self) -> bool {
        self.recorded.passed == self.recorded.tried
    }
}

/// The first start from which the run is as recorded; else the one from which least is different.
fn best<'s>(workflow: &Workflow, recording: &Recording, starts: &'s [Start]) -> Option<(&'s Start, Replay)> {
    let mut best: Option<(&Start, Replay)> = None;
    for start in starts {
        let replay = recording.replay(workflow, start, &Learned::knowing(&start.secrets));
        let done = replay.breaches.is_empty();
        if best.as_ref().is_none_or(|(_, b)| replay.breaches.len() < b.breaches.len()) {
            best = Some((start, replay));
        }
        if done {
            break;
        }
    }
    best
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { passed, tried } = self.recorded;
        writeln!(f, "recorded: {passed} of {} exactly as recorded", count(tried, "run"))?;
        let Tally { passed, tried } = self.counterfactual;
        match tried {
            0 => writeln!(f, "counterfactual: no world was tried")?,
            _ => writeln!(f, "counterfactual: {passed} of {} passed", count(tried, "world"))?,
        }
        for NotTried { world, why } in &self.not_tried {
            writeln!(f, "not tried: {world}: {why}")?;
        }
        Ok(())
    }
}

/// `1 run`, `2 runs`.
fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests;
