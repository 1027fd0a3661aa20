//! JSON in a text: what goes into it is always written as JSON.

use super::{Explainer, Origin, Spot, Use};
use crate::index::open_json;
use crate::rewrite::to_expr;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::{Piece, Template};
use ltc_workflow::{Value, json};
use smol_str::SmolStr;

impl Explainer<'_> {
    /// A JSON text that holds references: of an object as one expression where the text is written without blanks, else piece by piece.
    /// What goes in is always written as JSON: a quote in a value must not end its text.
    pub(super) fn json_text(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let marks = (self.findings.len(), self.diagnostics.len());
        let made = self.json_whole(spot, uses).map(Template::Expr).or_else(|| self.json_pieces(spot, uses));
        let found = self.findings.get(marks.0..).unwrap_or_default();
        let refers = found.iter().any(|f| matches!(f.origin, Origin::Reference(_) | Origin::Text(_)));
        if made.is_none() || !refers {
            self.findings.truncate(marks.0);
            self.diagnostics.truncate(marks.1);
            return None;
        }
        made
    }

    pub(super) fn json_whole(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let opened = |u: &Use| {
            let text = u.value.as_str()?;
            let value = open_json(text)?;
            (json::to_string(&value) == text).then_some(Use { value, ..u.clone() })
        };
        let inner: Vec<Use> = uses.iter().map(opened).collect::<Option<_>>()?;
        let inner_spot = spot.at("(json)");
        let expr = to_expr(&self.template(&inner_spot, &inner)?).apply(Function::ToJson);
        self.gives(&expr, uses).then_some(expr)
    }

    pub(super) fn json_pieces(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let first = uses.first()?;
        let text = first.value.as_str()?;
        let mut pieces = Vec::new();
        let mut at = 0;
        for (key, start, end) in json_scalars(text) {
            let raw = text.get(start..end)?;
            let Ok(value) = json::parse(raw.as_bytes()) else { continue };
            let used = [Use { value, ..first.clone() }];
            let marks = (self.findings.len(), self.diagnostics.len());
            let inside = spot.at("(json)");
            let template = self.template(&if key.is_empty() { inside } else { inside.at(key) }, &used)?;
            let expr = match to_expr(&template) {
                Expr::Literal(_) => None,
                expr => Some(expr.apply(Function::ToJson))
                    .filter(|e| self.value_in(e, first.frame).as_ref().and_then(Value::as_str) == Some(raw)),
            };
            match expr {
                Some(expr) => {
                    pieces.push(Piece::Text(SmolStr::new(text.get(at..start)?)));
                    pieces.push(Piece::Expr(expr));
                    at = end;
                }
                None => {
                    self.findings.truncate(marks.0);
                    self.diagnostics.truncate(marks.1);
                }
            }
        }
        pieces.push(Piece::Text(SmolStr::new(text.get(at..)?)));
        let template = Template::text(pieces);
        uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)).then_some(template)
    }
}

/// The strings and numbers of a JSON text that are no keys, with their quotes; each with the key before it.
fn json_scalars(text: &str) -> Vec<(&str, usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut key = "";
    while let Some(byte) = bytes.get(at) {
        let start = at;
        if *byte == b'"' {
            at += 1;
            while let Some(b) = bytes.get(at).filter(|b| **b != b'"') {
                at += if *b == b'\\' { 2 } else { 1 };
            }
            at += 1;
            let next = bytes.iter().skip(at).find(|b| !b.is_ascii_whitespace());
            match next {
                Some(b':') => key = text.get(start + 1..at.saturating_sub(1)).unwrap_or_default(),
                _ => found.push((key, start, at.min(text.len()))),
            }
        } else if byte.is_ascii_digit() || *byte == b'-' {
            while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)) {
                at += 1;
            }
            found.push((key, start, at));
        } else {
            at += 1;
        }
    }
    found
}
