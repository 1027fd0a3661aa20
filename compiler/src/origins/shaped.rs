//! Texts in another shape: in another case, as a slug, percent-encoded.
//!
//! Before: an issue with the title `Login fails on Safari`, and an argument `fix/login-fails-on-safari`. After: `fix/` and the slug of the
//! title. What the run was given and what was found last is put into each shape and looked for; for all other texts the index knows where one of
//! the same words stands.

use super::parts::Part;
use super::{Explainer, Use};
use crate::index::shaped_windows;
use crate::patterns::is_visible;
use crate::text::{is_specific, tokens_from};
use crate::tree::FrameId;
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};
use smol_str::SmolStr;

/// Texts of more words than this hold nothing in another shape.
const MOST_SHAPED: usize = 60;
/// What it costs to name a place, a part of a text, and the shape.
const COST_OF_A_SHAPE: f64 = 12.0;
/// The shapes that a text may have.
const SHAPES: [Function; 4] = [Function::Lower, Function::Upper, Function::Slug, Function::UrlEncode];

impl Explainer<'_> {
    /// What is known in other shapes, where these differ from it: the text, and the expression that gives it.
    pub(super) fn shapes(&self, frame: FrameId, text: &str) -> Vec<(SmolStr, Expr)> {
        if tokens_from(text, 0).nth(MOST_SHAPED).is_some() {
            return Vec::new();
        }
        let given = self.given_features(&[frame]).into_iter().map(|f| f.expr);
        let recent = self.recent.iter().filter(|_| looks_shaped(text)).cloned();
        let mut found = Vec::new();
        for expr in given.chain(recent) {
            let Some(Value::String(text)) = self.value_in(&expr, frame) else { continue };
            for function in SHAPES {
                let shaped = expr.clone().apply(function);
                if let Some(Value::String(shape)) = self.value_in(&shaped, frame)
                    && shape != text
                    && !found.iter().any(|(known, _)| *known == shape)
                {
                    found.push((shape, shaped));
                }
            }
        }
        found
    }

    /// Parts of a text that are a text of a result in another shape.
    pub(super) fn spelled_parts(&self, model: &Use, text: &str) -> Vec<Part> {
        let mut found = Vec::new();
        for (start, end) in shaped_windows(text) {
            let part = text.get(start..end).unwrap_or_default();
            let made = self.spelled(model, part).into_iter().next();
            found.extend(made.map(|expr| Part {
                start,
                end,
                expr,
                score: bits(part) - COST_OF_A_SHAPE,
                object: None,
                guesses: Vec::new(),
            }));
        }
        found
    }

    /// The texts of results of which a text has the words, in the shape that makes them equal; nothing where it stands there as it is.
    pub(super) fn spelled(&self, model: &Use, text: &str) -> Vec<Expr> {
        let run = self.tree.run(model.frame);
        let Some((script, index)) = self.scripts.get(run).zip(self.indexes.get(run)) else { return Vec::new() };
        let wanted = Value::from(text);
        let mut found = Vec::new();
        for place in index.places_spelled(text).iter().filter(|place| is_visible(script, model.call, place)) {
            for relative in self.relative(place.source, &place.path, model.frame) {
                for closed in self.closings(&relative, model, Some(place)).into_iter().filter(|c| c.guesses.is_empty()) {
                    match self.value_in(&closed.expr, model.frame) {
                        Some(known) if known == wanted => return Vec::new(),
                        Some(known) if self.is_echo(run, place, &known) => continue,
                        Some(_) | None => {}
                    }
                    let shapes = SHAPES.into_iter().map(|function| closed.expr.clone().apply(function));
                    found.extend(shapes.filter(|expr| self.value_in(expr, model.frame).as_ref() == Some(&wanted)).take(1));
                }
            }
        }
        found
    }
}

/// Whether a text may hold something in another shape: words with dashes between them, percent signs, or one case throughout.
pub(super) fn looks_shaped(text: &str) -> bool {
    let letters = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let dashed = text.match_indices('-').any(|(at, _)| {
        letters(text.get(..at).and_then(|t| t.chars().next_back())) && letters(text.get(at + 1..).and_then(|t| t.chars().next()))
    });
    let one_case = || !text.chars().any(char::is_lowercase) || !text.chars().any(char::is_uppercase);
    let lone = !text.contains(char::is_whitespace) && text.len() < 200;
    dashed || text.contains('%') || (lone && text.chars().filter(|c| c.is_alphabetic()).count() > 5 && !is_specific(text) && one_case())
}
