//! The secrets of a workflow, to be kept out of every text. What looks like one is known to the language ([`ltc_workflow::secret`]).

use crate::diagnostics::Diagnostic;
pub use ltc_workflow::secret::{has_secret_shape, looks_secret, secret_parts};
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
