//! What happened in each round of each loop when a workflow was run in the world of its recording.
//!
//! A run makes its effects known, but not which item a round of a `for` is about. So the workflow is run with a probe at the head of each
//! loop's body: a call to a server that no workflow can name, with the item as its argument. It changes nothing else.

use super::hashes;
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey, World, run_in};
use ltc_workflow::document::{Case, Catch, Step, StepKind};
use ltc_workflow::expr::Expr;
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value, Workflow};
use rustc_hash::FxHashMap;
use smol_str::{SmolStr, format_smolstr};

const PROBE: &str = "\u{0}probe";
const ITEM: &str = "item";

/// `workflow` with a probe in each loop.
pub fn with_probes(workflow: &Workflow) -> Workflow {
    Workflow { steps: workflow.steps.iter().map(probed).collect(), ..workflow.clone() }
}

fn probed(step: &Step) -> Step {
    let all = |steps: &[Step]| steps.iter().map(probed).collect::<Vec<Step>>();
    let behind = |probe: Step, steps: &[Step]| std::iter::once(probe).chain(steps.iter().map(probed)).collect::<Vec<Step>>();
    let kind = match &step.kind {
        StepKind::For { each, list, test, at_once, gather, steps } => StepKind::For {
            each: each.clone(),
            list: list.clone(),
            test: test.clone(),
            at_once: *at_once,
            gather: gather.clone(),
            steps: behind(probe(Some(each)), steps),
        },
        StepKind::Repeat { until, every, at_most, gather, steps } => StepKind::Repeat {
            until: until.clone(),
            every: *every,
            at_most: *at_most,
            gather: gather.clone(),
            steps: behind(probe(None), steps),
        },
        StepKind::Switch { cases } => {
            StepKind::Switch { cases: cases.iter().map(|case| Case { when: case.when.clone(), steps: all(&case.steps) }).collect() }
        }
        StepKind::Parallel { branches } => StepKind::Parallel { branches: branches.iter().map(|branch| all(branch)).collect() },
        StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Wait { .. } | StepKind::Set { .. } | StepKind::Run { .. } => {
            step.kind.clone()
        }
    };
    let catch = step.catch.as_ref().map(|catch| Catch { when: catch.when.clone(), steps: all(&catch.steps) });
    Step { kind, catch, ..step.clone() }
}

fn probe(item: Option<&SmolStr>) -> Step {
    let with = item.map(|name| (SmolStr::new_static(ITEM), Template::Expr(Expr::Name(name.clone())))).into_iter().collect();
    let kind = StepKind::Call { server: SmolStr::new_static(PROBE), tool: SmolStr::new_static(PROBE), with };
    Step::new(SmolStr::new_static(PROBE), kind)
}

/// The start of a round: which, and its item in a `for`.
#[derive(Clone, Debug)]
pub struct Round {
    /// The loop's key: `outer[1]/inner`.
    pub of: SmolStr,
    /// The index in the key.
    pub index: usize,
    /// The item; `None` in a `repeat`.
    pub item: Option<Value>,
}

impl Round {
    /// The round that a call is the probe of.
    pub fn of_probe(key: &StepKey, server: &str, arguments: &Object) -> Option<Round> {
        if server != PROBE {
            return None;
        }
        let (of, index) = key.0.strip_suffix(PROBE)?.strip_suffix("]/")?.rsplit_once('[')?;
        Some(Round { of: SmolStr::new(of), index: index.parse().ok()?, item: arguments.get(ITEM).cloned() })
    }

    /// What the keys of the steps in the round begin with.
    pub fn prefix(&self) -> SmolStr {
        format_smolstr!("{}[{}]/", self.of, self.index)
    }
}

/// A key's part up to the step's own id, and that id: `outer[1]/` and `inner`.
pub fn split(key: &str) -> (&str, &str) {
    match key.rfind('/') {
        Some(at) => key.split_at(at + 1),
        None => ("", key),
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A round began.
    Round(Round),
    /// A call was made, which is the recorded one of that index.
    Call(StepKey, usize),
}

/// A run in the world of the recording, seen from inside.
#[derive(Debug, Default)]
pub struct Observed {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// For the key of a step: the recorded call.
    pub calls: FxHashMap<SmolStr, usize>,
    /// For the key of a loop: its rounds, by their index.
    pub loops: FxHashMap<SmolStr, Vec<Seen>>,
    /// The keys of the loops, in order.
    pub loop_keys: Vec<SmolStr>,
}

/// A round of a loop.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its index.
    pub index: usize,
    /// Its item, and the hash of it.
    pub item: Option<(Value, u64)>,
}

/// Runs a workflow with probes; `calls` says which recorded call each key is.
pub fn observe(probed: &Workflow, start: &Start, calls: FxHashMap<SmolStr, usize>, value: &dyn Fn(usize) -> Option<Value>) -> Observed {
    let mut world = Observing { calls: &calls, value, events: Vec::new() };
    // The run was seen to be as recorded, so how it ends is known.
    let _ = run_in(probed, start, &mut world);
    let mut observed = Observed { events: world.events, ..Observed::default() };
    for event in &observed.events {
        if let Event::Round(round) = event {
            if !observed.loops.contains_key(&round.of) {
                observed.loop_keys.push(round.of.clone());
            }
            let item = round.item.clone().map(|item| {
                let hash = hashes::of(&item);
                (item, hash)
            });
            observed.loops.entry(round.of.clone()).or_default().push(Seen { index: round.index, item });
        }
    }
    observed.calls = calls;
    observed
}

struct Observing<'o> {
    calls: &'o FxHashMap<SmolStr, usize>,
    value: &'o dyn Fn(usize) -> Option<Value>,
    events: Vec<Event>,
}

impl World for Observing<'_> {
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended {
        let Effect::Call { server, arguments, .. } = effect else { return Ended::Succeeded(Value::Null) };
        if let Some(round) = Round::of_probe(key, &server, &arguments) {
            self.events.push(Event::Round(round));
            return Ended::Succeeded(Value::Null);
        }
        match self.calls.get(&key.0).and_then(|call| Some((*call, (self.value)(*call)?))) {
            Some((call, value)) => {
                self.events.push(Event::Call(key.clone(), call));
                Ended::Succeeded(value)
            }
            None => Ended::Failed(Failure { code: SmolStr::new_static("not-recorded"), message: String::new(), step: Some(key.clone()) }),
        }
    }
}
