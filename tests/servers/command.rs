//! `ltc servers` and `ltc traces`, as somebody types them.

use crate::support::{Ended, Folder, ended, fixture_server, ltc};
use ltc_workflow::{Value, json};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn servers(folder: &Folder, words: &[&str]) -> Ended {
    ended(ltc(["servers"]).args(words).env("LTC_HOME", folder.path()).env("SERVICE_TOKEN", "hunter2hunter2"))
}

fn value(ended: &Ended) -> Value {
    json::parse(ended.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[test]
fn a_server_is_registered_tried_called_changed_and_removed() {
    let folder = Folder::new();
    let program = fixture_server().display().to_string();
    let hints = folder.file("hints.yaml", "effects: { echo: read }\nnote: Mine.\n").display().to_string();
    let words = [
        "add",
        "u",
        "--tag",
        "x",
        "--env",
        "SERVICE_TOKEN=${SERVICE_TOKEN}",
        "--hints",
        &hints,
        "--description",
        "For tests",
        "--",
        &program,
        "stdio",
    ];
    let added = servers(&folder, &words);
    assert_eq!((added.code, added.stdout.as_str()), (0, ""), "{added:?}");
    assert_eq!(servers(&folder, &words).code, 1);
    let tried = servers(&folder, &["test", "u"]);
    assert_eq!(tried.code, 0, "{tried:?}");
    assert!(tried.stdout.lines().any(|line| line.starts_with("echo  ")) && tried.stderr.contains("u has 14 tools"), "{tried:?}");
    let listed = servers(&folder, &["--tag", "x", "--status", "connected"]);
    assert_eq!(listed.stdout, "connected     stdio  u  14 tools  [x]  For tests\n");
    let called = servers(&folder, &["call", "u", "echo", "--arguments", r#"{"n":1.10}"#]);
    assert_eq!((called.code, value(&called).get("structured_content").map(json::to_string).as_deref()), (0, Some(r#"{"n":1.10}"#)));
    let failed = servers(&folder, &["call", "u", "fail", "--arguments", r#"{"words":"no"}"#]);
    assert_eq!((failed.code, value(&failed).get("is_error")), (1, Some(&Value::from(true))));
    let leaked = servers(&folder, &["call", "u", "environment", "--arguments", r#"{"name":"SERVICE_TOKEN"}"#]);
    assert!(leaked.code == 0 && !format!("{leaked:?}").contains("hunter2"), "{leaked:?}");

    assert_eq!(servers(&folder, &["update", "u", "--env", "MORE=1", "--auto-connect", "true"]).code, 0);
    let shown = value(&servers(&folder, &["show", "u"]));
    let env = shown.get("configuration").and_then(|entry| entry.get("env")).map(json::to_string);
    assert_eq!(env.as_deref(), Some(r#"{"MORE":"1","SERVICE_TOKEN":"${SERVICE_TOKEN}"}"#));
    assert_eq!(shown.get("compile_hints").map(json::to_string).as_deref(), Some(r#"{"note":"Mine.","effects":{"echo":"read"}}"#));
    assert_eq!((shown.get("status"), shown.get("auto_connect")), (Some(&Value::from("registered")), Some(&Value::from(true))));
    assert_eq!(servers(&folder, &["remove", "u"]).code, 0);
    assert_eq!(servers(&folder, &["remove", "u"]).code, 1);
    assert_eq!(servers(&folder, &[]).stdout, "");
    let traces = ended(ltc(["traces", "show", "none"]).env("LTC_HOME", folder.path()));
    assert!(traces.code == 1 && traces.stderr.contains("there is no recording `none`"), "{traces:?}");
}

#[test]
fn presets_urls_and_files_are_registered() {
    let folder = Folder::new();
    assert_eq!(servers(&folder, &["add", "--preset", "files", "/a", "/b", "--name", "docs", "--tag", "mine"]).code, 0);
    let shown = value(&servers(&folder, &["show", "docs"]));
    let args = shown.get("configuration").and_then(|entry| entry.get("args")).map(json::to_string);
    assert_eq!(args.as_deref(), Some(r#"["-y","@modelcontextprotocol/server-filesystem","/a","/b"]"#));
    assert_eq!(shown.get("tags").map(json::to_string).as_deref(), Some(r#"["files","local","mine"]"#));
    assert_eq!(
        servers(&folder, &["add", "far", "--url", "https://h/mcp", "--header", "Authorization=Bearer ${SERVICE_TOKEN}", "--sse"]).code,
        0
    );
    assert_eq!(value(&servers(&folder, &["show", "far"])).get("transport"), Some(&Value::from("sse")));
    let file =
        folder.file(".mcp.json", r#"{"mcpServers":{"one":{"command":"x"},"two":{"command":"x","env":{"API_TOKEN":"hunter2hunter2"}}}}"#);
    let imported = servers(&folder, &["import", &file.display().to_string()]);
    assert!(imported.code == 1 && imported.stderr.contains("not-imported") && !format!("{imported:?}").contains("hunter2"), "{imported:?}");
    let names: Vec<String> =
        servers(&folder, &[]).stdout.lines().map(|line| line.split_whitespace().nth(2).unwrap_or_default().to_owned()).collect();
    assert_eq!(names, ["docs", "far", "one"]);
    assert_eq!(servers(&folder, &["presets"]).stdout.lines().count(), 8);
}

#[test]
fn what_is_typed_wrong_is_told() {
    let folder = Folder::new();
    let hints = folder.file("hints.yaml", "efects: { echo: read }\n").display().to_string();
    for (words, code, said) in [
        (&["add", "--", "x"][..], 2, "the server has no name"),
        (&["add", "a", "b", "--", "x"], 2, "a server has one name"),
        (&["add", "a"], 3, "a server needs a `command` or a `url`"),
        (&["add", "a", "--url", "u", "--", "x"], 2, "cannot be used with"),
        (&["add", "--preset", "file"], 2, "perhaps `files` is meant"),
        (&["add", "--preset", "files"], 2, "FOLDERS is missing"),
        (&["add", "a", "--env", "X", "--", "x"], 2, "NAME=VALUE"),
        (&["add", "a", "--env", "API_TOKEN=hunter2hunter2", "--", "x"], 3, "literal-secret"),
        (&["add", "a", "--hints", &hints, "--", "x"], 3, "efects"),
        (&["call", "a", "t", "--arguments", "{"], 3, "--arguments @FILE"),
        (&["test", "a"], 1, "there is no server `a`"),
    ] {
        let ended = servers(&folder, words);
        assert!(ended.code == code && ended.stderr.contains(said), "{words:?}: {ended:?}");
    }
    let listed = servers(&folder, &[]);
    assert_eq!((listed.code, listed.stdout.as_str()), (0, ""));
}

#[test]
fn the_compiler_knows_what_the_registry_knows() {
    let folder = Folder::new();
    let call = |id: &str, tool: &str, arguments: &str| {
        format!(
            r#"{{"id":"{id}","server":"u","tool":"{tool}","arguments":{arguments},"result":{{"content":[],"structuredContent":{{"ok":true}}}}}}"#
        )
    };
    let calls = [call("a", "look", "{}"), call("b", "put", r#"{"title":"Rotate the pages"}"#)].join(",");
    let trace = format!(r#"{{"format":"ltc.trace/1","input":{{"title":"Rotate the pages"}},"servers":{{"u":{{}}}},"calls":[{calls}]}}"#);
    let trace = folder.file("trace.json", &trace).display().to_string();
    let hints = folder.file("hints.yaml", "effects: { look: read, put: write }\n").display().to_string();
    let compile = |words: &[&str]| ended(ltc(["compile", &trace]).args(words).env("LTC_HOME", folder.path()));
    let unknown = compile(&["--registry"]);
    assert!(unknown.stdout.contains("call: u/look") && unknown.stderr.contains("knows no server"), "{unknown:?}");
    assert_eq!(servers(&folder, &["add", "u", "--hints", &hints, "--", "some-program"]).code, 0);
    assert_eq!(compile(&[]).stdout, unknown.stdout, "nobody asked for the registry");
    let known = compile(&["--registry"]);
    // A read whose result nothing uses is left out; how the server is reached is left to the registry.
    assert!(known.code == 0 && known.stdout.contains("call: u/put") && !known.stdout.contains("call: u/look"), "{known:?}");
    assert!(!known.stdout.contains("some-program") && known.stderr.contains("from the registry: u"), "{known:?}");
}

/// A process that goes when the test does.
struct Going(Child);

impl Drop for Going {
    fn drop(&mut self) {
        // Where it cannot be killed it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_serves_connects_to_the_servers_that_want_it() {
    let folder = Folder::new();
    let program = fixture_server().display().to_string();
    assert_eq!(servers(&folder, &["add", "wants", "--auto-connect", "--", &program, "stdio"]).code, 0);
    assert_eq!(servers(&folder, &["add", "broken", "--auto-connect", "--", "/no/such/program"]).code, 0);
    assert_eq!(servers(&folder, &["add", "does-not", "--", &program, "stdio"]).code, 0);
    let mut serve = ltc(["serve", "--listen", "127.0.0.1:0"]);
    let _going = Going(serve.env("LTC_HOME", folder.path()).stderr(Stdio::null()).spawn().expect("it starts"));
    let begun = Instant::now();
    let status =
        |name: &str| value(&servers(&folder, &["show", name])).get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
    while status("wants") != "connected" || status("broken") != "error" {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} {}", status("wants"), status("broken"));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status("does-not"), "registered");
}
