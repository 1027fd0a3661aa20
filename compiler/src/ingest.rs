//! Bytes of a recording in any known format → traces.
//!
//! A format is a file in `ingest/` and a line in [`FORMATS`]. What the same call looks like in each comes out the same; what a format cannot
//! say is left out. Results are what the live server returned: wrappers that only a harness adds are taken off, JSON that the server put in
//! a text stays in the text. Whether a call failed is what the format's own marks say, never what its words sound like.
//!
//! Tools that belong to no server (what an agent has built in, functions of a harness) are tools of the server
//! [`DEFAULT_SERVER`](crate::trace::DEFAULT_SERVER), so that every call has one and `--servers` can tell them apart.

mod anthropic_messages;
mod arguments;
mod atif;
mod claude_code;
mod codex;
mod depth;
mod gemini_cli;
mod http;
mod jaeger;
mod langfuse;
mod langsmith;
mod longtail;
mod ltc_trace;
mod mcp_jsonrpc;
mod moments;
mod mutations;
mod names;
mod openai_chat;
mod openai_responses;
mod otlp;
mod problems;
mod python;
mod recorder;
mod results;
mod runs;
mod sample;
mod server;
mod servers;
mod spans;
mod tools;
mod turns;
mod vscode_chat;
mod wire;
mod words;
mod yaml;

use crate::diagnostics::{Diagnostic, Severity};
use crate::node;
use crate::trace::Trace;
use problems::Notes;

pub use sample::Sample;
pub use servers::{apply_hints, apply_servers};

/// What a reader of a format makes of a file.
type Read = fn(&Sample, &mut Notes) -> Result<Vec<Trace>, Vec<Diagnostic>>;

/// A format of recordings.
pub struct Format {
    /// Its name, in kebab-case: what `--from` takes.
    pub name: &'static str,
    /// Who writes it, and in which variants.
    pub summary: &'static str,
    /// Whether a file is in this format. The first format of the list that says yes reads the file.
    pub detect: fn(&Sample) -> bool,
    pub(crate) read: Read,
}

/// The known formats, the most peculiar first: a file is read by the first one that recognizes it.
pub const FORMATS: &[Format] = &[
    ltc_trace::LTC_TRACE,
    longtail::LONGTAIL,
    atif::ATIF,
    langfuse::LANGFUSE,
    langsmith::LANGSMITH,
    jaeger::JAEGER,
    otlp::OPENINFERENCE,
    otlp::OTLP,
    mcp_jsonrpc::MCP_JSONRPC,
    vscode_chat::VSCODE_CHAT,
    gemini_cli::GEMINI_CLI,
    codex::CODEX,
    claude_code::CLAUDE_CODE,
    anthropic_messages::ANTHROPIC_MESSAGES,
    openai_responses::OPENAI_RESPONSES,
    openai_chat::OPENAI_CHAT,
];

/// What came out of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Ingested {
    /// The format that it was in.
    pub format: &'static str,
    /// Its runs: one or more, each with at least one call.
    pub traces: Vec<Trace>,
    /// What a person should know about them.
    pub notes: Vec<Diagnostic>,
}

/// Reads a recording. `name` is what messages call the file, and nothing else; `from` names the format, where it is known.
///
/// # Errors
/// Everything that keeps the file from being read: it is no text, no JSON, in no known format, has a field of a wrong type, or no tool calls.
pub fn read(name: &str, bytes: &[u8], from: Option<&str>) -> Result<Ingested, Vec<Diagnostic>> {
    let mut notes = Notes::default();
    let read = read_bytes(bytes, from, &mut notes);
    let named = |list: Vec<Diagnostic>| list.into_iter().map(|d| with_name(d, name)).collect();
    match read {
        Ok((format, traces)) => Ok(Ingested { format, traces, notes: named(notes.into_list()) }),
        Err(mut errors) => {
            errors.extend(notes.into_list().into_iter().filter(|n| n.severity <= Severity::Warning));
            Err(named(errors))
        }
    }
}

fn read_bytes(bytes: &[u8], from: Option<&str>, notes: &mut Notes) -> Result<(&'static str, Vec<Trace>), Vec<Diagnostic>> {
    let names = || FORMATS.iter().map(|f| f.name);
    let given = match from {
        None => None,
        Some(from) => match FORMATS.iter().find(|f| f.name == from) {
            Some(format) => Some(format),
            None => return Err(vec![problems::no_such_format(from, &names().collect::<Vec<_>>())]),
        },
    };
    let sample = Sample::read(bytes, notes)?;
    let found = given.or_else(|| FORMATS.iter().find(|f| (f.detect)(&sample)));
    let format = found.ok_or_else(|| vec![problems::unknown_format(names())])?;
    let mut traces = (format.read)(&sample, notes)?;
    let runs = traces.len();
    for trace in traces.iter().filter(|t| runs > 1 && t.calls.is_empty()) {
        notes.push(problems::run_without_calls(trace.id.clone().unwrap_or_default().to_string()));
    }
    traces.retain(|t| !t.calls.is_empty());
    if traces.is_empty() {
        return Err(vec![problems::no_calls(format.name)]);
    }
    depth::check(&mut traces, notes)?;
    Ok((format.name, traces))
}

fn with_name(diagnostic: Diagnostic, name: &str) -> Diagnostic {
    let diagnostic = diagnostic.visible();
    let place = match (name, diagnostic.place.as_str()) {
        ("", _) => return diagnostic,
        (_, "") => name.to_owned(),
        (_, place) => format!("{name}: {place}"),
    };
    Diagnostic { place, ..diagnostic }
}
