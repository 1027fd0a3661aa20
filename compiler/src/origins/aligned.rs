//! Texts of several calls that have the same words but for a few: each of these must come from somewhere.
//!
//! Before: `460 CHF is over the limit of 400` in one run and `1300 CHF is over the limit of 1000` in another. After: two references in the words
//! that stay. A value that says too little alone may say enough with those of the other runs, and what differs from run to run is no constant.

use super::parts::unwrapped;
use super::{Explainer, Spot, Use};
use crate::text::tokens;
use ltc_workflow::Value;
use ltc_workflow::expr::Expr;
use ltc_workflow::template::{Piece, Template};

/// More places than this in which texts differ are no few.
const MOST_VARYING: usize = 6;

/// A stretch of a text that is the same in all of the texts, or another one in each.
struct Column<'t> {
    /// The stretch in each text.
    texts: Vec<&'t str>,
}

impl Column<'_> {
    fn varies(&self) -> bool {
        self.texts.windows(2).any(|w| w.first() != w.last())
    }
}

impl Explainer<'_> {
    /// The texts, taken apart where they differ.
    pub(super) fn aligned(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let texts: Vec<&str> = uses.iter().map(|u| u.value.as_str()).collect::<Option<_>>()?;
        let columns = columns(&texts)?;
        let varying = columns.iter().filter(|c| c.varies()).count();
        if varying == 0 || varying > MOST_VARYING {
            return None;
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut fixed = String::new();
        let mut at = 0;
        while let Some(column) = columns.get(at) {
            if !column.varies() {
                fixed.push_str(column.texts.first()?);
                at += 1;
                continue;
            }
            // The longest stretch first: a name of two words comes from one place.
            let mut lasts = (at..columns.len()).rev().filter(|last| columns.get(*last).is_some_and(Column::varies));
            let (expr, last) = lasts.find_map(|last| Some((self.varying(spot, uses, columns.get(at..=last)?)?, last)))?;
            pieces.extend(self.pieces(spot, uses.first()?, &std::mem::take(&mut fixed)));
            pieces.push(Piece::Expr(unwrapped(expr)));
            at = last + 1;
        }
        pieces.extend(self.pieces(spot, uses.first()?, &fixed));
        let template = Template::Text(pieces);
        uses.iter().all(|u| self.template_in(&template, u.frame).as_ref() == Some(&u.value)).then_some(template)
    }

    /// What gives a stretch that differs from text to text.
    fn varying(&self, spot: &Spot, uses: &[Use], columns: &[Column<'_>]) -> Option<Expr> {
        let text = |row: usize| columns.iter().filter_map(|c| c.texts.get(row).copied()).collect::<String>();
        let parts: Vec<Use> = uses.iter().enumerate().map(|(row, used)| Use { value: Value::string(text(row)), ..used.clone() }).collect();
        if let Some(best) = self.references(spot, &parts).into_iter().find(|c| c.guesses.is_empty()) {
            return Some(best.expr);
        }
        let number = |u: &Use| Some(Use { value: Value::from(u.value.as_str()?.parse::<i64>().ok().filter(|n| *n >= 0)?), ..u.clone() });
        match parts.iter().map(number).collect::<Option<Vec<Use>>>() {
            Some(numbers) => self.length_of_list(spot, &numbers),
            None => self.reshaped(&parts),
        }
    }
}

/// The stretches of texts that have the same signs between their words.
fn columns<'t>(texts: &[&'t str]) -> Option<Vec<Column<'t>>> {
    let first = texts.first()?;
    if texts.iter().all(|t| t == first) {
        return None;
    }
    let rows: Vec<Vec<&'t str>> = texts.iter().map(|text| stretches(text)).collect();
    let length = rows.first()?.len();
    let mut columns = Vec::new();
    for at in 0..length {
        let texts: Vec<&'t str> = rows.iter().map(|row| row.get(at).copied()).collect::<Option<_>>()?;
        let column = Column { texts };
        // Signs come at every second place, from the first on.
        if at.is_multiple_of(2) && column.varies() {
            return None;
        }
        columns.extend(numbered(column));
    }
    rows.iter().all(|row| row.len() == length).then_some(columns)
}

/// The signs and the words of a text, in turn, signs first.
fn stretches(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut last = 0;
    for token in tokens(text) {
        found.extend(text.get(last..token.start));
        found.extend(text.get(token.start..token.end));
        last = token.end;
    }
    found.extend(text.get(last..));
    found
}

/// A column of words that are the same letters with another number each, `A6` and `A9`, as letters and number.
fn numbered(column: Column<'_>) -> Vec<Column<'_>> {
    let letters = column.texts.first().and_then(|word| word.get(..word.find(|c: char| c.is_ascii_digit())?)).unwrap_or_default();
    let split = |word: &&str| word.strip_prefix(letters).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if letters.is_empty() || !column.varies() || !column.texts.iter().all(split) {
        return vec![column];
    }
    let halves = column.texts.iter().filter_map(|word| word.split_at_checked(letters.len()));
    let (letters, numbers) = halves.unzip();
    vec![Column { texts: letters }, Column { texts: numbers }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[&str]) -> Option<Vec<String>> {
        Some(
            columns(texts)?
                .into_iter()
                .map(|c| if c.varies() { format!("<{}>", c.texts.join("|")) } else { c.texts[0].to_owned() })
                .collect(),
        )
    }

    #[test]
    fn texts_are_taken_apart_where_they_differ() {
        assert_eq!(shown(&["A6:C6", "A12:C12"]).unwrap().concat(), "A<6|12>:C<6|12>");
        assert_eq!(shown(&["460 CHF of 400", "1300 CHF of 1000"]).unwrap().concat(), "<460|1300> CHF of <400|1000>");
    }

    #[test]
    fn texts_of_other_signs_or_words_are_not() {
        assert_eq!(shown(&["a b", "a, b"]), None);
        assert_eq!(shown(&["a b", "a b c"]), None);
        assert_eq!(shown(&["a b", "a b"]), None);
    }
}
