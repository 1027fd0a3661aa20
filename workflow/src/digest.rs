//! Digests: whether a tool is still the one that a workflow was compiled against, and whether a file is still as it was written.
//!
//! A digest is `sha256:` and 64 hexadecimal digits. That of a tool covers its name and its two schemas, and neither its words for people nor
//! its annotations, so a better description is no drift. Keys are sorted before hashing; numbers count as they are written.

use crate::json;
use crate::value::{Object, Value};
use sha2::{Digest as _, Sha256};
use smol_str::SmolStr;

/// The digest of a tool; a schema that is missing counts as `null`.
pub fn of_tool(name: &str, input_schema: Option<&Value>, output_schema: Option<&Value>) -> SmolStr {
    let parts = [
        ("name", Value::from(name)),
        ("inputSchema", input_schema.cloned().unwrap_or_default()),
        ("outputSchema", output_schema.cloned().unwrap_or_default()),
    ];
    of_value(&Value::Object(parts.into_iter().collect::<Object>()))
}

/// The digest of a value, however its keys are ordered.
pub fn of_value(value: &Value) -> SmolStr {
    of_bytes(json::to_canonical_string(value).as_bytes())
}

/// The digest of bytes.
pub fn of_bytes(bytes: &[u8]) -> SmolStr {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    SmolStr::new(format!("sha256:{hex}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).expect("valid JSON in a test")
    }

    #[test]
    fn the_digest_is_that_of_the_known_algorithm() {
        // The test vector of FIPS 180-2 for "abc".
        assert_eq!(of_bytes(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_order_of_keys_does_not_count_and_everything_else_does() {
        let schema = value(r#"{"type":"object","properties":{"a":{"maximum":1},"b":{}}}"#);
        let permuted = value(r#"{"properties":{"b":{},"a":{"maximum":1}},"type":"object"}"#);
        let other = value(r#"{"type":"object","properties":{"a":{"maximum":1.0},"b":{}}}"#);
        assert_eq!(of_tool("t", Some(&schema), None), of_tool("t", Some(&permuted), None));
        assert_ne!(of_tool("t", Some(&schema), None), of_tool("t", Some(&other), None));
        assert_ne!(of_tool("t", Some(&schema), None), of_tool("u", Some(&schema), None));
        assert_ne!(of_tool("t", Some(&schema), None), of_tool("t", None, Some(&schema)));
    }
}
