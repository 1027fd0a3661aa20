//! Names, keys and values that look like something else. They are values wherever they stand; none becomes code, a key, a path or an option.

use super::{object, read, recording, wrongs};
use ltc_compiler::{Options, compile};
use ltc_workflow::document::StepKind;
use ltc_workflow::{Value, json, yaml};

/// Texts that some language, format, shell or terminal reads as its own.
const TEXTS: &[&str] = &[
    "../../x",
    "-rf",
    "--help",
    "\"; }",
    "'; DROP TABLE users; --",
    "a\nb",
    "a\r\nb",
    "\t",
    " ",
    "  lead",
    "trail  ",
    ".",
    "..",
    "/",
    "\\",
    "~",
    "C:\\x\\",
    "${{ inputs.secret }}",
    "${{",
    "}}",
    "${{ '${{' }}",
    "${{{{",
    "$${{ x }}",
    "{{ x }}",
    "{% if x %}",
    "{# c #}",
    "${HOME}",
    "$(rm -rf /)",
    "`id`",
    "%s%n",
    "{0}",
    "&anchor",
    "*alias",
    "!!python/object:os.system",
    "---",
    "...",
    "- item",
    "key: value",
    "? k",
    "|",
    ">",
    "#comment",
    "a #b",
    "@at",
    "%YAML 1.2",
    "[a, b]",
    "{a: b}",
    "null",
    "~",
    "true",
    "no",
    "on",
    "0x1f",
    "0o17",
    "1e3",
    ".5",
    ".inf",
    "1_000",
    "12:30:45",
    "2026-02-03",
    "=",
    "<<",
    "fn main() {}",
    "r#\"x\"#",
    "*/",
    "//",
    "/* */",
    "#![x]",
    "\\u{202e}",
    "\u{202e}abc",
    "\u{feff}",
    "\u{200b}",
    "e\u{301}",
    "😀",
    "\u{7f}",
    "\u{1b}[31mred\u{1b}[0m",
    "\u{85}",
    "\u{2028}",
    "__proto__",
    "constructor",
    "__n1__",
    "__m3__",
    "steps",
    "inputs",
    "secrets",
    "loop",
    "previous",
    "run",
    "item",
    "error",
    "omit",
    "len",
    "and",
    "in",
];

/// Keys that an expression, a prototype or the compiler itself could take for its own.
const KEYS: &[&str] = &[
    "__proto__",
    "__n0__",
    "__n1__",
    "inputs",
    "steps",
    "secrets",
    "loop",
    "previous",
    "run",
    "a.b",
    "a b",
    "",
    " ",
    "0",
    "-1",
    "a\"b",
    "a'b",
    "a\nb",
    "a]b",
    "${{ x }}",
    "true",
    "null",
    "and",
    "with",
    "call",
    "id",
    "when",
    "<<",
    "*a",
    "&a",
    "!t",
    "~",
    "#",
    "ключ",
    "鍵",
    "😀",
    "\u{202e}k",
    "\u{1b}[0m",
];

fn checked(file: &str, what: &str) {
    let traces = read(file.as_bytes()).unwrap_or_else(|e| panic!("{what:?} is refused: {e:?}"));
    let (compilation, wrong) = wrongs(&traces);
    assert_eq!(wrong, Vec::<String>::new(), "{what:?}");
    assert!(compilation.workflow.is_some(), "{what:?}: {:?}", compilation.diagnostics);
}

#[test]
fn texts_go_through_arguments_results_inputs_and_outputs() {
    for text in TEXTS {
        let long = format!("{text} and more, so that it is a text of its own {text}");
        let given = object([("given", Value::from(*text)), ("words", Value::from(long.as_str()))]);
        let result = json::to_string(&object([
            ("found", Value::from(format!("found:{text}:81kd").as_str())),
            ("list", [*text, "x1f9k2", text].into_iter().map(Value::from).collect()),
        ]));
        let file = recording(
            &given,
            &[
                ("desk", "look", object([("q", Value::from(*text)), ("c", Value::from(format!("const:{text}").as_str()))]), &result),
                (
                    "desk",
                    "send",
                    object([
                        ("a", Value::from(format!("found:{text}:81kd").as_str())),
                        ("b", Value::from("x1f9k2")),
                        ("in", given.clone()),
                    ]),
                    text,
                ),
                (
                    "desk",
                    "send",
                    object([("a", Value::from(format!("<{text}|found:{text}:81kd>").as_str())), ("w", Value::from(long.as_str()))]),
                    &long,
                ),
            ],
        );
        checked(&file, text);
    }
}

#[test]
fn texts_go_through_as_names_of_tools_servers_and_tasks() {
    let huge = "x".repeat(10_000);
    for text in TEXTS.iter().copied().chain([huge.as_str()]) {
        let file = recording(
            &object([]),
            &[
                (text, text, object([("n", Value::from("v-81kd"))]), "{\"id\":\"k-99xx\"}"),
                (text, "next", object([("id", Value::from("k-99xx"))]), "ok"),
            ],
        );
        let named = file.replacen("{\"format\"", &format!("{{\"task\":{},\"id\":{},\"format\"", json::quote(text), json::quote(text)), 1);
        checked(&named, text);
        let traces = read(named.as_bytes()).expect("it was read before");
        let workflow =
            compile(&traces, &Options { name: Some(text.to_owned()), ..Options::default() }).workflow.expect("it was compiled before");
        assert!(
            !workflow.name.is_empty() && workflow.name.len() <= 100 && !workflow.name.starts_with('-'),
            "{text:?} becomes {:?}",
            workflow.name
        );
        assert!(
            workflow.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c)),
            "{text:?} becomes {:?}",
            workflow.name
        );
        let server = ltc_compiler::identifiers::server_name(text);
        let called: Vec<_> = workflow
            .steps
            .iter()
            .filter_map(|s| if let StepKind::Call { server, tool, .. } = &s.kind { Some((server.as_str(), tool.as_str())) } else { None })
            .collect();
        assert_eq!(called, [(server.as_str(), text), (server.as_str(), "next")], "names are the servers' own");
        assert!(workflow.steps.iter().all(|s| s.id.len() <= 100), "{:?}", workflow.steps.first().map(|s| s.id.len()));
        assert_eq!(yaml::read(&yaml::print(&workflow)).as_ref(), Ok(&workflow));
    }
}

#[test]
fn keys_go_through_inputs_arguments_and_results() {
    for key in KEYS {
        let result = json::to_string(&object([(*key, object([(*key, Value::from("v-81kd02")), ("other", Value::from("o-33xa91"))]))]));
        let list = json::to_string(&object([(
            *key,
            [("i-001aa", 1_i64), ("i-002bb", 2), ("i-003cc", 3)]
                .into_iter()
                .map(|(id, n)| object([(*key, Value::from(id)), ("n", n.into())]))
                .collect(),
        )]));
        let each = |id: &'static str| ("desk", "each", object([(*key, Value::from(id))]), "ok");
        let file = recording(
            &object([(*key, Value::from("in-77aa21"))]),
            &[
                ("desk", "look", object([(*key, Value::from("in-77aa21"))]), &result),
                ("desk", "send", object([(*key, object([(*key, Value::from("v-81kd02"))])), ("x", Value::from("o-33xa91"))]), &list),
                each("i-001aa"),
                each("i-002bb"),
                each("i-003cc"),
            ],
        );
        checked(&file, key);
    }
}

#[test]
fn servers_whose_names_are_alike_stay_apart() {
    let call = |server: &'static str, id: &'static str| (server, "send", object([("id", Value::from(id))]), "ok");
    let file = recording(&object([]), &[call("a/b", "x-81kd"), call("a_b", "y-22aa"), call("a b", "z-33bb"), call("A/B", "w-44cc")]);
    let traces = read(file.as_bytes()).expect("it is read");
    let workflow = compile(&traces, &Options::default()).workflow.expect("it is compiled");
    let servers: std::collections::BTreeSet<_> = workflow.servers.iter().map(|(name, _)| name).collect();
    assert_eq!(servers.len(), 4, "{}", yaml::print(&workflow));
}
