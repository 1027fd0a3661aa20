//! Values that are another one with a change: an object with some fields set, a list with an item more.
//!
//! Before: a configuration was read, one field replaced, and all of it put back. After: `merge(steps.get.config, {image: inputs.image})`,
//! which puts back fields that the recording has not seen.

use super::separate::features;
use super::{Explainer, Origin, Spot, Use};
use crate::rewrite::to_expr;
use crate::tree::step_name;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

/// The most earlier steps whose results are looked at.
const MOST_NODES: usize = 12;
/// Fewer fields may be the same by chance.
const FEWEST_SAME: usize = 3;

impl Explainer<'_> {
    /// An argument that is an object of a result with some fields set to something else.
    pub(super) fn changed_object(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        if spot.node.is_none() || spot.path.is_empty() {
            return None;
        }
        let rows: Vec<&Object> = uses.iter().map(|u| u.value.as_object()).collect::<Option<_>>()?;
        let first = uses.first()?;
        for node in self.nodes_before(spot).into_iter().take(MOST_NODES) {
            let step = Expr::step(step_name(node));
            let value = self.tree.value(self.scripts, node, first.frame);
            let inner = features(&step, std::slice::from_ref(&value)).into_iter().map(|f| f.expr);
            let bases =
                std::iter::once(step.clone()).chain(inner).filter(|e| matches!(self.value_in(e, first.frame), Some(Value::Object(_))));
            for base in bases.collect::<Vec<_>>() {
                let Some(changed) = self.changes(&base, uses, &rows) else { continue };
                let marks = (self.findings.len(), self.diagnostics.len());
                if let Some(expr) = self.merged(spot, uses, base, &changed) {
                    self.find(spot, Origin::Reference(expr.clone()), "an object of a result with fields set".to_owned(), Vec::new());
                    return Some(expr);
                }
                self.findings.truncate(marks.0);
                self.diagnostics.truncate(marks.1);
            }
        }
        None
    }

    /// The fields in which objects differ from what `base` gives; `None` where that has others, or too little is the same.
    fn changes(&self, base: &Expr, uses: &[Use], rows: &[&Object]) -> Option<Vec<SmolStr>> {
        let mut changed: Vec<SmolStr> = Vec::new();
        for (used, row) in uses.iter().zip(rows) {
            let Value::Object(given) = self.value_in(base, used.frame)? else { return None };
            if given.keys().any(|key| !row.contains_key(key)) {
                return None;
            }
            let differs = |(key, value): &(&SmolStr, &Value)| given.get(key) != Some(*value);
            let here: Vec<SmolStr> = row.iter().map(|(k, v)| (k, v)).filter(differs).map(|(key, _)| key.clone()).collect();
            if row.len() < here.len() + FEWEST_SAME {
                return None;
            }
            changed.extend(here);
        }
        changed.sort();
        changed.dedup();
        (!changed.is_empty()).then_some(changed)
    }

    fn merged(&mut self, spot: &Spot, uses: &[Use], base: Expr, changed: &[SmolStr]) -> Option<Expr> {
        let mut entries = Vec::new();
        for key in changed {
            let part = |u: &Use| Some(Use { value: u.value.get(key)?.clone(), ..u.clone() });
            let parts: Vec<Use> = uses.iter().map(part).collect::<Option<_>>()?;
            entries.push((key.clone(), to_expr(&self.template(&spot.at(key.clone()), &parts)?)));
        }
        let expr = Expr::Call(Function::Merge, vec![base, Expr::Record(entries)]);
        self.gives(&expr, uses).then_some(expr)
    }

    /// A list that is made of another one, with an item more at its end or its start.
    pub(super) fn list_and_more(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let rows: Vec<&[Value]> = uses.iter().map(|u| u.value.as_array().filter(|row| !row.is_empty())).collect::<Option<_>>()?;
        if !rows.iter().any(|row| row.len() > 2) {
            return None;
        }
        for at_end in [true, false] {
            let part = |of: fn(&[Value], bool) -> Option<Value>| -> Option<Vec<Use>> {
                uses.iter().zip(&rows).map(|(u, row)| Some(Use { value: of(row, at_end)?, ..u.clone() })).collect()
            };
            let more = part(|row, at_end| if at_end { row.last().cloned() } else { row.first().cloned() })?;
            let rest = part(|row, at_end| {
                let items = if at_end { row.get(..row.len() - 1) } else { row.get(1..) };
                items.map(|items| Value::array(items.to_vec()))
            })?;
            let best = self.references(spot, &more).into_iter().next().filter(|c| !matches!(c.expr, Expr::Literal(_)));
            let Some(more) = best else { continue };
            let whole = self.references(spot, &rest).into_iter().next().map(|c| c.expr);
            let Some(list) = whole.or_else(|| self.list_of(spot, &rest)) else { continue };
            let item = Expr::List(vec![more.expr]);
            let expr = Expr::Call(Function::Concat, if at_end { vec![list, item] } else { vec![item, list] });
            if self.gives(&expr, uses) {
                self.find(spot, Origin::Reference(expr.clone()), "a list, and one item more".to_owned(), Vec::new());
                return Some(Template::Expr(expr));
            }
        }
        None
    }
}
