//! When a node is reached that some frames did not reach: the smallest test over what is known before it.

use super::separate::{self, Feature, Test, features};
use super::{Explainer, Presence, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::tree::{BodyId, FrameId, NodeId, NodeKind, item_name, step_name};
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::document::ToolEffect;
use ltc_workflow::expr::{BinaryOp, Expr};
use ltc_workflow::template::Template;
use smol_str::SmolStr;

impl Explainer<'_> {
    /// Finds out when nodes are reached that some frames did not reach.
    pub(super) fn branches(&mut self, body: BodyId, nodes: &[NodeId]) {
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

    pub(super) fn reached(&self, node: NodeId, frames: &[FrameId]) -> Vec<bool> {
        let is = |frame: &FrameId| match self.tree.node(node).map(|n| &n.kind) {
            Some(NodeKind::Call { calls, .. }) => calls.contains_key(frame),
            Some(NodeKind::Loop { rounds, .. } | NodeKind::List { rounds }) => rounds.contains_key(frame),
            None => false,
        };
        frames.iter().map(is).collect()
    }

    /// One place at which frames part: a switch where each of several ways has its own value of one field, else a test for each way.
    pub(super) fn branch(&mut self, body: BodyId, frames: &[FrameId], groups: Vec<(Vec<bool>, Vec<NodeId>)>) {
        let Some(first) = groups.first().and_then(|(_, nodes)| nodes.first().copied()) else { return };
        let known = self.known_of(body, first, frames);
        let covers = (0..frames.len()).all(|i| groups.iter().any(|(set, _)| set.get(i) == Some(&true)));
        if groups.len() > 1
            && covers
            && let Some(tests) = self.switch_tests(&known, frames, &groups.iter().map(|(set, _)| set.clone()).collect::<Vec<_>>())
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
            let tests = self.tests(&known, frames, &set);
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
    pub(super) fn unexplained(&mut self, body: BodyId, frames: &[FrameId], set: &[bool], nodes: &[NodeId]) {
        let in_loop = frames.iter().any(|f| self.tree.frame(*f).is_some_and(|f| f.of.is_some()));
        let reads = nodes.iter().all(|n| self.only_reads(*n));
        let parting = self.parting(body, frames, set, nodes);
        if reads {
            // They may be dead; where they are not, the workflow cannot be written.
            for node in nodes.iter().filter(|_| !in_loop) {
                let place = self.place_of(&Spot { node: Some(*node), body, tool: None, path: Vec::new() });
                self.tell(Some(*node), runs_part_unseen(place, &parting), parting.compared.clone());
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
                self.tell(Some(*node), unexplained_branch(place, &parting), parting.compared.clone());
            }
        }
    }

    /// The tests that separate the frames that went a way, cheapest first: those that the language's own evaluation finds true and false where
    /// they should be.
    fn tests(&self, known: &[Feature], frames: &[FrameId], way: &[bool]) -> Vec<Test> {
        let mut tests = separate::separate(known, &[], way);
        tests.retain(|t| !rests_on_an_id(&t.expr));
        tests.retain(|t| frames.iter().zip(way).all(|(frame, reached)| self.value_in(&t.expr, *frame) == Some(Value::Bool(*reached))));
        tests
    }

    /// One field that has, in the frames of each way, a value of its own.
    fn switch_tests(&self, known: &[Feature], frames: &[FrameId], ways: &[Vec<bool>]) -> Option<Vec<Expr>> {
        let mut found: Vec<(f64, Vec<Expr>)> = Vec::new();
        for feature in known {
            let tests: Option<Vec<Test>> = ways
                .iter()
                .map(|way| {
                    let tests = self.tests(std::slice::from_ref(feature), frames, way);
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

    /// Which runs go which way, and what was known of all of them when they parted.
    fn parting(&self, body: BodyId, frames: &[FrameId], set: &[bool], nodes: &[NodeId]) -> Parting {
        const MOST: usize = 6;
        let runs = |wanted: bool| {
            let frames = frames.iter().zip(set).filter(move |(_, reached)| **reached == wanted);
            let runs: std::collections::BTreeSet<usize> = frames.map(|(frame, _)| self.tree.run(*frame) + 1).collect();
            runs.into_iter().map(|run| run.to_string()).collect::<Vec<_>>().join(", ")
        };
        let known = nodes.first().map(|first| self.known_of(body, *first, frames)).unwrap_or_default();
        Parting { with: runs(true), without: runs(false), compared: known.into_iter().map(|f| f.expr).take(MOST).collect() }
    }

    pub(super) fn only_reads(&self, node: NodeId) -> bool {
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
    pub(super) fn known_of(&self, body: BodyId, node: NodeId, frames: &[FrameId]) -> Vec<Feature> {
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

/// Whether a test compares with what only one recording can have: two runs always differ in their ids, which says nothing of why they part.
fn rests_on_an_id(test: &Expr) -> bool {
    const AN_ID: f64 = 18.0;
    let is_id = |text: &str| text.bytes().any(|b| b.is_ascii_digit()) && bits(text) >= AN_ID;
    let mut found = false;
    crate::rewrite::each(test, &mut |part| {
        if let Expr::Literal(value) = part {
            found |= value.as_str().is_some_and(is_id);
        }
    });
    found
}

fn parts_ways(place: String, tests: Vec<String>) -> Diagnostic {
    Diagnostic::new(Severity::Warning, "runs-part", place, "the runs part here; each way has its own value of one field").candidates(tests)
}

fn reached_by_test(place: String, best: &Test, tests: &[Test]) -> Diagnostic {
    let rivals: Vec<String> = tests.iter().skip(1).filter(|t| t.cost - best.cost < 2.0).take(4).map(|t| t.expr.to_string()).collect();
    let is_limit = best.cost >= separate::COST_OF_A_LIMIT - 8.0
        && matches!(best.expr, Expr::Binary(BinaryOp::GreaterOrEqual | BinaryOp::LessOrEqual, _, _));
    let severity = if rivals.is_empty() && !is_limit { Severity::Warning } else { Severity::Question };
    Diagnostic::new(severity, "reached-by-test", place, format!("not always reached; the smallest test that separates is `{}`", best.expr))
        .candidates(rivals)
}

/// Runs that part without a test.
struct Parting {
    with: String,
    without: String,
    compared: Vec<Expr>,
}

impl Parting {
    /// The runs, and what was compared.
    fn told(&self) -> String {
        let compared = match self.compared.as_slice() {
            [] => "nothing is known before".to_owned(),
            several => format!("compared: {}", several.iter().map(|e| format!("`{e}`")).collect::<Vec<_>>().join(", ")),
        };
        format!("made in run {}, not in run {}; {compared}", self.with, self.without)
    }
}

fn runs_part_unseen(place: String, parting: &Parting) -> Diagnostic {
    let message = format!("the runs part here, and nothing that is known before tells them apart ({})", parting.told());
    Diagnostic::new(Severity::Error, "runs-part", place, message)
        .help("give the runs an input that says which way to go, or compile them as separate workflows")
}

fn unexplained_branch(place: String, parting: &Parting) -> Diagnostic {
    Diagnostic::new(
        Severity::Question,
        "branch-without-test",
        place,
        format!("reached in some runs only, and nothing that is known tells them apart: an input decides ({})", parting.told()),
    )
}
