//! Formatting a file without losing its comments.
//!
//! A comment on lines of its own stays above what it is above of: a top-level key, an input, a server, a step, or a key of a step. A comment behind
//! one of those moves above it. Any other comment would be lost, and is named.

use super::tree::{self, Content, Node, Place, Tree};
use super::{Problem, layout, read, write};
use std::collections::BTreeMap;

/// Where lines are found again: the beginnings of their names.
pub(super) const TOP: &str = "top/";
pub(super) const INPUT: &str = "input/";
pub(super) const SERVER: &str = "server/";
pub(super) const STEP: &str = "step/";
/// The end of the file.
pub(super) const END: &str = "end";

/// Comment lines by the name of the line that they are above of.
#[derive(Default)]
pub(super) struct Comments(BTreeMap<String, Vec<String>>);

impl Comments {
    pub(super) fn above(&self, anchor: &str) -> &[String] {
        self.0.get(anchor).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A document in its canonical layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formatted {
    /// The whole text.
    pub text: String,
    /// Comments that have no place in it. A file must not be overwritten silently where there are any.
    pub lost: Vec<LostComment>,
}

/// A comment that the canonical layout has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostComment {
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The text behind `#`.
    pub text: String,
}

/// The document of `text` in its canonical layout, with its comments.
///
/// # Errors
/// Every mistake, as [`super::read`].
pub fn format(text: &str) -> Result<Formatted, Vec<Problem>> {
    let tree = tree::parse(text)?;
    let workflow = read::read_tree(text, &tree)?;
    let (comments, lost) = attach(text, &tree, workflow.header.len());
    let text = write::write(&workflow.header, &layout::workflow(&workflow), &comments);
    Ok(Formatted { text, lost })
}

/// Gives each comment behind the header to the line that it is above of or behind.
fn attach(text: &str, tree: &Tree, header: usize) -> (Comments, Vec<LostComment>) {
    let mut anchors = BTreeMap::new();
    top_anchors(&tree.root, &mut anchors);
    let lines: Vec<&str> = text.lines().collect();
    let line = |number: usize| number.checked_sub(1).and_then(|at| lines.get(at)).map(|l| l.trim_start()).unwrap_or_default();
    // For each line, the next one that holds something else than a comment.
    let mut next_content = vec![None; lines.len() + 2];
    for number in (1..=lines.len()).rev() {
        let later = next_content.get(number + 1).copied().flatten();
        let own = line(number);
        let here = if own.is_empty() || own.starts_with('#') { later } else { Some(number) };
        if let Some(cell) = next_content.get_mut(number) {
            *cell = here;
        }
    }
    let (mut comments, mut lost) = (Comments::default(), Vec::new());
    for comment in tree.comments.iter().filter(|c| c.place.line > header) {
        let Place { line: number, column } = comment.place;
        let target = match next_content.get(number).copied().flatten() {
            Some(content) => anchors.get(&content).cloned(),
            None => Some(END.to_string()),
        };
        match target {
            Some(anchor) => comments.0.entry(anchor).or_default().push(comment.text.clone()),
            None => lost.push(LostComment { line: number, column, text: comment.text.clone() }),
        }
    }
    (comments, lost)
}

type Anchors = BTreeMap<usize, String>;

fn entries<'n>(node: &'n Node, found: &mut dyn FnMut(&'n tree::Entry)) {
    if let Content::Map(entries) = &node.content {
        entries.iter().for_each(found);
    }
}

fn top_anchors(root: &Node, anchors: &mut Anchors) {
    entries(root, &mut |entry| {
        anchors.entry(entry.place.line).or_insert_with(|| format!("{TOP}{}", entry.key));
        match entry.key.as_str() {
            "inputs" => entries(&entry.value, &mut |e| put(anchors, e.place, format!("{INPUT}{}", e.key))),
            "servers" => entries(&entry.value, &mut |e| put(anchors, e.place, format!("{SERVER}{}", e.key))),
            "steps" => step_anchors(&entry.value, anchors),
            _ => {}
        }
    });
}

/// The first name of a line counts.
fn put(anchors: &mut Anchors, place: Place, name: String) {
    anchors.entry(place.line).or_insert(name);
}

fn step_anchors(steps: &Node, anchors: &mut Anchors) {
    let Content::List(steps) = &steps.content else { return };
    for step in steps {
        let Content::Map(fields) = &step.content else { continue };
        let Some(Content::Scalar(id)) = fields.iter().find(|e| e.key == "id").map(|e| &e.value.content) else { continue };
        put(anchors, step.place, format!("{STEP}{}/", id.text));
        for entry in fields {
            let name = if entry.key == "id" { format!("{STEP}{}/", id.text) } else { format!("{STEP}{}/{}", id.text, entry.key) };
            put(anchors, entry.place, name);
            match (entry.key.as_str(), &entry.value.content) {
                ("steps", _) => step_anchors(&entry.value, anchors),
                ("switch" | "parallel", Content::List(branches)) => branches.iter().for_each(|b| inner_anchors(b, anchors)),
                ("catch", _) => inner_anchors(&entry.value, anchors),
                _ => {}
            }
        }
    }
}

fn inner_anchors(branch: &Node, anchors: &mut Anchors) {
    entries(branch, &mut |entry| {
        if entry.key == "steps" {
            step_anchors(&entry.value, anchors);
        }
    });
}
