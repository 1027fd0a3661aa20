//! Fixed texts by which a part of a text is found again.
//!
//! They are made of what stands there again: of signs, and of words that name what comes. What may be another value next time is no part of
//! them: what a machine made, what the run was given, what was taken from somewhere else, and what stands in the line before.

use crate::text::{is_opaque, tokens_from};
use crate::weight::is_drawn;

/// Whether a part of a text is a value that is known to come from somewhere: it may be another one next time.
pub(super) type IsData<'d> = &'d dyn Fn(&str) -> bool;

pub(super) fn common_prefix(a: &str, b: &str) -> usize {
    a.char_indices().zip(b.chars()).find(|((_, x), y)| x != y).map_or(a.len().min(b.len()), |((at, _), _)| at)
}

pub(super) fn common_suffix(a: &str, b: &str) -> usize {
    a.chars().rev().zip(b.chars().rev()).take_while(|(x, y)| x == y).map(|(x, _)| x.len_utf8()).sum()
}

/// The places between words in `text` from `start` to `end`.
pub(super) fn borders(text: &str, start: usize, end: usize) -> Vec<usize> {
    (start..=end).filter(|at| text.is_char_boundary(*at) && crate::text::is_border(text, *at)).collect()
}

/// Fixed texts before and after a part of `text` by which `between` finds it again, the shortest that work first.
pub(super) fn anchors(text: &str, span: (usize, usize), is_data: IsData<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let stays = |before: &str| data_before(text, span.0.saturating_sub(before.len()), span.0, is_data).is_none();
    for before in befores(text, span.0).into_iter().filter(|b| is_anchor(b) && stays(b)) {
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
        for after in afters(text, span.1).into_iter().filter(|a| is_anchor(a) && !data_after(text, span.1, span.1 + a.len(), is_data)) {
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

/// The most characters of a fixed text.
const LONGEST_ANCHOR: usize = 48;
/// So many bytes hold more characters than that.
const NEAR: usize = 4 * (LONGEST_ANCHOR + 1);

/// Whether a fixed text can be trusted to stand there again: short, and of signs that people write.
fn is_anchor(text: &str) -> bool {
    text.len() < NEAR && text.chars().count() <= LONGEST_ANCHOR && !text.contains(|c: char| c == '\\' || (c.is_control() && c != '\n'))
}

/// A fixed text before a part, with one value in it that the run was given, and the fixed text after the part.
pub(super) struct Around<'t> {
    /// What stands before the given value.
    pub start: &'t str,
    /// The value that was given.
    pub given: &'t str,
    /// What stands between it and the part.
    pub middle: &'t str,
    /// What stands after the part.
    pub after: &'t str,
}

/// The texts around a part of `text` by which it is found in the line of a value that the run was given.
pub(super) fn around_given<'t>(text: &'t str, span: (usize, usize), is_data: IsData<'_>, is_given: IsData<'_>) -> Option<Around<'t>> {
    let line = text.get(..span.0)?.rfind('\n').map_or(0, |at| at + 1);
    let words: Vec<_> = tokens_from(text, line).take_while(|t| t.end <= span.0).collect();
    let value = |first: usize| {
        let ends = words.iter().filter(move |t| t.start >= first).take(MOST_WORDS_OF_DATA).map(|t| t.end);
        ends.filter(|to| text.get(first..*to).is_some_and(is_given)).last().map(|to| (first, to))
    };
    let (from, to) = words.iter().rev().find_map(|first| value(first.start))?;
    let head = text.get(line..from)?;
    let start = head.get(
        head.rfind(char::is_alphanumeric).map_or(0, |at| at + head.get(at..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8))..,
    )?;
    let (given, middle) = (text.get(from..to)?, text.get(to..span.0)?);
    let before = text.get(from - start.len()..span.0)?;
    if middle.is_empty() || !is_anchor(before) || holds_volatile(middle) || data_after(text, to, span.0, is_data) {
        return None;
    }
    if text.find(before) != Some(from - start.len()) {
        return None;
    }
    let is_end = |after: &&str| {
        text.get(span.0..).and_then(|t| t.find(*after)) == Some(span.1 - span.0) || (after.is_empty() && span.1 == text.len())
    };
    let after =
        afters(text, span.1).into_iter().filter(|a| is_anchor(a) && !data_after(text, span.1, span.1 + a.len(), is_data)).find(is_end)?;
    Some(Around { start, given, middle, after })
}

/// The most words of a value of which an anchor may hold the end or the start.
const MOST_WORDS_OF_DATA: usize = 4;

/// The data that stands in the anchor before `end`, which starts at `start`, or ends in it: its first word may be the last of a value.
pub(super) fn data_before<'t>(text: &'t str, start: usize, end: usize, is_data: IsData<'t>) -> Option<(usize, usize)> {
    let near = (0..=start.saturating_sub(NEAR)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let words: Vec<_> = tokens_from(text, near).take_while(|t| t.end <= end).collect();
    let inside = words.iter().position(|t| t.end > start).unwrap_or(words.len());
    words.iter().skip(inside.saturating_sub(MOST_WORDS_OF_DATA - 1)).find_map(|first| {
        let values = words.iter().filter(|last| last.start >= first.start && last.end > start).take(MOST_WORDS_OF_DATA);
        let ends = values.map(|last| last.end).filter(|to| text.get(first.start..*to).is_some_and(is_data));
        ends.last().map(|to| (first.start, to))
    })
}

/// Whether data stands in the anchor after `start`, which ends at `end`, or starts in it.
fn data_after(text: &str, start: usize, end: usize, is_data: IsData<'_>) -> bool {
    let firsts = tokens_from(text, start).take_while(|t| t.start < end);
    firsts.into_iter().any(|first| {
        tokens_from(text, first.start).take(MOST_WORDS_OF_DATA).any(|last| text.get(first.start..last.end).is_some_and(is_data))
    })
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
    if start == 0 {
        return vec![""];
    }
    let head = text.get(..start).unwrap_or_default();
    let line = head.rfind('\n').map_or(0, |at| at + 1);
    // What starts further away is too long for an anchor: texts of many pages are not read for each part of them.
    let near = (0..=start.saturating_sub(NEAR)).rev().find(|at| head.is_char_boundary(*at)).unwrap_or(0);
    let last_words: Vec<usize> = tokens_from(head, near).map(|t| t.start).collect();
    let mut starts: Vec<usize> = last_words.into_iter().rev().take(8).collect();
    starts.push(line);
    if start == line && line > 0 {
        starts.push(line - 1);
    }
    starts.push(0);
    let mut found: Vec<&str> = starts.into_iter().filter_map(|at| head.get(at..)).collect();
    found.dedup();
    let stays = |t: &&str| !t.is_empty() && is_anchor(t) && !crosses_a_line(t) && !holds_volatile(t);
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
    let words: Vec<_> = tokens_from(tail, 0).take(4).collect();
    let first = tail.chars().next().map_or(0, char::len_utf8);
    let mut ends = vec![first, words.first().map_or(tail.len(), |t| t.start)];
    ends.extend(words.iter().take(3).map(|t| t.end));
    ends.into_iter().filter_map(|at| tail.get(..at)).filter(|t| !t.is_empty() && !holds_volatile(t)).collect()
}

/// Whether a text holds the end of another line, which says nothing about what comes: only a line that ends with a colon does.
fn crosses_a_line(before: &str) -> bool {
    let before = before.strip_prefix('\n').unwrap_or(before);
    before.rsplit_once('\n').is_some_and(|(lines, _)| !lines.trim_end().ends_with(':') && lines.contains(char::is_alphanumeric))
}

fn holds_volatile(text: &str) -> bool {
    tokens_from(text, 0).any(|t| is_volatile(text.get(t.start..t.end).unwrap_or_default()))
}

/// Whether a word of a text is likely to be another one next time.
fn is_volatile(word: &str) -> bool {
    is_opaque(word) || word.bytes().any(|b| b.is_ascii_digit()) || is_drawn(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "[package]\nname = \"ledger-core\"\nversion = \"1.4.2\"\n";

    fn span(text: &str, part: &str) -> (usize, usize) {
        let at = text.find(part).unwrap();
        (at, at + part.len())
    }

    fn befores_of(text: &str, part: &str, data: &[&str]) -> Vec<String> {
        anchors(text, span(text, part), &|word| data.contains(&word)).into_iter().map(|(before, _)| before).collect()
    }

    #[test]
    fn an_anchor_is_of_its_own_line() {
        assert_eq!(befores_of(FILE, "1.4.2", &[])[0], "version = \"");
        assert!(befores_of(FILE, "version = \"1.4.2", &[]).iter().all(|b| !b.contains("core")));
        assert!(befores_of("Ship to:\nAda Marsh\n", "Ada Marsh", &[]).contains(&"to:\n".to_owned()));
    }

    #[test]
    fn an_anchor_holds_no_data() {
        let text = "payments | pay-api-7 | eu\nsearch | find-api-2 | us\n";
        assert_eq!(befores_of(text, "find-api-2", &[])[0], "search | ");
        assert_eq!(befores_of(text, "find-api-2", &["search"]), Vec::<String>::new());
        let name = "Order of Ada Marsh: 4411\nOrder of Bo Lind: 7120\n";
        assert_eq!(befores_of(name, "7120", &["Bo Lind"]), Vec::<String>::new());
        assert!(befores_of("job xkqjvbzd: t-1\njob qwzzvkfj: t-2\n", "t-2", &[]).is_empty());
    }

    #[test]
    fn what_was_given_stands_around() {
        let text = "payments: owner u_1, gold\nsearch: owner u_2, gold\n";
        let given = |word: &str| word == "search";
        let around = around_given(text, span(text, "u_2"), &given, &given).unwrap();
        assert_eq!((around.start, around.given, around.middle, around.after), ("", "search", ": owner ", ","));
        assert!(around_given(text, span(text, "u_1"), &given, &given).is_none());
    }
}
