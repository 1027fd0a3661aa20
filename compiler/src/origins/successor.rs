//! Numbers that come after what is known: the version after the one that was read, the row after the last.

use super::closing::Ways;
use super::evidence::distinct;
use super::{Explainer, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::names::{self, Agreement};
use crate::patterns::is_visible;
use ltc_workflow::expr::{BinaryOp, Expr, Function};
use ltc_workflow::template::Template;

/// What it costs to name a place, and to say that one is added.
const COST_OF_A_SUCCESSOR: f64 = 12.0;
/// A number that says less is after many others.
const LEAST_BITS_OF_ONE: f64 = 6.0;
/// In one recording only, a name that agrees is not everything.
const THIN: usize = 2;

impl Explainer<'_> {
    /// A number that is one more than another that was read, or than the items of a list.
    pub(super) fn successor(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        if uses.iter().any(|u| u.value.as_number().and_then(|n| n.as_i64()).is_none()) {
            return None;
        }
        let expr = self.one_more(spot, uses).or_else(|| self.length_of_list(spot, uses))?;
        if distinct(uses) < THIN {
            let place = self.place_of(spot);
            self.tell(spot.node, one_more_by_chance(place, &expr), [expr.clone()]);
        }
        self.find(spot, super::Origin::Reference(expr.clone()), "one more than what is known".to_owned(), Vec::new());
        Some(Template::Expr(expr))
    }

    /// One more than a number in a result: where names agree, or where it is so in several runs.
    fn one_more(&self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let first = uses.first()?;
        let run = self.tree.run(first.frame);
        let (script, index) = (self.scripts.get(run)?, self.indexes.get(run)?);
        let before = first.value.as_number()?.as_i64()?.checked_sub(1)?;
        let evidence = self.evidence(uses);
        let words = spot.words();
        let mut ways = Ways::default();
        let mut best: Option<(f64, Expr)> = None;
        for place in index.places(&before.to_string()).iter().filter(|p| p.span.is_none() && is_visible(script, first.call, p)) {
            let agreement = names::agreement(&words, &self.names_on_the_way(run, place));
            let enough = distinct(uses) >= THIN || (agreement == Agreement::Strong && evidence >= LEAST_BITS_OF_ONE);
            for way in ways.to(self, place, first).iter().filter(|_| enough) {
                let score = evidence + agreement.bits() - COST_OF_A_SUCCESSOR - way.length - way.closed.cost;
                let expr = way.closed.expr.clone().binary(BinaryOp::Add, Expr::Literal(1_i64.into()));
                let better = score > 0.0 && best.as_ref().is_none_or(|(known, _)| score > *known);
                if better && way.closed.guesses.is_empty() && self.gives(&expr, uses) {
                    best = Some((score, expr));
                }
            }
        }
        best.map(|(_, expr)| expr)
    }

    /// As many as a list has items, or one more: only where it is so for lists of several lengths.
    pub(super) fn length_of_list(&self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let first = uses.first()?;
        if distinct(uses) < THIN {
            return None;
        }
        self.lists_before(spot, first.frame, usize::MAX).find_map(|(list, _)| {
            let length = list.apply(Function::Len);
            let more = length.clone().binary(BinaryOp::Add, Expr::Literal(1_i64.into()));
            [length, more].into_iter().find(|expr| self.gives(expr, uses))
        })
    }
}

fn one_more_by_chance(place: String, taken: &Expr) -> Diagnostic {
    Diagnostic::new(
        Severity::Question,
        "equal-by-chance",
        place,
        format!("`{taken}` was taken because the names agree and the number is one more: it may be chance"),
    )
    .help("the hint `constants` says that the value never changes; a second recording decides by itself")
}
