//! Finds the loops in a script.
//!
//! Before: `list, get(a), close(a), get(b), close(b)`. After: `list, each of [a, b] { get, close }`.
//!
//! A loop is driven by one call of its body (the driver), which walks over a list, turns pages, or asks the same question again. What
//! stands between two drivers belongs to a round; all rounds must be made of the same calls in the same order, though a round may lack
//! some. Inner loops are found first: a fold with the shortest rounds goes before one with longer rounds, until nothing folds.
//!
//! It does not fire where calls merely look alike: a driver's arguments must come from the items of one list (or from the round before),
//! and say enough for that to be no chance. Five identical writes stay five.

mod drivers;
pub mod patterns;

use crate::index::Index;
use crate::region::{Loop, LoopKind, Region, Round};
use crate::script::Script;
use drivers::{Driver, drivers};
use patterns::Homes;
use std::collections::BTreeSet;

/// The calls of `script` one after the other.
pub fn straight(script: &Script) -> Vec<Region> {
    (0..script.calls.len()).map(Region::Call).collect()
}

/// The calls of `script` as a tree of loops, none of which begins with a banned call.
pub fn reroll(script: &Script, index: &Index, banned: &BTreeSet<usize>) -> Vec<Region> {
    let mut regions = straight(script);
    let mut homes = Homes::default();
    loop {
        let mut folds = folds(script, index, &regions, &homes);
        folds.retain(|f| regions.get(f.start).and_then(Region::first_call).is_none_or(|call| !banned.contains(&call)));
        if folds.is_empty() {
            return regions;
        }
        regions = fold(regions, folds, &mut homes);
    }
}

/// A stretch of regions that is a loop.
struct Fold {
    start: usize,
    end: usize,
    /// The regions of each round, as ranges of positions.
    rounds: Vec<(usize, usize)>,
    driver: Driver,
}

/// The folds that go next: those of the shortest rounds, none of which overlap.
fn folds(script: &Script, index: &Index, regions: &[Region], homes: &Homes) -> Vec<Fold> {
    let mut found: Vec<Fold> =
        drivers(script, index, regions, homes).into_iter().filter_map(|driver| fold_of(script, index, regions, driver)).collect();
    let longest_round = |f: &Fold| f.rounds.iter().map(|(start, end)| end - start).max().unwrap_or(0);
    found.sort_by_key(|f| (longest_round(f), f.driver.rank(), std::cmp::Reverse(f.rounds.len()), f.start));
    let Some(shortest) = found.first().map(longest_round) else { return found };
    let mut chosen: Vec<Fold> = Vec::new();
    for fold in found.into_iter().filter(|f| longest_round(f) == shortest) {
        if chosen.iter().all(|c| c.end <= fold.start || fold.end <= c.start) {
            chosen.push(fold);
        }
    }
    chosen.sort_by_key(|f| f.start);
    chosen
}

fn fold(regions: Vec<Region>, folds: Vec<Fold>, homes: &mut Homes) -> Vec<Region> {
    let mut out = Vec::with_capacity(regions.len());
    let mut folds = folds.into_iter().peekable();
    let mut at = 0;
    while at < regions.len() {
        match folds.next_if(|f| f.start == at) {
            Some(fold) => {
                let items = fold.driver.items.into_iter().map(Some).chain(std::iter::repeat(None));
                let rounds = fold
                    .rounds
                    .iter()
                    .zip(items)
                    .map(|((start, end), item)| Round { item, regions: regions.get(*start..*end).unwrap_or_default().to_vec() });
                let folded = Loop { id: homes.next_loop(), kind: fold.driver.kind, rounds: rounds.collect() };
                homes.add(&folded);
                out.push(Region::Loop(folded));
                at = fold.end.max(at + 1);
            }
            None => {
                out.extend(regions.get(at).cloned());
                at += 1;
            }
        }
    }
    out
}

/// The rounds that a driver makes, if they are alike.
fn fold_of(script: &Script, index: &Index, regions: &[Region], driver: Driver) -> Option<Fold> {
    let at = &driver.positions;
    let first = *at.first()?;
    let last = *at.last()?;
    let inner: Vec<(usize, usize)> = at.windows(2).filter_map(|w| Some((w.first()? + 1, *w.get(1)?))).collect();
    if driver.kind == LoopKind::Poll && inner.iter().any(|(start, end)| start != end) {
        return None;
    }
    let signatures = |range: (usize, usize)| -> Vec<Signature> {
        regions.get(range.0..range.1).unwrap_or_default().iter().map(|r| signature(script, r)).collect()
    };
    let turned = turned(script, regions, first, &inner);
    let base_range = *inner.iter().max_by_key(|(start, end)| end - start)?;
    let base = signatures(base_range);
    if !inner.iter().all(|range| is_subsequence(&signatures(*range), &base)) {
        return None;
    }
    let end = last + 1 + tail(script, index, regions, &driver, last, &base, base_range) - turned;
    let start = first - turned;
    let starts: Vec<usize> = at.iter().map(|p| p - turned).collect();
    let ends = starts.iter().skip(1).copied().chain([end.max(last + 1)]);
    let rounds = starts.iter().copied().zip(ends).collect();
    Some(Fold { start, end: end.max(last + 1), rounds, driver })
}

/// How many regions before each driver belong to its round: the body's first calls need not be the driver.
fn turned(script: &Script, regions: &[Region], first: usize, inner: &[(usize, usize)]) -> usize {
    let mut turned = 0;
    loop {
        let Some(before) = first.checked_sub(turned + 1).and_then(|p| regions.get(p)) else { return turned };
        let wanted = signature(script, before);
        let all = inner.iter().all(|(start, end)| {
            end - start > turned
                && regions.get(end - turned - 1).is_some_and(|r| signature(script, r) == wanted && same_arguments(script, r, before))
        });
        if !all || inner.is_empty() {
            return turned;
        }
        turned += 1;
    }
}

fn same_arguments(script: &Script, a: &Region, b: &Region) -> bool {
    match (a, b) {
        (Region::Call(a), Region::Call(b)) => match (script.calls.get(*a), script.calls.get(*b)) {
            (Some(a), Some(b)) => a.arguments == b.arguments,
            _ => false,
        },
        (Region::Call(_) | Region::Loop(_), Region::Call(_) | Region::Loop(_)) => false,
    }
}

/// How many regions after the last driver belong to its round.
fn tail(
    script: &Script,
    index: &Index,
    regions: &[Region],
    driver: &Driver,
    last: usize,
    base: &[Signature],
    base_range: (usize, usize),
) -> usize {
    let mut taken = 0;
    let mut next = 0;
    for (offset, region) in regions.iter().skip(last + 1).enumerate() {
        let wanted = signature(script, region);
        let Some(found) = base.iter().skip(next).position(|s| *s == wanted) else { break };
        let model = base_range.0 + next + found;
        let round_of_model = regions.get(base_range.0.saturating_sub(1)..model).unwrap_or_default();
        let round = regions.get(last..last + 1 + offset).unwrap_or_default();
        let models_item = driver.positions.iter().position(|p| p + 1 == base_range.0).and_then(|i| driver.items.get(i));
        let model_is_tied = regions.get(model).is_some_and(|r| patterns::touches(script, index, r, round_of_model, models_item));
        if model_is_tied && !patterns::touches(script, index, region, round, driver.items.last()) {
            break;
        }
        next += found + 1;
        taken = offset + 1;
    }
    taken
}

/// What a region calls: the tool of its first call.
pub type Signature = (smol_str::SmolStr, smol_str::SmolStr);

/// The signature of a region.
pub fn signature(script: &Script, region: &Region) -> Signature {
    let call = region.first_call().and_then(|c| script.calls.get(c));
    call.map(|c| (c.server.clone(), c.tool.clone())).unwrap_or_default()
}

fn is_subsequence(part: &[Signature], whole: &[Signature]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|p| rest.any(|w| w == p))
}
