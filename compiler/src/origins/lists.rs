//! Lists that are made of the items of another list: a field of each, an object of fields, a subset.
//!
//! Before: `to: ["u1", "u2"]` and an earlier result `people: [{user: {id: "u1"}}, {user: {id: "u2"}}]`. After:
//! `map(steps.on_call.people, person, person.user.id)`. It does not fire where the items do not stand in the order of the list.

use super::candidates::literal;
use super::scope::Relative;
use super::{Explainer, Finding, Spot, Use};
use crate::index::{Path, PathStep, Place, Source, scalar_text};
use crate::patterns::{PatternStep, is_visible};
use crate::plan::Told;
use crate::rewrite;
use crate::tree::{Body, BodyId, Frame, FrameId, Item, Node, NodeId, NodeKind, item_name};
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function, OverFunction};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// A list: where it starts, and the way to its items.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Domain {
    pub base: Expr,
    pub pattern: Vec<PatternStep>,
}

/// Where an item stands in a domain.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    pub domain: Domain,
    pub position: Vec<usize>,
    pub item: Item,
}

/// A domain with its items in every frame, and those that were chosen.
pub(super) struct Choice {
    pub domain: Domain,
    /// For each frame: the chosen items, in order.
    pub items: Vec<Vec<Item>>,
    /// For each frame: all elements, and whether each was chosen.
    pub elements: Vec<Vec<(Value, bool)>>,
    /// Whether the items were taken from the end to the start.
    pub reversed: bool,
}

impl Choice {
    pub(super) fn is_whole(&self) -> bool {
        self.elements.iter().flatten().all(|(_, chosen)| *chosen)
    }
}

impl Explainer<'_> {
    /// The expression for a list that is made of another one's items.
    pub(super) fn list(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let found = self.list_of(spot, uses)?;
        self.find(spot, super::Origin::Reference(found.clone()), "made of the items of a list".to_owned(), Vec::new());
        Some(found)
    }

    pub(super) fn list_of(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let rows: Vec<Vec<Value>> = uses.iter().map(|u| u.value.as_array().map(<[Value]>::to_vec)).collect::<Option<_>>()?;
        self.mapped(spot, uses, &rows).or_else(|| self.list_in_prose(uses, &rows))
    }

    /// A list of all that stands between the same fixed texts in one text.
    pub(super) fn list_in_prose(&self, uses: &[Use], rows: &[Vec<Value>]) -> Option<Expr> {
        let (first, row) = uses.iter().zip(rows).find(|(_, row)| row.len() > 1)?;
        let run = self.tree.run(first.frame);
        let (script, index) = self.scripts.get(run).zip(self.indexes.get(run))?;
        let places = |value: &Value| -> Vec<Place> {
            let all = scalar_text(value).map(|t| index.places(t)).unwrap_or_default();
            all.iter().filter(|p| p.span.is_some() && is_visible(script, first.call, p)).cloned().collect()
        };
        for start in places(row.first()?) {
            let same = |p: &Place| p.source == start.source && p.path == start.path;
            let spans: Option<Vec<(usize, usize)>> = row.iter().map(|v| places(v).into_iter().find(same)?.span).collect();
            let Some(spans) = spans else { continue };
            for relative in self.relative(start.source, &start.path, first.frame) {
                let Some(text) = self.closings(&relative, first, None).into_iter().next() else { continue };
                let Some(Value::String(whole)) = self.value_in(&text.expr, first.frame) else { continue };
                let Some((before, after)) = super::anchors::common_anchors(&whole, &spans) else { continue };
                let list = Expr::Call(Function::AllBetween, vec![text.expr, literal(&before), literal(&after)]);
                if self.gives(&list, uses) {
                    return Some(list);
                }
            }
        }
        None
    }

    /// The expression for rows of values, each made of one item of a list.
    pub(super) fn mapped(&mut self, spot: &Spot, uses: &[Use], rows: &[Vec<Value>]) -> Option<Expr> {
        let lone = rows.iter().all(|r| r.len() < 2);
        let mut found: Option<(usize, Expr, Vec<Finding>, Vec<Told>)> = None;
        for choice in self.choices(uses, rows).into_iter().filter(|choice| !lone || choice.is_whole()).take(MOST_CHOICES) {
            let marks = (self.findings.len(), self.diagnostics.len());
            let made = self.mapped_over(spot, uses, rows, choice);
            let findings = self.findings.split_off(marks.0);
            let told = self.diagnostics.split_off(marks.1);
            if let Some(expr) = made {
                let guessed = guesses(&expr);
                if found.as_ref().is_none_or(|(least, ..)| guessed < *least) {
                    found = Some((guessed, expr, findings, told));
                }
                if guessed == 0 {
                    break;
                }
            }
        }
        let (_, expr, findings, told) = found?;
        self.findings.extend(findings);
        self.diagnostics.extend(told);
        Some(expr)
    }

    pub(super) fn mapped_over(&mut self, spot: &Spot, uses: &[Use], rows: &[Vec<Value>], choice: Choice) -> Option<Expr> {
        let list = self.list_expr(&choice.domain, uses.first()?)?;
        let node = NodeId(self.tree.nodes.len());
        let mut rounds: BTreeMap<FrameId, Vec<FrameId>> = BTreeMap::new();
        let mut inner = Vec::new();
        for ((used, items), row) in uses.iter().zip(&choice.items).zip(rows) {
            let run = self.tree.run(used.frame);
            for (round, (item, value)) in items.iter().zip(row).enumerate() {
                let frame = Frame { run, parent: Some(used.frame), of: Some(node), round, item: Some(item.clone()) };
                let frame = self.tree.add_frame(frame);
                rounds.entry(used.frame).or_default().push(frame);
                inner.push(Use { frame, call: used.call, value: value.clone() });
            }
        }
        self.tree.add_node(Node { kind: NodeKind::List { rounds }, body: spot.body });
        let body_id = BodyId(self.tree.bodies.len());
        self.tree.bodies.push(Body { nodes: Vec::new(), frames: inner.iter().map(|u| u.frame).collect(), of: Some(node) });
        let mut item_spot = spot.at("[]");
        item_spot.body = body_id;
        let template = self.template(&item_spot, &inner)?;
        let name = item_name(node);
        let test = if choice.is_whole() { None } else { Some(self.subset(spot, uses, &choice, &name)?) };
        let list = match test {
            Some(test) => list.over(OverFunction::Filter, name.clone(), test),
            None => list,
        };
        let body = rewrite::to_expr(&template);
        let expr = if body == Expr::name(name.clone()) { list } else { list.over(OverFunction::Map, name, body) };
        let whole = |u: &Use, row: &Vec<Value>| self.value_in(&expr, u.frame) == Some(Value::array(row.clone()));
        uses.iter().zip(rows).all(|(u, row)| whole(u, row)).then_some(expr)
    }

    /// The lists whose items the rows may be made of, best first.
    pub(super) fn choices(&self, uses: &[Use], rows: &[Vec<Value>]) -> Vec<Choice> {
        let mut alive: Option<BTreeMap<String, (usize, Vec<Hit>)>> = None;
        for (used, row) in uses.iter().zip(rows) {
            for value in row {
                let mut here: BTreeMap<String, (usize, Vec<Hit>)> = BTreeMap::new();
                for (leaf, value) in item_leaves(value) {
                    let mut seen = BTreeSet::new();
                    for hit in self.hits(used, value) {
                        let key = hit_key(&hit.domain);
                        if seen.insert(key.clone()) {
                            here.entry(format!("{leaf} {key}")).or_insert((0, Vec::new())).1.push(hit);
                        }
                    }
                }
                alive = Some(match alive {
                    None => here,
                    Some(before) => before
                        .into_iter()
                        .filter_map(|(key, (n, mut hits))| {
                            let mut mine = here.remove(&key)?.1;
                            hits.append(&mut mine);
                            Some((key, (n, hits)))
                        })
                        .collect(),
                });
            }
        }
        let mut found: Vec<(usize, Choice)> = Vec::new();
        for (_, hits) in alive.unwrap_or_default().into_values() {
            let Some(first) = hits.first() else { continue };
            if let Some((other, _)) = found.iter_mut().find(|(_, c)| c.domain == first.domain) {
                *other += 1;
                continue;
            }
            if let Some(choice) = self.choice(uses, rows, hits) {
                found.push((1, choice));
            }
        }
        found.sort_by_key(|(leaves, choice)| (std::cmp::Reverse(*leaves), !choice.is_whole(), choice.domain.pattern.len()));
        found.into_iter().map(|(_, choice)| choice).collect()
    }

    pub(super) fn choice(&self, uses: &[Use], rows: &[Vec<Value>], hits: Vec<Hit>) -> Option<Choice> {
        let domain = hits.first()?.domain.clone();
        let mut hits = hits.into_iter();
        let mut items = Vec::new();
        let mut positions = Vec::new();
        for row in rows {
            let here: Vec<Hit> = hits.by_ref().take(row.len()).collect();
            positions.push(here.iter().map(|h| h.position.clone()).collect::<Vec<_>>());
            items.push(here.into_iter().map(|h| h.item).collect());
        }
        let frames: Vec<FrameId> = uses.iter().map(|u| u.frame).collect();
        let elements = self.chosen(&domain, &frames, &positions)?;
        Some(Choice { domain, items, elements, reversed: false })
    }

    /// For each frame the elements of a domain, and whether each stands at one of the positions, which must be in order.
    pub(super) fn chosen(&self, domain: &Domain, frames: &[FrameId], positions: &[Vec<Vec<usize>>]) -> Option<Vec<Vec<(Value, bool)>>> {
        let mut all = Vec::new();
        for (frame, positions) in frames.iter().zip(positions) {
            if !positions.windows(2).all(|w| matches!(w, [a, b] if a < b)) {
                return None;
            }
            let elements = match self.elements(domain, *frame) {
                Some(elements) => elements,
                None if positions.is_empty() => Vec::new(),
                None => return None,
            };
            let wanted: BTreeSet<&Vec<usize>> = positions.iter().collect();
            let marked: Vec<(Value, bool)> = elements.into_iter().map(|(at, value)| (value, wanted.contains(&at))).collect();
            if marked.iter().filter(|(_, chosen)| *chosen).count() != positions.len() {
                return None;
            }
            all.push(marked);
        }
        Some(all)
    }

    pub(super) fn hits(&self, used: &Use, value: &Value) -> Vec<Hit> {
        let run = self.tree.run(used.frame);
        let Some((script, index)) = self.scripts.get(run).zip(self.indexes.get(run)) else { return Vec::new() };
        let Some(text) = scalar_text(value) else { return Vec::new() };
        let mut found = Vec::new();
        let is_item = |p: &&Place| p.span.is_none() || crate::index::is_in_part(&p.path);
        for place in index.places(text).iter().filter(|p| is_visible(script, used.call, p)).filter(is_item) {
            found.extend(self.hits_at(place.source, &place.path, used.frame));
        }
        found
    }

    /// The domains that a place lies in, seen from a frame.
    pub(super) fn hits_at(&self, source: Source, path: &Path, frame: FrameId) -> Vec<Hit> {
        let mut found = Vec::new();
        for Relative { base, path: way } in self.relative(source, path, frame) {
            let indexed: Vec<usize> = (0..way.len()).filter(|i| matches!(way.get(*i), Some(PathStep::Index(_)))).collect();
            for from in (0..indexed.len()).rev() {
                for to in from..indexed.len() {
                    let any = indexed.get(from..=to).unwrap_or_default();
                    let Some(last) = any.last() else { continue };
                    let mut position = Vec::new();
                    let mut pattern = Vec::new();
                    for (at, step) in way.iter().take(last + 1).enumerate() {
                        match step {
                            PathStep::Index(i) if any.contains(&at) => {
                                position.push(*i);
                                pattern.push(PatternStep::Any);
                            }
                            PathStep::Key(_) | PathStep::Index(_) | PathStep::Open(_) => pattern.push(PatternStep::Step(step.clone())),
                        }
                    }
                    let Some(item) = self.item_at(source, path, &way, *last, frame) else { continue };
                    found.push(Hit { domain: Domain { base: base.clone(), pattern }, position, item });
                }
            }
        }
        found
    }

    /// The item that a way leads through: a part of the value, or the round of an earlier loop where the way has not come to the value yet.
    pub(super) fn item_at(&self, source: Source, path: &Path, way: &[PathStep], last: usize, frame: FrameId) -> Option<Item> {
        let shared = way.iter().rev().zip(path.iter().rev()).take_while(|(a, b)| a == b).count();
        if last + shared >= way.len() {
            let length = (last + 1 + path.len()).checked_sub(way.len())?;
            return Some(Item::Value { source, path: path.iter().take(length).cloned().collect(), span: None });
        }
        let Source::Call(call) = source else { return None };
        let (_, home) = self.tree.homes.get(&(self.tree.run(frame), call)).copied()?;
        let rounds = way.iter().take(last + 1).filter(|s| matches!(s, PathStep::Index(_))).count();
        let chain = self.tree.chain(frame);
        let mut inner: Vec<FrameId> = self.tree.chain(home).into_iter().take_while(|f| !chain.contains(f)).collect();
        inner.reverse();
        Some(Item::Frame(*inner.get(rounds.checked_sub(1)?)?))
    }

    /// The elements of a domain in a frame, with their positions.
    pub(super) fn elements(&self, domain: &Domain, frame: FrameId) -> Option<Vec<(Vec<usize>, Value)>> {
        let mut elements = vec![(Vec::new(), self.value_in(&domain.base, frame)?)];
        for step in &domain.pattern {
            let mut next = Vec::new();
            for (position, value) in elements {
                match step {
                    PatternStep::Any => {
                        for (at, item) in value.as_array()?.iter().enumerate() {
                            next.push(([position.as_slice(), &[at]].concat(), item.clone()));
                        }
                    }
                    PatternStep::Step(step) => next.push((position, crate::index::follow(&value, std::slice::from_ref(step))?)),
                    PatternStep::AnyPart => return None,
                }
            }
            elements = next;
        }
        Some(elements)
    }

    /// The expression that gives a domain's items.
    pub(super) fn list_expr(&self, domain: &Domain, used: &Use) -> Option<Expr> {
        let first = domain.pattern.iter().position(|s| *s == PatternStep::Any)?;
        let fixed: Vec<PathStep> = domain
            .pattern
            .iter()
            .take(first)
            .map(|s| match s {
                PatternStep::Step(step) => Some(step.clone()),
                PatternStep::Any | PatternStep::AnyPart => None,
            })
            .collect::<Option<_>>()?;
        let relative = Relative { base: domain.base.clone(), path: fixed };
        let list = self.closings(&relative, used, None).into_iter().next()?.expr;
        inner_lists(list, domain.pattern.get(first + 1..)?, 0)
    }
}

/// `flatten(map(list, x, x.rest))` for each further list on the way.
fn inner_lists(list: Expr, rest: &[PatternStep], depth: usize) -> Option<Expr> {
    if rest.is_empty() {
        return Some(list);
    }
    let name = SmolStr::new(format!("x{depth}"));
    let mut inner = Expr::name(name.clone());
    for (at, step) in rest.iter().enumerate() {
        inner = match step {
            PatternStep::Step(PathStep::Key(key)) => inner.key(key.clone()),
            PatternStep::Step(PathStep::Open(opening)) => opening.of(inner),
            PatternStep::Step(PathStep::Index(_)) | PatternStep::AnyPart => return None,
            PatternStep::Any => {
                let inner = inner_lists(inner, rest.get(at + 1..)?, depth + 1)?;
                return Some(list.over(OverFunction::Map, name, inner).apply(Function::Flatten));
            }
        };
    }
    None
}

/// The most lists that are tried for one that gives all items without a guess.
const MOST_CHOICES: usize = 6;

/// How often an expression picks something out of each item by its place or its order.
fn guesses(expr: &Expr) -> usize {
    let Expr::Over { function: OverFunction::Map, body, .. } = expr else { return 0 };
    let mut count = 0;
    rewrite::each(body, &mut |part| {
        let picks = matches!(part, Expr::Index(..) | Expr::Call(Function::First | Function::Last, _))
            || matches!(part, Expr::Over { function: OverFunction::MinBy | OverFunction::MaxBy, .. });
        count += usize::from(picks);
    });
    count
}

fn hit_key(domain: &Domain) -> String {
    let pattern: Vec<String> = domain.pattern.iter().map(|s| format!("{s:?}")).collect();
    format!("{} {}", domain.base, pattern.join("/"))
}

/// The scalar leaves of an item, with their paths as text.
fn item_leaves(value: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    let mut queue = vec![(String::new(), value)];
    while let Some((path, value)) = queue.pop() {
        match value {
            Value::Object(object) => queue.extend(object.iter().map(|(k, v)| (format!("{path}/{k}"), v))),
            Value::Array(items) => queue.extend(items.iter().enumerate().map(|(i, v)| (format!("{path}/{i}"), v))),
            Value::String(_) | Value::Number(_) => found.push((path, value)),
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}
