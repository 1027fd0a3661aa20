//! What the tests of the command share: the command, the servers that it calls, and a folder that goes away.

#![allow(dead_code)] // Each test uses its part.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

/// The path of the server for tests. Cargo builds examples for a full `cargo test` only, so one test alone builds it here.
pub fn fixture_server() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "ltc", "--example", "fixture-server"]).current_dir(env!("CARGO_MANIFEST_DIR"));
        // What cargo tells a test about itself would make build scripts run again.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"].iter().any(|own| text.starts_with(own)) {
                cargo.env_remove(&name);
            }
        }
        let built = cargo.status().expect("cargo can be started");
        assert!(built.success(), "the server for tests does not build");
        // …/debug/deps/test-0123 lies beside …/debug/examples.
        let deps = std::env::current_exe().expect("a test has a path");
        let profile = deps.parent().and_then(Path::parent).expect("a test lies in a folder of its profile");
        profile.join("examples").join(format!("fixture-server{}", std::env::consts::EXE_SUFFIX))
    })
}

/// How the command ended and what it said.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Where the runs of a test are kept, so that none of them is that of whoever runs the tests.
fn home() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("home-{}", std::process::id()))
}

/// The command `ltc` with these arguments.
pub fn ltc<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ltc"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env("LTC_HOME", home())
        .env_remove("LTC_STORE")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command
}

/// Runs a command to its end.
pub fn ended(command: &mut Command) -> Ended {
    let Output { status, stdout, stderr } = command.output().expect("the command can be started");
    Ended { code: status.code().unwrap_or(-1), stdout: utf8(stdout), stderr: utf8(stderr) }
}

/// Runs a command to its end, with `text` on stdin.
pub fn ended_with_stdin(command: &mut Command, text: &str) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command can be started");
    child.stdin.take().expect("it has a stdin").write_all(text.as_bytes()).expect("it reads its stdin");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    Ended { code: status.code().unwrap_or(-1), stdout: utf8(stdout), stderr: utf8(stderr) }
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the command writes UTF-8")
}

/// A folder of files for one test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder can be made"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path
    }
}

/// The servers section of a workflow that calls the unruly server, as `u`, over stdio.
pub fn unruly(extra: &str) -> String {
    let command = ltc_workflow::json::quote(&fixture_server().display().to_string());
    format!("servers:\n  u:\n    command: {command}\n    args: [stdio]\n{extra}")
}

/// The unruly server over HTTP; it ends when this goes.
pub struct HttpServer {
    child: Child,
    pub port: u16,
}

impl HttpServer {
    pub fn start(environment: &BTreeMap<&str, &str>) -> HttpServer {
        let mut child = Command::new(fixture_server())
            .arg("http")
            .envs(environment)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it has a stdout")).read_line(&mut line).expect("it tells its port");
        HttpServer { child, port: line.trim().parse().expect("it tells its port") }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // It is one process; when it cannot be killed it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
