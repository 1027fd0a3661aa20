//! What a JSON-RPC message is, as far as a relay has to know.

use ltc_workflow::{Object, Value, json};

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'m> {
    /// It wants an answer under its id.
    Request(&'m Value, &'m str),
    /// It wants none.
    Notification(&'m str),
    /// It is the answer to the request of this id.
    Answer(&'m Value),
    /// It is nothing that JSON-RPC knows.
    Other,
}

/// What kind of message this is.
pub fn kind(message: &Value) -> Kind<'_> {
    let id = message.get("id");
    match (message.get("method").and_then(Value::as_str), id) {
        (Some(method), Some(id)) => Kind::Request(id, method),
        (Some(method), None) => Kind::Notification(method),
        (None, Some(id)) if message.get("result").is_some() || message.get("error").is_some() => Kind::Answer(id),
        (None, _) => Kind::Other,
    }
}

/// An id as a key: its JSON, so that `1` and `"1"` are two.
pub fn key(id: &Value) -> String {
    json::to_string(id)
}

/// The value at the end of `path`.
pub fn at<'m>(message: &'m Value, path: &[&str]) -> Option<&'m Value> {
    path.iter().try_fold(message, |value, key| value.get(key))
}

/// `message` with `value` in the place of what is at the end of `path`; as it is where there is nothing.
pub fn with(message: &Value, path: &[&str], value: Value) -> Value {
    let Some((key, rest)) = path.split_first() else { return value };
    let (Some(object), Some(inner)) = (message.as_object(), message.get(key)) else { return message.clone() };
    let mut object = object.clone();
    object.insert(*key, with(inner, rest, value));
    object.into()
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Object {
    entries.into_iter().collect()
}

/// A request of ours.
pub fn request(id: i64, method: &str, params: Value) -> Value {
    object([("jsonrpc", Value::from("2.0")), ("id", Value::from(id)), ("method", Value::from(method)), ("params", params)]).into()
}

/// A notification of ours.
pub fn notification(method: &str, params: Option<Value>) -> Value {
    let mut message = object([("jsonrpc", Value::from("2.0")), ("method", Value::from(method))]);
    if let Some(params) = params {
        message.insert("params", params);
    }
    message.into()
}

/// An answer that is a result.
pub fn result(id: &Value, result: Value) -> Value {
    object([("jsonrpc", Value::from("2.0")), ("id", id.clone()), ("result", result)]).into()
}

/// An answer that is an error.
pub fn error(id: &Value, code: i64, message: &str) -> Value {
    let error = object([("code", Value::from(code)), ("message", Value::string(message))]);
    object([("jsonrpc", Value::from("2.0")), ("id", id.clone()), ("error", error.into())]).into()
}

/// The message as a line, without its end.
pub fn line(message: &Value) -> Vec<u8> {
    json::to_string(message).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        json::parse(text.as_bytes()).expect("JSON")
    }

    #[test]
    fn kinds_are_told_by_what_is_there() {
        let one = Value::from(1_i64);
        assert_eq!(kind(&read(r#"{"id":1,"method":"m"}"#)), Kind::Request(&one, "m"));
        assert_eq!(kind(&read(r#"{"method":"m"}"#)), Kind::Notification("m"));
        assert_eq!(kind(&read(r#"{"id":1,"result":null}"#)), Kind::Answer(&one));
        assert_eq!(kind(&read(r#"{"id":1,"error":{}}"#)), Kind::Answer(&one));
        assert_eq!(kind(&read(r#"{"id":1}"#)), Kind::Other);
        assert_eq!(kind(&read("[]")), Kind::Other);
    }

    #[test]
    fn a_place_is_written_only_where_it_is() {
        let message = read(r#"{"params":{"_meta":{"a":1},"b":2}}"#);
        let changed = with(&message, &["params", "_meta", "a"], Value::from(7_i64));
        assert_eq!(json::to_string(&changed), r#"{"params":{"_meta":{"a":7},"b":2}}"#);
        assert_eq!(with(&message, &["params", "c", "d"], Value::Null), message);
    }
}
