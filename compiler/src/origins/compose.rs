//! Texts that are made of something: fixed text with references in it, items joined by a separator, JSON in a text, a slug.
//!
//! Before: `https://shop.example.com/users/usr_81/orders` and an earlier result `{id: "usr_81"}`. After:
//! `https://shop.example.com/users/${{ … .id }}/orders`. A part is replaced only between words, and only where it says enough.

use super::anchors::{borders, common_prefix, common_suffix};
use super::candidates::{key_before, literal};
use super::parts::{Part, unwrapped};
use super::value::picked_by_order;
use super::{Explainer, Origin, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::index::{Place, Source, follow, open_json, windows};
use crate::patterns::is_visible;
use crate::text::is_specific;
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::{Piece, Template};
use smol_str::SmolStr;

/// Separators that join items, longest first.
const SEPARATORS: &[&str] = &[", ", "; ", " | ", "\n", ",", ";", "|", " ", "+", "/", ":"];
/// What a text must say to be taken for another one in other letters: a place, and which way it was changed.
const LEAST_BITS_IN_ANOTHER_CASE: f64 = 12.0;
/// What stays in a text and says less may be one of many.
const LEAST_BITS_OF_A_REST: f64 = 10.0;

impl Explainer<'_> {
    /// The template for a text that is no reference as a whole.
    pub(super) fn compose(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        if let Some(expr) = self.reshaped(uses).or_else(|| self.joined(spot, uses)) {
            self.find(spot, Origin::Reference(expr.clone()), "made from what is known".to_owned(), Vec::new());
            return Some(Template::Expr(expr));
        }
        if uses.iter().all(|u| u.value.as_str().is_some_and(|text| open_json(text).is_some())) {
            return self.json_text(spot, uses);
        }
        let template = self.parts_of_first(spot, uses).or_else(|| self.common_parts(spot, uses)).or_else(|| self.aligned(spot, uses))?;
        self.know_parts(spot, uses, &template);
        self.ask_about_rests(spot, uses, &template);
        self.find(spot, Origin::Text(template.clone()), "parts of the text come from elsewhere".to_owned(), Vec::new());
        Some(template)
    }

    /// Items of a list, joined by a separator.
    pub(super) fn joined(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        for separator in SEPARATORS {
            let rows: Vec<Vec<Value>> =
                uses.iter().filter_map(|u| u.value.as_str()).map(|text| text.split(separator).map(Value::from).collect()).collect();
            if rows.iter().all(|row: &Vec<Value>| row.len() < 2) || rows.iter().flatten().any(|v| v.as_str() == Some("")) {
                continue;
            }
            if let Some(list) = self.mapped(spot, uses, &rows) {
                let expr = Expr::Call(Function::Join, vec![list, literal(separator)]);
                if self.gives(&expr, uses) {
                    return Some(expr);
                }
            }
        }
        None
    }

    /// Something known in lower case, in upper case, as a slug or percent-encoded.
    pub(super) fn reshaped(&self, uses: &[Use]) -> Option<Expr> {
        let first = uses.first()?;
        let text = first.value.as_str()?;
        let shaped = self.shapes(first.frame, text);
        shaped
            .into_iter()
            .filter(|(shape, _)| shape == text && bits(text) >= 10.0)
            .map(|(_, expr)| expr)
            .chain(self.spelled(first, text))
            .find(|expr| self.gives(expr, uses))
            .or_else(|| self.in_another_case(uses))
    }

    /// A whole value of a result, of which nothing else is used, in lower or upper case.
    fn in_another_case(&self, uses: &[Use]) -> Option<Expr> {
        if self.evidence(uses) < LEAST_BITS_IN_ANOTHER_CASE {
            return None;
        }
        let first = uses.first()?;
        let run = self.tree.run(first.frame);
        let (script, index) = (self.scripts.get(run)?, self.indexes.get(run)?);
        let seen = |place: &&Place| is_visible(script, first.call, place);
        for place in index.places_in_any_case(first.value.as_str()?).iter().filter(seen) {
            for relative in self.relative(place.source, &place.path, first.frame) {
                for closed in self.closings(&relative, first, Some(place)).into_iter().filter(|c| c.guesses.is_empty()) {
                    // Where it has that case already it is the value itself, and was not taken for it.
                    if uses.iter().all(|u| self.value_in(&closed.expr, u.frame).as_ref() == Some(&u.value)) {
                        continue;
                    }
                    let shapes = [Function::Lower, Function::Upper].map(|function| closed.expr.clone().apply(function));
                    if let Some(expr) = shapes.into_iter().find(|expr| self.gives(expr, uses)) {
                        return Some(expr);
                    }
                }
            }
        }
        None
    }

    /// The parts of the first text that references give, tried out on all others.
    pub(super) fn parts_of_first(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        for model in uses.iter().take(2) {
            let text = model.value.as_str()?;
            let parts = self.best_parts(spot, model, text);
            if parts.is_empty() {
                continue;
            }
            let template = assemble(text, &parts);
            if uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)) {
                let confirmed = self.runs_of(uses) > 1;
                for (part, guess) in parts.iter().flat_map(|p| p.guesses.iter().map(move |g| (p, g))) {
                    let told = picked_by_order(self.place_of(spot), &part.expr, guess, std::iter::empty(), confirmed);
                    self.tell(spot.node, told, [part.expr.clone()]);
                }
                return Some(template);
            }
        }
        None
    }

    /// Remembers what the parts of a text were taken for.
    pub(super) fn know_parts(&mut self, spot: &Spot, uses: &[Use], template: &Template) {
        let (Template::Text(pieces), Some(first)) = (template, uses.first()) else { return };
        for piece in pieces {
            if let Piece::Expr(expr) = piece
                && let Some(value) = self.value_in(expr, first.frame)
            {
                self.know(spot, &value, expr.clone());
            }
        }
    }

    /// Asks about what stays as it is in a text that is taken apart, though it is a value of a result too: with one recording, nobody knows whether it
    /// is the same the next time.
    fn ask_about_rests(&mut self, spot: &Spot, uses: &[Use], template: &Template) {
        let (Template::Text(pieces), Some(first)) = (template, uses.first()) else { return };
        if self.runs_of(uses) > 1 {
            return;
        }
        let fixed = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Expr(_) => None,
        });
        let rests: Vec<SmolStr> = fixed.filter_map(|text| self.value_left_in(first, text)).collect();
        for rest in rests {
            let place = self.place_of(spot);
            self.tell(spot.node, rest_of_a_text(place, &rest), []);
        }
    }

    /// The longest part of a text that is the whole of a value in a result, or stands behind a key in one, and says more than a word.
    fn value_left_in(&self, used: &Use, text: &str) -> Option<SmolStr> {
        let run = self.tree.run(used.frame);
        let (script, index) = (self.scripts.get(run)?, self.indexes.get(run)?);
        let mut windows = windows(text);
        windows.push((0, text.len()));
        let parts = windows.into_iter().filter_map(|(start, end)| text.get(start..end));
        let is_left = |part: &&str| {
            let value = Value::from(*part);
            let is_value = |place: &Place| {
                let Source::Call(call) = place.source else { return false };
                let is_named = |(start, _): (usize, usize)| {
                    let text = script.calls.get(call).and_then(|act| follow(&act.value, &place.path));
                    text.is_some_and(|t| t.as_str().and_then(|t| key_before(t.get(..start)?)).is_some())
                };
                is_visible(script, used.call, place) && place.span.is_none_or(is_named) && !self.is_echo(run, place, &value)
            };
            is_specific(part) && bits(part) >= LEAST_BITS_OF_A_REST && index.places(part).iter().any(is_value)
        };
        parts.filter(is_left).max_by_key(|part| part.len()).map(SmolStr::new)
    }

    /// Where the first text cannot be taken apart alone: what all texts share stays, and what differs must come from somewhere.
    pub(super) fn common_parts(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let texts: Vec<&str> = uses.iter().filter_map(|u| u.value.as_str()).collect();
        let first = *texts.first()?;
        if texts.len() < 2 || texts.iter().all(|t| *t == first) {
            return None;
        }
        let shared_start = texts.iter().fold(first.len(), |n, t| common_prefix(first, t).min(n));
        let shared_end =
            texts.iter().fold(first.len() - shared_start, |n, t| common_suffix(first, t).min(n).min(t.len().saturating_sub(shared_start)));
        let starts: Vec<usize> = borders(first, 0, shared_start).into_iter().rev().take(4).collect();
        let ends: Vec<usize> = borders(first, first.len() - shared_end, first.len()).into_iter().take(4).collect();
        for start in &starts {
            for end in &ends {
                let tail = first.len() - end;
                let middle = |u: &Use| {
                    Some(Use {
                        value: Value::from(u.value.as_str()?.get(*start..u.value.as_str()?.len().checked_sub(tail)?)?),
                        ..u.clone()
                    })
                };
                let Some(middles) = uses.iter().map(middle).collect::<Option<Vec<Use>>>() else { continue };
                let Some(best) = self.references(spot, &middles).into_iter().next() else { continue };
                let model = uses.first()?;
                let mut pieces = self.pieces(spot, model, first.get(..*start)?);
                pieces.push(Piece::Expr(unwrapped(best.expr)));
                pieces.extend(self.pieces(spot, model, first.get(*end..)?));
                let template = Template::Text(pieces);
                if uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)) {
                    return Some(template);
                }
            }
        }
        None
    }

    pub(super) fn pieces(&self, spot: &Spot, model: &Use, text: &str) -> Vec<Piece> {
        match assemble(text, &self.best_parts(spot, model, text)) {
            Template::Text(pieces) => pieces,
            Template::Expr(expr) => vec![Piece::Expr(expr)],
            Template::Literal(_) | Template::Array(_) | Template::Object(_) if text.is_empty() => Vec::new(),
            Template::Literal(_) | Template::Array(_) | Template::Object(_) => vec![Piece::Text(SmolStr::new(text))],
        }
    }
}

fn rest_of_a_text(place: String, rest: &str) -> Diagnostic {
    let message = format!(
        "{} in this text stands in a result too, but is too little for a reference: every run will send it",
        ltc_workflow::json::quote(rest)
    );
    Diagnostic::new(Severity::Question, "constant-in-text", place, message)
        .help("the hint `prefer` names the result field to take; a second recording with other values decides by itself")
}

fn assemble(text: &str, parts: &[Part]) -> Template {
    let mut pieces = Vec::new();
    let mut at = 0;
    for part in parts {
        if part.start > at {
            pieces.push(Piece::Text(SmolStr::new(text.get(at..part.start).unwrap_or_default())));
        }
        pieces.push(Piece::Expr(part.expr.clone()));
        at = part.end;
    }
    if at < text.len() {
        pieces.push(Piece::Text(SmolStr::new(text.get(at..).unwrap_or_default())));
    }
    match pieces.as_slice() {
        [Piece::Text(text)] => Template::Literal(Value::String(text.clone())),
        [] => Template::Literal(Value::from("")),
        _ => Template::Text(pieces),
    }
}
