//! Worlds in which a list has other items: none, one, two, one more than recorded, or the same ones from the last to the first.
//!
//! Before: a result with four pages, and four rounds of a loop. After: results with none, one, two and five pages (the fifth is a copy of the
//! fourth, with ids of its own), and as many rounds. Of a list of which only some items were gone through, those are kept first, so that there is
//! something to do.

use super::Tried;
use super::changed::{Ending, Ground, Leak, Lived, live};
use super::observe::split;
use super::places::{Base, Lists, Place, Root, Uses, Way};
use super::spread::Spread;
use crate::diagnostics::{Diagnostic, Severity};
use crate::{rewrite, steps};
use ltc_workflow::Workflow;
use ltc_workflow::document::StepKind;
use ltc_workflow::expr::{Expr, OverFunction};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// How a list is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Only so many items.
    First(usize),
    /// One item more.
    OneMore,
    /// The last item first.
    Reversed,
}

impl Size {
    /// All that are tried.
    pub const ALL: [Size; 5] = [Size::First(0), Size::First(1), Size::First(2), Size::OneMore, Size::Reversed];

    /// The world in words.
    pub fn of(self, place: &Place) -> String {
        match self {
            Size::First(1) => format!("`{place}` with 1 item"),
            Size::First(n) => format!("`{place}` with {n} items"),
            Size::OneMore => format!("`{place}` with one item more"),
            Size::Reversed => format!("`{place}` in reverse order"),
        }
    }
}

/// Whether a list's length decides when a loop around its step ends: then it cannot be another one by itself.
fn ends_by_length(workflow: &Workflow, place: &Place) -> bool {
    let Root::Step(step) = &place.root else { return false };
    let mut found = false;
    steps::each(&workflow.steps, &mut |outer, _| {
        if let StepKind::Repeat { until, .. } = &outer.kind {
            let list = place.ways.iter().try_fold(Expr::step(step.clone()), |expr, way| match way {
                Way::Key(key) => Some(expr.key(key.clone())),
                Way::Every | Way::Json => None,
            });
            rewrite::each(until, &mut |expr| found |= Some(expr) == list.as_ref());
        }
    });
    found
}

/// Runs the workflow in the world in which the lists at `place` are of another size.
pub fn other_size(workflow: &Workflow, ground: &Ground, lists: &Lists, place: &Place, uses: Uses, spread: &Spread, size: Size) -> Tried {
    if matches!(size, Size::First(n) if n >= spread.longest()) || (size == Size::Reversed && spread.longest() < 2) {
        return Tried::Same;
    }
    if size == Size::Reversed && uses.by_position {
        return Tried::Not("an item is taken by its position, so another order rightly means another item".to_owned());
    }
    if size != Size::Reversed && ends_by_length(workflow, place) {
        return Tried::Not("its length decides when the loop around it ends".to_owned());
    }
    if size != Size::Reversed && !uses.iterated {
        return Tried::Same;
    }
    let (change, expected) = spread.change(ground, size);
    let lived = live(ground, &change);
    judged(workflow, lists, &lived, &expected, size, place, uses)
}

/// Codes of failures by which an item that must be picked is not there, or there twice.
const PICKS: [&str; 4] = ["none-matches", "several-match", "no-such-item", "empty-list"];

fn judged(
    workflow: &Workflow,
    lists: &Lists,
    lived: &Lived,
    expected: &BTreeMap<SmolStr, usize>,
    size: Size,
    place: &Place,
    uses: Uses,
) -> Tried {
    let world = size.of(place);
    match &lived.ending {
        Ending::Stuck(why) => return Tried::Not(why.clone()),
        Ending::Failed(failure) => {
            let step = failure.step.as_ref().map_or_else(|| "output".to_owned(), |step| format!("step {step}"));
            if size != Size::Reversed && PICKS.contains(&failure.code.as_str()) {
                return Tried::Not(format!("{step} needs an item that is not there then: {}", failure.message));
            }
            return Tried::Failed(vec![fails(&step, &world, &failure.message)]);
        }
        Ending::Done => {}
    }
    let leaks: Vec<Diagnostic> = lived.leaks.iter().take(3).map(|leak| leaks(leak, &world)).collect();
    if !leaks.is_empty() {
        return Tried::Failed(leaks);
    }
    for (key, expected) in expected {
        let same_place = lived.contexts.get(split(key).0).is_some_and(|c| c.model == split(key).0 && !c.is_copy);
        let made = lived.rounds.get(key).copied().unwrap_or(0);
        let by_others = |is: fn(&Expr) -> bool| selects_by(workflow, split(key).1, is);
        if same_place && made != *expected && (by_others(is_of_a_list) || size == Size::OneMore && by_others(is_outside)) {
            return Tried::Not(format!("which items `{}` is about depends on other values than theirs", split(key).1));
        }
        if same_place && made != *expected {
            return Tried::Failed(vec![other_rounds(key, &world, *expected, made)]);
        }
        let following = lists.loops.iter().filter(|(_, base)| matches!(base, Base::Rounds(of) if of == split(key).1));
        for (id, _) in following.filter(|_| same_place) {
            let follower = format!("{}{id}", split(key).0);
            let followed = lived.rounds.get(follower.as_str()).copied().unwrap_or(0);
            if followed > made {
                return Tried::Failed(vec![other_rounds(&follower, &world, made, followed)]);
            }
        }
    }
    if size == Size::Reversed
        && uses.picked
        && !uses.iterated
        && let Some(step) = lived.others.first()
    {
        return Tried::Failed(vec![depends_on_order(&format!("step {step}"), place)]);
    }
    Tried::Passed
}

/// Whether a value stands outside of an item: nothing says what it would be of an item that was not there.
fn is_outside(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(name) if matches!(name.as_str(), "steps" | "inputs" | "previous"))
}

/// Whether a value is one of all items of a list, or of the one that is picked among them: without some of them it is another one.
fn is_of_a_list(expr: &Expr) -> bool {
    let mut outside = false;
    if let Expr::Over { list, .. } = expr {
        rewrite::each(list, &mut |part| outside |= is_outside(part));
    }
    outside
}

/// Whether a loop chooses its items by values of this kind.
fn selects_by(workflow: &Workflow, id: &str, is: fn(&Expr) -> bool) -> bool {
    let mut found = false;
    let mut see = |expr: &Expr| found |= is(expr);
    steps::each(&workflow.steps, &mut |step, _| {
        if let StepKind::For { list, test, .. } = &step.kind
            && step.id == id
        {
            test.iter().for_each(|test| rewrite::each(test, &mut see));
            rewrite::each(list, &mut |expr| {
                if let Expr::Over { function: OverFunction::Filter, body, .. } = expr {
                    rewrite::each(body, &mut see);
                }
            });
        }
    });
    found
}

fn fails(place: &str, world: &str, message: &str) -> Diagnostic {
    Diagnostic::new(Severity::Question, "fails-with-other-list", place, format!("the run fails in a world with {world}: {message}"))
}

fn other_rounds(key: &str, world: &str, expected: usize, made: usize) -> Diagnostic {
    let message = format!("in a world with {world} it runs {}, where {expected} should follow", super::count(made, "time"));
    Diagnostic::new(Severity::Question, "fails-with-other-list", format!("step {key}"), message)
}

fn depends_on_order(place: &str, list: &Place) -> Diagnostic {
    let message = format!("does something else where `{list}` is in another order, though it picks items by what is in them");
    Diagnostic::new(Severity::Question, "depends-on-order", place, message)
}

/// A recorded value that nothing in a world had shown.
pub fn leaks(leak: &Leak, world: &str) -> Diagnostic {
    let place = leak.step.as_ref().map_or_else(|| "output".to_owned(), |step| format!("step {step}"));
    let at = if leak.pointer.is_empty() { String::new() } else { format!(" at {}", leak.pointer) };
    let message = format!("in a world with {world}, the recorded value `{}` still stands{at}, though nothing shows it there", leak.token);
    Diagnostic::new(Severity::Question, "leaks-recorded-value", place, message)
}
