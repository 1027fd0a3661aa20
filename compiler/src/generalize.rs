//! Lays runs, and rounds of loops, over each other.
//!
//! Before: for each run a tree of loops. After: one skeleton whose nodes know every frame that reached them. Runs are aligned by the tools
//! that they call; where one run has a loop and another has its body once, the one is a loop of one round; where it has nothing, the frame
//! did not get to the node, and a test will have to say why.

use crate::index::{Index, PathStep, Source};
use crate::patterns;
use crate::region::{Item, Loop, LoopKind, Region, Round, Signature, signature};
use crate::script::Script;
use crate::tree::{self, Body, BodyId, Frame, FrameId, Node, NodeId, NodeKind, Tree};
use ltc_workflow::document::ToolEffect;
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The skeleton of all runs.
pub fn generalize(scripts: &[Script], indexes: &[Index], runs: Vec<Vec<Region>>) -> Tree {
    let mut tree = Tree::default();
    let frames: Vec<(FrameId, Vec<Region>)> = runs
        .into_iter()
        .enumerate()
        .map(|(run, regions)| (tree.add_frame(Frame { run, parent: None, of: None, round: 0, item: None }), regions))
        .collect();
    lay(&mut tree, scripts, indexes, None, frames);
    tree
}

/// A place in a body, and what each frame did there.
struct Slot {
    signature: Signature,
    regions: BTreeMap<FrameId, Region>,
}

/// One body of what the frames did.
fn lay(tree: &mut Tree, scripts: &[Script], indexes: &[Index], of: Option<NodeId>, frames: Vec<(FrameId, Vec<Region>)>) -> BodyId {
    let body = BodyId(tree.bodies.len());
    tree.bodies.push(Body { nodes: Vec::new(), frames: frames.iter().map(|(frame, _)| *frame).collect(), of });
    let mut slots: Vec<Slot> = Vec::new();
    for (frame, regions) in frames {
        let script = scripts.get(tree.run(frame));
        let mut signed: Vec<_> = regions.into_iter().map(|r| (script.map(|s| signature(s, &r)).unwrap_or_default(), r)).collect();
        if let (Some(script), Some(index)) = (script, indexes.get(tree.run(frame))) {
            as_before(&slots, script, index, &mut signed);
        }
        slots = align(slots, frame, signed);
    }
    for slot in slots {
        let node = place(tree, scripts, indexes, body, slot);
        if let Some(body) = tree.bodies.get_mut(body.0) {
            body.nodes.push(node);
        }
    }
    body
}

fn place(tree: &mut Tree, scripts: &[Script], indexes: &[Index], body: BodyId, slot: Slot) -> NodeId {
    let kind = slot.regions.values().find_map(|r| match r {
        Region::Loop(l) => Some(l.kind),
        Region::Call(_) => None,
    });
    let (server, tool) = slot.signature;
    match kind {
        None => {
            let calls = slot.regions.iter().filter_map(|(frame, r)| Some((*frame, r.first_call()?))).collect();
            let node = tree.add_node(Node { kind: NodeKind::Call { server, tool, calls }, body });
            for (frame, region) in &slot.regions {
                if let Some(call) = region.first_call() {
                    tree.add_call(call, node, *frame);
                }
            }
            node
        }
        Some(kind) => lay_loop(tree, scripts, indexes, body, (kind, server, tool), slot.regions),
    }
}

fn lay_loop(
    tree: &mut Tree,
    scripts: &[Script],
    indexes: &[Index],
    body: BodyId,
    (kind, server, tool): (LoopKind, SmolStr, SmolStr),
    regions: BTreeMap<FrameId, Region>,
) -> NodeId {
    let placeholder = NodeKind::List { rounds: BTreeMap::new() };
    let node = tree.add_node(Node { kind: placeholder, body });
    let model = regions.iter().find_map(|(frame, r)| match r {
        Region::Loop(l) => l.rounds.first().and_then(|round| {
            let call = round.regions.iter().find_map(Region::first_call)?;
            Some(Model { frame: *frame, call, item: round.item.clone()? })
        }),
        Region::Call(_) => None,
    });
    let mut rounds: BTreeMap<FrameId, Vec<FrameId>> = BTreeMap::new();
    let mut inner = Vec::new();
    for (frame, region) in regions {
        let run = tree.run(frame);
        let folded = match region {
            Region::Loop(folded) => folded,
            Region::Call(call) => {
                let rounds = vec![Round { item: None, regions: vec![Region::Call(call)] }];
                Loop { id: usize::MAX, kind, tool: (server.clone(), tool.clone()), rounds }
            }
        };
        let mut frames = Vec::new();
        for (round, Round { item, regions }) in folded.rounds.into_iter().enumerate() {
            let first = regions.iter().find_map(Region::first_call);
            let item = item.or_else(|| lone_item(tree, scripts, indexes, frame, first?, model.as_ref()?));
            let item = item.and_then(|item| placed(tree, run, item));
            let id = tree.add_frame(Frame { run, parent: Some(frame), of: Some(node), round, item });
            frames.push(id);
            inner.push((id, regions));
        }
        tree.loops.insert((run, folded.id), frames.clone());
        rounds.insert(frame, frames);
    }
    if kind == LoopKind::Each {
        let reached = tree.body(body).map(|b| b.frames.clone()).unwrap_or_default();
        for frame in reached {
            rounds.entry(frame).or_default();
        }
    }
    let inner = lay(tree, scripts, indexes, Some(node), inner);
    if let Some(node) = tree.nodes.get_mut(node.0) {
        node.kind = NodeKind::Loop { kind, body: inner, rounds };
    }
    node
}

/// An item with the frame that it is, where it is a round of an earlier loop.
fn placed(tree: &Tree, run: usize, item: Item) -> Option<tree::Item> {
    match item {
        Item::Value { source, path, span } => Some(tree::Item::Value { source, path, span }),
        Item::Round { of, round } => Some(tree::Item::Frame(*tree.loops.get(&(run, of))?.get(round)?)),
    }
}

/// The first round of a loop.
struct Model {
    frame: FrameId,
    call: usize,
    item: Item,
}

/// The item of a loop's only round, where another frame has a loop in its place: the one that stands in the same list, and that the same
/// argument comes from.
fn lone_item(tree: &Tree, scripts: &[Script], indexes: &[Index], frame: FrameId, call: usize, model: &Model) -> Option<Item> {
    let run = tree.run(frame);
    let of_model = tree.run(model.frame);
    let wanted = list_of(tree, of_model, &model.item)?;
    let hits = |run: usize, call: usize| {
        let found = patterns::patterns(scripts.get(run)?, indexes.get(run)?, &patterns::Homes::default(), call);
        let item = |(pattern, hit): (patterns::Pattern, patterns::Hit)| {
            let (_, list) = pattern.list();
            let path = hit.place.path.iter().take(list.len()).cloned().collect();
            (pattern.argument, Item::Value { source: hit.place.source, path, span: None })
        };
        Some(found.into_iter().map(item).collect::<Vec<_>>())
    };
    let driving: Vec<_> =
        hits(of_model, model.call)?.into_iter().filter(|(_, item)| *item == model.item).map(|(argument, _)| argument).collect();
    let mut found = hits(run, call)?;
    found.retain(|(_, item)| list_of(tree, run, item).is_some_and(|list| list == wanted));
    let at = found.iter().position(|(argument, _)| driving.contains(argument)).unwrap_or(0);
    (at < found.len()).then(|| found.swap_remove(at).1)
}

/// What an item's list is, told so that it can be compared between runs: the node (`None` is the input) and the way without positions.
fn list_of(tree: &Tree, run: usize, item: &Item) -> Option<(Option<NodeId>, Vec<PathStep>)> {
    let Item::Value { source, path, .. } = item else { return None };
    let node = match source {
        Source::Input => None,
        Source::Task => return None,
        Source::Call(call) => Some(tree.homes.get(&(run, *call))?.0),
    };
    let blur = |step: &PathStep| match step {
        PathStep::Index(_) => PathStep::Index(0),
        PathStep::Key(_) | PathStep::Open(_) => step.clone(),
    };
    Some((node, path.iter().map(blur).collect()))
}

/// Reads that follow each other and have nothing to do with each other have no order of their own: they are put into the order in which the
/// frames before made them.
fn as_before(slots: &[Slot], script: &Script, index: &Index, regions: &mut [(Signature, Region)]) {
    let read = |region: &Region| match region {
        Region::Call(call) => script.calls.get(*call).filter(|act| act.effect == ToolEffect::Read).map(|act| (*call, act)),
        Region::Loop(_) => None,
    };
    let apart = |a: &Region, b: &Region| {
        let (Some((a, first)), Some((b, second))) = (read(a), read(b)) else { return false };
        !patterns::may_follow(script, index, first, b) && !patterns::may_follow(script, index, second, a)
    };
    let mut rest = regions;
    while let Some((_, first)) = rest.first() {
        let mut length = 1;
        if read(first).is_some() {
            while rest.get(length).is_some_and(|(_, next)| rest.iter().take(length).all(|(_, earlier)| apart(earlier, next))) {
                length += 1;
            }
        }
        let (block, after) = rest.split_at_mut(length);
        block.sort_by_key(|(signature, _)| slots.iter().position(|slot| slot.signature == *signature).unwrap_or(usize::MAX));
        rest = after;
    }
}

/// `slots` with what one more frame did, matched by a longest common subsequence of signatures.
fn align(slots: Vec<Slot>, frame: FrameId, regions: Vec<(Signature, Region)>) -> Vec<Slot> {
    let matched = common(&slots.iter().map(|s| &s.signature).collect::<Vec<_>>(), &regions.iter().map(|(s, _)| s).collect::<Vec<_>>());
    let mut out = Vec::new();
    let mut matched = matched.into_iter().peekable();
    let mut regions = regions.into_iter().enumerate().peekable();
    let alone = |signature: Signature, region: Region| Slot { signature, regions: BTreeMap::from([(frame, region)]) };
    for (at, mut slot) in slots.into_iter().enumerate() {
        if let Some((_, theirs)) = matched.next_if(|(ours, _)| *ours == at) {
            while let Some((_, (signature, region))) = regions.next_if(|(i, _)| *i < theirs) {
                out.push(alone(signature, region));
            }
            if let Some((_, (_, region))) = regions.next() {
                slot.regions.insert(frame, region);
            }
        }
        out.push(slot);
    }
    out.extend(regions.map(|(_, (signature, region))| alone(signature, region)));
    out
}

/// The largest table that an alignment may fill; past it only what both have at their start and end is matched.
const MOST_CELLS: usize = 4_000_000;

/// Pairs of positions of a longest common subsequence, in order.
fn common(a: &[&Signature], b: &[&Signature]) -> Vec<(usize, usize)> {
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - start;
    let end = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(x, y)| x == y).count();
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|i| (i, i)).collect();
    let middle_a = a.get(start..a.len() - end).unwrap_or_default();
    let middle_b = b.get(start..b.len() - end).unwrap_or_default();
    if middle_a.len().saturating_mul(middle_b.len()) <= MOST_CELLS {
        pairs.extend(longest(middle_a, middle_b).into_iter().map(|(i, j)| (i + start, j + start)));
    }
    pairs.extend((0..end).rev().map(|i| (a.len() - 1 - i, b.len() - 1 - i)));
    pairs
}

fn longest(a: &[&Signature], b: &[&Signature]) -> Vec<(usize, usize)> {
    let mut rows: Vec<Vec<usize>> = vec![vec![0; b.len() + 1]];
    let cell = |row: Option<&Vec<usize>>, j: usize| row.and_then(|r| r.get(j)).copied().unwrap_or(0);
    for x in a.iter().rev() {
        let below = rows.last();
        let mut row = vec![0; b.len() + 1];
        for (j, y) in b.iter().enumerate().rev() {
            let best = if x == y { cell(below, j + 1) + 1 } else { cell(below, j).max(row.get(j + 1).copied().unwrap_or(0)) };
            if let Some(slot) = row.get_mut(j) {
                *slot = best;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x == y {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if cell(rows.get(i + 1), j) >= cell(rows.get(i), j + 1) {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
