//! Texts that are computed: a part that is cut out by signs, another case, a day that is so many days later.

use super::super::candidates::literal;
use super::super::{Explainer, Use};
use super::{Fact, Made};
use crate::index::scalar_text;
use crate::text::is_date;
use crate::trace::instant;
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{Expr, Function};

/// What it costs to say that a text is cut, and where.
const COST_OF_A_CUT: f64 = 3.0;
/// What another shape costs.
const COST_OF_A_SHAPE: f64 = 2.0;
/// What it costs that a date is another one, where it is a number of weeks.
const COST_OF_WEEKS: f64 = 3.0;
/// Longer texts are cut by what has a name.
const LONGEST: usize = 20_000;
/// The most places of a value in a text that are tried.
const MOST_PLACES: usize = 6;

impl Explainer<'_> {
    /// Parts of texts that are the value, cut out by the same signs each time; `sure` are those that are percent-encoded there.
    pub(super) fn cut(&self, facts: &[Fact], uses: &[Use], words: &[String], sure: bool) -> Vec<Made> {
        let Some(first) = uses.first() else { return Vec::new() };
        let Some(text) = scalar_text(&first.value).filter(|t| !t.is_empty()) else { return Vec::new() };
        let encoded = self.value_in(&literal(text).apply(Function::UrlEncode), first.frame);
        let encoded = encoded.as_ref().and_then(Value::as_str).filter(|encoded| *encoded != text);
        let mut found = Vec::new();
        for fact in facts {
            let Some(known) = fact.values.first().and_then(Value::as_str).filter(|known| known.len() < LONGEST && *known != text) else {
                continue;
            };
            if !sure {
                for (expr, cost) in cuts_of(&fact.expr, known, text) {
                    let expr = if matches!(first.value, Value::Number(_)) { expr.apply(Function::ToNumber) } else { expr };
                    found.push(Made::of(fact, expr, cost, words));
                }
            }
            let decoded = encoded.map(|encoded| cuts_of(&fact.expr, known, encoded)).unwrap_or_default();
            found.extend(
                decoded.into_iter().map(|(expr, cost)| Made::of(fact, expr.apply(Function::UrlDecode), cost + COST_OF_A_SHAPE, words)),
            );
        }
        found
    }
}

/// Whether a text may stand percent-encoded in a URL.
pub(super) fn may_be_encoded(text: &str) -> bool {
    const LONGEST_IN_A_URL: usize = 200;
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    text.len() <= LONGEST_IN_A_URL && !text.contains('\n') && !text.chars().all(kept)
}

/// The ways to cut `part` out of `text`, in the whole of it and behind its last slash, with what they cost.
fn cuts_of(expr: &Expr, text: &str, part: &str) -> Vec<(Expr, f64)> {
    let mut found = cuts(expr, text, part);
    if let Some((_, name)) = text.rsplit_once('/') {
        let last = split(expr, "/").apply(Function::Last);
        found.extend(cuts(&last, name, part).into_iter().map(|(expr, cost)| (expr, cost + COST_OF_A_CUT)));
    }
    found
}

fn cuts(expr: &Expr, text: &str, part: &str) -> Vec<(Expr, f64)> {
    let mut found: Vec<(Expr, f64)> = Vec::new();
    for (start, _) in text.match_indices(part).take(MOST_PLACES) {
        let (before, after) = (text.get(..start).unwrap_or_default(), text.get(start + part.len()..).unwrap_or_default());
        if before.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric) {
            continue;
        }
        let ends = ends(after);
        for sign in starts(before) {
            let cost = COST_OF_A_CUT + cost_of_sign(&sign);
            if after.is_empty() && !sign.is_empty() {
                found.push((split(expr, &sign).apply(Function::Last), cost));
            }
            for end in &ends {
                if sign.is_empty() && end.is_empty() {
                    continue;
                }
                found.push((Expr::Call(Function::Between, vec![expr.clone(), literal(&sign), literal(end)]), cost + cost_of_sign(end)));
            }
            if ends.contains(&sign) && !sign.is_empty() {
                let at = i64::try_from(before.matches(sign.as_str()).count()).unwrap_or(0);
                found.push((split(expr, &sign).index(at), cost + COST_OF_A_CUT));
            }
        }
    }
    found
}

fn split(expr: &Expr, sign: &str) -> Expr {
    Expr::Call(Function::Split, vec![expr.clone(), literal(sign)])
}

/// One sign is one of a few; a name before it is one of many, but is structure where it stands there each time.
fn cost_of_sign(sign: &str) -> f64 {
    if sign.is_empty() { 0.0 } else { 1.0 + bits(sign) / 4.0 }
}

/// What may mark where a part begins: nothing at the text's start, the sign before it, all signs before it, and the key before those.
fn starts(before: &str) -> Vec<String> {
    let Some(sign) = before.chars().next_back() else { return vec![String::new()] };
    let rest = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    let signs = before.get(rest.len()..).unwrap_or_default();
    let mut found = vec![sign.to_string()];
    if signs.chars().count() > 1 {
        found.push(signs.to_owned());
    }
    if signs.contains(['=', ':']) && !signs.contains('/') {
        let key = rest.rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').next().unwrap_or_default();
        if !key.is_empty() {
            found.push(format!("{key}{signs}"));
        }
    }
    found
}

/// What may mark where a part ends.
fn ends(after: &str) -> Vec<String> {
    let Some(sign) = after.chars().next() else { return vec![String::new()] };
    let signs: String = after.chars().take_while(|c| !c.is_alphanumeric()).collect();
    let mut found = vec![sign.to_string()];
    if signs.chars().count() > 1 {
        found.push(signs);
    }
    found
}

/// What is known, in another shape.
pub(super) fn shaped(facts: &[Fact], words: &[String]) -> Vec<Made> {
    let mut found = Vec::new();
    for fact in facts.iter().filter(|f| f.values.iter().all(|v| matches!(v, Value::String(_)))) {
        for function in [Function::Lower, Function::Upper, Function::Trim, Function::Slug, Function::UrlEncode, Function::UrlDecode] {
            found.push(Made::of(fact, fact.expr.clone().apply(function), COST_OF_A_SHAPE, words));
        }
        for sign in [" ", "-"] {
            let without = Expr::Call(Function::Replace, vec![fact.expr.clone(), literal(sign), literal("")]);
            found.push(Made::of(fact, without, COST_OF_A_SHAPE + cost_of_sign(sign), words));
        }
    }
    found
}

/// Dates that are the same number of days after another date each time.
pub(super) fn days_later(facts: &[Fact], uses: &[Use], words: &[String]) -> Vec<Made> {
    let mut found = Vec::new();
    for fact in facts {
        let days: Option<Vec<i64>> =
            fact.values.iter().zip(uses).map(|(known, used)| days_between(known.as_str()?, used.value.as_str()?)).collect();
        let Some((by, rest)) = days.as_deref().and_then(<[i64]>::split_first) else { continue };
        if *by == 0 || rest.iter().any(|other| other != by) {
            continue;
        }
        let cost = if by % 7 == 0 { COST_OF_WEEKS } else { COST_OF_WEEKS + bits(&by.unsigned_abs().to_string()) };
        let expr = Expr::Call(Function::AddDays, vec![fact.expr.clone(), Expr::Literal((*by).into())]);
        found.push(Made::of(fact, expr, cost, words));
    }
    found
}

/// How many days `to` is after `from`.
fn days_between(from: &str, to: &str) -> Option<i64> {
    const A_DAY: i128 = 86_400_000_000_000;
    let midnight = |day: &str| instant::parse(&format!("{}T00:00:00Z", day.get(..10)?));
    if !is_date(from) || !is_date(to) {
        return None;
    }
    i64::try_from((midnight(to)? - midnight(from)?) / A_DAY).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, part: &str) -> Vec<String> {
        cuts_of(&Expr::name("x"), text, part).into_iter().map(|(expr, _)| expr.to_string()).collect()
    }

    #[test]
    fn a_part_is_cut_by_the_signs_around_it() {
        assert!(shown("a/b.c/report.pdf", "pdf").contains(&"last(split(x, '.'))".to_owned()));
        assert!(shown("a/b.c/report.pdf", "report").contains(&"between(last(split(x, '/')), '', '.')".to_owned()));
        assert!(shown("25 EUR", "25").contains(&"between(x, '', ' ')".to_owned()));
        assert!(shown("?id=7&tok=ab&l=en", "ab").contains(&"between(x, 'tok=', '&')".to_owned()));
        assert!(shown("report.pdfx", "pdf").is_empty(), "a part of a word is no part");
    }

    #[test]
    fn days_are_counted_from_date_to_date() {
        assert_eq!(days_between("2024-02-27", "2024-03-05"), Some(7));
        assert_eq!(days_between("2026-01-05T10:00:00Z", "2026-01-01T10:00:00Z"), Some(-4));
        assert_eq!(days_between("soon", "2026-01-01"), None);
    }
}
