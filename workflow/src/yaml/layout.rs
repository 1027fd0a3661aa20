//! Workflow → the tree that is written: which keys, in which order, what stands on one line.

use super::comments::{INPUT, SERVER, STEP, TOP};
use super::write::{Field, Item, Layout, Out};
use crate::document::{Case, Server, Step, StepKind, Transport, Workflow};
use crate::expr::Expr;
use crate::template::Template;
use crate::value::{Object, Value};
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeMap;

/// Collects the fields of a map.
struct Fields {
    fields: Vec<Field>,
    anchor: Option<String>,
}

impl Fields {
    fn new() -> Fields {
        Fields { fields: Vec::new(), anchor: None }
    }

    /// Fields whose lines comments can be above of, under this name.
    fn anchored(anchor: String) -> Fields {
        Fields { fields: Vec::new(), anchor: Some(anchor) }
    }

    fn put(&mut self, key: &str, value: Out) {
        let anchor = self.anchor.as_ref().map(|anchor| format!("{anchor}{key}"));
        self.fields.push(Field { key: SmolStr::new(key), value, anchor });
    }

    fn maybe(&mut self, key: &str, value: Option<Out>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn block(self) -> Out {
        Out::Map(Layout::Block, self.fields)
    }

    fn fit(self) -> Out {
        Out::Map(Layout::Fit, self.fields)
    }
}

/// The tree of a workflow.
pub(super) fn workflow(workflow: &Workflow) -> Out {
    let mut top = Fields::anchored(TOP.to_string());
    top.put("workflow", text(&workflow.name));
    top.put("version", Out::Bare(format_smolstr!("{}", workflow.version)));
    top.maybe("description", workflow.description.as_deref().map(text));
    top.maybe("triage", workflow.triage.then(|| value(&Value::Bool(true))));
    if !workflow.inputs.is_empty() {
        let mut inputs = Fields::anchored(INPUT.to_string());
        workflow.inputs.iter().for_each(|(name, schema)| inputs.put(name, value(schema)));
        top.put("inputs", inputs.block());
    }
    if !workflow.secrets.is_empty() {
        top.put("secrets", fit_list(workflow.secrets.iter().map(|s| text(s))));
    }
    if !workflow.servers.is_empty() {
        let mut servers = Fields::anchored(SERVER.to_string());
        workflow.servers.iter().for_each(|(name, s)| servers.put(name, server(s)));
        top.put("servers", servers.block());
    }
    top.put("steps", steps(&workflow.steps));
    top.maybe("output", workflow.output.as_ref().map(template));
    top.block()
}

fn server(server: &Server) -> Out {
    let mut fields = Fields::new();
    match &server.transport {
        Some(Transport::Stdio { command, args, env, cwd }) => {
            fields.put("command", text(command));
            if !args.is_empty() {
                fields.put("args", fit_list(args.iter().map(|a| text(a))));
            }
            fields.maybe("env", texts(env));
            fields.maybe("cwd", cwd.as_deref().map(text));
        }
        Some(Transport::Http { url, headers, sse }) => {
            fields.put("url", text(url));
            fields.maybe("headers", texts(headers));
            fields.maybe("type", sse.then(|| text("sse")));
        }
        None => {}
    }
    fields.maybe("tools", texts(&server.tools));
    let effects: BTreeMap<&SmolStr, &str> = server.effects.iter().map(|(tool, effect)| (tool, effect.name())).collect();
    fields.maybe("effects", texts(&effects));
    fields.block()
}

fn steps(steps: &[Step]) -> Out {
    let item = |s: &Step| Item { value: step(s), anchor: Some(format!("{STEP}{}/", s.id)) };
    Out::List(Layout::Block, steps.iter().map(item).collect())
}

fn step(step: &Step) -> Out {
    let mut fields = Fields::anchored(format!("{STEP}{}/", step.id));
    fields.put("id", text(&step.id));
    fields.maybe("note", step.note.as_deref().map(text));
    fields.maybe("when", step.when.as_ref().map(expression));
    kind(&mut fields, &step.kind);
    fields.maybe("fail_when", step.fail_when.as_ref().map(expression));
    fields.maybe(
        "retry",
        step.retry.as_ref().map(|retry| {
            let mut inner = Fields::new();
            inner.put("attempts", Out::Bare(format_smolstr!("{}", retry.attempts)));
            inner.put("backoff", text(&retry.backoff.to_string()));
            inner.put("factor", Out::Bare(SmolStr::new(retry.factor.as_str())));
            inner.fit()
        }),
    );
    fields.maybe("timeout", step.timeout.map(|t| text(&t.to_string())));
    fields.maybe("catch", step.catch.as_ref().map(|catch| branch(catch.when.as_ref(), &catch.steps)));
    fields.block()
}

fn kind(fields: &mut Fields, kind: &StepKind) {
    match kind {
        StepKind::Call { server, tool, with } => {
            fields.put("call", text(&format!("{server}/{tool}")));
            fields.maybe("with", arguments(with));
        }
        StepKind::For { each, list, test, at_once, gather, steps: body } => {
            let mut inner = Fields::new();
            inner.put("each", text(each));
            inner.put("in", expression(list));
            inner.maybe("where", test.as_ref().map(expression));
            inner.maybe("at_once", (*at_once != 1).then(|| Out::Bare(format_smolstr!("{at_once}"))));
            inner.maybe("gather", gather.as_ref().map(template));
            fields.put("for", inner.fit());
            fields.put("steps", steps(body));
        }
        StepKind::Repeat { until, every, at_most, gather, steps: body } => {
            let mut inner = Fields::new();
            inner.put("until", expression(until));
            inner.maybe("every", every.map(|e| text(&e.to_string())));
            inner.maybe("at_most", at_most.map(|n| Out::Bare(format_smolstr!("{n}"))));
            inner.maybe("gather", gather.as_ref().map(template));
            fields.put("repeat", inner.fit());
            fields.put("steps", steps(body));
        }
        StepKind::Switch { cases } => {
            let case = |case: &Case| Item { value: branch(case.when.as_ref(), &case.steps), anchor: None };
            fields.put("switch", Out::List(Layout::Block, cases.iter().map(case).collect()));
        }
        StepKind::Parallel { branches } => {
            let item = |steps: &Vec<Step>| Item { value: branch(None, steps), anchor: None };
            fields.put("parallel", Out::List(Layout::Block, branches.iter().map(item).collect()));
        }
        StepKind::Escalate { role, message, form, data, priority, triage } => {
            let mut inner = Fields::new();
            inner.put("role", text(role));
            inner.put("message", template(message));
            inner.maybe("form", form.as_ref().map(value));
            inner.maybe("data", data.as_ref().map(template));
            inner.maybe("priority", priority.map(|p| Out::Bare(format_smolstr!("{p}"))));
            inner.maybe("triage", triage.then(|| value(&Value::Bool(true))));
            fields.put("escalate", inner.fit());
        }
        StepKind::Wait { duration } => fields.put("wait", text(&duration.to_string())),
        StepKind::Set { values } => fields.put("set", arguments(values).unwrap_or(Out::Map(Layout::Fit, Vec::new()))),
        StepKind::Run { workflow, with } => {
            fields.put("run", text(workflow));
            fields.maybe("with", arguments(with));
        }
    }
}

fn branch(when: Option<&Expr>, body: &[Step]) -> Out {
    let mut fields = Fields::new();
    fields.maybe("when", when.map(expression));
    fields.put("steps", steps(body));
    fields.block()
}

fn text(text: &str) -> Out {
    Out::Text(SmolStr::new(text))
}

fn expression(expr: &Expr) -> Out {
    value(&Template::Expr(expr.clone()).print())
}

fn template(template: &Template) -> Out {
    value(&template.print())
}

fn arguments(entries: &[(SmolStr, Template)]) -> Option<Out> {
    let object = Object::from_entries(entries.iter().map(|(k, v)| (k.clone(), v.print())).collect());
    (!object.is_empty()).then(|| value(&Value::Object(object)))
}

fn fit_list(items: impl Iterator<Item = Out>) -> Out {
    Out::List(Layout::Fit, items.map(|value| Item { value, anchor: None }).collect())
}

fn texts(entries: &BTreeMap<impl AsRef<str>, impl AsRef<str>>) -> Option<Out> {
    let mut fields = Fields::new();
    entries.iter().for_each(|(key, word)| fields.put(key.as_ref(), text(word.as_ref())));
    (!fields.fields.is_empty()).then(|| fields.fit())
}

/// A JSON value.
pub(super) fn value(of: &Value) -> Out {
    match of {
        Value::Null => Out::Bare(SmolStr::new_static("null")),
        Value::Bool(b) => Out::Bare(SmolStr::new_static(if *b { "true" } else { "false" })),
        Value::Number(n) => Out::Bare(SmolStr::new(n.as_str())),
        Value::String(s) => Out::Text(s.clone()),
        Value::Array(items) => fit_list(items.iter().map(value)),
        Value::Object(object) => {
            let mut fields = Fields::new();
            object.iter().for_each(|(key, item)| fields.put(key, value(item)));
            fields.fit()
        }
    }
}
