//! `ltc cancel`: the end of a run, soon.

use super::print_value;
use crate::exit::Exit;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use clap::Args;

/// Cancel a run: nothing more of it is begun, and calls that are under way are given up
#[derive(Args, Debug)]
pub struct Arguments {
    /// The id of the run
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    store: StoreArguments,
}

/// Cancels.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let input = entries([("run_id", Some(arguments.run.as_str().into()))]);
    opened::operate(&arguments.store, "cancel_run", input, report).map_or_else(|exit| exit, |run| print_value(&run, report))
}
