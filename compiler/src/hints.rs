//! Compile hints: what a person knows about a server and a recording does not show.

use ltc_workflow::document::{Duration, Retry, ToolEffect};
use ltc_workflow::expr::Expr;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

mod json;
mod read;
#[cfg(test)]
mod tests;

pub use json::to_json;
pub use read::{KEYS, read, read_all};

/// The JSON Schema of the hints for one server.
pub const SCHEMA: &str = include_str!("../schema/hints.schema.json");

/// Hints for one server. Names are names of tools, arguments and fields of that server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// Words for people; the compiler does not read them.
    pub note: Option<String>,
    /// What calling a tool does, where annotations are missing or wrong.
    pub effects: BTreeMap<SmolStr, ToolEffect>,
    /// Tools that are never part of a workflow.
    pub ignore: BTreeSet<SmolStr>,
    /// Tools whose calls are never dropped.
    pub keep: BTreeSet<SmolStr>,
    /// Arguments that are always the caller's.
    pub inputs: BTreeSet<SmolStr>,
    /// Arguments that are never the caller's.
    pub constants: BTreeSet<SmolStr>,
    /// Arguments that are secret, with the name of the secret.
    pub secret: BTreeMap<SmolStr, SmolStr>,
    /// Result fields that are handles: always the newest one.
    pub session: BTreeSet<SmolStr>,
    /// Result fields to take values from before others.
    pub prefer: BTreeSet<SmolStr>,
    /// Tools that are called again right before each use of their result.
    pub fresh: BTreeSet<SmolStr>,
    /// Pairs of tools of which the first comes before the second.
    pub order: Vec<(SmolStr, SmolStr)>,
    /// Tools that are asked until their answer changes.
    pub poll: BTreeMap<SmolStr, Poll>,
    /// Tools that answer page by page.
    pub pages: BTreeMap<SmolStr, Pages>,
    /// Tools that have a twin which takes the whole list.
    pub batch: BTreeMap<SmolStr, Batch>,
    /// After how long a call fails.
    pub timeout: Option<Duration>,
    /// How often a failed call is tried again.
    pub retry: Option<RetryHint>,
    /// Result fields that differ from run to run and mean nothing.
    pub volatile: BTreeSet<SmolStr>,
    /// Failures that a tool reports inside a success: true where the result is one.
    pub error_when: BTreeMap<SmolStr, Expr>,
}

/// How a tool is asked again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Poll {
    /// The pause between two questions.
    pub interval: Option<Duration>,
    /// The most questions.
    pub at_most: Option<u32>,
    /// True of the answer that ends it; names are fields of the answer.
    pub until: Option<Expr>,
}

/// How a tool answers page by page.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// The field of the result that holds the next cursor.
    pub cursor: Option<SmolStr>,
    /// The argument that takes it (or the page number).
    pub argument: SmolStr,
    /// The field of the result that holds the items.
    pub items: Option<SmolStr>,
}

/// The twin of a tool that takes the whole list.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The twin.
    pub tool: SmolStr,
    /// Its argument that takes the list; each item is the arguments of one call.
    pub items: SmolStr,
}

/// How often failed calls are tried again, and of which tools.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryHint {
    /// How often.
    pub retry: Retry,
    /// Only these tools; all that are read-only or idempotent where it is `None`.
    pub tools: Option<BTreeSet<SmolStr>>,
}
