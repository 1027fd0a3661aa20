//! What is checked before step one: that every server answers, has the tools that the workflow calls, and has them as they were when the
//! workflow was compiled.
//!
//! A schema that drifted is a warning, since most changes add something optional; a caller that wants more turns the warnings into errors.

use crate::pool::Pool;
use crate::problem::Problem;
use crate::text;
use crate::upstream::Tool;
use futures_util::future::join_all;
use ltc_workflow::Workflow;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::nearest::nearest;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// The tools that a workflow calls, by server.
pub fn calls(workflow: &Workflow) -> BTreeMap<SmolStr, BTreeSet<SmolStr>> {
    let mut found: BTreeMap<SmolStr, BTreeSet<SmolStr>> = BTreeMap::new();
    each_step(&workflow.steps, &mut |step| {
        if let StepKind::Call { server, tool, .. } = &step.kind {
            found.entry(server.clone()).or_default().insert(tool.clone());
        }
    });
    found
}

/// The workflows that a workflow runs.
pub fn runs(workflow: &Workflow) -> BTreeSet<SmolStr> {
    let mut found = BTreeSet::new();
    each_step(&workflow.steps, &mut |step| {
        if let StepKind::Run { workflow, .. } = &step.kind {
            found.insert(workflow.clone());
        }
    });
    found
}

/// Whether a workflow has a step that asks a person.
pub fn asks(workflow: &Workflow) -> bool {
    let mut found = false;
    each_step(&workflow.steps, &mut |step| found |= matches!(step.kind, StepKind::Escalate { .. }));
    found
}

/// The steps of a workflow whose answers may come with recordings.
pub fn triaged(workflow: &Workflow) -> Vec<SmolStr> {
    let mut found = Vec::new();
    each_step(&workflow.steps, &mut |step| {
        if matches!(step.kind, StepKind::Escalate { triage: true, .. }) {
            found.push(step.id.clone());
        }
    });
    found
}

/// Whether steps of a workflow may be under way at once.
pub fn goes_on_at_once(workflow: &Workflow) -> bool {
    let mut found = false;
    each_step(&workflow.steps, &mut |step| {
        found |= match &step.kind {
            StepKind::For { at_once, .. } => *at_once > 1,
            StepKind::Parallel { .. } => true,
            StepKind::Call { .. }
            | StepKind::Escalate { .. }
            | StepKind::Wait { .. }
            | StepKind::Set { .. }
            | StepKind::Run { .. }
            | StepKind::Repeat { .. }
            | StepKind::Switch { .. } => false,
        };
    });
    found
}

/// Shows `see` every step, also those inside of others and in `catch`. The depth is that of the document, which its reader limits.
fn each_step<'s>(steps: &'s [Step], see: &mut dyn FnMut(&'s Step)) {
    for step in steps {
        see(step);
        match &step.kind {
            StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Wait { .. } | StepKind::Set { .. } | StepKind::Run { .. } => {}
            StepKind::For { steps, .. } | StepKind::Repeat { steps, .. } => each_step(steps, see),
            StepKind::Switch { cases } => cases.iter().for_each(|case| each_step(&case.steps, see)),
            StepKind::Parallel { branches } => branches.iter().for_each(|branch| each_step(branch, see)),
        }
        if let Some(catch) = &step.catch {
            each_step(&catch.steps, see);
        }
    }
}

/// Connects to the servers of `workflows` and looks at their tools; the value is what has drifted.
///
/// # Errors
/// Every server that cannot be reached and every tool that is not there.
pub async fn check(workflows: &[&Workflow], pool: &Pool) -> Result<Vec<Problem>, Vec<Problem>> {
    let mut needed: BTreeMap<SmolStr, BTreeSet<SmolStr>> = BTreeMap::new();
    for (server, tools) in workflows.iter().flat_map(|workflow| calls(workflow)) {
        needed.entry(server).or_default().extend(tools);
    }
    let answers = join_all(needed.iter().map(|(server, tools)| async move { (server, tools, tools_of(pool, server).await) })).await;
    let mut problems = Vec::new();
    let mut drifted = Vec::new();
    for (server, tools, answer) in answers {
        match answer {
            Ok(offered) => {
                pool.expect(server, &offered);
                problems.extend(tools.iter().filter_map(|tool| missing(server, tool, &offered)));
                drifted.extend(workflows.iter().flat_map(|workflow| drift(workflow, server, &offered)));
            }
            Err(problem) => problems.push(problem),
        }
    }
    drifted.sort();
    drifted.dedup();
    if problems.is_empty() { Ok(drifted) } else { Err(problems) }
}

async fn tools_of(pool: &Pool, server: &SmolStr) -> Result<Vec<Tool>, Problem> {
    let place = format!("server {server}");
    pool.tools(server).await.map_err(|failure| {
        let code = if failure.code == "no-tools" { "no-tools" } else { "connect-failed" };
        Problem::new(code, place, failure.message)
    })
}

/// What is wrong where a server has no such tool.
pub fn missing(server: &SmolStr, tool: &SmolStr, offered: &[Tool]) -> Option<Problem> {
    if offered.iter().any(|offer| offer.name == *tool) {
        return None;
    }
    let names: Vec<&str> = offered.iter().map(|offer| offer.name.as_str()).collect();
    let help = match nearest(tool, names.iter().copied()) {
        Some(near) => format!("the server has a tool `{}`", text::one_line(near)),
        None if names.is_empty() => "the server has no tools".to_owned(),
        None => format!("its tools are {}", text::one_line(&names.join(", "))),
    };
    let message = format!("the server has no tool `{}`", text::one_line(tool));
    Some(Problem::new("no-such-tool", format!("server {server}"), message).help(help))
}

/// The tools of `server` whose schemas are no longer those that `workflow` was compiled against.
fn drift(workflow: &Workflow, server: &SmolStr, offered: &[Tool]) -> Vec<Problem> {
    let Some((_, known)) = workflow.servers.iter().find(|(name, _)| name == server) else { return Vec::new() };
    let drifted = |tool: &&Tool| known.tools.get(&tool.name).is_some_and(|digest| *digest != tool.digest());
    let problem = |tool: &Tool| {
        let place = format!("{server}/{}", text::one_line(&tool.name));
        Problem::new("drifted-schema", place, "the tool's schemas are not those that the workflow was compiled against")
            .help(format!("if the workflow still fits, its digest in `tools` is now \"{}\"", tool.digest()))
    };
    offered.iter().filter(drifted).map(problem).collect()
}
