//! Which opaque values a recording hands on, and where each was seen first.
//!
//! Before: a script and its workflow. After: for each opaque token that a call was given, that the run returned or that stands in the workflow,
//! the values that held it: the input, or results. What a call was given before any value held it was born there: it is the workflow's to
//! know. So is what the tools' own schemas list.

use super::tokens;
use crate::script::Script;
use crate::steps;
use ltc_workflow::{Object, Value, Workflow};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

/// A value of the recording that can hold a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Home {
    /// The input of the run.
    Input,
    /// The result of a call, by its index.
    Call(usize),
}

/// The opaque tokens that a recording hands on.
#[derive(Debug, Default)]
pub struct Census {
    /// For each token in lower case: what holds it, in the order of the recording.
    homes: FxHashMap<SmolStr, Vec<Home>>,
    /// The tokens, in the order in which they were first used.
    order: Vec<SmolStr>,
}

impl Census {
    /// Takes the census of a run that was given `input`.
    pub fn of(workflow: &Workflow, script: &Script, input: &Object, output: Option<&Value>) -> Census {
        let mut used: FxHashMap<SmolStr, Option<usize>> = FxHashMap::default();
        let mut order: Vec<SmolStr> = Vec::new();
        let mut use_at = |token: SmolStr, call: Option<usize>| {
            used.entry(token).or_insert_with_key(|token| {
                order.push(token.clone());
                call
            });
        };
        for (at, act) in script.calls.iter().enumerate() {
            act.arguments.iter().for_each(|(_, value)| tokens::each(value, &mut |token| use_at(token, Some(at))));
        }
        output.into_iter().for_each(|value| tokens::each(value, &mut |token| use_at(token, None)));
        steps::each_part(workflow, &mut |_, part| {
            steps::each_literal(part, &mut |value| tokens::each(value, &mut |token| use_at(token, None)));
        });
        let mut homes: FxHashMap<SmolStr, Vec<Home>> = FxHashMap::default();
        if used.is_empty() {
            return Census::default();
        }
        let mut hold = |value: &Value, home: Home| {
            tokens::each(value, &mut |token| {
                if used.contains_key(&token) {
                    let known = homes.entry(token).or_default();
                    if known.last() != Some(&home) {
                        known.push(home);
                    }
                }
            });
        };
        // An input that the compiler made of a text in the recording is no source: the recording was not given it.
        let is_made =
            |name: &SmolStr| !script.input.contains_key(name) && workflow.inputs.get(name).is_some_and(|s| s.get("default").is_some());
        input.iter().filter(|(name, _)| !is_made(name)).for_each(|(_, value)| hold(value, Home::Input));
        script.calls.iter().enumerate().for_each(|(at, act)| hold(&act.value, Home::Call(at)));
        let listed = listed(script);
        order.retain(|token| {
            let first = homes.get(token).and_then(|homes| homes.first());
            let keep = first.is_some() && !listed.contains(token) && !is_born(used.get(token).copied().flatten(), first);
            if !keep {
                homes.remove(token);
            }
            keep
        });
        Census { homes, order }
    }

    /// The tokens, in the order in which they were first used.
    pub fn tokens(&self) -> &[SmolStr] {
        &self.order
    }

    /// What holds a token (in lower case); nothing where the recording does not hand it on.
    pub fn homes(&self, token: &str) -> &[Home] {
        self.homes.get(token).map_or(&[], Vec::as_slice)
    }

    /// Whether the recording hands a token (in lower case) on.
    pub fn has(&self, token: &str) -> bool {
        self.homes.contains_key(token)
    }

    /// Takes tokens out: what is to be said of them was said.
    pub fn forget(&mut self, tokens: &FxHashSet<SmolStr>) {
        self.order.retain(|token| !tokens.contains(token) || self.homes.remove(token).is_none());
    }

    /// Sees the tokens in `value` that the recording hands on.
    pub fn each(&self, value: &Value, see: &mut dyn FnMut(SmolStr)) {
        if !self.homes.is_empty() {
            tokens::each(value, &mut |token| {
                if self.has(&token) {
                    see(token);
                }
            });
        }
    }
}

/// Whether a token was used by a call before anything that the call could see held it.
fn is_born(used: Option<usize>, first: Option<&Home>) -> bool {
    match (used, first) {
        (Some(call), Some(Home::Call(home))) => call <= *home,
        (None, _) | (_, Some(Home::Input) | None) => false,
    }
}

/// What the schemas of the tools' arguments list.
fn listed(script: &Script) -> FxHashSet<SmolStr> {
    let mut listed = FxHashSet::default();
    for schema in script.servers.iter().flat_map(|s| &s.tools).filter_map(|tool| tool.input_schema.as_ref()) {
        tokens::each(schema, &mut |token| {
            listed.insert(token);
        });
    }
    listed
}
