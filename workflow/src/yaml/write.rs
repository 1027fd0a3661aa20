//! The tree of a document → text. Everything about lines, indentation and width is here.

use super::comments::Comments;
use super::scalar::{block_indicator, quote, spell};
use crate::hidden::revealed_but;
use smol_str::SmolStr;

/// The last column that `{…}` and `[…]` may reach.
const WIDTH: usize = 100;
/// The longest key that stands before its `:`; readers look no further than 1024 characters for that.
const LONGEST_KEY: usize = 500;

/// What is written.
pub(super) enum Out {
    /// A text.
    Text(SmolStr),
    /// A number, `true`, `false` or `null`, as it is spelled.
    Bare(SmolStr),
    List(Layout, Vec<Item>),
    Map(Layout, Vec<Field>),
}

/// How a list or a map is laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// One line for each part.
    Block,
    /// On one line, if it fits.
    Fit,
}

pub(super) struct Item {
    pub value: Out,
    /// The name by which comments find the line.
    pub anchor: Option<String>,
}

pub(super) struct Field {
    pub key: SmolStr,
    pub value: Out,
    pub anchor: Option<String>,
}

/// Writes a document.
pub(super) fn write(header: &[String], root: &Out, comments: &Comments) -> String {
    let mut writer = Writer { out: String::new(), comments };
    for line in header.iter().flat_map(|line| line.split(['\n', '\r'])) {
        writer.comment_line(line);
    }
    match root {
        Out::Map(_, fields) if !fields.is_empty() => writer.map(fields, 0, false),
        Out::List(_, items) if !items.is_empty() => writer.list(items, 0),
        scalar => writer.value(scalar, 0, 0),
    }
    writer.comment(Some(super::comments::END), 0);
    writer.out
}

struct Writer<'c> {
    out: String,
    comments: &'c Comments,
}

impl Writer<'_> {
    fn indent(&mut self, width: usize) {
        self.out.extend(std::iter::repeat_n(' ', width));
    }

    fn comment(&mut self, anchor: Option<&str>, indent: usize) {
        for line in anchor.map(|a| self.comments.above(a)).unwrap_or_default() {
            let shown = line.strip_prefix(' ').unwrap_or(line).trim_end();
            self.indent(indent);
            self.comment_line(shown);
        }
    }

    /// A comment has no escapes: what is hidden is told in it. A tab is seen well enough there.
    fn comment_line(&mut self, text: &str) {
        self.out.push_str(if text.is_empty() { "#" } else { "# " });
        self.out.push_str(&revealed_but(text, |c| c == '\t'));
        self.out.push('\n');
    }

    fn map(&mut self, fields: &[Field], indent: usize, first_is_inline: bool) {
        for (at, field) in fields.iter().enumerate() {
            if at > 0 || !first_is_inline {
                self.comment(field.anchor.as_deref(), indent);
                self.indent(indent);
            }
            let key = spell(&field.key, false);
            let length = key.chars().count();
            if length > LONGEST_KEY {
                self.out.push_str("? ");
                self.out.push_str(&key);
                self.out.push('\n');
                self.indent(indent);
                self.out.push(':');
                self.value(&field.value, indent, indent + 1);
            } else {
                self.out.push_str(&key);
                self.out.push(':');
                self.value(&field.value, indent, indent + length + 1);
            }
        }
    }

    fn list(&mut self, items: &[Item], indent: usize) {
        for item in items {
            self.comment(item.anchor.as_deref(), indent);
            self.indent(indent);
            self.out.push('-');
            match &item.value {
                Out::Map(layout, fields) if !fields.is_empty() && one_line(&item.value, *layout, indent + 1).is_none() => {
                    self.out.push(' ');
                    self.map(fields, indent + 2, true);
                }
                value => self.value(value, indent, indent + 1),
            }
        }
    }

    /// What stands behind a `key:` or a `-`, which ends at `column`.
    fn value(&mut self, value: &Out, indent: usize, column: usize) {
        match value {
            Out::Text(text) => match block_indicator(text) {
                Some(indicator) => self.block(text, indicator, indent + 2),
                None => self.line(&spell(text, false)),
            },
            Out::Bare(text) => self.line(text),
            Out::List(layout, items) => match one_line(value, *layout, column) {
                Some(text) => self.line(&text),
                None => {
                    self.out.push('\n');
                    self.list(items, indent + 2);
                }
            },
            Out::Map(layout, fields) => match one_line(value, *layout, column) {
                Some(text) => self.line(&text),
                None => {
                    self.out.push('\n');
                    self.map(fields, indent + 2, false);
                }
            },
        }
    }

    fn line(&mut self, text: &str) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn block(&mut self, text: &str, indicator: &str, indent: usize) {
        self.line(indicator);
        let lines = text.strip_suffix('\n').unwrap_or(text);
        for line in lines.split('\n') {
            if !line.is_empty() {
                self.indent(indent);
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
    }
}

/// A list or a map on one line, if it may be and fits behind `column`.
fn one_line(value: &Out, layout: Layout, column: usize) -> Option<String> {
    let empty = match value {
        Out::List(_, items) => items.is_empty(),
        Out::Map(_, fields) => fields.is_empty(),
        Out::Text(_) | Out::Bare(_) => false,
    };
    if layout == Layout::Block && !empty {
        return None;
    }
    let mut line = Line { out: String::new(), left: WIDTH.saturating_sub(column + 1).max(2) };
    line.flow(value)?;
    Some(line.out)
}

/// A line that gives up where it is full.
struct Line {
    out: String,
    left: usize,
}

impl Line {
    fn push(&mut self, text: &str) -> Option<()> {
        self.left = self.left.checked_sub(text.chars().take(self.left + 1).count())?;
        self.out.push_str(text);
        Some(())
    }

    fn flow(&mut self, value: &Out) -> Option<()> {
        match value {
            Out::Text(text) if text.len() > 4 * WIDTH || block_indicator(text).is_some() => None,
            Out::Text(text) => self.push(&spell(text, true)),
            Out::Bare(text) => self.push(text),
            Out::List(_, items) => {
                self.push("[")?;
                for (at, item) in items.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" })?;
                    self.flow(&item.value)?;
                }
                self.push("]")
            }
            Out::Map(_, fields) if fields.is_empty() => self.push("{}"),
            Out::Map(_, fields) => {
                self.push("{ ")?;
                for (at, field) in fields.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" })?;
                    let key = if field.key.len() > 4 * WIDTH { quote(&field.key) } else { spell(&field.key, true) };
                    self.push(&key)?;
                    self.push(": ")?;
                    self.flow(&field.value)?;
                }
                self.push(" }")
            }
        }
    }
}
