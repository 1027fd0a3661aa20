//! Inputs of operations, held against their schemas: what breaks one is told with its place, on every surface alike.

use super::operations::{OPERATIONS, Operation};
use super::{Refusal, exact};
use crate::approximate::{Inexact, to_serde};
use crate::problem::Problem;
use crate::service::refusal::Code;
use crate::text;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use ltc_workflow::{Number, Value};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The JSON Schema of what is read: a field that may be left out is not required.
pub(super) fn schema<T: JsonSchema>() -> Schema {
    of::<T>(SchemaSettings::draft2020_12())
}

/// The JSON Schema of what is written: a field that is left out where it says nothing is not required.
pub(super) fn written<T: JsonSchema>() -> Schema {
    of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    // Everything in one piece: some clients do not follow references.
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(bounded)));
    });
    SchemaGenerator::new(settings).into_root_schema_for::<T>()
}

/// Says how large a number may be that is read into so many bits.
fn bounded(schema: &mut Schema) {
    let largest = match schema.get("format").and_then(serde_json::Value::as_str) {
        Some("uint8") => u64::from(u8::MAX),
        Some("uint32") => u64::from(u32::MAX),
        Some("uint64" | "uint") => u64::MAX,
        Some(_) | None => return,
    };
    if schema.get("maximum").is_none() {
        schema.insert("maximum".to_owned(), largest.into());
    }
}

pub(super) async fn called<I: DeserializeOwned + JsonSchema, O: Serialize>(
    input: Value,
    function: impl AsyncFnOnce(I) -> Result<O, Refusal>,
) -> Result<Value, Refusal> {
    let input = whole(|| schema::<I>().to_value(), input);
    let read = match exact::read(&input) {
        Ok(read) => read,
        Err(why) => return Err(misread(&schema::<I>().to_value(), &input, why)),
    };
    let output = function(read).await?;
    exact::write(&output).map_err(|why| Refusal::new(Code::Broken, why))
}

/// The input with `5` for `5.0` where an integer is wanted: to JSON Schema they are the same, and some clients know no integers.
fn whole(schema: impl FnOnce() -> serde_json::Value, input: Value) -> Value {
    let Value::Object(mut fields) = input else { return input };
    let without_zeros = |value: &Value| {
        let (whole, rest) = value.as_number()?.as_str().split_once('.')?;
        if rest.bytes().all(|digit| digit == b'0') { Number::parse(whole) } else { None }
    };
    let found: Vec<(SmolStr, Number)> = fields.iter().filter_map(|(name, value)| Some((name.clone(), without_zeros(value)?))).collect();
    if !found.is_empty() {
        let schema = schema();
        for (name, number) in found {
            let kind = &schema["properties"][name.as_str()]["type"];
            if kind == "integer" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "integer")) {
                fields.insert(name, Value::Number(number));
            }
        }
    }
    Value::Object(fields)
}

/// All that is wrong with an input that cannot be read, with its places; where the schema finds nothing, what its reader said.
fn misread(schema: &serde_json::Value, input: &Value, why: String) -> Refusal {
    let Ok(validator) = jsonschema::validator_for(schema) else { return Refusal::new(Code::Invalid, why) };
    let input = to_serde(input, Inexact::Nearest);
    // Of what takes no field at all, a schema says less than the reader.
    let is_telling = |error: &ValidationError<'_>| !matches!(error.kind(), ValidationErrorKind::FalseSchema);
    let problems: Vec<Problem> = validator.iter_errors(&input).filter(is_telling).map(|error| violation(schema, &error)).collect();
    if problems.is_empty() { Refusal::new(Code::Invalid, text::one_line(&why)) } else { Refusal::because(Code::Invalid, problems) }
}

/// The one field that has a second name, which no schema shows: the `type` of a server in a `.mcp.json` is its `transport`.
const SECOND_NAME: &str = "type";

/// What breaks `schema`, in words.
fn violation(schema: &serde_json::Value, error: &ValidationError<'_>) -> Problem {
    use ValidationErrorKind::{AnyOf, Enum, OneOfNotValid};
    let place = error.instance_path().to_string();
    let field = place.split('/').nth(1).unwrap_or_default();
    let mut words = Vec::new();
    if matches!(error.kind(), AnyOf { .. } | Enum { .. } | OneOfNotValid { .. }) {
        known_words(&schema["properties"][field], &mut words);
    }
    let said = if words.is_empty() {
        error.to_string()
    } else {
        let given = error.instance().as_ref();
        format!("{} is none of {}", given.as_str().map_or_else(|| given.to_string(), |word| format!("`{word}`")), words.join(", "))
    };
    Problem::new("invalid-input", if place.is_empty() { "/" } else { &place }, text::one_line(&said))
}

/// The words that a schema takes, where it takes some words only.
fn known_words(schema: &serde_json::Value, words: &mut Vec<String>) {
    let listed = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    words.extend(listed.filter_map(serde_json::Value::as_str).map(str::to_owned));
    let below = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    below.chain(schema.get("items")).for_each(|schema| known_words(schema, words));
}

/// Where an input breaks the schema. Patterns are told by who knows what they mean.
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
    let is_ours = |error: &ValidationError<'_>| match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected.iter().any(|field| field != SECOND_NAME),
        ValidationErrorKind::FalseSchema | ValidationErrorKind::Pattern { .. } => false,
        _ => true,
    };
    validator.iter_errors(&input).filter(is_ours).map(|error| violation(schema, &error)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    #[test]
    fn who_uses_another_word_is_told_those_that_there_are() {
        let told = |operation: &str, input: &str| {
            let operation = Operation::named(operation).expect("an operation");
            let problems = violations(operation, &json::parse(input.as_bytes()).expect("JSON in a test"));
            problems.into_iter().map(|problem| format!("{} {}", problem.place, problem.message)).collect::<Vec<_>>()
        };
        assert_eq!(
            told("list_runs", r#"{"status":"gone"}"#),
            ["/status `gone` is none of queued, running, waiting, done, failed, cancelled"]
        );
        assert_eq!(told("count_runs", r#"{"group_by":["status","step"]}"#), ["/group_by/1 `step` is none of workflow, status"]);
        let transports = "/transport `ws` is none of stdio, http, streamable-http, sse";
        assert_eq!(told("add_mcp_server", r#"{"name":"a","transport":"ws"}"#), [transports]);
    }

    #[test]
    fn whole_numbers_are_integers_however_they_are_written() {
        let whole = |input: &str| {
            let operation = Operation::named("list_runs").expect("an operation");
            json::to_string(&whole(|| operation.input_schema(), json::parse(input.as_bytes()).expect("JSON in a test")))
        };
        assert_eq!(whole(r#"{"limit":50.00,"after":"5.0"}"#), r#"{"limit":50,"after":"5.0"}"#);
        for other in [r#"{"limit":5.01}"#, r#"{"limit":5}"#, r#"{"unknown":5.0}"#, r#"{"limit":5e3}"#] {
            assert_eq!(whole(other), other);
        }
    }

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
