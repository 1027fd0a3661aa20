//! A store for one test, workflows in it, and a log of what their tools were asked.

use crate::client::{Client, Era};
use crate::server;
use ltc_runtime::observe::Unobserved;
use ltc_runtime::service::{Caller, Operation, Refusal, Service};
use ltc_runtime::store::{RunId, RunRecord};
use ltc_workflow::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// A folder with a store and a log.
pub struct World {
    folder: tempfile::TempDir,
    /// The operations, in the process of the test.
    pub service: Arc<Service>,
}

/// Ways to a server.
pub const WAYS: [(Over, Era); 4] =
    [(Over::Stdio, Era::Older), (Over::Stdio, Era::Newer), (Over::Http, Era::Older), (Over::Http, Era::Newer)];

/// A transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    Stdio,
    Http,
}

/// JSON in a test.
pub fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("JSON in a test")
}

impl World {
    pub async fn new() -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let address = folder.path().join("ltc.db").display().to_string();
        let (service, _) = server::service(&address).await;
        World { folder, service }
    }

    /// With the workflows of most tests.
    pub async fn with_workflows() -> World {
        let world = World::new().await;
        world
            .deploy(
                "echo",
                "{ n: {} }",
                "  - id: a\n    call: u/echo\n    with: { n: \"${{ inputs.n }}\" }\n",
                "{ n: \"${{ steps.a.n }}\" }",
            )
            .await;
        world.deploy("bare", "{ n: {} }", "  - id: a\n    set: { x: 1 }\n", "\"${{ inputs.n }}\"").await;
        let two = "  - id: first\n    call: u/sleep\n    with: { millis: \"${{ inputs.millis }}\" }\n  - id: second\n    call: u/count\n    with: { n: 2 }\n";
        world.deploy("slow", "{ millis: { type: integer } }", two, "{ slept: \"${{ steps.first.millis }}\" }").await;
        world
            .deploy(
                "fail",
                "{ words: { type: string } }",
                "  - id: a\n    call: u/fail\n    with: { words: \"${{ inputs.words }}\" }\n",
                "{ a: 1 }",
            )
            .await;
        let ask = "  - id: ask\n    escalate: { role: reviewer, message: \"May I?\", form: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }\n";
        world.deploy("ask", "{}", ask, "{ ok: \"${{ steps.ask.ok }}\" }").await;
        world
    }

    pub fn address(&self) -> String {
        self.folder.path().join("ltc.db").display().to_string()
    }

    pub fn log(&self) -> PathBuf {
        self.folder.path().join("tools.log")
    }

    /// The arguments of the calls of a tool, as they reached it.
    pub fn calls(&self, tool: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let messages = text.lines().map(value);
        let params = messages.map(|message| message.get("params").cloned().unwrap_or_default());
        let of_tool = params.filter(|params| params.get("name").and_then(Value::as_str) == Some(tool));
        of_tool.map(|params| json::to_string(params.get("arguments").unwrap_or(&Value::Null))).collect()
    }

    /// Keeps a workflow that may call the unruly server as `u`.
    pub async fn deploy(&self, name: &str, inputs: &str, steps: &str, output: &str) {
        let program = json::quote(&std::env::current_exe().expect("a program").display().to_string());
        let log = json::quote(&self.log().display().to_string());
        let server = format!(
            "servers:\n  u:\n    command: {program}\n    args: [{log}]\n    env: {{ LTC_TEST_BE: tools }}\n    effects: {{ echo: read, sleep: idempotent, fail: read, count: write }}\n"
        );
        let text =
            format!("workflow: {name}\nversion: 1\ndescription: Does {name}.\ninputs: {inputs}\n{server}steps:\n{steps}output: {output}\n");
        self.operation("deploy_workflow", &format!(r#"{{"document":{}}}"#, json::quote(&text))).await.expect("it is deployed");
    }

    /// An operation, called in the process of the test.
    pub async fn operation(&self, name: &str, input: &str) -> Result<Value, Refusal> {
        let operation = Operation::named(name).expect("an operation");
        operation.call(&self.service, &value(input), Caller::new(Arc::new(Unobserved))).await
    }

    /// A run, as the store has it.
    pub async fn run(&self, id: &str) -> Option<RunRecord> {
        self.service.driver().store().run(&RunId(id.into())).await.expect("the store answers")
    }

    /// Ids of all runs, the newest first.
    pub async fn runs(&self) -> Vec<String> {
        let list = self.operation("list_runs", "{}").await.expect("a list");
        let runs = list.get("runs").and_then(Value::as_array).expect("a list");
        runs.iter().map(|run| run.get("run_id").and_then(Value::as_str).expect("an id").to_owned()).collect()
    }

    /// Waits until a run stands so.
    pub async fn until(&self, id: &str, status: ltc_runtime::store::Status) -> RunRecord {
        for _ in 0..200 {
            if let Some(run) = self.run(id).await.filter(|run| run.status == status) {
                return run;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("{id} does not become {status:?}: {:?}", self.run(id).await)
    }

    /// A client of a server of its own.
    pub async fn client(&self, over: Over, era: Era) -> Client {
        self.client_of(over, era, "mcp-workflows").await
    }

    pub async fn client_of(&self, over: Over, era: Era, server: &str) -> Client {
        match over {
            Over::Stdio => Client::stdio(&self.address(), Some(server), era).await,
            Over::Http => Client::http(&self.address(), server, era).await,
        }
    }
}
