//! The list that the rounds of a loop walk over.

use super::candidates::literal;
use super::lists::{Choice, Domain, Hit};
use super::scope::Relative;
use super::{Explainer, Use};
use crate::patterns::PatternStep;
use crate::tree::{FrameId, Item, step_name};
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};
use std::collections::BTreeMap;

impl Explainer<'_> {
    /// The list that the rounds of a loop walk over, in every frame.
    pub(super) fn choice_of_rounds(&self, rounds: &BTreeMap<FrameId, Vec<FrameId>>) -> Option<Choice> {
        let mut alive: Option<BTreeMap<String, Vec<Vec<Hit>>>> = None;
        for (number, (frame, inner)) in rounds.iter().enumerate() {
            for round in inner {
                let mut here: BTreeMap<String, Hit> = BTreeMap::new();
                for hit in self.hits_of_round(*frame, *round) {
                    here.entry(format!("{} {:?}", hit.domain.base, hit.domain.pattern)).or_insert(hit);
                }
                let put = |mut rows: Vec<Vec<Hit>>, hit| {
                    rows.resize(number + 1, Vec::new());
                    if let Some(row) = rows.get_mut(number) {
                        row.push(hit);
                    }
                    rows
                };
                alive = Some(match alive {
                    None => here.into_iter().map(|(key, hit)| (key, put(Vec::new(), hit))).collect(),
                    Some(before) => {
                        before.into_iter().filter_map(|(key, rows)| Some((key.clone(), put(rows, here.remove(&key)?)))).collect()
                    }
                });
            }
        }
        let frames: Vec<FrameId> = rounds.keys().copied().collect();
        let mut choices: Vec<Choice> = Vec::new();
        for rows in alive.unwrap_or_default().into_values() {
            let Some(domain) = rows.iter().flatten().next().map(|h| h.domain.clone()) else { continue };
            let mut positions: Vec<Vec<Vec<usize>>> = rows.iter().map(|row| row.iter().map(|h| h.position.clone()).collect()).collect();
            positions.resize(frames.len(), Vec::new());
            let items: Vec<Vec<Item>> = rows.into_iter().map(|row| row.into_iter().map(|h| h.item).collect()).collect();
            if let Some(elements) = self.chosen(&domain, &frames, &positions) {
                choices.push(Choice { domain, items, elements, reversed: false });
                continue;
            }
            positions.iter_mut().for_each(|row| row.reverse());
            if let Some(elements) = self.chosen(&domain, &frames, &positions) {
                choices.push(Choice { domain, items, elements, reversed: true });
            }
        }
        choices.extend(self.choice_in_prose(rounds));
        let missing = |c: &Choice| c.elements.iter().flatten().filter(|(_, chosen)| !*chosen).count();
        choices.sort_by_key(|c| (missing(c), c.domain.pattern.len()));
        choices.into_iter().next()
    }

    /// Items that are parts of one text, each between the same fixed texts: all that stands there is the list.
    pub(super) fn choice_in_prose(&self, rounds: &BTreeMap<FrameId, Vec<FrameId>>) -> Option<Choice> {
        let mut items: Vec<Vec<Item>> = Vec::new();
        let mut found: Option<(Relative, String, String)> = None;
        for (frame, inner) in rounds {
            let here: Vec<Item> = inner.iter().map(|r| self.tree.frame(*r)?.item.clone()).collect::<Option<_>>()?;
            let spans: Option<Vec<(usize, usize)>> = here
                .iter()
                .map(|i| match i {
                    Item::Value { span, .. } => *span,
                    Item::Frame(_) => None,
                })
                .collect();
            if let (Some(spans), Some(Item::Value { source, path, .. })) = (spans, here.first()) {
                let relative = self.relative(*source, path, *frame).into_iter().next()?;
                let used = Use { frame: *frame, call: usize::MAX, value: Value::Null };
                let text = self.value_in(&self.closings(&relative, &used, None).into_iter().next()?.expr, *frame)?;
                let (before, after) = super::anchors::common_anchors(text.as_str()?, &spans)?;
                match &found {
                    Some(known) if *known != (relative.clone(), before.clone(), after.clone()) => return None,
                    Some(_) | None => found = Some((relative, before, after)),
                }
            }
            items.push(here);
        }
        let (relative, before, after) = found?;
        let frame = *rounds.iter().find(|(_, r)| !r.is_empty())?.0;
        let text = self.closings(&relative, &Use { frame, call: usize::MAX, value: Value::Null }, None).into_iter().next()?.expr;
        let list = Expr::Call(Function::AllBetween, vec![text, literal(&before), literal(&after)]);
        let domain = Domain { base: list.clone(), pattern: vec![PatternStep::Any] };
        let mut elements = Vec::new();
        for (frame, inner) in rounds {
            let all = self.value_in(&list, *frame)?;
            let wanted: Option<Vec<Value>> = inner.iter().map(|r| self.tree.item(self.scripts, *r)).collect();
            if all.as_array()? != wanted? {
                return None;
            }
            elements.push(all.as_array()?.iter().map(|v| (v.clone(), true)).collect());
        }
        Some(Choice { domain, items, elements, reversed: false })
    }

    pub(super) fn hits_of_round(&self, frame: FrameId, round: FrameId) -> Vec<Hit> {
        match self.tree.frame(round).and_then(|f| f.item.clone()) {
            Some(Item::Value { source, path, span: None }) => {
                let ends = |h: &Hit| matches!(&h.item, Item::Value { path: p, .. } if *p == path);
                self.hits_at(source, &path, frame).into_iter().filter(ends).collect()
            }
            Some(Item::Frame(earlier)) => {
                let chain = self.tree.chain(frame);
                let Some(of) = self.tree.frame(earlier).and_then(|f| f.of.filter(|_| f.parent.is_some_and(|p| chain.contains(&p)))) else {
                    return Vec::new();
                };
                let number = self.tree.frame(earlier).map_or(0, |f| f.round);
                let domain = Domain { base: Expr::step(step_name(of)), pattern: vec![PatternStep::Any] };
                vec![Hit { domain, position: vec![number], item: Item::Frame(earlier) }]
            }
            Some(Item::Value { span: Some(_), .. }) | None => Vec::new(),
        }
    }
}
