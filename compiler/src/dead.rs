//! What is dead: reads whose results nothing uses.
//!
//! Before: `list_branches, get_pull, rename_branch`, where only the branch's name is used. After: `list_branches, rename_branch`. A write
//! stays, whoever uses its result; so does a tool whose effect nobody knows, one that a hint keeps, and a poll, which waits for something.

use crate::plan::{Plan, Point, Presence};
use crate::region::LoopKind;
use crate::rewrite;
use crate::script::Script;
use crate::tree::{NodeId, NodeKind, step_named};
use ltc_workflow::document::ToolEffect;
use ltc_workflow::expr::Expr;
use std::collections::BTreeSet;

/// The nodes that are alive.
pub fn alive(plan: &Plan, scripts: &[Script]) -> BTreeSet<NodeId> {
    let mut alive = BTreeSet::new();
    let mut queue: Vec<NodeId> = Vec::new();
    for (number, node) in plan.tree.nodes.iter().enumerate() {
        let id = NodeId(number);
        let lives = match &node.kind {
            NodeKind::Call { calls, .. } => calls.iter().any(|(frame, call)| {
                let act = scripts.get(plan.tree.run(*frame)).and_then(|s| s.calls.get(*call));
                act.is_some_and(|a| a.effect != ToolEffect::Read || a.keep)
            }),
            NodeKind::Loop { kind, .. } => *kind == LoopKind::Poll,
            NodeKind::List { .. } => false,
        };
        if lives {
            queue.push(id);
        }
    }
    if let Some(output) = &plan.output {
        rewrite::each_in(output, &mut |expr| queue.extend(referred(expr)));
    }
    while let Some(node) = queue.pop() {
        if !alive.insert(node) {
            continue;
        }
        let mut see = |expr: &Expr| queue.extend(referred(expr));
        match plan.points.get(&node) {
            Some(Point::Call(with)) => with.iter().for_each(|(_, template)| rewrite::each_in(template, &mut see)),
            Some(Point::Each { list, test }) => std::iter::once(list).chain(test).for_each(|e| rewrite::each(e, &mut see)),
            Some(Point::Repeat { until, .. }) => rewrite::each(until, &mut see),
            None => {}
        }
        match plan.presence.get(&node) {
            Some(Presence::When(when) | Presence::Case { when, .. }) => rewrite::each(when, &mut see),
            None => {}
        }
        let Some(here) = plan.tree.node(node) else { continue };
        queue.extend(ordered_before(plan, scripts, node));
        if let NodeKind::Loop { kind: LoopKind::Poll, body, .. } = &here.kind {
            queue.extend(plan.tree.body(*body).and_then(|b| b.nodes.last()));
        }
        queue.extend(plan.tree.body(here.body).and_then(|b| b.of));
    }
    alive
}

/// The calls that a hint says come before this one: who needs them needs their effect, not their result.
fn ordered_before(plan: &Plan, scripts: &[Script], node: NodeId) -> Vec<NodeId> {
    let Some(NodeKind::Call { server, tool, .. }) = plan.tree.node(node).map(|n| &n.kind) else { return Vec::new() };
    let hints = scripts.iter().find_map(|s| s.hints(server)).filter(|h| !h.order.is_empty());
    let firsts: Vec<_> = hints.into_iter().flat_map(|h| &h.order).filter(|(_, then)| then == tool).map(|(first, _)| first).collect();
    let before = plan.tree.nodes.iter().enumerate().take(node.0).filter(|(_, n)| match &n.kind {
        NodeKind::Call { server: s, tool: t, .. } => s == server && firsts.contains(&t),
        NodeKind::Loop { .. } | NodeKind::List { .. } => false,
    });
    before.map(|(number, _)| NodeId(number)).collect()
}

/// The node that an expression names, in itself and not in its parts.
pub fn referred(expr: &Expr) -> Option<NodeId> {
    match expr {
        Expr::Key(_, key) => step_named(key),
        Expr::Literal(_)
        | Expr::Name(_)
        | Expr::Index(..)
        | Expr::Pick { .. }
        | Expr::Call(..)
        | Expr::Over { .. }
        | Expr::Not(_)
        | Expr::Binary(..)
        | Expr::List(_)
        | Expr::Record(_)
        | Expr::Omit => None,
    }
}
