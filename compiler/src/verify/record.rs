//! What a workflow does in the world of its recording, step by step: what a Rust crate is held against.
//!
//! Before: a workflow that replays. After: for each run its input, each effect under its step key with what it gave, and the output. Secrets
//! are replaced by their names before the workflow runs, so that what is written down holds none and still fits together.

use super::recording::Recording;
use super::secrets::Learned;
use super::start;
use crate::script::{self, Given, Script};
use crate::secrecy::Secrets;
use crate::trace::Trace;
use ltc_workflow::advance::{Effect, Ended, Start, StepKey, World, run_in};
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The runs of `scripts`, as the workflow does them.
pub fn record(workflow: &Workflow, scripts: &[Script], given: &[Given], secrets: &Secrets) -> Value {
    let runs: Vec<Value> = scripts.iter().zip(given).filter_map(|(script, given)| run(workflow, script, given, secrets)).collect();
    Value::Object([("runs", Value::array(runs))].into_iter().collect())
}

/// The runs of `traces`, none of which knows a secret, as the workflow does them.
pub fn record_traces(workflow: &Workflow, traces: &[Trace], partial: bool) -> Value {
    let scripts: Vec<Script> = traces.iter().map(|trace| script::read(trace, partial, &mut Vec::new())).collect();
    let given = |script: &Script| Given { input: script.input.clone(), secrets: BTreeMap::new() };
    record(workflow, &scripts, &scripts.iter().map(given).collect::<Vec<_>>(), &Secrets::default())
}

fn run(workflow: &Workflow, script: &Script, given: &Given, secrets: &Secrets) -> Option<Value> {
    let known = start::known(workflow, script, &given.input, given.secrets.clone());
    let replay = Recording::new(script, None).replay(workflow, &known, &Learned::default());
    let value = |call: usize| script.calls.get(call).map(|act| hidden(&act.value, secrets));
    let values = replay.made.into_iter().filter_map(|made| Some((made.step, value(made.call?)?))).collect();
    let names = workflow.secrets.iter().map(|name| (name.clone(), SmolStr::new(format!("[secret {name}]")))).collect();
    let start = Start { input: hidden_object(&known.input, secrets), secrets: names, ..known };
    let mut world = Told { values, steps: Vec::new() };
    // A workflow that fails in the world of its recording is none that is written.
    let output = run_in(workflow, &start, &mut world).ok()?;
    let texts = start.secrets.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect::<Object>();
    let entries = [
        ("input", Value::Object(start.input)),
        ("secrets", Value::Object(texts)),
        ("started_at", Value::String(start.started_at)),
        ("steps", Value::array(world.steps)),
        ("output", output),
    ];
    Some(Value::Object(entries.into_iter().collect()))
}

/// A world that answers by step, and writes down what it is asked.
struct Told {
    values: BTreeMap<StepKey, Value>,
    steps: Vec<Value>,
}

impl World for Told {
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended {
        let step = ("step", Value::String(key.0.clone()));
        let result = self.values.get(key).cloned().unwrap_or_default();
        let entries = match effect {
            Effect::Sleep(_) => return Ended::Succeeded(Value::Null),
            Effect::Call { server, tool, arguments, .. } => {
                vec![step, ("server", Value::String(server)), ("tool", Value::String(tool)), ("arguments", Value::Object(arguments))]
            }
            Effect::Escalate { role, message, .. } => vec![step, ("role", Value::String(role)), ("message", Value::string(message))],
            Effect::Run { workflow, input, .. } => vec![step, ("workflow", Value::String(workflow)), ("input", Value::Object(input))],
        };
        let entries = entries.into_iter().chain([("result", result.clone())]);
        self.steps.push(Value::Object(entries.collect()));
        Ended::Succeeded(result)
    }
}

fn hidden(value: &Value, secrets: &Secrets) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::string(secrets.hide(text)),
        Value::Array(items) => items.iter().map(|item| hidden(item, secrets)).collect(),
        Value::Object(object) => Value::Object(hidden_object(object, secrets)),
    }
}

fn hidden_object(object: &Object, secrets: &Secrets) -> Object {
    object.iter().map(|(key, value)| (SmolStr::new(secrets.hide(key)), hidden(value, secrets))).collect()
}
