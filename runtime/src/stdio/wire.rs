//! Messages between a client and us, without loss: the twin of `upstream/wire.rs` for the side that serves.
//!
//! The MCP library holds every message as `serde_json` values, which would round our numbers. So what is exact travels beside it:
//!
//! - in: [`Wire::incoming`] takes the arguments of a call, and what else must stay exact, out of the message and puts their JSON text under private
//!   keys of `_meta`, where the handler finds them;
//! - out: [`exact`] makes a small object that holds the JSON text of a value, and [`Wire::outgoing`] puts the value in its place.
//!
//! What a client sends under the private keys is dropped, and values of others are in a message only as such texts or as strings: nobody
//! but us can make such an object.

use crate::approximate::{Inexact, to_serde};
use crate::upstream::wire::{PRIVATE, Refused, id_of, of_others};
use ltc_workflow::{Object, Value, json};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::service::RequestContext;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the arguments of a call travel.
pub const ARGUMENTS: &str = "ltc.private/arguments";
/// Where the answers to the questions of a task travel.
pub const ANSWERS: &str = "ltc.private/answers";
/// Where the ids of tasks travel whose changes a client wants to hear of; the library knows no such field.
pub const TASKS: &str = "ltc.private/tasks";
/// The one key of an object that stands for a value.
const EXACT: &str = "ltc.private/exact";

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// `value`, in the hands of a library that would round it.
pub fn exact(value: &Value) -> serde_json::Value {
    serde_json::Value::Object(exact_object(value))
}

/// As [`exact`]. It says that it is an object, since the library takes other things out of what old clients get.
pub fn exact_object(value: &Value) -> serde_json::Map<String, serde_json::Value> {
    let mut object = serde_json::Map::new();
    object.insert("type".to_owned(), "object".into());
    object.insert(EXACT.to_owned(), json::to_string(value).into());
    object
}

/// One connection, or one request where there are no connections.
#[derive(Default)]
pub struct Wire {
    /// The ids of tasks of each subscription that is not acknowledged yet, by its request's id as JSON.
    asked: Mutex<BTreeMap<String, Value>>,
}

impl Wire {
    /// What the library is given for the message in `bytes`.
    ///
    /// # Errors
    /// Where `bytes` are no JSON object that two readers would understand in the same way.
    pub fn incoming(&self, bytes: &[u8]) -> Result<String, Refused> {
        let message = json::parse(bytes).map_err(|error| Refused { id: id_of(bytes), why: error.to_string() })?;
        let Value::Object(mut message) = message else {
            return Err(Refused { id: None, why: format!("a message is an object, not a value of type {}", message.type_name()) });
        };
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(Value::Object(params)) = message.get("params") {
            let given = self.for_library(&method, params, message.get("id"));
            message.insert("params", given.into());
        }
        Ok(to_serde(&message.into(), Inexact::Nearest).to_string())
    }

    fn for_library(&self, method: &str, params: &Object, id: Option<&Value>) -> Object {
        let mut given = params.clone();
        let meta = params.get("_meta").and_then(Value::as_object);
        let mut kept = meta.map(of_others).unwrap_or_default();
        let mut carry = |key: &str, value: &Value| kept.insert(key, Value::string(json::to_string(value)));
        match method {
            "tools/call" => {
                if let Some(arguments @ Value::Object(_)) = params.get("arguments") {
                    carry(ARGUMENTS, arguments);
                    given.remove("arguments");
                }
            }
            "tasks/update" => {
                if let Some(answers) = params.get("inputResponses") {
                    carry(ANSWERS, answers);
                }
            }
            "subscriptions/listen" => {
                if let Some(tasks @ Value::Array(_)) = params.get("notifications").and_then(|wanted| wanted.get("taskIds")) {
                    carry(TASKS, tasks);
                    if let Some(id) = id {
                        self.asked().insert(json::to_string(id), tasks.clone());
                    }
                }
            }
            _ => {}
        }
        if meta.is_some() || !kept.is_empty() {
            given.insert("_meta", kept.into());
        }
        given
    }

    /// What is sent for the library's message in `text`. Where a value cannot be put in its place, that is an error that says so, rather than
    /// something near it.
    pub fn outgoing(&self, text: String) -> String {
        if !text.contains(PRIVATE) && !text.contains(ACKNOWLEDGED) {
            return text;
        }
        self.exactly(&text).unwrap_or_else(|why| {
            let error = ErrorData::internal_error(format!("the answer cannot be sent: {why}"), None);
            serde_json::to_string(&ServerJsonRpcMessage::error(error, id_of(text.as_bytes()))).unwrap_or_default()
        })
    }

    fn exactly(&self, text: &str) -> Result<String, String> {
        let message = json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let mut message = restored(message)?;
        if message.get("method").and_then(Value::as_str) == Some(ACKNOWLEDGED) {
            message = self.with_tasks(message);
        }
        Ok(json::to_string(&message))
    }

    fn with_tasks(&self, message: Value) -> Value {
        let params = message.get("params").and_then(Value::as_object);
        let id = params.and_then(|params| params.get("_meta")).and_then(|meta| meta.get(SUBSCRIPTION));
        let tasks = id.and_then(|id| self.asked().remove(&json::to_string(id)));
        let (Some(params), Some(tasks), Some(whole)) = (params, tasks, message.as_object()) else { return message };
        let mut accepted = params.get("notifications").and_then(Value::as_object).cloned().unwrap_or_default();
        accepted.insert("taskIds", tasks);
        let (mut whole, mut params) = (whole.clone(), params.clone());
        params.insert("notifications", accepted.into());
        whole.insert("params", params.into());
        whole.into()
    }

    fn asked(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `value` with every [`exact`] value in its place. The depth is that of what the library made, which is bounded.
fn restored(value: Value) -> Result<Value, String> {
    match &value {
        Value::Array(items) => items.iter().cloned().map(restored).collect::<Result<Vec<Value>, String>>().map(Value::array),
        Value::Object(object) => match object.get(EXACT) {
            Some(Value::String(text)) => json::parse(text.as_bytes()).map_err(|error| error.to_string()),
            Some(_) | None => {
                let entry = |(key, value): (&smol_str::SmolStr, &Value)| Ok((key.clone(), restored(value.clone())?));
                object.iter().map(entry).collect::<Result<Object, String>>().map(Value::Object)
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value),
    }
}

/// Whether a request is of the era without `initialize`.
pub fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::wire::carried;
    use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage};

    fn call(arguments: &str, meta: &str) -> ClientRequest {
        let sent =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{meta}}}}}"#);
        let given = Wire::default().incoming(sent.as_bytes()).expect("it is a message");
        match serde_json::from_str(&given).expect("the library reads it") {
            ClientJsonRpcMessage::Request(request) => request.request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_arrive_with_their_digits() {
        let arguments = r#"{"z":18446744073709551617,"a":[1.10,1e400,-0],"nul":"\u0000"}"#;
        let request = call(arguments, r#"{"progressToken":3}"#);
        assert!(matches!(request, ClientRequest::CallToolRequest(_)));
        let carried = carried(Some(&request.get_meta().0), ARGUMENTS).expect("they are carried");
        assert_eq!(json::to_string(&carried), json::to_string(&json::parse(arguments.as_bytes()).expect("JSON")));
        assert!(request.get_meta().get_progress_token().is_some());
    }

    #[test]
    fn what_a_client_sends_under_private_keys_is_dropped() {
        let request = call("{}", r#"{"ltc.private/arguments":"{\"a\":1}","ltc.private/tasks":"[]"}"#);
        assert_eq!(carried(Some(&request.get_meta().0), ARGUMENTS), json::parse(b"{}").ok());
        assert_eq!(carried(Some(&request.get_meta().0), TASKS), None);
    }

    #[test]
    fn values_leave_with_their_digits_wherever_they_stand() {
        let value = json::parse(br#"{"n":[123456789012345678901234567890,1.10,1e400]}"#).expect("JSON");
        let message = serde_json::json!({"result": {"structuredContent": exact(&value), "tools": [{"inputSchema": exact(&value)}]}});
        let sent = Wire::default().outgoing(message.to_string());
        let whole = json::to_string(&value);
        assert_eq!(sent, format!(r#"{{"result":{{"structuredContent":{whole},"tools":[{{"inputSchema":{whole}}}]}}}}"#));
    }

    #[test]
    fn an_object_of_others_that_looks_like_ours_stays_what_it_is() {
        let value = json::parse(br#"{"ltc.private/exact":"[1]"}"#).expect("JSON");
        let sent = Wire::default().outgoing(serde_json::json!({"result": exact(&value)}).to_string());
        assert_eq!(sent, r#"{"result":{"ltc.private/exact":"[1]"}}"#);
    }

    #[test]
    fn the_tasks_of_a_subscription_are_acknowledged_once() {
        let wire = Wire::default();
        let listen = br#"{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"taskIds":["a"]}}}"#;
        let given = wire.incoming(listen).expect("it is a message");
        let JsonRpcMessage::Request(request) = serde_json::from_str::<ClientJsonRpcMessage>(&given).expect("it reads") else {
            panic!("{given}")
        };
        assert_eq!(carried(Some(&request.request.get_meta().0), TASKS), json::parse(br#"["a"]"#).ok());
        let ack = |id: &str| {
            format!(
                r#"{{"method":"{ACKNOWLEDGED}","params":{{"_meta":{{"{SUBSCRIPTION}":"{id}"}},"notifications":{{"toolsListChanged":true}}}}}}"#
            )
        };
        let sent = |id: &str| wire.outgoing(ack(id));
        assert!(!sent("other").contains("taskIds"));
        assert!(sent("s").contains(r#""notifications":{"toolsListChanged":true,"taskIds":["a"]}"#));
        assert!(!sent("s").contains("taskIds"));
    }

    #[test]
    fn what_is_no_message_names_the_request_that_waits() {
        let refused = |text: &str| Wire::default().incoming(text.as_bytes()).expect_err("no message");
        assert!(refused(r#"{"id":7,"method":"tools/call","params":{"a":1,"a":2}}"#).id.is_some());
        assert_eq!(refused("[]").id, None);
        assert_eq!(refused("hello").id, None);
    }
}
