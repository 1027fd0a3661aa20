//! The runtime, opened for a command: where runs are kept, how servers are reached, and a thread or two to work on them.

use crate::compiling::Ours;
use crate::documentation;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::report::Report;
use crate::servers;
use crate::traces::said;
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::adapter::McpAdapter;
use ltc_runtime::drive::Driver;
use ltc_runtime::environment::{Environment, ProcessEnvironment};
use ltc_runtime::observe::Log;
use ltc_runtime::pool::Connections;
use ltc_runtime::service::{Caller, Code, Operation, Refusal, Service};
use ltc_runtime::store::{self, StoreError};
use ltc_runtime::upstream::{Connector, Limits};
use ltc_workflow::{Object, Value, document};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where runs, workflows and questions are kept.
#[derive(Args, Debug, Clone, Default)]
pub struct StoreArguments {
    /// Where runs are kept: postgres://…, or the path of a file; without it ltc.db in LTC_HOME
    #[arg(long, value_name = "URL|FILE", env = "LTC_STORE", hide_env_values = true)]
    pub store: Option<String>,
}

/// How servers are reached, and how long they may take.
#[derive(Args, Debug, Clone)]
pub struct ServerArguments {
    /// A file like .mcp.json: servers that the workflow lacks, or that are reached in another way than it says
    #[arg(long, value_name = "FILE")]
    pub servers: Option<PathBuf>,
    #[command(flatten)]
    pub limits: ServerLimits,
}

/// How long servers may take.
#[derive(Args, Debug, Clone)]
pub struct ServerLimits {
    /// How long a call may take whose step has no timeout of its own
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub timeout: Duration,
    /// How long a server may take to start
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration)]
    pub connect_timeout: Duration,
}

/// A time on the command line.
pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = document::Duration::parse(text).ok_or("a time is written like 250ms, 2s, 1m30s or 1h")?;
    Ok(Duration::from_millis(duration.millis))
}

/// The environment, and where this very command is: examples start a server with `${LTC}`.
pub struct WithOurselves;

impl Environment for WithOurselves {
    fn get(&self, name: &str) -> Option<String> {
        let own = || std::env::current_exe().ok()?.into_os_string().into_string().ok();
        ProcessEnvironment.get(name).or_else(|| if name == "LTC" { own() } else { None })
    }
}

impl ServerArguments {
    /// What the file says.
    ///
    /// # Errors
    /// How the command ends; why has been said.
    pub fn read(&self, report: &Report) -> Result<BTreeMap<smol_str::SmolStr, document::Transport>, Exit> {
        self.servers.as_ref().map_or_else(|| Ok(BTreeMap::new()), |path| servers::read(path, report))
    }

    /// The way to servers, of which nothing is open yet.
    pub fn adapter(&self, log: Arc<dyn Log>) -> Arc<dyn McpAdapter> {
        let limits = Limits { connect: self.limits.connect_timeout, call: self.limits.timeout };
        Arc::new(Connections::new(Connector { log, limits }))
    }
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        let Limits { connect, call } = Limits::default();
        ServerLimits { timeout: call, connect_timeout: connect }
    }
}

/// The operations, and what has to be closed behind them.
pub struct Opened {
    /// The operations.
    pub service: Arc<Service>,
    /// The servers that they reach.
    pub adapter: Arc<dyn McpAdapter>,
}

/// Opens the store and what works on it.
///
/// # Errors
/// How the command ends; why has been said.
pub async fn open(store: &StoreArguments, given: &ServerArguments, progress: &Arc<Progress>) -> Result<Opened, Exit> {
    let report = progress.report();
    let servers = given.read(&report)?;
    let opened = async {
        match &store.store {
            Some(address) => store::open(address).await,
            None => store::open(&store::default_path(&ProcessEnvironment)?.to_string_lossy()).await,
        }
    };
    let store = opened.await.map_err(|error| said(&[unusable(&error)], Exit::Failed, &report))?;
    let adapter = given.adapter(progress.clone());
    let driver = Driver::new(store, adapter.clone(), servers, Arc::new(WithOurselves));
    Ok(Opened { service: Service::with_documents(Arc::new(driver), Arc::new(Ours), documentation::documents()), adapter })
}

fn unusable(error: &StoreError) -> Diagnostic {
    Diagnostic::new(Severity::Error, "no-store", "", error.to_string())
        .help("--store says where runs are kept, LTC_HOME in which folder the default file is; `ltc run --ephemeral` keeps nothing")
}

/// Threads for a command that waits for something.
///
/// # Errors
/// How the command ends; why has been said.
pub fn threads(report: &Report) -> Result<tokio::runtime::Runtime, Exit> {
    let made = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    made.map_err(|error| said(&[Diagnostic::new(Severity::Error, "no-threads", "", error.to_string())], Exit::Failed, report))
}

/// Does one operation of the business layer and gives what it gives.
///
/// # Errors
/// How the command ends; why has been said.
pub fn operate(store: &StoreArguments, operation: &str, input: Object, report: &Report) -> Result<Value, Exit> {
    operate_on_servers(store, &ServerLimits::default(), operation, input, report)
}

/// As [`operate`], where servers may take so long.
///
/// # Errors
/// How the command ends; why has been said.
pub fn operate_on_servers(
    store: &StoreArguments,
    limits: &ServerLimits,
    operation: &str,
    input: Object,
    report: &Report,
) -> Result<Value, Exit> {
    let given = ServerArguments { servers: None, limits: limits.clone() };
    threads(report)?.block_on(async {
        let progress = Arc::new(Progress::new(report.clone()));
        let opened = open(store, &given, &progress).await?;
        let caller = Caller::new(progress.clone());
        let called = call(&opened.service, operation, input, caller, report).await;
        opened.adapter.disconnect().await;
        called
    })
}

/// Does one operation over an opened store.
///
/// # Errors
/// How the command ends; why has been said.
pub async fn call(service: &Arc<Service>, operation: &str, input: Object, caller: Caller, report: &Report) -> Result<Value, Exit> {
    let Some(operation) = Operation::named(operation) else {
        let message = format!("there is no operation {operation}");
        return Err(said(&[Diagnostic::new(Severity::Error, "no-such-operation", "", message)], Exit::Usage, report));
    };
    operation.call(service, &Value::Object(input), caller).await.map_err(|refusal| refused(refusal, report))
}

/// Says why something was not done; gives how the command ends.
pub fn refused(refusal: Refusal, report: &Report) -> Exit {
    let exit = if refusal.code == Code::Invalid { Exit::Invalid } else { Exit::Failed };
    if refusal.problems.is_empty() {
        return said(&[Diagnostic::new(Severity::Error, refusal.code.name(), "", refusal.message)], exit, report);
    }
    for problem in refusal.problems {
        let mut diagnostic = Diagnostic::new(Severity::Error, problem.code, problem.place, problem.message);
        diagnostic.help = problem.help;
        report.say(&diagnostic);
    }
    exit
}

/// The entries of an input, without those that nobody gave.
pub fn entries<const N: usize>(entries: [(&str, Option<Value>); N]) -> Object {
    entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
