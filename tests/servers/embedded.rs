//! Another way to servers, as somebody who embeds the runtime puts it in place: operations and runs use it, and nothing else.

use crate::operations::World;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ltc_runtime::adapter::{Client, McpAdapter};
use ltc_runtime::secrets::Redactor;
use ltc_runtime::upstream::{Limits, Tool, ToolCall, ToolResult};
use ltc_workflow::advance::Failure;
use ltc_workflow::{Value, json};
use std::sync::{Arc, Mutex};

/// Answers each call with its arguments, and remembers what it was asked.
#[derive(Default)]
struct Parrot(Mutex<Vec<String>>);

impl Parrot {
    fn asked(&self, what: String) {
        self.0.lock().expect("no test panics here").push(what);
    }
}

impl McpAdapter for Parrot {
    fn connect(&self) -> BoxFuture<'_, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }

    fn connect_client<'c>(&'c self, _: &'c Client) -> BoxFuture<'c, Result<(), Failure>> {
        async { Ok(()) }.boxed()
    }

    fn disconnect_client<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, ()> {
        self.asked(format!("let go of {}", client.name));
        async {}.boxed()
    }

    fn list_tools<'c>(&'c self, client: &'c Client) -> BoxFuture<'c, Result<Vec<Tool>, Failure>> {
        self.asked(format!("list {}", client.name));
        let entry = json::parse(br#"{"name":"say"}"#).expect("JSON");
        async { Ok(vec![Tool { name: "say".into(), input_schema: None, output_schema: None, entry }]) }.boxed()
    }

    fn call_tool<'c>(&'c self, client: &'c Client, call: &'c ToolCall) -> BoxFuture<'c, Result<ToolResult, Failure>> {
        self.asked(format!("call {}/{}", client.name, call.tool));
        async { Ok(ToolResult { structured: Some(Value::Object(call.arguments.clone())), ..ToolResult::default() }) }.boxed()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn conceal(&self, _: &Redactor) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_and_runs_go_through_the_adapter_that_there_is() {
    let parrot = Arc::new(Parrot::default());
    let world = World::over(parrot.clone()).await;
    world.done("add_mcp_server", r#"{"name":"p","url":"parrot://anywhere"}"#).await;
    world.done("connect_mcp_server", r#"{"server_name":"p"}"#).await;
    let said = world.done("call_mcp_tool", r#"{"server_name":"p","tool_name":"say","arguments":{"n":1.10}}"#).await;
    assert_eq!(said.get("structured_content").map(json::to_string).as_deref(), Some(r#"{"n":1.10}"#));
    let document = "workflow: w\nversion: 1\nsteps:\n  - id: a\n    call: p/say\n    with: { n: 7 }\noutput: \"${{ steps.a.n }}\"\n";
    world.done("deploy_workflow", &format!(r#"{{"document":{}}}"#, json::quote(document))).await;
    let run = world.done("invoke_workflow", r#"{"workflow_name":"w"}"#).await;
    assert_eq!(run.get("output"), Some(&Value::from(7_i64)));
    world.done("disconnect_mcp_server", r#"{"server_name":"p"}"#).await;
    let asked = parrot.0.lock().expect("no test panics here").clone();
    assert_eq!(asked, ["list p", "call p/say", "list p", "call p/say", "let go of p"]);
}
