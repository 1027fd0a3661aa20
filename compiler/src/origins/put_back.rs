//! What was read and is written back with a change: an object with other values for a few keys, a list with one more item.
//!
//! Before: a configuration of eight settings in a result, and an argument that has seven of them and another image. After: the configuration,
//! merged with the image. Taken apart key by key, settings that say little would be constants, and those that only other runs have would be lost.

use super::{Explainer, Origin, Spot, Use};
use crate::index::{Path, PathStep, Place, Source, scalar_text};
use crate::names::{self, Agreement};
use crate::patterns::is_visible;
use crate::rewrite::to_expr;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// So many keys with equal values are no chance; one less where the names of the two objects agree.
const SURE: usize = 3;
/// The most objects that are tried.
const MOST_BASES: usize = 8;
/// The most items that are added to a list.
const MOST_ADDED: usize = 2;

impl Explainer<'_> {
    /// An object of a result with other values for a few keys.
    pub(super) fn merged(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let (_, first) = (spot.node?, uses.first()?);
        for base in self.bases(first) {
            let Some(changed) = self.changed(spot, &base, uses) else { continue };
            let marks = (self.findings.len(), self.diagnostics.len());
            let record: Option<Vec<(SmolStr, Expr)>> =
                changed.iter().map(|key| Some((key.clone(), to_expr(&self.of_key(&spot.at(key.clone()), key, uses)?)))).collect();
            let expr = record.map(|record| Expr::Call(Function::Merge, vec![base, Expr::Record(record)]));
            if let Some(expr) = expr.filter(|expr| self.gives(expr, uses)) {
                let others = format!("an object that was read, but for {}", changed.join(", "));
                self.find(spot, Origin::Reference(expr.clone()), others, Vec::new());
                return Some(Template::Expr(expr));
            }
            self.findings.truncate(marks.0);
            self.diagnostics.truncate(marks.1);
        }
        None
    }

    fn at(&mut self, spot: &Spot, at: usize, uses: &[Use]) -> Option<Template> {
        let item = |u: &Use| Some(Use { value: u.value.at(at)?.clone(), ..u.clone() });
        let there: Vec<Use> = uses.iter().map(item).collect::<Option<_>>()?;
        self.template(&spot.at(format!("[{at}]")), &there)
    }

    fn of_key(&mut self, spot: &Spot, key: &str, uses: &[Use]) -> Option<Template> {
        let part = |u: &Use| Some(Use { value: u.value.get(key)?.clone(), ..u.clone() });
        let there: Vec<Use> = uses.iter().map(part).collect::<Option<_>>()?;
        self.template(spot, &there)
    }

    /// The objects that have values of an object under the same keys, those with most of them first, then the newest.
    fn bases(&self, used: &Use) -> Vec<Expr> {
        let run = self.tree.run(used.frame);
        let (Some(object), Some(script), Some(index)) = (used.value.as_object(), self.scripts.get(run), self.indexes.get(run)) else {
            return Vec::new();
        };
        let mut found: BTreeMap<(Source, Vec<PathStep>), usize> = BTreeMap::new();
        for (key, value) in object.iter() {
            let places = scalar_text(value).map_or_else(|| index.trees(value), |text| index.places(text));
            for place in places.iter().filter(|p| p.span.is_none() && is_visible(script, used.call, p)) {
                if let (Source::Call(_), Some((PathStep::Key(last), parent))) = (place.source, place.path.split_last())
                    && last == key
                {
                    *found.entry((place.source, parent.to_vec())).or_default() += 1;
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by(|((a, _), n), ((b, _), m)| m.cmp(n).then(b.cmp(a)));
        let mut exprs = Vec::new();
        for ((source, path), _) in found.into_iter().take(MOST_BASES) {
            let place = Place { source, path: Path::from(path), span: None };
            for relative in self.relative(source, &place.path, used.frame) {
                let closed = self.closings(&relative, used, Some(&place)).into_iter().find(|c| c.guesses.is_empty());
                exprs.extend(closed.map(|c| c.expr));
            }
        }
        exprs
    }

    /// The keys that have other values than in `base`, where that is nearly the same object in every frame: none of its keys is missing.
    fn changed(&self, spot: &Spot, base: &Expr, uses: &[Use]) -> Option<Vec<SmolStr>> {
        let alike = match base {
            Expr::Key(_, key) => names::agreement(&spot.words(), &[key]) == Agreement::Strong,
            _ => false,
        };
        let mut changed: Vec<SmolStr> = Vec::new();
        let mut pairs: Vec<(&Object, Object)> = Vec::new();
        for used in uses {
            let Some(Value::Object(known)) = self.value_in(base, used.frame) else { return None };
            pairs.push((used.value.as_object()?, known));
        }
        for (object, known) in &pairs {
            if known.keys().any(|key| !object.contains_key(key)) {
                return None;
            }
            let others = object.iter().filter(|(key, value)| known.get(key) != Some(value)).map(|(key, _)| key);
            for key in others {
                if !changed.contains(key) {
                    changed.push(key.clone());
                }
            }
        }
        let kept = |(object, _): &(&Object, Object)| object.keys().filter(|key| !changed.contains(key)).count();
        let least = pairs.iter().map(kept).min().unwrap_or(0);
        (!changed.is_empty() && least >= changed.len() && least + usize::from(alike) >= SURE).then_some(changed)
    }

    /// A list that was read, or is made of one, with one or two more items behind it.
    pub(super) fn appended(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let rows: Vec<&[Value]> = uses.iter().map(|u| u.value.as_array()).collect::<Option<_>>()?;
        for added in 1..=MOST_ADDED {
            // One item may stand in many lists: what is added to must have been a list of several somewhere.
            if rows.iter().any(|row| row.len() < added) || rows.iter().all(|row| row.len() < added + 2) {
                return None;
            }
            let split: Vec<(&[Value], &[Value])> =
                rows.iter().map(|row| row.split_at_checked(row.len().saturating_sub(added))).collect::<Option<_>>()?;
            let heads: Vec<Use> =
                uses.iter().zip(&split).map(|(u, (head, _))| Use { value: Value::array(head.to_vec()), ..u.clone() }).collect();
            let marks = (self.findings.len(), self.diagnostics.len());
            let known = self.references(spot, &heads).into_iter().next().filter(|c| c.guesses.is_empty()).map(|c| c.expr);
            if let Some(list) = known.or_else(|| self.list_of(spot, &heads)) {
                let tail = |u: &Use, tail: &[Value]| Use { value: Value::array(tail.to_vec()), ..u.clone() };
                let tails: Vec<Use> = uses.iter().zip(&split).map(|(u, (_, added))| tail(u, added)).collect();
                let items: Option<Vec<Expr>> = (0..added).map(|at| Some(to_expr(&self.at(spot, at, &tails)?))).collect();
                let expr = items.map(|items| Expr::Call(Function::Concat, vec![list, Expr::List(items)]));
                if let Some(expr) = expr.filter(|expr| self.gives(expr, uses)) {
                    self.find(spot, Origin::Reference(expr.clone()), "a list that was read, and more".to_owned(), Vec::new());
                    return Some(Template::Expr(expr));
                }
            }
            self.findings.truncate(marks.0);
            self.diagnostics.truncate(marks.1);
        }
        None
    }
}
