//! Names for people: steps are called after their tools, items after their lists. Nothing but `[a-z0-9_-]` comes out of here.

use crate::diagnostics::Diagnostic;
use crate::identifiers::identifier;
use crate::names::{singular, words_as_they_are};
use crate::plan::{Plan, Point, Told};
use crate::region::LoopKind;
use crate::rewrite;
use crate::tree::{BodyId, NodeId, NodeKind, item_named, step_named};
use ltc_workflow::expr::parse::is_variable;
use ltc_workflow::expr::{Expr, OverFunction};
use ltc_workflow::template::Template;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The names of steps and variables.
#[derive(Debug, Default)]
pub struct Names {
    steps: BTreeMap<NodeId, SmolStr>,
    variables: BTreeMap<NodeId, SmolStr>,
    used: BTreeSet<SmolStr>,
    /// The number that comes next for a name that is taken.
    counts: BTreeMap<SmolStr, usize>,
    /// What steps that are no part of the workflow are called in messages.
    left_out: BTreeMap<NodeId, SmolStr>,
}

/// Names everything that is alive, and every list in an expression.
pub fn names(plan: &Plan, alive: &BTreeSet<NodeId>) -> Names {
    let mut names = Names::default();
    name_body(plan, alive, BodyId(0), &mut names);
    for (number, node) in plan.tree.nodes.iter().enumerate() {
        if matches!(node.kind, NodeKind::List { .. }) {
            names.variables.insert(NodeId(number), SmolStr::new("item"));
        }
    }
    for (number, node) in plan.tree.nodes.iter().enumerate() {
        if let NodeKind::Call { tool, .. } = &node.kind
            && !alive.contains(&NodeId(number))
        {
            names.left_out.insert(NodeId(number), SmolStr::new(identifier(tool)));
        }
    }
    let mut lists: Vec<(NodeId, SmolStr)> = Vec::new();
    each_expr(plan, &mut |expr| {
        if let Expr::Over { list, name, .. } = expr
            && let Some(node) = item_named(name)
        {
            lists.push((node, variable_for(list)));
        }
    });
    for (node, variable) in lists {
        let taken = names.variables.iter().any(|(other, name)| {
            *other != node && *name == variable && matches!(plan.tree.node(*other).map(|n| &n.kind), Some(NodeKind::Loop { .. }))
        });
        names.variables.insert(node, if taken { SmolStr::new(format!("each_{variable}")) } else { variable });
    }
    names
}

fn each_expr(plan: &Plan, see: &mut dyn FnMut(&Expr)) {
    for point in plan.points.values() {
        match point {
            Point::Call(with) => with.iter().for_each(|(_, t)| rewrite::each_in(t, see)),
            Point::Each { list, test } => std::iter::once(list).chain(test).for_each(|e| rewrite::each(e, see)),
            Point::Repeat { until, .. } => rewrite::each(until, see),
        }
    }
    plan.output.iter().for_each(|o| rewrite::each_in(o, see));
}

fn name_body(plan: &Plan, alive: &BTreeSet<NodeId>, body: BodyId, names: &mut Names) {
    let nodes = plan.tree.body(body).map(|b| b.nodes.as_slice()).unwrap_or_default();
    for node in nodes.iter().filter(|n| alive.contains(n)) {
        match plan.tree.node(*node).map(|n| &n.kind) {
            Some(NodeKind::Call { tool, .. }) => {
                let id = names.fresh(&identifier(tool));
                names.steps.insert(*node, id);
            }
            Some(NodeKind::Loop { kind, body, .. }) => {
                let inner = last_tool(plan, alive, *body).unwrap_or_else(|| "loop".to_owned());
                let variable = match plan.points.get(node) {
                    Some(Point::Each { list, .. }) => Some(names.fresh_variable(&variable_for(list))),
                    Some(Point::Call(_) | Point::Repeat { .. }) | None => None,
                };
                let id = match (kind, &variable) {
                    (LoopKind::Each, Some(variable)) if !variable.starts_with("item") => format!("each_{variable}"),
                    (LoopKind::Each, _) => format!("{}_each", identifier(&inner)),
                    (LoopKind::Pages, _) => format!("{}_pages", identifier(&inner)),
                    (LoopKind::Poll, _) => format!("{}_poll", identifier(&inner)),
                };
                let id = names.fresh(&id);
                names.steps.insert(*node, id);
                if let Some(variable) = variable {
                    names.variables.insert(*node, variable);
                }
                name_body(plan, alive, *body, names);
            }
            Some(NodeKind::List { .. }) | None => {}
        }
    }
}

/// The tool that a loop is about: that of its last call, or of its first for pages.
fn last_tool(plan: &Plan, alive: &BTreeSet<NodeId>, body: BodyId) -> Option<String> {
    let nodes = &plan.tree.body(body)?.nodes;
    nodes.iter().rev().filter(|n| alive.contains(n)).find_map(|n| match &plan.tree.node(*n)?.kind {
        NodeKind::Call { tool, .. } => Some(tool.to_string()),
        NodeKind::Loop { body, .. } => last_tool(plan, alive, *body),
        NodeKind::List { .. } => None,
    })
}

/// A variable for the items of a list: `pages` gives `page`, `stale` gives `item`.
fn variable_for(list: &Expr) -> SmolStr {
    let key = match list {
        Expr::Key(base, key) if **base != Expr::name("steps") && step_named(key).is_none() && item_named(key).is_none() => Some(key),
        Expr::Over { list, .. } => return variable_for(list),
        Expr::Call(_, arguments) => return arguments.first().map_or_else(|| SmolStr::new("item"), variable_for),
        Expr::Pick { list, .. } | Expr::Index(list, _) => return variable_for(list),
        _ => None,
    };
    let words = key.map(|k| words_as_they_are(k)).unwrap_or_default();
    let Some((last, first)) = words.split_last() else { return SmolStr::new("item") };
    let one = singular(last);
    let name = first.iter().cloned().chain([one.clone()]).collect::<Vec<_>>().join("_");
    if one != *last && is_variable(&name) { SmolStr::new(name) } else { SmolStr::new("item") }
}

impl Names {
    /// The id of a node's step.
    pub fn step(&self, node: NodeId) -> Option<&SmolStr> {
        self.steps.get(&node)
    }

    /// The variable of a loop.
    pub fn variable(&self, node: NodeId) -> Option<&SmolStr> {
        self.variables.get(&node)
    }

    /// An id that is not used yet.
    pub fn fresh(&mut self, base: &str) -> SmolStr {
        let numbered = |n: usize| if n == 1 { SmolStr::new(base) } else { SmolStr::new(format!("{base}_{n}")) };
        let from = self.counts.get(base).copied().unwrap_or(1);
        let found = (from..).map(|n| (n, numbered(n))).find(|(_, name)| !self.used.contains(name));
        let (number, name) = found.unwrap_or_default();
        self.counts.insert(SmolStr::new(base), number + 1);
        self.used.insert(name.clone());
        name
    }

    fn fresh_variable(&mut self, base: &str) -> SmolStr {
        let numbered = |n: usize| if n == 1 { SmolStr::new(base) } else { SmolStr::new(format!("{base}_{n}")) };
        (1..).map(numbered).find(|name| !self.variables.values().any(|v| v == name)).unwrap_or_default()
    }

    /// `expr` with the names for people.
    pub fn in_expr(&self, expr: Expr) -> Expr {
        simplified(rewrite::map(expr, &mut |e| self.renamed(e)))
    }

    /// `template` with the names for people.
    pub fn in_template(&self, template: Template) -> Template {
        rewrite::map_in(rewrite::map_in(template, &mut |e| self.renamed(e)), &mut simplify)
    }

    /// A text that was written before there were names for people.
    pub fn in_text(&self, text: &str) -> String {
        if !text.contains("__") {
            return text.to_owned();
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("__") {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let end = from.get(2..).and_then(|t| t.find("__")).map(|e| e + 4);
            let name = end.and_then(|e| from.get(..e)).and_then(|word| self.name_of(word).map(|name| (name, word.len())));
            match name {
                Some((name, length)) => {
                    out.push_str(&name);
                    rest = from.get(length..).unwrap_or_default();
                }
                None => {
                    out.push_str("__");
                    rest = from.get(2..).unwrap_or_default();
                }
            }
        }
        out.push_str(rest);
        out
    }

    /// A diagnostic with the names for people, and its expressions as the document has them.
    pub fn in_told(&self, told: &Told) -> Diagnostic {
        let exprs: Vec<(String, String)> = told
            .exprs
            .iter()
            .map(|(was, is)| (was.to_string(), self.in_expr(is.clone()).to_string()))
            .filter(|(was, is)| was != is)
            .collect();
        told.diagnostic.clone().renamed(|text| {
            let retold = exprs.iter().fold(text.to_owned(), |text, (was, is)| text.replace(was, is));
            self.in_text(&retold)
        })
    }

    fn name_of(&self, word: &str) -> Option<SmolStr> {
        step_named(word)
            .and_then(|n| self.steps.get(&n).or_else(|| self.left_out.get(&n)))
            .or_else(|| item_named(word).and_then(|n| self.variables.get(&n)))
            .cloned()
    }

    fn renamed(&self, expr: Expr) -> Expr {
        match expr {
            Expr::Name(name) => Expr::Name(self.name_of(&name).unwrap_or(name)),
            Expr::Key(base, key) => Expr::Key(base, self.name_of(&key).unwrap_or(key)),
            Expr::Over { function, list, name, body } => Expr::Over { function, list, name: self.name_of(&name).unwrap_or(name), body },
            Expr::Pick { list, path, equals } => {
                Expr::Pick { list, path: path.into_iter().map(|key| self.name_of(&key).unwrap_or(key)).collect(), equals }
            }
            other => other,
        }
    }
}

fn simplified(expr: Expr) -> Expr {
    rewrite::map(expr, &mut simplify)
}

/// `map(list, x, x)` is the list.
fn simplify(expr: Expr) -> Expr {
    match expr {
        Expr::Over { function: OverFunction::Map, list, name, body } if *body == Expr::Name(name.clone()) => *list,
        other => other,
    }
}

/// The workflow's name: as told, else from the task's first words.
pub fn workflow(told: Option<&str>, task: Option<&str>) -> SmolStr {
    let dashed = |text: &str| identifier(text).replace('_', "-");
    if let Some(told) = told {
        return SmolStr::new(dashed(told));
    }
    let words: Vec<String> = task.unwrap_or("workflow").split_whitespace().take(5).map(str::to_owned).collect();
    let sentence = words.join(" ");
    let sentence = sentence.split([':', '.', ',', ';']).next().unwrap_or_default();
    SmolStr::new(dashed(sentence))
}
