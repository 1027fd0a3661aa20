//! Written Rust: whatever a recording calls things and holds, the files parse, and every text in them is a literal and nothing else.

use ltc_compiler::emit::{File, headed, is_untouched};
use ltc_compiler::{Options, compile, emit_rust, ingest};
use ltc_workflow::{Value, json, yaml};
use proc_macro2::{TokenStream, TokenTree};
use proptest::prelude::*;
use std::collections::BTreeSet;

const HOSTILE: &[&str] = &[
    "\"; std::process::exit(1); //",
    "type",
    "self",
    "Self",
    "1st",
    "größe",
    "",
    "*/ fn evil() {} /*",
    "\"#; evil!(); r#\"",
    "```\nstd::process::exit(1)\n```",
    "a\\b\0c\u{7f}",
    "\u{202e}evil",
    "{evil} {{ evil }} {}",
    "${{ '${{' }}",
    "]] = 1\n[evil]",
    "{% raw %}{{ evil }}",
    "\r\n//! evil",
    "crate",
    "r#type",
    "日本語",
];

/// The files of the crate of one call of `tool` with these arguments.
fn emitted(server: &str, tool: &str, described: &str, arguments: &[(String, Value)]) -> Option<Vec<File>> {
    let text = |text: &str| json::quote(text);
    let object = |entries: &[(String, Value)]| -> String {
        let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{}: {}", text(key), json::to_string(value))).collect();
        format!("{{{}}}", entries.join(", "))
    };
    let mut properties: Vec<(String, Value)> = arguments.iter().map(|(key, value)| (key.clone(), schema(value, described))).collect();
    properties.push(("inner of the schema".to_owned(), object_schema(described)));
    let trace = format!(
        r#"{{"format": "ltc.trace/1", "task": {0}, "input": {{}}, "servers": {{{1}: {{"command": "x", "tools": [{{"name": {2}, "description": {0},
            "inputSchema": {{"type": "object", "description": {0}, "properties": {3}}},
            "outputSchema": {{"type": "object", "description": {0}, "properties": {3}}}}}]}}}},
            "calls": [{{"id": "c", "server": {1}, "tool": {2}, "arguments": {4}, "result": {{"structuredContent": {4}}}}}], "output": {4}}}"#,
        text(described),
        text(server),
        text(tool),
        object(&properties),
        object(arguments),
    );
    let traces = ingest::read("recording.json", trace.as_bytes(), None).ok()?.traces;
    let made = compile(&traces, &Options { record: true, ..Options::default() });
    let document = yaml::print(made.workflow.as_ref()?);
    Some(emit_rust(&made, &traces, &document, Some("/a \"b\"\n")).unwrap_or_else(|why| panic!("{why}\n{trace}")))
}

fn schema(value: &Value, described: &str) -> Value {
    let kind = value.type_name();
    [("type", Value::from(kind)), ("description", Value::from(described))].into_iter().collect::<ltc_workflow::Object>().into()
}

/// An object with a field of its own, which becomes a struct.
fn object_schema(described: &str) -> Value {
    let field = [("field", schema(&Value::from(""), described))].into_iter().collect::<ltc_workflow::Object>();
    let entries = [("type", Value::from("object")), ("description", Value::from(described)), ("properties", field.into())];
    entries.into_iter().collect::<ltc_workflow::Object>().into()
}

/// The texts of all literals in a file, and its code without them.
fn read(text: &str) -> (BTreeSet<String>, String) {
    let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    syn::parse2::<syn::File>(tokens.clone()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (mut texts, mut code) = (BTreeSet::new(), String::new());
    walk(tokens, &mut texts, &mut code);
    (texts, code)
}

fn walk(tokens: TokenStream, texts: &mut BTreeSet<String>, code: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                code.push_str(" (");
                walk(group.stream(), texts, code);
                code.push(')');
            }
            TokenTree::Ident(ident) => code.push_str(&format!(" {ident}")),
            TokenTree::Literal(literal) => {
                code.push_str(" _");
                if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                    texts.insert(text.value());
                }
            }
            TokenTree::Punct(punct) if punct.spacing() == proc_macro2::Spacing::Joint => code.push(punct.as_char()),
            TokenTree::Punct(punct) => code.push_str(&format!(" {punct}")),
        }
    }
}

/// What must be so about a crate that was made of these.
fn check(server: &str, tool: &str, described: &str, arguments: &[(String, Value)]) {
    let Some(files) = emitted(server, tool, described, arguments) else { return };
    let mut texts = BTreeSet::new();
    for file in &files {
        let whole = headed(file.path, &file.text, "document");
        assert_eq!(is_untouched(&whole), (file.path != "workflow.yaml").then_some(true), "{}", file.path);
        if file.path.ends_with(".rs") {
            // Documentation is lines of words: `cargo test` runs what stands in a fence.
            for line in whole.lines().map(str::trim_start) {
                let is_doc = line.starts_with("///") || line.starts_with("//!");
                let is_wild = ["/**", "/*!", "#[doc"].iter().any(|other| line.starts_with(other));
                assert!(!is_wild && !(is_doc && (line.contains("```") || line.contains("~~~"))), "{line}");
            }
            let (more, code) = read(&whole);
            texts.extend(more);
            // A word of a name may become a part of a name; it never does anything.
            for evil in ["evil !", "evil ()", "process: : exit", "fn fn "] {
                assert!(!code.contains(evil), "{evil} became code: {code}");
            }
        }
        if file.path == "Cargo.toml" {
            let evil = file.text.lines().filter(|line| line.contains("evil") && !line.contains('"')).count();
            assert_eq!(evil, 0, "{}", file.text);
            assert!(file.text.contains(r#"path = "/a \"b\"\n""#), "{}", file.text);
        }
    }
    assert!(texts.contains(tool), "the tool {tool:?} is a literal");
    for (key, _) in arguments {
        assert!(texts.contains(key), "the key {key:?} is a literal");
    }
    // What was given to the tool is in the recording, and where it is a constant of the workflow, it is a literal of the crate.
    let document = &files.iter().find(|file| file.path == "workflow.yaml").expect("the workflow").text;
    let workflow = yaml::read(document).expect("the document is read");
    let ltc_workflow::document::StepKind::Call { with, .. } = &workflow.steps[0].kind else { panic!("a call") };
    for (key, template) in with {
        if let ltc_workflow::template::Template::Literal(Value::String(text)) = template {
            assert!(texts.contains(text.as_str()), "the value {text:?} of {key:?} is a literal");
        }
    }
}

#[test]
fn hostile_names_and_values_are_literals() {
    for name in HOSTILE {
        let arguments: Vec<(String, Value)> = HOSTILE.iter().map(|key| ((*key).to_owned(), Value::from(*name))).collect();
        check(name, name, name, &arguments);
    }
}

#[test]
fn numbers_keep_their_digits() {
    let numbers = ["1", "-1", "9007199254740993001", "1.0", "1.10", "1e400", "-0", "170141183460469231731687303715884105728"];
    let number = |text: &&str| Value::Number(ltc_workflow::Number::parse(text).expect("a number"));
    let arguments: Vec<(String, Value)> = numbers.iter().map(|text| (format!("n{text}"), number(text))).collect();
    let files = emitted("s", "t", "d", &arguments).expect("it is compiled");
    let steps = &files.iter().find(|file| file.path == "src/steps.rs").expect("the steps").text;
    for text in
        ["lang::integer(1)", "lang::integer(-1)", "lang::integer(9007199254740993001)", "\"1.0\"", "\"1.10\"", "\"1e400\"", "\"-0\""]
    {
        assert!(steps.contains(text), "{text} in {steps}");
    }
    assert!(steps.contains("\"170141183460469231731687303715884105728\""));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(HOSTILE).prop_map(str::to_owned),
        "[a-zA-Z0-9_ -]{0,12}",
        proptest::collection::vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        text().prop_map(|text| Value::from(text.as_str())),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::array),
            proptest::collection::vec((text(), inner), 0..3).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_names_and_values_are_literals(
        server in text(),
        tool in text(),
        described in text(),
        arguments in proptest::collection::btree_map(text(), value(), 0..4),
    ) {
        check(&server, &tool, &described, &arguments.into_iter().collect::<Vec<_>>());
    }
}
