//! What the names of an expression stand for in a frame: so that a guess can be tried out where its value is known.

use super::Explainer;
use crate::index::Source;
use crate::region::LoopKind;
use crate::tree::{FrameId, NodeId, NodeKind, item_name, item_named, step_name, step_named};
use ltc_workflow::expr::Expr;
use ltc_workflow::expr::eval::{Budget, Group, Scope, evaluate};
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value};

/// A frame as a scope.
pub struct FrameScope<'e, 'a> {
    /// The explainer whose runs these are.
    pub explainer: &'e Explainer<'a>,
    /// The frame.
    pub frame: FrameId,
}

impl Scope for FrameScope<'_, '_> {
    fn name(&self, name: &str) -> Option<Value> {
        let tree = &self.explainer.tree;
        let chain = tree.chain(self.frame);
        if name == "inputs" {
            return self.explainer.input(tree.run(self.frame)).map(Value::Object);
        }
        if name == "loop" {
            let round = chain.iter().filter_map(|f| tree.frame(*f)).find(|f| f.of.is_some_and(|n| self.explainer.is_loop(n)))?.round;
            return Some([("index", Value::from(round))].into_iter().collect::<Object>().into());
        }
        let of = item_named(name)?;
        let frame = chain.into_iter().find(|f| tree.frame(*f).and_then(|f| f.of) == Some(of))?;
        tree.item(self.explainer.scripts, frame)
    }

    fn member(&self, group: Group, key: &str) -> Option<Value> {
        let tree = &self.explainer.tree;
        let scripts = self.explainer.scripts;
        match group {
            Group::Steps => {
                let node = step_named(key)?;
                tree.chain(self.frame).into_iter().find_map(|frame| tree.value(scripts, node, frame))
            }
            Group::Previous => {
                let node = step_named(key)?;
                let chain = tree.chain(self.frame);
                let round = chain.into_iter().filter_map(|f| tree.frame(f)).find(|f| f.of.is_some_and(|n| self.explainer.is_repeat(n)))?;
                let before = *tree.rounds(round.of?, round.parent?)?.get(round.round.checked_sub(1)?)?;
                tree.value(scripts, node, before)
            }
            Group::Secrets => self.explainer.secrets.values(key).get(tree.run(self.frame)).cloned().map(Value::String),
        }
    }
}

/// A place, told as an expression without positions and the way that is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Relative {
    /// Where it starts.
    pub base: Expr,
    /// The way from there.
    pub path: Vec<crate::index::PathStep>,
}

impl<'a> Explainer<'a> {
    /// The value of `expr` in `frame`, where it has one.
    pub fn value_in(&self, expr: &Expr, frame: FrameId) -> Option<Value> {
        evaluate(expr, &FrameScope { explainer: self, frame }, &mut Budget::default()).ok().flatten()
    }

    /// Whether `expr` leaves out what it stands for in `frame`; where it fails it does not.
    pub fn leaves_out(&self, expr: &Expr, frame: FrameId) -> bool {
        matches!(evaluate(expr, &FrameScope { explainer: self, frame }, &mut Budget::default()), Ok(None))
    }

    /// The value of `template` in `frame`, where it has one.
    pub fn template_in(&self, template: &Template, frame: FrameId) -> Option<Value> {
        template.evaluate(&FrameScope { explainer: self, frame }, &mut Budget::default()).ok().flatten()
    }

    /// Whether a node is a loop whose body is steps.
    pub fn is_loop(&self, node: NodeId) -> bool {
        self.tree.node(node).is_some_and(|n| matches!(n.kind, NodeKind::Loop { .. }))
    }

    /// Whether a node is a loop whose rounds see the one before.
    pub fn is_repeat(&self, node: NodeId) -> bool {
        self.tree.node(node).is_some_and(|n| matches!(n.kind, NodeKind::Loop { kind: LoopKind::Pages | LoopKind::Poll, .. }))
    }

    /// The ways to tell a place from a frame, best first; none where the frame cannot see it.
    pub fn relative(&self, source: Source, path: &[crate::index::PathStep], frame: FrameId) -> Vec<Relative> {
        use crate::index::PathStep::{Index, Key};
        let mut found = Vec::new();
        let chain = self.tree.chain(frame);
        let run = self.tree.run(frame);
        for round in &chain {
            if let Some((of, rest)) = self.in_item(*round, source, path) {
                found.push(Relative { base: Expr::name(item_name(of)), path: rest });
            }
        }
        match source {
            Source::Input => found.push(Relative { base: Expr::name("inputs"), path: path.to_vec() }),
            Source::Task => {}
            Source::Call(call) => {
                let Some((node, home)) = self.tree.homes.get(&(run, call)).copied() else { return found };
                if chain.contains(&home) {
                    found.push(Relative { base: Expr::step(step_name(node)), path: path.to_vec() });
                    return found;
                }
                for round in &chain {
                    found.extend(self.in_record_of_item(*round, node, home, path));
                }
                let mut inner = vec![Key(step_name(node))];
                let mut at = home;
                while let Some((frame, parent, of)) = self.tree.frame(at).and_then(|f| Some((f, f.parent?, f.of?))) {
                    if !chain.contains(&parent) {
                        inner.splice(0..0, [Key(step_name(of)), Index(frame.round)]);
                        at = parent;
                        continue;
                    }
                    let ours = chain.iter().filter_map(|f| self.tree.frame(*f)).find(|f| f.of == Some(of) && f.parent == Some(parent));
                    match ours {
                        Some(ours) if self.is_repeat(of) && frame.round + 1 == ours.round && at == home => {
                            found.push(Relative { base: Expr::name("previous").key(step_name(node)), path: path.to_vec() });
                        }
                        Some(_) => {}
                        None if self.kind(of) == Some(LoopKind::Poll) => {
                            let last = self.tree.rounds(of, parent).and_then(|r| r.last()) == Some(&at);
                            if last && at == home {
                                found.push(Relative { base: Expr::step(step_name(of)), path: path.to_vec() });
                            }
                        }
                        None => {
                            let way = [Index(frame.round)].into_iter().chain(inner).chain(path.iter().cloned());
                            found.push(Relative { base: Expr::step(step_name(of)), path: way.collect() });
                        }
                    }
                    break;
                }
            }
        }
        found
    }

    fn kind(&self, node: NodeId) -> Option<LoopKind> {
        match self.tree.node(node)?.kind {
            NodeKind::Loop { kind, .. } => Some(kind),
            NodeKind::Call { .. } | NodeKind::List { .. } => None,
        }
    }

    /// The loop whose item in `round` holds the place, and the way from the item.
    fn in_item(&self, round: FrameId, source: Source, path: &[crate::index::PathStep]) -> Option<(NodeId, Vec<crate::index::PathStep>)> {
        use crate::index::PathStep::Key;
        use crate::tree::Item;
        let frame = self.tree.frame(round)?;
        let of = frame.of?;
        match frame.item.as_ref()? {
            Item::Value { source: s, path: p, span: None } if *s == source && path.starts_with(p) => {
                Some((of, path.get(p.len()..)?.to_vec()))
            }
            Item::Value { .. } => None,
            Item::Frame(earlier) => {
                let (inner, rest) = self.in_item(*earlier, source, path)?;
                Some((of, [Key(item_name(inner))].into_iter().chain(rest).collect()))
            }
        }
    }

    /// The way to a call's result, where the item of `round` is the round of an earlier loop that made the call.
    fn in_record_of_item(&self, round: FrameId, node: NodeId, home: FrameId, path: &[crate::index::PathStep]) -> Option<Relative> {
        use crate::index::PathStep::Key;
        use crate::tree::Item;
        let frame = self.tree.frame(round)?;
        let Item::Frame(earlier) = frame.item.as_ref()? else { return None };
        let way = [Key(step_name(node))].into_iter().chain(path.iter().cloned()).collect();
        (*earlier == home).then_some(Relative { base: Expr::name(item_name(frame.of?)), path: way })
    }
}
