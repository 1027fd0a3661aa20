//! A folder of `fixtures/cases`: read, compiled, and held against what must be so.

use crate::must::{self, Must};
use crate::support::world;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_compiler::emit::File;
use ltc_compiler::trace::{Outcome, Trace};
use ltc_compiler::{Compilation, Options, compile, emit_rust, hints, ingest};
use ltc_workflow::advance::Start;
use ltc_workflow::{Object, Value, Workflow, json, yaml};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What `run.started_at` is in every replay.
const STARTED_AT: &str = "2031-05-06T07:08:09Z";

/// A case, as its folder says it.
pub struct Case {
    pub folder: PathBuf,
    pub must: Must,
    /// The recordings that are compiled, by file name without its end.
    pub recordings: Vec<(String, Trace)>,
    /// Other recordings of the same task.
    pub worlds: Vec<(String, Trace)>,
}

/// What the compiler made of it, as the texts that a person sees.
pub struct Made {
    pub workflow: Option<Workflow>,
    pub print: String,
    pub diagnostics: String,
    pub explanation: String,
    compilation: Compilation,
}

/// Reads the folder of a case.
pub fn read(folder: &Path) -> Result<Case, String> {
    read_with(folder, &|_, bytes| bytes)
}

/// What is done to a recording before it is read: its name, and its bytes.
pub type Change<'c> = &'c dyn Fn(&mut String, Vec<u8>) -> Vec<u8>;

/// Reads the folder of a case, with its recordings changed.
pub fn read_with(folder: &Path, change: Change<'_>) -> Result<Case, String> {
    let case = Case {
        must: must(folder)?,
        recordings: recordings(folder, folder, change)?,
        worlds: recordings(folder, &folder.join("worlds"), change)?,
        folder: folder.to_owned(),
    };
    if case.recordings.is_empty() {
        return Err("there is no recording.json and no 1.json".to_owned());
    }
    Ok(case)
}

/// What must be so about the case in `folder`.
pub fn must(folder: &Path) -> Result<Must, String> {
    let text = fs::read_to_string(folder.join("expect/must.yaml")).map_err(|e| format!("expect/must.yaml: {e}"))?;
    must::read(&text)
}

/// The recordings in `at`, with the hints and servers of `folder` applied.
fn recordings(folder: &Path, at: &Path, change: Change<'_>) -> Result<Vec<(String, Trace)>, String> {
    let Ok(entries) = fs::read_dir(at) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "json") && f.file_name().is_some_and(|n| n != "servers.json"));
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&file).map_err(|e| format!("{name}: {e}"))?;
        let mut file_name = name.clone();
        let bytes = change(&mut file_name, bytes);
        let mut traces = match ingest::read(&file_name, &bytes, None) {
            Ok(ingested) => ingested.traces,
            Err(errors) if errors.iter().all(|d| d.code == "no-tool-calls") => vec![without_calls(&bytes)?],
            Err(errors) => return Err(format!("{name} is refused: {}", lines(&errors))),
        };
        for trace in &mut traces {
            beside(folder, trace)?;
        }
        found.extend(traces.into_iter().map(|trace| (name.clone(), trace)));
    }
    Ok(found)
}

/// A world in which there is nothing to do.
fn without_calls(bytes: &[u8]) -> Result<Trace, String> {
    let value = json::parse(bytes).map_err(|e| e.to_string())?;
    let input = value.get("input").and_then(Value::as_object).cloned();
    Ok(Trace { input, output: value.get("output").cloned(), ..Trace::default() })
}

/// Applies `servers.json` and `hints.yaml`, where they are.
fn beside(folder: &Path, trace: &mut Trace) -> Result<(), String> {
    if let Ok(bytes) = fs::read(folder.join("servers.json")) {
        let servers = json::parse(&bytes).map_err(|e| format!("servers.json: {e}"))?;
        let wrong = ingest::apply_servers(trace, &servers);
        if wrong.iter().any(|d| d.severity == Severity::Error) {
            return Err(format!("servers.json: {}", lines(&wrong)));
        }
    }
    if let Ok(text) = fs::read_to_string(folder.join("hints.yaml")) {
        let (value, _) = yaml::read_value(&text).map_err(|p| format!("hints.yaml: {p:?}"))?;
        let hints = hints::read_all(&value).map_err(|d| format!("hints.yaml: {}", lines(&d)))?;
        let wrong = ingest::apply_hints(trace, hints);
        if !wrong.is_empty() {
            return Err(format!("hints.yaml: {}", lines(&wrong)));
        }
    }
    Ok(())
}

/// One diagnostic a line, sorted.
fn lines(diagnostics: &[Diagnostic]) -> String {
    let mut lines: Vec<String> = diagnostics.iter().map(line).collect();
    lines.sort();
    lines.iter().map(|l| format!("{l}\n")).collect()
}

fn line(d: &Diagnostic) -> String {
    let place = if d.place.is_empty() { String::new() } else { format!(" {}:", d.place) };
    let candidates = if d.candidates.is_empty() { String::new() } else { format!(" | candidates: {}", d.candidates.join(", ")) };
    let help = d.help.as_ref().map(|h| format!(" | help: {h}")).unwrap_or_default();
    format!("{} {}{place} {}{candidates}{help}", d.severity.name(), d.code, d.message)
}

impl Case {
    /// Compiles the recordings.
    pub fn compile(&self) -> Made {
        let traces: Vec<Trace> = self.recordings.iter().map(|(_, trace)| trace.clone()).collect();
        let name = self.folder.file_name().map(|n| n.to_string_lossy().into_owned());
        let compilation = compile(&traces, &Options { name, partial: self.must.partial, record: true });
        Made {
            workflow: compilation.workflow.clone(),
            print: compilation.workflow.as_ref().map(yaml::print).unwrap_or_default(),
            diagnostics: lines(&compilation.diagnostics),
            explanation: compilation.explanation.to_text(),
            compilation,
        }
    }

    /// The crate that is written of it.
    pub fn rust(&self, made: &Made) -> Result<Vec<File>, String> {
        let traces: Vec<Trace> = self.recordings.iter().map(|(_, trace)| trace.clone()).collect();
        emit_rust(&made.compilation, &traces, &made.print, None)
    }

    /// Everything about `made` that must be otherwise.
    pub fn mistakes(&self, made: &Made) -> Vec<String> {
        let mut found = self.reported(made);
        let missing = |what: &str, list: &[String], text: &str| -> Vec<String> {
            list.iter().filter(|f| !text.contains(f.as_str())).map(|f| format!("the {what} lacks `{f}`")).collect()
        };
        found.extend(missing("workflow", &self.must.contains, &made.print));
        found.extend(missing("explanation", &self.must.explains, &made.explanation));
        found.extend(self.must.lacks.iter().filter(|f| made.print.contains(f.as_str())).map(|f| format!("the workflow has `{f}`")));
        match (&made.workflow, self.must.refused) {
            (None, false) => found.push("nothing was compiled".to_owned()),
            (Some(_), true) => found.push("it was compiled, and should have been refused".to_owned()),
            (None, true) => {}
            (Some(workflow), false) => found.extend(self.runs(workflow, made)),
        }
        found
    }

    fn reported(&self, made: &Made) -> Vec<String> {
        let must = &self.must;
        let reports: Vec<(&Diagnostic, String)> = made.compilation.diagnostics.iter().map(|d| (d, line(d))).collect();
        let is = |(code, says): &(String, String), (d, line): &(&Diagnostic, String)| d.code == code && line.contains(says.as_str());
        let mut found = Vec::new();
        for wanted in must.diagnostics.iter().filter(|wanted| !reports.iter().any(|r| is(wanted, r))) {
            found.push(format!("`{}` is not reported, saying `{}`", wanted.0, wanted.1));
        }
        for report in &reports {
            let listed = must.diagnostics.iter().any(|wanted| is(wanted, report));
            if must.no_diagnostics.iter().any(|code| report.0.code == code) {
                found.push(format!("this must not be reported: {}", report.1));
            } else if report.0.severity <= Severity::Question && !listed {
                found.push(format!("this is reported, and must.yaml does not know it: {}", report.1));
            }
        }
        found
    }

    /// What runs of the workflow do wrong, and what is wrong with the document.
    fn runs(&self, workflow: &Workflow, made: &Made) -> Vec<String> {
        let mut found = Vec::new();
        match yaml::read(&made.print) {
            Ok(read) if read != *workflow => found.push("what is printed reads as another workflow".to_owned()),
            Ok(read) if yaml::print(&read) != made.print => found.push("what is read prints otherwise".to_owned()),
            Ok(_) => {}
            Err(problems) => found.extend(problems.iter().map(|p| format!("the printed workflow is refused: {p}"))),
        }
        let inputs: BTreeSet<String> = workflow.inputs.keys().map(ToString::to_string).collect();
        if inputs != self.must.inputs {
            found.push(format!("the inputs are {inputs:?} and should be {:?}", self.must.inputs));
        }
        if self.must.replay {
            for ((name, trace), given) in self.recordings.iter().zip(&made.compilation.given) {
                found.extend(self.run(workflow, name, trace, given, &self.must.left_out));
            }
        }
        for (name, trace) in &self.worlds {
            let given = trace.input.clone().unwrap_or_default();
            found.extend(self.run(workflow, &format!("worlds/{name}"), trace, &given, &BTreeSet::new()));
        }
        found
    }

    fn run(&self, workflow: &Workflow, name: &str, trace: &Trace, given: &Object, left_out: &BTreeSet<String>) -> Vec<String> {
        let input = match workflow.fill_defaults(given) {
            Ok(input) => input,
            Err(failure) => return vec![format!("{name}: {}", failure.message)],
        };
        let secrets = self.must.secrets.iter().map(|(k, v)| (k.into(), v.into())).collect();
        let start = Start { input, secrets, started_at: STARTED_AT.into(), id: "run".into() };
        world::differences(workflow, trace, &start, left_out).into_iter().map(|d| format!("{name}: {d}")).collect()
    }

    /// Secrets of must.yaml, and names that only the compiler knows, that stand in anything that people see; and inputs that are used
    /// without being named.
    pub fn leaks(&self, made: &Made) -> Vec<String> {
        let texts = [("workflow", &made.print), ("diagnostics", &made.diagnostics), ("explanation", &made.explanation)];
        let leaks = |(name, value): (&String, &String)| {
            let places = texts.iter().filter(move |(_, text)| text.contains(value.as_str()));
            places.map(|(what, _)| format!("the {what} shows the secret {name}")).collect::<Vec<_>>()
        };
        let inner = texts.iter().filter(|(_, text)| text.contains("__n")).map(|(what, _)| format!("the {what} shows a name like __n0__"));
        let all = made.print.contains("\"${{ inputs }}\"").then(|| "all inputs together are a value".to_owned());
        self.must.secrets.iter().flat_map(leaks).chain(inner).chain(all).collect()
    }

    /// Ids of must.yaml that no recording has: a slip of the pen that would make a check say nothing.
    pub fn slips(&self) -> Vec<String> {
        let calls = || self.recordings.iter().flat_map(|(_, trace)| &trace.calls);
        let succeeded = |id: &str| calls().any(|c| c.id == id && matches!(c.outcome, Outcome::Result(_)));
        let ids = self.must.left_out.iter().filter(|id| !succeeded(id)).map(|id| format!("no call {id} succeeded"));
        ids.collect()
    }
}
