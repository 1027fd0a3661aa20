//! What is wrong with a request has its status on every route, and says what to do; nothing that a client sends is a failure of the server.

use crate::served::{Answer, Served};
use crate::{ECHO, document};
use ltc_runtime::service::{OPERATIONS, Operation, Rest, Verb};
use ltc_workflow::{Object, Value, json};

const JSON: &str = "content-type: application/json\r\n";

fn routes() -> impl Iterator<Item = (&'static Operation, Verb, &'static str)> {
    OPERATIONS.iter().filter_map(|operation| match operation.rest {
        Rest::At(verb, path) => Some((operation, verb, path)),
        Rest::Exempt(_) => None,
    })
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GET",
        Verb::Post => "POST",
        Verb::Put => "PUT",
        Verb::Delete => "DELETE",
    }
}

fn has_body(verb: Verb) -> bool {
    matches!(verb, Verb::Post | Verb::Put)
}

/// The path with `name` for each of its fields.
fn filled(path: &str, name: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { name.to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// What is refused has a code, and a message of some words.
#[track_caller]
fn is_refused(answer: &Answer, statuses: &[u16], request: &str) -> Value {
    assert!(statuses.contains(&answer.status), "{request}: {} {}", answer.status, answer.body);
    assert!(answer.head.contains("content-type: application/json"), "{request}: {}", answer.head);
    let refusal = answer.json();
    let message = refusal.get("message").and_then(Value::as_str).unwrap_or_default();
    assert!(message.split(' ').count() >= 3, "{request}: {}", answer.body);
    assert!(refusal.get("code").and_then(Value::as_str).is_some(), "{request}: {}", answer.body);
    refusal
}

/// Each request with this body is refused with this status, and says these words.
pub fn each_is_refused(served: &Served, cases: &[(&str, &str, u16, &str)]) {
    for (request, body, status, words) in cases {
        let answer = served.exchange(request, JSON, body.as_bytes());
        let refusal = is_refused(&answer, &[*status], &format!("{request} {body}"));
        assert!(json::to_string(&refusal).contains(words), "{request} {body}: {}", answer.body);
    }
}

/// A value that fits a field, where one can be made up.
fn fitting(schema: &serde_json::Value) -> Value {
    let is = |name: &str| schema["type"] == name || schema["type"].as_array().is_some_and(|types| types.iter().any(|kind| kind == name));
    let constant = schema["enum"].get(0).or_else(|| schema["oneOf"].get(0).and_then(|one| one.get("const").or_else(|| one["enum"].get(0))));
    match constant.and_then(serde_json::Value::as_str) {
        Some(word) => Value::from(word),
        None if is("string") => Value::from("none-such"),
        None if is("integer") => Value::from(1_i64),
        None if is("boolean") => Value::from(true),
        None if is("array") => Value::array(vec![Value::from("none-such")]),
        None => Value::Object(Object::default()),
    }
}

/// An input that has all that must be there, without what stands in the path.
fn least(operation: &Operation, path: &str) -> Object {
    let schema = operation.input_schema();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let required = required.iter().filter_map(serde_json::Value::as_str).filter(|name| !path.contains(&format!("{{{name}}}")));
    required.map(|name| (smol_str::SmolStr::new(name), fitting(&schema["properties"][name]))).collect()
}

fn request(served: &Served, verb: Verb, path: &str, input: &Object) -> Answer {
    let path = filled(path, "none-such");
    if has_body(verb) {
        return served.exchange(&format!("{} {path}", method(verb)), JSON, json::to_string(&input.clone().into()).as_bytes());
    }
    let text = |value: &Value| value.as_str().map_or_else(|| json::to_string(value), str::to_owned);
    let item = |value: &Value| value.as_array().map_or_else(|| text(value), |items| items.iter().map(text).collect::<Vec<_>>().join(","));
    let query: Vec<String> = input.iter().map(|(name, value)| format!("{name}={}", item(value))).collect();
    served.exchange(&format!("{} {path}?{}", method(verb), query.join("&")), "", b"")
}

#[test]
fn each_route_says_of_what_is_not_there_that_it_is_not_there() {
    let served = Served::start(&[], None);
    for (operation, verb, path) in routes().filter(|(_, _, path)| path.contains('{')) {
        let answer = request(&served, verb, path, &least(operation, path));
        let refusal = is_refused(&answer, &[404], operation.name);
        assert!(json::to_string(&refusal).contains("none-such"), "{}: {}", operation.name, answer.body);
    }
}

#[test]
fn each_route_refuses_a_body_that_it_cannot_read() {
    let served = Served::start(&[], None);
    for (operation, verb, path) in routes().filter(|(_, verb, _)| has_body(*verb)) {
        let to = format!("{} {}", method(verb), filled(path, "none-such"));
        let name = operation.name;
        for (headers, body, status) in [
            (JSON, "{", 400),
            (JSON, "[]", 400),
            (JSON, "\"text\"", 400),
            (JSON, r#"{"a":1,"a":2}"#, 400),
            (JSON, "{\"a\":\"\u{0}\"}", 400),
            ("content-type: text/plain\r\n", "{}", 415),
            ("content-type: application/xml\r\n", "<a/>", 415),
            ("", "{}", 415),
        ] {
            is_refused(&served.exchange(&to, headers, body.as_bytes()), &[status], &format!("{name} {body}"));
        }
        is_refused(&served.exchange(&to, JSON, b"{\"a\":\"\xff\"}"), &[400], name);
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        is_refused(&served.exchange(&to, JSON, deep.as_bytes()), &[400], &format!("{name}, nested deeply"));
        is_refused(&served.exchange(&format!("{to}?a=1"), JSON, b"{}"), &[400], &format!("{name} with a query"));
    }
    // A whole body of five MiB, to one route only: it is one piece of code.
    let large = served.exchange("POST /api/workflows", JSON, &vec![b' '; 5 * 1024 * 1024]);
    is_refused(&large, &[413], "a large body");
}

#[test]
fn each_route_refuses_fields_that_it_does_not_know_and_values_that_do_not_fit() {
    let served = Served::start(&[], None);
    for (operation, verb, path) in routes() {
        let schema = operation.input_schema();
        let good = least(operation, path);
        let with = |name: &str, value: Value| {
            let mut input = good.clone();
            input.insert(name, value);
            request(&served, verb, path, &input)
        };
        let name = operation.name;
        let refusal = is_refused(&with("unknown_field", Value::from("x")), &[422], name);
        assert!(json::to_string(&refusal).contains("unknown_field"), "{name}: {}", json::to_string(&refusal));
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let is_text =
                schema["type"] == "string" || schema["type"].as_array().is_some_and(|types| types.iter().any(|kind| kind == "string"));
            let is_anything = schema.get("type").is_none()
                && schema.get("oneOf").is_none()
                && schema.get("anyOf").is_none()
                && schema.get("enum").is_none();
            if path.contains(&format!("{{{field}}}")) || is_anything || (is_text && !has_body(verb)) {
                continue;
            }
            // No field takes this: a text is no number, and a text of a body is none of ours.
            let wrong = if is_text { Value::from(7_i64) } else { Value::from("\u{1f642}") };
            if !has_body(verb) && schema["type"] == "array" && schema["items"]["type"] == "string" {
                continue;
            }
            is_refused(&with(field, wrong), &[400, 422], &format!("{name}: {field}"));
        }
    }
}

#[test]
fn each_route_refuses_a_parameter_that_is_there_twice_and_what_is_left_out() {
    let served = Served::start(&[], None);
    for (operation, verb, path) in routes() {
        let least = least(operation, path);
        if !least.is_empty() {
            let refusal = is_refused(&request(&served, verb, path, &Object::default()), &[422], operation.name);
            let field = least.keys().next().expect("a field");
            assert!(json::to_string(&refusal).contains(field.as_str()), "{}: {}", operation.name, json::to_string(&refusal));
        }
        if has_body(verb) {
            continue;
        }
        for (field, schema) in operation.input_schema()["properties"].as_object().into_iter().flatten() {
            if path.contains(&format!("{{{field}}}")) || schema["type"] == "array" {
                continue;
            }
            let value = fitting(schema);
            let value = value.as_str().map_or_else(|| json::to_string(&value), str::to_owned);
            let twice = format!("{} {}?{field}={value}&{field}={value}", method(verb), filled(path, "none-such"));
            let refusal = is_refused(&served.exchange(&twice, "", b""), &[400], &twice);
            assert!(json::to_string(&refusal).contains(&format!("`{field}` is there twice")), "{twice}: {}", json::to_string(&refusal));
        }
    }
}

#[test]
fn a_path_has_the_methods_of_its_operations_and_says_which() {
    let served = Served::start(&[], None);
    for (_, _, path) in routes() {
        let known: Vec<&str> = routes().filter(|(_, _, other)| *other == path).map(|(_, verb, _)| method(verb)).collect();
        for wrong in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"].into_iter().filter(|wrong| !known.contains(wrong)) {
            let request = format!("{wrong} {}", filled(path, "none-such"));
            let answer = served.exchange(&request, JSON, b"");
            is_refused(&answer, &[405], &request);
            let allowed = answer.head.lines().find_map(|line| line.strip_prefix("allow:")).unwrap_or_default().to_uppercase();
            assert!(known.iter().all(|method| allowed.contains(method)), "{request}: allow {allowed}, but there are {known:?}");
        }
    }
    for path in ["/api", "/api/", "/api/nothing", "/api/workflows/", "/api/workflows/a/b/c", "/api/runs/a%2Fb/cancel/x"] {
        is_refused(&served.exchange(&format!("GET {path}"), "", b""), &[404], path);
    }
}

#[test]
fn a_server_that_is_not_there_or_cannot_be_started_is_said_to_be_so() {
    let served = Served::start(&[], None);
    let add = |body: &str| assert_eq!(served.send("POST /api/mcp/servers", body).0, 200, "{body}");
    add(r#"{"name":"gone","command":"no-such-program-here"}"#);
    add(r#"{"name":"lacking","command":"${NO_SUCH_VARIABLE_HERE}"}"#);
    add(r#"{"name":"deaf","url":"http://127.0.0.1:9/mcp"}"#);
    let calling = |server: &str| {
        let workflow = format!("workflow: by-{server}\nversion: 1\nsteps:\n  - id: a\n    call: {server}/tool\noutput: 1\n");
        assert_eq!(served.send("POST /api/workflows", &document(&workflow)).0, 200, "{server}");
    };
    ["gone", "lacking", "none-such"].iter().for_each(|server| calling(server));
    assert_eq!(served.send("POST /api/workflows", &document(ECHO)).0, 200);
    let cases = [
        ("POST /api/mcp/servers/gone/connect", "", 502, "no-such-program-here"),
        ("POST /api/mcp/servers/lacking/connect", "", 502, "NO_SUCH_VARIABLE_HERE"),
        ("POST /api/mcp/servers/deaf/connect", "", 502, "the server deaf cannot be reached"),
        ("GET /api/mcp/servers/gone/tools", "", 502, "no-such-program-here"),
        ("POST /api/mcp/servers/gone/tools/t/call", "{}", 502, "no-such-program-here"),
        ("POST /api/mcp/servers/lacking/tools/t/call", "{}", 502, "NO_SUCH_VARIABLE_HERE"),
        ("POST /api/workflows/by-gone/invoke", "{}", 502, "no-such-program-here"),
        ("POST /api/workflows/by-lacking/invoke", "{}", 502, "NO_SUCH_VARIABLE_HERE"),
        ("POST /api/workflows/by-none-such/invoke", "{}", 502, "none-such"),
        ("POST /api/mcp/servers", r#"{"name":"gone","command":"other"}"#, 409, "gone"),
        ("POST /api/mcp/servers", r#"{"name":"a b","command":"other"}"#, 422, "a b"),
        ("POST /api/mcp/servers", r#"{"name":"a"}"#, 422, "command"),
        ("POST /api/mcp/servers", r#"{"name":"a","command":"b","compile_hints":{"prefers":["x"]}}"#, 422, "/compile_hints/prefers"),
        (
            "POST /api/mcp/servers",
            r#"{"name":"a","command":"b","compile_hints":{"poll":{"t":{"interval":7}}}}"#,
            422,
            "/compile_hints/poll/t/interval",
        ),
        ("PUT /api/mcp/servers/gone", r#"{"compile_hints":{"effects":{"t":"reads"}}}"#, 422, "/compile_hints/effects/t"),
        ("POST /api/compile", r#"{"trace_ids":["none-such"],"hints":[]}"#, 422, "/hints"),
        ("POST /api/compile", r#"{"trace_ids":["none-such"],"hints":{"a/b":{"keeps":["t"]}}}"#, 422, "/hints/a~1b/keeps"),
        ("POST /api/compile", r#"{"trace_ids":["none-such"],"hints":{"a":{"keeps":null}}}"#, 404, "none-such"),
        ("POST /api/compile", r#"{"trace_ids":[]}"#, 422, "/trace_ids"),
        ("POST /api/workflows/echo/invoke", r#"{"version":7}"#, 404, "7"),
        ("PUT /api/workflows/echo/state", r#"{"state":"gone"}"#, 422, "/state"),
    ];
    each_is_refused(&served, &cases);
}
