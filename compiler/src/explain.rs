//! Where everything in a workflow comes from, for people and for machines.

use crate::naming::Names;
use crate::plan::{Finding, Origin, Plan};
use crate::script::Script;
use crate::secrecy::Secrets;
use crate::tree::{NodeId, NodeKind};
use ltc_workflow::hidden::revealed;
use ltc_workflow::{Object, Value, json};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// Where everything in a workflow comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// The steps, in order, and at last the output.
    pub steps: Vec<Explained>,
    /// Calls that are no part of the workflow, with the reason.
    pub dropped: Vec<(String, String)>,
}

/// Where the values of one step come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The step's id; `output` for the output.
    pub step: SmolStr,
    /// The tool, as `server/tool`.
    pub tool: String,
    /// The calls of the recording that it is.
    pub calls: Vec<SmolStr>,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// Where one argument comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its path.
    pub path: String,
    /// `reference`, `text`, `constant`, `input` or `secret`.
    pub kind: &'static str,
    /// What was taken.
    pub origin: String,
    /// Why.
    pub evidence: String,
    /// What else explains it, and why it lost.
    pub losers: Vec<(String, String)>,
}

/// Explains a plan of which `steps` became a workflow; `names` tells what they are called there.
pub fn explanation(plan: &Plan, names: &Names, steps: &BTreeMap<NodeId, SmolStr>, scripts: &[Script]) -> Explanation {
    let mut explained = Vec::new();
    let mut dropped = Vec::new();
    let mut findings: BTreeMap<Option<NodeId>, Vec<Argument>> = BTreeMap::new();
    for finding in &plan.findings {
        findings.entry(finding.node).or_default().push(argument(finding, names));
    }
    for (number, node) in plan.tree.nodes.iter().enumerate() {
        let id = NodeId(number);
        let NodeKind::Call { server, tool, calls } = &node.kind else { continue };
        let act = |frame: &crate::tree::FrameId, call: &usize| scripts.get(plan.tree.run(*frame))?.calls.get(*call);
        let Some(step) = steps.get(&id) else {
            let acts = calls.iter().filter_map(|(frame, call)| act(frame, call));
            dropped.extend(acts.map(|a| (revealed(&a.place()), "it only reads, and nothing uses its result".to_owned())));
            continue;
        };
        let mut arguments = findings.remove(&Some(id)).unwrap_or_default();
        arguments.sort_by(|a, b| a.path.cmp(&b.path));
        let told = |frame: &crate::tree::FrameId, id: &SmolStr| match scripts.len() {
            1 => SmolStr::new(revealed(id)),
            _ => SmolStr::new(format!("{} of run {}", revealed(id), plan.tree.run(*frame) + 1)),
        };
        let recorded: Vec<SmolStr> = calls.iter().filter_map(|(frame, call)| Some(told(frame, &act(frame, call)?.id))).collect();
        explained.push(Explained { step: step.clone(), tool: revealed(&format!("{server}/{tool}")), calls: recorded, arguments });
    }
    let mut arguments = findings.remove(&None).unwrap_or_default();
    arguments.sort_by(|a, b| a.path.cmp(&b.path));
    if !arguments.is_empty() {
        explained.push(Explained { step: SmolStr::new("output"), tool: String::new(), calls: Vec::new(), arguments });
    }
    Explanation { steps: explained, dropped }
}

fn argument(finding: &Finding, names: &Names) -> Argument {
    let (kind, origin) = match &finding.origin {
        Origin::Reference(expr) => ("reference", names.in_expr(expr.clone()).to_string()),
        Origin::Text(template) => ("text", json::to_string(&names.in_template(template.clone()).print())),
        Origin::Constant(value) => ("constant", json::to_string(value)),
        Origin::Input(name) => ("input", format!("inputs.{name}")),
        Origin::Secret(name) => ("secret", format!("secrets.{name}")),
    };
    let losers = finding.losers.iter().map(|(expr, why)| (revealed(&names.in_expr(expr.clone()).to_string()), why.clone())).collect();
    let evidence = revealed(&names.in_text(&finding.evidence));
    Argument { path: revealed(&finding.argument), kind, origin: revealed(&origin), evidence, losers }
}

impl Explanation {
    /// The explanation without the value of any secret.
    #[must_use]
    pub fn without(mut self, secrets: &Secrets) -> Explanation {
        for argument in self.steps.iter_mut().flat_map(|s| &mut s.arguments) {
            for text in [&mut argument.path, &mut argument.origin, &mut argument.evidence] {
                *text = secrets.hide(text);
            }
            for (loser, why) in &mut argument.losers {
                *loser = secrets.hide(loser);
                *why = secrets.hide(why);
            }
        }
        self
    }

    /// The explanation for people.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            let calls = if step.calls.is_empty() {
                String::new()
            } else {
                format!("  ({} {})", if step.calls.len() == 1 { "call" } else { "calls" }, step.calls.join(", "))
            };
            out.push_str(&format!("{}  {}{calls}\n", step.step, step.tool));
            for argument in &step.arguments {
                let path = if argument.path.is_empty() { "(all)" } else { &argument.path };
                out.push_str(&format!("  {path} = {}\n      {}: {}\n", argument.origin, argument.kind, argument.evidence));
                for (loser, why) in &argument.losers {
                    out.push_str(&format!("      not {loser}: {why}\n"));
                }
            }
        }
        if !self.dropped.is_empty() {
            out.push_str("\nleft out\n");
            for (call, why) in &self.dropped {
                out.push_str(&format!("  {call}: {why}\n"));
            }
        }
        out
    }

    /// The explanation for machines.
    pub fn to_json(&self) -> Value {
        let object = |entries: Vec<(&str, Value)>| Value::Object(entries.into_iter().collect::<Object>());
        let text = |s: &str| Value::from(s);
        let steps = self.steps.iter().map(|s| {
            let arguments = s.arguments.iter().map(|a| {
                let losers = a.losers.iter().map(|(e, why)| object(vec![("origin", text(e)), ("why", text(why))])).collect();
                object(vec![
                    ("argument", text(&a.path)),
                    ("kind", text(a.kind)),
                    ("origin", text(&a.origin)),
                    ("evidence", text(&a.evidence)),
                    ("losers", losers),
                ])
            });
            let calls = s.calls.iter().map(|c| text(c)).collect();
            object(vec![("step", text(&s.step)), ("tool", text(&s.tool)), ("calls", calls), ("arguments", arguments.collect())])
        });
        let dropped = self.dropped.iter().map(|(call, why)| object(vec![("call", text(call)), ("why", text(why))]));
        object(vec![("steps", steps.collect()), ("dropped", dropped.collect())])
    }
}
