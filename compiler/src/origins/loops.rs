//! Walks over the skeleton: what each call, loop and branch does, and when it is reached.

use super::separate::{self, Feature, Test, features};
use super::{Explainer, Point, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::region::LoopKind;
use crate::rewrite;
use crate::tree::{BodyId, FrameId, NodeId, NodeKind, item_name, step_name};
use ltc_workflow::document::Duration;
use ltc_workflow::expr::{BinaryOp, Expr, Function};
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// Rounds that end a loop over pages that does not end.
const MOST_PAGES: u32 = 1_000;
/// Questions that end a poll that does not end.
const MOST_POLLS: u32 = 100;

impl Explainer<'_> {
    /// Explains the nodes of a body, in order.
    pub(super) fn body(&mut self, body: BodyId) {
        let nodes = self.tree.body(body).map(|b| b.nodes.clone()).unwrap_or_default();
        self.branches(body, &nodes);
        for node in nodes {
            match self.tree.node(node).map(|n| n.kind.clone()) {
                Some(NodeKind::Call { server, tool, calls }) => self.call(body, node, (server, tool), &calls),
                Some(NodeKind::Loop { kind: LoopKind::Each, body: inner, rounds }) => self.each(body, node, inner, &rounds),
                Some(NodeKind::Loop { kind: kind @ (LoopKind::Pages | LoopKind::Poll), body: inner, rounds }) => {
                    self.body(inner);
                    self.repeat(node, kind, inner, &rounds);
                }
                Some(NodeKind::List { .. }) | None => {}
            }
        }
    }

    pub(super) fn call(&mut self, body: BodyId, node: NodeId, tool: (SmolStr, SmolStr), calls: &BTreeMap<FrameId, usize>) {
        let uses: Vec<Use> = calls
            .iter()
            .filter_map(|(frame, call)| {
                let act = self.scripts.get(self.tree.run(*frame))?.calls.get(*call)?;
                Some(Use { frame: *frame, call: *call, value: Value::Object(act.arguments.clone()) })
            })
            .collect();
        let spot = Spot { node: Some(node), body, tool: Some(tool), path: Vec::new() };
        let with = if uses.iter().all(|u| u.value.as_object().is_some_and(Object::is_empty)) {
            Some(Vec::new())
        } else {
            self.arguments(&spot, &uses)
        };
        match with {
            Some(with) => {
                self.points.insert(node, Point::Call(with));
            }
            None => {
                let place = self.place_of(&spot);
                self.unexplained_calls.push((node, place));
                self.ban(calls.keys().next().copied());
            }
        }
    }

    /// The arguments one by one: an object that equals an earlier one as a whole is still told by its keys.
    pub(super) fn arguments(&mut self, spot: &Spot, uses: &[Use]) -> Option<Vec<(SmolStr, Template)>> {
        match self.object(spot, uses)? {
            Template::Object(entries) => Some(entries),
            Template::Literal(_) | Template::Expr(_) | Template::Text(_) | Template::Array(_) => None,
        }
    }

    /// The loop around a frame cannot be told: it is taken for straight code next time, in every run.
    pub(super) fn ban(&mut self, frame: Option<FrameId>) {
        let of = frame.and_then(|f| self.tree.frame(f)).and_then(|f| f.of).and_then(|node| self.tree.node(node));
        let Some(NodeKind::Loop { rounds, .. }) = of.map(|n| &n.kind) else { return };
        let firsts = rounds.values().filter_map(|r| r.first()).filter_map(|f| Some((self.tree.run(*f), self.tree.first_call(*f)?)));
        self.banned.extend(firsts.collect::<Vec<_>>());
    }

    pub(super) fn each(&mut self, body: BodyId, node: NodeId, inner: BodyId, rounds: &BTreeMap<FrameId, Vec<FrameId>>) {
        let spot = Spot { node: Some(node), body, tool: None, path: Vec::new() };
        let uses: Vec<Use> =
            rounds.keys().map(|frame| Use { frame: *frame, call: self.first_call_of(rounds, *frame), value: Value::Null }).collect();
        let Some(choice) = self.choice_of_rounds(rounds) else {
            return self.ban(rounds.values().flatten().next().copied());
        };
        let whole = choice.elements.iter().flatten().all(|(_, chosen)| *chosen);
        let list =
            uses.iter().find(|u| rounds.get(&u.frame).is_some_and(|r| !r.is_empty())).and_then(|u| self.list_expr(&choice.domain, u));
        let list = list.map(|l| if choice.reversed { l.apply(Function::Reverse) } else { l });
        let Some(list) = list else {
            return self.ban(rounds.values().flatten().next().copied());
        };
        let test = if whole { None } else { self.subset(&spot, &uses, &choice, &item_name(node)) };
        if !whole && test.is_none() {
            return self.ban(rounds.values().flatten().next().copied());
        }
        self.points.insert(node, Point::Each { list, test });
        self.body(inner);
    }

    pub(super) fn first_call_of(&self, rounds: &BTreeMap<FrameId, Vec<FrameId>>, frame: FrameId) -> usize {
        rounds.get(&frame).and_then(|r| r.first()).and_then(|f| self.tree.first_call(*f)).unwrap_or(usize::MAX)
    }

    pub(super) fn repeat(&mut self, node: NodeId, kind: LoopKind, inner: BodyId, rounds: &BTreeMap<FrameId, Vec<FrameId>>) {
        let rows: Vec<FrameId> = rounds.values().flatten().copied().collect();
        let last: Vec<bool> = rounds.values().flat_map(|r| (1..=r.len()).map(move |n| n == r.len())).collect();
        let hint = self.poll_hint(inner);
        let told = hint.as_ref().and_then(|(first, h)| Some(under(h.until.clone()?, &Expr::step(step_name(*first)))));
        let told = told.or_else(|| self.as_pages_hint_says(inner));
        let until = match told {
            Some(until) => until,
            None => {
                let mut known: Vec<Feature> = Vec::new();
                for inner_node in self.tree.body(inner).map(|b| b.nodes.clone()).unwrap_or_default() {
                    let values: Vec<Option<Value>> = rows.iter().map(|f| self.tree.value(self.scripts, inner_node, *f)).collect();
                    known.extend(features(&Expr::step(step_name(inner_node)), &values));
                }
                let cursors = self.cursors(inner);
                let mut tests = separate::separate(&known, &self.given_features(&rows), &last);
                tests.iter_mut().filter(|t| cursors.iter().any(|c| rewrite::mentions(&t.expr, c))).for_each(|t| t.cost -= 10.0);
                tests.sort_by(|a, b| a.cost.total_cmp(&b.cost));
                let total = |t: &Test| rows.iter().zip(&last).all(|(row, last)| self.value_in(&t.expr, *row) == Some(Value::Bool(*last)));
                tests.retain(total);
                let Some(best) = tests.first().cloned() else { return self.ban(rows.first().copied()) };
                let diagnostic = ends_by_test(self.place_of_loop(inner), &best, rows.len(), &tests);
                self.tell(Some(node), diagnostic, tests.iter().map(|t| t.expr.clone()));
                best.expr
            }
        };
        let (every, at_most) = match kind {
            LoopKind::Poll => {
                let interval = hint.as_ref().and_then(|(_, h)| h.interval);
                (
                    Some(interval.unwrap_or_else(|| self.recorded_pause(&rows))),
                    hint.as_ref().and_then(|(_, h)| h.at_most).unwrap_or(MOST_POLLS),
                )
            }
            LoopKind::Pages | LoopKind::Each => (None, MOST_PAGES),
        };
        self.points.insert(node, Point::Repeat { until, every: every.filter(|d| d.millis > 0), at_most });
    }

    /// What the rounds of a loop take from the round before, told as what a round gives to the next.
    pub(super) fn cursors(&self, inner: BodyId) -> Vec<Expr> {
        let mut found = Vec::new();
        for node in self.tree.body(inner).map(|b| b.nodes.as_slice()).unwrap_or_default() {
            let Some(Point::Call(with)) = self.points.get(node) else { continue };
            for (_, template) in with {
                rewrite::each_in(template, &mut |expr| {
                    if let Expr::Binary(BinaryOp::Coalesce, left, _) = expr {
                        found.push(rewrite::map((**left).clone(), &mut |e| {
                            if e == Expr::name("previous") { Expr::name("steps") } else { e }
                        }));
                    }
                });
            }
        }
        found
    }

    /// The end of a loop over pages as a hint tells it: where there is no next cursor. The call takes the cursor from the round before.
    pub(super) fn as_pages_hint_says(&mut self, inner: BodyId) -> Option<Expr> {
        let first = *self.tree.body(inner)?.nodes.first()?;
        let NodeKind::Call { server, tool, calls } = &self.tree.node(first)?.kind else { return None };
        let script = self.scripts.get(self.tree.run(*calls.keys().next()?))?;
        let hint = script.hints(server)?.pages.get(tool)?.clone();
        let cursor = hint.cursor?;
        let null = Expr::Literal(Value::Null);
        let next = |group: &str| Expr::name(group).key(step_name(first)).key(cursor.clone());
        if let Some(Point::Call(with)) = self.points.get_mut(&first)
            && !with.iter().any(|(key, _)| *key == hint.argument)
        {
            with.push((hint.argument, Template::Expr(next("previous").binary(BinaryOp::Coalesce, Expr::Omit))));
        }
        Some(next("steps").binary(BinaryOp::Coalesce, null.clone()).binary(BinaryOp::Equal, null))
    }

    pub(super) fn poll_hint(&self, inner: BodyId) -> Option<(NodeId, crate::hints::Poll)> {
        let first = *self.tree.body(inner)?.nodes.first()?;
        let NodeKind::Call { server, tool, calls } = &self.tree.node(first)?.kind else { return None };
        let script = self.scripts.get(self.tree.run(*calls.keys().next()?))?;
        Some((first, script.hints(server)?.poll.get(tool)?.clone()))
    }

    /// The pause between two questions, as it was recorded: whole seconds, two where the recording does not say.
    pub(super) fn recorded_pause(&self, rows: &[FrameId]) -> Duration {
        let starts: Vec<i128> = rows
            .iter()
            .filter_map(|f| {
                let call = self.tree.first_call(*f)?;
                self.scripts.get(self.tree.run(*f))?.calls.get(call)?.times.map(|t| t.0)
            })
            .collect();
        let gaps = starts.windows(2).filter_map(|w| matches!(w, [a, b] if b > a).then(|| w.get(1)?.checked_sub(*w.first()?)).flatten());
        let seconds = gaps.min().and_then(|nanos| u64::try_from(nanos / 1_000_000_000).ok()).unwrap_or(2).clamp(1, 60);
        Duration { millis: seconds * 1_000 }
    }

    pub(super) fn place_of_loop(&self, inner: BodyId) -> String {
        let first = self.tree.body(inner).and_then(|b| b.nodes.first().copied());
        self.place_of(&Spot { node: first, body: inner, tool: None, path: Vec::new() })
    }
}

/// A hint's expression, whose names are fields of the answer, as one about a step.
fn under(expr: Expr, step: &Expr) -> Expr {
    let inside = |e: Box<Expr>| Box::new(under(*e, step));
    match expr {
        Expr::Name(name) => step.clone().key(name),
        Expr::Key(base, key) => Expr::Key(inside(base), key),
        Expr::Index(base, at) => Expr::Index(inside(base), at),
        Expr::Pick { list, path, equals } => Expr::Pick { list: inside(list), path, equals: inside(equals) },
        Expr::Call(function, arguments) => Expr::Call(function, arguments.into_iter().map(|a| under(a, step)).collect()),
        Expr::Not(inner) => Expr::Not(inside(inner)),
        Expr::Binary(op, a, b) => Expr::Binary(op, inside(a), inside(b)),
        Expr::List(items) => Expr::List(items.into_iter().map(|i| under(i, step)).collect()),
        Expr::Record(entries) => Expr::Record(entries.into_iter().map(|(k, v)| (k, under(v, step))).collect()),
        Expr::Over { function, list, name, body } => Expr::Over { function, list: inside(list), name, body },
        other @ (Expr::Literal(_) | Expr::Omit) => other,
    }
}

fn ends_by_test(place: String, best: &Test, rounds: usize, tests: &[Test]) -> Diagnostic {
    let rivals: Vec<String> = tests.iter().skip(1).filter(|t| t.cost - best.cost < 2.0).take(4).map(|t| t.expr.to_string()).collect();
    let severity = if rivals.is_empty() { Severity::Note } else { Severity::Warning };
    Diagnostic::new(severity, "end-of-loop", place, format!("repeated {rounds} times; it ends where `{}`", best.expr)).candidates(rivals)
}
