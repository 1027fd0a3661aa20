//! A crate that is served: this program as its command, started twice over one store.

use libtest_mimic::Failed;
use ltc_runtime::store::{self, RunFilter, Status, VersionFilter, VersionState};
use ltc_workflow::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The answer to a call of the workflow, over MCP.
fn call(store: &Path) -> Result<Value, Failed> {
    let mut child = Command::new(std::env::current_exe()?)
        .env("LTC_TEST_BE", "crate")
        .env("LTC_STORE", store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().ok_or("stdin")?;
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"noting","arguments":{"items":[9007199254740993001]}}}"#,
    ] {
        writeln!(to, "{message}")?;
    }
    let answers = BufReader::new(child.stdout.take().ok_or("stdout")?).lines();
    let answer = answers.map_while(Result::ok).filter_map(|line| json::parse(line.as_bytes()).ok());
    let answer = answer.into_iter().find(|message| message.get("id") == Some(&Value::from(2_i64)));
    // It serves until its input ends.
    drop(to);
    let ended = child.wait()?;
    assert!(ended.success(), "{ended}");
    answer.ok_or_else(|| "there is no answer".into())
}

/// Each start keeps the workflow; the second one finds it there.
pub async fn twice() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("ltc.db");
    for _ in 0..2 {
        let answer = call(&place)?;
        let given = answer.get("result").and_then(|result| result.get("structuredContent"));
        let expected = json::parse(br#"{"noted": [9007199254740993001], "last": 0}"#)?;
        assert_eq!(given, Some(&expected), "{answer:?}");
    }
    let store = store::open(&place.display().to_string()).await?;
    for name in ["noting", "outer"] {
        let versions = store.versions(VersionFilter { name: Some(name.into()), state: None, after: None, limit: 10 }).await?;
        let versions: Vec<(u32, VersionState)> = versions.iter().map(|version| (version.version, version.state)).collect();
        assert_eq!(versions, [(1, VersionState::Active)], "{name}");
    }
    let runs = store.runs(RunFilter { status: Some(Status::Done), workflow: None, after: None, limit: 10 }).await?;
    assert_eq!(runs.len(), 2);
    Ok(())
}
