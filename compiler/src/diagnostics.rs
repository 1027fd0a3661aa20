//! Diagnostics: plain data about a guess, a doubt or a mistake. One constructor a message stands beside the code that reports it;
//! rendering is left to the edge. Readers and the compiler give them [`Diagnostic::visible`], when no secret is left in them.

use ltc_workflow::hidden::revealed;
use smol_str::SmolStr;

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// A kebab-case code.
    pub code: &'static str,
    /// Where: a call, an argument, a line; empty where it is about the whole.
    pub place: String,
    /// What is the case, in one sentence.
    pub message: String,
    /// What else it could have been.
    pub candidates: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing can be written.
    Error,
    /// A guess that may be wrong: `--strict` refuses to write.
    Question,
    /// Worth a look.
    Warning,
    /// Good to know.
    Note,
}

impl Diagnostic {
    /// A diagnostic without candidates and help. Its texts stay as they are: a secret in one has to be found before anything is written out.
    pub fn new(severity: Severity, code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity, code, place: place.into(), message: message.into(), candidates: Vec::new(), help: None }
    }

    /// With what else it could have been.
    #[must_use]
    pub fn candidates(mut self, candidates: impl IntoIterator<Item = String>) -> Diagnostic {
        self.candidates.extend(candidates);
        self
    }

    /// With what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

impl Diagnostic {
    /// With what cannot be seen written out: a text from a recording must not move a cursor or turn a line around. Secrets are taken out before.
    #[must_use]
    pub fn visible(self) -> Diagnostic {
        self.renamed(revealed)
    }

    /// With every text replaced by what `name` makes of it.
    #[must_use]
    pub fn renamed(self, name: impl Fn(&str) -> String) -> Diagnostic {
        Diagnostic {
            place: name(&self.place),
            message: name(&self.message),
            candidates: self.candidates.iter().map(|c| name(c)).collect(),
            help: self.help.as_deref().map(name),
            ..self
        }
    }
}

impl Severity {
    /// Its name, as messages and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Question => "question",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// The place of a call: `call call_3 (server/tool)`.
pub fn call_place(id: &SmolStr, server: &SmolStr, tool: &SmolStr) -> String {
    format!("call {id} ({server}/{tool})")
}
