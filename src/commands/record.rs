//! `ltc record`: an MCP server in front of other MCP servers, which writes down the calls that pass.

mod files;
mod over_http;

use crate::compiler;
use crate::documents;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::listening::Door;
use crate::opened::{self, WithOurselves};
use crate::progress::Progress;
use crate::report::{Report, from_problem};
use crate::servers;
use crate::traces::{placed, said};
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::environment::{Environment, ProcessEnvironment};
use ltc_runtime::observe::Log;
use ltc_runtime::record::{Described, FileSink, Recorder};
use ltc_runtime::relay::{Client, Ended, Qualified, Relay};
use ltc_runtime::secrets::Redactor;
use ltc_runtime::servers::{Elsewhere, Endpoint, endpoints};
use ltc_workflow::document::Transport;
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A value of the environment that is shorter is not looked for in what passes.
const LEAST_SECRET: usize = 8;

/// Stand in front of MCP servers, pass everything through, and write the calls down as a recording
#[derive(Args, Debug)]
pub struct Arguments {
    /// The file that the recording goes to as JSON lines, whatever it is called, behind those that are in it; with --listen each session has a file, FILE-1, FILE-2 and so on; without it a new file in the folder `recordings` of LTC_HOME
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Be a server over streamable HTTP, at /mcp of this address, each client with servers and a recording of its own; port 0 is any that is free; without it the client is the one that started this command
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    door: Door,
    /// A file like .mcp.json: the servers to stand in front of; where there are several, their tools are called server__tool
    #[arg(long, value_name = "FILE", required_unless_present = "command", conflicts_with = "command")]
    servers: Option<PathBuf>,
    /// What the server of the command is called in the recording; without it, what it calls itself
    #[arg(long, value_name = "NAME", requires = "command")]
    name: Option<SmolStr>,
    /// What the agent is asked to do, kept in the recording: the workflow is named after it
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Hints in YAML or JSON, kept in the recording: a map from servers to hints, or the hints of the one server that there is
    #[arg(long, value_name = "FILE")]
    hints: Option<PathBuf>,
    /// The command of the one server and its arguments, best behind `--`
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Relays until the client leaves; where clients come over HTTP, until somebody ends it.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let relayed = opened::threads(report).and_then(|threads| {
        let exit = threads.block_on(relaying(arguments, report));
        // The thread that reads stdin cannot be called off.
        threads.shutdown_background();
        exit
    });
    relayed.unwrap_or_else(|exit| exit)
}

/// What every relay of this command is made of.
struct Setting {
    servers: Vec<(SmolStr, Endpoint)>,
    described: Vec<(SmolStr, Described)>,
    task: Option<String>,
    log: Arc<dyn Log>,
}

impl Setting {
    /// A relay that records into `sink`.
    fn relay(&self, sink: FileSink) -> std::io::Result<(Relay, Arc<Recorder>)> {
        let recorder = Recorder::begin(Box::new(sink), self.task.as_deref(), self.described.clone(), self.log.clone())?;
        let recorder = Arc::new(recorder);
        let relay = Relay { servers: self.servers.clone(), naming: Arc::new(Qualified), observer: recorder.clone(), log: self.log.clone() };
        Ok((relay, recorder))
    }
}

async fn relaying(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let mut interrupts = Interrupts::new();
    let progress = Arc::new(Progress::in_lines(report.clone()));
    let transports = transports(arguments, report)?;
    let (servers, sensitive) = reached(&transports, report)?;
    progress.learn(&Redactor::new(sensitive.iter().map(|(name, value)| (name.as_str(), value.as_str()))));
    let mut described = described(arguments, &transports, report)?;
    if let Some((_, first)) = described.first_mut() {
        first.secrets.extend(sensitive);
    }
    let setting = Setting { servers, described, task: arguments.task.clone(), log: progress };
    match arguments.listen {
        Some(address) => over_http::relaying(setting, address, arguments, interrupts, report).await,
        None => {
            arguments.door.is_closed(report)?;
            over_stdio(&setting, arguments, &mut interrupts, report).await
        }
    }
}

async fn over_stdio(setting: &Setting, arguments: &Arguments, interrupts: &mut Interrupts, report: &Report) -> Result<Exit, Exit> {
    let (path, sink) = files::for_one(arguments.output.as_deref(), report)?;
    let (relay, recorder) = setting.relay(sink).map_err(|error| files::unusable(&path, &error.to_string(), report))?;
    report.tell("recording", &format!("recording into {}", path.display()));
    let ended = relay.run(Client::of_this_process(), interrupts.next()).await;
    report.tell("recorded", &recorded(recorder.calls(), &path));
    match ended {
        Ok(Ended::Left) => Ok(Exit::Done),
        Ok(Ended::ServerGone(words)) => Err(said(&[Diagnostic::new(Severity::Error, "server-died", "", words)], Exit::Failed, report)),
        Err(error) => {
            let message = format!("the server cannot be started: {error}");
            Err(said(&[Diagnostic::new(Severity::Error, "connect-failed", "", message)], Exit::Failed, report))
        }
    }
}

fn recorded(calls: u64, path: &Path) -> String {
    format!("recorded {} into {}", super::count_calls(calls), path.display())
}

/// How the servers are reached, by the names that the relay knows them by.
fn transports(arguments: &Arguments, report: &Report) -> Result<BTreeMap<SmolStr, Transport>, Exit> {
    if let Some(path) = &arguments.servers {
        let found = servers::read(path, report)?;
        if found.is_empty() {
            let problem = Diagnostic::new(Severity::Error, "no-server", path.display().to_string(), "the file names no server");
            return Err(said(&[problem], Exit::Invalid, report));
        }
        return Ok(found);
    }
    let mut words = arguments.command.iter().cloned();
    let command = words.next().unwrap_or_default();
    let transport = Transport::Stdio { command, args: words.collect(), env: BTreeMap::new(), cwd: None };
    Ok(BTreeMap::from([(arguments.name.clone().unwrap_or_else(|| "server".into()), transport)]))
}

/// Where the servers are, and the values of the environment that nobody is to see.
type Reached = (Vec<(SmolStr, Endpoint)>, Vec<(SmolStr, String)>);

fn reached(transports: &BTreeMap<SmolStr, Transport>, report: &Report) -> Result<Reached, Exit> {
    let nowhere = Workflow::new("record");
    let found = endpoints(
        transports.keys(),
        &nowhere,
        Elsewhere { overrides: transports, registry: &BTreeMap::new() },
        &BTreeSet::new(),
        &WithOurselves,
    )
    .map_err(|problems| {
        let problems: Vec<Diagnostic> = problems.into_iter().map(|problem| from_problem(problem, Severity::Error)).collect();
        said(&problems, Exit::Invalid, report)
    })?;
    let value = |name: String| Some((SmolStr::new(&name), ProcessEnvironment.get(&name)?));
    let sensitive = found.sensitive.into_iter().filter_map(value).filter(|(_, value)| value.len() >= LEAST_SECRET).collect();
    Ok((found.by_name.into_iter().collect(), sensitive))
}

fn described(arguments: &Arguments, transports: &BTreeMap<SmolStr, Transport>, report: &Report) -> Result<Vec<(SmolStr, Described)>, Exit> {
    let hints = arguments.hints.as_ref().map_or_else(|| Ok(Object::default()), |path| hints(path, arguments, transports, report))?;
    let is_named = arguments.servers.is_some() || arguments.name.is_some();
    let one = |(name, transport): (&SmolStr, &Transport)| {
        let described = Described::new(is_named.then(|| name.clone()), transport);
        let described = match hints.get(name) {
            Some(hints) => described.with_hints(hints.clone()),
            None => described,
        };
        (name.clone(), described)
    };
    Ok(transports.iter().map(one).collect())
}

/// The hints, by the names that the relay knows servers by.
fn hints(path: &Path, arguments: &Arguments, transports: &BTreeMap<SmolStr, Transport>, report: &Report) -> Result<Object, Exit> {
    let file = documents::read_value(path, report)?;
    let keys: Vec<&SmolStr> = file.as_object().into_iter().flat_map(Object::keys).collect();
    let only = transports.keys().next().filter(|name| transports.len() == 1 && !keys.contains(name));
    // A map of one server is that of the command, whatever the server calls itself.
    let of_one =
        || file.as_object()?.iter().next().filter(|_| keys.len() == 1 && arguments.servers.is_none()).map(|(_, inner)| inner.clone());
    let by_server: Value = match only {
        Some(name) => {
            let whole: Value = [(name.clone(), file.clone())].into_iter().collect::<Object>().into();
            match (compiler::hints(&whole), of_one()) {
                (Err(_), Some(inner)) => [(name.clone(), inner)].into_iter().collect::<Object>().into(),
                (Ok(_) | Err(_), _) => whole,
            }
        }
        None => file,
    };
    compiler::hints(&by_server).map_err(|problems| said(&placed(problems, path), Exit::Invalid, report))?;
    Ok(by_server.as_object().cloned().unwrap_or_default())
}
