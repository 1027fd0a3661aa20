//! Numbers that are made of lists: how many items there are, and the sum of a field.

use super::separate::features;
use super::{Explainer, Spot, Use};
use crate::names::words_as_they_are;
use crate::plan::Point;
use crate::region::LoopKind;
use crate::tree::{BodyId, FrameId, NodeId, NodeKind, item_name, step_name};
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function, OverFunction};
use smol_str::SmolStr;

impl Explainer<'_> {
    /// The lists that other arguments of the same call, or other parts of the output, were found to be.
    pub(super) fn lists_beside(&self, spot: &Spot) -> Vec<Expr> {
        let beside = self.findings.iter().rev().take_while(|f| f.node == spot.node);
        let lists = beside.filter_map(|f| match &f.origin {
            super::Origin::Reference(expr @ Expr::Over { function: OverFunction::Map | OverFunction::Filter, .. }) => Some(expr.clone()),
            super::Origin::Reference(_)
            | super::Origin::Text(_)
            | super::Origin::Constant(_)
            | super::Origin::Input(_)
            | super::Origin::Secret(_) => None,
        });
        lists.collect()
    }

    /// The lists that arguments of other calls were found to be: what was handed on may be counted.
    fn lists_handed_on(&self, first: &Use) -> Vec<Expr> {
        const MOST: usize = 64;
        let taken = self.findings.iter().rev().filter_map(|f| match &f.origin {
            super::Origin::Reference(expr) => Some(expr),
            super::Origin::Text(_) | super::Origin::Constant(_) | super::Origin::Input(_) | super::Origin::Secret(_) => None,
        });
        let is_list = |expr: &&Expr| matches!(self.value_in(expr, first.frame), Some(Value::Array(_)));
        taken.take(MOST).filter(is_list).map(|expr| unmapped(expr).clone()).collect()
    }

    /// A number that is how many items a list has: in the output, or under a name that says so.
    pub(super) fn counted(&self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        const COUNTS: &[&str] = &["count", "total", "number", "num", "size", "length", "len", "quantity"];
        let said = spot.words().iter().any(|w| COUNTS.contains(&w.as_str()));
        let beside = self.lists_beside(spot);
        if !(said || spot.node.is_none() || !beside.is_empty())
            || uses.iter().any(|u| u.value.as_number().and_then(|n| n.as_i64()).is_none())
        {
            return None;
        }
        let first = uses.first()?;
        let gives = |list: &Expr| self.gives(&list.clone().apply(Function::Len), uses);
        if !(said || spot.node.is_none()) {
            return beside.into_iter().find(gives).map(|list| list.apply(Function::Len));
        }
        let mut lists: Vec<(Expr, Vec<SmolStr>)> = beside.into_iter().map(|list| (list, Vec::new())).collect();
        for node in self.nodes_before(spot) {
            let Some(NodeKind::Loop { kind, body, .. }) = self.tree.node(node).map(|n| &n.kind) else { continue };
            match self.points.get(&node) {
                Some(Point::Each { list, test }) => {
                    let list = match test {
                        Some(test) => list.clone().over(OverFunction::Filter, item_name(node), test.clone()),
                        None => list.clone(),
                    };
                    lists.push((list, self.tools_of(*body)));
                }
                Some(Point::Call(_) | Point::Repeat { .. }) | None if *kind == LoopKind::Pages => {
                    lists.extend(self.lists_of_rounds(node, *body, first.frame).into_iter().map(|list| (list, Vec::new())));
                }
                Some(Point::Call(_) | Point::Repeat { .. }) | None => {}
            }
            self.inner_rounds(&Expr::step(step_name(node)), *body, &mut lists);
        }
        lists.extend(self.lists_before(spot, first.frame, usize::MAX).map(|(list, _)| (list, Vec::new())));
        lists.extend(self.lists_handed_on(first).into_iter().map(|list| (list, Vec::new())));
        lists.retain(|(list, _)| gives(list));
        let words = spot.words();
        let best = lists.iter().find(|(_, tools)| tools.iter().any(|tool| tells_of(&words, tool))).or(lists.first())?;
        Some(best.0.clone().apply(Function::Len))
    }

    /// The rounds of loops in a loop, each as one list over all rounds around it, with the tools that they call.
    fn inner_rounds(&self, rounds: &Expr, body: BodyId, lists: &mut Vec<(Expr, Vec<SmolStr>)>) {
        for node in self.tree.body(body).map(|b| b.nodes.as_slice()).unwrap_or_default() {
            if let Some(NodeKind::Loop { kind: LoopKind::Each, body, .. }) = self.tree.node(*node).map(|n| &n.kind) {
                let inner = rounds.clone().over(OverFunction::Map, "x", Expr::name("x").key(step_name(*node))).apply(Function::Flatten);
                lists.push((inner.clone(), self.tools_of(*body)));
                self.inner_rounds(&inner, *body, lists);
            }
        }
    }

    /// The tools that a body calls itself.
    fn tools_of(&self, body: BodyId) -> Vec<SmolStr> {
        let nodes = self.tree.body(body).map(|b| b.nodes.as_slice()).unwrap_or_default();
        let tool = |node: &NodeId| match &self.tree.node(*node)?.kind {
            NodeKind::Call { tool, .. } => Some(tool.clone()),
            NodeKind::Loop { .. } | NodeKind::List { .. } => None,
        };
        nodes.iter().filter_map(tool).collect()
    }

    /// A number that is the sum of a field of a list's items.
    pub(super) fn summed(&self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        const MOST_NODES: usize = 20;
        let first = uses.first()?;
        if bits(first.value.as_number()?.as_str()) < 6.0 {
            return None;
        }
        for (list, items) in self.lists_before(spot, first.frame, MOST_NODES) {
            let items = items.as_array().unwrap_or_default();
            let Some(item) = items.first().filter(|_| items.len() > 1) else { continue };
            for (path, field) in super::pick::fields(item) {
                if matches!(field, Value::Number(_)) {
                    let each = super::pick::Keys::keys(Expr::name("x"), &path);
                    let sum = list.clone().over(OverFunction::Map, "x", each).apply(Function::Sum);
                    if self.gives(&sum, uses) {
                        return Some(sum);
                    }
                }
            }
        }
        None
    }

    /// The lists in what at most so many steps before a spot gave in a frame, nearest first, with their items there.
    pub(super) fn lists_before(&self, spot: &Spot, frame: FrameId, most: usize) -> impl Iterator<Item = (Expr, Value)> {
        self.nodes_before(spot).into_iter().take(most).flat_map(move |node| {
            let value = self.tree.value(self.scripts, node, frame);
            let lists = features(&Expr::step(step_name(node)), &[value]).into_iter();
            lists.filter_map(|f| Some((f.expr, f.values.into_iter().next()??))).filter(|(_, value)| matches!(value, Value::Array(_)))
        })
    }

    /// The lists that the rounds of a loop gave, each as one list of all their items.
    pub(super) fn lists_of_rounds(&self, node: NodeId, body: BodyId, frame: FrameId) -> Vec<Expr> {
        let mut found = Vec::new();
        let Some(round) = self.tree.rounds(node, frame).and_then(|r| r.first()) else { return found };
        for inner in self.tree.body(body).map(|b| b.nodes.as_slice()).unwrap_or_default() {
            let value = self.tree.value(self.scripts, *inner, *round);
            for listed in features(&Expr::name("x").key(step_name(*inner)), &[value]) {
                if matches!(listed.values.first(), Some(Some(Value::Array(_)))) {
                    found.push(Expr::step(step_name(node)).over(OverFunction::Map, "x", listed.expr).apply(Function::Flatten));
                }
            }
        }
        found
    }
}

/// Whether the words of a key tell what a tool does: `deleted` of `delete_branch`.
fn tells_of(words: &[String], tool: &str) -> bool {
    const STEM: usize = 4;
    let stems: Vec<String> = words_as_they_are(tool).into_iter().filter_map(|w| w.get(..STEM).map(str::to_owned)).collect();
    words.iter().filter_map(|w| w.get(..STEM)).any(|stem| stems.iter().any(|s| s == stem))
}

/// The list that has as many items as `expr`.
fn unmapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Over { function: OverFunction::Map, list, .. } => unmapped(list),
        other => other,
    }
}
