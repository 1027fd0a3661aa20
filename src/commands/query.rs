//! `ltc query`: questions about many runs, workflows and questions to people.

use super::{print_list, print_value, text_in};
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use clap::{Args, Subcommand};
use ltc_workflow::{Object, Value, json};

/// Ask how many runs there are, which workflows fail or are slow, and why
#[derive(Args, Debug)]
pub struct Arguments {
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand, Debug)]
enum Question {
    /// Count runs
    Runs {
        #[command(flatten)]
        which: Which,
        /// Only runs that stand so: queued, running, waiting, done, failed or cancelled
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        /// What is counted for itself: workflow, status or both, separated by commas
        #[arg(long, value_name = "WHAT", value_delimiter = ',', default_values = ["workflow", "status"])]
        by: Vec<String>,
        /// Count each day or hour for itself
        #[arg(long, value_name = "day|hour")]
        every: Option<String>,
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Compare workflows by how their runs ended and how long they took
    Workflows {
        #[command(flatten)]
        which: Which,
        /// What comes first: failed, failure-percent, slowest, runs, idle or name
        #[arg(long, value_name = "WHAT")]
        order: Option<String>,
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Say why runs failed, the most frequent cause first
    Failures {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Rank steps by the time that they took
    Steps {
        #[command(flatten)]
        which: Which,
        /// How many of the newest runs are looked at
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
        runs: Option<u32>,
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Sum up the questions to people by role
    Escalations {
        /// Only questions to this role
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
        #[command(flatten)]
        times: Times,
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Tell what happened in one run, without its values, as JSON
    Run {
        /// The id of the run
        #[arg(value_name = "RUN")]
        run: String,
        #[command(flatten)]
        page: Page,
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(Args, Debug)]
struct Which {
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    #[command(flatten)]
    times: Times,
}

#[derive(Args, Debug)]
struct Times {
    /// Only what was asked for then or later: 2026-01-02T03:04:05Z, or how long ago, like 24h or 7d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only what was asked for before
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

#[derive(Args, Debug)]
struct Page {
    /// How many at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// How many of the first ones are left out
    #[arg(long, value_name = "N")]
    offset: Option<u32>,
}

fn said(text: Option<&String>) -> Option<Value> {
    text.map(|text| Value::from(text.as_str()))
}

fn number(number: Option<u32>) -> Option<Value> {
    number.map(|number| i64::from(number).into())
}

impl Times {
    fn input(&self, page: &Page) -> Object {
        let Page { limit, offset } = page;
        let (since, until) = (said(self.since.as_ref()), said(self.until.as_ref()));
        entries([("since", since), ("until", until), ("limit", number(*limit)), ("offset", number(*offset))])
    }
}

impl Which {
    fn input<const N: usize>(&self, page: &Page, more: [(&str, Option<Value>); N]) -> Object {
        let mut input = self.times.input(page);
        for (key, value) in entries([("workflow_name", said(self.workflow.as_ref()))]).iter().chain(entries(more).iter()) {
            input.insert(key.clone(), value.clone());
        }
        input
    }
}

/// Asks.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let list = |store: &StoreArguments, operation: &str, input: Object, key: &str, line: fn(&Value) -> String| {
        let list = opened::operate(store, operation, input, report)?;
        Ok(print_list(&list, key, ("next_offset", "--offset"), line, report))
    };
    let done = match &arguments.question {
        Question::Runs { which, status, by, every, page, store } => {
            let by = by.iter().map(|by| Value::from(by.as_str())).collect();
            let input = which.input(page, [("status", said(status.as_ref())), ("group_by", Some(by)), ("every", said(every.as_ref()))]);
            list(store, "count_runs", input, "counts", count)
        }
        Question::Workflows { which, order, page, store } => {
            list(store, "compare_workflows", which.input(page, [("order_by", said(order.as_ref()))]), "workflows", workflow)
        }
        Question::Failures { which, page, store } => list(store, "explain_failures", which.input(page, []), "causes", cause),
        Question::Steps { which, runs, page, store } => {
            list(store, "rank_steps", which.input(page, [("runs", number(*runs))]), "steps", step)
        }
        Question::Escalations { role, times, page, store } => {
            let mut input = times.input(page);
            if let Some(role) = said(role.as_ref()) {
                input.insert("role", role);
            }
            list(store, "summarize_escalations", input, "roles", asked)
        }
        Question::Run { run, page, store } => {
            let (limit, offset) = (number(page.limit), number(page.offset));
            let input = entries([("run_id", Some(run.as_str().into())), ("limit", limit), ("offset", offset)]);
            opened::operate(store, "get_run_story", input, report).map(|story| print_value(&story, report))
        }
    };
    done.unwrap_or_else(|exit| exit)
}

/// A number in an entry, or a dash.
fn figure(entry: &Value, field: &str) -> String {
    entry.get(field).map_or_else(|| "-".to_owned(), json::to_string)
}

/// `median 5 ms, 95 of 100 within 9 ms, longest 12 ms`
fn took(entry: &Value) -> String {
    let Some(took) = entry.get("took") else { return String::new() };
    let ms = |field: &str| figure(took, field);
    format!("  median {} ms, 95 of 100 within {} ms, longest {} ms", ms("median_ms"), ms("p95_ms"), ms("longest_ms"))
}

fn count(entry: &Value) -> String {
    let words = ["from", "workflow_name", "status"].map(|field| text_in(entry, field));
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    format!("{:>7}  {}", figure(entry, "runs"), words.join("  "))
}

fn workflow(entry: &Value) -> String {
    let of = |field: &str| figure(entry, field);
    let percent = entry.get("failure_percent").map(|percent| format!(" ({} %)", json::to_string(percent))).unwrap_or_default();
    let name = text_in(entry, "workflow_name");
    format!("{name}  {} runs, {} done, {} failed{percent}, {} waiting{}", of("runs"), of("done"), of("failed"), of("waiting"), took(entry))
}

fn cause(entry: &Value) -> String {
    let message = entry.get("messages").and_then(|messages| messages.at(0)).and_then(Value::as_str).unwrap_or_default();
    let run = entry.get("run_ids").and_then(|runs| runs.at(0)).and_then(Value::as_str).unwrap_or_default();
    let text = |field: &str| text_in(entry, field);
    let message = ltc_runtime::text::one_line(message);
    format!("{:>7}  {}  {}  {}: {message}  (last: {run})", figure(entry, "runs"), text("workflow_name"), text("step"), text("code"))
}

fn step(entry: &Value) -> String {
    let text = |field: &str| text_in(entry, field);
    let of = |field: &str| figure(entry, field);
    let from = text("counted_from");
    format!(
        "{:>9} ms  {}  {}  {} times, {} failed, from {from}{}",
        of("total_ms"),
        text("workflow_name"),
        text("step"),
        of("times"),
        of("failed"),
        took(entry)
    )
}

fn asked(entry: &Value) -> String {
    let of = |field: &str| figure(entry, field);
    let oldest = entry.get("oldest_open_id").and_then(Value::as_str);
    let oldest = oldest.map(|id| format!("  oldest {id}, {} s ago", of("oldest_open_seconds"))).unwrap_or_default();
    let role = text_in(entry, "role");
    format!(
        "{role}  {} pending, {} claimed, {} overdue, {} resolved, {} closed{oldest}{}",
        of("pending"),
        of("claimed"),
        of("overdue"),
        of("resolved"),
        of("closed"),
        took(entry)
    )
}
