//! `ltc workflows`: what is deployed, its versions, and which of them is the active one.

use super::{print_list, print_value, printed, text_in};
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use clap::{Args, Subcommand};
use ltc_workflow::{Object, Value, json};
use std::path::PathBuf;

/// List workflows and their versions; deploy, roll back, archive, verify or recompile one
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Only workflows that stand so: draft, deployed, active or archived
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Go on behind the page before: its `next`
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show a workflow with its document and its versions, as JSON
    Show {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// List all versions of a workflow, the newest first
    Versions {
        /// The workflow's name
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Show what differs between two versions
    Diff {
        /// The workflow's name
        #[arg(value_name = "NAME")]
        name: String,
        /// The older version
        #[arg(value_name = "N")]
        from: u32,
        /// The newer version; the newest where it is left out
        #[arg(value_name = "M")]
        to: Option<u32>,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Replay a version in the recorded world and in counterfactual ones
    Verify {
        #[command(flatten)]
        which: Which,
        /// Stored recordings; those that it was made of where none is given
        #[arg(value_name = "TRACE")]
        traces: Vec<String>,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Compile a workflow anew, of the stored recordings that it was made of and of more, into a draft
    Recompile {
        #[command(flatten)]
        which: Which,
        /// Stored recordings beside those that it was made of
        #[arg(value_name = "TRACE")]
        traces: Vec<String>,
        /// A stored recording that is left out from now on
        #[arg(long, value_name = "TRACE")]
        without: Vec<String>,
        /// Edits of its hints in YAML or JSON: a map from servers to hints, where null takes a hint away
        #[arg(long, value_name = "FILE")]
        hints: Option<PathBuf>,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Make a version the active one, or archive it
    Set {
        #[command(flatten)]
        which: Which,
        /// How it is to stand: draft, deployed, active or archived
        #[arg(value_name = "STATE")]
        state: String,
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(Args, Debug)]
struct Which {
    /// The workflow's name
    #[arg(value_name = "NAME")]
    name: String,
    /// The version; the active one where it is left out
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

/// Lists, shows or sets.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let named = |which: &Which, state: Option<&str>| {
        entries([
            ("workflow_name", Some(which.name.as_str().into())),
            ("version", which.version.map(|version| i64::from(version).into())),
            ("state", state.map(Value::from)),
        ])
    };
    let done = match &arguments.action {
        None => list(arguments, report),
        Some(Action::Show { which, store }) => {
            opened::operate(store, "get_workflow", named(which, None), report).map(|workflow| print_value(&workflow, report))
        }
        Some(Action::Versions { name, store }) => {
            let input = entries([("workflow_name", Some(name.as_str().into()))]);
            opened::operate(store, "list_workflow_versions", input, report).map(|versions| print_value(&versions, report))
        }
        Some(Action::Diff { name, from, to, store }) => diff(name, *from, *to, store, report),
        Some(Action::Verify { which, traces, store }) => verify(with(named(which, None), "trace_ids", texts(traces)), store, report),
        Some(Action::Recompile { which, traces, without, hints, store }) => {
            let input = with(named(which, None), "trace_ids", texts(traces));
            let input = with(input, "without_trace_ids", texts(without));
            super::traces::compiled("recompile_workflow", input, hints.as_deref(), store, report)
        }
        Some(Action::Set { which, state, store }) => {
            opened::operate(store, "set_workflow_state", named(which, Some(state)), report).map(|version| print_value(&version, report))
        }
    };
    done.unwrap_or_else(|exit| exit)
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(|text| Value::from(text.as_str())).collect()
}

fn with(mut input: Object, key: &str, value: Value) -> Object {
    input.insert(key, value);
    input
}

fn diff(name: &str, from: u32, to: Option<u32>, store: &StoreArguments, report: &Report) -> Result<Exit, Exit> {
    let number = |version: u32| Value::from(i64::from(version));
    let input = entries([("workflow_name", Some(name.into())), ("from", Some(number(from))), ("to", to.map(number))]);
    let difference = opened::operate(store, "diff_workflow_versions", input, report)?;
    if report.json {
        return Ok(print_value(&difference, report));
    }
    Ok(printed(difference.get("diff").and_then(Value::as_str).unwrap_or_default(), Exit::Done, report))
}

fn verify(input: Object, store: &StoreArguments, report: &Report) -> Result<Exit, Exit> {
    let verified = opened::operate(store, "verify_workflow", input, report)?;
    let is_verified = verified.get("verified") == Some(&Value::Bool(true));
    print_value(&verified, report);
    Ok(if is_verified { Exit::Done } else { Exit::Failed })
}

fn list(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let given = |text: &Option<String>| text.as_deref().map(Value::from);
    let input = entries([("state", given(&arguments.state)), ("after", given(&arguments.after)), ("limit", Some(1000_i64.into()))]);
    let list = opened::operate(&arguments.store, "list_workflows", input, report)?;
    let line = |workflow: &Value| {
        let text = |field: &str| text_in(workflow, field);
        let version = workflow.get("version").map(json::to_string).unwrap_or_default();
        format!("{}  version {version}  {}  {}", text("name"), text("state"), text("description"))
    };
    Ok(print_list(&list, "workflows", ("next", "--after"), line, report))
}
