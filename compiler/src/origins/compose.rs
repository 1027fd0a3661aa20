//! Texts that are made of something: fixed text with references in it, items joined by a separator, JSON in a text, a slug.
//!
//! Before: `https://shop.example.com/users/usr_81/orders` and an earlier result `{id: "usr_81"}`. After:
//! `https://shop.example.com/users/${{ … .id }}/orders`. A part is replaced only between words, and only where it says enough.

use super::candidates::{Candidate, From, literal};
use super::lists::to_expr;
use super::{Explainer, Origin, Spot, Use};
use crate::index::{Source, open_json, windows};
use crate::text::{bits, is_border, is_name, is_opaque, is_specific, tokens};
use crate::tree::FrameId;
use ltc_workflow::expr::{Expr, Function};
use ltc_workflow::template::{Piece, Template};
use ltc_workflow::{Value, json};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// What a reference inside a text costs more than one that is the whole value.
const COST_OF_A_PART: f64 = 2.0;
/// What a part is worth more where another part of the same text comes from the same object.
const WORTH_OF_A_NEIGHBOUR: f64 = 7.0;
/// Separators that join items, longest first.
const SEPARATORS: &[&str] = &[", ", "; ", " | ", "\n", ",", ";", "|", " ", "+", "/", ":"];
/// Texts longer than this many windows are taken as they are.
const MOST_WINDOWS: usize = 60_000;

/// A part of a text that a reference gives.
struct Part {
    start: usize,
    end: usize,
    expr: Expr,
    score: f64,
    object: Option<Expr>,
}

impl Explainer<'_> {
    /// The template for a text that is no reference as a whole.
    pub(super) fn compose(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        if let Some(expr) = self.reshaped(uses).or_else(|| self.joined(spot, uses)) {
            self.find(spot, Origin::Reference(expr.clone()), "made from what is known".to_owned(), Vec::new());
            return Some(Template::Expr(expr));
        }
        if uses.iter().all(|u| u.value.as_str().is_some_and(|text| open_json(text).is_some())) {
            return self.json_text(spot, uses);
        }
        let template = self.parts_of_first(spot, uses).or_else(|| self.common_parts(spot, uses))?;
        self.know_parts(spot, uses, &template);
        self.find(spot, Origin::Text(template.clone()), "parts of the text come from elsewhere".to_owned(), Vec::new());
        Some(template)
    }

    /// Items of a list, joined by a separator.
    fn joined(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        for separator in SEPARATORS {
            let rows: Vec<Vec<Value>> =
                uses.iter().filter_map(|u| u.value.as_str()).map(|text| text.split(separator).map(Value::from).collect()).collect();
            if rows.iter().all(|row: &Vec<Value>| row.len() < 2) || rows.iter().flatten().any(|v| v.as_str() == Some("")) {
                continue;
            }
            if let Some(list) = self.mapped(spot, uses, &rows) {
                let expr = Expr::Call(Function::Join, vec![list, literal(separator)]);
                if self.gives(&expr, uses) {
                    return Some(expr);
                }
            }
        }
        None
    }

    /// Something known in lower case, in upper case, as a slug or percent-encoded.
    fn reshaped(&self, uses: &[Use]) -> Option<Expr> {
        let first = uses.first()?;
        let text = first.value.as_str()?;
        if !looks_shaped(text) {
            return None;
        }
        let shaped = self.shapes(first.frame);
        shaped
            .into_iter()
            .filter(|(shape, _)| shape == text && bits(text) >= 10.0)
            .map(|(_, expr)| expr)
            .find(|expr| self.gives(expr, uses))
    }

    /// What is known in other shapes, where these differ from it: the text, and the expression that gives it.
    fn shapes(&self, frame: FrameId) -> Vec<(SmolStr, Expr)> {
        let given = self.given_features(&[frame]).into_iter().map(|f| f.expr);
        let recent = self.recent.iter().cloned();
        let mut found = Vec::new();
        for expr in given.chain(recent) {
            let Some(Value::String(text)) = self.value_in(&expr, frame) else { continue };
            for function in [Function::Slug, Function::Lower, Function::Upper, Function::UrlEncode] {
                let shaped = expr.clone().apply(function);
                if let Some(Value::String(shape)) = self.value_in(&shaped, frame)
                    && shape != text
                    && !found.iter().any(|(known, _)| *known == shape)
                {
                    found.push((shape, shaped));
                }
            }
        }
        found
    }

    /// A JSON text that holds references: of an object as one expression where the text is written without blanks, else piece by piece.
    /// What goes in is always written as JSON: a quote in a value must not end its text.
    fn json_text(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let marks = (self.findings.len(), self.diagnostics.len());
        let made = self.json_whole(spot, uses).map(Template::Expr).or_else(|| self.json_pieces(spot, uses));
        let found = self.findings.get(marks.0..).unwrap_or_default();
        let refers = found.iter().any(|f| matches!(f.origin, Origin::Reference(_) | Origin::Text(_)));
        if made.is_none() || !refers {
            self.findings.truncate(marks.0);
            self.diagnostics.truncate(marks.1);
            return None;
        }
        made
    }

    fn json_whole(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let opened = |u: &Use| {
            let text = u.value.as_str()?;
            let value = open_json(text)?;
            (json::to_string(&value) == text).then_some(Use { value, ..u.clone() })
        };
        let inner: Vec<Use> = uses.iter().map(opened).collect::<Option<_>>()?;
        let inner_spot = spot.at("(json)");
        let expr = to_expr(&self.template(&inner_spot, &inner)?).apply(Function::ToJson);
        self.gives(&expr, uses).then_some(expr)
    }

    fn json_pieces(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let first = uses.first()?;
        let text = first.value.as_str()?;
        let mut pieces = Vec::new();
        let mut at = 0;
        for (key, start, end) in json_scalars(text) {
            let raw = text.get(start..end)?;
            let Ok(value) = json::parse(raw.as_bytes()) else { continue };
            let used = [Use { value, ..first.clone() }];
            let marks = (self.findings.len(), self.diagnostics.len());
            let inside = spot.at("(json)");
            let template = self.template(&if key.is_empty() { inside } else { inside.at(key) }, &used)?;
            let expr = match to_expr(&template) {
                Expr::Literal(_) => None,
                expr => Some(expr.apply(Function::ToJson))
                    .filter(|e| self.value_in(e, first.frame).as_ref().and_then(Value::as_str) == Some(raw)),
            };
            match expr {
                Some(expr) => {
                    pieces.push(Piece::Text(SmolStr::new(text.get(at..start)?)));
                    pieces.push(Piece::Expr(expr));
                    at = end;
                }
                None => {
                    self.findings.truncate(marks.0);
                    self.diagnostics.truncate(marks.1);
                }
            }
        }
        pieces.push(Piece::Text(SmolStr::new(text.get(at..)?)));
        let template = Template::text(pieces);
        uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)).then_some(template)
    }

    /// Whether parts of a text come from somewhere.
    pub(super) fn has_parts(&self, spot: &Spot, uses: &[Use]) -> bool {
        uses.first().and_then(|u| Some(!self.best_parts(spot, u, u.value.as_str()?).is_empty())).unwrap_or(false)
    }

    /// The parts of the first text that references give, tried out on all others.
    fn parts_of_first(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        for model in uses.iter().take(2) {
            let text = model.value.as_str()?;
            let parts = self.best_parts(spot, model, text);
            if parts.is_empty() {
                continue;
            }
            let template = assemble(text, &parts);
            if uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)) {
                return Some(template);
            }
        }
        None
    }

    /// Remembers what the parts of a text were taken for.
    fn know_parts(&mut self, spot: &Spot, uses: &[Use], template: &Template) {
        let (Template::Text(pieces), Some(first)) = (template, uses.first()) else { return };
        for piece in pieces {
            if let Piece::Expr(expr) = piece
                && let Some(value) = self.value_in(expr, first.frame)
            {
                self.know(spot, &value, expr.clone());
            }
        }
    }

    /// The parts that together explain most, without overlap.
    fn best_parts(&self, spot: &Spot, model: &Use, text: &str) -> Vec<Part> {
        let found = self.parts(spot, model, text, &[]);
        let chosen = without_overlap(found, text.len());
        let objects: Vec<Expr> = chosen.iter().filter_map(|p| p.object.clone()).collect();
        if objects.is_empty() {
            return chosen;
        }
        without_overlap(self.parts(spot, model, text, &objects), text.len())
    }

    fn parts(&self, spot: &Spot, model: &Use, text: &str, neighbours: &[Expr]) -> Vec<Part> {
        let run = self.tree.run(model.frame);
        let (Some(index), windows) = (self.indexes.get(run), windows(text)) else { return Vec::new() };
        if windows.len() > MOST_WINDOWS {
            return Vec::new();
        }
        let mut found: Vec<Part> = Vec::new();
        for (shape, expr) in if looks_shaped(text) { self.shapes(model.frame) } else { Vec::new() } {
            let score = bits(&shape) - 6.0;
            if score >= 5.0 && shape.len() < text.len() {
                let places = text.match_indices(shape.as_str()).map(|(at, _)| (at, at + shape.len()));
                let whole_words = places.filter(|(start, end)| is_border(text, *start) && is_border(text, *end));
                found.extend(whole_words.map(|(start, end)| Part { start, end, expr: expr.clone(), score, object: None }));
            }
        }
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
            let used = [Use { value: Value::from(part), ..model.clone() }];
            let from = if stands_out(part) { From::Anywhere } else { From::Inputs };
            let scored = self.scored_references(spot, &used, from).into_iter().filter(|c| may_be_part(part, c));
            let best = scored
                .map(|c| {
                    let object = object_of(&c.expr);
                    let near = object.as_ref().is_some_and(|o| neighbours.contains(o));
                    // Inputs are there to be used: inside a text they cost no more than alone.
                    let cost = if c.source == Source::Input { 0.0 } else { COST_OF_A_PART };
                    (c.score - cost + if near { WORTH_OF_A_NEIGHBOUR } else { 0.0 }, c.expr, object)
                })
                .filter(|(score, _, _)| *score > 0.0)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            found.extend(best.map(|(score, expr, object)| Part { start, end, expr: unwrapped(expr), score, object }));
        }
        found
    }

    /// Where the first text cannot be taken apart alone: what all texts share stays, and what differs must come from somewhere.
    fn common_parts(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let texts: Vec<&str> = uses.iter().filter_map(|u| u.value.as_str()).collect();
        let first = *texts.first()?;
        if texts.len() < 2 || texts.iter().all(|t| *t == first) {
            return None;
        }
        let shared_start = texts.iter().fold(first.len(), |n, t| common_prefix(first, t).min(n));
        let shared_end =
            texts.iter().fold(first.len() - shared_start, |n, t| common_suffix(first, t).min(n).min(t.len().saturating_sub(shared_start)));
        let starts: Vec<usize> = borders(first, 0, shared_start).into_iter().rev().take(4).collect();
        let ends: Vec<usize> = borders(first, first.len() - shared_end, first.len()).into_iter().take(4).collect();
        for start in &starts {
            for end in &ends {
                let tail = first.len() - end;
                let middle = |u: &Use| {
                    Some(Use {
                        value: Value::from(u.value.as_str()?.get(*start..u.value.as_str()?.len().checked_sub(tail)?)?),
                        ..u.clone()
                    })
                };
                let Some(middles) = uses.iter().map(middle).collect::<Option<Vec<Use>>>() else { continue };
                let Some(best) = self.references(spot, &middles).into_iter().next() else { continue };
                let model = uses.first()?;
                let mut pieces = self.pieces(spot, model, first.get(..*start)?);
                pieces.push(Piece::Expr(unwrapped(best.expr)));
                pieces.extend(self.pieces(spot, model, first.get(*end..)?));
                let template = Template::Text(pieces);
                if uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)) {
                    return Some(template);
                }
            }
        }
        None
    }

    fn pieces(&self, spot: &Spot, model: &Use, text: &str) -> Vec<Piece> {
        match assemble(text, &self.best_parts(spot, model, text)) {
            Template::Text(pieces) => pieces,
            Template::Expr(expr) => vec![Piece::Expr(expr)],
            Template::Literal(_) | Template::Array(_) | Template::Object(_) if text.is_empty() => Vec::new(),
            Template::Literal(_) | Template::Array(_) | Template::Object(_) => vec![Piece::Text(SmolStr::new(text))],
        }
    }
}

/// Whether a part of a text may come from there. Words of a language stand in every text: only an input, a name or something specific counts;
/// what a result gives back of its call's own arguments never does, and prose only gives what is specific.
fn may_be_part(part: &str, candidate: &Candidate) -> bool {
    if matches!(candidate.expr, Expr::Literal(_)) || candidate.echo {
        return false;
    }
    let is_cut = matches!(&candidate.expr, Expr::Call(Function::Between, _));
    match candidate.source {
        Source::Input | Source::Task => true,
        Source::Call(_) if is_cut => is_specific(part) && bits(part) >= 18.0,
        Source::Call(_) => stands_out(part),
    }
}

/// Whether a part of a text is more than a few words of a language.
fn stands_out(part: &str) -> bool {
    is_specific(part) || is_name(part) || tokens(part).len() > 3
}

/// A reference inside a text needs no `to_string` around it.
fn unwrapped(expr: Expr) -> Expr {
    match expr {
        Expr::Call(Function::ToString, mut arguments) if arguments.len() == 1 => arguments.pop().unwrap_or(Expr::Omit),
        other => other,
    }
}

/// The object that a reference takes a field of.
fn object_of(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Key(base, _) if !matches!(**base, Expr::Name(_)) => Some((**base).clone()),
        _ => None,
    }
}

fn assemble(text: &str, parts: &[Part]) -> Template {
    let mut pieces = Vec::new();
    let mut at = 0;
    for part in parts {
        if part.start > at {
            pieces.push(Piece::Text(SmolStr::new(text.get(at..part.start).unwrap_or_default())));
        }
        pieces.push(Piece::Expr(part.expr.clone()));
        at = part.end;
    }
    if at < text.len() {
        pieces.push(Piece::Text(SmolStr::new(text.get(at..).unwrap_or_default())));
    }
    match pieces.as_slice() {
        [Piece::Text(text)] => Template::Literal(Value::String(text.clone())),
        [] => Template::Literal(Value::from("")),
        _ => Template::Text(pieces),
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

/// Whether a text may hold something in another shape: words with dashes between them, percent signs, or one case throughout.
fn looks_shaped(text: &str) -> bool {
    let letters = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let dashed = text.match_indices('-').any(|(at, _)| {
        letters(text.get(..at).and_then(|t| t.chars().next_back())) && letters(text.get(at + 1..).and_then(|t| t.chars().next()))
    });
    let one_case = || !text.chars().any(char::is_lowercase) || !text.chars().any(char::is_uppercase);
    let lone = !text.contains(char::is_whitespace) && text.len() < 200;
    dashed || text.contains('%') || (lone && text.chars().filter(|c| c.is_alphabetic()).count() > 5 && !is_specific(text) && one_case())
}

/// The strings and numbers of a JSON text that are no keys, with their quotes; each with the key before it.
fn json_scalars(text: &str) -> Vec<(&str, usize, usize)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut key = "";
    while let Some(byte) = bytes.get(at) {
        let start = at;
        if *byte == b'"' {
            at += 1;
            while let Some(b) = bytes.get(at).filter(|b| **b != b'"') {
                at += if *b == b'\\' { 2 } else { 1 };
            }
            at += 1;
            let next = bytes.iter().skip(at).find(|b| !b.is_ascii_whitespace());
            match next {
                Some(b':') => key = text.get(start + 1..at.saturating_sub(1)).unwrap_or_default(),
                _ => found.push((key, start, at.min(text.len()))),
            }
        } else if byte.is_ascii_digit() || *byte == b'-' {
            while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)) {
                at += 1;
            }
            found.push((key, start, at));
        } else {
            at += 1;
        }
    }
    found
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.char_indices().zip(b.chars()).find(|((_, x), y)| x != y).map_or(a.len().min(b.len()), |((at, _), _)| at)
}

fn common_suffix(a: &str, b: &str) -> usize {
    a.chars().rev().zip(b.chars().rev()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

/// The places between words in `text` from `start` to `end`.
fn borders(text: &str, start: usize, end: usize) -> Vec<usize> {
    (start..=end).filter(|at| text.is_char_boundary(*at) && crate::text::is_border(text, *at)).collect()
}

/// Fixed texts before and after a part of `text` by which `between` finds it again, the shortest that work first.
pub(super) fn anchors(text: &str, span: (usize, usize)) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for before in befores(text, span.0).into_iter().filter(|b| is_anchor(b)) {
        let from = match before.is_empty() {
            true => 0,
            false => match text.find(before) {
                Some(at) => at + before.len(),
                None => continue,
            },
        };
        if from != span.0 {
            continue;
        }
        for after in afters(text, span.1).into_iter().filter(|a| is_anchor(a)) {
            let to = if after.is_empty() { Some(text.len()) } else { text.get(from..).and_then(|t| t.find(after)).map(|at| from + at) };
            if to == Some(span.1) {
                found.push((before.to_owned(), after.to_owned()));
                break;
            }
        }
        if found.len() > 3 {
            break;
        }
    }
    found
}

/// Whether a fixed text can be trusted to stand there again: short, and of signs that people write.
fn is_anchor(text: &str) -> bool {
    text.chars().count() <= 48 && !text.contains(|c: char| c == '\\' || (c.is_control() && c != '\n'))
}

/// Fixed texts that stand before and after every one of several parts of `text`.
pub(super) fn common_anchors(text: &str, spans: &[(usize, usize)]) -> Option<(String, String)> {
    const LONGEST: usize = 24;
    let heads: Vec<&str> = spans.iter().map(|(start, _)| text.get(..*start)).collect::<Option<_>>()?;
    let tails: Vec<&str> = spans.iter().map(|(_, end)| text.get(*end..)).collect::<Option<_>>()?;
    let head = *heads.first()?;
    let tail = *tails.first()?;
    let shared = heads.iter().fold(head.len(), |n, other| n.min(common_suffix(head, other))).min(LONGEST);
    let before = (head.len() - shared..head.len()).filter_map(|at| head.get(at..)).find(|t| !t.starts_with(char::is_alphanumeric))?;
    let shared = tails.iter().fold(tail.len(), |n, other| n.min(common_prefix(tail, other))).min(LONGEST);
    let after = tail.get(..shared).filter(|t| !t.is_empty())?;
    let separators = after.find(char::is_alphanumeric).unwrap_or(after.len());
    let short = after.get(..separators).filter(|t| !t.is_empty()).unwrap_or(after);
    let all = |after: &str| {
        let mut rest = text;
        let mut found = Vec::new();
        while let Some(from) = rest.find(before).and_then(|at| rest.get(at + before.len()..)) {
            let Some(end) = from.find(after) else { break };
            found.extend(from.get(..end));
            rest = from.get(end..).unwrap_or_default();
        }
        found
    };
    let wanted: Vec<&str> = spans.iter().filter_map(|(start, end)| text.get(*start..*end)).collect();
    [short, after].into_iter().find(|after| all(after) == wanted).map(|after| (before.to_owned(), after.to_owned()))
}

/// Texts that end where the part starts, from one word to the start of the line and beyond; none that holds what may be another id next time.
fn befores(text: &str, start: usize) -> Vec<&str> {
    let head = text.get(..start).unwrap_or_default();
    let line = head.rfind('\n').map_or(0, |at| at + 1);
    let mut starts: Vec<usize> = tokens(head).iter().rev().take(8).map(|t| t.start).collect();
    starts.push(line);
    if start == line && line > 0 {
        starts.push(line - 1);
    }
    starts.push(0);
    let mut found: Vec<&str> = starts.into_iter().filter_map(|at| head.get(at..)).collect();
    found.dedup();
    let stays = |t: &&str| !t.is_empty() && tokens(t).iter().all(|k| !is_volatile(t.get(k.start..k.end).unwrap_or_default()));
    let good = found.into_iter().filter(stays);
    let punctuation = head.char_indices().rev().take_while(|(_, c)| !c.is_alphanumeric()).last().and_then(|(at, _)| head.get(at..));
    good.chain(punctuation).collect()
}

/// Texts that start where the part ends: the separators, with one word, with two; or nothing where it ends the text.
fn afters(text: &str, end: usize) -> Vec<&str> {
    let tail = text.get(end..).unwrap_or_default();
    if tail.is_empty() {
        return vec![""];
    }
    let words = tokens(tail);
    let first = tail.chars().next().map_or(0, char::len_utf8);
    let mut ends = vec![first, words.first().map_or(tail.len(), |t| t.start)];
    ends.extend(words.iter().take(3).map(|t| t.end));
    ends.into_iter().filter_map(|at| tail.get(..at)).filter(|t| !t.is_empty()).collect()
}

/// Whether a word of a text is likely to be another one next time.
fn is_volatile(word: &str) -> bool {
    is_opaque(word) || word.bytes().any(|b| b.is_ascii_digit())
}
