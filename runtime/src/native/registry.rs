//! The workflows of a program: what its command serves, and what a driver of its own is given.

use super::{NativeWorkflow, command};
use crate::preflight;
use ltc_workflow::Workflow;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// The workflows of a program.
#[derive(Clone, Debug, Default)]
pub struct Registry(Vec<NativeWorkflow>);

impl Registry {
    /// None yet.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// With this workflow too. They may run each other, whatever their order.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "a registry is no number")]
    pub fn add(mut self, workflow: NativeWorkflow) -> Registry {
        self.0.push(workflow);
        self
    }

    /// Does what the command line says: serves the workflows as tools over stdin and stdout, or runs one of them once (`--input`).
    ///
    /// With the features `serve` and `sqlite`, runs are kept, and on `mcp-workflows` stands beside them whatever `ltc deploy` put into the same store.
    pub fn main(self) -> ExitCode {
        command::main(&self.0)
    }
}

/// Those of `all` that `workflow` runs, and that those run: what else is there need not be in order for it.
pub(crate) fn run_by(workflow: &Workflow, all: &BTreeMap<SmolStr, Workflow>) -> BTreeMap<SmolStr, Workflow> {
    let (mut found, mut open) = (BTreeMap::new(), vec![workflow]);
    while let Some(next) = open.pop() {
        for name in preflight::runs(next) {
            if let Some(run) = all.get(&name).filter(|run| run.name != workflow.name && !found.contains_key(&name)) {
                found.insert(name, run.clone());
                open.push(run);
            }
        }
    }
    found
}

impl IntoIterator for Registry {
    type Item = NativeWorkflow;
    type IntoIter = std::vec::IntoIter<NativeWorkflow>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<NativeWorkflow> for Registry {
    fn from_iter<I: IntoIterator<Item = NativeWorkflow>>(workflows: I) -> Registry {
        Registry(workflows.into_iter().collect())
    }
}
