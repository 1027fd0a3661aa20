//! A world like the recorded one, with a change in it: a list that is longer, a page that is missing.
//!
//! In such a world the calls cannot be looked up by their arguments, as other arguments are right. They are looked up by their place: a step in
//! a round of a loop is answered as it was in the recorded round about the same item. A round about an item that is a copy of a recorded
//! one, with ids of its own, gets copies of what the recorded round got. Where no recorded round is about such an item, or a step is reached
//! that was not reached there, the world has no answer, and nothing is said of the workflow.

use super::census::{Census, Home};
use super::differ;
use super::hashes;
use super::observe::{Observed, Round, split};
use super::tokens::{self, Renaming};
use crate::script::Script;
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey, World, run_in};
use ltc_workflow::{Object, Value, Workflow};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::{SmolStr, format_smolstr};

/// What is different.
#[derive(Default)]
pub struct Change {
    /// The input, where it is.
    pub input: Option<Object>,
    /// The results of recorded calls that are.
    pub results: FxHashMap<usize, Value>,
    /// The names in the copies.
    pub copies: Renaming,
    /// For the key of a `repeat`: which recorded round each round is, and whether it is a copy of that.
    pub rounds: FxHashMap<SmolStr, Vec<(usize, bool)>>,
}

/// What happened in a changed world.
pub struct Lived {
    /// How many rounds each loop had, by its key.
    pub rounds: FxHashMap<SmolStr, usize>,
    /// For what the keys of a round's steps begin with: the recorded round.
    pub contexts: FxHashMap<SmolStr, Context>,
    /// Recorded values that nothing in this world had shown.
    pub leaks: Vec<Leak>,
    /// Steps whose arguments are not those of the recorded call.
    pub others: Vec<StepKey>,
    /// How it ended.
    pub ending: Ending,
}

/// How a run in a changed world ended.
#[derive(Debug)]
pub enum Ending {
    /// As runs should.
    Done,
    /// Where this world has no answer, with the reason.
    Stuck(String),
    /// With a failure of the workflow.
    Failed(Failure),
}

/// A recorded value that nothing had shown.
#[derive(Debug)]
pub struct Leak {
    /// The step; `None` for the output.
    pub step: Option<StepKey>,
    /// Where.
    pub pointer: String,
    /// The value.
    pub token: SmolStr,
}

/// The recorded round that a round is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// What the keys of its steps begin with.
    pub model: SmolStr,
    /// Whether the round is about a copy.
    pub is_copy: bool,
}

/// What all changed worlds of a run have in common.
pub struct Ground<'g> {
    /// The workflow, with probes.
    pub probed: &'g Workflow,
    /// The recording.
    pub script: &'g Script,
    /// What happened in the recorded world.
    pub observed: &'g Observed,
    /// Which values the recording hands on.
    pub census: &'g Census,
    /// How the run began.
    pub start: &'g Start,
}

/// Runs the workflow in a changed world.
pub fn live(ground: &Ground, change: &Change) -> Lived {
    let start = Start { input: change.input.clone().unwrap_or_else(|| ground.start.input.clone()), ..ground.start.clone() };
    let mut world = Changed {
        ground,
        change,
        shown: vec![false; ground.script.calls.len()],
        copied: vec![false; ground.script.calls.len()],
        extra: FxHashSet::default(),
        taken: FxHashMap::default(),
        copies: FxHashMap::default(),
        stuck: None,
        lived: Lived {
            rounds: FxHashMap::default(),
            contexts: FxHashMap::from_iter([(SmolStr::default(), Context::default())]),
            leaks: Vec::new(),
            others: Vec::new(),
            ending: Ending::Done,
        },
    };
    start.input.iter().for_each(|(_, value)| world.show(value));
    let output = run_in(ground.probed, &start, &mut world);
    match (world.stuck.take(), output) {
        (Some(why), _) => world.lived.ending = Ending::Stuck(why),
        (None, Err(failure)) => world.lived.ending = Ending::Failed(failure),
        (None, Ok(output)) => world.look_for_leaks(None, "", &output),
    }
    world.lived
}

struct Changed<'c, 'g> {
    ground: &'c Ground<'g>,
    change: &'c Change,
    /// Per recorded call: whether its result was given as it was.
    shown: Vec<bool>,
    /// Per recorded call: whether a copy of its result was given.
    copied: Vec<bool>,
    /// The recorded values in what was given changed.
    extra: FxHashSet<SmolStr>,
    /// Per loop: how many rounds were about each recorded item.
    taken: FxHashMap<(SmolStr, usize), usize>,
    /// Per recorded loop: the hashes of the copies of its items.
    copies: FxHashMap<SmolStr, FxHashMap<u64, usize>>,
    stuck: Option<String>,
    lived: Lived,
}

impl World for Changed<'_, '_> {
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended {
        match effect {
            Effect::Sleep(_) | Effect::Escalate { .. } => Ended::Succeeded(Value::Null),
            Effect::Run { workflow, .. } => self.stick(key, format!("the workflow runs {workflow}")),
            Effect::Call { server, tool, arguments, .. } => match Round::of_probe(key, &server, &arguments) {
                Some(round) => self.round(key, round),
                None => self.call(key, &tool, arguments),
            },
        }
    }
}

impl Changed<'_, '_> {
    /// The world has no answer.
    fn stick(&mut self, key: &StepKey, why: String) -> Ended {
        self.stuck.get_or_insert(why);
        Ended::Failed(Failure { code: SmolStr::new_static("not-recorded"), message: String::new(), step: Some(key.clone()) })
    }

    fn round(&mut self, key: &StepKey, round: Round) -> Ended {
        let (prefix, id) = split(&round.of);
        let Some(outer) = self.lived.contexts.get(prefix).cloned() else {
            return self.stick(key, format!("no recorded round is like the one around `{id}`"));
        };
        let model = format_smolstr!("{}{id}", outer.model);
        let count = self.lived.rounds.entry(round.of.clone()).or_default();
        *count += 1;
        let at = *count - 1;
        let found = match &round.item {
            Some(item) => self.about(&model, &round.of, item),
            None => match self.change.rounds.get(&model) {
                Some(rounds) => rounds.get(at).copied(),
                None => self.ground.observed.loops.get(&model).and_then(|rounds| rounds.get(at)).map(|seen| (seen.index, false)),
            },
        };
        let Some((index, is_copy)) = found else {
            return self.stick(key, format!("no recorded round of `{id}` is like round {}", at + 1));
        };
        let context = Context { model: format_smolstr!("{model}[{index}]/"), is_copy: is_copy || outer.is_copy };
        self.lived.contexts.insert(round.prefix(), context);
        Ended::Succeeded(Value::Null)
    }

    /// The recorded round about `item`, or about what it is a copy of. Of several, one that was not taken yet.
    fn about(&mut self, model: &SmolStr, of: &SmolStr, item: &Value) -> Option<(usize, bool)> {
        let seen = self.ground.observed.loops.get(model)?;
        let hash = hashes::of(item);
        let same = seen.iter().filter(|s| s.item.as_ref().is_some_and(|(other, h)| *h == hash && other == item));
        let mut first = None;
        for candidate in same {
            first.get_or_insert(candidate.index);
            let taken = self.taken.entry((of.clone(), candidate.index)).or_default();
            if *taken == 0 {
                *taken += 1;
                return Some((candidate.index, false));
            }
        }
        if let Some(first) = first {
            return Some((first, false));
        }
        let renaming = &self.change.copies;
        let copies = self.copies.entry(model.clone()).or_insert_with(|| {
            let copy = |s: &super::observe::Seen| Some((hashes::of(&renaming.value(&s.item.as_ref()?.0)?), s.index));
            seen.iter().filter_map(copy).collect()
        });
        copies.get(&hash).map(|index| (*index, true))
    }

    fn call(&mut self, key: &StepKey, tool: &str, arguments: Object) -> Ended {
        let (prefix, id) = split(&key.0);
        let context = self.lived.contexts.get(prefix).cloned();
        let call =
            context.as_ref().and_then(|context| self.ground.observed.calls.get(format_smolstr!("{}{id}", context.model).as_str()).copied());
        let act = call.and_then(|call| self.ground.script.calls.get(call));
        let (Some(context), Some(call), Some(act)) = (context, call, act) else {
            return self.stick(key, format!("the recording does not show what {tool} answers in step `{id}` there"));
        };
        if act.arguments != arguments {
            self.lived.others.push(key.clone());
        }
        let mut pointer = String::new();
        for (name, value) in arguments.iter() {
            differ::inside(&mut pointer, name, |pointer| self.look_for_leaks(Some(key), pointer, value));
        }
        let value = match self.change.results.get(&call) {
            Some(value) => {
                let value = value.clone();
                self.show(&value);
                value
            }
            None => act.value.clone(),
        };
        let is_changed = self.change.results.contains_key(&call);
        let flags = if context.is_copy { &mut self.copied } else { &mut self.shown };
        if let Some(flag) = flags.get_mut(call).filter(|_| !is_changed) {
            *flag = true;
        }
        Ended::Succeeded(if context.is_copy { self.change.copies.value(&value).unwrap_or(value) } else { value })
    }

    /// Notes the recorded values in something that is given changed.
    fn show(&mut self, value: &Value) {
        let extra = &mut self.extra;
        self.ground.census.each(value, &mut |token| {
            extra.insert(token);
        });
    }

    fn look_for_leaks(&mut self, step: Option<&StepKey>, pointer: &str, value: &Value) {
        let mut found = None;
        self.ground.census.each(value, &mut |token| {
            if found.is_none() && !self.was_shown(&token) {
                found = Some(token);
            }
        });
        if let Some(token) = found {
            self.lived.leaks.push(Leak { step: step.cloned(), pointer: pointer.to_owned(), token });
        }
    }

    /// Whether something in this world has shown a recorded value.
    fn was_shown(&self, token: &str) -> bool {
        let flagged = |flags: &Vec<bool>, call: &usize| flags.get(*call) == Some(&true);
        self.extra.contains(token)
            || self.ground.census.homes(token).iter().any(|home| match home {
                Home::Input => false,
                Home::Call(call) => flagged(&self.shown, call) || (flagged(&self.copied, call) && !self.change.copies.renames(token)),
            })
    }
}

/// Sees the tokens in a value that are among `own`.
pub fn holds(value: &Value, own: &FxHashSet<SmolStr>) -> bool {
    let mut found = false;
    if !own.is_empty() {
        tokens::each(value, &mut |token| found |= own.contains(&token));
    }
    found
}
