//! Worlds in which a `repeat` has a round less, or one more.
//!
//! Before: three pages, the last of which has no cursor. After: the first page and the last, or four pages, of which the third is a copy of the
//! second with ids of its own. It is tried only where the loop's end follows from what its last round answered.

use super::Tried;
use super::changed::{Change, Ending, Ground, holds, live};
use super::observe::split;
use super::sizes::leaks;
use super::spread::grown;
use super::tokens::Renaming;
use crate::diagnostics::{Diagnostic, Severity};
use crate::rewrite;
use ltc_workflow::document::Step;
use ltc_workflow::expr::Expr;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

/// The world in words.
pub fn world(id: &str, more: bool) -> String {
    if more { format!("one round more of `{id}`") } else { format!("one round less of `{id}`") }
}

/// Runs the workflow in the world in which the loop of that id has another number of rounds.
pub fn other_rounds(ground: &Ground, id: &str, until: &Expr, body: &[Step], more: bool) -> Tried {
    if !follows_from_answer(until, body) {
        return Tried::Not("its end does not follow from the answers of its last round alone".to_owned());
    }
    let mut change = Change::default();
    let mut models: FxHashMap<SmolStr, usize> = FxHashMap::default();
    for key in ground.observed.loop_keys.iter().filter(|key| split(key).1 == id) {
        let recorded: Vec<usize> = ground.observed.loops.get(key).into_iter().flatten().map(|seen| seen.index).collect();
        let [first @ .., model, last] = recorded.as_slice() else { continue };
        let mut rounds: Vec<(usize, bool)> = first.iter().map(|index| (*index, false)).collect();
        if more {
            rounds.extend([(*model, false), (*model, true)]);
        }
        rounds.push((*last, false));
        change.rounds.insert(key.clone(), rounds);
        models.insert(key.clone(), *model);
    }
    if models.is_empty() {
        return Tried::Not("the recording has a single round of it".to_owned());
    }
    if more {
        let (mut own, mut order) = (FxHashSet::default(), Vec::new());
        grown(ground, &mut own, &mut order, &mut |round, own| {
            models.get(&round.of) == Some(&round.index) || round.item.as_ref().is_some_and(|item| holds(item, own))
        });
        change.copies = Renaming::of(&order, &|token| ground.census.has(token), 5);
    }
    let lived = live(ground, &change);
    let world = world(id, more);
    match lived.ending {
        Ending::Stuck(why) => return Tried::Not(why),
        Ending::Failed(failure) => {
            let step = failure.step.as_ref().map_or_else(|| "output".to_owned(), |step| format!("step {step}"));
            return Tried::Failed(vec![fails(&step, &world, &failure.message)]);
        }
        Ending::Done => {}
    }
    if !lived.leaks.is_empty() {
        return Tried::Failed(lived.leaks.iter().take(3).map(|leak| leaks(leak, &world)).collect());
    }
    for key in &ground.observed.loop_keys {
        let Some(rounds) = change.rounds.get(key) else { continue };
        let made = lived.rounds.get(key).copied().unwrap_or(0);
        let same_place = lived.contexts.get(split(key).0).is_some_and(|c| c.model == split(key).0);
        if same_place && made != rounds.len() {
            return Tried::Failed(vec![stops(key, &world, rounds.len(), made)]);
        }
    }
    Tried::Passed
}

/// Whether a test looks at nothing but what the steps of the round answered, and the input.
fn follows_from_answer(until: &Expr, body: &[Step]) -> bool {
    let mut follows = true;
    rewrite::each(until, &mut |expr| match expr {
        Expr::Key(base, key) if **base == Expr::name("steps") => follows &= body.iter().any(|step| step.id == *key),
        Expr::Name(name) => follows &= !matches!(name.as_str(), "loop" | "previous" | "run"),
        Expr::Key(..)
        | Expr::Literal(_)
        | Expr::Index(..)
        | Expr::Pick { .. }
        | Expr::Call(..)
        | Expr::Over { .. }
        | Expr::Not(_)
        | Expr::Binary(..)
        | Expr::List(_)
        | Expr::Record(_)
        | Expr::Omit => {}
    });
    follows
}

fn fails(place: &str, world: &str, message: &str) -> Diagnostic {
    Diagnostic::new(Severity::Question, "fails-with-other-rounds", place, format!("the run fails in a world with {world}: {message}"))
}

fn stops(key: &str, world: &str, expected: usize, made: usize) -> Diagnostic {
    let message = format!("in a world with {world} it has {}, where {expected} should follow", super::count(made, "round"));
    Diagnostic::new(Severity::Question, "fails-with-other-rounds", format!("step {key}"), message)
}
