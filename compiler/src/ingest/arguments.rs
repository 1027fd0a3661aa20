//! The arguments of a call, in the ways in which recorders write them: an object, JSON in a string, JSON in a string in a string, a Python
//! dictionary, nothing.

use super::python;
use ltc_workflow::json;
use ltc_workflow::{Object, Value};

/// The object that `value` stands for; no arguments at all are an empty one.
///
/// # Errors
/// Why it stands for none, as the rest of a sentence that begins with "the arguments".
pub(crate) fn read(value: Option<&Value>) -> Result<Object, String> {
    match value {
        None | Some(Value::Null) => Ok(Object::default()),
        Some(Value::Object(object)) => Ok(object.clone()),
        Some(Value::String(text)) => read_text(text),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => Err("are no object".to_owned()),
    }
}

fn read_text(text: &str) -> Result<Object, String> {
    if text.trim().is_empty() {
        return Ok(Object::default());
    }
    let value = match json::parse(text.as_bytes()) {
        Ok(Value::String(inner)) => json::parse(inner.as_bytes()),
        parsed => parsed,
    };
    match value {
        Ok(Value::Object(object)) => Ok(object),
        Ok(Value::Null) => Ok(Object::default()),
        Ok(_) => Err("are no object".to_owned()),
        Err(error) => match python::parse(text) {
            Some(Value::Object(object)) => Ok(object),
            _ => Err(format!("are no JSON ({error})")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_them() {
        let expected = json::parse(br#"{"a":1}"#).ok().and_then(|v| v.as_object().cloned()).unwrap();
        for text in [r#"{"a":1}"#, r#" { "a" : 1 } "#, r#""{\"a\":1}""#, "{'a': 1}"] {
            assert_eq!(read(Some(&Value::from(text))), Ok(expected.clone()), "{text}");
        }
        for text in ["", " ", "null", "{}"] {
            assert_eq!(read(Some(&Value::from(text))), Ok(Object::default()));
        }
        assert_eq!(read(None), Ok(Object::default()));
    }

    #[test]
    fn what_is_none() {
        for text in ["[1]", "{\"a\":", "{\"a\":NaN}", "{\"a\":1,\"a\":2}", "7", "hello"] {
            assert!(read(Some(&Value::from(text))).is_err(), "{text}");
        }
        assert!(read(Some(&Value::Bool(true))).is_err());
    }
}
