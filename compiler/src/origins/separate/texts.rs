//! Tests of a text: how it starts and ends, and which words it holds.

use super::super::anchors::{common_prefix, common_suffix};
use super::{Atoms, Feature, far, some_of};
use crate::text::{is_date, is_opaque};
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};
use std::cell::OnceCell;

/// Longer texts are not looked at, in bytes.
const LONGEST: usize = 4_000;
/// Words that tell whether there is more.
const TELLING: &[&str] = &["next", "more", "done", "failed", "error", "completed", "last"];
/// What it is worth that one of them is looked for.
const WORTH_OF_TELLING: f64 = 6.0;
/// The most words of a text that are tried.
const MOST_WORDS: usize = 60;

/// All tests of `feature`, where it is a text in every row.
pub(super) fn add(feature: &Feature, known: &[Feature], atoms: &mut Atoms<'_>) {
    let texts: Option<Vec<&str>> = feature.values.iter().map(|v| v.as_ref()?.as_str().filter(|t| t.len() <= LONGEST)).collect();
    let Some(texts) = texts else { return };
    holding(feature, &texts, known, atoms);
    let side = |wanted: bool| texts.iter().zip(atoms.chosen).filter(move |(_, c)| **c == wanted).map(|(t, _)| *t);
    let call = |function: Function, part: &str| Expr::Call(function, vec![feature.expr.clone(), Expr::Literal(Value::from(part))]);
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (side(true).collect(), side(false).collect());
    if let Some(start) = common_start(&ours).and_then(|common| telling_start(common, &theirs)) {
        atoms.add(call(Function::StartsWith, start), 5.0 + bits(start), texts.iter().map(|t| t.starts_with(start)).collect());
    }
    if let Some(end) = common_end(&ours).and_then(|common| telling_end(common, &theirs)) {
        atoms.add(call(Function::EndsWith, end), 5.5 + bits(end), texts.iter().map(|t| t.ends_with(end)).collect());
    }
    let values = |wanted: bool| some_of(feature, atoms.chosen, wanted).into_iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let (some_ours, some_theirs) = (values(true), values(false));
    for word in some_ours.iter().take(1).flat_map(|t| words(t)).filter(|w| ours.iter().all(|t| t.contains(w))) {
        atoms.add(call(Function::Contains, word), cost(word), texts.iter().map(|t| t.contains(word)).collect());
    }
    // A word that one of the others has says nothing of the rest.
    let is_theirs = |w: &&str| !ours.iter().any(|t| t.contains(w)) && (tells(w) || theirs.iter().filter(|t| t.contains(w)).count() > 1);
    for word in some_theirs.iter().flat_map(|t| words(t)).filter(is_theirs) {
        let absent = texts.iter().map(|t| !t.contains(word)).collect();
        atoms.add(Expr::Not(Box::new(call(Function::Contains, word))), cost(word) + 0.5, absent);
    }
}

/// A shorter text stands in many others, in bytes.
const SHORTEST_KNOWN: usize = 2;

/// `contains(title, inputs.word)`
fn holding(feature: &Feature, texts: &[&str], known: &[Feature], atoms: &mut Atoms<'_>) {
    let small: OnceCell<Vec<String>> = OnceCell::new();
    for other in known {
        let parts: Option<Vec<&str>> = other.values.iter().map(|v| v.as_ref()?.as_str().filter(|t| t.len() >= SHORTEST_KNOWN)).collect();
        let Some(parts) = parts else { continue };
        let far = far(other);
        let is: Vec<bool> = texts.iter().zip(&parts).map(|(text, part)| text.contains(part)).collect();
        let contains = Expr::Call(Function::Contains, vec![feature.expr.clone(), other.expr.clone()]);
        atoms.add_and_opposite(contains, 6.0 + far, 1.0, is);
        let small = small.get_or_init(|| texts.iter().map(|text| text.to_lowercase()).collect());
        let in_any_case: Vec<bool> = small.iter().zip(&parts).map(|(text, part)| text.contains(&part.to_lowercase())).collect();
        if in_any_case.contains(&true) && in_any_case.contains(&false) {
            let [text, part] = [&feature.expr, &other.expr].map(|e| e.clone().apply(Function::Lower));
            atoms.add_exact(Expr::Call(Function::Contains, vec![text, part]), 8.0 + far, &in_any_case);
        }
    }
}

fn cost(word: &str) -> f64 {
    9.0 + bits(word) / 2.0 - if tells(word) { WORTH_OF_TELLING } else { 0.0 }
}

fn tells(word: &str) -> bool {
    let lower = word.to_lowercase();
    crate::text::tokens(&lower).iter().any(|t| lower.get(t.start..t.end).is_some_and(|w| TELLING.contains(&w)))
}

/// The parts of a text between blanks, commas and semicolons that are words: no numbers, ids or dates.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';')).take(MOST_WORDS);
    // The whole is a test of equality.
    parts.filter(move |p| {
        p.len() > 1 && *p != text && p.len() <= 40 && !p.bytes().any(|b| b.is_ascii_digit()) && !is_opaque(p) && !is_date(p)
    })
}

fn common_start<'t>(texts: &[&'t str]) -> Option<&'t str> {
    let first = *texts.first()?;
    first.get(..texts.iter().fold(first.len(), |n, text| n.min(common_prefix(first, text))))
}

fn common_end<'t>(texts: &[&'t str]) -> Option<&'t str> {
    let first = *texts.first()?;
    first.get(first.len() - texts.iter().fold(first.len(), |n, text| n.min(common_suffix(first, text)))..)
}

/// The shortest start that none of the others has and that ends where a token does: behind the signs and the one word at most that tell.
fn telling_start<'t>(common: &'t str, others: &[&str]) -> Option<&'t str> {
    let ends = common.char_indices().map(|(at, c)| at + c.len_utf8());
    let is_end = |end: &usize| {
        let (before, after) = common.split_at(*end);
        let last = before.chars().next_back();
        // What all have in common may end within a word that they share by chance.
        let open = last.is_some_and(char::is_alphanumeric) && after.chars().next().is_none_or(char::is_alphanumeric);
        let goes_on = last.is_some_and(|c| !c.is_alphanumeric()) && after.starts_with(|c: char| !c.is_alphanumeric());
        !open && !goes_on && before.contains(|c: char| !c.is_whitespace())
    };
    let start = ends.filter(is_end).filter_map(|end| common.get(..end)).find(|start| !others.iter().any(|o| o.starts_with(start)))?;
    (!start.bytes().any(|b| b.is_ascii_digit()) && !is_opaque(start)).then_some(start)
}

/// The shortest end that none of the others has and that begins with a sign: `.md`.
fn telling_end<'t>(common: &'t str, others: &[&str]) -> Option<&'t str> {
    let begins = common.char_indices().rev().filter(|(_, c)| !c.is_alphanumeric()).map(|(at, _)| at);
    let end = begins.filter_map(|at| common.get(at..)).find(|end| end.len() > 1 && !others.iter().any(|o| o.ends_with(end)))?;
    (!end.bytes().any(|b| b.is_ascii_digit()) && !is_opaque(end)).then_some(end)
}
