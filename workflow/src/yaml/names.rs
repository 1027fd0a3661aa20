//! Which names an expression may use at a place of the document.

use super::tree::{Content, Node, did_you_mean};
use crate::expr::names::Reference;
use crate::expr::parse::ROOTS;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The names that are known at the place that is being read.
#[derive(Default)]
pub(super) struct Names {
    pub inputs: BTreeSet<SmolStr>,
    pub secrets: BTreeSet<SmolStr>,
    /// Steps that are visible here.
    pub steps: Visible,
    /// Every step of the document.
    pub all_steps: BTreeSet<SmolStr>,
    /// Variables of the loops around.
    pub variables: Vec<SmolStr>,
    /// Steps whose value in the round before is visible.
    pub previous: Vec<SmolStr>,
    /// How many loops are around, of which kind does not matter.
    pub loops: usize,
    /// How many `repeat`s are around.
    pub repeats: usize,
    /// How many `catch`es are around.
    pub catches: usize,
    /// Whether this is a `fail_when`, which sees the result of its call.
    pub result: bool,
}

/// Steps that are visible, in the order of the document, found without looking through all of them.
#[derive(Default)]
pub(super) struct Visible {
    order: Vec<SmolStr>,
    /// How often each is there; more than once is a mistake that is reported elsewhere.
    counts: BTreeMap<SmolStr, usize>,
}

impl Visible {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn extend(&mut self, ids: impl IntoIterator<Item = SmolStr>) {
        for id in ids {
            *self.counts.entry(id.clone()).or_default() += 1;
            self.order.push(id);
        }
    }

    /// Takes away, and gives, what became visible behind the first `length`.
    pub(super) fn split_off(&mut self, length: usize) -> Vec<SmolStr> {
        let gone = self.order.split_off(length.min(self.order.len()));
        for id in &gone {
            if let Some(count) = self.counts.get_mut(id) {
                *count -= 1;
            }
        }
        gone
    }

    fn contains(&self, id: &SmolStr) -> bool {
        self.counts.get(id).is_some_and(|count| *count > 0)
    }
}

/// Why a name cannot be used.
pub(super) struct Doubt {
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
}

fn doubt(code: &'static str, message: String, help: Option<String>) -> Option<Doubt> {
    Some(Doubt { code, message, help })
}

fn strings<'s>(names: impl IntoIterator<Item = &'s SmolStr>) -> impl Iterator<Item = &'s str> {
    names.into_iter().map(SmolStr::as_str)
}

impl Names {
    /// What is wrong with a reference here, if anything.
    pub(super) fn doubt(&self, reference: &Reference) -> Option<Doubt> {
        match reference {
            Reference::Name(name) => self.doubt_name(name),
            Reference::Member(root, key) => self.doubt_member(root, key),
        }
    }

    fn doubt_name(&self, name: &SmolStr) -> Option<Doubt> {
        match name.as_str() {
            "inputs" | "run" => None,
            "loop" if self.loops > 0 => None,
            "error" if self.catches > 0 => None,
            "result" if self.result => None,
            "loop" | "error" | "result" => self.out_of_place(name),
            "steps" | "secrets" | "previous" => {
                doubt("unknown-name", format!("`{name}` is no value itself"), Some(format!("write `{name}.` and a name")))
            }
            _ if self.variables.contains(name) => None,
            _ => {
                let help = if self.steps.contains(name) {
                    Some(format!("a step's value is written `{}`", member("steps", name)))
                } else if self.inputs.contains(name) {
                    Some(format!("an input is written `{}`", member("inputs", name)))
                } else {
                    did_you_mean(name, strings(&self.variables).chain(ROOTS.iter().copied()))
                };
                doubt("unknown-name", format!("the name `{name}` is not known here"), help)
            }
        }
    }

    fn out_of_place(&self, name: &str) -> Option<Doubt> {
        let place = match name {
            "loop" => "a `for` or a `repeat`",
            "previous" => "a `repeat`",
            "result" => "a `fail_when`",
            _ => "a `catch`",
        };
        doubt("unknown-name", format!("`{name}` is only known inside {place}"), None)
    }

    fn doubt_member(&self, root: &SmolStr, key: &SmolStr) -> Option<Doubt> {
        let one_of = |known: &[&str]| {
            let help = Some(format!("it has {}", known.join(", ")));
            if known.contains(&key.as_str()) { None } else { doubt("unknown-name", format!("`{root}` has no `{key}`"), help) }
        };
        match root.as_str() {
            "inputs" if self.inputs.contains(key) => None,
            "inputs" => doubt("unknown-input", format!("there is no input `{key}`"), suggest("inputs", key, strings(&self.inputs))),
            "secrets" if self.secrets.contains(key) => None,
            "secrets" => {
                let help = suggest("secrets", key, strings(&self.secrets)).or_else(|| Some("list it under `secrets`".to_string()));
                doubt("unknown-secret", format!("there is no secret `{key}`"), help)
            }
            "steps" if self.steps.contains(key) => None,
            "steps" => self.doubt_step(key),
            "previous" if self.repeats == 0 => self.out_of_place(root),
            "previous" if self.previous.contains(key) => None,
            "previous" => {
                let help = suggest("previous", key, strings(&self.previous));
                doubt("unknown-step", format!("the `repeat` has no step `{key}`"), help)
            }
            "run" => one_of(&["started_at", "id"]),
            "loop" if self.loops > 0 => one_of(&["index"]),
            "error" if self.catches > 0 => one_of(&["code", "message", "step"]),
            "result" if self.result => None,
            _ => self.out_of_place(root),
        }
    }

    fn doubt_step(&self, key: &SmolStr) -> Option<Doubt> {
        if self.all_steps.contains(key) {
            let message = format!("the step `{key}` has no value here");
            let help =
                "a step is seen by those behind it; one in a loop only inside of that loop, one in a branch not by its sibling branches";
            return doubt("unknown-step", message, Some(help.to_string()));
        }
        let help = suggest("steps", key, strings(&self.steps.order)).or_else(|| {
            let id = self.steps.order.iter().rev().find(|id| id.contains('-') && id.starts_with(key.as_str()))?;
            Some(format!("a name with `-` is written `{}`", member("steps", id)))
        });
        doubt("unknown-step", format!("there is no step `{key}`"), help)
    }
}

/// `root.key`, or `root['odd-key']`.
fn member(root: &str, key: &str) -> String {
    crate::expr::Expr::name(root).key(key).to_string()
}

fn suggest<'c>(root: &str, key: &str, known: impl Iterator<Item = &'c str>) -> Option<String> {
    crate::nearest::nearest(key, known).map(|near| format!("the nearest known one is `{}`", member(root, near)))
}

/// The ids of all steps below a list of steps.
pub(super) fn all_ids(steps: &Node, ids: &mut BTreeSet<SmolStr>) {
    visit(steps, true, &mut |id| {
        ids.insert(id.clone());
    });
}

/// The ids that are visible behind a list of steps: also those in branches, not those in loops.
pub(super) fn visible_ids(steps: &Node) -> Vec<SmolStr> {
    let mut ids = Vec::new();
    visit(steps, false, &mut |id| ids.push(id.clone()));
    ids
}

fn visit(steps: &Node, into_loops: bool, found: &mut dyn FnMut(&SmolStr)) {
    let Content::List(steps) = &steps.content else { return };
    for step in steps {
        let Content::Map(entries) = &step.content else { continue };
        for entry in entries {
            match (entry.key.as_str(), &entry.value.content) {
                ("id", Content::Scalar(scalar)) => found(&scalar.text),
                ("steps", _) if into_loops => visit(&entry.value, into_loops, found),
                ("switch" | "parallel", Content::List(branches)) => {
                    branches.iter().for_each(|branch| visit_inner(branch, into_loops, found));
                }
                ("catch", _) => visit_inner(&entry.value, into_loops, found),
                _ => {}
            }
        }
    }
}

fn visit_inner(node: &Node, into_loops: bool, found: &mut dyn FnMut(&SmolStr)) {
    if let Content::Map(entries) = &node.content {
        entries.iter().filter(|e| e.key == "steps").for_each(|e| visit(&e.value, into_loops, found));
    }
}
