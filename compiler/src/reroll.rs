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

use crate::index::{Index, Path, PathStep, Source, follow};
use crate::patterns::{self, Homes};
use crate::region::{Item, Loop, LoopKind, Region, Round, signature};
use crate::script::Script;
use drivers::{Driver, drivers};
use rustc_hash::FxHashSet;
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
        regions = fold(script, regions, folds, &mut homes);
    }
}

/// A stretch of regions that is a loop.
struct Fold {
    start: usize,
    end: usize,
    /// The regions of each round.
    rounds: Vec<Vec<Region>>,
    driver: Driver,
}

/// The folds that go next: those of the shortest rounds, none of which overlap.
fn folds(script: &Script, index: &Index, regions: &[Region], homes: &Homes) -> Vec<Fold> {
    let mut found: Vec<Fold> =
        drivers(script, index, regions, homes).into_iter().filter_map(|driver| fold_of(script, index, regions, driver)).collect();
    let longest_round = |f: &Fold| f.rounds.iter().map(Vec::len).max().unwrap_or(0);
    found.sort_by_key(|f| (longest_round(f), f.driver.rank(), std::cmp::Reverse(f.rounds.len()), f.start));
    let Some(shortest) = found.first().map(longest_round) else { return found };
    let mut chosen: Vec<Fold> = Vec::new();
    for fold in found.into_iter().filter(|f| longest_round(f) == shortest) {
        if chosen.iter().all(|c| c.end <= fold.start || fold.end <= c.start) {
            chosen.push(fold);
        }
    }
    chosen.sort_by_key(|f| f.start);
    independent(script, index, regions, chosen)
}

/// Of folds that could go together, those that use nothing of one before them: a loop over the rounds of another one waits for that one.
fn independent(script: &Script, index: &Index, regions: &[Region], folds: Vec<Fold>) -> Vec<Fold> {
    let mut folded: FxHashSet<usize> = FxHashSet::default();
    let mut kept = Vec::new();
    for fold in folds {
        let calls: Vec<usize> = regions.get(fold.start..fold.end).unwrap_or_default().iter().flat_map(Region::calls).collect();
        let of_folded = |call: &usize| script.calls.get(*call).is_some_and(|act| patterns::uses(index, act, &folded));
        if folded.is_empty() || !calls.iter().take(MOST_LOOKED_AT).any(of_folded) {
            folded.extend(calls);
            kept.push(fold);
        }
    }
    kept
}

/// How many calls of a loop are looked at for what they use: its rounds are alike.
const MOST_LOOKED_AT: usize = 20;

fn fold(script: &Script, regions: Vec<Region>, folds: Vec<Fold>, homes: &mut Homes) -> Vec<Region> {
    let mut out = Vec::with_capacity(regions.len());
    let mut folds = folds.into_iter().peekable();
    let mut at = 0;
    while let Some(region) = regions.get(at) {
        match folds.next_if(|f| f.start == at) {
            Some(fold) => {
                let tool = fold.driver.positions.first().and_then(|p| regions.get(*p)).map(|r| signature(script, r)).unwrap_or_default();
                let items = fold.driver.items.into_iter().map(Some).chain(std::iter::repeat(None));
                let rounds = fold.rounds.into_iter().zip(items).map(|(regions, item)| Round { item, regions }).collect();
                let folded = Loop { id: homes.next_loop(), kind: fold.driver.kind, tool, rounds };
                homes.add(&folded);
                out.push(Region::Loop(match fold.driver.outer {
                    Some(outer) => by_outer_items(script, folded, outer, homes),
                    None => folded,
                }));
                at = fold.end.max(at + 1);
            }
            None => {
                out.push(region.clone());
                at += 1;
            }
        }
    }
    out
}

/// A loop over lists that stand in the items of a list: a loop in a loop. Items whose inner list is empty have a round with nothing in it.
/// `outer` is how long the way to an outer item is.
fn by_outer_items(script: &Script, flat: Loop, outer: usize, homes: &mut Homes) -> Loop {
    let mut rounds: Vec<Round> = Vec::new();
    let tool = flat.tool.clone();
    let kind = flat.kind;
    let inner_loop = |id: usize, rounds: Vec<Round>| Region::Loop(Loop { id, kind, tool: tool.clone(), rounds });
    for round in flat.rounds {
        let Some(Item::Value { source, path, .. }) = &round.item else { continue };
        let (source, prefix, inner) =
            (*source, path.iter().take(outer).cloned().collect::<Path>(), path.get(outer..).unwrap_or_default().to_vec());
        match rounds.last_mut() {
            Some(Round { item: Some(Item::Value { path, .. }), regions }) if *path == prefix => {
                if let Some(Region::Loop(l)) = regions.last_mut() {
                    l.rounds.push(round);
                }
            }
            _ => {
                for empty in empty_between(script, source, rounds.last(), &prefix, &inner) {
                    let item = Some(Item::Value { source, path: empty, span: None });
                    rounds.push(Round { item, regions: vec![inner_loop(homes.next_loop(), Vec::new())] });
                }
                let item = Some(Item::Value { source, path: prefix, span: None });
                rounds.push(Round { item, regions: vec![inner_loop(homes.next_loop(), vec![round])] });
            }
        }
    }
    Loop { id: flat.id, kind, tool, rounds }
}

/// The items between the last outer item and this one whose inner list is empty.
fn empty_between(script: &Script, source: Source, last: Option<&Round>, prefix: &Path, inner: &[PathStep]) -> Vec<Path> {
    let index_of = |path: &Path| match path.last() {
        Some(PathStep::Index(at)) => Some(*at),
        _ => None,
    };
    let from = match last {
        Some(Round { item: Some(Item::Value { path, .. }), .. }) => index_of(path).map_or(0, |at| at + 1),
        _ => 0,
    };
    let root = match source {
        Source::Input => ltc_workflow::Value::Object(script.input.clone()),
        Source::Call(call) => script.calls.get(call).map(|c| c.value.clone()).unwrap_or_default(),
        Source::Task => return Vec::new(),
    };
    let list_in_item = inner.split_last().map(|(_, way)| way).unwrap_or_default();
    let with_index = |at: usize| prefix.iter().take(prefix.len().saturating_sub(1)).cloned().chain([PathStep::Index(at)]).collect::<Path>();
    let is_empty = |path: &Path| {
        let list = follow(&root, path).and_then(|item| follow(&item, list_in_item));
        list.is_some_and(|l| l.as_array().is_some_and(<[_]>::is_empty))
    };
    (from..index_of(prefix).unwrap_or(0)).map(with_index).filter(is_empty).collect()
}

/// The rounds that a driver makes, if they are alike.
fn fold_of(script: &Script, index: &Index, regions: &[Region], driver: Driver) -> Option<Fold> {
    let at = &driver.positions;
    let first = *at.first()?;
    let last = *at.last()?;
    let between: Vec<(usize, usize)> = at.windows(2).filter_map(|w| Some((w.first()? + 1, *w.get(1)?))).collect();
    if driver.kind == LoopKind::Poll && between.iter().any(|(start, end)| start != end) {
        return None;
    }
    if at.iter().any(|p| matches!(regions.get(*p), Some(Region::Loop(_)))) {
        return fold_of_loops(script, index, regions, driver);
    }
    let turned = turned(script, regions, first, &between);
    let behind = |(start, end): (usize, usize)| regions.get(start..end - turned).unwrap_or_default();
    let calls = |regions: &[Region]| regions.iter().map(|r| r.calls().len()).sum::<usize>();
    let has_loop = |regions: &[Region]| regions.iter().any(|r| matches!(r, Region::Loop(_)));
    let longest = between.iter().map(|b| behind(*b)).enumerate().max_by_key(|(i, b)| (has_loop(b), calls(b), std::cmp::Reverse(*i)));
    let (model, base) = longest.unwrap_or((0, &[]));
    let rest = regions.get(last + 1..).unwrap_or_default();
    let fits_all = |base: &[Region]| between.iter().all(|b| fit_all(script, base, behind(*b)).is_some());
    // The last round may be the fullest: it goes as far as the others do.
    let (model, base) = match to_the_end_of(script, base, rest).filter(|full| calls(full) > calls(base) && fits_all(full)) {
        Some(full) => (at.len() - 1, full),
        None => (model, base),
    };
    let all = if fits_all(base) { base.to_vec() } else { all_of(script, base, between.iter().map(|b| behind(*b)))? };
    let base = all.as_slice();
    let head = |p: usize| regions.get(p - turned..=p).unwrap_or_default().to_vec();
    let mut rounds = Vec::new();
    for (position, range) in at.iter().zip(&between) {
        rounds.push([head(*position), fit_all(script, base, behind(*range))?].concat());
    }
    let model_head = regions.get(*at.get(model)?..=*at.get(model)?).unwrap_or_default();
    let tied = |own: &Region, before: &[Region], head: &[Region], item: Option<&Item>| {
        patterns::touches(script, index, own, &[head, before].concat(), item)
    };
    let (fitted, taken) = fit(script, base, rest, &mut |slot, at| {
        let is_tied = base.get(slot).is_some_and(|r| tied(r, base.get(..slot).unwrap_or_default(), model_head, driver.items.get(model)));
        let last_head = regions.get(last..=last).unwrap_or_default();
        !is_tied || rest.get(at).is_some_and(|r| tied(r, rest.get(..at).unwrap_or_default(), last_head, driver.items.last()))
    });
    rounds.push([head(last), fitted].concat());
    Some(Fold { start: first - turned, end: last + 1 + taken, rounds, driver })
}

/// The rounds that loops begin: in some of them the body of such a loop may stand once, unrolled.
fn fold_of_loops(script: &Script, index: &Index, regions: &[Region], driver: Driver) -> Option<Fold> {
    let at = &driver.positions;
    let (first, last) = (*at.first()?, *at.last()?);
    let is_loop = |p: &usize| matches!(regions.get(*p), Some(Region::Loop(_)));
    let model = at.iter().filter(|p| is_loop(p)).filter_map(|p| regions.get(*p)).max_by_key(|region| region.calls().len())?;
    let behind = at.windows(2).filter_map(|w| w.first().zip(w.get(1))).filter(|(p, _)| is_loop(p));
    let behind: Vec<&[Region]> = behind.filter_map(|(p, next)| regions.get(p + 1..*next)).collect();
    let longest = behind.iter().max_by_key(|b| b.len()).copied().unwrap_or_default();
    let base = [vec![model.clone()], all_of(script, longest, behind.into_iter())?].concat();
    let mut rounds = Vec::new();
    for (p, next) in at.windows(2).filter_map(|w| w.first().zip(w.get(1))) {
        rounds.push(fit_all(script, &base, regions.get(*p..*next)?)?);
    }
    let rest = regions.get(last..)?;
    let (fitted, taken) = fit(script, &base, rest, &mut |slot, at| {
        let before = rest.get(..at).unwrap_or_default();
        slot == 0 || rest.get(at).is_some_and(|r| patterns::touches(script, index, r, before, driver.items.last()))
    });
    rounds.push(fitted);
    Some(Fold { start: first, end: last + taken, rounds, driver })
}

/// The most calls that rounds may lack, for each that the fullest of them has.
const MOST_LACKING: usize = 2;

/// What all rounds are made of, where each of them may lack some: rounds part where something was decided in each.
fn all_of<'r>(script: &Script, base: &[Region], rounds: impl Iterator<Item = &'r [Region]>) -> Option<Vec<Region>> {
    let mut all = base.to_vec();
    for round in rounds {
        let mut next = Vec::with_capacity(all.len());
        let mut at = 0;
        for region in round {
            let wanted = signature(script, region);
            match all.iter().skip(at).position(|slot| signature(script, slot) == wanted) {
                Some(ahead) => {
                    next.extend(all.iter().skip(at).take(ahead + 1).cloned());
                    at += ahead + 1;
                }
                None => next.push(region.clone()),
            }
        }
        next.extend(all.iter().skip(at).cloned());
        all = next;
    }
    (all.len() <= MOST_LACKING * base.len() + 1).then_some(all)
}

/// What stands before and at the first of `regions` that is like the end of `base`.
fn to_the_end_of<'r>(script: &Script, base: &[Region], regions: &'r [Region]) -> Option<&'r [Region]> {
    let end = signature(script, base.last()?);
    let at = regions.iter().position(|region| signature(script, region) == end)?;
    regions.get(..=at)
}

/// Lays `regions` along `base`, as far as they go: each slot of the base may be missing, and where the base has a loop, its body may stand
/// there once, unrolled. Gives the regions with such bodies as loops of one round, and how many were taken.
fn fit(script: &Script, base: &[Region], regions: &[Region], accept: &mut dyn FnMut(usize, usize) -> bool) -> (Vec<Region>, usize) {
    let mut out = Vec::new();
    let mut at = 0;
    for (number, slot) in base.iter().enumerate() {
        let Some(region) = regions.get(at).filter(|r| signature(script, r) == signature(script, slot)) else { continue };
        if !accept(number, at) {
            break;
        }
        match (slot, region) {
            (Region::Loop(l), Region::Call(_)) => {
                let body = l.rounds.iter().map(|r| r.regions.as_slice()).max_by_key(|r| r.len()).unwrap_or_default();
                let (inner, taken) = fit(script, body, regions.get(at..).unwrap_or_default(), &mut |_, _| true);
                if taken == 0 {
                    break;
                }
                let rounds = vec![Round { item: None, regions: inner }];
                out.push(Region::Loop(Loop { id: usize::MAX, kind: l.kind, tool: l.tool.clone(), rounds }));
                at += taken;
            }
            (Region::Call(_), Region::Call(_) | Region::Loop(_)) | (Region::Loop(_), Region::Loop(_)) => {
                out.push(region.clone());
                at += 1;
            }
        }
    }
    (out, at)
}

/// All of `regions`, laid along `base`.
fn fit_all(script: &Script, base: &[Region], regions: &[Region]) -> Option<Vec<Region>> {
    let (fitted, taken) = fit(script, base, regions, &mut |_, _| true);
    (taken == regions.len()).then_some(fitted)
}

/// How many regions before each driver belong to its round: the body's first calls need not be the driver.
fn turned(script: &Script, regions: &[Region], first: usize, between: &[(usize, usize)]) -> usize {
    let mut turned = 0;
    loop {
        let Some(before) = first.checked_sub(turned + 1).and_then(|p| regions.get(p)) else { return turned };
        let wanted = signature(script, before);
        let all = between.iter().all(|(start, end)| {
            end - start > turned
                && regions.get(end - turned - 1).is_some_and(|r| signature(script, r) == wanted && same_arguments(script, r, before))
        });
        if !all || between.is_empty() {
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
