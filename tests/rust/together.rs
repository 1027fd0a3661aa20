//! All written crates in one test: each replays its recording, and does in other worlds what its YAML does there.
//!
//! A world is the recorded one, changed at random: values dropped, replaced by null or by something of another type, lists made longer, shorter or
//! empty; in some of them calls fail, and in some each takes a time of its own. The crate and the interpreter must ask for the same effects under the
//! same keys, in the same order, and come to the same rest. The one difference is the documented one: where a value is not of the type that its schema
//! promises, the crate fails, and the interpreter need not.

use ltc_runtime::durable::{Durable, Interrupted, Performed};
use ltc_runtime::engine::{self, Rest};
use ltc_runtime::native::{NativeWorkflow, Object, Value, replay};
use ltc_runtime::observe::Unobserved;
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey};
use ltc_workflow::json;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

include!("crates.rs");

/// Worlds for each recorded run.
const WORLDS: u64 = 60;

#[test]
fn every_crate_does_what_was_recorded() {
    let wrong: Vec<String> = crates()
        .into_iter()
        .filter_map(|(name, workflow, recording)| replay(&workflow, recording).err().map(|why| format!("{name}: {why}")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_does_in_other_worlds_what_its_yaml_does() {
    // Time passes as soon as nothing else can happen.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    let (mut wrong, mut worlds, mut failed, mut stricter) = (Vec::new(), 0, 0, 0);
    for (name, native, recording) in crates() {
        let (document, source) = (native.read().expect("the workflow is read"), native.document());
        let recording = json::parse(recording.as_bytes()).expect("a recording");
        for run in recording.get("runs").and_then(Value::as_array).unwrap_or_default() {
            for seed in 0..WORLDS {
                worlds += 1;
                let (yaml, rust) = (World::new(run, seed), World::new(run, seed));
                let start = start(run);
                let interpreted = runtime.block_on(engine::run(&document, &start, &yaml, &Unobserved));
                let native = runtime.block_on(native.run(start, &rust, &Unobserved));
                failed += u64::from(matches!(interpreted, Rest::Failed(_)));
                let (asked, own) = (yaml.asked(), rust.asked());
                let same_rest = match (&interpreted, &native) {
                    (Rest::Failed(a), Rest::Failed(b)) => a.code == b.code && a.step == b.step,
                    (a, b) => a == b,
                };
                let is_stricter = matches!(&native, Rest::Failed(failure) if ["wrong-type", "result-mismatch"].contains(&failure.code.as_str()));
                if same_rest && asked == own {
                    continue;
                }
                // What goes on at once with the step that fails may not have come as far.
                let at_once = ["at_once:", "parallel:"].iter().any(|word| source.contains(word));
                if is_stricter && (asked.starts_with(&own) || at_once && own.iter().all(|effect| asked.contains(effect))) {
                    stricter += 1;
                    continue;
                }
                let at = asked.iter().zip(&own).position(|(a, b)| a != b).unwrap_or(asked.len().min(own.len()));
                let asked = format!("yaml asked {:?}\n  rust asked {:?}", asked.get(at), own.get(at));
                wrong.push(format!("{name}, world {seed}:\n  yaml {interpreted:?}\n  rust {native:?}\n  {asked}"));
            }
        }
    }
    println!("{worlds} worlds, in {failed} of which the YAML fails, in {stricter} only the crate");
    assert!(worlds > 0 && failed > 0 && failed < worlds, "the worlds differ: {failed} of {worlds} fail");
    assert!(wrong.is_empty(), "{} worlds differ\n{}", wrong.len(), wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n"));
}

fn start(run: &Value) -> Start {
    let object = |key: &str| run.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
    let secrets = object("secrets").iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.into()))).collect();
    let started_at = run.get("started_at").and_then(Value::as_str).unwrap_or_default().into();
    Start { input: object("input"), secrets, started_at, id: "together".into() }
}

struct World {
    by_key: BTreeMap<String, Value>,
    by_tool: BTreeMap<(String, String), Value>,
    asked: Mutex<Vec<(StepKey, Effect)>>,
    seed: u64,
}

impl World {
    fn new(run: &Value, seed: u64) -> World {
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (mut by_key, mut by_tool) = (BTreeMap::new(), BTreeMap::new());
        for step in run.get("steps").and_then(Value::as_array).unwrap_or_default() {
            let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let result = step.get("result").cloned().unwrap_or_default();
            // The first world is the recorded one, and many others differ in few places.
            let result = if seed == 0 { result } else { chance.changed(&result, seed % 4 + 1) };
            by_tool.entry((text("server"), text("tool"))).or_insert_with(|| result.clone());
            by_key.insert(text("step"), result);
        }
        World { by_key, by_tool, asked: Mutex::default(), seed }
    }

    fn asked(&self) -> Vec<(StepKey, Effect)> {
        self.asked.lock().expect("nobody panics").clone()
    }

    /// What happens to this step by chance, whoever asks for it.
    fn chance(&self, key: &StepKey) -> Chance {
        let seed = key.0.bytes().fold(self.seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
        Chance(seed | 1)
    }

    /// How long a step takes.
    fn duration(&self, key: &StepKey) -> Duration {
        if self.seed % 3 == 2 { Duration::from_millis(self.chance(key).below(40)) } else { Duration::ZERO }
    }

    fn answer(&self, key: &StepKey, effect: &Effect) -> Ended {
        let mut asked = self.asked.lock().expect("nobody panics");
        asked.push((key.clone(), effect.clone()));
        let failed = |code: &str| Ended::Failed(Failure { code: code.into(), message: code.to_owned(), step: Some(key.clone()) });
        if self.seed % 5 == 4 && self.chance(key).below(6) == 0 {
            return failed("tool-error");
        }
        // A loop that a changed world keeps from ending ends here, for both.
        if asked.len() > 200 {
            return failed("enough");
        }
        match effect {
            Effect::Sleep(_) | Effect::Escalate { .. } | Effect::Run { .. } => Ended::Succeeded(Value::Null),
            Effect::Call { server, tool, .. } => {
                let known = self.by_key.get(key.0.as_str()).or_else(|| self.by_tool.get(&(server.to_string(), tool.to_string())));
                known.map_or_else(|| failed("not-recorded"), |value| Ended::Succeeded(value.clone()))
            }
        }
    }
}

impl Durable for World {
    fn recorded(&self) -> BTreeMap<StepKey, Ended> {
        BTreeMap::new()
    }

    fn perform<'d>(
        &'d self,
        key: &'d StepKey,
        effect: &'d Effect,
    ) -> Pin<Box<dyn Future<Output = Result<Performed, Interrupted>> + Send + 'd>> {
        Box::pin(async move {
            let (ended, duration) = (self.answer(key, effect), self.duration(key));
            if !duration.is_zero() {
                tokio::time::sleep(duration).await;
            }
            Ok(Performed::Ended(ended))
        })
    }

    fn settle(&self) -> Pin<Box<dyn Future<Output = Result<(), Interrupted>> + Send + '_>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Numbers that are the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn changed(&mut self, value: &Value, often: u64) -> Value {
        if self.below(40) < often {
            return match self.below(6) {
                0 => Value::Null,
                1 => Value::from("other"),
                2 => Value::from(7_i64),
                3 => Value::from(true),
                4 => Value::array(Vec::new()),
                _ => Value::Object(Object::default()),
            };
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => match self.below(12) {
                0 => Value::from(format!("{text}'\"{{}}").as_str()),
                1 => Value::from(""),
                _ => value.clone(),
            },
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(|item| self.changed(item, often)).collect();
                match self.below(10) {
                    0 => items.clear(),
                    1 => drop(items.pop()),
                    2 => items.extend(items.last().cloned()),
                    3 => items.reverse(),
                    _ => {}
                }
                Value::array(items)
            }
            Value::Object(object) => {
                let mut kept = Vec::new();
                for (key, value) in object.iter() {
                    if self.below(60) >= often {
                        kept.push((key.clone(), self.changed(value, often)));
                    }
                }
                Value::Object(Object::from_entries(kept))
            }
        }
    }
}
