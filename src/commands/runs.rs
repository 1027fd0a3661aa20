//! `ltc runs`: what was run, how it stands, and what happened in it.

use super::{print_list, print_value, text_in};
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use clap::{Args, Subcommand};
use ltc_workflow::Value;

/// List runs, show one, or take old ones out
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
    /// Only runs that stand so: queued, running, waiting, done, failed or cancelled
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Go on behind the page before: its `next`
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show a run with its journal, as JSON
    Show {
        /// The id of the run
        #[arg(value_name = "RUN")]
        run: String,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Take out runs that ended long ago, with their journals and questions
    Prune {
        /// Runs that ended longer ago than this go
        #[arg(long, value_name = "TIME", value_parser = opened::duration)]
        older_than: std::time::Duration,
        #[command(flatten)]
        store: StoreArguments,
    },
}

/// Lists, shows or prunes.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let done = match &arguments.action {
        None => list(arguments, report),
        Some(Action::Show { run, store }) => {
            let input = entries([("run_id", Some(run.as_str().into())), ("events", Some(true.into()))]);
            opened::operate(store, "get_run", input, report).map(|run| print_value(&run, report))
        }
        Some(Action::Prune { older_than, store }) => {
            let seconds = i64::try_from(older_than.as_secs()).unwrap_or(i64::MAX);
            let input = entries([("older_than_seconds", Some(seconds.into()))]);
            opened::operate(store, "prune_runs", input, report).map(|pruned| print_value(&pruned, report))
        }
    };
    done.unwrap_or_else(|exit| exit)
}

fn list(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let List { status, workflow, limit, after } = &arguments.list;
    let given = |text: &Option<String>| text.as_deref().map(Value::from);
    let input = entries([
        ("status", given(status)),
        ("workflow_name", given(workflow)),
        ("limit", limit.map(|limit| i64::from(limit).into())),
        ("after", given(after)),
    ]);
    let list = opened::operate(&arguments.store, "list_runs", input, report)?;
    let line = |run: &Value| {
        let text = |field: &str| text_in(run, field);
        let failure = run.get("failure").map(|failure| format!("  {}: {}", text_in(failure, "code"), text_in(failure, "message")));
        let failure = failure.unwrap_or_default();
        format!("{:9}  {}  {}  {}{failure}", text("status"), text("created_at"), text("run_id"), text("workflow_name"))
    };
    Ok(print_list(&list, "runs", ("next", "--after"), line, report))
}
