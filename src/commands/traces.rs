//! `ltc traces`: the recordings in the store, and the drafts that are compiled of them.

use super::{print_list, print_value, printed, text_in};
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use crate::traces::said;
use crate::{documents, files};
use clap::{Args, Subcommand};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_workflow::{Object, Value, json};
use std::path::{Path, PathBuf};

/// List recordings that are kept; show, add, compile or delete one
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Only recordings of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only recordings that answer this question
    #[arg(long, value_name = "QUESTION")]
    escalation: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on behind the page before: its `next`
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Print a recording as ltc.trace/1, which `ltc compile` reads
    Show {
        /// The id of the recording
        #[arg(value_name = "TRACE")]
        trace: String,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Keep a recording that was made elsewhere
    Add {
        /// The recording; - is stdin
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Its format, one of those in `ltc convert --help`; it is found by looking at it where this is not given
        #[arg(long, value_name = "FORMAT")]
        from: Option<String>,
        /// An id for it
        #[arg(long, value_name = "TRACE")]
        id: Option<String>,
        /// The question that it answers
        #[arg(long, value_name = "QUESTION")]
        escalation: Option<String>,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Compile recordings of one task into a workflow, and keep it as a draft
    Compile {
        /// The ids of the recordings
        #[arg(value_name = "TRACE", required = true)]
        traces: Vec<String>,
        /// The name of the workflow; it follows from the task where this is not given
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Hints in YAML or JSON: a map from servers to hints
        #[arg(long, value_name = "FILE")]
        hints: Option<PathBuf>,
        /// Compile a run that ended in the middle
        #[arg(long)]
        partial: bool,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Show where every argument comes from, what was dropped and why, and what is open
    Explain {
        /// The ids of the recordings
        #[arg(value_name = "TRACE", required = true)]
        traces: Vec<String>,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Take out a recording
    Delete {
        /// The id of the recording
        #[arg(value_name = "TRACE")]
        trace: String,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Take out recordings in which nothing has happened for long
    Prune {
        /// Recordings in which nothing has happened for longer than this go
        #[arg(long, value_name = "TIME", value_parser = opened::duration)]
        older_than: std::time::Duration,
        #[command(flatten)]
        store: StoreArguments,
    },
}

/// Lists, shows, adds, compiles, explains or deletes.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let one = |trace: &str| entries([("trace_id", Some(trace.into()))]);
    let texts = |texts: &[String]| texts.iter().map(|text| Value::from(text.as_str())).collect::<Value>();
    let done = match &arguments.action {
        None => list(arguments, report),
        Some(Action::Show { trace, store }) => opened::operate(store, "get_trace", one(trace), report)
            .map(|trace| print_value(&trace.get("document").cloned().unwrap_or_default(), report)),
        Some(Action::Add { file, from, id, escalation, store }) => {
            let given = |text: &Option<String>| text.as_deref().map(Value::from);
            let input = |text: String| {
                entries([
                    ("recording", Some(Value::from(text.as_str()))),
                    ("format", given(from)),
                    ("trace_id", given(id)),
                    ("escalation_id", given(escalation)),
                ])
            };
            text_of(file, report)
                .and_then(|text| opened::operate(store, "add_trace", input(text), report))
                .map(|added| print_value(&added, report))
        }
        Some(Action::Compile { traces, name, hints, partial, store }) => {
            let input = entries([
                ("trace_ids", Some(texts(traces))),
                ("workflow_name", name.as_deref().map(Value::from)),
                ("partial", partial.then(|| true.into())),
            ]);
            compiled("compile_traces", input, hints.as_deref(), store, report)
        }
        Some(Action::Explain { traces, store }) => explain(entries([("trace_ids", Some(texts(traces)))]), store, report),
        Some(Action::Delete { trace, store }) => {
            opened::operate(store, "delete_trace", one(trace), report).map(|deleted| print_value(&deleted, report))
        }
        Some(Action::Prune { older_than, store }) => {
            let seconds = i64::try_from(older_than.as_secs()).unwrap_or(i64::MAX);
            let input = entries([("older_than_seconds", Some(seconds.into()))]);
            opened::operate(store, "prune_traces", input, report).map(|pruned| print_value(&pruned, report))
        }
    };
    done.unwrap_or_else(|exit| exit)
}

fn text_of(file: &Path, report: &Report) -> Result<String, Exit> {
    let bytes = files::read(file).map_err(|problem| said(&[problem], Exit::Usage, report))?;
    String::from_utf8(bytes).map_err(|_| {
        let problem = Diagnostic::new(Severity::Error, "bad-utf8", files::name(file), "the recording is no text");
        said(&[problem], Exit::Invalid, report)
    })
}

/// Compiles with the hints of a file, and shows what came of it.
pub(super) fn compiled(
    operation: &str,
    mut input: Object,
    hints: Option<&Path>,
    store: &StoreArguments,
    report: &Report,
) -> Result<Exit, Exit> {
    if let Some(path) = hints {
        input.insert("hints", documents::read_value(path, report)?);
    }
    opened::operate(store, operation, input, report).map(|compiled| print_value(&compiled, report))
}

fn explain(input: Object, store: &StoreArguments, report: &Report) -> Result<Exit, Exit> {
    let explained = opened::operate(store, "explain_traces", input, report)?;
    if report.json {
        return Ok(print_value(&explained, report));
    }
    Ok(printed(explained.get("text").and_then(Value::as_str).unwrap_or_default(), Exit::Done, report))
}

fn list(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let given = |text: &Option<String>| text.as_deref().map(Value::from);
    let input = entries([
        ("workflow_name", given(&arguments.workflow)),
        ("escalation_id", given(&arguments.escalation)),
        ("limit", arguments.limit.map(|limit| i64::from(limit).into())),
        ("after", given(&arguments.after)),
    ]);
    let list = opened::operate(&arguments.store, "list_traces", input, report)?;
    let line = |trace: &Value| {
        let text = |field: &str| text_in(trace, field);
        let calls = trace.get("calls").map(json::to_string).unwrap_or_default();
        format!("{}  {}  {calls} calls  {}", text("started_at"), text("trace_id"), text("task"))
    };
    Ok(print_list(&list, "traces", ("next", "--after"), line, report))
}
