//! From a character of a scalar's text to its place in the file.

use super::tree::{Content, Node, Place, Scalar};
use granit_parser::ScalarStyle;

/// The place of the character `offset` (from 0) of the scalar `node`; its start where that cannot be told (folded lines).
pub(super) fn locate(source: &str, node: &Node, offset: usize) -> Place {
    let Content::Scalar(scalar) = &node.content else { return node.place };
    let raw = source.get(scalar.bytes.clone()).unwrap_or_default();
    let distance = match scalar.style {
        ScalarStyle::Plain => same_line(raw, scalar, offset),
        ScalarStyle::SingleQuoted => quoted(raw, offset, |rest| if rest.starts_with("''") { 2 } else { 1 }),
        ScalarStyle::DoubleQuoted => quoted(raw, offset, escaped_length),
        ScalarStyle::Literal => return in_block(source, node.place, scalar, offset),
        ScalarStyle::Folded => None,
    };
    match distance {
        Some(distance) => Place { column: node.place.column + distance, ..node.place },
        None => node.place,
    }
}

fn same_line(raw: &str, scalar: &Scalar, offset: usize) -> Option<usize> {
    (raw == scalar.text.as_str()).then_some(offset)
}

/// How many characters of source stand before the character `offset`, the opening quote included.
fn quoted(raw: &str, offset: usize, length: fn(&str) -> usize) -> Option<usize> {
    if raw.contains('\n') {
        return None;
    }
    let mut rest = raw.get(1..)?;
    let mut distance = 1;
    for _ in 0..offset {
        let step = length(rest);
        let bytes: usize = rest.chars().take(step).map(char::len_utf8).sum();
        rest = rest.get(bytes..)?;
        distance += step;
    }
    Some(distance)
}

/// How many characters of source make the next character of a double-quoted text.
fn escaped_length(rest: &str) -> usize {
    let mut chars = rest.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), Some('x')) => 4,
        (Some('\\'), Some('u')) if is_high_surrogate(rest) => 12,
        (Some('\\'), Some('u')) => 6,
        (Some('\\'), Some('U')) => 10,
        (Some('\\'), _) => 2,
        (_, _) => 1,
    }
}

fn is_high_surrogate(rest: &str) -> bool {
    let unit = rest.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    matches!(unit, Some(0xD800..=0xDBFF))
}

fn in_block(source: &str, start: Place, scalar: &Scalar, offset: usize) -> Place {
    let before: String = scalar.text.chars().take(offset).collect();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    // The block's span starts behind the indentation of its first line that is not empty.
    let empty = scalar.text.chars().take_while(|c| *c == '\n').count();
    let line = (start.line + before.matches('\n').count()).saturating_sub(empty);
    let line_start = source.get(..scalar.bytes.start).and_then(|s| s.rfind('\n')).map_or(0, |at| at + 1);
    let indentation = source.get(line_start..scalar.bytes.start).unwrap_or_default().chars().count();
    Place { line, column: indentation + column + 1 }
}
