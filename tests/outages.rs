//! A hostile world: disks that are full, databases that go away, servers that misbehave. Whatever it is, it is said, and the run can go on afterwards.

#![cfg(unix)]

#[path = "../runtime/tests/support/postgres.rs"]
#[allow(dead_code)] // It has more than is used here.
mod postgres;
mod support;

use ltc_workflow::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Ended, Folder, ended, fixture_server, ltc, unruly};

const NUMBERS: &str = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]";

/// Twenty writes, each with some text, by the counting server.
fn counted(folder: &Folder, text: &str) -> (PathBuf, PathBuf) {
    let log = folder.path().join("calls");
    let quoted = |path: &Path| json::quote(&path.display().to_string());
    let head = format!("servers:\n  s:\n    command: {}\n    args: [counting, s, {}]\n", quoted(fixture_server()), quoted(&log));
    let steps = format!(
        "  - id: each\n    for: {{ each: n, in: \"${{{{ {NUMBERS} }}}}\", gather: \"${{{{ n }}}}\" }}\n    steps:\n      - id: add\n        call: s/add\n        with: {{ name: \"{text} ${{{{ n }}}}\" }}\n"
    );
    let path = folder.file("w.yaml", &format!("workflow: w\nversion: 1\n{head}steps:\n{steps}output: \"${{{{ len(steps.each) }}}}\"\n"));
    (path, log)
}

/// How often each step was called.
fn calls(log: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut found = BTreeMap::new();
    // What stands behind the last end of a line is still being written.
    let (whole, _) = text.rsplit_once('\n').unwrap_or_default();
    for line in whole.lines() {
        let line = json::parse(line.as_bytes()).expect("a line of the log");
        let text = |name: &str| line.get(name).and_then(Value::as_str).expect("a text").to_owned();
        if text("what") == "begin" {
            *found.entry(text("key")).or_insert(0) += 1;
        }
    }
    found
}

fn until_called(log: &Path, times: usize) {
    let begun = Instant::now();
    while calls(log).len() < times {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", calls(log));
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn begun(path: &Path, store: &str) -> Child {
    let mut command = ltc(["run", "--id", "r", "--store", store]);
    command.arg(path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command can be started")
}

fn end(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[track_caller]
fn each_once(log: &Path) {
    let calls = calls(log);
    assert_eq!(calls.len(), 20, "{calls:?}");
    assert!(calls.values().all(|times| *times == 1), "{calls:?}");
}

/// A small file system in memory; there is none where the tests may not mount one.
struct Disk(Folder);

impl Disk {
    fn of(size: &str) -> Option<Disk> {
        let folder = Folder::new();
        let disk = Disk(folder);
        let mounted = disk.mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        if !mounted {
            eprintln!("skipped: nothing can be mounted here");
        }
        mounted.then_some(disk)
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        let command = Command::new("mount").args(arguments).arg(self.0.path()).stderr(Stdio::null()).status();
        command.is_ok_and(|status| status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What is not mounted cannot be taken away.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).stderr(Stdio::null()).status();
    }
}

#[test]
fn a_full_disk_holds_a_run_up_until_there_is_room() {
    let Some(disk) = Disk::of("640k") else { return };
    let folder = Folder::new();
    let (path, log) = counted(&folder, &"x".repeat(40_000));
    let store = disk.0.path().join("ltc.db").display().to_string();
    let child = begun(&path, &store);
    let (begun, mut before) = (Instant::now(), 0);
    // It stands still.
    loop {
        std::thread::sleep(Duration::from_millis(700));
        let now = calls(&log).len();
        if now > 0 && now == before {
            break;
        }
        before = now;
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
    assert!(before < 20, "the disk is large enough for all");
    assert!(disk.mount(&["-o", "remount,size=64m"]));
    let done = end(child);
    assert_eq!((done.code, done.stdout.as_str()), (0, "20\n"), "{done:?}");
    each_once(&log);
}

#[test]
fn a_disk_that_stays_full_is_told_and_the_run_goes_on_later() {
    let Some(disk) = Disk::of("640k") else { return };
    let folder = Folder::new();
    let (path, log) = counted(&folder, &"x".repeat(40_000));
    let store = disk.0.path().join("ltc.db").display().to_string();
    let child = begun(&path, &store);
    until_called(&log, 3);
    std::thread::sleep(Duration::from_millis(1500));
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill can be started");
    assert!(sent.success());
    let lost = end(child);
    assert!(lost.stderr.contains("full") && lost.stderr.contains("ltc resume r"), "{lost:?}");
    assert!(disk.mount(&["-o", "remount,size=64m"]));
    let mut ended_run = ended(&mut ltc(["resume", "r", "--store", &store]));
    if ended_run.code == 4 {
        // The last call was made and could not be recorded.
        let (_, behind) = ended_run.stderr.split_once("ltc resolve ").expect("it says how to answer");
        let question = behind.split(' ').next().expect("an id");
        let answered = ended(&mut ltc(["resolve", question, r#"{"outcome":"done","result":{"made":""}}"#, "--store", &store]));
        assert_eq!(answered.code, 0, "{answered:?}");
        ended_run = ended(&mut ltc(["resume", "r", "--store", &store]));
    }
    assert_eq!((ended_run.code, ended_run.stdout.as_str()), (0, "20\n"), "{ended_run:?}");
    each_once(&log);
}

#[test]
fn a_store_that_cannot_be_written_is_told_before_step_one() {
    let folder = Folder::new();
    let (path, log) = counted(&folder, "x");
    let text = folder.file("text.db", "This is no database, and it is long enough to be looked at.\n".repeat(40).as_str());
    let refused = ended(ltc(["run"]).arg(&path).arg("--store").arg(&text));
    assert!(refused.code == 1 && refused.stderr.contains("error[no-store]"), "{refused:?}");
    assert!(std::fs::read_to_string(&text).expect("it is there").starts_with("This is no database"), "and it is left alone");
    let refused = ended(ltc(["run"]).arg(&path).arg("--store").arg(folder.path()));
    assert!(refused.code == 1 && refused.stderr.contains("error[no-store]"), "{refused:?}");
    let Some(disk) = Disk::of("2m") else { return };
    let store = disk.0.path().join("ltc.db");
    assert_eq!(ended(ltc(["runs", "--store"]).arg(&store)).code, 0);
    assert!(disk.mount(&["-o", "remount,ro"]));
    let refused = ended(ltc(["run"]).arg(&path).arg("--store").arg(&store));
    assert!(refused.code == 1 && refused.stderr.contains("error[") && !refused.stderr.contains("panicked"), "{refused:?}");
    assert!(!log.exists(), "no step was done");
}

#[test]
fn a_store_that_is_taken_away_in_the_middle_ends_nothing_silently() {
    let folder = Folder::new();
    let (path, log) = counted(&folder, "x");
    let store = folder.path().join("ltc.db");
    let child = begun(&path, &store.display().to_string());
    until_called(&log, 3);
    for name in ["ltc.db", "ltc.db-wal", "ltc.db-shm"] {
        // One of them may not be there.
        let _ = std::fs::remove_file(folder.path().join(name));
    }
    let run = end(child);
    assert!(!run.stderr.contains("panicked"), "{run:?}");
    // The open file goes on where files are kept that somebody has open; else it is said. In no case is a call made twice.
    assert!(run.code == 0 && run.stdout == "20\n" || run.code == 1 && run.stderr.contains("error["), "{run:?}");
    assert!(calls(&log).values().all(|times| *times == 1));
    let gone = ended(ltc(["runs", "show", "r", "--store"]).arg(&store));
    assert!(gone.code == 1 && gone.stderr.contains("error[not-found]"), "{gone:?}");
}

#[test]
fn a_postgresql_that_is_stopped_and_started_again_loses_and_doubles_nothing() {
    let Some(cluster) = postgres::Cluster::start() else { return };
    let folder = Folder::new();
    let (path, log) = counted(&folder, "x");
    let child = begun(&path, &cluster.address("postgres"));
    for times in [4, 9, 14] {
        until_called(&log, times);
        cluster.stop();
        std::thread::sleep(Duration::from_millis(150));
        cluster.start_again();
    }
    let done = end(child);
    assert_eq!((done.code, done.stdout.as_str()), (0, "20\n"), "{done:?}");
    each_once(&log);
}

/// A workflow that asks a person first, so that the world can change meanwhile.
fn asking(folder: &Folder, servers: &str, steps: &str) -> PathBuf {
    let ask = "  - id: ask\n    escalate: { role: reviewer, message: \"May I?\" }\n";
    folder.file("w.yaml", &format!("workflow: w\nversion: 1\n{servers}steps:\n{ask}{steps}output: over\n"))
}

#[test]
fn a_server_that_changed_while_a_person_was_asked_is_told_or_gone_on_with() {
    let folder = Folder::new();
    let path = asking(&folder, &unruly(""), "  - id: s\n    call: u/echo\n    with: { n: 1 }\n");
    let store = folder.path().join("ltc.db").display().to_string();
    let waiting = end(begun(&path, &store));
    assert_eq!(waiting.code, 4, "{waiting:?}");
    let (_, behind) = waiting.stderr.split_once("ltc resolve ").expect("it says how to answer");
    let question = behind.split(' ').next().expect("an id");
    assert_eq!(ended(&mut ltc(["resolve", question, "true", "--store", &store])).code, 0);
    // In the place of the server is one without the tool: the run stays.
    let other =
        format!(r#"{{"mcpServers":{{"u":{{"command":{},"args":["desk"]}}}}}}"#, json::quote(&fixture_server().display().to_string()));
    let other = folder.file("mcp.json", &other);
    let refused = ended(ltc(["resume", "r", "--store", &store, "--servers"]).arg(&other));
    assert!(refused.code == 1 && refused.stderr.contains("error[no-such-tool]"), "{refused:?}");
    // Another schema, and it goes on.
    let mut command = ltc(["resume", "r", "--store", &store]);
    let done = ended(command.env("UNRULY_SCHEMA", r#"{"n":{"type":"integer"}}"#));
    assert_eq!((done.code, done.stdout.as_str()), (0, "\"over\"\n"), "{done:?}");
}

#[test]
fn a_server_that_misbehaves_in_the_middle_is_retried_and_the_run_is_kept() {
    let folder = Folder::new();
    let call = |id: &str, tool: &str| format!("  - id: {id}\n    call: u/{tool}\n    with: {{ words: w }}\n");
    let caught = |id: &str, tool: &str| {
        format!(
            "{}    timeout: 2s\n    retry: {{ attempts: 2, backoff: 10ms }}\n    catch:\n      steps:\n        - id: c_{id}\n          set: {{ code: \"${{{{ error.code }}}}\" }}\n",
            call(id, tool)
        )
    };
    let steps = [
        caught("hang", "hang").replace("2s", "200ms"),
        caught("die", "die"),
        caught("garbage", "garbage"),
        call("twice", "twice"),
        call("after", "echo"),
    ];
    let output = "output: \"${{ [steps.c_hang.code, steps.c_die.code, steps.c_garbage.code, steps.after.words] }}\"\n";
    let text = format!("workflow: w\nversion: 1\n{}steps:\n{}{output}", unruly(""), steps.concat());
    let path = folder.file("w.yaml", &text);
    let store = folder.path().join("ltc.db").display().to_string();
    let done = end(begun(&path, &store));
    assert_eq!(done.code, 0, "{done:?}");
    let codes = json::parse(done.stdout.as_bytes()).expect("an output");
    let codes: Vec<&str> = codes.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!((codes[0], codes[1], codes[3]), ("timeout", "server-died", "w"), "{codes:?}");
    // Asked for once more, it is the same result, and nothing is called.
    let again = ended(ltc(["run", "--id", "r", "--store", &store]).arg(&path));
    assert_eq!((again.code, again.stdout), (0, done.stdout));
}

#[test]
fn a_server_that_floods_its_stderr_holds_nobody_up() {
    let folder = Folder::new();
    let flood = format!(
        "head -c 3000000 /dev/zero | tr '\\\\0' x >&2; yes 'a line' | head -n 20000 >&2; exec {} stdio",
        fixture_server().display()
    );
    let servers = format!("servers:\n  u:\n    command: sh\n    args: [\"-c\", \"{flood}\"]\n");
    let text = format!(
        "workflow: w\nversion: 1\n{servers}steps:\n  - id: s\n    call: u/echo\n    with: {{ n: 1 }}\noutput: \"${{{{ steps.s.n }}}}\"\n"
    );
    let path = folder.file("w.yaml", &text);
    let before = Instant::now();
    let done = end(begun(&path, &folder.path().join("ltc.db").display().to_string()));
    assert_eq!((done.code, done.stdout.as_str()), (0, "1\n"));
    assert!(before.elapsed() < Duration::from_secs(20), "{:?}", before.elapsed());
}
