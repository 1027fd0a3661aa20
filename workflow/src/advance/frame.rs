//! What is visible at a step: the values of the steps before it and the names of the loops around it.

use super::Start;
use crate::expr::eval::{Group, Scope};
use crate::value::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The values of steps by their ids; a step that was skipped has none.
pub(super) type StepValues = BTreeMap<SmolStr, Value>;

/// One level of visibility inside those around it: the workflow's own steps, an iteration, a branch.
pub(super) struct Frame<'f> {
    outer: Option<&'f Frame<'f>>,
    names: Vec<(SmolStr, Value)>,
    previous: Option<&'f StepValues>,
    /// The values of this level's steps so far.
    pub(super) steps: StepValues,
}

impl<'f> Frame<'f> {
    /// The workflow's own level.
    pub(super) fn outermost() -> Frame<'f> {
        Frame { outer: None, names: Vec::new(), previous: None, steps: StepValues::new() }
    }

    /// A level inside this one, with names of its own.
    pub(super) fn inside(&'f self, names: Vec<(SmolStr, Value)>) -> Frame<'f> {
        Frame { outer: Some(self), names, previous: None, steps: StepValues::new() }
    }

    /// The same level, of a round behind the one that left `previous`.
    pub(super) fn after(self, previous: &'f StepValues) -> Frame<'f> {
        Frame { previous: Some(previous), ..self }
    }

    fn levels(&self) -> impl Iterator<Item = &Frame<'f>> {
        std::iter::successors(Some(self), |frame| frame.outer)
    }
}

/// What every step of a run sees.
pub(super) struct Roots<'s> {
    start: &'s Start,
    run: Value,
}

impl<'s> Roots<'s> {
    pub(super) fn new(start: &'s Start) -> Roots<'s> {
        let run = [("started_at", Value::String(start.started_at.clone())), ("id", Value::String(start.id.clone()))];
        Roots { start, run: Value::Object(run.into_iter().collect()) }
    }
}

/// The scope of a step's expressions.
pub(super) struct Here<'h> {
    pub(super) roots: &'h Roots<'h>,
    pub(super) frame: &'h Frame<'h>,
}

impl Scope for Here<'_> {
    fn name(&self, name: &str) -> Option<Value> {
        match name {
            "inputs" => Some(Value::Object(self.roots.start.input.clone())),
            "run" => Some(self.roots.run.clone()),
            _ => self.frame.levels().flat_map(|f| &f.names).find(|(n, _)| n == name).map(|(_, v)| v.clone()),
        }
    }

    fn member(&self, group: Group, key: &str) -> Option<Value> {
        match group {
            Group::Steps => self.frame.levels().find_map(|f| f.steps.get(key)).cloned(),
            Group::Previous => self.frame.levels().find_map(|f| f.previous.and_then(|p| p.get(key))).cloned(),
            Group::Secrets => self.roots.start.secrets.get(key).map(|s| Value::String(s.clone())),
        }
    }
}

/// `loop`, as the body of a loop sees it.
pub(super) fn loop_name(index: usize) -> (SmolStr, Value) {
    (SmolStr::new_static("loop"), Value::Object(Object::from_iter([("index", Value::from(index))])))
}
