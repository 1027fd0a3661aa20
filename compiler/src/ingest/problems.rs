//! What the readers complain about: one constructor a message, and the list that keeps a hostile file from filling memory with complaints.

use crate::diagnostics::{Diagnostic, Severity};
use ltc_workflow::json::JsonError;
use ltc_workflow::nearest::did_you_mean;
use std::collections::BTreeMap;

/// So many complaints of one kind are kept; more are only counted.
const KEPT: usize = 20;

/// Complaints that stop nothing.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    list: Vec<Diagnostic>,
    counts: BTreeMap<&'static str, usize>,
}

impl Notes {
    /// Keeps `note`, or counts it where there are enough of its kind.
    pub fn push(&mut self, note: Diagnostic) {
        let count = self.counts.entry(note.code).or_default();
        *count += 1;
        if *count <= KEPT {
            self.list.push(note);
        }
    }

    /// All of them, with one more for each kind that had too many.
    pub fn into_list(mut self) -> Vec<Diagnostic> {
        for (code, count) in &self.counts {
            if *count > KEPT {
                let message = format!("{} more of the kind `{code}` are not shown", count - KEPT);
                self.list.push(Diagnostic::new(Severity::Note, "more-of-a-kind", "", message));
            }
        }
        self.list
    }
}

fn error(code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Severity::Error, code, place, message)
}

fn warning(code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Severity::Warning, code, place, message)
}

fn note(code: &'static str, place: impl Into<String>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Severity::Note, code, place, message)
}

pub(crate) fn not_utf8(offset: usize) -> Diagnostic {
    error("invalid-utf8", format!("byte {offset}"), "the file is no UTF-8 text from here on").help("convert it to UTF-8 first")
}

pub(crate) fn not_json(error_found: &JsonError) -> Diagnostic {
    let place = format!("line {} column {}", error_found.line, error_found.column);
    error("invalid-json", place, format!("this is no JSON: {}", error_found.message))
}

pub(crate) fn not_yaml(line: usize, column: usize, why: &str) -> Diagnostic {
    error("invalid-yaml", format!("line {line} column {column}"), format!("this is no YAML that can be read: {why}"))
}

pub(crate) fn cut_off_line(line: usize) -> Diagnostic {
    warning("cut-off-line", format!("line {line}"), "the last line is cut off; it is left out, and the lines before it are used")
}

pub(crate) fn empty_file() -> Diagnostic {
    error("empty-file", "", "the file is empty")
}

pub(crate) fn unknown_format(known: impl Iterator<Item = &'static str>) -> Diagnostic {
    error("unknown-format", "", "this is none of the known formats of recordings")
        .candidates(known.map(str::to_owned))
        .help("if it is one of them, name it with `--from`")
}

pub(crate) fn no_such_format(name: &str, known: &[&'static str]) -> Diagnostic {
    let found = error("no-such-format", "", format!("there is no format `{}`", name.escape_debug()));
    let found = found.candidates(known.iter().map(|k| (*k).to_owned()));
    Diagnostic { help: did_you_mean(name, known.iter().copied()), ..found }
}

pub(crate) fn no_calls(format: &str) -> Diagnostic {
    error("no-tool-calls", "", format!("this is a recording in the format `{format}`, but it has no tool calls"))
        .help("a workflow is made of tool calls: record a run that makes some")
}

pub(crate) fn run_without_calls(place: String) -> Diagnostic {
    note("run-without-calls", place, "this run has no tool calls; it is left out")
}

pub(crate) fn result_without_call(place: String, id: &str) -> Diagnostic {
    warning("result-without-call", place, format!("this result belongs to the call `{}`, which is not in the recording", id.escape_debug()))
}

pub(crate) fn second_result(place: String, id: &str) -> Diagnostic {
    warning("second-result", place, format!("the call `{}` has another result already; this one is left out", id.escape_debug()))
}

pub(crate) fn same_id(place: String, id: &str, now: &str) -> Diagnostic {
    let message = format!("two calls have the id `{}`; this one is called `{}` from here on", id.escape_debug(), now.escape_debug());
    warning("same-id", place, message)
}

pub(crate) fn bad_arguments(place: String, tool: &str, why: &str) -> Diagnostic {
    let message = format!("the arguments of this call of `{}` {why}; the call is left out", tool.escape_debug());
    Diagnostic::new(Severity::Question, "unreadable-arguments", place, message)
}

pub(crate) fn no_arguments(place: String, tool: &str) -> Diagnostic {
    let message = format!("the recording has no arguments for this call of `{}`; it is read as a call without any", tool.escape_debug());
    Diagnostic::new(Severity::Question, "arguments-not-recorded", place, message)
        .help("switch the capture of content on in the recorder, and record again")
}

pub(crate) fn no_result(place: String, tool: &str) -> Diagnostic {
    warning("result-not-recorded", place, format!("the recording does not say what this call of `{}` returned", tool.escape_debug()))
}

pub(crate) fn cut_result(place: String) -> Diagnostic {
    warning("result-cut-off", place, "the recorder cut this result off; values from the rest of it have no source")
}

pub(crate) fn unsure_name(name: &str, server: &str, tool: &str) -> Diagnostic {
    let (name, server, tool) = (name.escape_debug(), server.escape_debug(), tool.escape_debug());
    note("unsure-name", "", format!("`{name}` is read as the tool `{tool}` of the server `{server}`; the name can be split in other ways"))
        .help("give the servers with `--servers`")
}

pub(crate) fn left_out(place: String, what: &str) -> Diagnostic {
    note("left-out", place, format!("{what} is left out"))
}

pub(crate) fn unknown_field(place: String) -> Diagnostic {
    note("unknown-field", place, "this field means nothing here; it is ignored")
}

pub(crate) fn not_an_instant(place: String, text: &str) -> Diagnostic {
    error("wrong-type", place, format!("`{}` is no instant", text.escape_debug()))
        .help("instants are written as `2026-01-02T03:04:05.006Z`")
}

pub(crate) fn wrong_version(place: String, found: &str) -> Diagnostic {
    error("unknown-version", place, format!("`{}` is no version of the trace format that is known", found.escape_debug()))
        .help("the known one is `ltc.trace/1`")
}

pub(crate) fn plain_result(place: String) -> Diagnostic {
    note("plain-result", place, "this result has none of the fields of a tool result; it is read as the structured content of one")
}

pub(crate) fn too_deep(place: String) -> Diagnostic {
    error("too-deep", place, "this is nested deeper than values can be")
}

pub(crate) fn schema_left_out(place: String) -> Diagnostic {
    note("left-out", place, "this tool's schema is nested deeper than values can be; it is left out")
}

pub(crate) fn unknown_server<'k>(server: &str, known: impl Iterator<Item = &'k str>) -> Diagnostic {
    let found = warning("unknown-server", "", format!("no call of the recording is for the server `{}`", server.escape_debug()));
    Diagnostic { help: did_you_mean(server, known), ..found }
}

pub(crate) fn only_server(server: &str) -> Diagnostic {
    let message = format!("the recording names no servers; all of its calls are taken to be for `{}`", server.escape_debug());
    note("only-server", "", message)
}

pub(crate) fn split_by_servers(place: String, server: &str, tool: &str) -> Diagnostic {
    note("renamed-call", place, format!("this is the tool `{}` of the server `{}`", tool.escape_debug(), server.escape_debug()))
}
