//! The workflow document as YAML: read with every mistake and its place, printed in one canonical layout.
//!
//! It is YAML without its traps: no anchors, aliases, tags, directives or second documents; duplicate keys are refused. A plain scalar is `null`,
//! `true`, `false` or a number only where JSON spells it so, and a text everywhere else (`no`, `017`, `1_000`, `1:30`, `~` are texts). Nothing at all
//! is null. Printing quotes every text that some reader of YAML 1.1 or 1.2 could take for something else.

mod comments;
mod layout;
mod locate;
mod names;
mod parts;
mod read;
mod scalar;
mod steps;
mod tree;
mod write;

pub use comments::{Formatted, LostComment, format};
pub use read::read;
pub use tree::{Place, Places, read_value};

use crate::document::Workflow;
use std::fmt;

/// A mistake in a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// A kebab-case code.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} [{}]", self.line, self.column, self.message, self.code)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for Problem {}

/// The document in its one canonical layout, with a line break at its end.
pub fn print(workflow: &Workflow) -> String {
    write::write(&workflow.header, &layout::workflow(workflow), &comments::Comments::default())
}

#[cfg(test)]
pub(crate) mod laws;
#[cfg(test)]
mod tests;
