//! Calls of one tool that may drive a loop: they walk over a list, turn pages, or ask the same question again.

use crate::index::{Index, PathStep, Source};
use crate::names;
use crate::patterns::{self, Hit, Homes, Pattern, PatternStep, Root, followed, leaves, patterns};
use crate::region::{Item, LoopKind, Region, Signature, signature};
use crate::script::{Act, Script};
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::document::ToolEffect;
use std::collections::BTreeMap;

/// The calls that drive a loop.
pub struct Driver {
    /// Why it repeats.
    pub kind: LoopKind,
    /// The positions of the calls among the regions.
    pub positions: Vec<usize>,
    /// The items, where it walks over a list.
    pub items: Vec<Item>,
    /// Where the lists stand in the items of a list: how long the way to an outer item is.
    pub outer: Option<usize>,
}

impl Driver {
    /// Of two ways to see the same calls, the lower one is taken.
    pub fn rank(&self) -> u8 {
        match self.kind {
            LoopKind::Poll => 0,
            LoopKind::Pages => 1,
            LoopKind::Each => 2,
        }
    }
}

/// Less evidence than this, on average over the rounds, is chance.
const LEAST_EVIDENCE: f64 = 10.0;

/// Calls of one tool that are more than this are not looked at for a list that their items follow: it costs most, and says least.
const MOST_FOLLOWED: usize = 300;

/// All that may drive a loop among `regions`.
pub fn drivers(script: &Script, index: &Index, regions: &[Region], homes: &Homes) -> Vec<Driver> {
    let mut groups: BTreeMap<Signature, Vec<(usize, usize)>> = BTreeMap::new();
    for (position, region) in regions.iter().enumerate() {
        if let Region::Call(call) = region {
            groups.entry(signature(script, region)).or_default().push((position, *call));
        }
    }
    let mut found = Vec::new();
    for group in heads(script, regions) {
        walks(homes, &group, |call| patterns(script, index, homes, call), &mut found);
    }
    for group in groups.values() {
        hinted(script, group, &mut found);
    }
    for group in groups.into_values().filter(|g| g.len() > 1) {
        polls(script, &group, &mut found);
        pages(script, &group, &mut found);
        let before = found.len();
        walks(homes, &group, |call| patterns(script, index, homes, call), &mut found);
        let covered = found.iter().skip(before).map(|d| d.positions.len()).max().unwrap_or(0);
        if covered < group.len() && group.len() <= MOST_FOLLOWED {
            walks(homes, &group, |call| followed(script, index, homes, call), &mut found);
        }
    }
    found
}

/// Loops over pages that may themselves be the beginning of a round, with the calls of the same tool where one page was enough.
fn heads(script: &Script, regions: &[Region]) -> Vec<Vec<(usize, usize)>> {
    let mut groups: BTreeMap<Signature, (bool, Vec<(usize, usize)>)> = BTreeMap::new();
    for (position, region) in regions.iter().enumerate() {
        let is_loop = match region {
            Region::Call(_) => false,
            Region::Loop(l) if l.kind == LoopKind::Pages => true,
            Region::Loop(_) => continue,
        };
        if let Some(call) = region.first_call() {
            let group = groups.entry(signature(script, region)).or_default();
            group.0 |= is_loop;
            group.1.push((position, call));
        }
    }
    groups.into_values().filter(|(has_loop, group)| *has_loop && group.len() > 1).map(|(_, group)| group).collect()
}

/// Calls that a hint says are a poll or pages, where one was enough: each is a loop of one round.
fn hinted(script: &Script, group: &[(usize, usize)], found: &mut Vec<Driver>) {
    for (position, call) in group {
        let Some((act, hints)) = script.calls.get(*call).and_then(|act| Some((act, script.hints(&act.server)?))) else { continue };
        let lone = |kind| Driver { kind, positions: vec![*position], items: Vec::new(), outer: None };
        if hints.poll.get(&act.tool).is_some_and(|p| p.until.is_some()) {
            found.push(lone(LoopKind::Poll));
        } else if hints.pages.get(&act.tool).is_some_and(|p| p.cursor.is_some()) {
            found.push(lone(LoopKind::Pages));
        }
    }
}

/// Splits `group` into the longest runs in which each call goes on from the one before.
fn runs(group: &[(usize, usize)], goes_on: impl Fn(usize, usize) -> bool) -> Vec<&[(usize, usize)]> {
    group.chunk_by(|a, b| goes_on(a.1, b.1)).filter(|run| run.len() > 1).collect()
}

fn acts(script: &Script, a: usize, b: usize) -> Option<(&Act, &Act)> {
    Some((script.calls.get(a)?, script.calls.get(b)?))
}

/// The same question, asked until its answer changes: of a tool that only reads, at least three times, or twice where the answer tells
/// of a state, or where a hint says so.
fn polls(script: &Script, group: &[(usize, usize)], found: &mut Vec<Driver>) {
    let same = |a, b| acts(script, a, b).is_some_and(|(a, b)| a.arguments == b.arguments && b.could_see(a));
    for run in runs(group, same) {
        let (Some(first), Some(last), Some(before)) =
            (nth(script, run, 0), nth(script, run, run.len() - 1), nth(script, run, run.len() - 2))
        else {
            continue;
        };
        let hinted = script.hints(&first.server).is_some_and(|h| h.poll.contains_key(&first.tool));
        let adjacent = run.windows(2).all(|w| matches!(w, [(a, _), (b, _)] if a + 1 == *b));
        let changes = before.value != last.value;
        let convincing = run.len() > 2 || tells_a_state(&before.value, &last.value);
        if adjacent && changes && (hinted || (first.effect == ToolEffect::Read && convincing)) {
            found.push(Driver { kind: LoopKind::Poll, positions: run.iter().map(|(p, _)| *p).collect(), items: Vec::new(), outer: None });
        }
    }
}

fn nth<'s>(script: &'s Script, run: &[(usize, usize)], at: usize) -> Option<&'s Act> {
    script.calls.get(run.get(at)?.1)
}

/// Words by which results tell how far something is.
const STATES: &[&str] = &["status", "state", "phase", "done", "ready", "complete", "completed", "finished", "pending", "progress"];

fn tells_a_state(before: &Value, after: &Value) -> bool {
    match (before.as_object(), after.as_object()) {
        (Some(before), Some(after)) => after.iter().any(|(key, value)| {
            names::words(key).iter().any(|w| STATES.contains(&w.as_str())) && before.get(key).is_some_and(|b| b != value)
        }),
        _ => false,
    }
}

/// Page by page: one argument is what the answer before called the next page, or a number that grows by the same amount; all others stay.
fn pages(script: &Script, group: &[(usize, usize)], found: &mut Vec<Driver>) {
    let mut turn: Vec<Turn> = Vec::new();
    let mut start = 0;
    for at in 1..=group.len() {
        let next = match (group.get(at - 1), group.get(at)) {
            (Some((_, a)), Some((_, b))) => acts(script, *a, *b).map(|(a, b)| turns(script, a, b)).unwrap_or_default(),
            _ => Vec::new(),
        };
        let going: Vec<Turn> = if at - 1 == start { next.clone() } else { turn.iter().filter(|t| next.contains(t)).cloned().collect() };
        if going.is_empty() {
            if at - start > 1 && !turn.is_empty() {
                let positions = group.get(start..at).unwrap_or_default().iter().map(|(p, _)| *p).collect();
                found.push(Driver { kind: LoopKind::Pages, positions, items: Vec::new(), outer: None });
            }
            start = at;
        }
        turn = going;
    }
}

/// How a call turns the page that the one before it read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Turn {
    /// This argument is what stands there in the answer before.
    Cursor(Vec<PathStep>, Vec<PathStep>),
    /// This argument grows by so much.
    Step(Vec<PathStep>, i64),
}

fn turns(script: &Script, a: &Act, b: &Act) -> Vec<Turn> {
    if !b.could_see(a) {
        return Vec::new();
    }
    let before = leaves(a);
    let after = leaves(b);
    let changed: Vec<_> = after.iter().filter(|leaf| !before.contains(leaf)).collect();
    let gone = before.iter().filter(|(path, value)| !after.iter().any(|(p, _)| p == path) && !is_blank(value)).count();
    let ([(argument, value)], 0) = (changed.as_slice(), gone) else { return Vec::new() };
    let name = patterns::last_key(argument).unwrap_or_default();
    let hinted = script.hints(&a.server).and_then(|h| h.pages.get(&a.tool));
    if hinted.is_some_and(|h| h.argument != name) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let text = crate::index::scalar_text(value).unwrap_or_default();
    let used_as = names::words(name);
    for path in ways_to(&a.value, value) {
        let says = bits(text) + names::agreement(&used_as, &patterns::keys(&path)).bits();
        let last = patterns::last_key(&path).unwrap_or_default();
        let goes_on_after = path.contains(&THE_LAST) && used_as.iter().any(|w| GO_ON.contains(&w.as_str()));
        let is_next =
            goes_on_after || names::words(last).iter().any(|w| ["next", "cursor", "token", "after", "continuation"].contains(&w.as_str()));
        if hinted.is_some_and(|h| h.cursor.as_deref() == Some(last)) || (has_list(&a.value) && (is_next || says >= LEAST_EVIDENCE + 6.0)) {
            found.push(Turn::Cursor(argument.clone(), path));
        }
    }
    let old = before.iter().find(|(path, _)| path == argument).map(|(_, v)| *v);
    if let (Some(from), Some(to)) = (old.and_then(as_i64), as_i64(value)) {
        let pages = ["page", "offset", "skip", "start", "from", "index"];
        if let Some(by) = to.checked_sub(from).filter(|by| *by > 0)
            && (hinted.is_some() || used_as.iter().any(|w| pages.contains(&w.as_str())))
            && has_list(&a.value)
        {
            found.push(Turn::Step(argument.clone(), by));
        }
    }
    found
}

fn as_i64(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

fn has_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(object) => object.iter().any(|(_, v)| has_list(v)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The last item of a list, however long it is.
const THE_LAST: PathStep = PathStep::Index(usize::MAX);

/// Words of arguments that say behind what a page begins.
const GO_ON: &[&str] = &["after", "since", "before", "until", "cursor", "start", "from", "last", "max", "min"];

/// The ways to `wanted` in `value` that go through no list, or only through the last item of one.
fn ways_to(value: &Value, wanted: &Value) -> Vec<Vec<PathStep>> {
    let mut found = Vec::new();
    let mut stack = vec![(value, Vec::new())];
    while let Some((value, path)) = stack.pop() {
        if value == wanted {
            found.push(path);
        } else if let Some(object) = value.as_object() {
            stack.extend(object.iter().map(|(key, v)| (v, [path.as_slice(), &[PathStep::Key(key.clone())]].concat())));
        } else if let Some(last) = value.as_array().and_then(<[_]>::last) {
            stack.push((last, [path.as_slice(), &[THE_LAST]].concat()));
        }
    }
    found.sort();
    found
}

/// Calls that walk over a list, from its start towards its end or back. Each way to a list has its own runs of calls: of several that overlap
/// the folds take the one whose rounds are shortest.
fn walks(homes: &Homes, group: &[(usize, usize)], ways: impl Fn(usize) -> BTreeMap<Pattern, Hit>, found: &mut Vec<Driver>) {
    let mut open: BTreeMap<Pattern, (usize, Vec<Hit>)> = BTreeMap::new();
    let mut runs: BTreeMap<(usize, usize), BTreeMap<Pattern, Vec<Hit>>> = BTreeMap::new();
    let mut close = |pattern: Pattern, (start, hits): (usize, Vec<Hit>)| {
        if hits.len() > 1 {
            runs.entry((start, start + hits.len())).or_default().insert(pattern, hits);
        }
    };
    for (at, (_, call)) in group.iter().enumerate() {
        let mut before = std::mem::take(&mut open);
        for (pattern, hit) in ways(*call) {
            let run = match before.remove_entry(&pattern) {
                Some((_, (start, mut hits))) if goes_on(&hits, &hit) => {
                    hits.push(hit);
                    (start, hits)
                }
                ended => {
                    ended.into_iter().for_each(|(pattern, run)| close(pattern, run));
                    (at, vec![hit])
                }
            };
            open.insert(pattern, run);
        }
        before.into_iter().for_each(|(pattern, run)| close(pattern, run));
    }
    open.into_iter().for_each(|(pattern, run)| close(pattern, run));
    for ((start, end), patterns) in runs {
        if let Some((items, outer)) = best_list(homes, &patterns) {
            let positions = group.get(start..end).unwrap_or_default().iter().map(|(p, _)| *p).collect();
            found.push(Driver { kind: LoopKind::Each, positions, items, outer });
        }
    }
}

/// Whether `hit` goes on in the direction of those before it.
fn goes_on(hits: &[Hit], hit: &Hit) -> bool {
    match hits {
        [] => false,
        [only] => hit.position != only.position,
        [first, second, ..] => {
            let last = hits.last().map(|h| &h.position);
            if first.position > second.position { Some(&hit.position) < last } else { Some(&hit.position) > last }
        }
    }
}

/// A list with the positions of its items that calls go to.
type Walked = (Root, Vec<PatternStep>, Vec<Vec<usize>>);

/// The items of the list that most arguments walk over, in one order; of several, the earliest list.
fn best_list(homes: &Homes, alive: &BTreeMap<Pattern, Vec<Hit>>) -> Option<(Vec<Item>, Option<usize>)> {
    let mut lists: BTreeMap<Walked, (usize, f64, Vec<&Hit>)> = BTreeMap::new();
    for (pattern, hits) in alive {
        let (root, list) = pattern.list();
        let positions: Vec<Vec<usize>> = hits.iter().map(|h| h.position.clone()).collect();
        let evidence = mean(hits.iter().map(|h| h.evidence));
        let entry = lists.entry((root, list, positions)).or_insert((0, 0.0, hits.iter().collect()));
        entry.0 += 1;
        entry.1 = f64::max(entry.1, evidence);
    }
    let convincing = lists.into_iter().filter(|(_, (_, evidence, _))| *evidence >= LEAST_EVIDENCE);
    let ((root, list, positions), (_, _, hits)) = convincing.max_by_key(|((root, list, positions), (arguments, _, _))| {
        let whole = matches!(root, Root::Round { of, .. } if positions.len() == homes.rounds(*of));
        let is_forward = !matches!(positions.as_slice(), [first, second, ..] if first > second);
        (is_forward, *arguments, structure(list), matches!(root, Root::Source(Source::Input)), whole, std::cmp::Reverse(list.len()))
    })?;
    let items = hits.iter().zip(positions).map(|(hit, position)| item(&root, &list, hit, &position));
    let any: Vec<usize> = (0..list.len()).filter(|i| list.get(*i) == Some(&PatternStep::Any)).collect();
    let outer = match (&root, any.as_slice()) {
        (Root::Source(_), [first, _, ..]) => Some(first + 1),
        (Root::Source(_) | Root::Round { .. }, _) => None,
    };
    Some((items.collect::<Option<_>>()?, outer))
}

/// How much structure the items of a list have: a part of a text has least, an item of a list that was one most.
fn structure(list: &[PatternStep]) -> u8 {
    let gives_parts = |step: &PatternStep| matches!(step, PatternStep::Step(PathStep::Open(opening)) if opening.gives_parts());
    if list.contains(&PatternStep::AnyPart) {
        0
    } else if list.iter().any(gives_parts) {
        1
    } else {
        2
    }
}

fn item(root: &Root, list: &[PatternStep], hit: &Hit, position: &[usize]) -> Option<Item> {
    if let (Root::Round { of, .. }, true) = (root, list.is_empty()) {
        return Some(Item::Round { of: *of, round: *position.first()? });
    }
    let parts = list.last() == Some(&PatternStep::AnyPart);
    let length = if parts { hit.place.path.len() } else { list.len() };
    let path = hit.place.path.iter().take(length).cloned().collect();
    Some(Item::Value { source: hit.place.source, path, span: hit.place.span.filter(|_| parts) })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}
