//! Versions of workflows in the store: what they run, what they were compiled from, and which of them stands in for a person.

use super::{Definition, DefinitionId, TraceId};
use crate::clock::Moment;
use ltc_workflow::Value;
use smol_str::SmolStr;

/// How a version of a workflow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VersionState {
    /// It is looked at, and cannot be run by name.
    Draft,
    /// It can be run by name and version.
    Deployed,
    /// It is the one that its name means; at most one version of a name is.
    Active,
    /// It is out of use, and kept.
    Archived,
}

/// A version of a workflow that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewVersion {
    /// The workflow's name.
    pub name: SmolStr,
    /// The workflow with all that it runs.
    pub definition: Definition,
    /// Its description, for lists.
    pub description: Option<String>,
    /// How it is to stand; `Active` makes the version that was active `Deployed`.
    pub state: VersionState,
    /// What it was compiled from, where it was.
    pub made_of: Option<MadeOf>,
    /// When.
    pub at: Moment,
}

/// A version of a workflow, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRecord {
    /// The workflow's name.
    pub name: SmolStr,
    /// The version: 1, 2, 3 …, given by the store.
    pub version: u32,
    /// The workflow with all that it runs.
    pub definition: DefinitionId,
    /// Its description.
    pub description: Option<String>,
    /// How it stands.
    pub state: VersionState,
    /// What it was compiled from, where it was.
    pub made_of: Option<MadeOf>,
    /// When it was kept.
    pub created_at: Moment,
}

/// Which versions are wanted, by name, then the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionFilter {
    /// Only those of this workflow.
    pub name: Option<SmolStr>,
    /// Only those that stand so.
    pub state: Option<VersionState>,
    /// Only those behind this one in the list: name and version of the last of the page before.
    pub after: Option<(SmolStr, u32)>,
    /// How many at most.
    pub limit: u32,
}

/// What a version was compiled from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MadeOf {
    /// The recordings. They are only named: one may go before the version does.
    pub traces: Vec<TraceId>,
    /// The hints beside those of the recordings, by server.
    pub hints: Option<Value>,
}

/// A workflow that is tried before a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The workflow that asks.
    pub workflow: SmolStr,
    /// The step of it that asks; empty where it is the workflow as a whole, which failed.
    pub step: SmolStr,
    /// The workflow that is tried.
    pub solution: SmolStr,
    /// The recording that it was first compiled from.
    pub trace: TraceId,
    /// When it was found.
    pub at: Moment,
}
