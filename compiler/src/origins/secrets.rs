//! Secrets: by hint, by schema, by the name of an argument, by the shape of a known token, by what stands for one. A secret stands in no workflow
//! and no message.

use super::{Explainer, Origin, Spot, Use};
use crate::secrecy::{has_secret_shape, looks_secret, secret_parts};
use ltc_workflow::Value;
use ltc_workflow::expr::Expr;
use ltc_workflow::secret::{secret_name, stood_for};
use ltc_workflow::template::{Piece, Template};
use smol_str::SmolStr;

impl Explainer<'_> {
    /// A secret, as a reference. A value that an earlier result or an input gave is one of these instead, unless a hint says otherwise.
    pub(super) fn as_secret(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let (server, tool) = spot.tool.clone()?;
        let key = SmolStr::new(spot.key()?);
        let texts: Option<Vec<SmolStr>> = uses.iter().map(|u| u.value.as_str().map(SmolStr::new)).collect();
        let texts = texts.filter(|t| t.iter().all(|t| !t.is_empty()))?;
        let script = self.script_of(uses)?;
        let hinted = script.hints(&server).and_then(|h| h.secret.get(&key)).cloned();
        let by_schema = script.argument_schema(&server, &tool, &key).is_some_and(|s| {
            s.get("format").and_then(Value::as_str) == Some("password") || s.get("writeOnly").and_then(Value::as_bool) == Some(true)
        });
        let by_shape = texts.iter().all(|t| has_secret_shape(t));
        // A recording whose secrets were left out says itself what stood there.
        let left_out = texts.first().and_then(|t| stood_for(t)).filter(|_| texts.iter().all(|t| stood_for(t).is_some())).map(SmolStr::new);
        if hinted.is_none() && left_out.is_none() && !by_schema && !looks_secret(&key) && !by_shape {
            return None;
        }
        if hinted.is_none() && (!self.references(spot, uses).is_empty() || self.has_parts(spot, uses)) {
            return None;
        }
        let name = hinted.or(left_out).unwrap_or_else(|| secret_name(&server, &key));
        self.secret_of(spot, uses, &name, &texts)
    }

    /// A text with secrets in it: what is around them is told as ever.
    pub(super) fn with_secrets(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let (server, _) = spot.tool.clone()?;
        let first = uses.first()?;
        let text = SmolStr::new(first.value.as_str()?);
        let parts = secret_parts(&text);
        let known = |part: &str| {
            self.known.contains_key(part) || self.indexes.get(self.tree.run(first.frame)).is_some_and(|i| !i.places(part).is_empty())
        };
        let parts: Vec<_> = parts.into_iter().filter(|(start, end, _)| !known(text.get(*start..*end).unwrap_or_default())).collect();
        if parts.is_empty() {
            return None;
        }
        let mut pieces = Vec::new();
        let mut at = 0;
        for (start, end, key) in parts {
            pieces.extend(self.pieces(spot, first, text.get(at..start)?));
            let value = SmolStr::new(text.get(start..end)?);
            let used: Vec<Use> = uses.iter().map(|u| Use { value: Value::String(value.clone()), ..u.clone() }).collect();
            let name = stood_for(&value).map_or_else(|| secret_name(&server, &key), SmolStr::new);
            let texts = vec![value; used.len()];
            pieces.push(Piece::Expr(self.secret_of(spot, &used, &name, &texts)?));
            at = end;
        }
        pieces.extend(self.pieces(spot, first, text.get(at..)?));
        let template = Template::text(pieces);
        uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)).then_some(template)
    }

    /// The reference to the secret of that name, or with a number behind it where that name has another value.
    fn secret_of(&mut self, spot: &Spot, uses: &[Use], name: &SmolStr, texts: &[SmolStr]) -> Option<Expr> {
        let mut values: Vec<SmolStr> = vec![SmolStr::default(); self.scripts.len()];
        for (used, text) in uses.iter().zip(texts) {
            let slot = values.get_mut(self.tree.run(used.frame))?;
            if !slot.is_empty() && slot != text {
                return None; // A secret is one value in all of a run.
            }
            *slot = text.clone();
        }
        let name = self.secrets.named(name, &values);
        let expr = Expr::name("secrets").key(name.clone());
        if !self.gives(&expr, uses) {
            return None;
        }
        self.find(spot, Origin::Secret(name), "a secret is read from the environment".to_owned(), Vec::new());
        Some(expr)
    }
}
