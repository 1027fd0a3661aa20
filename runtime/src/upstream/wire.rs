//! Messages between us and a server, without loss, through a library that would lose something.
//!
//! The MCP library holds every message as `serde_json` values and typed blocks. On that way an integer past 64 bits would be rounded, `1.10`
//! would become `1.1`, `1e400` would be refused, and fields of a content block that the library does not know would vanish. So what is ours
//! travels beside it, as JSON text under private keys of `_meta`:
//!
//! - out: [`outgoing`] puts the exact arguments back in the place of the approximate ones that the library saw;
//! - in: [`incoming`] hands the library a result without content whose `_meta` says where the whole result lies (or holds its text, where nobody is known to wait
//!   for it), and tools whose `_meta` holds the text of the whole tool.
//!
//! The private keys never reach a server, and what a server sends under them is dropped.

use super::shelf::Shelf;
use crate::approximate::{Inexact, to_serde};
use ltc_workflow::json;
use ltc_workflow::{Object, Value};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, MetaObject, RequestId};

/// Where the arguments of a call travel to [`outgoing`].
pub const ARGUMENTS: &str = "ltc.private/arguments";
/// Where the token of a call whose progress is listened to travels to [`outgoing`].
pub const HEARD: &str = "ltc.private/heard";
/// Where a call's result travels from [`incoming`].
pub const RESULT: &str = "ltc.private/result";
/// Where a tool travels from [`incoming`].
pub const TOOL: &str = "ltc.private/tool";

const PROGRESS_TOKEN: &str = "progressToken";

/// What all private keys begin with.
pub const PRIVATE: &str = "ltc.private/";

/// A message that is none, or that says something else than it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The request that it answers, if that much can be read.
    pub id: Option<RequestId>,
    /// Why, for people.
    pub why: String,
}

/// The text of `message` as it is sent.
///
/// # Errors
/// Where the exact arguments of a call cannot be put in their place: then nothing is sent, rather than something near it.
pub fn outgoing(message: &ClientJsonRpcMessage) -> Result<String, String> {
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    let is_call = matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::CallToolRequest(_)));
    if is_call { with_exact_arguments(&text) } else { Ok(text) }
}

fn with_exact_arguments(text: &str) -> Result<String, String> {
    let message = json::parse(text.as_bytes()).map_err(|error| format!("the arguments cannot be sent: {error}"))?;
    let spliced = || {
        let mut message = message.as_object()?.clone();
        let mut params = message.get("params")?.as_object()?.clone();
        let mut meta = params.remove("_meta")?.as_object()?.clone();
        let arguments = json::parse(meta.remove(ARGUMENTS)?.as_str()?.as_bytes()).ok()?;
        params.insert("arguments", arguments);
        // The library asks every server for progress; we do where somebody listens.
        meta.remove(PROGRESS_TOKEN);
        if let Some(token) = meta.remove(HEARD) {
            meta.insert(PROGRESS_TOKEN, token);
        }
        if !meta.is_empty() {
            params.insert("_meta", meta.into());
        }
        message.insert("params", params.into());
        Some(json::to_string(&message.into()))
    };
    spliced().ok_or_else(|| "the call lost its arguments on the way to the server".to_owned())
}

/// Puts the result of the request with this id aside, where somebody is known to wait for it, and says where it lies.
pub type Shelve<'s> = &'s dyn Fn(&Value, &Object) -> Option<i64>;

/// What the library is given for the message in `bytes`.
///
/// # Errors
/// Where `bytes` are no JSON object that two readers would understand in the same way.
pub fn incoming(bytes: &[u8], shelve: Shelve<'_>) -> Result<String, Refused> {
    let message = json::parse(bytes).map_err(|error| Refused { id: id_of(bytes), why: error.to_string() })?;
    let Value::Object(mut message) = message else {
        return Err(Refused { id: None, why: format!("a message is an object, not a value of type {}", message.type_name()) });
    };
    if let Some(Value::Object(result)) = message.get("result") {
        let id = message.get("id").cloned().unwrap_or_default();
        let result = for_library(result, &|result| shelve(&id, result));
        message.insert("result", result.into());
    }
    Ok(to_serde(&message.into(), Inexact::Nearest).to_string())
}

fn for_library(result: &Object, shelve: &dyn Fn(&Object) -> Option<i64>) -> Object {
    let is_complete = result.get("resultType").is_none_or(|kind| kind.as_str() == Some("complete"));
    if is_complete && ["content", "structuredContent", "isError"].iter().any(|key| result.contains_key(key)) {
        return call_result(result, shelve(result));
    }
    let mut given = without_private(result);
    if let Some(tools) = result.get("tools").and_then(Value::as_array) {
        given.insert("tools", tools.iter().map(tool).collect());
    }
    given
}

fn call_result(result: &Object, place: Option<i64>) -> Object {
    let mut given = Object::default();
    given.insert("content", Value::array(Vec::new()));
    if let Some(kind) = result.get("resultType") {
        given.insert("resultType", kind.clone());
    }
    let whole = || Value::string(json::to_string(&Value::Object(result.clone())));
    let meta: Object = [(RESULT, place.map_or_else(whole, Value::from))].into_iter().collect();
    given.insert("_meta", meta.into());
    given
}

fn tool(tool: &Value) -> Value {
    let Some(object) = tool.as_object() else { return tool.clone() };
    let mut given = object.clone();
    let mut meta = object.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    meta.insert(TOOL, Value::string(json::to_string(tool)));
    given.insert("_meta", meta.into());
    given.into()
}

fn without_private(result: &Object) -> Object {
    let mut given = result.clone();
    if let Some(meta) = result.get("_meta").and_then(Value::as_object) {
        given.insert("_meta", of_others(meta).into());
    }
    given
}

/// What is not ours in a `_meta`.
pub fn of_others(meta: &Object) -> Object {
    meta.iter().filter(|(key, _)| !key.starts_with(PRIVATE)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The result of a call, from where it lies or out of its text.
pub fn result(meta: Option<&MetaObject>, shelf: &Shelf) -> Option<Value> {
    match meta?.0.get(RESULT)?.as_i64() {
        Some(place) => shelf.take(place),
        None => carried(meta, RESULT),
    }
}

/// The value that travelled under `key`.
pub fn carried(meta: Option<&MetaObject>, key: &str) -> Option<Value> {
    json::parse(meta?.0.get(key)?.as_str()?.as_bytes()).ok()
}

/// The id in a message that is refused: read as leniently as can be, since somebody waits for the answer.
pub fn id_of(bytes: &[u8]) -> Option<RequestId> {
    #[derive(serde::Deserialize)]
    struct Message {
        id: Option<RequestId>,
    }
    if let Ok(message) = serde_json::from_slice::<Message>(bytes) {
        return message.id;
    }
    let text = String::from_utf8_lossy(bytes);
    let (_, after) = text.split_once("\"id\"")?;
    let number = after.trim_start().strip_prefix(':')?.trim_start();
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().map(RequestId::Number)
}

/// As [`id_of`], as JSON.
pub fn id_text(bytes: &[u8]) -> Option<String> {
    serde_json::to_string(&id_of(bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rmcp::model::{CallToolRequest, CallToolRequestParams, RequestMetaObject, ServerJsonRpcMessage, ServerResult};

    fn call(arguments: &str, meta: &[(&str, &str)]) -> ClientJsonRpcMessage {
        let exact = json::parse(arguments.as_bytes()).expect("valid JSON in a test");
        let mut params = CallToolRequestParams::new("t");
        params.arguments = to_serde(&exact, Inexact::Text).as_object().cloned();
        let mut entries = serde_json::Map::new();
        entries.insert(ARGUMENTS.to_owned(), arguments.into());
        entries.extend(meta.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())));
        params.meta = Some(RequestMetaObject(MetaObject(entries)));
        ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(CallToolRequest::new(params)), RequestId::Number(1))
    }

    #[test]
    fn arguments_leave_with_their_digits_and_without_private_keys() {
        let arguments = r#"{"z":18446744073709551617,"a":[1.10,1e400,-0],"s":"18446744073709551617"}"#;
        let sent = outgoing(&call(arguments, &[("ltc/step", "s")])).expect("it can be sent");
        assert!(sent.contains(&format!(r#""arguments":{arguments}"#)), "{sent}");
        assert!(sent.contains(r#""_meta":{"ltc/step":"s"}"#), "{sent}");
        assert!(!sent.contains(PRIVATE), "{sent}");
    }

    #[test]
    fn a_call_without_its_exact_arguments_is_not_sent() {
        let message = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("t")));
        assert!(outgoing(&ClientJsonRpcMessage::request(message, RequestId::Number(1))).is_err());
    }

    const NOBODY: Shelve<'static> = &|_, _| None;

    /// A result behind the library: as text, and from the shelf.
    fn arrived(sent: &str) -> [Option<Value>; 2] {
        let shelf = Shelf::default();
        let own: Shelve<'_> = &|id, result| (json::to_string(id) == "7").then(|| shelf.put(result.clone()));
        [NOBODY, own].map(|shelve| {
            let given = incoming(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{sent}}}"#).as_bytes(), shelve).expect("it is a message");
            let message: ServerJsonRpcMessage = serde_json::from_str(&given).expect("the library reads it");
            let JsonRpcMessage::Response(response) = message else { panic!("{given}") };
            let ServerResult::CallToolResult(read) = response.result else { panic!("{given}") };
            result(read.meta.as_ref(), &shelf)
        })
    }

    #[test]
    fn a_result_arrives_whole() {
        let result = r#"{"content":[{"type":"text","text":"a","later":1.10}],"structuredContent":{"n":18446744073709551617,"x":1e400},"_meta":{"ltc.private/result":"{}"}}"#;
        assert_eq!(arrived(result), [json::parse(result.as_bytes()).ok(), json::parse(result.as_bytes()).ok()]);
    }

    #[test]
    fn what_a_server_sends_under_private_keys_is_dropped() {
        let given =
            incoming(br#"{"jsonrpc":"2.0","id":7,"result":{"_meta":{"ltc.private/result":"{}","a":1}}}"#, NOBODY).expect("it is a message");
        assert_eq!(given, r#"{"id":7,"jsonrpc":"2.0","result":{"_meta":{"a":1}}}"#);
    }

    #[test]
    fn tools_arrive_with_the_digits_of_their_schemas() {
        let tool = r#"{"name":"t","inputSchema":{"type":"object","maximum":1e400}}"#;
        let given =
            incoming(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"tools":[{tool}]}}}}"#).as_bytes(), NOBODY).expect("it is a message");
        let message: ServerJsonRpcMessage = serde_json::from_str(&given).expect("the library reads it");
        let JsonRpcMessage::Response(response) = message else { panic!("{given}") };
        let ServerResult::ListToolsResult(list) = response.result else { panic!("{given}") };
        assert_eq!(carried(list.tools[0].meta.as_ref(), TOOL), json::parse(tool.as_bytes()).ok());
    }

    #[test]
    fn a_message_that_is_none_names_the_request_that_waits() {
        let refused = |text: &str| incoming(text.as_bytes(), NOBODY).expect_err("no message");
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#).id, Some(RequestId::Number(7)));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":"x","result":{"a":1,"a":2}}"#).id, Some(RequestId::String("x".into())));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id": 7,"result":{"a":NaN}}"#).id, Some(RequestId::Number(7)));
        assert_eq!(refused("starting up...").id, None);
        assert_eq!(refused("[]").id, None);
    }

    /// Any JSON value, with numbers of every spelling and keys like ours.
    fn any_value() -> impl Strategy<Value = Value> {
        let number = prop_oneof!["-?(0|[1-9][0-9]{0,30})", "-?(0|[1-9][0-9]{0,20})[.][0-9]{1,20}", "-?[1-9][eE][+-]?[0-9]{1,4}"];
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            number.prop_map(|text| ltc_workflow::Number::parse(&text).map_or(Value::Null, Value::Number)),
            any::<String>().prop_map(Value::string),
        ];
        let key = prop_oneof!["[a-c]", Just("_meta".to_owned()), Just(RESULT.to_owned()), Just("content".to_owned()), any::<String>()];
        scalar.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::array),
                proptest::collection::vec((key.clone(), inner), 0..4).prop_map(|entries| entries.into_iter().collect::<Object>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_arguments_leave_as_they_are(value in any_value()) {
            let arguments = json::to_string(&[("v", value)].into_iter().collect::<Object>().into());
            let sent = outgoing(&call(&arguments, &[])).expect("it can be sent");
            let sent = json::parse(sent.as_bytes()).expect("a message");
            let sent = sent.get("params").and_then(|params| params.get("arguments")).map(json::to_string);
            prop_assert_eq!(sent, Some(arguments));
        }

        #[test]
        fn any_result_arrives_as_it_was(value in any_value()) {
            let result = json::to_string(&[("content", Value::array(Vec::new())), ("structuredContent", value)].into_iter().collect::<Object>().into());
            for arrived in arrived(&result) {
                prop_assert_eq!(arrived.map(|value| json::to_string(&value)), Some(result.clone()));
            }
        }
    }
}
