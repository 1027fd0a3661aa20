//! Inputs of operations, held against their schemas: what breaks one is told with its place, on every surface alike.

use super::operations::{OPERATIONS, Operation};
use super::{Refusal, exact};
use crate::approximate::{Inexact, to_serde};
use crate::problem::Problem;
use crate::service::refusal::Code;
use crate::text;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use ltc_workflow::Value;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(super) fn schema<T: JsonSchema>() -> Schema {
    // Everything in one piece: some clients do not follow references.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    SchemaGenerator::new(settings).into_root_schema_for::<T>()
}

pub(super) async fn called<I: DeserializeOwned + JsonSchema, O: Serialize>(
    input: Value,
    function: impl AsyncFnOnce(I) -> Result<O, Refusal>,
) -> Result<Value, Refusal> {
    let read = match exact::read(&input) {
        Ok(read) => read,
        Err(why) => return Err(misread(&schema::<I>().to_value(), &input, why)),
    };
    let output = function(read).await?;
    exact::write(&output).map_err(|why| Refusal::new(Code::Broken, why))
}

/// All that is wrong with an input that cannot be read, with its places; where the schema finds nothing, what its reader said.
fn misread(schema: &serde_json::Value, input: &Value, why: String) -> Refusal {
    let Ok(validator) = jsonschema::validator_for(schema) else { return Refusal::new(Code::Invalid, why) };
    let input = to_serde(input, Inexact::Nearest);
    // Of what takes no field at all, a schema says less than the reader.
    let is_telling = |error: &ValidationError<'_>| !matches!(error.kind(), ValidationErrorKind::FalseSchema);
    let problems: Vec<Problem> = validator.iter_errors(&input).filter(is_telling).map(violation).collect();
    if problems.is_empty() { Refusal::new(Code::Invalid, text::one_line(&why)) } else { Refusal::because(Code::Invalid, problems) }
}

fn violation(error: ValidationError<'_>) -> Problem {
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { "/".to_owned() } else { place };
    Problem::new("invalid-input", place, text::one_line(&error.to_string()))
}

/// Where an input breaks the schema. Unknown fields are told by who reads it, since some have a second name; and patterns by who knows what they mean.
pub(super) fn violations(operation: &Operation, input: &Value) -> Vec<Problem> {
    static VALIDATORS: LazyLock<BTreeMap<&'static str, (serde_json::Value, Option<Validator>)>> = LazyLock::new(|| {
        let compiled = |operation: &Operation| {
            let schema = operation.input_schema();
            let validator = jsonschema::validator_for(&schema).ok();
            (operation.name, (schema, validator))
        };
        OPERATIONS.iter().map(compiled).collect()
    });
    let Some((schema, Some(validator))) = VALIDATORS.get(operation.name) else { return Vec::new() };
    // A value that may be anything may be large, and is not looked at.
    let may_be_anything = |field: &str| {
        let keys = schema["properties"][field].as_object().into_iter().flat_map(serde_json::Map::keys);
        keys.clone().next().is_some() && keys.into_iter().all(|key| ["description", "default"].contains(&key.as_str()))
    };
    let input = match input {
        Value::Object(fields) => {
            let entry = |(field, value): (&SmolStr, &Value)| {
                let value = if may_be_anything(field) { serde_json::Value::Null } else { to_serde(value, Inexact::Nearest) };
                (field.to_string(), value)
            };
            serde_json::Value::Object(fields.iter().map(entry).collect())
        }
        other => to_serde(other, Inexact::Nearest),
    };
    let is_ours = |error: &ValidationError<'_>| {
        use ValidationErrorKind::{AdditionalProperties, FalseSchema, Pattern};
        !matches!(error.kind(), AdditionalProperties { .. } | FalseSchema | Pattern { .. })
    };
    validator.iter_errors(&input).filter(is_ours).map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    #[test]
    fn what_breaks_a_schema_is_told_with_its_place_and_large_values_are_not_looked_at() {
        let places = |operation: &str, input: &str| -> Vec<String> {
            let operation = Operation::named(operation).expect("an operation");
            let input = json::parse(input.as_bytes()).expect("JSON in a test");
            violations(operation, &input).into_iter().map(|problem| problem.place).collect()
        };
        assert_eq!(places("list_runs", r#"{"limit":0}"#), ["/limit"]);
        assert_eq!(places("list_runs", r#"{"limit":1001,"status":"gone"}"#), ["/limit", "/status"]);
        assert_eq!(places("list_runs", r#"{"limit":1000,"status":"done","after":null}"#), Vec::<String>::new());
        assert_eq!(places("get_run", "{}"), ["/"]);
        assert_eq!(places("get_run", "[]"), ["/"]);
        // Anything may be an answer; and a server may be said to be of a `type` instead of a `transport`.
        assert_eq!(places("claim_and_resolve", r#"{"escalation_id":"e","resolver_id":"r","payload":[{"a":1e400}]}"#), Vec::<String>::new());
        assert_eq!(places("add_mcp_server", r#"{"name":"a","type":"http","url":"http://a"}"#), Vec::<String>::new());
    }
}
