//! REST, as a client sees it: the same answers as everywhere else, and refusals with the right status and words that help.

#[path = "rest/refusals.rs"]
mod refusals;
#[path = "support/served.rs"]
mod served;
mod support;
#[path = "rest/twins.rs"]
mod twins;

use ltc_workflow::{Value, json};
use served::{Served, at};
use support::ended;

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("no {key} in {}", json::to_string(value)))
}

const ECHO: &str = "workflow: echo\nversion: 1\ninputs: { n: { type: number } }\nsteps: []\noutput: \"${{ inputs.n }}\"\n";
const ASK: &str =
    "workflow: ask\nversion: 1\nsteps:\n  - id: q\n    escalate: { role: reviewer, message: \"May I?\" }\noutput: \"${{ steps.q }}\"\n";

fn document(text: &str) -> String {
    format!("{{\"document\":{}}}", json::quote(text))
}

#[test]
fn a_workflow_goes_its_way_over_rest() {
    let served = Served::start(&[], None);
    for workflow in [ECHO, ASK] {
        let (status, version) = served.send("POST /api/workflows", &document(workflow));
        assert_eq!((status, text(&version, "state")), (200, "active"));
    }
    let (status, list) = served.get("/api/workflows?limit=1");
    assert_eq!(status, 200);
    assert_eq!(list.get("workflows").and_then(Value::as_array).map(<[Value]>::len), Some(1));
    let (_, rest) = served.get(&format!("/api/workflows?after={}", text(&list, "next")));
    assert_eq!(text(&rest.get("workflows").and_then(|list| list.at(0)).cloned().unwrap_or_default(), "name"), "echo");

    let (status, run) = served.send("POST /api/workflows/echo/invoke", r#"{"input":{"n":123456789012345678901234567890.10}}"#);
    assert_eq!((status, text(&run, "status")), (200, "done"));
    assert_eq!(run.get("output").map(json::to_string).as_deref(), Some("123456789012345678901234567890.10"));

    let (_, run) = served.send("POST /api/workflows/ask/invoke", r#"{"run_id":"r1"}"#);
    assert_eq!(text(&run, "status"), "waiting");
    let (_, work) = served.get("/api/escalations?role=reviewer");
    let question = work.get("escalations").and_then(|list| list.at(0)).cloned().expect("a question");
    let path = format!("POST /api/escalations/{}/resolve", text(&question, "escalation_id"));
    assert_eq!(served.send(&path, r#"{"resolver_id":"me","payload":"yes"}"#).0, 200);
    let again = served.send(&path, r#"{"resolver_id":"you","payload":"no"}"#);
    assert_eq!((again.0, text(&again.1, "code")), (409, "conflict"));
    let (_, run) = served.send("POST /api/workflows/ask/invoke", r#"{"run_id":"r1"}"#);
    assert_eq!((text(&run, "status"), text(&run, "output")), ("done", "yes"));
    let (_, run) = served.get("/api/runs/r1?events=true");
    assert!(run.get("events").and_then(Value::as_array).is_some_and(|events| events.len() >= 2));
    // The command sees the same.
    let shown = ended(&mut at(&served.folder, ["runs", "show", "r1"]));
    assert_eq!(json::parse(shown.stdout.as_bytes()), Ok(run));
}

#[test]
fn what_is_wrong_has_its_status_and_says_what_to_do() {
    let served = Served::start(&[], None);
    served.send("POST /api/workflows", &document(ECHO));
    let cases = [
        ("GET /api/nothing", "", 404, "openapi.json"),
        ("GET /api/workflows/none", "", 404, "none"),
        ("GET /api/runs/none", "", 404, "none"),
        ("PATCH /api/runs", "", 405, "no such method"),
        ("GET /api/runs?limit=many", "", 400, "`limit` is an integer"),
        ("GET /api/runs?limit=1&limit=2", "", 400, "`limit` is there twice"),
        ("GET /api/runs?limits=1", "", 422, "limits"),
        ("POST /api/workflows/echo/invoke", "{", 400, "no JSON"),
        ("POST /api/workflows/echo/invoke", "[]", 400, "object"),
        ("POST /api/workflows/echo/invoke", r#"{"workflow_name":"other"}"#, 400, "stands in the path"),
        ("POST /api/workflows/echo/invoke", r#"{"input":{"m":1}}"#, 422, "perhaps `n` is meant"),
        ("POST /api/workflows/echo/invoke?async=true", r#"{"input":{"n":1}}"#, 400, "no query"),
        ("POST /api/workflows", r#"{"document":"workflow: ["}"#, 422, "document"),
        ("POST /api/workflows", "", 422, "document"),
    ];
    refusals::each_is_refused(&served, &cases);
    let plain = served.raw("POST /api/workflows", "content-type: text/plain\r\n", document(ECHO).as_bytes());
    assert_eq!(plain.0, 415);
    let large = served.raw("POST /api/workflows", "content-type: application/json\r\n", &vec![b' '; 5 * 1024 * 1024]);
    assert_eq!(large.0, 413);
}

#[test]
fn only_who_may_come_comes() {
    let served = Served::start(&[], Some("0123456789abcdef0123"));
    let with = |headers: &str| served.raw("GET /api/runs", headers, b"").0;
    assert_eq!(with(""), 401);
    assert_eq!(with("authorization: Bearer 0123456789abcdef0124\r\n"), 401);
    let token = "authorization: Bearer 0123456789abcdef0123\r\n";
    assert_eq!(with(token), 200);
    assert_eq!(with(&format!("{token}host: evil.example\r\n")), 403);
    assert_eq!(with(&format!("{token}origin: https://evil.example\r\n")), 403);
    assert_eq!(with(&format!("{token}host: 127.0.0.1:{}\r\n", served.port)), 200);
}

#[test]
fn the_document_names_every_route() {
    let served = Served::start(&[], None);
    let (status, document) = served.get("/api/openapi.json");
    assert_eq!((status, text(&document, "openapi")), (200, "3.1.0"));
    let paths = document.get("paths").and_then(Value::as_object).cloned().expect("paths");
    assert!(paths.contains_key("/api/workflows/{workflow_name}/invoke"), "{paths:?}");
    // Each GET without a parameter in its path answers; one that wants something in its query says so.
    for path in paths.keys().filter(|path| !path.contains('{')) {
        let Some(get) = paths.get(path).and_then(|item| item.get("get")) else { continue };
        let parameters = get.get("parameters").and_then(Value::as_array).unwrap_or_default();
        let is_complete = !parameters.iter().any(|parameter| parameter.get("required") == Some(&Value::Bool(true)));
        assert_eq!(served.get(path).0, if is_complete { 200 } else { 422 }, "{path}");
    }
}
