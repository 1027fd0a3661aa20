//! `ltc serve`: active workflows and questions as tools of MCP servers, and a worker for whatever run is due.

use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::listening::{Door, refused};
use crate::opened::{self, Opened, ServerArguments, StoreArguments};
use crate::progress::Progress;
use crate::report::Report;
use clap::Args;
use ltc_runtime::serve::{self, Listen, Which};
use ltc_runtime::service::Capacity;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// Serve workflows as MCP tools, and work on runs that are due
#[derive(Args, Debug)]
pub struct Arguments {
    /// Serve one client over stdin and stdout
    #[arg(long, conflicts_with_all = ["listen", "token_file", "allow_host", "allow_origin"])]
    stdio: bool,
    /// Which MCP servers, with --stdio: mcp-workflows and human-queue where this is not given, or gateway, workflow-compiler, db-query or docs; may be given several times
    #[arg(long, value_name = "NAME", requires = "stdio")]
    only: Vec<String>,
    /// Where to listen, each server at /mcp/NAME; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4117")]
    listen: SocketAddr,
    #[command(flatten)]
    door: Door,
    /// How many runs to work on at once; 0 leaves them to other processes
    #[arg(long, value_name = "N", default_value_t = Capacity::default().0)]
    workers: u32,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    servers: ServerArguments,
}

/// Serves until it is interrupted, or its client is gone.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let served = opened::threads(report).and_then(|threads| threads.block_on(serving(arguments, report)));
    served.unwrap_or_else(|exit| exit)
}

async fn serving(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let mut interrupts = Interrupts::new();
    let progress = Arc::new(Progress::in_lines(report.clone()));
    let which = if arguments.only.is_empty() { Ok(Which::usual()) } else { Which::of(arguments.only.iter().map(String::as_str)) };
    let which = which.map_err(|why| refused(why, Exit::Usage, report))?;
    let listen = if arguments.stdio { None } else { Some(arguments.door.at(arguments.listen, report)?) };
    let opened = opened::open(&arguments.store, &arguments.servers, &progress).await?;
    // The first interrupt ends the serving, then the work; the second one ends all at once.
    let (ending, ended) = watch::channel(false);
    let served = async {
        let exit = match listen {
            None => stdio(&opened, which, ended.clone(), report).await,
            Some(listen) => over_http(&opened, listen, ended.clone(), report).await,
        };
        ending.send_replace(true);
        exit
    };
    // Whoever asks first need not wait for these; why one is not there stands with it in the registry.
    let service = opened.service.clone();
    let connecting = tokio::spawn(async move { service.connect_automatically().await });
    let work = opened.service.work(Capacity(arguments.workers), is_true(ended.clone()));
    let mut all = Box::pin(async {
        let (exit, ()) = tokio::join!(served, work);
        connecting.abort();
        opened.adapter.disconnect().await;
        exit
    });
    tokio::select! {
        exit = &mut all => return exit,
        () = interrupts.next() => ending.send_replace(true),
    };
    tokio::select! {
        exit = all => exit,
        () = interrupts.next() => Ok(Exit::Interrupted),
    }
}

async fn is_true(mut flag: watch::Receiver<bool>) {
    // Without a sender nobody asks for an end any more, and that is one too.
    let _ = flag.wait_for(|is_true| *is_true).await;
}

async fn stdio(opened: &Opened, which: Which, ended: watch::Receiver<bool>, report: &Report) -> Result<Exit, Exit> {
    let served = serve::stdio(opened.service.clone(), which, is_true(ended)).await;
    served.map(|()| Exit::Done).map_err(|why| refused(why, Exit::Failed, report))
}

async fn over_http(opened: &Opened, listen: Listen, ended: watch::Receiver<bool>, report: &Report) -> Result<Exit, Exit> {
    let listening = serve::listen(opened.service.clone(), listen, is_true(ended)).await;
    let (address, serving) = listening.map_err(|why| refused(why, Exit::Failed, report))?;
    for name in serve::names() {
        report.tell("listening", &format!("http://{address}/mcp/{name}"));
    }
    serving.await;
    Ok(Exit::Done)
}
