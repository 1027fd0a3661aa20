//! A statement with its values, and rows as plain cells: what crosses the border to a database.

use super::{Done, Fault};
use crate::clock::Moment;
use smol_str::SmolStr;
use std::borrow::Cow;
use std::fmt::Write;

/// A value that goes into a statement. The tables have texts and numbers, and nothing else.
#[derive(Clone, Debug)]
pub(in crate::store) enum Bound {
    /// A text as it is kept ([`kept`]), or NULL.
    Text(Option<String>),
    /// A number, or NULL.
    Number(Option<i64>),
}

impl From<&str> for Bound {
    fn from(text: &str) -> Bound {
        Bound::Text(Some(kept(text.into())))
    }
}

impl From<&SmolStr> for Bound {
    fn from(text: &SmolStr) -> Bound {
        Bound::from(text.as_str())
    }
}

impl From<String> for Bound {
    fn from(text: String) -> Bound {
        Bound::Text(Some(kept(text.into())))
    }
}

impl From<Option<String>> for Bound {
    fn from(text: Option<String>) -> Bound {
        Bound::Text(text.map(|text| kept(text.into())))
    }
}

impl From<i64> for Bound {
    fn from(number: i64) -> Bound {
        Bound::Number(Some(number))
    }
}

impl From<u32> for Bound {
    fn from(number: u32) -> Bound {
        Bound::Number(Some(i64::from(number)))
    }
}

impl From<Moment> for Bound {
    fn from(moment: Moment) -> Bound {
        Bound::Number(Some(moment.0))
    }
}

impl From<Option<Moment>> for Bound {
    fn from(moment: Option<Moment>) -> Bound {
        Bound::Number(moment.map(|moment| moment.0))
    }
}

/// The text that is kept for `text`. PostgreSQL's texts cannot hold NUL, so that U+0001 and a U+0001 stand for it, and U+0001 and a U+0002 for a U+0001:
/// another text for each, in the same order. JSON has neither.
fn kept(text: Cow<'_, str>) -> String {
    if text.bytes().any(|byte| byte <= 1) { text.replace('\u{1}', "\u{1}\u{2}").replace('\0', "\u{1}\u{1}") } else { text.into_owned() }
}

/// The text for which [`kept`] is kept.
fn meant(kept: String) -> Done<String> {
    if !kept.bytes().any(|byte| byte == 1) {
        return Ok(kept);
    }
    let mut text = String::with_capacity(kept.len());
    let mut rest = kept.chars();
    while let Some(c) = rest.next() {
        text.push(match c {
            '\u{1}' => match rest.next() {
                Some('\u{1}') => '\0',
                Some('\u{2}') => '\u{1}',
                Some(_) | None => return Err(Fault::broken("a text that is kept has an escape that means nothing")),
            },
            c => c,
        });
    }
    Ok(text)
}

/// A statement and its values. Its text is made of texts of this program only; everything else is a value.
#[derive(Clone, Debug)]
pub(in crate::store) struct Statement {
    /// The text, with `$1`, `$2` … where the values go.
    pub(in crate::store) text: Cow<'static, str>,
    /// The values.
    pub(in crate::store) bound: Vec<Bound>,
}

impl Statement {
    /// A statement whose values follow.
    pub(super) fn new(text: impl Into<Cow<'static, str>>) -> Statement {
        Statement { text: text.into(), bound: Vec::new() }
    }

    /// The next value.
    pub(super) fn bind(mut self, value: impl Into<Bound>) -> Statement {
        self.bound.push(value.into());
        self
    }

    /// Text behind what is there.
    pub(super) fn then(mut self, text: &'static str) -> Statement {
        self.text.to_mut().push_str(text);
        self
    }

    /// The next value, and its place in the text.
    pub(super) fn value(mut self, value: impl Into<Bound>) -> Statement {
        self.bound.push(value.into());
        let place = self.bound.len();
        // Writing to a text cannot fail.
        let _ = write!(self.text.to_mut(), "${place}");
        self
    }

    /// The place of a value that is there already, counted from 1.
    pub(super) fn place(mut self, place: usize) -> Statement {
        let _ = write!(self.text.to_mut(), "${place}");
        self
    }

    /// `(value, value, …)`
    pub(super) fn values<B: Into<Bound>>(mut self, values: impl IntoIterator<Item = B>) -> Statement {
        for (index, value) in values.into_iter().enumerate() {
            self = self.then(if index == 0 { "(" } else { ", " }).value(value);
        }
        self.then(")")
    }
}

/// A cell of a row.
#[derive(Clone, Debug)]
pub(in crate::store) enum Cell {
    /// NULL.
    Null,
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// A row, whose cells are taken from left to right.
#[derive(Debug)]
pub(in crate::store) struct Row(std::vec::IntoIter<Cell>);

impl Row {
    /// A row of these cells.
    pub(in crate::store) fn new(cells: Vec<Cell>) -> Row {
        Row(cells.into_iter())
    }

    /// The next cell is a text or NULL.
    pub(super) fn maybe_text(&mut self) -> Done<Option<String>> {
        match self.0.next() {
            Some(Cell::Text(text)) => Ok(Some(meant(text)?)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Number(_)) | None => Err(Fault::broken("a row has a number where a text was expected")),
        }
    }

    /// The next cell is a number or NULL.
    pub(super) fn maybe_number(&mut self) -> Done<Option<i64>> {
        match self.0.next() {
            Some(Cell::Number(number)) => Ok(Some(number)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Text(_)) | None => Err(Fault::broken("a row has a text where a number was expected")),
        }
    }

    /// The next cell is a text.
    pub(in crate::store) fn text(&mut self) -> Done<String> {
        self.maybe_text()?.ok_or_else(|| Fault::broken("a row has nothing where a text was expected"))
    }

    /// The next cell is a JSON list of texts.
    pub(super) fn text_list(&mut self) -> Done<Vec<String>> {
        let list = super::words::read_json(&self.text()?)?;
        let items = list.as_array().ok_or_else(|| Fault::broken("a row has no list where one was expected"))?;
        let text = |item: &ltc_workflow::Value| match item.as_str() {
            Some(text) => meant(text.to_owned()),
            None => Err(Fault::broken("a list of texts has something else in it")),
        };
        items.iter().map(text).collect()
    }

    /// The next cell is a number.
    pub(in crate::store) fn number(&mut self) -> Done<i64> {
        self.maybe_number()?.ok_or_else(|| Fault::broken("a row has nothing where a number was expected"))
    }

    /// The next cell is a text.
    pub(super) fn name(&mut self) -> Done<SmolStr> {
        Ok(SmolStr::new(self.text()?))
    }

    /// The next cell is a count.
    pub(super) fn count(&mut self) -> Done<u64> {
        u64::try_from(self.number()?).map_err(|_| Fault::broken("a count is below zero"))
    }

    /// The next cell is a time.
    pub(super) fn moment(&mut self) -> Done<Moment> {
        Ok(Moment(self.number()?))
    }

    /// The next cell is a time or NULL.
    pub(super) fn maybe_moment(&mut self) -> Done<Option<Moment>> {
        Ok(self.maybe_number()?.map(Moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn kept_texts_have_no_nul_and_come_back_in_the_same_order(a in "[\u{0}-\u{3}a\u{1f642}]{0,6}", b in "[\u{0}-\u{3}a\u{1f642}]{0,6}") {
            let (kept_a, kept_b) = (kept(Cow::from(a.as_str())), kept(Cow::from(b.as_str())));
            prop_assert!(!kept_a.contains('\0'));
            prop_assert_eq!(kept_a.cmp(&kept_b), a.cmp(&b));
            prop_assert_eq!(meant(kept_a).ok(), Some(a));
        }
    }

    #[test]
    fn an_escape_that_means_nothing_is_no_text() {
        assert!(meant("a\u{1}".to_owned()).is_err());
        assert!(meant("a\u{1}b".to_owned()).is_err());
    }
}
