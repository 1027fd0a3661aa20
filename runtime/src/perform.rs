//! The world of a run: its servers, the workflows that it may run, and the secrets that they see.

use crate::journal::{Call, World};
use crate::pool::Pool;
use crate::upstream::ToolCall;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_workflow::advance::{Failure, Start, StepKey};
use ltc_workflow::document::ToolEffect;
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// What the effects of a run work with.
pub struct Outside {
    /// The servers.
    pub pool: Pool,
    /// The workflow that is run, and others, by name.
    pub library: BTreeMap<SmolStr, Workflow>,
    /// The secrets of all of them.
    pub secrets: BTreeMap<SmolStr, SmolStr>,
    /// What tools do, by server and tool.
    pub effects: BTreeMap<(SmolStr, SmolStr), ToolEffect>,
    /// The id of the run and the time at which it started.
    pub run: RunName,
}

/// What a run is called, and since when it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunName {
    /// `run.id`
    pub id: SmolStr,
    /// `run.started_at`
    pub started_at: SmolStr,
}

/// What the tools of these workflows do. Where two of them speak of one tool, the more careful word counts; a tool of which nobody speaks writes.
pub fn effects<'w>(workflows: impl IntoIterator<Item = &'w Workflow>) -> BTreeMap<(SmolStr, SmolStr), ToolEffect> {
    let mut found = BTreeMap::new();
    for (name, server) in workflows.into_iter().flat_map(|workflow| &workflow.servers) {
        for (tool, effect) in &server.effects {
            let known = found.entry((name.clone(), tool.clone())).or_insert(*effect);
            *known = (*known).max(*effect);
        }
    }
    found
}

impl World for Outside {
    fn call<'w>(&'w self, key: &'w StepKey, call: Call<'w>) -> BoxFuture<'w, Result<Value, Failure>> {
        let made = ToolCall {
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            step: key.clone(),
            run: self.run.id.clone(),
            hearing: call.hearing.cloned(),
        };
        async move { self.pool.call(call.server, &made, call.timeout).await }.boxed()
    }

    fn effect(&self, server: &str, tool: &str) -> ToolEffect {
        self.effects.get(&(server.into(), tool.into())).copied().unwrap_or(ToolEffect::Write)
    }

    fn workflow(&self, name: &str) -> Option<&Workflow> {
        self.library.get(name)
    }

    /// It sees the secrets that it names, and no others.
    fn start(&self, workflow: &Workflow, input: Object) -> Start {
        let secret = |name: &SmolStr| self.secrets.get(name).map(|value| (name.clone(), value.clone()));
        Start {
            input,
            secrets: workflow.secrets.iter().filter_map(secret).collect(),
            started_at: self.run.started_at.clone(),
            id: self.run.id.clone(),
        }
    }
}
