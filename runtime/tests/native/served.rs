//! Crates that are served: this program as their command, over a store and without one.

use libtest_mimic::Failed;
use ltc_runtime::clock::Moment;
use ltc_runtime::definition::Bundle;
use ltc_runtime::store::{self, NewVersion, RunFilter, Status, VersionFilter, VersionState};
use ltc_workflow::{Value, json, yaml};
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

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

type Client = RunningService<rmcp::RoleClient, InitializeRequestParams>;

/// The protocol library's client, connected to this program as a command with these options.
async fn client(home: &Path, options: &[&str], lifecycle: ClientLifecycleMode) -> Result<(Client, tokio::process::Child), Failed> {
    let mut child = tokio::process::Command::new(std::env::current_exe()?)
        .args(options)
        .env("LTC_TEST_BE", "crate")
        .env("LTC_HOME", home)
        .env_remove("LTC_STORE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let pipes = (child.stdout.take().ok_or("stdout")?, child.stdin.take().ok_or("stdin")?);
    let us = InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new("test", "1"));
    Ok((serve_client_with_lifecycle(us, pipes, lifecycle).await?, child))
}

async fn names(client: &Client) -> Result<BTreeSet<String>, Failed> {
    Ok(client.peer().list_all_tools().await?.iter().map(|tool| tool.name.to_string()).collect())
}

async fn called(client: &Client, tool: &'static str, arguments: serde_json::Value) -> Result<CallToolResult, Failed> {
    let serde_json::Value::Object(arguments) = arguments else { return Err("arguments are an object".into()) };
    Ok(client.peer().call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await?)
}

fn text(result: &CallToolResult) -> &str {
    result.content.first().and_then(|block| block.as_text()).map_or("", |text| text.text.as_str())
}

fn lifecycles() -> [ClientLifecycleMode; 2] {
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }]
}

/// One program with two crates; a YAML workflow is in the store.
pub async fn beside_yaml() -> Result<(), Failed> {
    let home = tempfile::tempdir()?;
    let document = "workflow: greeting\nversion: 1\ninputs: { name: { type: string } }\nsteps:\n  - id: said\n    set: { text: \"Hello, ${{ inputs.name }}\" }\noutput: \"${{ steps.said }}\"\n";
    let bundle = Bundle { workflow: yaml::read(document).map_err(|why| format!("{why:?}"))?, library: BTreeMap::new() };
    let (name, definition) = (bundle.workflow.name.clone(), bundle.definition());
    let version = NewVersion { name, definition, description: None, state: VersionState::Active, made_of: None, at: Moment::now() };
    store::open(&home.path().join("ltc.db").display().to_string()).await?.put_version(version).await?;
    for lifecycle in lifecycles() {
        let (client, _child) = client(home.path(), &[], lifecycle).await?;
        let names = names(&client).await?;
        for expected in ["greeting", "noting", "outer", "list_workflows"] {
            assert!(names.contains(expected), "{expected} is not among {names:?}");
        }
        let greeted = called(&client, "greeting", serde_json::json!({"name": "you"})).await?;
        assert_eq!(greeted.structured_content, Some(serde_json::json!({"text": "Hello, you"})));
        let noted = called(&client, "noting", serde_json::json!({"items": [7, "x"]})).await?;
        assert_eq!(noted.structured_content, Some(serde_json::json!({"noted": [7, "x"], "last": 0})));
        // The one runs the other.
        assert_eq!(text(&called(&client, "outer", serde_json::json!({})).await?), "0");
    }
    Ok(())
}

/// The same two crates as a server that keeps nothing.
pub async fn without_a_store() -> Result<(), Failed> {
    let home = tempfile::tempdir()?;
    for lifecycle in lifecycles() {
        let (client, _child) = client(home.path(), &["--ephemeral"], lifecycle).await?;
        assert_eq!(names(&client).await?, BTreeSet::from(["elsewhere", "noting", "outer"].map(str::to_owned)));
        let noted = called(&client, "noting", serde_json::json!({"items": [7, "x"]})).await?;
        assert_eq!(noted.structured_content, Some(serde_json::json!({"noted": [7, "x"], "last": 0})));
        assert_ne!(noted.is_error, Some(true));
        assert_eq!(text(&called(&client, "outer", serde_json::json!({})).await?), "0");
        let refused = called(&client, "noting", serde_json::json!({"item": []})).await?;
        assert!(refused.is_error == Some(true) && text(&refused).contains("items"), "{refused:?}");
        let unreachable = called(&client, "elsewhere", serde_json::json!({})).await?;
        assert!(unreachable.is_error == Some(true) && text(&unreachable).contains("NO_SUCH_VARIABLE"), "{unreachable:?}");
        assert!(called(&client, "greeting", serde_json::json!({})).await.is_err(), "there is no such tool");
        // What fails says which step did.
        let failed = called(&client, "noting", serde_json::json!({"items": ["fail"]})).await?;
        assert_eq!(failed.is_error, Some(true));
        let failure = failed.structured_content.as_ref().and_then(|run| run.get("failure"));
        assert_eq!(failure.and_then(|failure| failure.get("step")), Some(&serde_json::json!("each[0]/note")), "{failed:?}");
    }
    assert_eq!(std::fs::read_dir(home.path())?.count(), 0, "nothing is kept");
    Ok(())
}

/// What a client no longer waits for goes no further than its step.
pub async fn given_up() -> Result<(), Failed> {
    for cancels in [true, false] {
        let home = tempfile::tempdir()?;
        let log = home.path().join("made");
        let (client, mut child) = client(home.path(), &["--ephemeral"], ClientLifecycleMode::Initialize).await?;
        let items = serde_json::json!({"items": [format!("slow {}", log.display()), format!("slow {}", log.display())]});
        let serde_json::Value::Object(arguments) = items else { return Err("an object".into()) };
        let request = CallToolRequestParams::new("noting").with_arguments(arguments);
        let peer = client.peer().clone();
        let options = rmcp::service::PeerRequestOptions::no_options();
        let handle = peer.send_cancellable_request(rmcp::model::CallToolRequest::new(request).into(), options).await?;
        while !log.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if cancels {
            handle.cancel(None).await?;
            // The server goes on serving.
            assert_eq!(text(&called(&client, "outer", serde_json::json!({})).await?), "0");
        }
        client.cancel().await?;
        let ended = tokio::time::timeout(Duration::from_secs(30), child.wait()).await??;
        assert!(ended.success(), "{ended}");
        assert_eq!(std::fs::read_to_string(&log)?.lines().count(), 1, "the second call is not made; cancelled: {cancels}");
    }
    Ok(())
}
