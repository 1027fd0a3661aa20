//! Crates of workflows that no recording becomes: those that somebody wrote by hand, and those of tools whose schemas are hostile.
//!
//! `written/NAME.yaml` is the workflow. `written/NAME.json` is a trace: its servers have the schemas, and each of its calls says what the step answers
//! whose key is the call's id, or, where no step has it, what the tool answers.

use ltc_compiler::emit::{self, Recorded, Source};
use ltc_compiler::identifiers::server_name;
use ltc_compiler::ingest;
use ltc_compiler::trace::{Outcome, Trace};
use ltc_workflow::advance::{Effect, Ended, Start, StepKey, World, run_in};
use ltc_workflow::{Object, Value, yaml};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Writes a crate for each wanted workflow in `sources` into `folder`; their names.
pub fn write_all(sources: &Path, folder: &Path, runtime: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut documents: Vec<_> = std::fs::read_dir(sources).expect("the workflows").filter_map(|entry| Some(entry.ok()?.path())).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    documents.sort();
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    documents.retain(|path| is_wanted(&name(path)));
    documents.iter().for_each(|path| write(path, &folder.join(name(path)), runtime));
    documents.iter().map(|path| name(path)).collect()
}

fn write(document: &Path, folder: &Path, runtime: &Path) {
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let trace = text(&document.with_extension("json"));
    let mut read = ingest::read("trace.json", trace.as_bytes(), None).unwrap_or_else(|why| panic!("{}: {why:?}", document.display()));
    let trace = read.traces.pop().expect("one trace");
    let document = text(document);
    let workflow = yaml::read(&document).unwrap_or_else(|why| panic!("{why:?}"));
    let mut world = Answers { by_key: answers(&trace), steps: Vec::new() };
    let start = Start { input: trace.input.clone().unwrap_or_default(), id: "run".into(), ..Start::default() };
    let output = run_in(&workflow, &start, &mut world).unwrap_or_else(|failure| panic!("{}: {failure:?}", workflow.name));
    let run = [("input", start.input.into()), ("steps", Value::array(world.steps)), ("output", output)];
    let runs = Value::array(vec![run.into_iter().collect::<Object>().into()]);
    let recording: Value = [("runs", runs)].into_iter().collect::<Object>().into();
    let calls: Vec<Recorded> = trace
        .calls
        .iter()
        .filter_map(|call| {
            let (server, tool, arguments) = (server_name(&call.server), call.tool.clone(), call.arguments.clone());
            Some(Recorded { server, tool, arguments, result: result(&call.outcome)? })
        })
        .collect();
    let runtime = runtime.display().to_string();
    let source = Source {
        workflow: &workflow,
        document: &document,
        servers: &trace.servers,
        calls: &calls,
        origins: &BTreeMap::new(),
        recording: &recording,
        runtime_path: Some(&runtime),
    };
    for file in emit::files(&source).unwrap_or_else(|why| panic!("{}: {why}", workflow.name)) {
        let path = folder.join(file.path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        std::fs::write(&path, emit::headed(file.path, &file.text, &document)).expect("it can be written");
    }
    // The command lays out what it writes; rustfmt follows the modules.
    let files = ["src/lib.rs", "src/main.rs", "tests/replay.rs"].map(|file| folder.join(file));
    let laid_out = Command::new("rustfmt").args(["--edition", "2024"]).args(files).status().expect("rustfmt can be started");
    assert!(laid_out.success(), "{}", workflow.name);
}

fn result(outcome: &Outcome) -> Option<Value> {
    match outcome {
        Outcome::Result(body) => Some(body.decode()),
        _ => None,
    }
}

/// What each step or tool answers.
fn answers(trace: &Trace) -> BTreeMap<String, Value> {
    let mut answers = BTreeMap::new();
    for call in &trace.calls {
        let Some(value) = result(&call.outcome) else { continue };
        answers.entry(call.tool.to_string()).or_insert_with(|| value.clone());
        answers.insert(call.id.to_string(), value);
    }
    answers
}

/// A world that answers by key or tool, and writes down what it is asked as recordings have it.
struct Answers {
    by_key: BTreeMap<String, Value>,
    steps: Vec<Value>,
}

impl World for Answers {
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended {
        let text = |text: &str| Value::from(text);
        let (tool, said) = match effect {
            Effect::Sleep(_) => return Ended::Succeeded(Value::Null),
            Effect::Call { server, tool, arguments, .. } => {
                (tool.to_string(), vec![("server", text(&server)), ("tool", text(&tool)), ("arguments", arguments.into())])
            }
            Effect::Escalate { role, message, .. } => (String::new(), vec![("role", text(&role)), ("message", text(&message))]),
            Effect::Run { workflow, input, .. } => (String::new(), vec![("workflow", text(&workflow)), ("input", input.into())]),
        };
        let result = self.by_key.get(key.0.as_str()).or_else(|| self.by_key.get(&tool)).cloned().unwrap_or_default();
        let step = [("step", text(&key.0))].into_iter().chain(said).chain([("result", result.clone())]);
        self.steps.push(step.collect::<Object>().into());
        Ended::Succeeded(result)
    }
}
