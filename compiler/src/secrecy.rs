//! What is secret: by the name of an argument, by the shape of a known token; and the secrets of a workflow, to be kept out of every text.

use crate::diagnostics::Diagnostic;
use crate::names;
use crate::text::is_border;
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

    /// The secret that had these values in the runs, of which empty ones are not known: `base`, or `base` with a number behind it where
    /// that name has other values.
    pub fn named(&mut self, base: &SmolStr, values: &[SmolStr]) -> SmolStr {
        let mut name = base.clone();
        for number in 2.. {
            let known = self.values.entry(name.clone()).or_insert_with(|| values.to_vec());
            if known.iter().zip(values).all(|(known, value)| value.is_empty() || known == value) {
                break;
            }
            name = SmolStr::new(format!("{base}_{number}"));
        }
        name
    }

    /// What each was in a run that used it.
    pub fn of(&self, run: usize) -> BTreeMap<SmolStr, SmolStr> {
        let value = |(name, values): (&SmolStr, &Vec<SmolStr>)| Some((name.clone(), values.get(run)?.clone()));
        self.values.iter().filter_map(value).filter(|(_, value)| !value.is_empty()).collect()
    }

    /// `text` without the value of any secret.
    pub fn hide(&self, text: &str) -> String {
        let mut known: Vec<(&SmolStr, &SmolStr)> =
            self.values.iter().flat_map(|(name, values)| values.iter().map(move |v| (name, v))).collect();
        known.retain(|(_, value)| value.len() >= LEAST_HIDDEN);
        // Longer ones first: a secret may begin like another one, whose rest would be shown.
        known.sort_by_key(|(name, value)| (std::cmp::Reverse(value.len()), *name));
        known.into_iter().fold(text.to_owned(), |text, (name, value)| {
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
pub fn secret_parts(text: &str) -> Vec<(usize, usize, SmolStr)> {
    let is_end = |c: char| c.is_whitespace() || "&\"'<>`,;)]}".contains(c);
    let end_of = |from: usize| text.get(from..).and_then(|t| t.find(is_end)).map_or(text.len(), |at| from + at);
    let mut found: Vec<(usize, usize, SmolStr)> = Vec::new();
    for prefix in SECRET_PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let start = if prefix.ends_with(' ') { at + prefix.len() } else { at };
            let end = end_of(start);
            if is_border(text, at) && end - at >= prefix.len() + 12 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(known: &[(&str, &[&str])]) -> Secrets {
        let mut secrets = Secrets::default();
        for (name, values) in known {
            secrets.named(&SmolStr::new(name), &values.iter().map(SmolStr::new).collect::<Vec<_>>());
        }
        secrets
    }

    #[test]
    fn of_two_secrets_that_begin_alike_no_rest_is_shown() {
        let secrets = secrets(&[("A", &["hunter2"]), ("B", &["hunter2-and-more"])]);
        assert_eq!(secrets.hide("hunter2-and-more, hunter2"), "[secret B], [secret A]");
    }

    #[test]
    fn a_name_has_one_value_in_a_run_however_many_there_are() {
        let mut secrets = Secrets::default();
        let values = |n: usize| vec![SmolStr::new(format!("value {n}"))];
        let names: Vec<SmolStr> = (1..=150).map(|n| secrets.named(&SmolStr::new("KEY"), &values(n))).collect();
        assert_eq!((names[0].as_str(), names[1].as_str(), names[149].as_str()), ("KEY", "KEY_2", "KEY_150"));
        assert_eq!(secrets.named(&SmolStr::new("KEY"), &values(77)), "KEY_77");
        assert_eq!(secrets.names().len(), 150);
    }
}
