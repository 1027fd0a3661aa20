//! `${VAR}` and `${VAR:-default}` in the configuration of a server.

use std::collections::BTreeSet;
use std::fmt;

/// Where variables come from.
pub trait Environment: Send + Sync {
    /// The value of `name`, if it is set to text.
    fn get(&self, name: &str) -> Option<String>;
}

/// The environment of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// Why a text cannot be interpolated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unset {
    /// This variable is not set, and there is no default for it.
    Missing(String),
    /// This is not the name of a variable, or a brace is missing.
    Malformed(String),
}

impl fmt::Display for Unset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unset::Missing(name) => write!(f, "the environment variable {name} is not set"),
            Unset::Malformed(text) => write!(f, "`{text}` is no variable: it is written ${{NAME}} or ${{NAME:-default}}"),
        }
    }
}

/// `text` with its variables replaced; the names that were looked up are added to `used`. A value is never searched for variables itself.
///
/// # Errors
/// The first variable that is missing or malformed. `${NAME:-default}` gives the default where the variable is unset or empty.
pub fn interpolate(text: &str, environment: &dyn Environment, used: &mut BTreeSet<String>) -> Result<String, Unset> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, next)) = after.split_once('}') else {
            return Err(Unset::Malformed(format!("${{{after}")));
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            return Err(Unset::Malformed(format!("${{{inside}}}")));
        }
        let value = environment.get(name);
        if value.is_some() {
            used.insert(name.to_owned());
        }
        match (value, default) {
            (Some(value), None) => out.push_str(&value),
            (Some(value), Some(_)) if !value.is_empty() => out.push_str(&value),
            (_, Some(default)) => out.push_str(default),
            (None, None) => return Err(Unset::Missing(name.to_owned())),
        }
        rest = next;
    }
    out.push_str(rest);
    Ok(out)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// An environment of a test.
    pub(crate) struct Fixed(pub BTreeMap<&'static str, &'static str>);

    impl Environment for Fixed {
        fn get(&self, name: &str) -> Option<String> {
            self.0.get(name).map(|value| (*value).to_owned())
        }
    }

    fn replaced(text: &str) -> Result<String, Unset> {
        interpolate(text, &Fixed(BTreeMap::from([("A", "1"), ("EMPTY", ""), ("SNEAKY", "${A}")])), &mut BTreeSet::new())
    }

    #[test]
    fn variables_are_replaced_once() {
        assert_eq!(replaced("x${A}y${A}"), Ok("x1y1".to_owned()));
        assert_eq!(replaced("${SNEAKY}"), Ok("${A}".to_owned()));
        assert_eq!(replaced("$A {A} $"), Ok("$A {A} $".to_owned()));
    }

    #[test]
    fn defaults_stand_in_for_what_is_unset_or_empty() {
        assert_eq!(replaced("${B:-x y}${EMPTY:-z}${A:-no}${B:-}"), Ok("x yz1".to_owned()));
        assert_eq!(replaced("${EMPTY}"), Ok(String::new()));
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        assert_eq!(replaced("${B}"), Err(Unset::Missing("B".to_owned())));
        assert_eq!(replaced("${A"), Err(Unset::Malformed("${A".to_owned())));
        assert_eq!(replaced("${a-b}"), Err(Unset::Malformed("${a-b}".to_owned())));
    }
}
