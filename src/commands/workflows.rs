//! `ltc workflows`: what is deployed, its versions, and which of them is the active one.

use super::{print_value, printed};
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use clap::{Args, Subcommand};
use ltc_runtime::text;
use ltc_workflow::{Value, json};
use std::fmt::Write as _;

/// List workflows, show one, make a version the active one, or archive it
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
        Some(Action::Set { which, state, store }) => {
            opened::operate(store, "set_workflow_state", named(which, Some(state)), report).map(|version| print_value(&version, report))
        }
    };
    done.unwrap_or_else(|exit| exit)
}

fn list(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let given = |text: &Option<String>| text.as_deref().map(Value::from);
    let input = entries([("state", given(&arguments.state)), ("after", given(&arguments.after)), ("limit", Some(1000_i64.into()))]);
    let list = opened::operate(&arguments.store, "list_workflows", input, report)?;
    if report.json {
        return Ok(print_value(&list, report));
    }
    let mut out = String::new();
    for workflow in list.get("workflows").and_then(Value::as_array).unwrap_or_default() {
        let text = |key: &str| text::one_line(workflow.get(key).and_then(Value::as_str).unwrap_or_default());
        let version = workflow.get("version").map(json::to_string).unwrap_or_default();
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{}  version {version}  {}  {}", text("name"), text("state"), text("description"));
    }
    if let Some(next) = list.get("next").filter(|next| !next.is_null()) {
        report.tell("more", &format!("there are more: --after {}", json::to_string(next)));
    }
    Ok(printed(&out, Exit::Done, report))
}
