//! `ltc traces`: recordings in the store, listed, written out for `ltc compile`, taken out.

use super::{print_value, printed};
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use clap::{Args, Subcommand};
use ltc_runtime::text;
use ltc_workflow::{Value, json};
use std::fmt::Write as _;

/// List recordings that are kept, show one, or take old ones out
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Args, Debug)]
struct List {
    /// Only recordings that work on this question
    #[arg(long, value_name = "ID")]
    escalation: Option<String>,
    /// Only recordings of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only recordings that go on
    #[arg(long)]
    open: bool,
    /// How many at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on behind the page before: its `next`
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Print a recording as ltc.trace/1, which `ltc compile` reads
    Show(Named),
    /// Take a recording out
    Delete(Named),
    /// Take out recordings in which nothing has happened for long
    Prune {
        /// Recordings in which nothing has happened for longer than this go
        #[arg(long, value_name = "TIME", value_parser = opened::duration)]
        older_than: std::time::Duration,
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(Args, Debug)]
struct Named {
    /// The id of the recording
    #[arg(value_name = "TRACE")]
    trace: String,
    #[command(flatten)]
    store: StoreArguments,
}

/// Lists, shows, deletes or prunes.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let of = |named: &Named| entries([("trace_id", Some(named.trace.as_str().into()))]);
    let done = match &arguments.action {
        None => list(arguments, report),
        Some(Action::Show(named)) => opened::operate(&named.store, "get_trace", of(named), report)
            .map(|trace| print_value(&trace.get("document").cloned().unwrap_or_default(), report)),
        Some(Action::Delete(named)) => {
            opened::operate(&named.store, "delete_trace", of(named), report).map(|deleted| print_value(&deleted, report))
        }
        Some(Action::Prune { older_than, store }) => {
            let seconds = i64::try_from(older_than.as_secs()).unwrap_or(i64::MAX);
            let input = entries([("older_than_seconds", Some(seconds.into()))]);
            opened::operate(store, "prune_traces", input, report).map(|pruned| print_value(&pruned, report))
        }
    };
    done.unwrap_or_else(|exit| exit)
}

fn list(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let List { escalation, workflow, open, limit, after } = &arguments.list;
    let given = |text: &Option<String>| text.as_deref().map(Value::from);
    let input = entries([
        ("escalation_id", given(escalation)),
        ("workflow_name", given(workflow)),
        ("open", open.then(|| true.into())),
        ("limit", limit.map(|limit| i64::from(limit).into())),
        ("after", given(after)),
    ]);
    let list = opened::operate(&arguments.store, "list_traces", input, report)?;
    if report.json {
        return Ok(print_value(&list, report));
    }
    let mut out = String::new();
    for trace in list.get("traces").and_then(Value::as_array).unwrap_or_default() {
        let text = |key: &str| text::one_line(trace.get(key).and_then(Value::as_str).unwrap_or_default());
        let calls = trace.get("calls").map(json::to_string).unwrap_or_default();
        let is_open = if trace.get("open").and_then(Value::as_bool).unwrap_or(false) { "open " } else { "ended" };
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{is_open}  {}  {}  {calls} calls  {}", text("started_at"), text("trace_id"), text("task"));
    }
    if let Some(next) = list.get("next").filter(|next| !next.is_null()) {
        report.tell("more", &format!("there are more: --after {}", json::to_string(next)));
    }
    Ok(printed(&out, Exit::Done, report))
}
