//! `ltc resume`: a run that was interrupted, or that waits, gone on with. What has ended is not done again.

use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::opened::{self, ServerArguments, StoreArguments};
use crate::progress::Progress;
use crate::report::Report;
use clap::Args;
use ltc_runtime::store::RunId;
use std::sync::Arc;

/// Go on with a run; the output is printed as `ltc run` prints it
#[derive(Args, Debug)]
pub struct Arguments {
    /// The id of the run
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    servers: ServerArguments,
}

/// Resumes.
pub fn run(arguments: &Arguments, report: Report) -> Exit {
    let threads = match opened::threads(&report) {
        Ok(threads) => threads,
        Err(exit) => return exit,
    };
    threads.block_on(async {
        let progress = Arc::new(Progress::new(report));
        let mut interrupts = Interrupts::new();
        let opened = match opened::open(&arguments.store, &arguments.servers, &progress).await {
            Ok(opened) => opened,
            Err(exit) => return exit,
        };
        let id = RunId(arguments.run.as_str().into());
        let exit = super::run::resumed(&opened.service, &id, &progress, &mut interrupts).await;
        opened.adapter.disconnect().await;
        progress.finish();
        exit
    })
}
