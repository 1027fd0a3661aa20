//! Why an operation was not done: plain data that every surface shows in its own way.

use crate::problem::Problem;
use crate::store::StoreError;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// Why an operation was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refusal {
    /// What kind of reason it is.
    pub code: Code,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Everything that is wrong, where it is more than one thing or has a place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Place>,
}

/// The kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The input, or a document in it, is wrong.
    Invalid,
    /// There is nothing of that name.
    NotFound,
    /// It is in a state in which this cannot be done.
    Conflict,
    /// A server, a secret or a variable that is needed is not there.
    Missing,
    /// The store, or a server, cannot be used just now.
    Unavailable,
    /// What is kept cannot be read.
    Broken,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    /// A kebab-case code.
    pub code: &'static str,
    /// Where.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Code {
    /// Its name on all surfaces.
    pub fn name(self) -> &'static str {
        match self {
            Code::Invalid => "invalid",
            Code::NotFound => "not-found",
            Code::Conflict => "conflict",
            Code::Missing => "missing",
            Code::Unavailable => "unavailable",
            Code::Broken => "broken",
        }
    }
}

/// The JSON Schema of a refusal.
pub fn refusal_schema() -> serde_json::Value {
    super::checked::written::<Refusal>().to_value()
}

impl Refusal {
    /// A refusal that is one sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), problems: Vec::new() }
    }

    /// There is no `what` called `name`.
    pub(super) fn not_found(what: &str, name: &str) -> Refusal {
        Refusal::new(Code::NotFound, format!("there is no {what} `{}`", crate::text::one_line(name)))
    }

    /// A refusal because of `problems`.
    pub(super) fn because(code: Code, problems: Vec<Problem>) -> Refusal {
        let said: Vec<String> = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect();
        let place = |problem: Problem| Place { code: problem.code, place: problem.place, message: problem.message, help: problem.help };
        Refusal { code, message: said.join("; "), problems: problems.into_iter().map(place).collect() }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        let code = match error {
            StoreError::LeaseLost => Code::Conflict,
            StoreError::Unavailable(_) => Code::Unavailable,
            StoreError::Broken(_) => Code::Broken,
        };
        Refusal::new(code, error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
