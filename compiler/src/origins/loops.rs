//! Walks over the skeleton: what each call, loop and branch does, and when it is reached.

use super::candidates::literal;
use super::lists::Choice;
use super::scope::Relative;
use super::separate::{self, Feature, Test, features};
use super::{Explainer, Point, Presence, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::region::LoopKind;
use crate::reroll::patterns::PatternStep;
use crate::rewrite;
use crate::tree::{BodyId, FrameId, Item, NodeId, NodeKind, item_name, step_name};
use ltc_workflow::document::{Duration, ToolEffect};
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

    fn call(&mut self, body: BodyId, node: NodeId, tool: (SmolStr, SmolStr), calls: &BTreeMap<FrameId, usize>) {
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
    fn arguments(&mut self, spot: &Spot, uses: &[Use]) -> Option<Vec<(SmolStr, Template)>> {
        match self.object(spot, uses)? {
            Template::Object(entries) => Some(entries),
            Template::Literal(_) | Template::Expr(_) | Template::Text(_) | Template::Array(_) => None,
        }
    }

    /// The loop around a frame cannot be told: it is taken for straight code next time, in every run.
    fn ban(&mut self, frame: Option<FrameId>) {
        let of = frame.and_then(|f| self.tree.frame(f)).and_then(|f| f.of).and_then(|node| self.tree.node(node));
        let Some(NodeKind::Loop { rounds, .. }) = of.map(|n| &n.kind) else { return };
        let firsts = rounds.values().filter_map(|r| r.first()).filter_map(|f| Some((self.tree.run(*f), self.tree.first_call(*f)?)));
        self.banned.extend(firsts.collect::<Vec<_>>());
    }

    fn each(&mut self, body: BodyId, node: NodeId, inner: BodyId, rounds: &BTreeMap<FrameId, Vec<FrameId>>) {
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

    fn first_call_of(&self, rounds: &BTreeMap<FrameId, Vec<FrameId>>, frame: FrameId) -> usize {
        rounds.get(&frame).and_then(|r| r.first()).and_then(|f| self.tree.first_call(*f)).unwrap_or(usize::MAX)
    }

    /// The list that the rounds of a loop walk over, in every frame.
    fn choice_of_rounds(&self, rounds: &BTreeMap<FrameId, Vec<FrameId>>) -> Option<Choice> {
        let mut alive: Option<BTreeMap<String, Vec<Vec<super::lists::Hit>>>> = None;
        for (number, (frame, inner)) in rounds.iter().enumerate() {
            for round in inner {
                let mut here: BTreeMap<String, super::lists::Hit> = BTreeMap::new();
                for hit in self.hits_of_round(*frame, *round) {
                    here.entry(format!("{} {:?}", hit.domain.base, hit.domain.pattern)).or_insert(hit);
                }
                let put = |mut rows: Vec<Vec<super::lists::Hit>>, hit| {
                    rows.resize(number + 1, Vec::new());
                    if let Some(row) = rows.get_mut(number) {
                        row.push(hit);
                    }
                    rows
                };
                alive = Some(match alive {
                    None => here.into_iter().map(|(key, hit)| (key, put(Vec::new(), hit))).collect(),
                    Some(before) => {
                        before.into_iter().filter_map(|(key, rows)| Some((key.clone(), put(rows, here.remove(&key)?)))).collect()
                    }
                });
            }
        }
        let frames: Vec<FrameId> = rounds.keys().copied().collect();
        let mut choices: Vec<Choice> = Vec::new();
        for rows in alive.unwrap_or_default().into_values() {
            let Some(domain) = rows.iter().flatten().next().map(|h| h.domain.clone()) else { continue };
            let mut positions: Vec<Vec<Vec<usize>>> = rows.iter().map(|row| row.iter().map(|h| h.position.clone()).collect()).collect();
            positions.resize(frames.len(), Vec::new());
            let items: Vec<Vec<Item>> = rows.into_iter().map(|row| row.into_iter().map(|h| h.item).collect()).collect();
            if let Some(elements) = self.chosen(&domain, &frames, &positions) {
                choices.push(Choice { domain, items, elements, reversed: false });
                continue;
            }
            positions.iter_mut().for_each(|row| row.reverse());
            let whole = |e: &Vec<Vec<(Value, bool)>>| e.iter().flatten().all(|(_, chosen)| *chosen);
            if let Some(elements) = self.chosen(&domain, &frames, &positions).filter(whole) {
                choices.push(Choice { domain, items, elements, reversed: true });
            }
        }
        choices.extend(self.choice_in_prose(rounds));
        let missing = |c: &Choice| c.elements.iter().flatten().filter(|(_, chosen)| !*chosen).count();
        choices.sort_by_key(|c| (missing(c), c.domain.pattern.len()));
        choices.into_iter().next()
    }

    /// Items that are parts of one text, each between the same fixed texts: all that stands there is the list.
    fn choice_in_prose(&self, rounds: &BTreeMap<FrameId, Vec<FrameId>>) -> Option<Choice> {
        let mut items: Vec<Vec<Item>> = Vec::new();
        let mut found: Option<(Relative, String, String)> = None;
        for (frame, inner) in rounds {
            let here: Vec<Item> = inner.iter().map(|r| self.tree.frame(*r)?.item.clone()).collect::<Option<_>>()?;
            let spans: Option<Vec<(usize, usize)>> = here
                .iter()
                .map(|i| match i {
                    Item::Value { span, .. } => *span,
                    Item::Frame(_) => None,
                })
                .collect();
            if let (Some(spans), Some(Item::Value { source, path, .. })) = (spans, here.first()) {
                let relative = self.relative(*source, path, *frame).into_iter().next()?;
                let used = Use { frame: *frame, call: usize::MAX, value: Value::Null };
                let text = self.value_in(&self.closings(&relative, &used, None).into_iter().next()?.expr, *frame)?;
                let (before, after) = super::compose::common_anchors(text.as_str()?, &spans)?;
                match &found {
                    Some(known) if *known != (relative.clone(), before.clone(), after.clone()) => return None,
                    Some(_) | None => found = Some((relative, before, after)),
                }
            }
            items.push(here);
        }
        let (relative, before, after) = found?;
        let frame = *rounds.iter().find(|(_, r)| !r.is_empty())?.0;
        let text = self.closings(&relative, &Use { frame, call: usize::MAX, value: Value::Null }, None).into_iter().next()?.expr;
        let list = Expr::Call(Function::AllBetween, vec![text, literal(&before), literal(&after)]);
        let domain = super::lists::Domain { base: list.clone(), pattern: vec![PatternStep::Any] };
        let mut elements = Vec::new();
        for (frame, inner) in rounds {
            let all = self.value_in(&list, *frame)?;
            let wanted: Option<Vec<Value>> = inner.iter().map(|r| self.tree.item(self.scripts, *r)).collect();
            if all.as_array()? != wanted? {
                return None;
            }
            elements.push(all.as_array()?.iter().map(|v| (v.clone(), true)).collect());
        }
        Some(Choice { domain, items, elements, reversed: false })
    }

    fn hits_of_round(&self, frame: FrameId, round: FrameId) -> Vec<super::lists::Hit> {
        match self.tree.frame(round).and_then(|f| f.item.clone()) {
            Some(Item::Value { source, path, span: None }) => {
                let ends = |h: &super::lists::Hit| matches!(&h.item, Item::Value { path: p, .. } if *p == path);
                self.hits_at(source, &path, frame).into_iter().filter(ends).collect()
            }
            Some(Item::Frame(earlier)) => {
                let chain = self.tree.chain(frame);
                let Some(of) = self.tree.frame(earlier).and_then(|f| f.of.filter(|_| f.parent.is_some_and(|p| chain.contains(&p)))) else {
                    return Vec::new();
                };
                let number = self.tree.frame(earlier).map_or(0, |f| f.round);
                let domain = super::lists::Domain { base: Expr::step(step_name(of)), pattern: vec![PatternStep::Any] };
                vec![super::lists::Hit { domain, position: vec![number], item: Item::Frame(earlier) }]
            }
            Some(Item::Value { span: Some(_), .. }) | None => Vec::new(),
        }
    }

    fn repeat(&mut self, node: NodeId, kind: LoopKind, inner: BodyId, rounds: &BTreeMap<FrameId, Vec<FrameId>>) {
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
                tests.iter_mut().filter(|t| cursors.iter().any(|c| mentions(&t.expr, c))).for_each(|t| t.cost -= 10.0);
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
    fn cursors(&self, inner: BodyId) -> Vec<Expr> {
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
    fn as_pages_hint_says(&mut self, inner: BodyId) -> Option<Expr> {
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

    fn poll_hint(&self, inner: BodyId) -> Option<(NodeId, crate::hints::Poll)> {
        let first = *self.tree.body(inner)?.nodes.first()?;
        let NodeKind::Call { server, tool, calls } = &self.tree.node(first)?.kind else { return None };
        let script = self.scripts.get(self.tree.run(*calls.keys().next()?))?;
        Some((first, script.hints(server)?.poll.get(tool)?.clone()))
    }

    /// The pause between two questions, as it was recorded: whole seconds, two where the recording does not say.
    fn recorded_pause(&self, rows: &[FrameId]) -> Duration {
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

    fn place_of_loop(&self, inner: BodyId) -> String {
        let first = self.tree.body(inner).and_then(|b| b.nodes.first().copied());
        self.place_of(&Spot { node: first, body: inner, tool: None, path: Vec::new() })
    }

    /// Finds out when nodes are reached that some frames did not reach.
    fn branches(&mut self, body: BodyId, nodes: &[NodeId]) {
        let frames = self.tree.body(body).map(|b| b.frames.clone()).unwrap_or_default();
        let mut at = 0;
        while at < nodes.len() {
            let reached = |node: &NodeId| self.reached(*node, &frames);
            let Some(here) = nodes.get(at).map(reached) else { break };
            if here.iter().all(|r| *r) {
                at += 1;
                continue;
            }
            let mut groups: Vec<(Vec<bool>, Vec<NodeId>)> = Vec::new();
            while let Some(node) = nodes.get(at) {
                let mine = self.reached(*node, &frames);
                let apart = groups.iter().all(|(set, _)| set.iter().zip(&mine).all(|(a, b)| !(a & b)));
                match groups.last_mut() {
                    Some((set, members)) if *set == mine => members.push(*node),
                    _ if apart && mine.iter().any(|r| !r) => groups.push((mine, vec![*node])),
                    _ => break,
                }
                at += 1;
            }
            self.branch(body, &frames, groups);
        }
    }

    fn reached(&self, node: NodeId, frames: &[FrameId]) -> Vec<bool> {
        let is = |frame: &FrameId| match self.tree.node(node).map(|n| &n.kind) {
            Some(NodeKind::Call { calls, .. }) => calls.contains_key(frame),
            Some(NodeKind::Loop { rounds, .. } | NodeKind::List { rounds }) => rounds.contains_key(frame),
            None => false,
        };
        frames.iter().map(is).collect()
    }

    /// One place at which frames part: a switch where each of several ways has its own value of one field, else a test for each way.
    fn branch(&mut self, body: BodyId, frames: &[FrameId], groups: Vec<(Vec<bool>, Vec<NodeId>)>) {
        let Some(first) = groups.first().and_then(|(_, nodes)| nodes.first().copied()) else { return };
        let known = self.known_of(body, first, frames);
        let covers = (0..frames.len()).all(|i| groups.iter().any(|(set, _)| set.get(i) == Some(&true)));
        if groups.len() > 1
            && covers
            && let Some(tests) = switch_tests(&known, &groups.iter().map(|(set, _)| set.clone()).collect::<Vec<_>>())
        {
            let switch = self.switches;
            self.switches += 1;
            for ((_, nodes), when) in groups.iter().zip(&tests) {
                for node in nodes {
                    self.presence.insert(*node, Presence::Case { switch, when: when.clone() });
                }
            }
            let place = self.place_of(&Spot { node: Some(first), body, tool: None, path: Vec::new() });
            self.tell(Some(first), parts_ways(place, tests.iter().map(ToString::to_string).collect()), tests);
            return;
        }
        for (set, nodes) in groups {
            let tests = separate::separate(&known, &[], &set);
            match tests.first() {
                Some(best) => {
                    for node in &nodes {
                        self.presence.insert(*node, Presence::When(best.expr.clone()));
                    }
                    let place = self.place_of(&Spot { node: nodes.first().copied(), body, tool: None, path: Vec::new() });
                    self.tell(nodes.first().copied(), reached_by_test(place, best, &tests), tests.iter().map(|t| t.expr.clone()));
                }
                None => self.unexplained(body, frames, &set, &nodes),
            }
        }
    }

    /// A way that no test explains: in a loop of calls that only read they may be dead; otherwise the caller decides, or the loop is none.
    fn unexplained(&mut self, body: BodyId, frames: &[FrameId], set: &[bool], nodes: &[NodeId]) {
        let in_loop = frames.iter().any(|f| self.tree.frame(*f).is_some_and(|f| f.of.is_some()));
        let reads = nodes.iter().all(|n| self.only_reads(*n));
        if reads {
            // They may be dead; where they are not, the workflow cannot be written.
            for node in nodes.iter().filter(|_| !in_loop) {
                let place = self.place_of(&Spot { node: Some(*node), body, tool: None, path: Vec::new() });
                self.tell(Some(*node), runs_part_unseen(place), []);
            }
            return;
        }
        if in_loop {
            return self.ban(frames.first().copied());
        }
        let uses: Vec<Use> =
            frames.iter().zip(set).map(|(frame, reached)| Use { frame: *frame, call: 0, value: Value::Bool(*reached) }).collect();
        for node in nodes {
            let tool = match self.tree.node(*node).map(|n| &n.kind) {
                Some(NodeKind::Call { server, tool, .. }) => Some((server.clone(), tool.clone())),
                Some(NodeKind::Loop { .. } | NodeKind::List { .. }) | None => None,
            };
            let name = tool.as_ref().map_or_else(|| "do_it".to_owned(), |(_, tool)| format!("do_{tool}"));
            let spot = Spot { node: Some(*node), body, tool: None, path: vec![SmolStr::new(name)] };
            if let Some(Template::Expr(expr)) = self.literal(&spot, &uses) {
                self.presence.insert(*node, Presence::When(expr));
                let place = self.place_of(&Spot { path: Vec::new(), ..spot });
                self.tell(Some(*node), unexplained_branch(place), []);
            }
        }
    }

    fn only_reads(&self, node: NodeId) -> bool {
        match self.tree.node(node).map(|n| &n.kind) {
            Some(NodeKind::Call { calls, .. }) => calls.iter().all(|(frame, call)| {
                let act = self.scripts.get(self.tree.run(*frame)).and_then(|s| s.calls.get(*call));
                act.is_some_and(|a| a.effect == ToolEffect::Read)
            }),
            Some(NodeKind::Loop { body, .. }) => self.tree.body(*body).is_some_and(|b| b.nodes.iter().all(|n| self.only_reads(*n))),
            Some(NodeKind::List { .. }) | None => true,
        }
    }

    /// What is known in each frame before a node: inputs, items, and the results of the nodes before it.
    fn known_of(&self, body: BodyId, node: NodeId, frames: &[FrameId]) -> Vec<Feature> {
        let spot = Spot { node: Some(node), body, tool: None, path: Vec::new() };
        let mut known = Vec::new();
        if let Some(of) = frames.first().and_then(|f| self.tree.frame(*f)).and_then(|f| f.of) {
            let items: Vec<Option<Value>> = frames.iter().map(|f| self.tree.item(self.scripts, *f)).collect();
            known.extend(features(&Expr::name(item_name(of)), &items));
        }
        for before in self.nodes_before(&spot) {
            let values: Vec<Option<Value>> = frames.iter().map(|f| self.tree.value(self.scripts, before, *f)).collect();
            if values.iter().all(Option::is_some) {
                known.extend(features(&Expr::step(step_name(before)), &values));
            }
        }
        known.extend(self.given_features(frames));
        known
    }
}

/// Whether `part` stands in `expr`.
fn mentions(expr: &Expr, part: &Expr) -> bool {
    let mut found = false;
    rewrite::each(expr, &mut |e| found |= e == part);
    found
}

/// One field that has, in the frames of each way, a value of its own.
fn switch_tests(known: &[Feature], ways: &[Vec<bool>]) -> Option<Vec<Expr>> {
    let mut found: Vec<(f64, Vec<Expr>)> = Vec::new();
    for feature in known {
        let tests: Option<Vec<Test>> = ways
            .iter()
            .map(|way| {
                let tests = separate::separate(std::slice::from_ref(feature), &[], way);
                tests
                    .into_iter()
                    .find(|t| matches!(&t.expr, Expr::Binary(BinaryOp::Equal, _, _)) || matches!(t.expr, Expr::Not(_) | Expr::Key(..)))
            })
            .collect();
        if let Some(tests) = tests {
            found.push((tests.iter().map(|t| t.cost).sum(), tests.into_iter().map(|t| t.expr).collect()));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().next().map(|(_, tests)| tests)
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

fn parts_ways(place: String, tests: Vec<String>) -> Diagnostic {
    Diagnostic::new(Severity::Warning, "runs-part", place, "the runs part here; each way has its own value of one field").candidates(tests)
}

fn reached_by_test(place: String, best: &Test, tests: &[Test]) -> Diagnostic {
    let rivals: Vec<String> = tests.iter().skip(1).filter(|t| t.cost - best.cost < 2.0).take(4).map(|t| t.expr.to_string()).collect();
    let severity = if rivals.is_empty() { Severity::Warning } else { Severity::Question };
    Diagnostic::new(severity, "reached-by-test", place, format!("not always reached; the smallest test that separates is `{}`", best.expr))
        .candidates(rivals)
}

fn runs_part_unseen(place: String) -> Diagnostic {
    Diagnostic::new(Severity::Error, "runs-part", place, "the runs part here, and nothing that is known before tells them apart")
        .help("give the runs an input that says which way to go, or compile them as separate workflows")
}

fn unexplained_branch(place: String) -> Diagnostic {
    Diagnostic::new(
        Severity::Question,
        "branch-without-test",
        place,
        "reached in some runs only, and nothing that is known tells them apart: an input decides",
    )
}
