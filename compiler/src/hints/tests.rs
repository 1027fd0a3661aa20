//! Hints are read, refused, and written such that reading gives them back.

use super::{Hints, read, read_all, to_json};
use ltc_workflow::Value;
use ltc_workflow::document::{Duration, ToolEffect};
use ltc_workflow::json;

fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("valid JSON in a test")
}

const FULL: &str = r#"{
  "note": "Returns pages.", "effects": {"extract": "read", "capture": "write", "upsert": "idempotent"},
  "ignore": ["list"], "keep": ["wait"], "inputs": ["prompt"], "constants": ["steps"], "secret": {"password": "PORTAL_PASSWORD"},
  "session": ["page_id"], "prefer": ["links"], "fresh": ["token"], "order": [{"first": "login", "then": "navigate"}],
  "poll": {"get_job": {"interval": "2s", "at_most": 100, "until": "state == 'done'"}}, "pages": {"search": {"cursor": "next", "argument": "cursor", "items": "results"}},
  "batch": {"capture": {"tool": "capture_all", "items": "pages"}}, "timeout": "1m30s",
  "retry": {"attempts": 3, "backoff": "250ms", "factor": 1.50, "tools": ["get_page"]}, "volatile": ["updated_at"],
  "error_when": {"run_query": "error != null"}
}"#;

#[test]
fn everything_is_read() {
    let hints = read(&value(FULL), "").expect("these hints are right");
    assert_eq!(hints.note.as_deref(), Some("Returns pages."));
    assert_eq!(hints.effects.get("capture"), Some(&ToolEffect::Write));
    assert_eq!(hints.order, vec![("login".into(), "navigate".into())]);
    assert_eq!(hints.poll.get("get_job").and_then(|p| p.interval), Some(Duration { millis: 2_000 }));
    assert_eq!(hints.timeout, Some(Duration { millis: 90_000 }));
    let retry = hints.retry.as_ref().expect("a retry");
    assert_eq!((retry.retry.attempts, retry.retry.factor.as_str()), (3, "1.50"));
    assert_eq!(to_json(&hints), value(FULL));
    assert_eq!(read(&to_json(&hints), ""), Ok(hints));
}

#[test]
fn a_text_is_a_note() {
    assert_eq!(read(&Value::from("Go slowly."), ""), Ok(Hints { note: Some("Go slowly.".to_owned()), ..Hints::default() }));
    assert_eq!(read(&value("{}"), ""), Ok(Hints::default()));
    assert_eq!(read(&value(r#"{"timeout": null}"#), ""), Ok(Hints::default()));
}

#[test]
fn every_mistake_has_its_place() {
    let wrong = value(
        r#"{"tiemout": "2s", "ignore": "list", "keep": [1], "effects": {"a": "maybe"}, "timeout": "fast", "order": [{"first": "a"}],
            "poll": {"j": {"at_most": 0, "every": "2s", "until": "state =="}}, "pages": {"s": {"cursor": "c"}}, "retry": {"backoff": "1s"}, "secret": []}"#,
    );
    let problems = read(&wrong, "/servers/x/compile_hints").expect_err("twelve mistakes");
    let places: Vec<(&str, &str)> = problems.iter().map(|p| (p.code, p.place.as_str())).collect();
    let at = |tail: &str| format!("/servers/x/compile_hints{tail}");
    let expected = [
        ("unknown-hint", at("/tiemout")),
        ("wrong-type", at("/ignore")),
        ("wrong-type", at("/keep/0")),
        ("wrong-type", at("/effects/a")),
        ("wrong-type", at("/timeout")),
        ("missing-field", at("/order/0")),
        ("wrong-type", at("/poll/j/at_most")),
        ("unknown-hint", at("/poll/j/every")),
        ("invalid-expression", at("/poll/j/until")),
        ("missing-field", at("/pages/s")),
        ("missing-field", at("/retry")),
        ("wrong-type", at("/secret")),
    ];
    for (code, place) in &expected {
        assert!(places.contains(&(*code, place.as_str())), "{code} at {place} is not in {places:?}");
    }
    assert_eq!(problems.len(), expected.len());
    let nearest = problems.first().and_then(|p| p.help.as_deref());
    assert_eq!(nearest, Some("the nearest known name is `timeout`"));
}

#[test]
fn a_file_has_servers() {
    let file = read_all(&value(r#"{"a": "note", "b": {"keep": ["x"]}}"#)).expect("a right file");
    assert_eq!(file.keys().map(|k| k.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let problems = read_all(&value(r#"{"a": {"kepe": []}}"#)).expect_err("a misspelt key");
    assert_eq!(problems.first().map(|p| p.place.as_str()), Some("/a/kepe"));
}

#[test]
fn the_schema_has_the_keys_of_hints() {
    let schema = value(super::SCHEMA);
    let properties = schema.get("$defs").and_then(|d| d.get("hints")?.get("properties")).and_then(Value::as_object);
    let keys: Vec<&str> = properties.map(|p| p.keys().map(|k| k.as_str()).collect()).unwrap_or_default();
    assert_eq!(keys, super::KEYS);
}

#[test]
fn expressions_are_those_of_the_language() {
    let hints = read(&value(FULL), "").expect("these hints are right");
    let until = hints.poll.get("get_job").and_then(|p| p.until.clone()).expect("an expression");
    assert_eq!(ltc_workflow::expr::print::print(&until), "state == 'done'");
}
