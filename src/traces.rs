//! Recordings named on the command line, read and completed.

use crate::compiler;
use crate::documents;
use crate::exit::Exit;
use crate::files;
use crate::opened::{self, StoreArguments};
use crate::progress::busy;
use crate::report::Report;
use clap::Args;
use clap::builder::PossibleValuesParser;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::trace::Trace;
use ltc_workflow::{Object, Value, json};
use smol_str::SmolStr;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which recordings are read, and with what beside them.
#[derive(Args, Debug)]
pub struct TraceOptions {
    /// The format of the recordings, one of those in `ltc convert --help`; it is found by looking at them where this is not given
    #[arg(long, value_name = "FORMAT", hide_possible_values = true, value_parser = PossibleValuesParser::new(compiler::formats()))]
    pub from: Option<String>,
    /// A file like .mcp.json: how the servers in the recordings are reached
    #[arg(long, value_name = "FILE")]
    pub servers: Option<PathBuf>,
    /// Hints in YAML or JSON: a map from servers to hints, or the hints of the one server that there is
    #[arg(long, value_name = "FILE")]
    pub hints: Option<PathBuf>,
    /// Tools and hints of servers that the registry knows by the names in the recordings; --servers and --hints count more
    #[arg(long)]
    pub registry: bool,
    #[command(flatten)]
    pub store: StoreArguments,
    /// Which run of a recording that holds several
    #[arg(long, value_name = "ID", conflicts_with = "all_runs")]
    pub run: Option<String>,
    /// All runs of each recording, as runs of one task
    #[arg(long)]
    pub all_runs: bool,
}

/// The runs in the recordings `paths`. What is wrong has been said when this fails.
///
/// # Errors
/// How the command ends.
pub fn read(paths: &[PathBuf], options: &TraceOptions, report: &Report) -> Result<Vec<Trace>, Exit> {
    let mut traces = Vec::new();
    let mut exit = None;
    for path in paths {
        match read_one(path, options, report) {
            Ok(found) => traces.extend(found),
            Err(failed) => exit = exit.or(Some(failed)),
        }
    }
    exit.map_or(Ok(()), Err)?;
    if options.registry {
        apply_registry(&mut traces, &options.store, report)?;
    }
    if let Some(path) = &options.servers {
        let servers = read_json(path, report)?;
        for trace in &mut traces {
            let said = compiler::apply_servers(trace, &servers);
            report.say_all(&placed(said, path));
        }
    }
    if let Some(path) = &options.hints {
        apply_hints(&mut traces, path, report)?;
    }
    Ok(traces)
}

/// All runs in one recording.
///
/// # Errors
/// How the command ends; why has been said.
pub fn read_all(path: &Path, from: Option<&str>, report: &Report) -> Result<Vec<Trace>, Exit> {
    let bytes = files::read(path).map_err(|problem| said(&[problem], Exit::Usage, report))?;
    let read = busy(report, "reading", || compiler::read(&files::name(path), &bytes, from));
    let (traces, notes) = read.map_err(|problems| said(&placed(problems, path), Exit::Invalid, report))?;
    report.say_all(&placed(notes, path));
    Ok(traces)
}

fn read_one(path: &Path, options: &TraceOptions, report: &Report) -> Result<Vec<Trace>, Exit> {
    let mut traces = read_all(path, options.from.as_deref(), report)?;
    if options.all_runs {
        return Ok(traces);
    }
    let ids: Vec<String> = traces.iter().enumerate().map(|(index, trace)| id(trace, index)).collect();
    let Some(wanted) = &options.run else {
        if traces.len() > 1 {
            let problem = several(path, &ids);
            return Err(said(&[problem], Exit::Usage, report));
        }
        return Ok(traces);
    };
    match ids.iter().position(|id| id == wanted) {
        Some(index) => Ok(vec![traces.swap_remove(index)]),
        None => {
            let message = format!("the recording has no run `{wanted}`");
            let problem = Diagnostic::new(Severity::Error, "no-such-run", files::name(path), message).candidates(ids);
            Err(said(&[problem], Exit::Usage, report))
        }
    }
}

/// What a run is called: by its own id, else by its place in the recording, from 1.
fn id(trace: &Trace, index: usize) -> String {
    trace.id.as_ref().map_or_else(|| (index + 1).to_string(), ToString::to_string)
}

fn several(path: &Path, ids: &[String]) -> Diagnostic {
    let message = format!("the recording holds {} runs", ids.len());
    Diagnostic::new(Severity::Error, "several-runs", files::name(path), message)
        .candidates(ids.iter().cloned())
        .help("--run ID takes one of them, --all-runs takes them as runs of one task")
}

/// What the registry knows of the servers in the recordings, but for how they are reached: a workflow finds that in the registry when it runs.
fn apply_registry(traces: &mut [Trace], store: &StoreArguments, report: &Report) -> Result<(), Exit> {
    let names: BTreeSet<SmolStr> = traces.iter().flat_map(|trace| trace.servers.iter().map(|server| server.name.clone())).collect();
    let list = opened::operate(store, "list_mcp_servers", opened::entries([("limit", Some(1000_i64.into()))]), report)?;
    let listed = list.get("servers").and_then(Value::as_array).unwrap_or_default();
    let known: BTreeSet<&str> = listed.iter().filter_map(|server| server.get("name")?.as_str()).collect();
    let mut found = Object::default();
    for name in names.iter().filter(|name| known.contains(name.as_str())) {
        let server = opened::operate(store, "get_mcp_server", opened::entries([("server_name", Some(name.as_str().into()))]), report)?;
        let parts = ["tools", "tags", "compile_hints"].map(|key| (key, server.get(key).cloned()));
        found.insert(name.clone(), opened::entries(parts).into());
    }
    let taken: Vec<&str> = found.keys().map(SmolStr::as_str).collect();
    let sentence = if taken.is_empty() {
        "the registry knows no server of these recordings".to_owned()
    } else {
        format!("from the registry: {}", taken.join(", "))
    };
    report.tell("registry", &sentence);
    let found = [("mcpServers", Value::Object(found))].into_iter().collect::<Object>().into();
    for trace in traces {
        report.say_all(&compiler::apply_servers(trace, &found));
    }
    Ok(())
}

/// A file of hints is a map from servers to hints; where the recordings have one server, it may be the hints themselves.
fn apply_hints(traces: &mut [Trace], path: &Path, report: &Report) -> Result<(), Exit> {
    let file = documents::read_value(path, report)?;
    let names: BTreeSet<SmolStr> = traces.iter().flat_map(|trace| trace.servers.iter().map(|server| server.name.clone())).collect();
    let keys: Vec<&SmolStr> = file.as_object().into_iter().flat_map(|map| map.keys()).collect();
    let only = names.first().filter(|_| names.len() == 1 && keys.iter().all(|key| !names.contains(*key)));
    let by_server: Value = match only {
        Some(name) => [(name.clone(), file)].into_iter().collect::<Object>().into(),
        None => file,
    };
    let hints = compiler::hints(&by_server).map_err(|problems| said(&placed(problems, path), Exit::Invalid, report))?;
    let mut unknown: Option<Vec<Diagnostic>> = None;
    for trace in traces {
        let said = compiler::apply_hints(trace, hints.clone());
        // One recording may lack a server that another has: only what none of them has is worth a word.
        unknown = Some(match unknown {
            None => said,
            Some(before) => before.into_iter().filter(|diagnostic| said.contains(diagnostic)).collect(),
        });
    }
    report.say_all(&placed(unknown.unwrap_or_default(), path));
    Ok(())
}

/// The value of a JSON file.
///
/// # Errors
/// How the command ends; why has been said.
pub fn read_json(path: &Path, report: &Report) -> Result<Value, Exit> {
    let bytes = files::read(path).map_err(|problem| said(&[problem], Exit::Usage, report))?;
    json::parse(&bytes).map_err(|error| {
        let problem = Diagnostic::new(Severity::Error, "bad-json", files::name(path), format!("the file is no JSON: {error}"));
        said(&[problem], Exit::Invalid, report)
    })
}

/// Says `problems` and passes `exit` on.
pub fn said(problems: &[Diagnostic], exit: Exit, report: &Report) -> Exit {
    report.say_all(problems);
    exit
}

/// `diagnostics` with the file that they are about before their places.
pub fn placed(mut diagnostics: Vec<Diagnostic>, path: &Path) -> Vec<Diagnostic> {
    let name = files::name(path);
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| !diagnostic.place.starts_with(&name)) {
        diagnostic.place = if diagnostic.place.is_empty() { name.clone() } else { format!("{name}: {}", diagnostic.place) };
    }
    diagnostics
}
