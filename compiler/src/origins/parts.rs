//! Parts of a text that come from elsewhere: which they may be, and which of them together explain most.

use super::candidates::{Candidate, From, key_before, key_of_cut, literal};
use super::closing::Ways;
use super::lists::Domain;
use super::scope::Relative;
use super::{Explainer, Spot, Use};
use crate::index::{PathStep, Source, windows};
use crate::names::{Agreement, agreement, words};
use crate::patterns::{PatternStep, is_visible};
use crate::text::{is_border, is_name, is_specific, tokens, tokens_from};
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function, OverFunction};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// What a reference inside a text costs more than one that is the whole value.
const COST_OF_A_PART: f64 = 2.0;

/// What a part is worth more where another part of the same text comes from the same object.
const WORTH_OF_A_NEIGHBOUR: f64 = 7.0;

/// Texts longer than this many windows are taken as they are.
const MOST_WINDOWS: usize = 60_000;

/// A part of a text that a reference gives.
pub(super) struct Part {
    pub start: usize,
    pub end: usize,
    pub expr: Expr,
    pub score: f64,
    pub object: Option<Expr>,
    /// What was guessed on the way.
    pub guesses: Vec<String>,
}

/// A reference that gives a part.
struct AsPart {
    /// What it explains.
    score: f64,
    expr: Expr,
    /// The object that it takes a field of.
    object: Option<Expr>,
    /// How well its name goes with that of the whole text.
    agreement: Agreement,
    guesses: Vec<String>,
}

/// What was found out about the parts of a text so far.
#[derive(Default)]
struct Scored<'t> {
    /// By the text of a part.
    parts: FxHashMap<&'t str, Vec<AsPart>>,
    ways: Ways,
}

/// A list, the keys to a field of its items, and where in a text the field of each item stands.
type Listed = (Domain, Vec<SmolStr>, BTreeMap<usize, (usize, usize)>);

impl Explainer<'_> {
    /// Whether parts of a text come from somewhere.
    pub(super) fn has_parts(&self, spot: &Spot, uses: &[Use]) -> bool {
        uses.first().and_then(|u| Some(!self.best_parts(spot, u, u.value.as_str()?).is_empty())).unwrap_or(false)
    }

    /// The parts that together explain most, without overlap.
    pub(super) fn best_parts(&self, spot: &Spot, model: &Use, text: &str) -> Vec<Part> {
        let mut known = Scored::default();
        let found = self.parts(spot, model, text, &[], &mut known);
        let chosen = without_overlap(found, text.len());
        let objects: Vec<Expr> = chosen.iter().filter_map(|p| p.object.clone()).collect();
        let mut chosen = match objects.is_empty() {
            true => chosen,
            false => without_overlap(self.parts(spot, model, text, &objects, &mut known), text.len()),
        };
        let rests = rests(text, &chosen);
        chosen.extend(rests.into_iter().filter_map(|span| self.rest(spot, model, text, span, &mut known.ways)));
        chosen.sort_by_key(|p| p.start);
        chosen
    }

    /// The words that are left between parts, where they are the whole of another value: where a text falls apart into values without a rest,
    /// that is no chance, though they are words of a language.
    fn rest(&self, spot: &Spot, model: &Use, text: &str, (start, end): (usize, usize), ways: &mut Ways) -> Option<Part> {
        let part = text.get(start..end)?;
        let used = [Use { value: Value::from(part), ..model.clone() }];
        let scored = self.scored_by_ways(spot, &used, From::Anywhere, ways).into_iter();
        let whole = scored.filter(|c| !c.echo && !matches!(c.expr, Expr::Literal(_) | Expr::Call(Function::Between, _)));
        let best = whole.max_by(|a, b| a.score.total_cmp(&b.score)).filter(|c| c.score > COST_OF_A_PART)?;
        Some(Part {
            start,
            end,
            score: best.score - COST_OF_A_PART,
            object: object_of(&best.expr),
            expr: unwrapped(best.expr),
            guesses: best.guesses,
        })
    }

    fn parts<'t>(&self, spot: &Spot, model: &Use, text: &'t str, neighbours: &[Expr], known: &mut Scored<'t>) -> Vec<Part> {
        let run = self.tree.run(model.frame);
        let (Some(index), windows) = (self.indexes.get(run), windows(text)) else { return Vec::new() };
        if windows.len() > MOST_WINDOWS {
            return Vec::new();
        }
        let mut found: Vec<Part> = Vec::new();
        for (shape, expr) in self.shapes(model.frame, text) {
            let score = bits(&shape) - 6.0;
            if score >= 5.0 && shape.len() < text.len() {
                let places = text.match_indices(shape.as_str()).map(|(at, _)| (at, at + shape.len()));
                let whole_words = places.filter(|(start, end)| is_border(text, *start) && is_border(text, *end));
                found.extend(whole_words.map(|(start, end)| Part {
                    start,
                    end,
                    expr: expr.clone(),
                    score,
                    object: None,
                    guesses: Vec::new(),
                }));
            }
        }
        found.extend(self.spelled_parts(model, text));
        found.extend(self.listed(model, text, &windows));
        let mut windows: Vec<(usize, usize)> = windows
            .into_iter()
            .filter(|(start, end)| {
                let part = text.get(*start..*end).unwrap_or_default();
                !part.trim().is_empty() && (!index.places(part).is_empty() || self.known.contains_key(part))
            })
            .collect();
        windows.sort_by_key(|(start, end)| (std::cmp::Reverse(end - start), *start));
        for (start, end) in windows {
            if found.iter().any(|p| p.start <= start && end <= p.end) {
                continue;
            }
            let part = text.get(start..end).unwrap_or_default();
            let scored = known.parts.entry(part).or_insert_with(|| self.scored_as_part(spot, model, part, &mut known.ways));
            // The key before a part is its name, as much as that of the argument.
            let key = key_before(text.get(..start).unwrap_or_default()).map(words);
            let worth = |c: &AsPart| {
                let named = key.as_ref().zip(name_of(&c.expr)).map_or(Agreement::None, |(key, name)| agreement(key, &[name]));
                let near = c.object.as_ref().is_some_and(|o| neighbours.contains(o));
                c.score + named.max(c.agreement).bits() - c.agreement.bits() + if near { WORTH_OF_A_NEIGHBOUR } else { 0.0 }
            };
            let best = scored.iter().map(|c| (worth(c), c)).filter(|(score, _)| *score > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
            found.extend(best.map(|(score, c)| Part {
                start,
                end,
                expr: c.expr.clone(),
                score,
                object: c.object.clone(),
                guesses: c.guesses.clone(),
            }));
        }
        found
    }

    /// The references that give a part of a text.
    fn scored_as_part(&self, spot: &Spot, model: &Use, part: &str, ways: &mut Ways) -> Vec<AsPart> {
        let used = [Use { value: Value::from(part), ..model.clone() }];
        let from = if stands_out(part) { From::Anywhere } else { From::Inputs };
        let scored = self.scored_by_ways(spot, &used, from, ways).into_iter().filter(|c| may_be_part(part, c));
        scored
            .map(|c| {
                // Inputs are there to be used: inside a text they cost no more than alone.
                let cost = if c.source == Source::Input { 0.0 } else { COST_OF_A_PART };
                let expr = unwrapped(c.expr);
                let object = object_of(&expr);
                AsPart { score: c.score - cost, expr, object, agreement: c.agreement, guesses: c.guesses }
            })
            .filter(|c| c.score + Agreement::Strong.bits().max(WORTH_OF_A_NEIGHBOUR) > 0.0)
            .collect()
    }

    /// Stretches of a text that hold a field of every item of a list, in order, with the same text between them.
    pub(super) fn listed(&self, model: &Use, text: &str, windows: &[(usize, usize)]) -> Vec<Part> {
        let run = self.tree.run(model.frame);
        let Some((script, index)) = self.scripts.get(run).zip(self.indexes.get(run)) else { return Vec::new() };
        let mut ways: BTreeMap<String, Listed> = BTreeMap::new();
        for (start, end) in windows {
            let part = text.get(*start..*end).unwrap_or_default();
            for place in index.places(part).iter().filter(|p| p.span.is_none() && is_visible(script, model.call, p)) {
                for relative in self.relative(place.source, &place.path, model.frame) {
                    if let Some((domain, position, field)) = as_field_of_item(relative) {
                        let way = ways.entry(format!("{} {:?} {field:?}", domain.base, domain.pattern)).or_insert((
                            domain,
                            field,
                            BTreeMap::new(),
                        ));
                        let known = way.2.entry(position).or_insert((*start, *end));
                        if end - start > known.1 - known.0 {
                            *known = (*start, *end);
                        }
                    }
                }
            }
        }
        let mut found = Vec::new();
        for (domain, field, spots) in ways.into_values().filter(|(_, _, spots)| spots.len() > 1) {
            let whole = self.elements(&domain, model.frame).is_some_and(|e| e.len() == spots.len());
            let spots: Vec<(usize, usize)> = spots.into_values().collect();
            let gaps: Vec<Option<&str>> = spots.windows(2).map(|w| text.get(w.first()?.1..w.get(1)?.0)).collect();
            let (Some(Some(gap)), Some(first), Some(last)) = (gaps.first(), spots.first(), spots.last()) else { continue };
            if !whole || gap.is_empty() || gaps.iter().any(|g| *g != Some(*gap)) {
                continue;
            }
            let Some(list) = self.list_expr(&domain, model) else { continue };
            let item = field.iter().fold(Expr::name("item"), |e, key| e.key(key.clone()));
            let texts = if field.is_empty() { list } else { list.over(OverFunction::Map, "item", item) };
            let expr = Expr::Call(Function::Join, vec![texts, literal(gap)]);
            found.push(Part {
                start: first.0,
                end: last.1,
                expr,
                score: bits(text.get(first.0..last.1).unwrap_or_default()) * 2.0,
                object: None,
                guesses: Vec::new(),
            });
        }
        found
    }
}

/// A place as a field of an item of a list: the list, the item's position, and the keys to the field.
fn as_field_of_item(relative: Relative) -> Option<(Domain, usize, Vec<SmolStr>)> {
    let at = relative.path.iter().rposition(|s| matches!(s, PathStep::Index(_)))?;
    // Parts of a text, put together again, are a part of it.
    if crate::index::is_in_part(&relative.path) {
        return None;
    }
    let Some(PathStep::Index(position)) = relative.path.get(at) else { return None };
    let field = relative.path.iter().skip(at + 1).map(|s| match s {
        PathStep::Key(key) => Some(key.clone()),
        PathStep::Index(_) | PathStep::Open(_) => None,
    });
    let field = field.collect::<Option<Vec<SmolStr>>>()?;
    let pattern = relative.path.iter().take(at).cloned().map(PatternStep::Step).chain([PatternStep::Any]).collect();
    Some((Domain { base: relative.base, pattern }, *position, field))
}

/// Whether a part of a text may come from there. Words of a language stand in every text: only an input, a name or something specific counts;
/// what a result gives back of its call's own arguments never does, and prose only gives what is specific.
fn may_be_part(part: &str, candidate: &Candidate) -> bool {
    if matches!(candidate.expr, Expr::Literal(_)) || candidate.echo {
        return false;
    }
    let is_cut = matches!(&candidate.expr, Expr::Call(Function::Between, _));
    if is_cut && starts_with_a_key(part) {
        return false;
    }
    match candidate.source {
        Source::Input | Source::Task => true,
        Source::Call(_) if is_cut => is_specific(part) && (bits(part) >= 18.0 || key_of_cut(&candidate.expr).is_some()),
        Source::Call(_) => stands_out(part),
    }
}

/// Whether a part of a text begins with the name of what follows, as `version = "1.4.2` does: a name is no data, and stays in the text.
pub(super) fn starts_with_a_key(part: &str) -> bool {
    let name = part.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(part.len());
    let Some((key, rest)) = part.split_at_checked(name) else { return false };
    let sign = rest.get(..rest.find(char::is_alphanumeric).unwrap_or(rest.len())).unwrap_or_default();
    key.starts_with(char::is_alphabetic) && sign.contains([':', '=']) && !sign.starts_with("://")
}

/// What a part of a text says that is more than a few words of a language.
const MORE_THAN_WORDS: f64 = 16.0;

/// Whether a part of a text is more than a few words of a language.
fn stands_out(part: &str) -> bool {
    is_specific(part) || is_name(part) || tokens(part).len() > 3 || bits(part) >= MORE_THAN_WORDS
}

/// What is left of a text between its parts, without the signs around it, where it is more than one word.
fn rests(text: &str, parts: &[Part]) -> Vec<(usize, usize)> {
    let starts = std::iter::once(0).chain(parts.iter().map(|p| p.end));
    let ends = parts.iter().map(|p| p.start).chain([text.len()]);
    let words = |(start, end): (usize, usize)| {
        let inside: Vec<_> = tokens_from(text, start).take_while(|t| t.end <= end).collect();
        match inside.as_slice() {
            [first, .., last] if !parts.is_empty() => Some((first.start, last.end)),
            _ => None,
        }
    };
    starts.zip(ends).filter_map(words).collect()
}

/// What people call what a reference takes: the last key, or the key before what is cut out.
fn name_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Key(_, key) => Some(key),
        other => key_of_cut(other),
    }
}

/// A reference inside a text needs no `to_string` around it.
pub(super) fn unwrapped(expr: Expr) -> Expr {
    match expr {
        Expr::Call(Function::ToString, mut arguments) if arguments.len() == 1 => arguments.pop().unwrap_or(Expr::Omit),
        other => other,
    }
}

/// The object that a reference takes a field of.
fn object_of(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Key(base, _) if !matches!(**base, Expr::Name(_)) => Some((**base).clone()),
        Expr::Call(Function::Between, arguments) => arguments.first().cloned(),
        _ => None,
    }
}

/// The parts of the greatest total score of which none overlap, in order.
fn without_overlap(mut parts: Vec<Part>, length: usize) -> Vec<Part> {
    parts.sort_by_key(|p| (p.end, p.start));
    let mut best: BTreeMap<usize, (f64, Vec<usize>)> = BTreeMap::from([(0, (0.0, Vec::new()))]);
    for (number, part) in parts.iter().enumerate() {
        let Some((score, chain)) = best.range(..=part.start).next_back().map(|(_, b)| b.clone()) else { continue };
        let total = score + part.score;
        let so_far = best.range(..=part.end).next_back().map_or(0.0, |(_, (s, _))| *s);
        if total > so_far {
            best.insert(part.end, (total, [chain, vec![number]].concat()));
        }
    }
    let chosen = best.range(..=length).next_back().map(|(_, (_, chain))| chain.clone()).unwrap_or_default();
    let mut kept: Vec<Part> = Vec::new();
    for (number, part) in parts.into_iter().enumerate() {
        if chosen.contains(&number) {
            kept.push(part);
        }
    }
    kept
}
