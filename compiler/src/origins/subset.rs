//! Which items of a list were chosen: the smallest test over their own fields, inputs, and what earlier steps gave.

use super::lists::Choice;
use super::separate::{self, Feature, Test, features};
use super::{Explainer, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::index::scalar_text;
use crate::plan::Point;
use crate::rewrite;
use crate::tree::{FrameId, NodeId, item_name, step_name};
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr};
use smol_str::SmolStr;
use std::collections::BTreeSet;

/// The most earlier steps whose results are compared with the items of a list, nearest first.
const MOST_EARLIER: usize = 12;
/// An earlier result is a less likely measure than an input is.
const FARTHER_THAN_AN_INPUT: usize = 4;
/// What a test is worth more by which a loop chose its items before.
const WORTH_OF_THE_SAME_TEST: f64 = 8.0;
/// What it costs that all items but one are taken, beside how that one is told.
const COST_OF_ALL_BUT_ONE: f64 = 3.0;

impl Explainer<'_> {
    /// The test that says which items of a list were chosen; several that are equally small are reported.
    pub(super) fn subset(&mut self, spot: &Spot, uses: &[Use], choice: &Choice, name: &SmolStr) -> Option<Expr> {
        let rows: Vec<(usize, &Value, bool)> =
            choice.elements.iter().enumerate().flat_map(|(at, e)| e.iter().map(move |(value, chosen)| (at, value, *chosen))).collect();
        let chosen: Vec<bool> = rows.iter().map(|(_, _, c)| *c).collect();
        let values: Vec<Option<Value>> = rows.iter().map(|(_, v, _)| Some((*v).clone())).collect();
        let frames: Vec<FrameId> = rows.iter().filter_map(|(at, _, _)| uses.get(*at).map(|u| u.frame)).collect();
        let mut known = self.given_features(&frames);
        known.extend(self.earlier_features(spot, choice, &frames));
        let mut tests = separate::separate(&features(&Expr::name(name.clone()), &values), &known, &chosen);
        tests.extend(self.all_but(uses, choice, name));
        let before = self.tests_before(uses, choice, name);
        tests.iter_mut().filter(|t| before.contains(&t.expr)).for_each(|t| t.cost -= WORTH_OF_THE_SAME_TEST);
        tests.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let best = tests.first()?.clone();
        let rivals: Vec<String> = tests.iter().skip(1).filter(|t| t.cost - best.cost < 2.0).take(4).map(|t| t.expr.to_string()).collect();
        let place = self.place_of(spot);
        let count = chosen.iter().filter(|c| **c).count();
        self.tell(spot.node, chosen_by_test(place, &best.expr, count, chosen.len(), rivals), [best.expr.clone()]);
        Some(best.expr)
    }

    /// The scalar inputs, as features of rows.
    pub(super) fn given_features(&self, frames: &[FrameId]) -> Vec<Feature> {
        let inputs: Vec<Option<Value>> = frames.iter().map(|f| self.input(self.tree.run(*f)).map(Value::Object)).collect();
        features(&Expr::name("inputs"), &inputs)
    }

    /// The tests by which loops chose items of the same list: who reports on them means the same items.
    fn tests_before(&self, uses: &[Use], choice: &Choice, name: &SmolStr) -> Vec<Expr> {
        let Some(list) = uses.first().and_then(|used| self.list_expr(&choice.domain, used)) else { return Vec::new() };
        let renamed = |node: &NodeId, test: &Expr| {
            rewrite::map(test.clone(), &mut |e| if e == Expr::name(item_name(*node)) { Expr::name(name.clone()) } else { e })
        };
        let of_list = |(node, point): (&NodeId, &Point)| match point {
            Point::Each { list: walked, test: Some(test) } if *walked == list => Some(renamed(node, test)),
            Point::Each { .. } | Point::Call(_) | Point::Repeat { .. } => None,
        };
        self.points.iter().filter_map(of_list).collect()
    }

    /// What earlier steps gave, and the items of the loops around, as features of rows: each value with the frame that a row belongs to.
    fn earlier_features(&self, spot: &Spot, choice: &Choice, frames: &[FrameId]) -> Vec<Feature> {
        let mut found = Vec::new();
        let chains: Vec<Vec<FrameId>> = frames.iter().map(|frame| self.tree.chain(*frame)).collect();
        for round in chains.first().into_iter().flatten() {
            if let Some(of) = self.tree.frame(*round).and_then(|f| f.of) {
                let item = Expr::name(item_name(of));
                let of_loop = |chain: &Vec<FrameId>| chain.iter().copied().find(|f| self.tree.frame(*f).is_some_and(|f| f.of == Some(of)));
                let items: Vec<Option<Value>> = chains.iter().map(|chain| self.tree.item(self.scripts, of_loop(chain)?)).collect();
                found.extend(features(&item, &items));
            }
        }
        for node in self.steps_before(spot).into_iter().take(MOST_EARLIER) {
            let step = Expr::step(step_name(node));
            if !rewrite::mentions(&choice.domain.base, &step) {
                let value = |chain: &Vec<FrameId>| chain.iter().find_map(|frame| self.tree.value(self.scripts, node, *frame));
                let values: Vec<Option<Value>> = chains.iter().map(value).collect();
                let farther = |f: Feature| Feature { depth: f.depth + FARTHER_THAN_AN_INPUT, ..f };
                found.extend(features(&step, &values).into_iter().map(farther));
            }
        }
        found
    }

    /// All items but one, where that one can be picked: `item.id != min_by(list, x, x.created_at).id`.
    fn all_but(&self, uses: &[Use], choice: &Choice, name: &SmolStr) -> Option<Test> {
        let left: Vec<usize> = choice.elements.iter().map(|e| e.iter().position(|(_, chosen)| !chosen)).collect::<Option<_>>()?;
        let one = |e: &Vec<(Value, bool)>| e.len() > 1 && e.iter().filter(|(_, chosen)| !chosen).count() == 1;
        if !choice.elements.iter().all(one) {
            return None;
        }
        let list = self.list_expr(&choice.domain, uses.first()?)?;
        let mut picks: Option<Vec<super::closing::Closed>> = None;
        for ((used, elements), at) in uses.iter().zip(&choice.elements).zip(left) {
            let items = Value::array(elements.iter().map(|(v, _)| v.clone()).collect());
            let here = self.picks(&list, &items, at, used, None);
            picks = Some(match picks {
                None => here,
                Some(before) => before.into_iter().filter(|p| here.iter().any(|h| h.expr == p.expr)).collect(),
            });
        }
        let pick = picks?.into_iter().next()?;
        let first = choice.elements.first()?;
        let tells_apart = |path: &Vec<SmolStr>| {
            choice.elements.iter().all(|e| {
                let values: Option<BTreeSet<_>> = e.iter().map(|(v, _)| super::pick::field(v, path).and_then(scalar_text)).collect();
                values.is_some_and(|values| values.len() == e.len())
            })
        };
        // The shortest of the names of what tells the items apart is most likely to be their key.
        let key = super::pick::fields(&first.first()?.0).into_iter().map(|(path, _)| path).filter(tells_apart);
        let key = key.min_by_key(|path| (path.len(), path.last().map_or(0, SmolStr::len)))?;
        let of = |base: Expr| super::pick::Keys::keys(base, &key);
        Some(Test { expr: of(Expr::name(name.clone())).binary(BinaryOp::NotEqual, of(pick.expr)), cost: COST_OF_ALL_BUT_ONE + pick.cost })
    }
}

fn chosen_by_test(place: String, test: &Expr, count: usize, of: usize, rivals: Vec<String>) -> Diagnostic {
    let (severity, help) = if rivals.is_empty() {
        (Severity::Warning, "a second recording with other items confirms it or shows a better one")
    } else {
        (Severity::Question, "several tests are as small; a second recording with other items decides")
    };
    Diagnostic::new(
        severity,
        "subset-of-list",
        place,
        format!("{count} of {of} items were chosen; the smallest test that separates them is `{test}`"),
    )
    .candidates(rivals)
    .help(help)
}
