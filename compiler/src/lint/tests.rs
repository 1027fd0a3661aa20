//! The list of lints, their examples, and where they must be silent.

use super::*;
use ltc_workflow::{json, yaml};
use std::collections::BTreeSet;

/// A server with one tool of each kind.
fn servers() -> Vec<Server> {
    let schema = r#"{"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": ["integer", "null"]}, "mode": {"enum": ["a", "b"]},
        "tags": {"type": "array", "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}}}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "token": {}}, "required": ["name"], "additionalProperties": false}"#;
    let schema = json::parse(schema.as_bytes()).unwrap();
    let tool = |name: &str, read_only: Option<bool>, idempotent: Option<bool>, destructive: Option<bool>| Tool {
        name: name.into(),
        read_only,
        idempotent,
        destructive,
        input_schema: (name == "put").then(|| schema.clone()),
        ..Tool::default()
    };
    let tools = vec![
        tool("get", Some(true), None, None),
        tool("put", None, None, None),
        tool("set", None, Some(true), None),
        tool("drop", None, None, Some(true)),
        tool("login", None, None, None),
    ];
    vec![Server { name: "s".into(), tools, ..Server::default() }]
}

fn of(document: &str) -> Vec<Diagnostic> {
    let text = format!("workflow: test\nversion: 1\n{document}");
    let workflow = yaml::read(&text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
    lint(&workflow, &servers())
}

fn told(document: &str) -> Vec<String> {
    of(document).iter().map(|d| format!("{} {}: {}", d.code, d.place, d.message)).collect()
}

#[test]
fn codes_are_unique_and_documented() {
    let codes: BTreeSet<&str> = LINTS.iter().map(|lint| lint.code).collect();
    assert_eq!(codes.len(), LINTS.len());
    for lint in LINTS {
        assert!(lint.code.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())), "{}", lint.code);
        assert!(lint.what.starts_with("It reports ") && lint.what.ends_with('.'), "{}", lint.code);
        assert!(lint.why.ends_with('.'), "{}", lint.code);
        for heading in ["## What it does", "## Why", "## Example"] {
            assert!(lint.docs().contains(heading));
        }
    }
    assert!(LINTS.is_sorted_by_key(|lint| lint.severity));
}

#[test]
fn each_example_is_reported_by_its_lint_and_the_better_one_by_none() {
    for lint in LINTS {
        let codes: Vec<&str> = of(lint.example).iter().map(|d| d.code).collect();
        assert_eq!(codes, [lint.code], "{}", lint.example);
        assert_eq!(told(lint.better), Vec::<String>::new(), "{}", lint.code);
    }
}

#[test]
fn nothing_is_said_of_servers_that_are_not_known() {
    for lint in LINTS.iter().filter(|l| ["unknown-tool", "argument-schema", "unguarded-destruction"].contains(&l.code)) {
        let workflow = yaml::read(&format!("workflow: test\nversion: 1\n{}", lint.example)).unwrap();
        assert_eq!(super::lint(&workflow, &[]), [], "{}", lint.code);
    }
}

#[test]
fn arguments_are_held_against_the_schema() {
    let put = |with: &str| {
        told(&format!(
            "inputs: {{ n: {{ }} }}\nsteps:\n  - {{ id: put, call: s/put, with: {{ {with} }} }}\noutput: \"${{{{ inputs.n }}}}\"\n"
        ))
    };
    for fine in [
        "name: a",
        "name: \"${{ inputs.n }}\", size: null",
        "name: \"x${{ inputs.n }}\", size: 2.0, mode: b",
        "name: a, either: 1.5, tags: [ { key: k, more: 1 } ]",
        "name: a, tags: \"${{ inputs.n }}\"",
    ] {
        assert_eq!(put(fine), Vec::<String>::new(), "{fine}");
    }
    assert_eq!(put("size: 1"), ["argument-schema step put, argument /name: is missing, but the tool requires it"]);
    assert_eq!(put("name: a, nmae: b"), ["argument-schema step put, argument /nmae: is not an argument of the tool"]);
    assert_eq!(put("name: 7"), ["argument-schema step put, argument /name: is of the type integer, but the tool takes string"]);
    assert_eq!(
        put("name: a, size: 1.5"),
        ["argument-schema step put, argument /size: is of the type number, but the tool takes integer or null"]
    );
    assert_eq!(put("name: a, mode: c"), ["argument-schema step put, argument /mode: is \"c\", but the tool takes one of \"a\", \"b\""]);
    assert_eq!(
        put("name: a, tags: [ { key: k }, { kye: k }, x ]"),
        [
            "argument-schema step put, argument /tags/1/key: is missing, but the tool requires it",
            "argument-schema step put, argument /tags/2: is of the type string, but the tool takes object",
        ]
    );
    assert_eq!(
        put("name: a, size: \"${{ inputs.n }} px\""),
        ["argument-schema step put, argument /size: is of the type string, but the tool takes integer or null"]
    );
}

#[test]
fn names_are_told_with_the_nearest_known_one() {
    assert_eq!(
        told("servers: { s: { } }\nsteps:\n  - { id: a, call: ss/put }\n"),
        ["unknown-server step a: calls the server ss, which is not known; the nearest known one is s"]
    );
    assert_eq!(
        told("steps:\n  - { id: a, call: s/puts }\n"),
        ["unknown-tool step a: the server s has no tool puts; the nearest one that it has is put"]
    );
}

#[test]
fn a_result_is_used_where_it_is_the_value_of_a_step_around() {
    let last = "steps:
  - id: pick
    switch:
      - when: \"${{ 1 == 2 }}\"
        steps: [ { id: one, call: s/get } ]
      - steps: [ { id: two, call: s/get, with: { other: true } } ]
output: \"${{ steps.pick }}\"
";
    assert_eq!(told(last), Vec::<String>::new());
    let first = last.replace("[ { id: one, call: s/get } ]", "[ { id: one, call: s/get }, { id: put, call: s/put, with: { name: a } } ]");
    assert_eq!(told(&first), ["unused-read step one: s/get only reads, and nothing uses its result"]);
    let previous = "steps:
  - id: pages
    repeat: { until: \"${{ loop.index == 2 }}\", at_most: 3 }
    steps: [ { id: page, call: s/get, with: { cursor: \"${{ previous.page.next ?? omit }}\" } }, { id: put, call: s/put, with: { name: a } } ]
";
    assert_eq!(told(previous), Vec::<String>::new());
}

#[test]
fn secrets_are_found_wherever_they_stand_and_never_told() {
    let token = "ghp_0123456789abcdefghij";
    let document = format!(
        "inputs: {{ api_key: {{ default: k1 }} }}
servers:
  s: {{ command: x, env: {{ API_TOKEN: {token}, PLAIN: v, OTHER_TOKEN: \"${{OTHER}}\" }} }}
steps:
  - {{ id: a, call: s/set, with: {{ text: \"use {token} now\", key: \"${{{{ inputs.api_key }}}}\" }} }}
  - {{ id: b, call: s/set, with: {{ login: {{ password: hunter2 }} }} }}
"
    );
    let found = of(&document);
    let places: Vec<&str> = found.iter().map(|d| d.place.as_str()).collect();
    assert_eq!(places, ["input api_key", "server s", "step a", "step b, argument password"]);
    assert!(found.iter().all(|d| d.code == "literal-secret"), "{found:?}");
    let text = format!("{found:?}");
    assert!(!text.contains(token) && !text.contains("hunter2") && !text.contains("k1"), "{text}");
}

#[test]
fn a_secret_of_a_server_is_used() {
    let document =
        "secrets: [TOKEN]\nservers: { s: { command: x, env: { T: \"Bearer ${TOKEN}\" } } }\nsteps:\n  - { id: a, call: s/set }\n";
    assert_eq!(told(document), Vec::<String>::new());
    let whole =
        "inputs: { a: { }, b: { } }\nsteps:\n  - { id: a, call: s/set, with: { all: \"${{ inputs }}\", a: \"${{ inputs.a }}\" } }\n";
    assert_eq!(told(whole), Vec::<String>::new());
}

#[test]
fn a_hint_that_names_the_tool_allows_its_retry() {
    let hints = crate::hints::Hints {
        retry: Some(crate::hints::RetryHint {
            retry: ltc_workflow::document::Retry { attempts: 2, backoff: Default::default(), factor: 2_i64.into() },
            tools: Some(["put".into()].into()),
        }),
        ..Default::default()
    };
    let workflow = yaml::read(&format!("workflow: test\nversion: 1\n{}", retry::LINT.example)).unwrap();
    assert_eq!(lint(&workflow, &[Server { hints, ..servers().remove(0) }]), []);
}

#[test]
fn a_question_before_a_call_guards_it_and_an_unbounded_write_is_told() {
    let unbounded = "steps:
  - id: loop
    repeat: { until: \"${{ steps.put.done }}\", every: 1s }
    steps: [ { id: put, call: s/put, with: { name: a } } ]
";
    assert_eq!(of(unbounded).iter().map(|d| d.code).collect::<Vec<_>>(), ["unbounded-repeat", "unguarded-destruction"]);
    let under_a_test = "inputs: { names: { } }
steps:
  - id: each
    for: { each: n, in: \"${{ inputs.names }}\", where: \"${{ n != '' }}\" }
    steps: [ { id: drop, call: s/drop, with: { name: \"${{ n }}\" } } ]
";
    assert_eq!(told(under_a_test), Vec::<String>::new());
}
