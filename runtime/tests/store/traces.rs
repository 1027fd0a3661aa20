//! Laws of recordings.

use crate::place::{Place, json, question_id};
use ltc_runtime::clock::Moment;
use ltc_runtime::store::{NewTrace, Noted, Store, StoreError, TraceAbout, TraceCall, TraceFilter, TraceId, TraceOutcome, TraceRecord};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;

fn id(text: &str) -> TraceId {
    TraceId(SmolStr::new(text))
}

fn object(text: &str) -> Object {
    json(text).as_object().cloned().expect("an object")
}

fn new(name: &str, at: i64) -> NewTrace {
    NewTrace { id: id(name), by: "gateway".into(), about: TraceAbout::default(), servers: Object::default(), started_at: Moment(at) }
}

fn call(name: &str, at: i64) -> TraceCall {
    TraceCall {
        id: name.into(),
        server: "s".into(),
        tool: "t".into(),
        arguments: object(r#"{"n":123456789012345678901234567890,"s":"\u0000","f":1.10}"#),
        outcome: TraceOutcome::Result(json(r#"{"content":[{"type":"text","text":"1e400"}],"structuredContent":{"z":1.0,"a":1e400}}"#)),
        started_at: Moment(at),
        ended_at: Moment(at + 1),
        turn: None,
    }
}

const ALL: TraceFilter = TraceFilter { escalation: None, workflow: None, task: None, is_open: None, after: None, limit: 100 };

async fn opened(store: &dyn Store, trace: NewTrace) {
    assert_eq!(store.open_trace(trace).await, Ok(()));
}

async fn names(store: &dyn Store, filter: TraceFilter) -> String {
    let names: Vec<String> = store.traces(filter).await.expect("a list").into_iter().map(|record| record.id.0.into()).collect();
    names.join(" ")
}

pub async fn a_recording_is_one_document(place: Place) {
    let store = place.open().await;
    let about = TraceAbout {
        task: Some("Do it\0 now".to_owned()),
        workflow: Some("w".into()),
        escalation: Some(question_id("q")),
        input: Some(object(r#"{"b":1.0,"a":2}"#)),
    };
    opened(&*store, NewTrace { servers: object(r#"{"s":{"command":"x","tools":[]}}"#), ..new("r", 1000) }).await;
    assert_eq!(store.note_trace(&id("r"), &about, Moment(1001)).await, Ok(Noted::Calls(0)));
    assert_eq!(store.note_trace_server(&id("r"), &"z".into(), &json(r#"{"tags":["later"]}"#), Moment(1001)).await, Ok(Noted::Calls(0)));
    assert_eq!(store.note_trace_server(&id("r"), &"s".into(), &json(r#"{"command":"y"}"#), Moment(1001)).await, Ok(Noted::Calls(0)));
    assert_eq!(store.append_calls(&id("r"), &[call("one", 1002)]).await, Ok(Noted::Calls(1)));
    let failed = TraceOutcome::Error { code: -32602, message: "no such thing".to_owned() };
    assert_eq!(
        store.append_calls(&id("r"), &[TraceCall { outcome: failed, turn: Some(2), ..call("two", 1004) }]).await,
        Ok(Noted::Calls(2))
    );
    let during = store.trace_document(&id("r")).await.expect("an answer").expect("it is there");
    assert_eq!(during.get("calls").and_then(Value::as_array).map(<[Value]>::len), Some(2));
    assert_eq!(store.end_trace(&id("r"), Some(&json("[1.0]")), Moment(1010)).await, Ok(Noted::Calls(2)));

    let expected = r#"{"format":"ltc.trace/1","id":"r","task":"Do it\u0000 now","input":{"b":1.0,"a":2},"output":[1.0],"servers":{"s":{"command":"y"},"z":{"tags":["later"]}},"calls":[{"id":"one","server":"s","tool":"t","arguments":{"n":123456789012345678901234567890,"s":"\u0000","f":1.10},"result":{"content":[{"type":"text","text":"1e400"}],"structuredContent":{"z":1.0,"a":1e400}},"started_at":"1970-01-01T00:00:01.002Z","ended_at":"1970-01-01T00:00:01.003Z"},{"id":"two","server":"s","tool":"t","arguments":{"n":123456789012345678901234567890,"s":"\u0000","f":1.10},"error":{"code":-32602,"message":"no such thing"},"started_at":"1970-01-01T00:00:01.004Z","ended_at":"1970-01-01T00:00:01.005Z","turn":2}]}"#;
    let store = place.open().await;
    let whole = store.trace_document(&id("r")).await.expect("an answer").expect("it is there");
    assert_eq!(ltc_workflow::json::to_string(&whole), expected);
    let record = TraceRecord {
        id: id("r"),
        by: "gateway".into(),
        about,
        calls: 2,
        started_at: Moment(1000),
        touched_at: Moment(1010),
        ended_at: Some(Moment(1010)),
        output: Some(json("[1.0]")),
    };
    assert_eq!(store.trace(&id("r")).await, Ok(Some(record)));
    assert_eq!(store.trace_document(&id("other")).await, Ok(None));
}

pub async fn calls_have_one_order(place: Place) {
    let stores = [place.open().await, place.open().await];
    opened(&*stores[0], new("r", 1000)).await;
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..6_usize {
        let store = stores[writer % 2].clone();
        tasks.spawn(async move {
            for index in 0..10 {
                store.append_calls(&id("r"), &[call(&format!("{writer}-{index}"), index)]).await.expect("it is written down");
            }
        });
    }
    tasks.join_all().await;
    let whole = stores[0].trace_document(&id("r")).await.expect("an answer").expect("it is there");
    let calls: Vec<&str> =
        whole.get("calls").and_then(Value::as_array).into_iter().flatten().filter_map(|call| call.get("id")?.as_str()).collect();
    assert_eq!(calls.len(), 60);
    for writer in 0..6 {
        let own: Vec<&str> = calls.iter().copied().filter(|call| call.starts_with(&format!("{writer}-"))).collect();
        let expected: Vec<String> = (0..10).map(|index| format!("{writer}-{index}")).collect();
        assert_eq!(own, expected);
    }
    assert_eq!(stores[1].trace(&id("r")).await.expect("an answer").map(|record| record.calls), Some(60));
}

pub async fn nothing_is_written_twice_or_after_the_end(place: Place) {
    let store = place.open().await;
    let is_broken = |answer: Result<Noted, StoreError>| matches!(answer, Err(StoreError::Broken(_)));
    opened(&*store, new("r", 1000)).await;
    // The same again: nobody knew whether it had worked.
    opened(&*store, new("r", 1000)).await;
    assert!(matches!(store.open_trace(new("r", 1001)).await, Err(StoreError::Broken(_))));
    assert_eq!(store.append_calls(&id("r"), &[call("one", 1)]).await, Ok(Noted::Calls(1)));
    assert_eq!(store.append_calls(&id("r"), &[call("one", 1)]).await, Ok(Noted::Calls(1)));
    assert!(is_broken(store.append_calls(&id("r"), &[call("one", 2)]).await));
    assert_eq!(store.append_calls(&id("other"), &[call("one", 1)]).await, Ok(Noted::NoSuchTrace));
    assert_eq!(store.trace(&id("r")).await.expect("an answer").map(|record| record.calls), Some(1));
    // Several at once: those that are there stay where they are, and one that is another keeps all of them out.
    let several = |names: &[&str]| names.iter().map(|name| call(name, 1)).collect::<Vec<TraceCall>>();
    assert_eq!(store.append_calls(&id("r"), &[]).await, Ok(Noted::Calls(1)));
    assert_eq!(store.append_calls(&id("r"), &several(&["two", "three"])).await, Ok(Noted::Calls(3)));
    assert_eq!(store.append_calls(&id("r"), &several(&["three", "four", "one", "five"])).await, Ok(Noted::Calls(5)));
    assert!(is_broken(store.append_calls(&id("r"), &[call("six", 1), call("two", 2)]).await));
    assert_eq!(store.append_calls(&id("none"), &several(&["a", "b"])).await, Ok(Noted::NoSuchTrace));
    let document = store.trace_document(&id("r")).await.expect("an answer").expect("a document");
    let names: Vec<&str> =
        document.get("calls").and_then(Value::as_array).expect("calls").iter().filter_map(|call| call.get("id")?.as_str()).collect();
    assert_eq!(names, ["one", "two", "three", "four", "five"]);
    assert_eq!(store.end_trace(&id("r"), None, Moment(2000)).await, Ok(Noted::Calls(5)));
    assert_eq!(store.append_calls(&id("r"), &[call("seven", 3)]).await, Ok(Noted::Ended));
    assert_eq!(store.note_trace_server(&id("r"), &"s".into(), &json("{}"), Moment(3)).await, Ok(Noted::Ended));
    let about = TraceAbout { task: Some("late".to_owned()), ..TraceAbout::default() };
    assert_eq!(store.note_trace(&id("r"), &about, Moment(3)).await, Ok(Noted::Ended));
    assert_eq!(store.end_trace(&id("r"), Some(&json("1")), Moment(3)).await, Ok(Noted::Ended));
    let record = store.trace(&id("r")).await.expect("an answer").expect("it is there");
    assert_eq!((record.ended_at, record.output, record.about.task), (Some(Moment(2000)), None, None));
}

pub async fn recordings_are_found_and_go(place: Place) {
    let store = place.open().await;
    for (name, at, workflow, question) in
        [("a", 10, Some("w"), None), ("b", 30, None, Some("q")), ("c", 20, Some("w"), Some("q")), ("d", 20, Some("v"), None)]
    {
        let about = TraceAbout {
            task: workflow.map(|workflow| format!("make {workflow}")),
            workflow: workflow.map(SmolStr::new),
            escalation: question.map(question_id),
            input: None,
        };
        opened(&*store, NewTrace { about, ..new(name, at) }).await;
        store.append_calls(&id(name), &[call("one", at)]).await.expect("it is written down");
    }
    store.end_trace(&id("c"), None, Moment(25)).await.expect("it ends");
    assert_eq!(names(&*store, ALL).await, "b d c a");
    assert_eq!(names(&*store, TraceFilter { workflow: Some("w".into()), ..ALL }).await, "c a");
    assert_eq!(names(&*store, TraceFilter { escalation: Some(question_id("q")), ..ALL }).await, "b c");
    assert_eq!(names(&*store, TraceFilter { task: Some("make w".to_owned()), is_open: Some(true), ..ALL }).await, "a");
    assert_eq!(names(&*store, TraceFilter { is_open: Some(false), ..ALL }).await, "c");
    assert_eq!(names(&*store, TraceFilter { limit: 2, ..ALL }).await, "b d");
    assert_eq!(names(&*store, TraceFilter { after: Some((Moment(20), id("d"))), ..ALL }).await, "c a");

    // The last thing in a was at 11, in d at 21, in c at 25, in b at 31.
    assert_eq!(store.prune_traces(Moment(22)).await, Ok(2));
    assert_eq!(names(&*store, ALL).await, "b c");
    assert_eq!((store.delete_trace(&id("b")).await, store.delete_trace(&id("b")).await), (Ok(true), Ok(false)));
    assert_eq!((store.trace(&id("b")).await, store.trace_document(&id("b")).await), (Ok(None), Ok(None)));
    // A new one of the name has nothing of the old one.
    opened(&*store, new("b", 40)).await;
    let whole = store.trace_document(&id("b")).await.expect("an answer").expect("it is there");
    assert_eq!(ltc_workflow::json::to_string(&whole), r#"{"format":"ltc.trace/1","id":"b","servers":{},"calls":[]}"#);
    for number in 0..120 {
        opened(&*store, new(&format!("old{number}"), 1)).await;
    }
    assert_eq!(store.prune_traces(Moment(2)).await, Ok(120));
    assert_eq!(names(&*store, ALL).await, "b c");
}
