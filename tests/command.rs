//! The other commands, as a script sees them: files in, files out, exit codes.

mod support;

use ltc_workflow::{Value, json, yaml};
use std::path::PathBuf;
use support::{Ended, Folder, ended, ended_with_stdin, ltc, unruly};

fn demo() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/late-orders.json")
}

#[track_caller]
fn done(ended: Ended) -> Ended {
    assert_eq!(ended.code, 0, "{ended:?}");
    ended
}

#[track_caller]
fn fails(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, code, "{ended:?}");
    for part in parts {
        assert!(ended.stderr.contains(part), "{part:?} is missing in: {}", ended.stderr);
    }
}

#[test]
fn the_shipped_recording_compiles_and_runs_where_it_was_never_recorded() {
    let folder = Folder::new();
    let path = folder.path().join("demo.yaml");
    let compiled = done(ended(ltc(["compile"]).arg(demo()).arg("-o").arg(&path)));
    assert_eq!(compiled.stdout, "");
    let told = [&format!("wrote {}\n", path.display()), "made of 6 recorded calls", "in 1 of 1 recorded run", "no question", "ltc run "];
    told.into_iter().for_each(|part| assert!(compiled.stderr.contains(part), "{part:?} is missing in {}", compiled.stderr));
    // Two orders were late when it was recorded; one is shipped, and its parcel's number is past what a float holds.
    let run = done(ended(ltc(["run"]).arg(&path).args(["--input", r#"{"status":"shipped"}"#])));
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("{\"sent\":[\"msg-0001\"]}\n", ""));
    let run = done(ended(ltc(["run"]).arg(&path).args(["--input", r#"{"status":"lost"}"#])));
    assert_eq!(run.stdout, "{\"sent\":[]}\n");
}

#[test]
fn compiling_writes_stdout_or_a_file_or_into_a_folder() {
    let folder = Folder::new();
    let text = done(ended(ltc(["compile"]).arg(demo()))).stdout;
    let name = yaml::read(&text).expect("a workflow").name;
    done(ended(ltc(["compile"]).arg(demo()).arg("-o").arg(folder.path())));
    let written = std::fs::read_to_string(folder.path().join(format!("{name}.yaml"))).expect("it is written");
    assert_eq!(written, text);
    let recording = std::fs::read_to_string(demo()).expect("it is shipped");
    assert_eq!(
        done(ended_with_stdin(ltc(["compile", "-"]).args(["--name", "mine"]), &recording)).stdout.lines().nth(3),
        Some("workflow: mine")
    );
    let refused = ended(ltc(["compile"]).arg(demo()).arg("-o").arg(folder.path().join("no/where.yaml")));
    fails(&refused, 1, &["error[cannot-write]"]);
}

#[test]
fn a_file_that_was_edited_is_overwritten_on_request_only() {
    let folder = Folder::new();
    let path = folder.path().join("w.yaml");
    let compile = |more: &[&str]| ended(ltc(["compile"]).arg(demo()).arg("-o").arg(&path).args(more));
    done(compile(&[]));
    // As it was written, it may be written again, also with other content.
    done(compile(&[]));
    done(compile(&["--name", "other"]));
    let text = std::fs::read_to_string(&path).expect("it is written");
    let edited = text.replace("version: 1", "version: 2");
    std::fs::write(&path, &edited).expect("it can be edited");
    fails(&compile(&[]), 1, &["error[edited]", "--force"]);
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), edited);
    done(compile(&["--force", "--name", "other"]));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
}

#[test]
fn what_is_no_recording_is_refused_with_its_place() {
    let folder = Folder::new();
    let compile = |name: &str, text: &str| ended(ltc(["compile"]).arg(folder.file(name, text)));
    let broken = compile("broken.json", "{\"format\": \"ltc.trace/1\",\n \"calls\": [");
    fails(&broken, 3, &["broken.json", "line 2"]);
    let empty = compile("empty.json", r#"{"format": "ltc.trace/1", "servers": {}, "calls": []}"#);
    fails(&empty, 3, &["empty.json"]);
    let unknown = compile("unknown.json", r#"{"a": 1}"#);
    fails(&unknown, 3, &["unknown.json"]);
    for ended in [broken, empty, unknown] {
        assert_eq!(ended.stdout, "");
    }
    fails(&ended(&mut ltc(["compile", "no-such-file.json"])), 2, &["error[cannot-read]"]);
    fails(&ended(ltc(["compile", "--from", "no-such-format"]).arg(demo())), 2, &["no-such-format"]);
}

#[test]
fn hints_and_servers_are_given_beside_a_recording() {
    let folder = Folder::new();
    let compile = |flag: &str, text: &str| ended(ltc(["compile"]).arg(demo()).arg(flag).arg(folder.file("given", text)));
    // Both shapes of hints, in both languages.
    for hints in ["ignore: [send_mail]\n", "desk: { ignore: [send_mail] }\n", r#"{"desk": {"ignore": ["send_mail"]}}"#] {
        let text = done(compile("--hints", hints)).stdout;
        assert!(!text.contains("desk/send_mail"), "{text}");
    }
    fails(&compile("--hints", "ignroe: [send_mail]\n"), 3, &["given", "ignore"]);
    fails(&compile("--hints", "ignore: [\n"), 3, &["given:"]);
    let text = done(compile("--servers", r#"{"mcpServers": {"desk": {"url": "http://localhost/mcp"}}}"#)).stdout;
    assert!(text.contains("url: http://localhost/mcp") && !text.contains("demo-server"), "{text}");
}

#[test]
fn what_was_compiled_is_verified_and_what_was_changed_is_not() {
    let folder = Folder::new();
    let text = done(ended(ltc(["compile"]).arg(demo()))).stdout;
    let verify = |name: &str, text: &str| ended(ltc(["verify"]).arg(folder.file(name, text)).arg(demo()));
    let verified = done(verify("w.yaml", &text));
    assert!(verified.stderr.contains("verified: ") && verified.stderr.contains("1 of 1 recorded runs"), "{}", verified.stderr);
    // A workflow that greets in another way makes another call than the recorded one.
    let changed = text.replace("Dear ", "Hello ");
    assert_ne!(changed, text);
    fails(&verify("other.yaml", &changed), 1, &["error[", "not verified"]);
    let machine = ended(ltc(["verify", "--json"]).arg(folder.path().join("other.yaml")).arg(demo()));
    let verdict = json::parse(machine.stdout.as_bytes()).expect("JSON");
    assert_eq!((machine.code, verdict.get("verified").and_then(Value::as_bool)), (1, Some(false)));
}

#[test]
fn a_workflow_is_linted_with_what_is_known_of_its_servers() {
    let folder = Folder::new();
    let text = done(ended(ltc(["compile"]).arg(demo()))).stdout;
    let path = folder.file("w.yaml", &text);
    let clean = done(ended(ltc(["lint"]).arg(&path).arg("--trace").arg(demo())));
    assert_eq!((clean.stdout.as_str(), clean.stderr.contains("nothing is doubtful")), ("", true), "{clean:?}");
    // A tool that the server does not have is seen where a recording knows the tools; what is found is the result.
    let wrong = folder.file("wrong.yaml", &text.replace("desk/get_customer", "desk/get_custmer"));
    done(ended(ltc(["lint"]).arg(&wrong)));
    let found = ended(ltc(["lint"]).arg(&wrong).arg("--trace").arg(demo()));
    fails(&found, 3, &["1 error"]);
    assert!(found.stdout.contains("error[unknown-tool]") && found.stdout.contains("get_customer"), "{}", found.stdout);
    let machine = ended(ltc(["lint", "--json"]).arg(&wrong).arg("--trace").arg(demo()));
    let list = json::parse(machine.stdout.as_bytes()).expect("JSON");
    let codes: Vec<_> = list.as_array().expect("a list").iter().filter_map(|item| item.get("code")?.as_str()).collect();
    assert_eq!((machine.code, codes), (3, vec!["unknown-tool"]), "{}", machine.stdout);
    // A server is known by the workflow, or by a file like .mcp.json.
    let other = folder.file("other.yaml", &text.replace("desk/get_customer", "dsek/get_customer"));
    let found = ended(ltc(["lint"]).arg(&other));
    fails(&found, 3, &["1 error"]);
    assert!(found.stdout.contains("error[unknown-server]"), "{}", found.stdout);
    let servers = folder.file("mcp.json", r#"{"mcpServers": {"dsek": {"command": "x"}}}"#);
    done(ended(ltc(["lint"]).arg(&other).arg("--servers").arg(servers)));
    fails(&ended(ltc(["lint"]).arg(folder.file("no.yaml", "workflow: w\n"))), 3, &["no.yaml:1:1"]);
    fails(&ended(&mut ltc(["lint", "no-such-file.yaml"])), 2, &["error[cannot-read]"]);
}

#[test]
fn explaining_says_where_arguments_come_from() {
    let text = done(ended(ltc(["explain"]).arg(demo()))).stdout;
    assert!(text.contains("order.customer"), "{text}");
    // What is open stands behind it.
    assert!(text.contains("note[corrected-call]") && text.contains("call call_2"), "{text}");
    let machine = done(ended(ltc(["explain", "--json"]).arg(demo()))).stdout;
    let value = json::parse(machine.as_bytes()).expect("JSON");
    assert!(value.get("steps").and_then(Value::as_array).is_some_and(|steps| !steps.is_empty()), "{machine}");
    let codes =
        value.get("diagnostics").and_then(Value::as_array).unwrap_or_default().iter().filter_map(|found| found.get("code")?.as_str());
    assert_eq!(codes.collect::<Vec<_>>(), ["corrected-call"]);
}

#[test]
fn formatting_is_the_identity_on_what_was_compiled_and_loses_no_comment() {
    let folder = Folder::new();
    let path = folder.path().join("w.yaml");
    done(ended(ltc(["compile"]).arg(demo()).arg("-o").arg(&path)));
    done(ended(ltc(["fmt", "--check"]).arg(&path)));
    let text = std::fs::read_to_string(&path).expect("it is written");
    assert_eq!(done(ended_with_stdin(&mut ltc(["fmt", "-"]), &text)).stdout, text);
    let other = text.replace("version: 1", "version:    1   # the first");
    std::fs::write(&path, &other).expect("it can be edited");
    fails(&ended(ltc(["fmt", "--check"]).arg(&path)), 1, &["error[not-formatted]"]);
    done(ended(ltc(["fmt"]).arg(&path)));
    let formatted = std::fs::read_to_string(&path).expect("it is there");
    assert!(formatted.contains("# the first") && formatted.contains("\nversion: 1\n"), "{formatted}");
    done(ended(ltc(["fmt", "--check"]).arg(&path)));
}

#[test]
fn converting_gives_our_own_format_which_converts_into_itself() {
    let folder = Folder::new();
    let once = done(ended(ltc(["convert"]).arg(demo()))).stdout;
    let value = json::parse(once.as_bytes()).expect("JSON");
    assert_eq!(value.get("format").and_then(Value::as_str), Some("ltc.trace/1"));
    assert!(once.contains("9007199254740993001") && once.contains("129.90"), "numbers stay");
    let path = folder.path().join("t.json");
    let written = done(ended_with_stdin(ltc(["convert", "-", "-o"]).arg(&path), &once));
    assert_eq!(written.stdout, "");
    assert_eq!(std::fs::read_to_string(path).expect("it is written"), once);
}

#[test]
fn a_recording_of_several_runs_wants_one_of_them_named() {
    let folder = Folder::new();
    let one = done(ended(ltc(["convert"]).arg(demo()))).stdout;
    let one = json::to_string(&json::parse(one.as_bytes()).expect("JSON"));
    let path = folder.file("runs.jsonl", &format!("{one}\n{}\n", one.replace(r#""id":"late-orders""#, r#""id":"second""#)));
    let compile = |more: &[&str]| ended(ltc(["compile"]).arg(&path).args(more));
    fails(&compile(&[]), 2, &["error[several-runs]", "or late-orders", "or second", "--run ID", "--all-runs"]);
    fails(&compile(&["--run", "third"]), 2, &["error[no-such-run]", "or second"]);
    done(compile(&["--run", "second"]));
    done(compile(&["--all-runs"]));
    assert_eq!(done(ended(ltc(["convert"]).arg(&path))).stdout.lines().count(), 2);
}

#[test]
fn a_graph_is_a_flowchart() {
    let folder = Folder::new();
    let path = folder.path().join("w.yaml");
    done(ended(ltc(["compile"]).arg(demo()).arg("-o").arg(&path)));
    let graph = done(ended(ltc(["graph"]).arg(&path))).stdout;
    assert!(graph.starts_with("flowchart TD\n") && graph.contains("desk/send_mail"), "{graph}");
}

#[test]
fn schemas_fit_what_we_write() {
    let folder = Folder::new();
    let schema = |name: &str| done(ended(&mut ltc(["schema", name]))).stdout;
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    for name in ["trace", "hints", "workflow"] {
        jsonschema::meta::validate(&read(&schema(name))).expect("a JSON Schema");
    }
    let converted = done(ended(ltc(["convert"]).arg(demo()))).stdout;
    jsonschema::validate(&read(&schema("trace")), &read(&converted)).expect("a trace");
    let compiled = done(ended(ltc(["compile"]).arg(demo()))).stdout;
    let (workflow, _) = yaml::read_value(&compiled).expect("YAML");
    jsonschema::validate(&read(&schema("workflow")), &read(&json::to_string(&workflow))).expect("a workflow");
    assert_eq!(ended(ltc(["schema", "recipe"]).current_dir(folder.path())).code, 2);
}

#[test]
fn completions_and_the_version_are_there() {
    assert!(done(ended(&mut ltc(["completions", "bash"]))).stdout.contains("_ltc"));
    assert_eq!(done(ended(&mut ltc(["--version"]))).stdout, format!("ltc {}\n", env!("CARGO_PKG_VERSION")));
}

/// The lines of the blocks of this language in the README, in their order.
fn shown(language: &str) -> Vec<Vec<String>> {
    let readme = include_str!("../README.md");
    let mut blocks = Vec::new();
    let mut open: Option<Vec<String>> = None;
    for line in readme.lines() {
        match (line.trim_start(), &mut open) {
            ("```", Some(_)) => blocks.extend(open.take()),
            (_, Some(lines)) => lines.push(line.to_owned()),
            (fence, None) if fence.strip_prefix("```") == Some(language) => open = Some(Vec::new()),
            (_, None) => {}
        }
    }
    blocks
}

/// Whether each of `lines` is a line of `text`, in order; blanks at their start may have come from a list around.
#[track_caller]
fn stand_in(lines: &[String], text: &str) {
    let mut rest = text.lines();
    for line in lines {
        let mut wanted = rest.clone();
        let found = wanted.any(|there| there == line || format!("  {there}") == *line);
        assert!(found, "the README shows {line:?}, which is not said here:\n{text}");
        rest = wanted;
    }
}

#[test]
fn the_readme_shows_what_is_said() {
    let folder = Folder::new();
    let (yaml, console) = (shown("yaml"), shown("console"));
    let [start, explained, question] = console.as_slice() else { panic!("three blocks: {console:?}") };
    let compiled = done(ended(ltc(["compile"]).arg(demo()).args(["-o", "demo.yaml"]).current_dir(folder.path())));
    let run = done(ended(ltc(["run", "demo.yaml", "--input", r#"{"status": "shipped"}"#]).current_dir(folder.path())));
    assert_eq!(start.join("\n") + "\n", compiled.stderr + &run.stdout);
    stand_in(&yaml[0], &std::fs::read_to_string(folder.path().join("demo.yaml")).expect("it is written"));
    stand_in(explained, &done(ended(ltc(["explain"]).arg(demo()))).stdout);
    let case = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases/two-producers/recording.json");
    stand_in(question, &done(ended(ltc(["compile"]).arg(&case))).stderr);
    // The hints in the README decide the question in it.
    let hints = folder.file("hints.yaml", &yaml[1].iter().map(|line| format!("{}\n", &line[2..])).collect::<String>());
    let decided = done(ended(ltc(["compile", "--strict"]).arg(&case).arg("--hints").arg(hints)));
    assert!(decided.stdout.contains("steps.find_contact.handled_by"), "{}", decided.stdout);
}

#[test]
fn messages_are_for_machines_where_that_is_asked() {
    let folder = Folder::new();
    let refused = ended(ltc(["compile", "--json"]).arg(folder.file("x.json", r#"{"a": 1}"#)));
    assert_eq!(refused.code, 3);
    for line in refused.stderr.lines() {
        let message = json::parse(line.as_bytes()).expect("a line of JSON");
        assert!(["severity", "code", "place", "message"].iter().all(|key| message.get(key).and_then(Value::as_str).is_some()), "{line}");
    }
    assert!(refused.stderr.starts_with(r#"{"severity":"error","#), "{}", refused.stderr);
}

#[test]
fn the_documentation_is_there_without_a_store() {
    let home = Folder::new();
    let docs = |arguments: &[&str]| {
        ended(ltc(["docs"]).args(arguments).env("LTC_HOME", home.path()).env("LTC_STORE", "postgres://nowhere.invalid/x"))
    };
    let list = done(docs(&[]));
    assert!(
        ["guide", "language", "compiler", "runtime", "changelog"]
            .iter()
            .all(|name| list.stdout.contains(&format!("\n{name}  ")) || list.stdout.starts_with(name)),
        "{}",
        list.stdout
    );
    let found = done(docs(&["search", "resume", "a", "run", "after", "a", "crash", "--limit", "1"]));
    assert!(found.stdout.contains("ltc resume") || found.stdout.contains("journal"), "{}", found.stdout);
    let read = done(docs(&["read", "guide", "recording"]));
    assert!(read.stdout.starts_with("## Recording\n") && !read.stdout.contains("## Recordings that it reads"), "{}", read.stdout);
    assert_eq!(done(docs(&["read", "changelog"])).stdout, include_str!("../CHANGELOG.md"));
    fails(&docs(&["read", "guides"]), 1, &["not-found", "guide, "]);
    fails(&docs(&["read", "guide", "recordin"]), 1, &["perhaps `recording` is meant"]);
    assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 0, "nothing is kept");
}

const SECRET: &str = "hunter2-hunter2";

#[test]
fn what_was_run_is_counted_compared_and_explained() {
    let folder = Folder::new();
    let at = |arguments: &[&str]| ended(ltc(arguments).env("LTC_HOME", folder.path()).current_dir(folder.path()));
    let failing = "workflow: w\nversion: 1\ninputs: { n: { type: integer } }\nsteps:\n  - id: each\n    for: { each: i, in: \"${{ [inputs.n, 0] }}\" }\n    steps:\n      - id: nap\n        wait: 1ms\n      - id: cut\n        set: { x: \"${{ {a: i}.b }}\" }\noutput: \"${{ inputs.n }}\"\n";
    let fine = "workflow: fine\nversion: 1\nsteps: []\noutput: \"\\u001b[31mred\"\n";
    folder.file("w.yaml", failing);
    folder.file("fine.yaml", fine);
    for id in ["f1", "f2"] {
        assert_eq!(at(&["run", "w.yaml", "--id", id, "--input", r#"{"n":3}"#]).code, 1, "{id}");
    }
    assert_eq!(at(&["run", "fine.yaml", "--id", "d1"]).code, 0);
    let secret =
        unruly("secrets: [PIN]\nsteps:\n  - id: tell\n    call: u/fail\n    with: { words: \"it is ${{ secrets.PIN }}\" }\noutput: 1\n");
    folder.file("secret.yaml", &format!("workflow: secret\nversion: 1\n{secret}"));
    assert_eq!(
        ended(ltc(["run", "secret.yaml", "--id", "s1"]).env("LTC_HOME", folder.path()).env("PIN", SECRET).current_dir(folder.path())).code,
        1
    );
    for question in [&["failures"][..], &["run", "s1"]] {
        let told = done(at(&[&["query", "--json"], question].concat())).stdout;
        assert!(told.contains("[secret PIN]") && !told.contains(SECRET), "{told}");
    }
    let counts = done(at(&["query", "runs"])).stdout;
    assert_eq!(counts.lines().map(str::trim).collect::<Vec<_>>(), ["1  fine  done", "1  secret  failed", "2  w  failed"]);
    let compared = done(at(&["query", "workflows"])).stdout;
    assert!(compared.starts_with("w  2 runs, 0 done, 2 failed (100 %)"), "{compared}");
    let causes = done(at(&["query", "failures", "--workflow", "w", "--json"])).stdout;
    let causes = json::parse(causes.as_bytes()).expect("JSON");
    let cause = causes.get("causes").and_then(|causes| causes.at(0)).cloned().expect("a cause");
    assert_eq!(
        (cause.get("step").and_then(Value::as_str), cause.get("run_ids").map(json::to_string).as_deref()),
        (Some("each/cut"), Some(r#"["f2","f1"]"#))
    );
    let steps = done(at(&["query", "steps"])).stdout;
    assert!(steps.contains("each/nap  2 times, 0 failed, from timer"), "{steps}");
    let story = json::parse(done(at(&["query", "run", "d1"])).stdout.as_bytes()).expect("JSON");
    assert!(story.get("status").and_then(Value::as_str) == Some("done") && !json::to_string(&story).contains("red"), "no value is shown");
    fails(&at(&["query", "runs", "--since", "soon"]), 3, &["/since", "is no time", "24h"]);
    fails(&at(&["query", "workflows", "--order", "size"]), 3, &["`size` is none of failed,"]);
    fails(&at(&["query", "run", "none"]), 1, &["no run `none`"]);
}
