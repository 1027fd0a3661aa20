//! Pairs of requests and answers, as they are and as a hostile side would have them.

use super::*;
use ltc_workflow::json;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Seen {
    fn say(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

impl Observer for Seen {
    fn greeted(&self, _server: &str, answer: &Value) {
        self.say(format!("greeted {}", json::to_string(answer)));
    }

    fn listed(&self, _server: &str, tools: &[Value], is_first: bool) {
        self.say(format!("listed {} {is_first}", tools.len()));
    }

    fn called(&self, _server: &str, call: &Call) {
        assert!(call.started < call.ended);
        let outcome = match &call.outcome {
            Outcome::Result(result) => format!("result {}", json::to_string(result)),
            Outcome::Error(error) => format!("error {}", json::to_string(error)),
            Outcome::Cancelled => "cancelled".to_owned(),
            Outcome::Unanswered => "unanswered".to_owned(),
        };
        self.say(format!("{} {} {outcome}", call.tool, json::to_string(&Value::Object(call.arguments.clone()))));
    }
}

/// What is seen of messages: `>` to the server, `<` from it.
fn seen(messages: &[&str]) -> Vec<String> {
    let seen = Arc::new(Seen::default());
    let mut watch = Watch::new("s", seen.clone());
    for message in messages {
        let (way, text) = message.split_at(1);
        let message = json::parse(text.as_bytes()).expect("JSON in a test");
        if way == ">" { watch.sent(&message) } else { watch.received(&message) }
    }
    watch.end();
    std::mem::take(&mut *seen.0.lock().unwrap_or_else(PoisonError::into_inner))
}

const CALL: &str = r#">{"id":1,"method":"tools/call","params":{"name":"t","arguments":{"n":1.10}}}"#;

#[test]
fn an_answer_belongs_to_the_request_of_its_id() {
    let other = CALL.replace(r#""id":1"#, r#""id":"1""#).replace("1.10", "2");
    let heard = seen(&[CALL, &other, r#"<{"id":"1","result":{"content":[]}}"#, r#"<{"id":1,"error":{"code":-1,"message":"m"}}"#]);
    assert_eq!(heard, [r#"t {"n":2} result {"content":[]}"#, r#"t {"n":1.10} error {"code":-1,"message":"m"}"#]);
}

#[test]
fn what_belongs_to_nothing_is_forgotten() {
    let heard = seen(&[
        r#"<{"id":1,"result":{"content":[]}}"#,
        r#"<{"id":1}"#,
        "<[]",
        "<7",
        r#">{"id":1,"method":"tools/call"}"#,
        r#">{"id":1,"method":"tools/call","params":{"name":7}}"#,
        r#"<{"id":1,"result":{"content":[]}}"#,
    ]);
    assert_eq!(heard, [""; 0]);
}

#[test]
fn the_same_id_twice_is_two_calls_in_their_order() {
    let heard = seen(&[CALL, &CALL.replace("1.10", "2"), r#"<{"id":1,"result":{"content":[1]}}"#, r#"<{"id":1,"result":{"content":[2]}}"#]);
    assert_eq!(heard, [r#"t {"n":1.10} result {"content":[1]}"#, r#"t {"n":2} result {"content":[2]}"#]);
}

#[test]
fn a_call_that_nobody_waits_for_has_an_end_too() {
    let cancel = r#">{"method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(seen(&[CALL, cancel, r#"<{"id":1,"result":{"content":[]}}"#]), [r#"t {"n":1.10} cancelled"#]);
    assert_eq!(seen(&[CALL]), [r#"t {"n":1.10} unanswered"#]);
}

#[test]
fn a_task_ends_the_call_that_it_was() {
    let result = r#"{"content":[{"type":"text","text":"done"}]}"#;
    let old = [
        CALL,
        r#"<{"id":1,"result":{"task":{"taskId":"a","status":"working"}}}"#,
        r#">{"id":2,"method":"tasks/result","params":{"taskId":"a"}}"#,
        &format!(r#"<{{"id":2,"result":{result}}}"#),
    ];
    assert_eq!(seen(&old), [format!(r#"t {{"n":1.10}} result {result}"#)]);
    let new = [
        CALL,
        r#"<{"id":1,"result":{"resultType":"task","taskId":"a","status":"working"}}"#,
        r#">{"id":2,"method":"tasks/get","params":{"taskId":"a"}}"#,
        r#"<{"id":2,"result":{"taskId":"a","status":"working"}}"#,
        r#">{"id":3,"method":"tasks/get","params":{"taskId":"a"}}"#,
        &format!(r#"<{{"id":3,"result":{{"taskId":"a","status":"completed","result":{result}}}}}"#),
    ];
    assert_eq!(seen(&new), [format!(r#"t {{"n":1.10}} result {result}"#)]);
}

#[test]
fn a_call_that_is_made_again_with_an_answer_counts_once() {
    let heard = seen(&[
        CALL,
        r#"<{"id":1,"result":{"resultType":"input_required","inputRequests":{}}}"#,
        r#">{"id":2,"method":"tools/call","params":{"name":"t","arguments":{"n":1.10},"inputResponses":{}}}"#,
        r#"<{"id":2,"result":{"resultType":"complete","content":[]}}"#,
    ]);
    assert_eq!(heard, [r#"t {"n":1.10} result {"resultType":"complete","content":[]}"#]);
}

#[test]
fn lists_and_handshakes_are_told() {
    let heard = seen(&[
        r#">{"id":0,"method":"initialize"}"#,
        r#"<{"id":0,"result":{"serverInfo":{"name":"x"}}}"#,
        r#">[{"id":1,"method":"tools/list"},{"id":2,"method":"tools/list","params":{"cursor":"c"}}]"#,
        r#"<[{"id":1,"result":{"tools":[{},{}]}},{"id":2,"result":{"tools":[{}]}}]"#,
    ]);
    assert_eq!(heard, [r#"greeted {"serverInfo":{"name":"x"}}"#, "listed 2 true", "listed 1 false"]);
}
