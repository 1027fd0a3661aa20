//! Markdown, cut into sections by its headings and into passages: as much of it as our own documents need.

use std::collections::BTreeMap;
use std::ops::Range;

/// What stands under a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it is called in links: the heading in lower case, with `-` for spaces.
    pub name: String,
    /// The heading.
    pub heading: String,
    /// The headings above it, from the top.
    pub above: Vec<String>,
    /// How many `#` its heading has.
    pub level: usize,
    /// Where it begins and ends in the document, with the sections below it.
    whole: Range<usize>,
    /// Where its own text begins and ends.
    own: Range<usize>,
}

impl Section {
    /// It and the sections below it, in the text of its document.
    pub fn whole<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.whole.clone()).unwrap_or_default()
    }

    /// Its own text, without its heading and the sections below it.
    pub fn own<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.own.clone()).unwrap_or_default()
    }
}

/// A paragraph, an entry of a list, a row of a table, or a block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// Its text; what was one sentence over several lines is one line.
    pub(super) text: String,
}

/// The fence that a line opens or closes: its marks.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marks = line.len() - line.trim_start_matches('`').len();
    (marks >= 3).then(|| &line[..marks])
}

/// The lines of a text with where they begin, and whether each is code.
fn lines(text: &str) -> Vec<(usize, &str, bool)> {
    let (mut at, mut open): (usize, Option<&str>) = (0, None);
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let is_code = open.is_some() || fence(line).is_some();
        match (open, fence(line)) {
            (None, Some(marks)) => open = Some(marks),
            (Some(opened), Some(marks)) if marks.len() >= opened.len() && line.trim() == marks => open = None,
            (_, _) => {}
        }
        lines.push((at, line, is_code));
        at += line.len();
    }
    lines
}

/// The sections of a document, in order.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (at, line, is_code) in lines(text) {
        let level = line.len() - line.trim_start_matches('#').len();
        if is_code || level == 0 || level > 6 || !line[level..].starts_with(' ') {
            continue;
        }
        let heading = line[level..].trim().to_owned();
        for open in &mut sections {
            open.own.end = open.own.end.min(at);
            if open.level >= level {
                open.whole.end = open.whole.end.min(at);
            }
        }
        let above: Vec<&Section> = sections.iter().filter(|open| open.whole.end == text.len()).collect();
        let above = above.into_iter().map(|open| open.heading.clone()).collect();
        let linked = linked(&heading);
        let times = names.entry(linked.clone()).or_default();
        let name = if *times == 0 { linked } else { format!("{linked}-{times}") };
        *times += 1;
        sections.push(Section { name, heading, above, level, whole: at..text.len(), own: at + line.len()..text.len() });
    }
    sections
}

/// What a heading is called in links.
fn linked(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// The passages of a text without headings.
pub(super) fn passages(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    // Whether the last passage goes on with the next line, and whether it is code.
    let (mut is_open, mut was_code) = (false, false);
    for (_, line, is_code) in lines(text) {
        let trimmed = line.trim();
        if is_code {
            if fence(line).is_some() {
                is_open = false;
            } else if is_open && was_code {
                if let Some(last) = passages.last_mut() {
                    last.text.push_str(line);
                }
            } else {
                passages.push(Passage { text: line.to_owned() });
                is_open = true;
            }
            was_code = true;
            continue;
        }
        is_open &= !was_code;
        was_code = false;
        let is_row = trimmed.starts_with('|');
        let is_entry = ["- ", "* "].iter().any(|mark| trimmed.starts_with(mark)) || is_numbered(trimmed);
        if trimmed.is_empty() || trimmed.bytes().all(|byte| b"|-: ".contains(&byte)) {
            is_open = false;
        } else if is_open && !is_row && !is_entry {
            if let Some(last) = passages.last_mut() {
                last.text.push(' ');
                last.text.push_str(trimmed);
            }
        } else {
            passages.push(Passage { text: trimmed.to_owned() });
            is_open = !is_row;
        }
    }
    passages.iter_mut().for_each(|passage| passage.text.truncate(passage.text.trim_end().len()));
    passages.retain(|passage| !passage.text.is_empty());
    passages
}

fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Before.\n# One\nA\n## Two, *odd*\nB\n````sh\n# no heading\n```\n````\n### Three\nC\n## Two odd\nD\n# Last\n";

    #[test]
    fn sections_are_cut_at_headings_and_not_in_code() {
        let sections = sections(TEXT);
        let seen: Vec<_> = sections.iter().map(|section| (section.name.as_str(), section.above.join("/"), section.level)).collect();
        let expected = [("one", "", 1), ("two-odd", "One", 2), ("three", "One/Two, *odd*", 3), ("two-odd-1", "One", 2), ("last", "", 1)];
        assert_eq!(seen, expected.map(|(name, above, level)| (name, above.to_owned(), level)));
        assert_eq!(sections[0].own(TEXT), "A\n");
        assert!(sections[0].whole(TEXT).ends_with("## Two odd\nD\n"));
        assert_eq!(sections[1].own(TEXT), "B\n````sh\n# no heading\n```\n````\n");
        assert_eq!(sections[2].whole(TEXT), "### Three\nC\n");
        assert_eq!(sections[4].own(TEXT), "");
    }

    #[test]
    fn passages_are_paragraphs_entries_rows_and_code() {
        let text = "One\nparagraph.\n\n- an entry\n  over two lines\n- another\n1. numbered\n\n| a | b |\n|---|--:|\n| 1 | 2 |\nBehind.\n```rust\nfn a() {\n\n}\n```\nAfter.\n";
        let seen: Vec<String> = passages(text).into_iter().map(|passage| passage.text).collect();
        assert_eq!(
            seen,
            [
                "One paragraph.",
                "- an entry over two lines",
                "- another",
                "1. numbered",
                "| a | b |",
                "| 1 | 2 |",
                "Behind.",
                "fn a() {\n\n}",
                "After."
            ]
        );
    }
}
