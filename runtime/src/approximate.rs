//! Values as `serde_json` can hold them, for libraries that know nothing else.
//!
//! `serde_json` turns integers past 64 bits into floats and cannot hold `1e400` at all. What is made here is therefore only ever looked at
//! (by a schema validator, by the MCP library), and never sent on as a value of ours.

use ltc_workflow::Value;
use ltc_workflow::value::Number;

/// What stands in for a number that `serde_json` would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexact {
    /// The nearest number that it can hold: right for comparing.
    Nearest,
    /// The digits as a string: right for showing.
    Text,
}

/// `value` for `serde_json`.
pub fn to_serde(value: &Value, inexact: Inexact) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(b) => serde_json::Value::Bool(*b),
        Value::Number(n) => number(n, inexact),
        Value::String(s) => serde_json::Value::String(s.to_string()),
        Value::Array(items) => items.iter().map(|item| to_serde(item, inexact)).collect(),
        Value::Object(object) => {
            serde_json::Value::Object(object.iter().map(|(key, item)| (key.to_string(), to_serde(item, inexact))).collect())
        }
    }
}

fn number(number: &Number, inexact: Inexact) -> serde_json::Value {
    if let Some(exact) = exact(number) {
        return serde_json::Value::Number(exact);
    }
    match inexact {
        Inexact::Text => serde_json::Value::String(number.as_str().to_owned()),
        Inexact::Nearest => {
            let nearest = number.as_f64().clamp(f64::MIN, f64::MAX);
            serde_json::Number::from_f64(nearest).map_or(serde_json::Value::Null, serde_json::Value::Number)
        }
    }
}

/// The number, if `serde_json` writes it with the digits that it came with.
fn exact(number: &Number) -> Option<serde_json::Number> {
    let read: serde_json::Number = serde_json::from_str(number.as_str()).ok()?;
    (read.to_string() == number.as_str()).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    fn shown(text: &str, inexact: Inexact) -> String {
        to_serde(&json::parse(text.as_bytes()).expect("valid JSON in a test"), inexact).to_string()
    }

    #[test]
    fn numbers_that_survive_stay_numbers() {
        let text = r#"[0,-1,18446744073709551615,1.0,0.1,{"a":[null,true,"x"]}]"#;
        assert_eq!(shown(text, Inexact::Text), text);
        assert_eq!(shown(text, Inexact::Nearest), text);
    }

    #[test]
    fn numbers_that_would_change_are_text_or_near() {
        assert_eq!(shown("[18446744073709551616,1.10,1e400]", Inexact::Text), r#"["18446744073709551616","1.10","1e400"]"#);
        assert_eq!(shown("[1.10]", Inexact::Nearest), "[1.1]");
        assert_eq!(to_serde(&Value::Number(Number::parse("-1e400").expect("a number")), Inexact::Nearest), serde_json::json!(f64::MIN));
    }
}
