//! Lists in pages: how many entries one has, whether there is a next one, and where that begins.

use super::refusal::{Code, Refusal};
use crate::clock::Moment;

/// The most entries of a page.
pub(super) const LARGEST: u32 = 1000;

/// How many entries a page has: as many as were asked for, else `usual`.
pub(super) fn limit(asked: Option<u32>, usual: u32) -> u32 {
    asked.unwrap_or(usual).clamp(1, LARGEST)
}

/// Takes what is more than a page of `limit` off, for which one entry more was asked for; says whether there was any.
pub(super) fn cut<T>(records: &mut Vec<T>, limit: u32) -> bool {
    let is_more = u32::try_from(records.len()).is_ok_and(|count| count > limit);
    records.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    is_more
}

/// `next` of a page whose last entry is of this time and name.
pub(super) fn cursor(at: Moment, name: &str) -> String {
    format!("{}@{name}", at.0)
}

/// The time and the name in `after`.
///
/// # Errors
/// `Invalid`, where it is no `next` of a page.
pub(super) fn read_cursor(after: &str) -> Result<(Moment, &str), Refusal> {
    after.split_once('@').and_then(|(at, name)| Some((Moment(at.parse().ok()?), name))).ok_or_else(no_cursor)
}

/// `after` is no `next` of a page.
pub(super) fn no_cursor() -> Refusal {
    Refusal::new(Code::Invalid, "`after` is not the `next` of a page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cut_where_one_more_was_asked_for_and_only_there() {
        for (there, is_more) in [(0, false), (2, false), (3, true)] {
            let mut records: Vec<u32> = (0..there).collect();
            assert_eq!(cut(&mut records, 2), is_more, "{there}");
            assert_eq!(records.len() as u32, there.min(2));
        }
        assert_eq!((limit(None, 50), limit(Some(0), 50), limit(Some(5000), 50)), (50, 1, 1000));
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written_whatever_the_name_holds() {
        assert_eq!(read_cursor(&cursor(Moment(7), "a@b")), Ok((Moment(7), "a@b")));
        for text in ["", "7", "x@a"] {
            assert_eq!(read_cursor(text), Err(no_cursor()), "{text}");
        }
    }
}
