//! The inputs of the workflow: those that the recordings name, and those that are made for values without a source.

use crate::index::scalar_text;
use crate::script::Script;
use crate::secrecy::looks_secret;
use ltc_workflow::expr::Expr;
use ltc_workflow::{Object, Value};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// The inputs of the workflow, and what they were in each run.
#[derive(Debug, Default)]
pub struct Inputs {
    given: Vec<Object>,
    schemas: Object,
}

/// The texts and numbers in an input, with the expressions that give them. Lists are not looked into: their items have no names.
pub(super) fn leaves(input: &Object) -> FxHashMap<SmolStr, Expr> {
    let mut found = FxHashMap::default();
    let mut open: Vec<(Expr, &Object)> = vec![(Expr::name("inputs"), input)];
    while let Some((base, object)) = open.pop() {
        for (key, value) in object.iter() {
            let expr = base.clone().key(key.clone());
            match value {
                Value::Object(inner) => open.push((expr, inner)),
                Value::String(_) | Value::Number(_) => {
                    found.extend(scalar_text(value).map(|text| (SmolStr::new(text), expr)));
                }
                Value::Null | Value::Bool(_) | Value::Array(_) => {}
            }
        }
    }
    found
}

impl Inputs {
    /// The inputs that the recordings name.
    pub fn given(scripts: &[Script]) -> Inputs {
        let mut inputs = Inputs { given: scripts.iter().map(|s| s.input.clone()).collect(), schemas: Object::default() };
        let mut names: Vec<SmolStr> = Vec::new();
        for name in scripts.iter().flat_map(|s| s.input.keys()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        for name in names {
            let values: Vec<Option<&Value>> = scripts.iter().map(|s| s.input.get(&name)).collect();
            let default = values.iter().any(Option::is_none).then_some(Value::Null);
            let schema = schema(values.into_iter().flatten(), default, !looks_secret(&name));
            inputs.schemas.insert(name, schema);
        }
        inputs
    }

    /// What a run was given.
    pub fn of(&self, run: usize) -> Option<&Object> {
        self.given.get(run)
    }

    /// The schemas by name.
    pub fn schemas(&self) -> Object {
        self.schemas.clone()
    }

    /// What each run was given.
    pub fn given_values(&self) -> Vec<Object> {
        self.given.clone()
    }

    /// The input that has these values in the runs, made where there is none.
    pub(super) fn make(&mut self, wanted: &[SmolStr], values: &BTreeMap<usize, Value>, default: Option<Value>) -> SmolStr {
        let holds =
            |given: &[Object], name: &str| values.iter().all(|(run, value)| given.get(*run).and_then(|g| g.get(name)) == Some(value));
        let fallback = SmolStr::new("input");
        let mut tried = wanted
            .iter()
            .chain([&fallback])
            .flat_map(|base| (1..1000).map(move |n| if n == 1 { base.clone() } else { SmolStr::new(format!("{base}_{n}")) }));
        let mut first_choices = wanted.iter();
        let name = first_choices
            .find(|name| !self.schemas.contains_key(name) || holds(&self.given, name))
            .cloned()
            .or_else(|| tried.find(|name| !self.schemas.contains_key(name) || holds(&self.given, name)))
            .unwrap_or(fallback.clone());
        if !self.schemas.contains_key(&name) {
            self.schemas.insert(name.clone(), schema(values.values(), default.clone(), true));
            for (run, given) in self.given.iter_mut().enumerate() {
                if let Some(value) = values.get(&run).or(default.as_ref()) {
                    given.insert(name.clone(), value.clone());
                }
            }
        }
        name
    }
}

/// The schema of an input: the type that all its values have, its default, and what it was, for people.
fn schema<'v>(values: impl Iterator<Item = &'v Value>, default: Option<Value>, show: bool) -> Value {
    let values: Vec<&Value> = values.collect();
    let mut types: Vec<&str> = Vec::new();
    for value in values.iter().copied().chain(default.iter()) {
        if !types.contains(&value.type_name()) {
            types.push(value.type_name());
        }
    }
    if types.contains(&"number") {
        types.retain(|t| *t != "integer");
    }
    let mut schema = Object::default();
    match types.as_slice() {
        [] => {}
        [one] => schema.insert("type", Value::from(*one)),
        several => schema.insert("type", several.iter().map(|t| Value::from(*t)).collect()),
    }
    match default {
        Some(default) => schema.insert("default", default),
        None if show => {
            let mut examples: Vec<Value> = Vec::new();
            for value in values {
                if !examples.contains(value) && examples.len() < 3 {
                    examples.push(value.clone());
                }
            }
            schema.insert("examples", Value::array(examples));
        }
        None => {}
    }
    schema.into()
}
