//! What a run is started with when its workflow is verified against a recording.

use super::secrets::marker;
use crate::script::Script;
use crate::trace::instant;
use ltc_workflow::advance::Start;
use ltc_workflow::document::Workflow;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// How many ways are tried to fill in what the recording does not say.
const MOST_WAYS: usize = 64;

/// The start of a run with `given` values: those that the workflow takes, and the defaults of the others.
pub fn known(workflow: &Workflow, script: &Script, given: &Object, secrets: BTreeMap<SmolStr, SmolStr>) -> Start {
    let value = |(name, schema): (&SmolStr, &Value)| Some((name.clone(), given.get(name).or_else(|| schema.get("default"))?.clone()));
    start(script, workflow.inputs.iter().filter_map(value).collect(), secrets)
}

/// The starts that a recording allows, likeliest first: its input, then the defaults, then the examples in the workflow, those at the place
/// of the run (its number among the recordings) before others. What has neither is found out from the recorded calls, and so are secrets.
pub fn possible(workflow: &Workflow, script: &Script, number: usize) -> Vec<Start> {
    let secrets: BTreeMap<SmolStr, SmolStr> = workflow.secrets.iter().map(|name| (name.clone(), marker(name))).collect();
    let mut open: Vec<(SmolStr, Vec<Value>)> = Vec::new();
    let mut filled = Object::default();
    for (name, schema) in workflow.inputs.iter() {
        if let Some(value) = script.input.get(name).or_else(|| schema.get("default")) {
            filled.insert(name.clone(), value.clone());
            continue;
        }
        let examples = schema.get("examples").and_then(Value::as_array).unwrap_or_default();
        let unknown = Value::String(marker(name));
        filled.insert(name.clone(), examples.first().unwrap_or(&unknown).clone());
        if !examples.is_empty() {
            open.push((name.clone(), examples.to_vec()));
        }
    }
    let longest = open.iter().map(|(_, examples)| examples.len()).max().unwrap_or(1);
    let aligned = std::iter::once(number % longest.max(1)).chain(0..longest).map(|at| open.iter().map(|(_, e)| at % e.len()).collect());
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for way in aligned.chain(products(&open)) {
        if !ways.contains(&way) && ways.len() < MOST_WAYS {
            ways.push(way);
        }
    }
    // At last, no example at all: what the inputs were is found out from the calls.
    let unknown = filled_with(&filled, open.iter().map(|(name, _)| (name, Value::String(marker(name)))));
    let chosen = ways.iter().map(|way| {
        let value = |((name, examples), at): (&'_ (SmolStr, Vec<Value>), &usize)| Some((name.clone(), examples.get(*at)?.clone()));
        let values: Vec<(SmolStr, Value)> = open.iter().zip(way).filter_map(value).collect();
        filled_with(&filled, values.iter().map(|(name, value)| (name, value.clone())))
    });
    let last = (!open.is_empty()).then_some(unknown);
    chosen.chain(last).map(|input| start(script, input, secrets.clone())).collect()
}

fn filled_with<'n>(filled: &Object, values: impl Iterator<Item = (&'n SmolStr, Value)>) -> Object {
    let mut input = filled.clone();
    values.for_each(|(name, value)| input.insert(name.clone(), value));
    input
}

/// All combinations of examples, as far as they are few.
fn products(open: &[(SmolStr, Vec<Value>)]) -> Vec<Vec<usize>> {
    let mut ways: Vec<Vec<usize>> = vec![Vec::new()];
    for (_, examples) in open {
        let longer = ways.iter().flat_map(|way| (0..examples.len()).map(move |at| [way.as_slice(), &[at]].concat()));
        ways = longer.take(MOST_WAYS).collect();
    }
    ways
}

fn start(script: &Script, input: Object, secrets: BTreeMap<SmolStr, SmolStr>) -> Start {
    let started_at = script.clock.and_then(instant::print).unwrap_or_else(|| "1970-01-01T00:00:00Z".into());
    Start { input, secrets, started_at: SmolStr::new(started_at), id: SmolStr::new_static("verify") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    fn object(text: &str) -> Object {
        json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn examples_are_tried_together_before_they_are_mixed() {
        let inputs = object(r#"{"a":{"examples":[1,2]},"b":{"examples":[10,20]},"c":{"default":7},"d":{},"given":{"examples":[5]}}"#);
        let workflow = Workflow { inputs, secrets: vec!["KEY".into()], ..Workflow::new("w") };
        let script = Script { input: object(r#"{"given":9,"unknown":1}"#), ..Script::default() };
        let starts = possible(&workflow, &script, 1);
        let pairs: Vec<String> = starts.iter().map(|s| format!("{:?}", (s.input.get("a"), s.input.get("b")))).collect();
        let expected =
            [(2_i64, 20_i64), (1, 10), (1, 20), (2, 10)].map(|(a, b)| format!("{:?}", (Some(Value::from(a)), Some(Value::from(b)))));
        assert_eq!(pairs[..4], expected);
        assert_eq!(pairs[4..], [format!("{:?}", (Some(Value::String(marker("a"))), Some(Value::String(marker("b")))))]);
        let first = &starts[0];
        assert_eq!(first.input.get("given"), Some(&Value::from(9_i64)));
        assert_eq!(first.input.get("c"), Some(&Value::from(7_i64)));
        assert_eq!(first.input.get("d"), Some(&Value::String(marker("d"))));
        assert!(!first.input.contains_key("unknown"));
        assert_eq!(first.secrets.get("KEY"), Some(&marker("KEY")));
    }
}
