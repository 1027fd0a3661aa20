//! From the plan to the document.
//!
//! Before: nodes with numbers, gathered rounds that hold everything. After: steps with names for people, loops that keep only what is used
//! of each round, and one order for everything whose order means nothing, so that the same recording gives the same bytes.

mod gather;
mod servers;

use crate::diagnostics::Diagnostic;
use crate::identifiers::server_name;
use crate::naming::{self, Names};
use crate::order;
use crate::plan::{Plan, Point, Presence};
use crate::region::LoopKind;
use crate::rewrite;
use crate::script::{self, Script};
use crate::steps;
use crate::tree::{BodyId, NodeId, NodeKind};
use ltc_workflow::Object;
use ltc_workflow::document::{Case, Retry, Step, StepKind, ToolEffect, Workflow};
use ltc_workflow::expr::{Expr, OverFunction};
use ltc_workflow::template::Template;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// A workflow, and what its steps were in the plan.
#[derive(Debug)]
pub struct Lowered {
    /// The workflow.
    pub workflow: Workflow,
    /// The id of each step by its node.
    pub steps: BTreeMap<NodeId, SmolStr>,
    /// The nodes that are part of the workflow.
    pub alive: BTreeSet<NodeId>,
    /// Names in expressions, for messages that were written before there were any.
    pub renamed: Names,
    /// Per run: what the workflow's inputs were.
    pub given: Vec<Object>,
    /// What was found out on the way.
    pub diagnostics: Vec<Diagnostic>,
}

/// Makes the document of the nodes of a plan that are alive.
pub fn lower(mut plan: Plan, scripts: &[Script], alive: BTreeSet<NodeId>, name: Option<&str>) -> (Plan, Lowered) {
    let mut names = naming::names(&plan, &alive);
    let kept = gather::narrow(&mut plan, &alive, &mut names);
    let mut lowering = Lowering { plan: &plan, scripts, alive: &alive, names: &mut names, kept, fresh: BTreeMap::new() };
    let steps = lowering.body(BodyId(0));
    let output = plan.output.clone().map(|o| names.in_template(order::template(o)));
    let mut diagnostics = Vec::new();
    let servers = servers::servers(&plan, scripts, &alive, &mut diagnostics);
    let mut used = BTreeSet::new();
    let inputs = inputs(&plan, scripts, &steps, output.as_ref(), &mut used);
    let given = plan
        .given
        .iter()
        .map(|g| g.iter().filter(|(k, _)| inputs.contains_key(k)).map(|(k, v)| (k.clone(), v.clone())).collect())
        .collect();
    // What the task says is shown in two places: not where it says a secret.
    let task = scripts.iter().find_map(|s| s.task.as_deref()).filter(|t| !plan.secrets.stand_in(t));
    let workflow = Workflow {
        header: Vec::new(),
        name: naming::workflow(name, task),
        version: 1,
        description: task.map(description),
        triage: false,
        inputs,
        secrets: plan.secrets.names(),
        servers,
        steps,
        output,
    };
    let steps = alive.iter().filter_map(|node| Some((*node, names.step(*node)?.clone()))).collect();
    (plan, Lowered { workflow, steps, alive, renamed: names, given, diagnostics })
}

/// The task in one paragraph of some length.
fn description(task: &str) -> String {
    const MOST: usize = 300;
    let line = task.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST { line } else { format!("{}…", line.chars().take(MOST).collect::<String>()) }
}

/// The inputs: those that the caller gave, and of those that were made only what is used.
fn inputs(plan: &Plan, scripts: &[Script], steps: &[Step], output: Option<&Template>, used: &mut BTreeSet<SmolStr>) -> Object {
    let mut see = |expr: &Expr| {
        if let Expr::Key(base, key) = expr
            && **base == Expr::name("inputs")
        {
            used.insert(key.clone());
        }
    };
    steps::each(steps, &mut |step, _| steps::parts(step).into_iter().for_each(|part| steps::each_expr(part, &mut see)));
    output.iter().for_each(|o| rewrite::each_in(o, &mut see));
    let given = |name: &SmolStr| scripts.iter().any(|s| s.input.contains_key(name));
    let kept = plan.inputs.sorted().into_iter().filter(|(name, _)| given(name) || used.contains(*name));
    kept.map(|(name, schema)| (name.clone(), schema.clone())).collect()
}

struct Lowering<'p> {
    plan: &'p Plan,
    scripts: &'p [Script],
    alive: &'p BTreeSet<NodeId>,
    names: &'p mut Names,
    kept: BTreeMap<NodeId, Template>,
    /// Steps of tools that are asked anew before each use: the body that they stand in, whether they were used, and the step.
    fresh: BTreeMap<SmolStr, (BodyId, bool, Step)>,
}

impl Lowering<'_> {
    fn body(&mut self, body: BodyId) -> Vec<Step> {
        let nodes = self.plan.tree.body(body).map(|b| b.nodes.clone()).unwrap_or_default();
        let mut steps: Vec<Step> = Vec::new();
        let mut open: Option<(usize, Vec<Case>)> = None;
        let part: BTreeSet<usize> = nodes.iter().filter(|n| self.alive.contains(n)).filter_map(|n| self.switch_of(*n)).collect();
        for node in nodes {
            if !self.alive.contains(&node) {
                // A way on which nothing is left to do is a way all the same: who goes there is at the end, and nobody has to be asked.
                if let Some(Presence::Case { switch, when }) = self.plan.presence.get(&node)
                    && part.contains(switch)
                {
                    steps.extend(self.add_to_case(&mut open, *switch, when, None));
                }
                continue;
            }
            let Some(mut step) = self.step(node) else { continue };
            let anew = self.asked_anew(&mut step, body);
            if !anew.is_empty() {
                steps.extend(self.switch(open.take()));
                steps.extend(anew);
            }
            match self.plan.presence.get(&node) {
                Some(Presence::Case { switch, when }) => {
                    steps.extend(self.add_to_case(&mut open, *switch, when, Some(step)));
                }
                Some(Presence::When(when)) => {
                    steps.extend(self.switch(open.take()));
                    let when = self.names.in_expr(when.clone());
                    steps.push(Step { when: Some(when), ..step });
                }
                None => {
                    steps.extend(self.switch(open.take()));
                    steps.push(step);
                }
            }
        }
        steps.extend(self.switch(open));
        steps
    }

    /// The switch that a node is in a case of.
    fn switch_of(&self, node: NodeId) -> Option<usize> {
        match self.plan.presence.get(&node)? {
            Presence::Case { switch, .. } => Some(*switch),
            Presence::When(_) => None,
        }
    }

    /// Adds a step to a case of the open switch, or the case alone; the switch that was open before, if that is another.
    fn add_to_case(&mut self, open: &mut Option<(usize, Vec<Case>)>, switch: usize, when: &Expr, step: Option<Step>) -> Option<Step> {
        let before = if open.as_ref().is_some_and(|(number, _)| *number != switch) { self.switch(open.take()) } else { None };
        let when = self.names.in_expr(when.clone());
        let (_, cases) = open.get_or_insert_with(|| (switch, Vec::new()));
        match cases.iter_mut().find(|c| c.when.as_ref() == Some(&when)) {
            Some(case) => case.steps.extend(step),
            None => cases.push(Case { when: Some(when), steps: step.into_iter().collect() }),
        }
        before
    }

    /// What a hint wants asked again right before each use: copies of the steps whose results `step` uses, where another step used them
    /// before, or they stand outside of this body.
    fn asked_anew(&mut self, step: &mut Step, body: BodyId) -> Vec<Step> {
        let StepKind::Call { server, tool, with } = &step.kind else { return Vec::new() };
        let mut used: BTreeSet<SmolStr> = BTreeSet::new();
        for (_, template) in with {
            rewrite::each_in(template, &mut |expr| {
                if let Expr::Key(base, id) = expr
                    && **base == Expr::name("steps")
                    && self.fresh.contains_key(id)
                {
                    used.insert(id.clone());
                }
            });
        }
        let is_fresh = self.scripts.iter().find_map(|s| s.hints(server)).is_some_and(|h| h.fresh.contains(tool));
        let mut copies = Vec::new();
        for id in used {
            let Some((home, taken, model)) = self.fresh.get_mut(&id) else { continue };
            if !*taken && *home == body {
                *taken = true;
                continue;
            }
            let copy = Step { id: self.names.fresh(&id), ..model.clone() };
            if let StepKind::Call { with, .. } = &mut step.kind {
                for (_, template) in with {
                    let old = Expr::step(id.clone());
                    *template = rewrite::map_in(template.clone(), &mut |e| if e == old { Expr::step(copy.id.clone()) } else { e });
                }
            }
            copies.push(copy);
        }
        if is_fresh {
            self.fresh.insert(step.id.clone(), (body, false, step.clone()));
        }
        copies
    }

    /// The call of a tool that takes the whole list, as a hint tells, instead of a loop over calls of its twin.
    fn batched(&mut self, id: &SmolStr, list: &Expr, test: Option<&Expr>, each: &SmolStr, steps: &[Step]) -> Option<Step> {
        let [Step { kind: StepKind::Call { server, tool, with }, when: None, .. }] = steps else { return None };
        let hint = self.scripts.iter().find_map(|s| s.hints(server))?.batch.get(tool)?;
        let list = match test {
            Some(test) => list.clone().over(OverFunction::Filter, each.clone(), test.clone()),
            None => list.clone(),
        };
        let item = rewrite::to_expr(&Template::Object(with.clone()));
        let items = list.over(OverFunction::Map, each.clone(), item);
        let with = vec![(hint.items.clone(), Template::Expr(items))];
        Some(plain(id.clone(), StepKind::Call { server: server.clone(), tool: hint.tool.clone(), with }))
    }

    /// A switch, with a person to ask where no recorded way fits.
    fn switch(&mut self, open: Option<(usize, Vec<Case>)>) -> Option<Step> {
        let (_, mut cases) = open?;
        let id = self.names.fresh("route");
        let opposite = matches!(cases.as_slice(), [a, b] if is_opposite(a.when.as_ref(), b.when.as_ref()));
        if opposite && cases.iter().any(|c| c.steps.is_empty()) {
            cases.retain(|c| !c.steps.is_empty());
        } else if opposite {
            if let Some(last) = cases.last_mut() {
                last.when = None;
            }
        } else {
            let message = "No recorded run went on from here. What should be done?";
            let ask = StepKind::Escalate {
                role: SmolStr::new("operator"),
                message: Template::Literal(message.into()),
                form: None,
                data: None,
                priority: None,
                triage: false,
            };
            let ask = plain(self.names.fresh("ask"), ask);
            cases.push(Case { when: None, steps: vec![ask] });
        }
        Some(plain(id, StepKind::Switch { cases }))
    }

    fn step(&mut self, node: NodeId) -> Option<Step> {
        let id = self.names.step(node)?.clone();
        match (self.plan.points.get(&node)?, &self.plan.tree.node(node)?.kind) {
            (Point::Call(with), NodeKind::Call { server, tool, calls }) => {
                let mut with: Vec<(SmolStr, Template)> =
                    with.iter().map(|(key, t)| (key.clone(), self.names.in_template(order::template(t.clone())))).collect();
                let required = required(self.scripts, server, tool);
                with.sort_by_key(|(key, _)| (required.iter().position(|r| r == key).unwrap_or(usize::MAX), key.clone()));
                let mut step = plain(id, StepKind::Call { server: server_name(server), tool: tool.clone(), with });
                let act = calls.iter().next().and_then(|(frame, call)| self.scripts.get(self.plan.tree.run(*frame))?.calls.get(*call));
                let hints = self.scripts.iter().find_map(|s| s.hints(server));
                step.timeout = hints.and_then(|h| h.timeout);
                step.fail_when = hints.and_then(|h| h.error_when.get(tool)).map(|test| script::of_result(test.clone()));
                step.retry = hints
                    .and_then(|h| h.retry.as_ref())
                    .filter(|r| retries(r, tool, act.map(|a| a.effect)))
                    .map(|r| Retry { ..r.retry.clone() });
                Some(step)
            }
            (Point::Each { list, test }, NodeKind::Loop { kind: LoopKind::Each, body, .. }) => {
                let each = self.names.variable(node)?.clone();
                let list = self.names.in_expr(list.clone());
                let test = test.clone().map(|t| self.names.in_expr(t));
                let gather = self.kept.remove(&node).map(|g| self.names.in_template(g));
                let steps = self.body(*body);
                if gather.is_none()
                    && let Some(step) = self.batched(&id, &list, test.as_ref(), &each, &steps)
                {
                    return Some(step);
                }
                Some(plain(id, StepKind::For { each, list, test, at_once: 1, gather, steps }))
            }
            (Point::Repeat { until, every, at_most }, NodeKind::Loop { body, .. }) => {
                let until = self.names.in_expr(until.clone());
                let gather = self.kept.remove(&node).map(|g| self.names.in_template(g));
                let steps = self.body(*body);
                Some(plain(id, StepKind::Repeat { until, every: *every, at_most: Some(*at_most), gather, steps }))
            }
            (Point::Call(_) | Point::Each { .. }, NodeKind::Call { .. } | NodeKind::Loop { .. } | NodeKind::List { .. })
            | (Point::Repeat { .. }, NodeKind::Call { .. } | NodeKind::List { .. }) => None,
        }
    }
}

fn plain(id: SmolStr, kind: StepKind) -> Step {
    Step::new(id, kind)
}

/// Whether a hint's retry is for this tool: only what is read-only or idempotent is tried again, unless the hint names the tool.
fn retries(hint: &crate::hints::RetryHint, tool: &SmolStr, effect: Option<ToolEffect>) -> bool {
    match &hint.tools {
        Some(tools) => tools.contains(tool),
        None => matches!(effect, Some(ToolEffect::Read | ToolEffect::Idempotent)),
    }
}

/// The arguments that a tool's schema requires, in its order.
fn required(scripts: &[Script], server: &str, tool: &str) -> Vec<SmolStr> {
    let schema = scripts.iter().find_map(|s| s.servers.iter().find(|s| s.name == server)).and_then(|s| crate::script::tool(s, tool));
    let names = schema.and_then(|t| t.input_schema.as_ref()?.get("required")?.as_array().map(<[_]>::to_vec)).unwrap_or_default();
    names.iter().filter_map(|n| n.as_str().map(SmolStr::new)).collect()
}

/// Whether one test is the other's negation.
fn is_opposite(a: Option<&Expr>, b: Option<&Expr>) -> bool {
    match (a, b) {
        (Some(a), Some(Expr::Not(b))) => *a == **b,
        (Some(Expr::Not(a)), Some(b)) => **a == *b,
        _ => false,
    }
}
