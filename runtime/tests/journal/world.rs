//! A world of tools that remembers what was done in it, and notes what should not have been asked of it.

use crate::memory::{Cut, Memory};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_runtime::journal::{Call, World};
use ltc_runtime::store::What;
use ltc_workflow::advance::{Failure, Start, StepKey};
use ltc_workflow::document::ToolEffect;
use ltc_workflow::{Object, Value, Workflow, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The world.
pub struct Scripted {
    child: Workflow,
    cut: Cut,
    store: Arc<Memory>,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    /// How often steps were called, and how often somebody said that a step may be done once more.
    called: BTreeMap<String, usize>,
    repeats: BTreeMap<String, usize>,
    /// What writes gave.
    done: BTreeMap<String, Value>,
    arguments: BTreeMap<String, Object>,
    ended: BTreeSet<String>,
    ticks: usize,
    wrong: Vec<String>,
}

impl Scripted {
    pub fn new(child: Workflow, cut: Cut, store: Arc<Memory>) -> Scripted {
        Scripted { child, cut, store, inside: Mutex::default() }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().expect("a lock")
    }

    /// What a step did, where it did something.
    pub fn done(&self, key: &StepKey) -> Option<Value> {
        self.inside().done.get(key.0.as_str()).cloned()
    }

    pub fn may_repeat(&self, key: &StepKey) {
        *self.inside().repeats.entry(key.0.to_string()).or_default() += 1;
    }

    /// The run was cut off, and these steps had ended then.
    pub fn has_been_cut(&self, ended: &[String]) {
        self.inside().ended.extend(ended.iter().cloned());
    }

    pub fn called(&self) -> Vec<String> {
        self.inside().called.keys().cloned().collect()
    }

    pub fn wrong(&self) -> Vec<String> {
        self.inside().wrong.clone()
    }

    fn begin(&self, key: &str, call: Call<'_>) {
        let is_write = self.effect(call.server, call.tool) == ToolEffect::Write;
        let starts = self.store.journal().iter().filter(|event| event.key.0 == key && event.what == What::Started).count();
        let mut inside = self.inside();
        let times = {
            let times = inside.called.entry(key.to_owned()).or_default();
            *times += 1;
            *times
        };
        let allowed = 1 + inside.repeats.get(key).copied().unwrap_or_default();
        if is_write && times > allowed {
            inside.wrong.push(format!("{key} was called {times} times"));
        }
        if is_write && starts < times {
            inside.wrong.push(format!("{key} was called and has {starts} starts in the journal"));
        }
        if inside.ended.contains(key) {
            inside.wrong.push(format!("{key} had ended"));
        }
        let first = inside.arguments.entry(key.to_owned()).or_insert_with(|| call.arguments.clone()).clone();
        // What a read says may be another thing each time; what rests on it may not, unless nothing came of it.
        if first != *call.arguments && self.effect(call.server, call.tool) != ToolEffect::Read {
            inside.wrong.push(format!("{key} was called with other arguments"));
        }
    }

    fn do_it(&self, key: &str, call: Call<'_>) -> Result<Value, Failure> {
        let mut inside = self.inside();
        inside.ticks += 1;
        let failure = || Failure { code: "tool-error".into(), message: format!("no: {} {}", crate::SECRET, crate::NUMBER), step: None };
        let value = match call.tool.as_str() {
            "read" => Object::from_iter([("tick", Value::from(inside.ticks))]),
            "flaky" if key.ends_with("@3") => call.arguments.clone(),
            "flaky" | "fail" => return Err(failure()),
            _ => call.arguments.clone(),
        };
        let mut value = value;
        value.insert("number", json::parse(crate::NUMBER.as_bytes()).expect("a number"));
        let value = Value::Object(value);
        if self.effect(call.server, call.tool) == ToolEffect::Write {
            inside.done.insert(key.to_owned(), value.clone());
        }
        Ok(value)
    }
}

impl World for Scripted {
    fn call<'w>(&'w self, key: &'w StepKey, call: Call<'w>) -> BoxFuture<'w, Result<Value, Failure>> {
        async move {
            self.begin(&key.0, call);
            self.cut.point().await;
            // Some take longer than others, the same ones each time.
            let pause = key.0.bytes().map(u64::from).sum::<u64>() % 5;
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let done = self.do_it(&key.0, call);
            self.cut.point().await;
            done
        }
        .boxed()
    }

    fn effect(&self, _: &str, tool: &str) -> ToolEffect {
        crate::effects().get(tool).copied().unwrap_or(ToolEffect::Write)
    }

    fn workflow(&self, name: &str) -> Option<&Workflow> {
        (name == "child").then_some(&self.child)
    }

    fn start(&self, _: &Workflow, input: Object) -> Start {
        Start { input, ..Start::default() }
    }
}
