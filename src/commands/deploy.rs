//! `ltc deploy`: a workflow, kept as a new version and served from then on.

use super::print_value;
use crate::documents;
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use clap::Args;
use ltc_workflow::{Value, yaml};
use std::path::PathBuf;

/// Keep a workflow as a new version, and make it the active one
#[derive(Args, Debug)]
pub struct Arguments {
    /// The workflow; those that it runs lie beside it, or are deployed
    #[arg(value_name = "WORKFLOW")]
    workflow: PathBuf,
    /// Keep it as a draft, which is not served
    #[arg(long)]
    draft: bool,
    #[command(flatten)]
    store: StoreArguments,
}

/// Deploys.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    deployed(arguments, report).unwrap_or_else(|exit| exit)
}

fn deployed(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let workflow = documents::read(&arguments.workflow, report)?;
    let library = documents::library(&workflow, &arguments.workflow, report)?;
    let input = entries([
        ("document", Some(Value::from(yaml::print(&workflow).as_str()))),
        ("library", Some(library.values().map(|other| Value::from(yaml::print(other).as_str())).collect())),
        ("state", arguments.draft.then(|| "draft".into())),
    ]);
    opened::operate(&arguments.store, "deploy_workflow", input, report).map(|version| print_value(&version, report))
}
