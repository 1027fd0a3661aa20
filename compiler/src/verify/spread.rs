//! The lists at a place as the recording has them, which loops went through which of their items, and what they are with other items.

use super::census::Home;
use super::changed::{Change, Ground, holds};
use super::observe::{Event, Round, split};
use super::places::{Base, Joined, Lists, Place, Root};
use super::sizes::Size;
use super::spots::{At, lists_in, replaced};
use super::tokens::Renaming;
use ltc_workflow::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// Lists that are one list for the workflow, and the loops that go through them.
struct Group {
    lists: Vec<List>,
    /// The positions of the items that a loop went through, per loop.
    loops: Vec<(SmolStr, Vec<usize>)>,
}

struct List {
    home: Home,
    path: Vec<At>,
    items: Vec<Value>,
}

impl Group {
    fn len(&self) -> usize {
        self.lists.iter().map(|list| list.items.len()).sum()
    }

    fn item(&self, at: usize) -> Option<&Value> {
        self.lists.iter().flat_map(|list| &list.items).nth(at)
    }

    /// The positions that are kept first: those that a loop went through, then the others.
    fn order(&self) -> Vec<usize> {
        let chosen: FxHashSet<usize> = self.loops.iter().flat_map(|(_, positions)| positions).copied().collect();
        let (first, then): (Vec<usize>, Vec<usize>) = (0..self.len()).partition(|at| chosen.contains(at));
        first.into_iter().chain(then).collect()
    }

    /// The position of the item that is copied: the last one that a loop went through, else the last.
    fn model(&self) -> Option<usize> {
        self.loops.iter().filter_map(|(_, positions)| positions.last().copied()).max().or_else(|| self.len().checked_sub(1))
    }
}

/// The most comparisons of a loop's items with those of a list.
const MOST_COMPARISONS: usize = 4_000_000;

/// The lists at a place, as the recording has them.
pub struct Spread {
    groups: Vec<Group>,
}

impl Spread {
    /// Finds the lists at `place`, and which loops go through which.
    ///
    /// # Errors
    /// Why no world can be made with other items there.
    pub fn of(ground: &Ground, lists: &Lists, place: &Place) -> Result<Spread, String> {
        let mut groups = groups(ground, place);
        if groups.iter().all(|(_, group)| group.len() == 0) {
            return Err("the list has no items in the recording".to_owned());
        }
        let loops: Vec<&SmolStr> = ground.observed.loop_keys.iter().filter(|key| goes_through(lists, key, place)).collect();
        let items: usize = groups.iter().map(|(_, group)| group.len()).sum();
        if loops.len().saturating_mul(items) > MOST_COMPARISONS {
            return Err("there are too many of these lists".to_owned());
        }
        for key in loops {
            let items: Vec<&Value> =
                ground.observed.loops.get(key).into_iter().flatten().filter_map(|seen| Some(&seen.item.as_ref()?.0)).collect();
            let seen = |(_, (prefix, _)): &(usize, &(SmolStr, Group))| key.starts_with(prefix.as_str());
            // The innermost list around the loop that holds its items; where none does, they may be made out of those of the only list.
            let holding = groups
                .iter()
                .enumerate()
                .filter(seen)
                .filter_map(|(at, (prefix, group))| Some((at, prefix.len(), positions(group, &items)?)));
            let found = holding.max_by_key(|(at, length, _)| (*length, std::cmp::Reverse(*at))).map(|(at, _, positions)| (at, positions));
            let found = found.or_else(|| {
                let mut visible = groups.iter().enumerate().filter(seen);
                let (at, (_, group)) = visible.next()?;
                (visible.next().is_none() && group.len() == items.len()).then(|| (at, (0..items.len()).collect()))
            });
            if let Some((at, positions)) = found
                && let Some((_, group)) = groups.get_mut(at)
            {
                group.loops.push((key.clone(), positions));
            }
        }
        Ok(Spread { groups: groups.into_iter().map(|(_, group)| group).collect() })
    }

    /// How many items the longest list has.
    pub fn longest(&self) -> usize {
        self.groups.iter().map(Group::len).max().unwrap_or(0)
    }

    /// The change, and for the key of each loop how many rounds it must have.
    pub fn change(&self, ground: &Ground, size: Size) -> (Change, BTreeMap<SmolStr, usize>) {
        let copies = if size == Size::OneMore { self.copies(ground) } else { Renaming::default() };
        let mut expected = BTreeMap::new();
        let mut changed: BTreeMap<Home, Value> = BTreeMap::new();
        for group in &self.groups {
            let kept: FxHashSet<usize> = match size {
                Size::First(n) => group.order().into_iter().take(n).collect(),
                Size::OneMore | Size::Reversed => (0..group.len()).collect(),
            };
            let model = group.model().filter(|_| size == Size::OneMore);
            for (key, positions) in &group.loops {
                let more = usize::from(model.is_some_and(|model| positions.contains(&model)));
                expected.insert(key.clone(), positions.iter().filter(|at| kept.contains(at)).count() + more);
            }
            let mut start = 0;
            for list in &group.lists {
                let range = start..start + list.items.len();
                let mut items: Vec<Value> =
                    range.clone().zip(&list.items).filter(|(at, _)| kept.contains(at)).map(|(_, item)| item.clone()).collect();
                if let Some(item) = model.filter(|model| range.contains(model)).and_then(|model| group.item(model)) {
                    items.push(copies.value(item).unwrap_or_else(|| item.clone()));
                }
                if size == Size::Reversed {
                    items.reverse();
                }
                let value = changed.entry(list.home).or_insert_with(|| value_of(ground, list.home));
                *value = replaced(value, &list.path, Value::array(items));
                start = range.end;
            }
        }
        let mut change = Change { copies, ..Change::default() };
        for (home, value) in changed {
            match (home, value) {
                (Home::Call(call), value) => drop(change.results.insert(call, value)),
                (Home::Input, Value::Object(input)) => change.input = Some(input),
                (Home::Input, _) => {}
            }
        }
        (change, expected)
    }

    /// Other names for what belongs to the copied items alone: the ids in them, and those that the rounds about them brought up.
    fn copies(&self, ground: &Ground) -> Renaming {
        let mut own: FxHashSet<SmolStr> = FxHashSet::default();
        let mut order: Vec<SmolStr> = Vec::new();
        for group in &self.groups {
            let Some(model) = group.model() else { continue };
            let mut holders: FxHashMap<SmolStr, usize> = FxHashMap::default();
            for item in group.lists.iter().flat_map(|list| &list.items) {
                let mut inside: Vec<SmolStr> = Vec::new();
                ground.census.each(item, &mut |token| inside.push(token));
                inside.sort();
                inside.dedup();
                inside.into_iter().for_each(|token| *holders.entry(token).or_default() += 1);
            }
            let home = group.lists.iter().map(|list| list.home).min();
            if let Some(item) = group.item(model) {
                ground.census.each(item, &mut |token| {
                    let is_here = ground.census.homes(&token).first().copied() >= home;
                    if holders.get(&token) == Some(&1) && is_here && own.insert(token.clone()) {
                        order.push(token);
                    }
                });
            }
        }
        grown(ground, &mut own, &mut order, &mut |round, own| round.item.as_ref().is_some_and(|item| holds(item, own)));
        Renaming::of(&order, &|token| ground.census.has(token), 3)
    }
}

/// Adds to `own` what the results of calls in marked rounds hold first. A round is marked where one around it is, or where `mark` says so.
pub fn grown(
    ground: &Ground,
    own: &mut FxHashSet<SmolStr>,
    order: &mut Vec<SmolStr>,
    mark: &mut dyn FnMut(&Round, &FxHashSet<SmolStr>) -> bool,
) {
    let mut marked: FxHashSet<SmolStr> = FxHashSet::default();
    for event in &ground.observed.events {
        match event {
            Event::Round(round) => {
                if marked.contains(split(&round.of).0) || mark(round, own) {
                    marked.insert(round.prefix());
                }
            }
            Event::Call(key, call) => {
                if marked.contains(split(&key.0).0)
                    && let Some(act) = ground.script.calls.get(*call)
                {
                    ground.census.each(&act.value, &mut |token| {
                        if ground.census.homes(&token).first() == Some(&Home::Call(*call)) && own.insert(token.clone()) {
                            order.push(token);
                        }
                    });
                }
            }
        }
    }
}

fn value_of(ground: &Ground, home: Home) -> Value {
    match home {
        Home::Input => Value::Object(ground.start.input.clone()),
        Home::Call(call) => ground.script.calls.get(call).map(|act| act.value.clone()).unwrap_or_default(),
    }
}

fn goes_through(lists: &Lists, key: &str, place: &Place) -> bool {
    matches!(lists.loops.get(split(key).1), Some(Base::Place(other)) if other == place)
}

/// The lists at a place, those that are put together in one group, with what the keys of the steps begin with that see them.
fn groups(ground: &Ground, place: &Place) -> Vec<(SmolStr, Group)> {
    let mut homes: Vec<(SmolStr, Home)> = Vec::new();
    match &place.root {
        Root::Input => homes.push((SmolStr::default(), Home::Input)),
        Root::Step(step) => {
            for event in &ground.observed.events {
                if let Event::Call(key, call) = event
                    && split(&key.0).1 == step
                {
                    homes.push((SmolStr::new(split(&key.0).0), Home::Call(*call)));
                }
            }
        }
    }
    let mut groups: Vec<(SmolStr, Group)> = Vec::new();
    for (prefix, home) in homes {
        let found = lists_in(&value_of(ground, home), &place.ways).into_iter().map(|(path, items)| List { home, path, items });
        match &place.joined {
            None => groups.extend(found.map(|list| (prefix.clone(), Group { lists: vec![list], loops: Vec::new() }))),
            Some(Joined::Value) => groups.push((prefix, Group { lists: found.collect(), loops: Vec::new() })),
            Some(Joined::Loop(id)) => {
                let outer = outside(&prefix, id);
                match groups.iter_mut().rev().find(|(other, _)| *other == outer) {
                    Some((_, group)) => group.lists.extend(found),
                    None => groups.push((outer, Group { lists: found.collect(), loops: Vec::new() })),
                }
            }
        }
    }
    groups
}

/// What the keys of the steps beside a loop begin with, told from the keys of the steps in it.
fn outside(prefix: &str, id: &str) -> SmolStr {
    let mut at = 0;
    for part in prefix.split_inclusive('/') {
        if part.strip_prefix(id).is_some_and(|rest| rest.starts_with('[')) {
            break;
        }
        at += part.len();
    }
    SmolStr::new(prefix.get(..at).unwrap_or_default())
}

/// The positions of `items` in a group, in order.
fn positions(group: &Group, items: &[&Value]) -> Option<Vec<usize>> {
    let mut all = group.lists.iter().flat_map(|list| &list.items).enumerate();
    items.iter().map(|item| all.find(|(_, other)| other == item).map(|(at, _)| at)).collect()
}
