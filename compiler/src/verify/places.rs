//! The lists that a workflow goes through, as places in inputs and results: where a list would have to be longer or shorter for the workflow to
//! do more or less.
//!
//! Before: `for: { each: page, in: "${{ filter(steps.list.pages, p, p.open) }}" }`. After: the place `steps.list.pages`. A list that is computed in a
//! way that cannot be gone back (`split`, `concat`, the values of an object) has no place.

use crate::steps::{self, Part};
use ltc_workflow::Workflow;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::{BinaryOp, Expr, Function, OverFunction};
use ltc_workflow::template::Template;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt;

/// Where lists stand.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// In what.
    pub root: Root,
    /// The way to them.
    pub ways: Vec<Way>,
    /// Where the lists are put together to one: the loop that gathers them, or the value itself.
    pub joined: Option<Joined>,
}

/// What a list stands in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// The input.
    Input,
    /// The results of a step.
    Step(SmolStr),
}

/// A step on the way to a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Into an object.
    Key(SmolStr),
    /// Into each item of a list.
    Every,
    /// Into a text that is JSON.
    Json,
}

/// What puts lists together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Joined {
    /// A loop that gathers one in each round.
    Loop(SmolStr),
    /// An expression over one value.
    Value,
}

/// What a list is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// Lists in an input or in results.
    Place(Place),
    /// The rounds of an earlier loop.
    Rounds(SmolStr),
    /// Nothing that could be changed.
    None(String),
}

/// What a workflow does with the lists at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// It goes through them, in a loop or in an expression.
    pub iterated: bool,
    /// It picks an item by what is in it.
    pub picked: bool,
    /// It takes an item by its position.
    pub by_position: bool,
}

/// The lists of a workflow.
#[derive(Debug, Default)]
pub struct Lists {
    /// For each `for`, by its id: what its list is made from.
    pub loops: BTreeMap<SmolStr, Base>,
    /// The places, with what is done there.
    pub places: BTreeMap<Place, Uses>,
}

/// Finds the lists of a workflow.
pub fn lists(workflow: &Workflow) -> Lists {
    let mut known = BTreeMap::new();
    steps::each(&workflow.steps, &mut |step, around| drop(known.insert(step.id.clone(), Known { step, around: around.to_vec() })));
    let finder = Finder { known };
    let mut lists = Lists::default();
    let mut rounds_by_position: Vec<SmolStr> = Vec::new();
    let mut note = |base: &Base, note: fn(&mut Uses)| match base {
        Base::Place(place) => note(lists.places.entry(place.clone()).or_default()),
        Base::Rounds(id) => {
            let mut uses = Uses::default();
            note(&mut uses);
            if uses.by_position {
                rounds_by_position.push(id.clone());
            }
        }
        Base::None(_) => {}
    };
    let mut each = |part: Part, around: &[&Step]| {
        let variables = variables(around);
        steps::each_expr(part, &mut |expr| match expr {
            Expr::Over { function, list, .. } => {
                let picks = matches!(function, OverFunction::MinBy | OverFunction::MaxBy);
                note(&finder.list(list, &variables), if picks { |u| u.picked = true } else { |u| u.iterated = true });
            }
            Expr::Pick { list, .. } => note(&finder.list(list, &variables), |u| u.picked = true),
            Expr::Index(list, _) => note(&finder.list(list, &variables), |u| u.by_position = true),
            Expr::Call(Function::First | Function::Last, arguments) => {
                arguments.iter().for_each(|list| note(&finder.list(list, &variables), |u| u.by_position = true));
            }
            Expr::Literal(_)
            | Expr::Name(_)
            | Expr::Key(..)
            | Expr::Call(..)
            | Expr::Not(_)
            | Expr::Binary(..)
            | Expr::List(_)
            | Expr::Record(_)
            | Expr::Omit => {}
        });
    };
    steps::each(&workflow.steps, &mut |step, around| {
        // What a loop gathers sees its item; its list does not, but no list can name it.
        let inside: Vec<&Step> = around.iter().copied().chain([step]).collect();
        steps::parts(step).into_iter().for_each(|part| each(part, &inside));
    });
    workflow.output.iter().for_each(|output| each(Part::Template(output), &[]));
    steps::each(&workflow.steps, &mut |step, around| {
        if let StepKind::For { list, .. } = &step.kind {
            let base = finder.list(list, &variables(around));
            note(&base, |u| u.iterated = true);
            lists.loops.insert(step.id.clone(), base);
        }
    });
    // What is taken from the first round of a loop is taken from the first item of its list.
    while let Some(id) = rounds_by_position.pop() {
        match lists.loops.get(&id) {
            Some(Base::Place(place)) => lists.places.entry(place.clone()).or_default().by_position = true,
            Some(Base::Rounds(earlier)) if *earlier != id => rounds_by_position.push(earlier.clone()),
            Some(Base::Rounds(_) | Base::None(_)) | None => {}
        }
    }
    // Lists that are put together elsewhere are the same lists.
    let by_position: Vec<Place> = lists.places.iter().filter(|(_, uses)| uses.by_position).map(|(place, _)| place.clone()).collect();
    for (place, uses) in &mut lists.places {
        uses.by_position |= by_position.iter().any(|other| other.root == place.root && other.ways == place.ways);
    }
    lists
}

/// A variable and the list that it goes through.
type Variables<'w> = Vec<(&'w SmolStr, &'w Expr)>;

fn variables<'w>(around: &[&'w Step]) -> Variables<'w> {
    let variable = |step: &&'w Step| match &step.kind {
        StepKind::For { each, list, .. } => Some((each, list)),
        StepKind::Call { .. }
        | StepKind::Repeat { .. }
        | StepKind::Switch { .. }
        | StepKind::Parallel { .. }
        | StepKind::Escalate { .. }
        | StepKind::Wait { .. }
        | StepKind::Set { .. }
        | StepKind::Run { .. } => None,
    };
    around.iter().filter_map(variable).collect()
}

struct Known<'w> {
    step: &'w Step,
    around: Vec<&'w Step>,
}

struct Finder<'w> {
    known: BTreeMap<SmolStr, Known<'w>>,
}

/// A way to a value.
struct Found {
    root: Root,
    ways: Vec<Way>,
}

impl Found {
    fn then(mut self, way: Way) -> Found {
        self.ways.push(way);
        self
    }
}

const UNKNOWN: &str = "the list is computed in a way that cannot be gone back";

impl<'w> Finder<'w> {
    fn list(&self, expr: &'w Expr, variables: &Variables<'w>) -> Base {
        match expr {
            Expr::Over { function: OverFunction::Filter | OverFunction::SortBy | OverFunction::Map, list, .. } => {
                self.list(list, variables)
            }
            Expr::Call(Function::Reverse | Function::Unique, arguments) => match arguments.first() {
                Some(list) => self.list(list, variables),
                None => Base::None(UNKNOWN.to_owned()),
            },
            Expr::Call(Function::Flatten, arguments) => match arguments.first() {
                Some(lists) => self.joined(lists, variables),
                None => Base::None(UNKNOWN.to_owned()),
            },
            Expr::Binary(BinaryOp::Coalesce, list, _) => self.list(list, variables),
            Expr::Key(base, id) if **base == Expr::name("steps") && self.gathers(id) => Base::Rounds(id.clone()),
            other => match self.value(other, variables) {
                Some(value) => Base::Place(Place { root: value.root, ways: value.ways, joined: None }),
                None => Base::None(UNKNOWN.to_owned()),
            },
        }
    }

    /// A list of lists, put together.
    fn joined(&self, lists: &'w Expr, variables: &Variables<'w>) -> Base {
        let (inner, joined) = match lists {
            Expr::Key(base, id) if **base == Expr::name("steps") && self.gathers(id) => (self.gathered(id), Joined::Loop(id.clone())),
            Expr::Over { function: OverFunction::Map, list, name, body } => {
                let mut variables = variables.clone();
                variables.push((name, list));
                (self.value(body, &variables), Joined::Value)
            }
            other => (self.value(other, variables).map(|value| value.then(Way::Every)), Joined::Value),
        };
        match inner {
            Some(value) => Base::Place(Place { root: value.root, ways: value.ways, joined: Some(joined) }),
            None => Base::None(UNKNOWN.to_owned()),
        }
    }

    fn gathers(&self, id: &str) -> bool {
        matches!(
            self.known.get(id).map(|k| &k.step.kind),
            Some(StepKind::For { gather: Some(_), .. } | StepKind::Repeat { gather: Some(_), .. })
        )
    }

    /// What a loop gathers in each round, where it is one value.
    fn gathered(&self, id: &str) -> Option<Found> {
        let known = self.known.get(id)?;
        match &known.step.kind {
            StepKind::For { gather: Some(Template::Expr(expr)), .. } | StepKind::Repeat { gather: Some(Template::Expr(expr)), .. } => {
                let inside: Vec<&Step> = known.around.iter().copied().chain([known.step]).collect();
                self.value(expr, &variables(&inside))
            }
            StepKind::For { .. }
            | StepKind::Repeat { .. }
            | StepKind::Call { .. }
            | StepKind::Switch { .. }
            | StepKind::Parallel { .. }
            | StepKind::Escalate { .. }
            | StepKind::Wait { .. }
            | StepKind::Set { .. }
            | StepKind::Run { .. } => None,
        }
    }

    fn value(&self, expr: &'w Expr, variables: &Variables<'w>) -> Option<Found> {
        match expr {
            Expr::Name(name) => {
                let (at, (_, list)) = variables.iter().enumerate().rev().find(|(_, (variable, _))| *variable == name)?;
                let outer: Variables<'w> = variables.iter().take(at).copied().collect();
                self.one(list, &outer)
            }
            Expr::Key(base, key) => match &**base {
                Expr::Name(name) if name == "inputs" => Some(Found { root: Root::Input, ways: vec![Way::Key(key.clone())] }),
                Expr::Name(name) if name == "steps" || name == "previous" => self.step(key),
                base => Some(self.value(base, variables)?.then(Way::Key(key.clone()))),
            },
            Expr::Index(list, _) | Expr::Pick { list, .. } => self.one(list, variables),
            Expr::Over { function: OverFunction::MinBy | OverFunction::MaxBy, list, .. } => self.one(list, variables),
            Expr::Call(Function::First | Function::Last | Function::Only, arguments) => self.one(arguments.first()?, variables),
            Expr::Call(Function::ParseJson, arguments) => Some(self.value(arguments.first()?, variables)?.then(Way::Json)),
            Expr::Binary(BinaryOp::Coalesce, value, _) => self.value(value, variables),
            Expr::Literal(_)
            | Expr::Call(..)
            | Expr::Over { .. }
            | Expr::Not(_)
            | Expr::Binary(..)
            | Expr::List(_)
            | Expr::Record(_)
            | Expr::Omit => None,
        }
    }

    /// Some item of a list: which one does not matter, as the place stands for all of them.
    fn one(&self, list: &'w Expr, variables: &Variables<'w>) -> Option<Found> {
        match self.list(list, variables) {
            Base::Place(place) => Some(Found { root: place.root, ways: place.ways }.then(Way::Every)),
            Base::Rounds(id) => self.gathered(&id),
            Base::None(_) => None,
        }
    }

    fn step(&self, id: &SmolStr) -> Option<Found> {
        match &self.known.get(id)?.step.kind {
            StepKind::Call { .. } => Some(Found { root: Root::Step(id.clone()), ways: Vec::new() }),
            // What the last step of the last round gave.
            StepKind::Repeat { gather: None, steps, .. } => self.step(&steps.last()?.id),
            StepKind::Repeat { .. }
            | StepKind::For { .. }
            | StepKind::Switch { .. }
            | StepKind::Parallel { .. }
            | StepKind::Escalate { .. }
            | StepKind::Wait { .. }
            | StepKind::Set { .. }
            | StepKind::Run { .. } => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Root::Input => f.write_str("inputs")?,
            Root::Step(id) => write!(f, "steps.{id}")?,
        }
        for way in &self.ways {
            match way {
                Way::Key(key) => write!(f, ".{key}")?,
                Way::Every => f.write_str("[]")?,
                Way::Json => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
