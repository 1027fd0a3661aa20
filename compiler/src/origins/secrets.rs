//! Secrets: by hint, by schema, by the name of an argument, by the shape of a known token. A secret stands in no workflow and no message.

use super::{Explainer, Origin, Spot, Use};
use crate::diagnostics::Diagnostic;
use crate::names;
use ltc_workflow::Value;
use ltc_workflow::expr::Expr;
use ltc_workflow::template::{Piece, Template};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The secrets of the workflow, and what they were in each run.
#[derive(Debug, Default)]
pub struct Secrets {
    values: BTreeMap<SmolStr, Vec<SmolStr>>,
}

impl Secrets {
    /// What a secret was, run by run.
    pub fn values(&self, name: &str) -> &[SmolStr] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// What each was in a run that used it.
    pub fn of(&self, run: usize) -> BTreeMap<SmolStr, SmolStr> {
        let value = |(name, values): (&SmolStr, &Vec<SmolStr>)| Some((name.clone(), values.get(run)?.clone()));
        self.values.iter().filter_map(value).filter(|(_, value)| !value.is_empty()).collect()
    }

    /// `text` without the value of any secret.
    pub fn hide(&self, text: &str) -> String {
        let known =
            self.values.iter().flat_map(|(name, values)| values.iter().map(move |v| (name, v))).filter(|(_, v)| v.len() >= LEAST_HIDDEN);
        known.fold(text.to_owned(), |text, (name, value)| {
            if text.contains(value.as_str()) { text.replace(value.as_str(), &format!("[secret {name}]")) } else { text }
        })
    }

    /// Whether `text` holds the value of a secret, or something that has the shape of one.
    pub fn stand_in(&self, text: &str) -> bool {
        self.hide(text) != text || !secret_parts(text).is_empty()
    }

    /// Diagnostics without the value of any secret, in order, each once.
    pub fn hidden_in(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut hidden: Vec<Diagnostic> = diagnostics.into_iter().map(|d| d.renamed(|text| self.hide(text))).collect();
        hidden.sort();
        hidden.dedup();
        hidden
    }

    /// Their names.
    pub fn names(&self) -> Vec<SmolStr> {
        self.values.keys().cloned().collect()
    }
}

/// Shorter secrets than this are not looked for in texts: they would be found everywhere.
const LEAST_HIDDEN: usize = 4;
/// Words in the name of an argument whose value is a secret.
const SECRET_WORDS: &[&str] = &["password", "passwd", "passphrase", "secret", "apikey", "credential", "authorization"];
/// Pairs of words that say the same.
const SECRET_PAIRS: &[(&str, &str)] =
    &[("api", "key"), ("access", "token"), ("auth", "token"), ("private", "key"), ("client", "secret"), ("bearer", "token")];
/// How known tokens begin.
const SECRET_PREFIXES: &[&str] =
    &["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza", "ya29.", "eyJhbGciOi", "Bearer "];

/// Whether the name of an argument or an input says that its value is a secret.
pub fn looks_secret(name: &str) -> bool {
    let words = names::words(name);
    let has = |word: &str| words.iter().any(|w| w == word);
    SECRET_WORDS.iter().any(|w| has(w))
        || SECRET_PAIRS.iter().any(|(a, b)| words.windows(2).any(|w| matches!(w, [x, y] if x == a && y == b)))
}

/// Whether a text has the shape of a token that is known to be secret.
pub fn has_secret_shape(text: &str) -> bool {
    SECRET_PREFIXES.iter().any(|prefix| text.starts_with(prefix) && text.len() >= prefix.len() + 12)
}

/// Names of parameters in a URL or a header line whose value is a secret.
const SECRET_PARAMETERS: &[&str] =
    &["api_key", "apikey", "api-key", "access_token", "auth_token", "token", "password", "passwd", "secret", "client_secret", "key"];

/// The parts of a longer text that are secrets: known tokens, and values of parameters such as `api_key=`.
fn secret_parts(text: &str) -> Vec<(usize, usize, SmolStr)> {
    let is_end = |c: char| c.is_whitespace() || "&\"'<>`,;)]}".contains(c);
    let end_of = |from: usize| text.get(from..).and_then(|t| t.find(is_end)).map_or(text.len(), |at| from + at);
    let mut found: Vec<(usize, usize, SmolStr)> = Vec::new();
    for prefix in SECRET_PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let start = if prefix.ends_with(' ') { at + prefix.len() } else { at };
            let end = end_of(start);
            if crate::text::is_border(text, at) && end - at >= prefix.len() + 12 {
                found.push((start, end, SmolStr::new("token")));
            }
        }
    }
    for (at, _) in text.match_indices('=') {
        let before = text.get(..at).unwrap_or_default();
        let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).next().unwrap_or_default();
        let lead = before.get(..before.len() - name.len()).and_then(|b| b.chars().next_back());
        let end = end_of(at + 1);
        if matches!(lead, Some('?' | '&')) && SECRET_PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) && end > at + 1 {
            found.push((at + 1, end, SmolStr::new(name)));
        }
    }
    found.sort();
    found.dedup_by(|b, a| b.0 < a.1);
    found
}

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
        if hinted.is_none() && !by_schema && !looks_secret(&key) && !by_shape {
            return None;
        }
        if hinted.is_none() && (!self.references(spot, uses).is_empty() || self.has_parts(spot, uses)) {
            return None;
        }
        let name = hinted.unwrap_or_else(|| secret_name(&server, &key));
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
            let texts = vec![value; used.len()];
            pieces.push(Piece::Expr(self.secret_of(spot, &used, &secret_name(&server, &key), &texts)?));
            at = end;
        }
        pieces.extend(self.pieces(spot, first, text.get(at..)?));
        let template = Template::text(pieces);
        uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)).then_some(template)
    }

    /// The reference to the secret of that name, or with a number behind it where that name has another value.
    fn secret_of(&mut self, spot: &Spot, uses: &[Use], name: &SmolStr, texts: &[SmolStr]) -> Option<Expr> {
        const MOST_OF_A_NAME: usize = 100;
        let mut values: Vec<SmolStr> = vec![SmolStr::default(); self.scripts.len()];
        for (used, text) in uses.iter().zip(texts) {
            if let Some(slot) = values.get_mut(self.tree.run(used.frame)) {
                *slot = text.clone();
            }
        }
        for number in 1..MOST_OF_A_NAME {
            let name = if number == 1 { name.clone() } else { SmolStr::new(format!("{name}_{number}")) };
            self.secrets.values.entry(name.clone()).or_insert_with(|| values.clone());
            let expr = Expr::name("secrets").key(name.clone());
            if self.gives(&expr, uses) {
                self.find(spot, Origin::Secret(name), "a secret is read from the environment".to_owned(), Vec::new());
                return Some(expr);
            }
        }
        None
    }
}

/// `PORTAL_PASSWORD` for the argument `password` of the server `portal`.
fn secret_name(server: &str, key: &str) -> SmolStr {
    let words = names::words_as_they_are(server).into_iter().chain(names::words_as_they_are(key));
    let name = words.map(|w| w.to_uppercase()).collect::<Vec<_>>().join("_");
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { SmolStr::new(name) } else { SmolStr::new(format!("SECRET_{name}")) }
}
