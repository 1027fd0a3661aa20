//! Bytes → documents: one JSON value, a file of JSON lines, or a YAML cassette.

use super::http;
use super::node::Node;
use super::problems::{self, Notes};
use super::yaml;
use crate::diagnostics::Diagnostic;
use ltc_workflow::Value;
use ltc_workflow::json::{self, JsonError};

/// So many documents are looked at to find out what a file is.
const LOOKED_AT: usize = 64;

/// So many unreadable lines are named.
const NAMED: usize = 10;

/// A file that was read as far as every format is alike: its documents.
#[derive(Debug)]
pub struct Sample {
    documents: Vec<Document>,
    is_traffic: bool,
}

#[derive(Debug)]
struct Document {
    value: Value,
    line: Option<usize>,
    pointer: String,
}

impl Sample {
    /// Reads `bytes`. A last line that is cut off is left out, with a note.
    pub(crate) fn read(bytes: &[u8], notes: &mut Notes) -> Result<Sample, Vec<Diagnostic>> {
        let text = std::str::from_utf8(bytes).map_err(|e| vec![problems::not_utf8(e.valid_up_to())])?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let bytes = text.as_bytes();
        let start = text.trim_start();
        if start.is_empty() {
            return Err(vec![problems::empty_file()]);
        }
        if !start.starts_with(['{', '[']) && is_yaml(start) {
            let value = yaml::parse(text).map_err(|e| vec![problems::not_yaml(e.line, e.column, &e.message)])?;
            return Ok(Sample::of(value));
        }
        match json::parse(bytes) {
            Ok(value) => Ok(Sample::of(value)),
            Err(whole) => read_lines(text, &whole, notes),
        }
    }

    /// One document; recorded HTTP traffic is the documents that it carries.
    fn of(value: Value) -> Sample {
        match http::exchanges(&value) {
            Some(exchanges) => {
                let documents = exchanges.into_iter().map(|(pointer, value)| Document { value, line: None, pointer });
                Sample { documents: documents.collect(), is_traffic: true }
            }
            None => Sample { documents: vec![Document { value, line: None, pointer: String::new() }], is_traffic: false },
        }
    }

    /// Whether this is recorded HTTP traffic: its documents are exchanges.
    pub(crate) fn is_traffic(&self) -> bool {
        self.is_traffic
    }

    /// All documents, each with the line where it begins if there are several.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Node<'_>> {
        self.documents.iter().map(|d| Node::within(&d.value, d.line, &d.pointer))
    }

    /// The only document, where there is one.
    pub(crate) fn single(&self) -> Option<Node<'_>> {
        match self.documents.as_slice() {
            [only] if !self.is_traffic => Some(Node::within(&only.value, only.line, &only.pointer)),
            _ => None,
        }
    }

    /// The records at the beginning: the first documents, or the first items of the only document where that is a list.
    pub(crate) fn head(&self) -> Vec<&Value> {
        match self.documents.as_slice() {
            [Document { value: Value::Array(items), .. }] => items.iter().take(LOOKED_AT).collect(),
            documents => documents.iter().map(|d| &d.value).take(LOOKED_AT).collect(),
        }
    }

    /// Every record: the documents, or the items of the only document where that is a list.
    pub(crate) fn records(&self) -> Vec<Node<'_>> {
        match self.single() {
            Some(node) if node.value.as_array().is_some() => node.items().collect(),
            _ => self.documents().collect(),
        }
    }
}

/// YAML is only guessed where the first line is `---`, an item of a list, or a key of one word: prose is none.
fn is_yaml(start: &str) -> bool {
    let first = start.lines().find(|l| !l.trim().is_empty() && !l.starts_with(['#', '%'])).unwrap_or_default();
    let key = first.strip_prefix("- ").unwrap_or(first).split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    first.trim_end() == "---" || key.is_some_and(|(key, _)| is_word(key))
}

/// A file of JSON lines, if the first line is a value of its own; else `whole` says what is wrong with the file.
fn read_lines(text: &str, whole: &JsonError, notes: &mut Notes) -> Result<Sample, Vec<Diagnostic>> {
    let lines: Vec<(usize, &str)> = text.lines().enumerate().map(|(i, l)| (i + 1, l.trim())).filter(|(_, l)| !l.is_empty()).collect();
    let last = lines.len().saturating_sub(1);
    let (mut documents, mut errors) = (Vec::new(), Vec::new());
    for (i, (number, line)) in lines.iter().enumerate() {
        match json::parse(line.as_bytes()) {
            Ok(value) => documents.push(Document { value, line: Some(*number), pointer: String::new() }),
            Err(_) if documents.is_empty() => return Err(vec![problems::not_json(whole)]),
            Err(error) if i == last && error.message.starts_with("EOF") => notes.push(problems::cut_off_line(*number)),
            Err(error) => errors.push(problems::not_json(&JsonError { line: *number, ..error })),
        }
        if errors.len() == NAMED {
            break;
        }
    }
    if errors.is_empty() { Ok(Sample { documents, is_traffic: false }) } else { Err(errors) }
}
