//! Numbers that are made of lists: how many items there are, and the sum of a field.

use super::separate::features;
use super::{Explainer, Spot, Use};
use crate::region::LoopKind;
use crate::text::bits;
use crate::tree::{BodyId, FrameId, NodeId, NodeKind, item_name, step_name};
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function, OverFunction};

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
        let mut lists: Vec<Expr> = beside;
        if !(said || spot.node.is_none()) {
            return lists.into_iter().map(|list| list.apply(Function::Len)).find(|expr| self.gives(expr, uses));
        }
        for node in self.nodes_before(spot) {
            match (self.points.get(&node), self.tree.node(node).map(|n| &n.kind)) {
                (Some(super::Point::Each { list, test }), _) => lists.push(match test {
                    Some(test) => list.clone().over(OverFunction::Filter, item_name(node), test.clone()),
                    None => list.clone(),
                }),
                (_, Some(NodeKind::Loop { kind: LoopKind::Pages, body, .. })) => {
                    lists.extend(self.lists_of_rounds(node, *body, first.frame))
                }
                (_, _) => {}
            }
        }
        for node in self.nodes_before(spot) {
            let value = self.tree.value(self.scripts, node, first.frame);
            let listed = features(&Expr::step(step_name(node)), &[value]).into_iter();
            lists.extend(listed.filter(|f| matches!(f.values.first(), Some(Some(Value::Array(_))))).map(|f| f.expr));
        }
        lists.into_iter().map(|list| list.apply(Function::Len)).find(|expr| self.gives(expr, uses))
    }

    /// A number that is the sum of a field of a list's items.
    pub(super) fn summed(&self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        const MOST_NODES: usize = 20;
        let first = uses.first()?;
        if bits(first.value.as_number()?.as_str()) < 6.0 {
            return None;
        }
        for node in self.nodes_before(spot).into_iter().take(MOST_NODES) {
            let value = self.tree.value(self.scripts, node, first.frame);
            for list in features(&Expr::step(step_name(node)), &[value]) {
                let Some(Some(Value::Array(items))) = list.values.first() else { continue };
                let Some(item) = items.first().filter(|_| items.len() > 1) else { continue };
                for (path, field) in super::pick::fields(item) {
                    if matches!(field, Value::Number(_)) {
                        let each = super::pick::Keys::keys(Expr::name("x"), &path);
                        let sum = list.expr.clone().over(OverFunction::Map, "x", each).apply(Function::Sum);
                        if self.gives(&sum, uses) {
                            return Some(sum);
                        }
                    }
                }
            }
        }
        None
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
