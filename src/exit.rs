//! Exit codes: what a script may rely on.

use std::process::ExitCode;

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Done,
    /// A run failed, or a check found something.
    Failed,
    /// The command was called in a way that makes no sense.
    Usage,
    /// An input, a recording or a document is invalid.
    Invalid,
    /// A run waits for a person.
    Waiting,
    /// Somebody ended the command.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Waiting => 4,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}
