//! Walks over the steps of a workflow, for whoever judges one: the linter and the verifier.

use crate::rewrite;
use ltc_workflow::document::{Step, StepKind};
use ltc_workflow::expr::Expr;
use ltc_workflow::template::{Piece, Template};
use ltc_workflow::{Value, Workflow};

/// A part of a step in which a person writes what it takes.
#[derive(Clone, Copy, Debug)]
pub enum Part<'w> {
    /// An expression: a test or a list.
    Expr(&'w Expr),
    /// A template: an argument, a message, what is gathered.
    Template(&'w Template),
}

/// The steps inside `step`, one list for each body, branch and case, with that of `catch` at the end.
pub fn bodies(step: &Step) -> Vec<&[Step]> {
    let mut found: Vec<&[Step]> = match &step.kind {
        StepKind::For { steps, .. } | StepKind::Repeat { steps, .. } => vec![steps],
        StepKind::Switch { cases } => cases.iter().map(|case| case.steps.as_slice()).collect(),
        StepKind::Parallel { branches } => branches.iter().map(Vec::as_slice).collect(),
        StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Wait { .. } | StepKind::Set { .. } | StepKind::Run { .. } => {
            Vec::new()
        }
    };
    found.extend(step.catch.iter().map(|catch| catch.steps.as_slice()));
    found
}

/// Sees every step, outer ones before those inside them, with the steps around it from the outermost on.
pub fn each<'w>(steps: &'w [Step], see: &mut dyn FnMut(&'w Step, &[&'w Step])) {
    fn inside<'w>(steps: &'w [Step], around: &mut Vec<&'w Step>, see: &mut dyn FnMut(&'w Step, &[&'w Step])) {
        for step in steps {
            see(step, around);
            around.push(step);
            for body in bodies(step) {
                inside(body, around, see);
            }
            around.pop();
        }
    }
    inside(steps, &mut Vec::new(), see);
}

/// The parts of a step itself, without those of the steps in it.
pub fn parts(step: &Step) -> Vec<Part<'_>> {
    let mut found: Vec<Part> = step.when.iter().chain(&step.fail_when).map(Part::Expr).collect();
    match &step.kind {
        StepKind::Call { with, .. } | StepKind::Set { values: with } | StepKind::Run { with, .. } => {
            found.extend(with.iter().map(|(_, template)| Part::Template(template)));
        }
        StepKind::For { list, test, gather, .. } => {
            found.push(Part::Expr(list));
            found.extend(test.iter().map(Part::Expr));
            found.extend(gather.iter().map(Part::Template));
        }
        StepKind::Repeat { until, gather, .. } => {
            found.push(Part::Expr(until));
            found.extend(gather.iter().map(Part::Template));
        }
        StepKind::Switch { cases } => found.extend(cases.iter().filter_map(|case| case.when.as_ref()).map(Part::Expr)),
        StepKind::Escalate { message, data, .. } => {
            found.push(Part::Template(message));
            found.extend(data.iter().map(Part::Template));
        }
        StepKind::Parallel { .. } | StepKind::Wait { .. } => {}
    }
    found.extend(step.catch.iter().filter_map(|catch| catch.when.as_ref()).map(Part::Expr));
    found
}

/// Sees every part of the workflow, with the step that it is in; the output is in none.
pub fn each_part<'w>(workflow: &'w Workflow, see: &mut dyn FnMut(Option<&'w Step>, Part<'w>)) {
    each(&workflow.steps, &mut |step, _| parts(step).into_iter().for_each(|part| see(Some(step), part)));
    workflow.output.iter().for_each(|output| see(None, Part::Template(output)));
}

/// Sees every expression of a part, and every expression in one.
pub fn each_expr<'w>(part: Part<'w>, see: &mut dyn FnMut(&'w Expr)) {
    fn inside<'w>(expr: &'w Expr, see: &mut dyn FnMut(&'w Expr)) {
        see(expr);
        rewrite::children(expr).into_iter().for_each(|inner| inside(inner, see));
    }
    fn within<'w>(template: &'w Template, see: &mut dyn FnMut(&'w Expr)) {
        match template {
            Template::Literal(_) => {}
            Template::Expr(expr) => inside(expr, see),
            Template::Text(pieces) => pieces.iter().for_each(|piece| match piece {
                Piece::Text(_) => {}
                Piece::Expr(expr) => inside(expr, see),
            }),
            Template::Array(items) => items.iter().for_each(|item| within(item, see)),
            Template::Object(entries) => entries.iter().for_each(|(_, item)| within(item, see)),
        }
    }
    match part {
        Part::Expr(expr) => inside(expr, see),
        Part::Template(template) => within(template, see),
    }
}

/// Sees everything that stands literally in a part: texts and numbers, and the keys by which values are taken out of others.
pub fn each_literal(part: Part, see: &mut dyn FnMut(&Value)) {
    fn fixed(template: &Template, see: &mut dyn FnMut(&Value)) {
        match template {
            Template::Literal(value) => see(value),
            Template::Expr(_) => {}
            Template::Text(pieces) => pieces.iter().for_each(|piece| match piece {
                Piece::Text(text) => see(&Value::String(text.clone())),
                Piece::Expr(_) => {}
            }),
            Template::Array(items) => items.iter().for_each(|item| fixed(item, see)),
            Template::Object(entries) => entries.iter().for_each(|(_, item)| fixed(item, see)),
        }
    }
    if let Part::Template(template) = part {
        fixed(template, see);
    }
    each_expr(part, &mut |expr| match expr {
        Expr::Literal(value) => see(value),
        Expr::Key(base, key) if !matches!(&**base, Expr::Name(name) if matches!(name.as_str(), "steps" | "previous" | "inputs" | "secrets")) =>
        {
            see(&Value::String(key.clone()));
        }
        Expr::Pick { path, .. } => path.iter().for_each(|key| see(&Value::String(key.clone()))),
        Expr::Key(..)
        | Expr::Name(_)
        | Expr::Index(..)
        | Expr::Call(..)
        | Expr::Over { .. }
        | Expr::Not(_)
        | Expr::Binary(..)
        | Expr::List(_)
        | Expr::Record(_)
        | Expr::Omit => {}
    });
}
