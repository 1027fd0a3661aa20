//! What keeps a run from starting: plain data, rendered by whoever shows it.

/// Something that is wrong before step one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// A kebab-case code.
    pub code: &'static str,
    /// Where: a JSON Pointer, a server and its field, a tool.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// A problem without help.
    pub fn new(code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { code, place: place.into(), message: message.into(), help: None }
    }

    /// With what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }
}
