//! Any JSON value inside the input or the output of an operation, with every digit of its numbers.

use ltc_workflow::{Value, json};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A JSON value that goes through the serializer as the text that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exact(pub Value);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(json::to_string(&self.0)).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Exact, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        json::parse(raw.get().as_bytes()).map(Exact).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Exact {
    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

/// Reads the input of an operation; what is wrong comes in words.
pub(super) fn read<T: DeserializeOwned>(input: &Value) -> Result<T, String> {
    serde_json::from_str(&json::to_string(input)).map_err(|error| {
        // Line and column of a text that nobody wrote say nothing.
        let said = error.to_string();
        said.split_once(" at line ").map_or(said.clone(), |(what, _)| what.to_owned())
    })
}

/// The output of an operation as a value.
pub(super) fn write<T: Serialize>(output: &T) -> Result<Value, String> {
    let text = serde_json::to_string(output).map_err(|error| error.to_string())?;
    json::parse(text.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Around {
        inside: Exact,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maybe: Option<Exact>,
    }

    #[test]
    fn numbers_keep_their_digits_on_both_ways() {
        let value = json::parse(br#"{"inside":{"b":[123456789012345678901234567890,1.10,1e400,-0],"a":"\u0000"}}"#).expect("JSON");
        let around: Around = read(&value).expect("it reads");
        assert_eq!(around.maybe, None);
        assert_eq!(json::to_string(&write(&around).expect("it writes")), json::to_string(&value));
    }
}
