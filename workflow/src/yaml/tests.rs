//! Documents and what is wrong with them.

use super::*;
use crate::document::{StepKind, ToolEffect, Transport};
use crate::expr::Expr;
use crate::json;
use crate::template::Template;
use crate::value::{Object, Value};

const WHOLE: &str = r#"# Compiled by ltc 0.1.0 from 2 traces. Source from now on: edit it, `ltc lint` checks it.
#
#  indented
workflow: label-stale-issues
version: 1
description: Label open issues that nobody has touched.
inputs:
  repo: { type: string, description: owner/name, examples: [acme/site] }
  days: { type: integer, default: 30 }
secrets: [GITHUB_TOKEN]
servers:
  github:
    command: github-mcp
    args: ["--stdio", "8080"]
    env: { TOKEN: "${GITHUB_TOKEN}" }
    tools: { add_label: "sha256:41d0", search_issues: "sha256:9c2e" }
    effects: { add_label: write, search_issues: read }
  remote:
    url: https://example.com/mcp
    headers: { Authorization: "Bearer ${TOKEN}" }
    type: sse
  elsewhere: {}
steps:
  - id: search
    note: made from call_1
    call: github/search_issues
    with: { query: "repo:${{ inputs.repo }} is:open", per_page: 100 }
    fail_when: "${{ result.error ?? null != null }}"
    retry: { attempts: 3, backoff: 1s, factor: 2 }
    timeout: 30s
    catch:
      when: "${{ error.code == 'tool-error' }}"
      steps:
        - id: fallback
          set: { items: [] }
  - id: label_each
    for: { each: issue, in: "${{ steps.search.items }}", where: "${{ issue.stale }}", at_once: 4 }
    steps:
      - id: label
        call: github/add_label
        with: { number: "${{ issue.number }}", label: stale }
  - id: pages
    repeat:
      until: "${{ steps.page.next ?? null == null }}"
      every: 1m30s
      at_most: 100
      gather:
        items: "${{ steps.page.items }}"
        round: "${{ loop.index }}"
        first: "${{ loop.index == 0 }}"
    steps:
      - id: page
        call: github/list/with/slashes
        with: { cursor: "${{ previous.page.next ?? omit }}" }
  - id: ask
    when: "${{ steps.search.total > 100 }}"
    escalate:
      role: reviewer
      message: |-
        Too many:
          ${{ steps.search.total }}
      form: { type: object, properties: { ok: { type: boolean } } }
      priority: 2
  - id: pick
    switch:
      - when: "${{ inputs.days > 7 }}"
        steps:
          - id: pause
            wait: 5s
      - steps:
          - id: other
            run: other-workflow
            with: { days: "${{ inputs.days }}" }
  - id: both
    parallel:
      - steps:
          - id: left
            set: { a: 1.0 }
      - steps: []
output: { labelled: "${{ len(steps.search.items) }}", big: 123456789012345678901234567890 }
"#;

#[test]
fn a_canonical_document_is_read_and_printed_as_it_is() {
    let workflow = read(WHOLE).unwrap();
    assert_eq!(workflow.header.get(2).map(String::as_str), Some(" indented"));
    assert_eq!(print(&workflow), WHOLE);
    assert_eq!(format(WHOLE), Ok(Formatted { text: WHOLE.to_string(), lost: Vec::new() }));
    let Some((_, github)) = workflow.servers.first() else { panic!("no server") };
    assert!(matches!(&github.transport, Some(Transport::Stdio { args, .. }) if args == &["--stdio", "8080"]));
    assert_eq!(github.effects.get("add_label"), Some(&ToolEffect::Write));
    let tools: Vec<&str> = workflow
        .steps
        .iter()
        .filter_map(|s| match &s.kind {
            StepKind::Repeat { steps, .. } => steps.first(),
            _ => None,
        })
        .filter_map(|s| match &s.kind {
            StepKind::Call { tool, .. } => Some(tool.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(tools, ["list/with/slashes"]);
}

fn problems(text: &str) -> Vec<String> {
    read(text).err().unwrap_or_default().iter().map(Problem::to_string).collect()
}

#[test]
fn every_mistake_is_reported_with_its_place() {
    let text = r#"workflow: Label Stale
version: 0
inputs:
  repo: string
secrets: [A-B]
servers:
  "bad name": {}
  g: { command: x, url: y }
  h: { command: x, headers: {} }
  i: { url: x, type: stdio, effects: { t: reads } }
steps:
  - id: a
    cal: g/t
  - id: a
    call: g
    with: { x: "${{ inputs.repoo }} ${{ steps.b.x + }}" }
    set: {}
  - id: b
    call: g/t
    with:
      one: "\t${{ len(steps.later) }}"
      two: 'it''s ${{ itm }}'
      three: |-
        line
          ${{ inputs.rep }}
      four: ${{ secrets.NONE }}
    timeout: 5
  - id: later
    for: { each: steps, in: "${{ steps.b.items }}" }
    steps:
      - id: inner
        wait: 5 minutes
        timeout: 1s
  - id: last
    when: steps.inner.x and previous.b
    set: { y: "${{ error.code }}", z: "${{ loop.index }}", w: "${{ run.begun }}", v: "${{ b }}" }
    retry: { attempts: 0 }
  - id: judge
    call: g/t
    with: { x: "${{ result }}" }
    fail_when: "${{ result.a == steps.judge }}"
    catch: { when: "${{ result.a }}", steps: [] }
  - id: pause
    wait: 1s
    fail_when: "${{ true }}"
outputs: 1
"#;
    let expected = [
        "1:11: `Label Stale` is no name for a workflow [bad-name]; names are made of `a-z`, `0-9`, `_` and `-`, and start with a letter or a digit",
        "2:10: `version` is a whole number from 1 to 4294967295, not `0` [wrong-type]",
        "4:9: the input `repo` is a JSON Schema [wrong-type]; write `{ type: string }`",
        "5:11: `A-B` cannot be the name of a secret [bad-name]; it is read from the environment, so it is made of letters, digits and `_`",
        "7:3: `bad name` cannot be the name of a server [bad-name]; it is made of letters, digits, `_`, `-` and `.`",
        "8:25: a server has a `command` or a `url`, not both [several-kinds]",
        "9:20: `headers` stands beside `url` [unknown-key]",
        "10:22: `type` is http or streamable-http or sse here, not `stdio` [wrong-type]",
        "10:43: what `t` does is `read`, `idempotent` or `write` [wrong-type]",
        "12:5: the step does not say what it does [no-kind]; one of call, for, repeat, switch, parallel, escalate, wait, set, run",
        "13:5: a step has no key `cal` [unknown-key]; the nearest known name is `call`",
        "14:9: the step `a` is there already, at line 12 [duplicate-id]",
        "15:11: `g` names no tool of a server [bad-name]; it is written `server/tool`; a server's name is made of letters, digits, `_`, `-` and `.`",
        "16:53: expected a value, found `}` [bad-expression]; a literal `${{` is written `${{ '${{' }}`",
        "17:5: a step does one thing, not call and set [several-kinds]",
        "21:23: the step `later` has no value here [unknown-step]; a step is seen by those behind it; one in a loop only inside of that loop, one in a branch not by its sibling branches",
        "22:23: the name `itm` is not known here [unknown-name]",
        "25:15: there is no input `rep` [unknown-input]; the nearest known one is `inputs.repo`",
        "26:17: there is no secret `NONE` [unknown-secret]; list it under `secrets`",
        "27:14: `timeout` is a length of time such as `250ms`, `2s`, `1m30s`, `1h` or `2d`, not `5` [wrong-type]",
        "29:18: `steps` cannot be the name of an item [bad-name]; it is made of letters, digits and `_`, starts with no digit, and is no word of the language and no other loop's variable",
        "32:15: `wait` is a length of time such as `250ms`, `2s`, `1m30s`, `1h` or `2d`, not the text `5 minutes` [wrong-type]",
        "33:18: `timeout` stands beside `call`, `escalate` or `run` [unknown-key]; put it on the steps inside",
        "35:11: the step `inner` has no value here [unknown-step]; a step is seen by those behind it; one in a loop only inside of that loop, one in a branch not by its sibling branches",
        "35:29: `previous` is only known inside a `repeat` [unknown-name]",
        "36:20: `error` is only known inside a `catch` [unknown-name]",
        "36:44: `loop` is only known inside a `for` or a `repeat` [unknown-name]",
        "36:68: `run` has no `begun` [unknown-name]; it has started_at, id",
        "36:91: the name `b` is not known here [unknown-name]; a step's value is written `steps.b`",
        "37:24: `attempts` is a whole number from 1 to 1000, not `0` [wrong-type]",
        "40:21: `result` is only known inside a `fail_when` [unknown-name]",
        "41:33: the step `judge` has no value here [unknown-step]; a step is seen by those behind it; one in a loop only inside of that loop, one in a branch not by its sibling branches",
        "42:25: `result` is only known inside a `fail_when` [unknown-name]",
        "45:5: `fail_when` stands beside `call`, not beside `wait` [unknown-key]",
        "46:1: a workflow has no key `outputs` [unknown-key]; the nearest known name is `output`",
    ];
    assert_eq!(problems(text), expected);
}

#[test]
fn columns_are_those_of_the_file() {
    let with = |value: &str| problems(&format!("workflow: w\nsteps:\n  - id: a\n    call: s/t\n    with:\n      k: {value}\n"));
    for value in ["\"\\u00e9\\ud83d\\ude00 ${{ 1 + }}\"", "'it''s é ${{ 1 + }}'", "é ${{ 1 + }}"] {
        let column = 10 + value.chars().take_while(|c| *c != '}').count();
        let problems = with(value);
        assert!(problems.first().is_some_and(|p| p.starts_with(&format!("6:{column}: expected a value"))), "{problems:?}");
    }
    assert!(
        with("|2\n          indented\n        é ${{ 1 + }}").first().is_some_and(|p| p.starts_with("8:19: ")),
        "{:?}",
        with("|2\n          indented\n        é ${{ 1 + }}")
    );
}

#[test]
fn what_yaml_hides_is_refused() {
    let cases = [
        ("", "1:1: the document is empty [empty]"),
        ("# only a comment\n", "1:1: the document is empty [empty]"),
        ("a: &x 1\nb: *x\n", "1:7: anchors"),
        ("a: !!str 1\n", "1:10: tags"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document starts here"),
        ("%YAML 1.2\n---\na: 1\n", "1:1: the text is no YAML"),
        ("a: 1\na: 2\n", "2:1: the key `a` is there twice"),
        ("? [x]\n: 1\n", "1:3: a key is a text"),
        ("a: [1\n", "1:4: the text is no YAML"),
        ("a: \u{0}\n", "1:4: the text is no YAML"),
    ];
    for (text, start) in cases {
        let problems: Vec<String> = read_value(text).expect_err(text).iter().map(Problem::to_string).collect();
        assert!(problems.iter().any(|p| p.starts_with(start)), "{text:?}: {problems:?}");
    }
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "")] {
        let text = format!("{}1{}", open.repeat(50_000), close.repeat(50_000));
        assert!(read_value(&text).is_err(), "{open}");
    }
    assert!(read(&"*a ".repeat(1000)).is_err());
}

#[test]
fn scalars_are_what_json_says_they_are() {
    let text = "- no\n- 017\n- 1_000\n- 1:30\n- ~\n- 1e3\n- 0x10\n- 12345678901234567890123\n- 1.0\n- true\n- True\n- null\n-\n- '1'\n- 2001-01-01\n- .5\n- -0\n- =\n- <<\n";
    let (value, _) = read_value(text).unwrap();
    let expected =
        r#"["no","017","1_000","1:30","~",1e3,"0x10",12345678901234567890123,1.0,true,"True",null,null,"1","2001-01-01",".5",-0,"=","<<"]"#;
    assert_eq!(json::to_string(&value), expected);
}

#[test]
fn values_have_places() {
    let (value, places) = read_value("servers:\n  a/b:\n    args: [x, 'y']\n").unwrap();
    assert_eq!(json::to_string(&value), r#"{"servers":{"a/b":{"args":["x","y"]}}}"#);
    assert_eq!(places.value("/servers/a~1b/args/1"), Some(Place { line: 3, column: 15 }));
    assert_eq!(places.key("/servers/a~1b/args"), Some(Place { line: 3, column: 5 }));
    assert_eq!(places.value(""), Some(Place { line: 1, column: 1 }));
    assert_eq!(places.value("/none"), None);
}

#[test]
fn what_people_review_hides_nothing() {
    let hidden = "pay\u{202e}eno\nto\u{200b}day\u{e0041}";
    let mut workflow = Workflow::new("w");
    workflow.header = vec!["by \u{2066}ltc\u{2069}\u{1b}[2J\u{2028}".to_string()];
    workflow.description = Some(hidden.to_string());
    let pair = [(hidden, Value::from(hidden)), ("tabs", Value::from("a\tb\nc")), ("blank", Value::from("a\u{a0}b"))];
    workflow.output = Some(Template::Object(vec![
        ("constant".into(), Template::constant(&pair.into_iter().collect::<Object>().into())),
        ("expression".into(), Template::Expr(Expr::Literal(Value::from(hidden)))),
    ]));
    let expected = r#"# by \u{2066}ltc\u{2069}\u{1b}[2J\u{2028}
workflow: w
version: 1
description: "pay\u202eeno\nto\u200bday\U000e0041"
steps: []
output:
  constant:
    "pay\u202eeno\nto\u200bday\U000e0041": "pay\u202eeno\nto\u200bday\U000e0041"
    tabs: "a\tb\nc"
    blank: "a\u00a0b"
  expression: "${{ 'pay\\u{202e}eno\\nto\\u{200b}day\\u{e0041}' }}"
"#;
    assert_eq!(print(&workflow), expected);
    let formatted = format("workflow: w\n# \u{202e}sdrawkcab\nsteps: []\n").unwrap();
    assert_eq!(formatted.text, "workflow: w\nversion: 1\n# \\u{202e}sdrawkcab\nsteps: []\n");
}

#[test]
fn comments_stay_or_are_named() {
    let text = r#"# header

# about the name
workflow:   w   # behind
steps:
    # first step
    # has two lines
    - id: a
      # why
      when: true
      call: s/t
      with:
        # deep
        x: 1
    #no blank

    # and after an empty line
    - id: b   # right
      wait: 1s
# the end
"#;
    let formatted = format(text).unwrap();
    let expected = r#"# header
# about the name
# behind
workflow: w
version: 1
steps:
  # first step
  # has two lines
  - id: a
    # why
    when: "${{ true }}"
    call: s/t
    with: { x: 1 }
  # no blank
  # and after an empty line
  # right
  - id: b
    wait: 1s
# the end
"#;
    assert_eq!(formatted.text, expected);
    assert_eq!(formatted.lost, [LostComment { line: 13, column: 9, text: " deep".to_string() }]);
    assert_eq!(format(expected), Ok(Formatted { text: expected.to_string(), lost: Vec::new() }));
}

#[test]
fn files_with_other_line_ends_and_marks_are_read() {
    let unix = "# top\nworkflow: w\nsteps:\n  # first\n  - id: a\n    wait: 5s\n";
    let windows = std::format!("\u{FEFF}{}", unix.replace('\n', "\r\n"));
    assert_eq!(read(&windows), read(unix));
    assert_eq!(super::format(&windows), super::format(unix));
}

#[test]
fn loops_nest_as_deep_as_documents_do() {
    let mut text = "workflow: w\nsteps:\n".to_string();
    let mut indent = 2;
    for depth in 0..75 {
        let pad = " ".repeat(indent);
        text.push_str(&std::format!("{pad}- id: s{depth}\n{pad}  for: {{ each: x{depth}, in: \"${{{{ [1] }}}}\" }}\n{pad}  steps:\n"));
        indent += 4;
    }
    text.push_str(&std::format!("{0}- id: last\n{0}  call: s/t\n", " ".repeat(indent)));
    let workflow = read(&text).unwrap();
    assert_eq!(read(&print(&workflow)), Ok(workflow.clone()));
    let next = crate::advance::advance(&workflow, &Default::default(), &std::collections::BTreeMap::new());
    let crate::advance::Next::Do(effects) = next else { panic!("nothing to do") };
    assert_eq!(effects.iter().filter(|(key, _)| key.0.ends_with("s74[0]/last")).count(), 1);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test of time")]
fn ten_thousand_steps_are_read_and_printed_in_no_time() {
    let step =
        |n: usize| std::format!("  - id: s{n}\n    call: s/t\n    with: {{ x: \"${{{{ steps.s{}.x ?? 1 }}}}\" }}\n", n.saturating_sub(1));
    let text = "workflow: w\nsteps:\n  - id: s\n    call: s/t\n".to_string()
        + &(1..10_000).map(step).collect::<String>().replace("steps.s0.", "steps.s.");
    let before = std::time::Instant::now();
    assert_eq!(print(&read(&text).unwrap()), text.replacen("steps:", "version: 1\nsteps:", 1));
    assert!(before.elapsed().as_secs() < 5, "{:?}", before.elapsed());
}
