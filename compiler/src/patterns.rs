//! Ways from the arguments of a call to the items of a list.
//!
//! An argument's value that stands at `items[3].id` of an earlier result is a pattern `items[*].id` with the position 3. Calls that share
//! a pattern, each with another position, walk over a list.

use crate::index::{Index, PathStep, Place, Source, scalar_text, windows};
use crate::names;
use crate::region::{Item, Loop, Region};
use crate::script::{Act, Script};
use crate::weight::bits;
use ltc_workflow::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Which rounds of which loops calls and items belong to, so far.
#[derive(Default)]
pub struct Homes {
    loops: usize,
    /// For a call: the loop and the round, innermost last.
    calls: FxHashMap<usize, Vec<(usize, usize)>>,
    /// For the place of an item: the loop and the round.
    items: BTreeMap<(Source, Vec<PathStep>), (usize, usize)>,
    /// How many rounds each loop has.
    rounds: Vec<usize>,
}

impl Homes {
    /// The number of the next loop.
    pub fn next_loop(&mut self) -> usize {
        self.loops += 1;
        self.loops - 1
    }

    /// Notes which calls and items are in `folded`.
    pub fn add(&mut self, folded: &Loop) {
        self.rounds.resize(self.loops, 0);
        if let Some(rounds) = self.rounds.get_mut(folded.id) {
            *rounds = folded.rounds.len();
        }
        for (number, round) in folded.rounds.iter().enumerate() {
            for call in round.regions.iter().flat_map(Region::calls) {
                self.calls.entry(call).or_default().insert(0, (folded.id, number));
            }
            if let Some(Item::Value { source, path, span: None }) = &round.item {
                self.items.entry((*source, path.to_vec())).or_insert((folded.id, number));
            }
        }
    }

    /// How many calls of the same round come before `call`: calls of a round follow each other in the script.
    fn calls_before_in_round(&self, call: usize, of: usize, round: usize) -> usize {
        let same = |c: usize| self.calls.get(&c).is_some_and(|chain| chain.contains(&(of, round)));
        (0..call).rev().take_while(|c| same(*c)).count()
    }

    /// How many rounds a loop has.
    pub fn rounds(&self, of: usize) -> usize {
        self.rounds.get(of).copied().unwrap_or(0)
    }
}

/// What a pattern starts from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    /// A value.
    Source(Source),
    /// The rounds of an earlier loop: its item, or a call that is so many calls into the round.
    Round {
        /// That loop.
        of: usize,
        /// Which call of the round; `None` is the item.
        call: Option<usize>,
    },
}

/// A step of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PatternStep {
    /// This step.
    Step(PathStep),
    /// Any item of a list.
    Any,
    /// Any part of a text.
    AnyPart,
}

/// A way from an argument to the items of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// The way to the argument's leaf.
    pub argument: Vec<PathStep>,
    /// Where the list is.
    pub root: Root,
    /// The way to the value, with at least one [`PatternStep::Any`] unless the root is the rounds of a loop.
    pub path: Vec<PatternStep>,
}

/// Where a pattern holds for one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The positions that stand for [`PatternStep::Any`], outermost first; the round comes first where the root is a loop.
    pub position: Vec<usize>,
    /// The place.
    pub place: Place,
    /// How much it says that the value stands there.
    pub evidence: f64,
}

impl Pattern {
    /// The list alone: the pattern up to the item.
    pub fn list(&self) -> (Root, Vec<PatternStep>) {
        let end = self.path.iter().rposition(|s| !matches!(s, PatternStep::Step(_)));
        let prefix = end.map_or(Vec::new(), |e| self.path.iter().take(e + 1).cloned().collect());
        let root = match (&self.root, prefix.is_empty()) {
            (Root::Round { of, .. }, true) => Root::Round { of: *of, call: None },
            (root, _) => root.clone(),
        };
        (root, prefix)
    }
}

/// The least a value must say to be looked for inside longer arguments.
const LEAST_BITS_OF_A_PART: f64 = 8.0;

/// The patterns of a call's arguments.
pub fn patterns(script: &Script, index: &Index, homes: &Homes, call: usize) -> BTreeMap<Pattern, Hit> {
    let mut found = BTreeMap::new();
    let Some(act) = script.calls.get(call) else { return found };
    for (argument, value) in leaves(act) {
        let Some(text) = scalar_text(value) else { continue };
        let mut seen = FxHashSet::default();
        let places = index.places(text);
        if !places.is_empty() {
            places
                .iter()
                .filter(|p| seen.insert(told_by(p)))
                .for_each(|place| add(script, homes, call, &argument, text, place, &mut found));
            continue;
        }
        if matches!(value, Value::Number(_)) {
            continue;
        }
        let mut parts = FxHashSet::default();
        for (start, end) in windows(text) {
            let part = text.get(start..end).unwrap_or_default();
            let places = index.places(part);
            if places.iter().any(|p| !seen.contains(&told_by(p))) && parts.insert(part) && bits(part) >= LEAST_BITS_OF_A_PART {
                places
                    .iter()
                    .filter(|p| seen.insert(told_by(p)))
                    .for_each(|place| add(script, homes, call, &argument, part, place, &mut found));
            }
        }
    }
    found
}

/// What tells places apart here: the value, and whether it is a part of it. The patterns of an argument are those of its first part there,
/// and long texts that share their words have very many.
fn told_by(place: &Place) -> (usize, bool) {
    (place.path.as_ptr().addr(), place.span.is_some())
}

/// The patterns by which a call's arguments follow another list: the item that holds an argument has a field that stands in that list, in
/// whose order the calls go. `user: "us_2"` with `users: [{id: "us_2", handle: "ben"}]` follows `people: ["ana", "ben"]`.
pub fn followed(script: &Script, index: &Index, homes: &Homes, call: usize) -> BTreeMap<Pattern, Hit> {
    const MOST_FIELDS: usize = 12;
    let mut found = BTreeMap::new();
    let Some(act) = script.calls.get(call) else { return found };
    for (argument, value) in leaves(act) {
        let Some(text) = scalar_text(value).filter(|t| bits(t) >= LEAST_BITS_OF_A_PART) else { continue };
        for place in index.places(text).iter().filter(|p| p.span.is_none() && is_visible(script, call, p)).take(4) {
            let Source::Call(source) = place.source else { continue };
            let Some(last) = place.path.iter().rposition(|s| matches!(s, PathStep::Index(_))) else { continue };
            let item = script.calls.get(source).and_then(|c| crate::index::follow(&c.value, place.path.get(..=last)?));
            let fields = item.as_ref().and_then(Value::as_object).map(|o| o.sorted()).unwrap_or_default();
            for (key, field) in fields.into_iter().take(MOST_FIELDS) {
                let Some(known) = scalar_text(field).filter(|k| *k != text && bits(k) >= 5.0) else { continue };
                let other_list = |p: &&Place| p.span.is_none() && (p.source != place.source || p.path.first() != place.path.first());
                for other in index.places(known).iter().filter(other_list) {
                    let by = [argument.as_slice(), &[PathStep::Key(key.clone())]].concat();
                    add(script, homes, call, &by, known, other, &mut found);
                }
            }
        }
    }
    found.values_mut().for_each(|hit| hit.evidence += LEAST_BITS_OF_A_PART);
    found
}

/// The scalar leaves of a call's arguments, with the ways to them.
pub fn leaves(act: &Act) -> Vec<(Vec<PathStep>, &Value)> {
    let mut found = Vec::new();
    for (key, value) in act.arguments.iter() {
        add_leaves(value, &mut vec![PathStep::Key(key.clone())], &mut found);
    }
    found
}

fn add_leaves<'v>(value: &'v Value, path: &mut Vec<PathStep>, found: &mut Vec<(Vec<PathStep>, &'v Value)>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push((path.clone(), value)),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(PathStep::Index(at));
                add_leaves(item, path, found);
                path.pop();
            }
        }
        Value::Object(object) => {
            for (key, item) in object.iter() {
                path.push(PathStep::Key(key.clone()));
                add_leaves(item, path, found);
                path.pop();
            }
        }
    }
}

/// Whether the value at `place` was there when `call` was made.
pub fn is_visible(script: &Script, call: usize, place: &Place) -> bool {
    match place.source {
        Source::Input | Source::Task => true,
        Source::Call(earlier) => match (script.calls.get(earlier), script.calls.get(call)) {
            (Some(earlier_act), Some(act)) => earlier < call && act.could_see(earlier_act),
            (Some(_), None) => true,
            (None, _) => false,
        },
    }
}

fn add(script: &Script, homes: &Homes, call: usize, argument: &[PathStep], text: &str, place: &Place, found: &mut BTreeMap<Pattern, Hit>) {
    if !is_visible(script, call, place) || place.source == Source::Task {
        return;
    }
    let used_as = last_key(argument).map(names::words).unwrap_or_default();
    let evidence = bits(text) + names::agreement(&used_as, &keys(&place.path)).bits();
    let mut insert = |root: Root, path: Vec<PatternStep>, position: Vec<usize>| {
        let pattern = Pattern { argument: argument.to_vec(), root, path };
        found.entry(pattern).or_insert(Hit { position, place: place.clone(), evidence });
    };
    let indexed: Vec<usize> = (0..place.path.len()).filter(|i| matches!(place.path.get(*i), Some(PathStep::Index(_)))).collect();
    for choice in choices(&indexed) {
        let (path, position) = abstracted(place, &choice, false);
        insert(Root::Source(place.source), path, position);
    }
    if place.span.is_some() {
        let (path, position) = abstracted(place, &[], true);
        insert(Root::Source(place.source), path, position);
    }
    if let Source::Call(source) = place.source
        && let Some((of, round)) = homes.calls.get(&source).and_then(|chain| chain.last())
    {
        let nth = homes.calls_before_in_round(source, *of, *round);
        for choice in std::iter::once(Vec::new()).chain(choices(&indexed)) {
            let (path, mut position) = abstracted(place, &choice, false);
            position.insert(0, *round);
            insert(Root::Round { of: *of, call: Some(nth) }, path, position);
        }
    }
    for depth in &indexed {
        let prefix: Vec<PathStep> = place.path.iter().take(depth + 1).cloned().collect();
        if let Some((of, round)) = homes.items.get(&(place.source, prefix)) {
            let rest = Place { path: place.path.iter().skip(depth + 1).cloned().collect(), ..place.clone() };
            let (path, mut position) = abstracted(&rest, &[], false);
            position.insert(0, *round);
            insert(Root::Round { of: *of, call: None }, path, position);
        }
    }
}

/// Which indexes may stand for "any": each one alone, and all from one to the innermost.
fn choices(indexed: &[usize]) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = indexed.iter().map(|i| vec![*i]).collect();
    for from in 0..indexed.len().saturating_sub(1) {
        found.push(indexed.iter().skip(from).copied().collect());
    }
    found
}

fn abstracted(place: &Place, any: &[usize], any_part: bool) -> (Vec<PatternStep>, Vec<usize>) {
    let mut position = Vec::new();
    let mut path = Vec::new();
    for (at, step) in place.path.iter().enumerate() {
        match step {
            PathStep::Index(i) if any.contains(&at) => {
                position.push(*i);
                path.push(PatternStep::Any);
            }
            PathStep::Key(_) | PathStep::Index(_) | PathStep::Open(_) => path.push(PatternStep::Step(step.clone())),
        }
    }
    if any_part && let Some((start, _)) = place.span {
        position.push(start);
        path.push(PatternStep::AnyPart);
    }
    (path, position)
}

/// The last key of a path.
pub fn last_key(path: &[PathStep]) -> Option<&str> {
    keys(path).last().copied()
}

/// The keys of a path.
pub fn keys(path: &[PathStep]) -> Vec<&str> {
    path.iter()
        .filter_map(|step| match step {
            PathStep::Key(key) => Some(key.as_str()),
            PathStep::Index(_) | PathStep::Open(_) => None,
        })
        .collect()
}

/// Whether an argument of a call stands in a result of one of these calls.
pub fn uses(index: &Index, act: &Act, calls: &FxHashSet<usize>) -> bool {
    let of_calls = |place: &Place| matches!(place.source, Source::Call(call) if calls.contains(&call));
    leaves(act)
        .iter()
        .filter_map(|(_, value)| scalar_text(value))
        .filter(|t| bits(t) >= LEAST_BITS_OF_A_PART)
        .any(|text| index.places(text).iter().any(of_calls))
}

/// Whether anything that a call was told stands in the result of another one, however little it says, and that one was not told it too.
pub fn may_follow(script: &Script, index: &Index, act: &Act, other: usize) -> bool {
    let told = script.calls.get(other).map(leaves).unwrap_or_default();
    let of_other = |text: &str| index.places(text).iter().any(|place| place.source == Source::Call(other));
    leaves(act).iter().filter(|(_, value)| !told.iter().any(|(_, known)| known == value)).filter_map(|(_, value)| scalar_text(value)).any(
        |text| {
            let mut parts = windows(text).into_iter().filter_map(|(start, end)| text.get(start..end));
            of_other(text) || parts.any(|part| of_other(part) && bits(part) >= LEAST_BITS_OF_A_PART)
        },
    )
}

/// Whether an argument in `region` comes from the item or a result of `round`.
pub fn touches(script: &Script, index: &Index, region: &Region, round: &[Region], item: Option<&Item>) -> bool {
    let calls: Vec<usize> = round.iter().flat_map(Region::calls).collect();
    let in_item = |place: &Place| match item {
        Some(Item::Value { source, path, .. }) => place.source == *source && place.path.starts_with(path),
        Some(Item::Round { .. }) | None => false,
    };
    region.calls().iter().filter_map(|c| script.calls.get(*c)).any(|act| {
        leaves(act).iter().filter_map(|(_, value)| scalar_text(value)).any(|text| {
            let comes_from_there = |part: &str| {
                index.places(part).iter().any(|place| in_item(place) || matches!(place.source, Source::Call(c) if calls.contains(&c)))
            };
            let mut parts = windows(text).into_iter().filter_map(|(start, end)| text.get(start..end));
            comes_from_there(text) || parts.any(|part| comes_from_there(part) && bits(part) >= LEAST_BITS_OF_A_PART)
        })
    })
}
