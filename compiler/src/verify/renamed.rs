//! The world in which every opaque value is another one.
//!
//! Before: a recording with `img_fe9ubkpk` in a result, an argument and the output. After: the same recording with `img_hk4wtrbz` in all three. A
//! workflow that takes its values from where they come from makes the renamed calls; one in which a value of the recording was frozen does
//! not, and the step in which it stands is told.

use super::census::{Census, Home};
use super::differ;
use super::recording::Recording;
use super::replay::{Breach, Replay};
use super::secrets::Learned;
use super::tokens::{self, Renaming};
use super::{Run, Tried};
use crate::diagnostics::{Diagnostic, Severity};
use crate::script::{Act, Script};
use crate::steps::{self, Part};
use ltc_workflow::advance::Start;
use ltc_workflow::expr::{BinaryOp, Expr, Function, OverFunction};
use ltc_workflow::{Value, Workflow};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The most old values that are told.
const MOST_LEAKS: usize = 8;

/// Runs `workflow` in the renamed world of `run`, which began from `start`.
pub fn other_ids(workflow: &Workflow, run: &Run, start: &Start, census: &Census, frozen: Vec<Diagnostic>) -> Tried {
    if !frozen.is_empty() {
        return Tried::Failed(frozen);
    }
    let keep_numbers = calculates(workflow);
    let is_number = |token: &SmolStr| token.bytes().all(|b| b.is_ascii_digit());
    let renamed: Vec<SmolStr> = census.tokens().iter().filter(|t| !keep_numbers || !is_number(t)).cloned().collect();
    if renamed.is_empty() {
        return Tried::Not("no id of an input or a result is handed on".to_owned());
    }
    // What fails under one set of names may fail because of how these names are spelled.
    let mut failed = None;
    for seed in [1, 2] {
        let renaming = Renaming::of(&renamed, &|token| census.has(token), seed);
        let replay = replay(workflow, run, start, &renaming, census);
        if !replay.breaches.iter().any(|breach| super::messages::is_error(workflow, breach)) {
            return Tried::Passed;
        }
        failed = Some((replay, renaming));
    }
    match failed {
        Some((replay, renaming)) => Tried::Failed(told(workflow, run, &replay, &renaming)),
        None => Tried::Passed,
    }
}

fn replay(workflow: &Workflow, run: &Run, start: &Start, renaming: &Renaming, census: &Census) -> Replay {
    let mut held = vec![false; run.script.calls.len()];
    let homes = census.tokens().iter().filter(|t| renaming.renames(t)).flat_map(|t| census.homes(t));
    homes.for_each(|home| match home {
        Home::Input => {}
        Home::Call(call) => held.iter_mut().skip(*call).take(1).for_each(|held| *held = true),
    });
    let rename = |(act, held): (&Act, bool)| Act {
        arguments: renaming.object(&act.arguments),
        value: if held { renaming.value(&act.value).unwrap_or_else(|| act.value.clone()) } else { act.value.clone() },
        ..act.clone()
    };
    let script =
        Script { calls: run.script.calls.iter().zip(held).map(rename).collect(), servers: run.script.servers.clone(), ..Script::default() };
    let output = run.output.map(|output| renaming.value(output).unwrap_or_else(|| output.clone()));
    let secret = |(name, value): (&SmolStr, &SmolStr)| (name.clone(), renaming.text(value).map_or_else(|| value.clone(), SmolStr::new));
    let secrets: BTreeMap<SmolStr, SmolStr> = start.secrets.iter().map(secret).collect();
    let start = Start { input: renaming.object(&start.input), secrets, ..start.clone() };
    let learned = Learned::knowing(&start.secrets);
    Recording::new(&script, output.as_ref()).replay(workflow, &start, &learned)
}

/// Values of the recording that stand in the workflow. Each is told once, and forgotten.
pub fn frozen(workflow: &Workflow, run: &Run, census: &mut Census) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut told: FxHashSet<SmolStr> = FxHashSet::default();
    steps::each_part(workflow, &mut |step, part| {
        steps::each_literal(part, &mut |value| {
            census.each(value, &mut |token| {
                if found.len() < MOST_LEAKS {
                    let place = step.map_or_else(|| "output".to_owned(), |step| format!("step {}", step.id));
                    found.push(stands_in_the_workflow(&place, value, &token, &origin(run, census, &token)));
                }
                told.insert(token);
            });
        });
    });
    census.forget(&told);
    found
}

/// Where a token of the recording comes from, in words.
pub fn origin(run: &Run, census: &Census, token: &str) -> String {
    match census.homes(token).first() {
        Some(Home::Call(call)) => {
            run.script.calls.get(*call).map_or_else(|| "a result".to_owned(), |act| format!("the result of {}", act.place()))
        }
        Some(Home::Input) | None => "the input".to_owned(),
    }
}

/// What a replay in the renamed world has to say: calls with an old value in them, else the first thing that went wrong.
fn told(workflow: &Workflow, run: &Run, replay: &Replay, renaming: &Renaming) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for made in &replay.made {
        let mut pointer = String::new();
        for (key, value) in made.arguments.iter() {
            differ::inside(&mut pointer, key, |pointer| {
                let mut old = None;
                tokens::each(value, &mut |token| {
                    if renaming.renames(&token) {
                        old.get_or_insert(token);
                    }
                });
                found.extend(old.map(|token| sends_old_value(&format!("step {}", made.step), pointer, &token)));
            });
        }
    }
    found.truncate(MOST_LEAKS);
    if found.is_empty() {
        found.extend(replay.breaches.iter().take(1).map(|breach| differs(workflow, run, breach)));
    }
    found
}

/// Whether the workflow compares or calculates with numbers: then other numbers may rightly give other calls.
fn calculates(workflow: &Workflow) -> bool {
    let mut found = false;
    steps::each_part(workflow, &mut |_, part: Part| {
        steps::each_expr(part, &mut |expr| {
            found |= match expr {
                Expr::Binary(op, _, _) => match op {
                    BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual => true,
                    BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => true,
                    BinaryOp::Or | BinaryOp::And | BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::Coalesce => false,
                },
                Expr::Call(function, _) => matches!(function, Function::Sum | Function::Min | Function::Max),
                Expr::Over { function, .. } => matches!(function, OverFunction::MinBy | OverFunction::MaxBy | OverFunction::SortBy),
                Expr::Literal(_)
                | Expr::Name(_)
                | Expr::Key(..)
                | Expr::Index(..)
                | Expr::Pick { .. }
                | Expr::Not(_)
                | Expr::List(_)
                | Expr::Record(_)
                | Expr::Omit => false,
            };
        });
    });
    found
}

fn leak(place: &str, message: String) -> Diagnostic {
    Diagnostic::new(Severity::Question, "leaks-recorded-value", place, message)
}

fn stands_in_the_workflow(place: &str, value: &Value, token: &str, origin: &str) -> Diagnostic {
    let literal = excerpt(value, token);
    leak(place, format!("{literal} stands in the workflow, but comes from {origin} in the recording: another run has another value"))
        .help("take it from there, or make it an input")
}

/// `value`, or what stands around `token` in it.
fn excerpt(value: &Value, token: &str) -> String {
    const AROUND: usize = 20;
    let text = match value {
        Value::String(text) => text.as_str(),
        other => return differ::shown(other),
    };
    let at = text.to_ascii_lowercase().find(token).unwrap_or(0);
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + token.len()..).unwrap_or_default());
    let start: String = before.chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
    let end: String = after.chars().take(AROUND).collect();
    let dots = |cut: bool| if cut { "…" } else { "" };
    let middle = text.get(at..at + token.len()).unwrap_or_default();
    let shown = format!("{}{start}{middle}{end}{}", dots(start.len() < before.len()), dots(end.len() < after.len()));
    ltc_workflow::json::quote(&shown)
}

fn sends_old_value(place: &str, pointer: &str, token: &str) -> Diagnostic {
    leak(place, format!("sends the recorded value `{token}` at {pointer} where the recording's values are others"))
}

fn differs(workflow: &Workflow, run: &Run, breach: &Breach) -> Diagnostic {
    let mut told = super::messages::breaches(workflow, run, std::slice::from_ref(breach)).into_iter();
    let (place, message) = told.next().map(|d| (d.place, d.message)).unwrap_or_default();
    Diagnostic::new(
        Severity::Question,
        "differs-with-other-values",
        place,
        format!("in a world in which every id is another one, the workflow does something else: {message}"),
    )
}
