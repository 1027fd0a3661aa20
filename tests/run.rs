//! `ltc run`, as a script sees it: exit codes, what goes to stdout and what never does.

mod support;

use ltc_workflow::json;
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::{Ended, Folder, HttpServer, ended, ended_with_stdin, ltc, unruly};

/// A workflow of these steps that calls the unruly server as `u`.
fn workflow(head: &str, steps: &str) -> String {
    format!("workflow: w\nversion: 1\n{head}{}steps:\n{steps}", unruly(""))
}

fn run(folder: &Folder, text: &str, arguments: &[&str]) -> Ended {
    let path = folder.file("w.yaml", text);
    ended(ltc(["run"]).arg(path).args(arguments))
}

/// A run that fails with this code in its message.
#[track_caller]
fn fails(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, code, "{ended:?}");
    assert_eq!(ended.stdout, "", "stdout is for the output alone");
    for part in parts {
        assert!(ended.stderr.contains(part), "{part:?} is missing in: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains('\u{1b}'), "no terminal, no colours: {:?}", ended.stderr);
}

const BIG: &str = r#"{"n":123456789012345678901234567890,"f":[1.0,1.10,1e400],"t":"${{ x }} {{ y }} `z`"}"#;

#[test]
fn numbers_and_texts_go_through_digit_by_digit() {
    let folder = Folder::new();
    let text = workflow(
        "inputs: { v: {} }\n",
        "  - id: a\n    call: u/echo\n    with: { v: \"${{ inputs.v }}\" }\n  - id: b\n    call: u/echo\n    with: { v: \"${{ steps.a.v }}\" }\n",
    ) + "output: \"${{ steps.b.v }}\"\n";
    let ended = run(&folder, &text, &["--input", &format!(r#"{{"v":{BIG}}}"#)]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, format!("{BIG}\n").as_str(), ""));
}

#[test]
fn the_input_comes_as_text_from_a_file_or_from_stdin() {
    let folder = Folder::new();
    let path = folder
        .file("w.yaml", "workflow: w\nversion: 1\ninputs: { a: { type: integer, default: 7 } }\nsteps: []\noutput: \"${{ inputs.a }}\"\n");
    let file = folder.file("in.json", r#"{"a": 3}"#);
    assert_eq!(ended(ltc(["run"]).arg(&path)).stdout, "7\n");
    assert_eq!(ended(ltc(["run"]).arg(&path).arg("--input").arg(format!("@{}", file.display()))).stdout, "3\n");
    assert_eq!(ended_with_stdin(ltc(["run"]).arg(&path).args(["--input", "-"]), r#"{"a": 4}"#).stdout, "4\n");
    fails(&ended(ltc(["run"]).arg(&path).args(["--input", "@no-such-file"])), 2, &["error[cannot-read]", "no-such-file"]);
    fails(&ended(ltc(["run"]).arg(&path).args(["--input", "{"])), 3, &["error[invalid-input]", "line 1"]);
    fails(&ended(ltc(["run"]).arg(&path).args(["--input", r#"{"a":"3"}"#])), 3, &["error[invalid-input]", "--> /a"]);
    fails(&ended(ltc(["run"]).arg(&path).args(["--input", r#"{"b":1}"#])), 3, &["error[unknown-input]", "--> /b"]);
}

#[test]
fn what_makes_no_sense_is_usage_and_what_is_wrong_in_a_document_is_invalid() {
    let folder = Folder::new();
    assert_eq!(ended(&mut ltc(["run"])).code, 2);
    assert_eq!(ended(&mut ltc(["walk"])).code, 2);
    fails(&ended(&mut ltc(["run", "-", "--input", "-"])), 2, &["error[two-readers]"]);
    fails(&ended(&mut ltc(["run", "no-such-file.yaml"])), 2, &["error[cannot-read]"]);
    fails(&run(&folder, "workflow: w\nversion: 1\nstops: []\n", &[]), 3, &["w.yaml:3:1"]);
    fails(&run(&folder, "workflow: [", &[]), 3, &["w.yaml:"]);
}

#[test]
fn failures_of_tools_say_where_and_why() {
    let folder = Folder::new();
    let step = |call: &str| workflow("", &format!("  - id: s\n{call}"));
    let words = r#"    with: { words: "no\x1b[31m such\nerror[fake]: page" }"#;
    fails(
        &run(&folder, &step(&format!("    call: u/fail\n{words}\n")), &[]),
        1,
        &["error[run-failed]: tool-error: no such\n      error[fake]", "--> step s"],
    );
    fails(
        &run(&folder, &step(&format!("    call: u/rpc_error\n{words}\n")), &[]),
        1,
        &["rpc-error: no such ⏎ error[fake]: page (JSON-RPC error -32602)"],
    );
    fails(
        &run(&folder, &step("    call: u/die\n    with: { words: gone }\n"), &[]),
        1,
        &["server-died", "exit status: 3", "gone", "--> step s"],
    );
    fails(&run(&folder, &step("    call: u/garbage\n"), &[]), 1, &["the server's answer cannot be read"]);
}

#[test]
fn a_result_that_breaks_the_promise_of_its_tool_goes_no_further() {
    let folder = Folder::new();
    let text =
        |n: &str| workflow("", &format!("  - id: s\n    call: u/promise\n    with: {{ n: {n} }}\noutput: \"${{{{ steps.s.n }}}}\"\n"));
    assert_eq!(run(&folder, &text("18446744073709551616"), &[]).stdout, "18446744073709551616\n");
    fails(&run(&folder, &text("x"), &[]), 1, &["result-mismatch", "/n ", "--> step s"]);
}

#[test]
fn a_server_that_hangs_is_not_waited_for() {
    let folder = Folder::new();
    let before = Instant::now();
    let own = run(&folder, &workflow("", "  - id: s\n    call: u/hang\n    timeout: 300ms\n"), &[]);
    fails(&own, 1, &["timeout: u/hang did not answer within 300 ms", "--> step s"]);
    let given = run(&folder, &workflow("", "  - id: s\n    call: u/hang\n"), &["--timeout", "1s"]);
    fails(&given, 1, &["timeout: u/hang did not answer within 1 s"]);
    assert!(before.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_step_is_tried_again_also_on_a_server_that_died() {
    let folder = Folder::new();
    let log = folder.path().join("log");
    let text = format!(
        "workflow: w\nversion: 1\n{}steps:\n  - id: s\n    call: u/die\n    with: {{ words: again }}\n    retry: {{ attempts: 3, backoff: 10ms }}\n    catch:\n      steps:\n        - id: c\n          call: u/count\noutput: \"${{{{ steps.c.calls }}}}\"\n",
        unruly("").replace("[stdio]", &format!("[stdio, {}]", json::quote(&log.display().to_string())))
    );
    let ended = run(&folder, &text, &[]);
    // The server that counts is the fourth one, and this is its first call.
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "1\n"), "{ended:?}");
    let seen = std::fs::read_to_string(log).expect("the server logs");
    let keys: Vec<&str> = seen.lines().filter_map(|line| line.split(r#""ltc/step":""#).nth(1)?.split('"').next()).collect();
    assert_eq!(keys, ["s", "s@2", "s@3", "c"]);
}

#[test]
fn calls_that_may_be_under_way_at_once_are() {
    let folder = Folder::new();
    // Each server answers one call at a time, after 1.2 s; two of them do it at once.
    let text = format!(
        "workflow: w\nversion: 1\n{}  v:\n    command: {}\n    args: [stdio]\nsteps:\n  - id: p\n    parallel:\n      - steps:\n          - id: a\n            call: u/sleep\n            with: {{ millis: 1200 }}\n      - steps:\n          - id: b\n            call: v/sleep\n            with: {{ millis: 1200 }}\n",
        unruly(""),
        json::quote(&support::fixture_server().display().to_string())
    );
    let before = Instant::now();
    let ended = run(&folder, &text, &[]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(before.elapsed() < Duration::from_millis(2300), "{:?}", before.elapsed());
}

#[test]
fn everything_that_is_missing_is_named_before_anything_is_called() {
    let folder = Folder::new();
    let log = folder.path().join("log");
    let text = format!(
        "workflow: w\nversion: 1\ninputs: {{ a: {{}} }}\nsecrets: [LTC_TEST_SECRET]\nservers:\n  u:\n    command: x\n    args: [\"${{LTC_TEST_GONE}}\", {}]\n  v: {{}}\nsteps:\n  - id: s\n    call: u/echo\n  - id: t\n    call: v/echo\n",
        json::quote(&log.display().to_string())
    );
    let path = folder.file("w.yaml", &text);
    let ended = ended(ltc(["run"]).arg(path).env_remove("LTC_TEST_SECRET").env_remove("LTC_TEST_GONE"));
    fails(
        &ended,
        3,
        &["error[missing-input]", "--> /a", "LTC_TEST_SECRET is not set", "LTC_TEST_GONE is not set", "--> server v", "--servers FILE"],
    );
    assert!(!log.exists());
}

#[test]
fn tools_are_looked_for_before_step_one_and_drift_is_said() {
    let folder = Folder::new();
    let log = folder.path().join("log");
    let servers = |tools: &str| unruly(tools).replace("[stdio]", &format!("[stdio, {}]", json::quote(&log.display().to_string())));
    let steps = "steps:\n  - id: a\n    call: u/echo\n  - id: b\n    call: u/ehco\n";
    let ended = run(&folder, &format!("workflow: w\nversion: 1\n{}{steps}", servers("")), &[]);
    fails(&ended, 1, &["error[no-such-tool]: the server has no tool `ehco`", "--> server u", "`echo`"]);
    assert!(!log.exists(), "no step was done");

    let wrong = format!("sha256:{}", "0".repeat(64));
    let text = format!(
        "workflow: w\nversion: 1\n{}steps:\n  - id: a\n    call: u/echo\noutput: done\n",
        servers(&format!("    tools: {{ echo: \"{wrong}\" }}\n"))
    );
    let warned = run(&folder, &text, &[]);
    assert_eq!((warned.code, warned.stdout.as_str()), (0, "\"done\"\n"), "{warned:?}");
    assert!(warned.stderr.contains("warning[drifted-schema]") && warned.stderr.contains("--> u/echo"), "{}", warned.stderr);
    fails(&run(&folder, &text, &["--deny-drift"]), 1, &["error[drifted-schema]"]);
    let (_, now) = warned.stderr.split_once("is now \"").expect("the message says the digest");
    let digest = now.split('"').next().expect("a digest");
    let fitting = run(&folder, &text.replace(&wrong, digest), &["--deny-drift"]);
    assert_eq!((fitting.code, fitting.stderr.as_str()), (0, ""));
}

#[test]
fn a_secret_reaches_the_tool_and_nobody_else() {
    let folder = Folder::new();
    let log = folder.path().join("log");
    let secret = "correct \"horse\" 4711";
    let servers = unruly("    env: { UNRULY_STDERR: \"key is ${LTC_TEST_API_KEY}\" }\n");
    let servers = servers.replace("[stdio]", &format!("[stdio, {}]", json::quote(&log.display().to_string())));
    let text = format!(
        "workflow: w\nversion: 1\nsecrets: [LTC_TEST_SECRET]\n{servers}steps:\n  - id: a\n    call: u/echo\n    with: {{ p: \"${{{{ secrets.LTC_TEST_SECRET }}}}\" }}\n  - id: b\n    call: u/fail\n    with: {{ words: \"wrong: ${{{{ to_json(steps.a) }}}}\" }}\n    catch:\n      when: \"${{{{ inputs.caught }}}}\"\n      steps:\n        - id: c\n          set: {{ x: \"${{{{ error.message }}}}\" }}\noutput: \"${{{{ [steps.a, steps.c.x] }}}}\"\n"
    )
    .replace("secrets: [", "inputs: { caught: { default: false } }\nsecrets: [");
    let path = folder.file("w.yaml", &text);
    let with_secret = |arguments: &[&str]| {
        let mut command = ltc(["run"]);
        ended(command.arg(&path).args(arguments).env("LTC_TEST_SECRET", secret).env("LTC_TEST_API_KEY", "api-key-0123456789"))
    };
    let failed = with_secret(&[]);
    fails(&failed, 1, &["tool-error: wrong: ", "[secret LTC_TEST_SECRET]", "[u] key is [secret LTC_TEST_API_KEY]"]);
    let done = with_secret(&["--input", r#"{"caught":true}"#, "--json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.stdout, "[{\"p\":\"[secret LTC_TEST_SECRET]\"},\"wrong: {\\\"p\\\":\\\"[secret LTC_TEST_SECRET]\\\"}\"]\n");
    for said in [&failed.stderr, &done.stderr, &done.stdout] {
        assert!(!said.contains("horse") && !said.contains("0123456789"), "{said}");
    }
    let seen = std::fs::read_to_string(log).expect("the server logs");
    assert!(seen.contains(&json::quote(secret)), "the tool has to have it: {seen}");
}

#[test]
fn a_server_inherits_the_environment_without_the_secrets_of_the_workflow() {
    let folder = Folder::new();
    let ask = |id: &str, name: &str| format!("  - id: {id}\n    call: u/environment\n    with: {{ name: {name} }}\n");
    let servers = unruly("    env: { LTC_TEST_GIVEN: \"${LTC_TEST_GIVEN}\" }\n");
    let steps = ask("a", "LTC_TEST_HIDDEN") + &ask("b", "LTC_TEST_GIVEN") + &ask("c", "LTC_TEST_ORDINARY");
    let output = "output: \"${{ [steps.a.value, steps.b.value, steps.c.value] }}\"\n";
    let text = format!("workflow: w\nversion: 1\nsecrets: [LTC_TEST_HIDDEN, LTC_TEST_GIVEN]\n{servers}steps:\n{steps}{output}");
    let path = folder.file("w.yaml", &text);
    let mut command = ltc(["run"]);
    command.arg(path).env("LTC_TEST_HIDDEN", "hunter1").env("LTC_TEST_GIVEN", "hunter2").env("LTC_TEST_ORDINARY", "plain");
    let done = ended(&mut command);
    assert_eq!(done.stdout, "[null,\"[secret LTC_TEST_GIVEN]\",\"plain\"]\n", "{done:?}");
}

#[test]
fn servers_come_from_a_file_like_mcp_json_also_over_http() {
    let folder = Folder::new();
    let server = HttpServer::start(&BTreeMap::new());
    let text = "workflow: w\nversion: 1\nservers: { u: { command: no-such-program } }\nsteps:\n  - id: a\n    call: u/echo\n    with: { n: 18446744073709551616 }\noutput: \"${{ steps.a.n }}\"\n";
    let path = folder.file("w.yaml", text);
    for place in ["json", "events"] {
        let file = format!(
            r#"{{"mcpServers":{{"other":{{"command":"unused-and-never-started"}},"u":{{"type":"http","url":"http://127.0.0.1:{}/{place}","headers":{{"X-Api-Key":"${{LTC_TEST_HTTP}}"}}}}}}}}"#,
            server.port
        );
        let file = folder.file("mcp.json", &file);
        let mut command = ltc(["run"]);
        let done = ended(command.arg(&path).arg("--servers").arg(&file).env("LTC_TEST_HTTP", "letmein"));
        assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (0, "18446744073709551616\n", ""));
        let refused = ended(ltc(["run"]).arg(&path).arg("--servers").arg(&file).env("LTC_TEST_HTTP", "letmeout"));
        fails(&refused, 1, &["error[connect-failed]", "--> server u"]);
        assert!(!refused.stderr.contains("letmeout"), "{}", refused.stderr);
    }
    let file = folder.file("mcp.json", r#"{"mcpServers":{"u":{"command":7}}}"#);
    fails(&ended(ltc(["run"]).arg(&path).arg("--servers").arg(&file)), 3, &["error[bad-servers]", "mcp.json: /mcpServers/u/command"]);
}

#[test]
fn a_run_that_needs_a_person_ends_and_says_so() {
    let folder = Folder::new();
    let text = "workflow: w\nversion: 1\nsteps:\n  - id: ask\n    escalate: { role: reviewer, message: \"May I?\" }\n";
    fails(&run(&folder, text, &[]), 4, &["note[waiting-for-a-person]", "reviewer is asked: May I?", "step ask", "ltc resolve"]);
    let unkept = run(&folder, text, &["--ephemeral"]);
    fails(&unkept, 4, &["error[waiting-for-a-person]", "reviewer is asked: May I?", "--> step ask"]);
}

#[test]
fn workflows_beside_it_are_run_by_name() {
    let folder = Folder::new();
    folder.file(
        "double.yaml",
        "workflow: double\nversion: 1\ninputs: { n: { type: integer } }\nsteps: []\noutput: \"${{ inputs.n * 2 }}\"\n",
    );
    let text = "workflow: w\nversion: 1\nsteps:\n  - id: d\n    run: double\n    with: { n: NUMBER }\noutput: \"${{ steps.d }}\"\n";
    let done = run(&folder, &text.replace("NUMBER", "21"), &[]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "42\n"), "{done:?}");
    fails(&run(&folder, &text.replace("NUMBER", "x"), &[]), 1, &["invalid-input: the workflow double refuses its input", "--> step d"]);
    fails(&run(&folder, &text.replace("double", "triple"), &[]), 3, &["error[no-such-workflow]", "triple"]);
    // A workflow that runs itself ends all the same.
    fails(&run(&folder, "workflow: w\nversion: 1\nsteps:\n  - id: d\n    run: w\n", &[]), 1, &["too-deep"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_run_and_its_servers() {
    let folder = Folder::new();
    let log = folder.path().join("log");
    let servers = unruly("").replace("[stdio]", &format!("[stdio, {}]", json::quote(&log.display().to_string())));
    let path = folder.file("w.yaml", &format!("workflow: w\nversion: 1\n{servers}steps:\n  - id: s\n    call: u/hang\n"));
    let child = ltc(["run"]).arg(path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command can be started");
    let before = Instant::now();
    while !log.exists() && before.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(log.exists(), "the call was made");
    let asked = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill can be started");
    assert!(asked.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("error[interrupted]"));
    // The server's name in the list of processes is its log: none is left.
    let left = std::process::Command::new("ps").args(["-eo", "args"]).output().expect("ps can be started");
    let left = String::from_utf8_lossy(&left.stdout).into_owned();
    assert!(!left.contains(&log.display().to_string()), "{left}");
}
