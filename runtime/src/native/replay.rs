//! A native workflow in the world of its recording: it must do what was recorded, under the step keys of the YAML.
//!
//! The recording is that of `tests/recording.json` in a written crate: for each run its input, its calls in order, and its output.

use super::NativeWorkflow;
use crate::durable::{Durable, Interrupted, Performed};
use crate::engine::Rest;
use crate::observe::Unobserved;
use crate::preflight;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey};
use ltc_workflow::{Object, Value, json};
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Runs `workflow` against each run of `recording`.
///
/// # Errors
/// The first thing that is not as recorded.
pub fn replay(workflow: &NativeWorkflow, recording: &str) -> Result<(), String> {
    let recording = json::parse(recording.as_bytes()).map_err(|error| format!("the recording is no JSON: {error}"))?;
    let runs = recording.get("runs").and_then(Value::as_array).filter(|runs| !runs.is_empty()).ok_or("the recording has no runs")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let in_order = !preflight::goes_on_at_once(&workflow.read()?);
    for (number, run) in runs.iter().enumerate() {
        runtime.block_on(one(workflow, run, in_order)).map_err(|why| format!("run {}: {why}", number + 1))?;
    }
    Ok(())
}

async fn one(workflow: &NativeWorkflow, run: &Value, in_order: bool) -> Result<(), String> {
    let text = |key: &str| SmolStr::new(run.get(key).and_then(Value::as_str).unwrap_or_default());
    let object = |key: &str| run.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
    let secrets = object("secrets").iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.into()))).collect();
    let start = Start { input: object("input"), secrets, started_at: text("started_at"), id: "replay".into() };
    let steps = run.get("steps").and_then(Value::as_array).unwrap_or_default();
    let made = Made { missing: steps.to_vec(), wrong: None };
    let world = Recorded { in_order, made: Mutex::new(made) };
    let rest = workflow.run(start, &world, &Unobserved).await;
    let made = world.made.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(wrong) = &made.wrong {
        return Err(wrong.clone());
    }
    if let Some(missing) = made.missing.first() {
        return Err(format!("the step {} was not done", key_of(missing)));
    }
    match rest {
        Rest::Done(output) if Some(&output) == run.get("output") => Ok(()),
        Rest::Done(output) => {
            let expected = run.get("output").map(json::to_string).unwrap_or_default();
            Err(format!("the output is {} instead of {expected}", json::to_string(&output)))
        }
        Rest::Failed(Failure { code, message, step }) => {
            Err(format!("it failed{} with {code}: {message}", step.map(|step| format!(" in {step}")).unwrap_or_default()))
        }
        Rest::Waiting { .. } | Rest::Interrupted(_) => Err("it waits for somebody".to_owned()),
    }
}

fn key_of(step: &Value) -> &str {
    step.get("step").and_then(Value::as_str).unwrap_or_default()
}

/// The world of a recorded run: each step comes once, with its arguments, and in its order where no two go on at once.
struct Recorded {
    in_order: bool,
    made: Mutex<Made>,
}

struct Made {
    /// What was recorded and is not done yet.
    missing: Vec<Value>,
    wrong: Option<String>,
}

impl Durable for Recorded {
    fn recorded(&self) -> BTreeMap<StepKey, Ended> {
        BTreeMap::new()
    }

    fn perform<'d>(&'d self, key: &'d StepKey, effect: &'d Effect) -> BoxFuture<'d, Result<Performed, Interrupted>> {
        ready(Ok(Performed::Ended(self.answer(key, effect)))).boxed()
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), Interrupted>> {
        ready(Ok(())).boxed()
    }

    /// Nothing is under way: every answer is there at once.
    fn wind_down(&self) {}
}

impl Recorded {
    fn answer(&self, key: &StepKey, effect: &Effect) -> Ended {
        if let Effect::Sleep(_) = effect {
            return Ended::Succeeded(Value::Null);
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let done = described(key, effect);
        let place = if self.in_order { Some(0) } else { made.missing.iter().position(|step| key_of(step) == key.0) };
        let difference = match place.and_then(|place| made.missing.get(place)) {
            None => Some(format!("{} is done, and was not recorded", json::to_string(&done))),
            Some(step) => {
                let expected: Object = step
                    .as_object()
                    .into_iter()
                    .flat_map(|step| step.iter())
                    .filter(|(key, _)| *key != "result")
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                (Value::Object(expected.clone()) != done)
                    .then(|| format!("{} is done instead of {}", json::to_string(&done), json::to_string(&Value::Object(expected))))
            }
        };
        match (difference, place) {
            (None, Some(place)) => {
                let step = made.missing.remove(place);
                Ended::Succeeded(step.get("result").cloned().unwrap_or_default())
            }
            (difference, _) => {
                made.wrong = made.wrong.take().or(difference);
                Ended::Failed(Failure {
                    code: "not-recorded".into(),
                    message: "the recording has no answer".to_owned(),
                    step: Some(key.clone()),
                })
            }
        }
    }
}

/// An effect as a recording has it, without its end.
fn described(key: &StepKey, effect: &Effect) -> Value {
    let text = |text: &str| Value::from(text);
    let step = ("step", text(&key.0));
    let entries = match effect {
        Effect::Call { server, tool, arguments, .. } => {
            vec![step, ("server", text(server)), ("tool", text(tool)), ("arguments", Value::Object(arguments.clone()))]
        }
        Effect::Sleep(_) => vec![step],
        Effect::Escalate { role, message, .. } => vec![step, ("role", text(role)), ("message", text(message))],
        Effect::Run { workflow, input, .. } => vec![step, ("workflow", text(workflow)), ("input", Value::Object(input.clone()))],
    };
    Value::Object(entries.into_iter().collect())
}
