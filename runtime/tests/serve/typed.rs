//! Through the protocol library's own client, and through the runtime's.

use crate::client::{Era, at, names, program, tool};
use crate::server::Stderr;
use crate::world::{Over, World, value};
use ltc_runtime::serve;
use ltc_runtime::servers::Endpoint;
use ltc_runtime::service::{OPERATIONS, Surface};
use ltc_runtime::upstream::{Connector, Limits, ToolCall};
use ltc_workflow::{Value, json};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ClientCapabilities, Implementation, InitializeRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

async fn typed(
    world: &World,
    server: Option<&str>,
    lifecycle: ClientLifecycleMode,
) -> (rmcp::service::RunningService<rmcp::RoleClient, InitializeRequestParams>, tokio::process::Child) {
    let address = world.address();
    let arguments: Vec<&str> = [address.as_str()].into_iter().chain(server).collect();
    let mut child = program("stdio", &arguments).spawn().expect("it starts");
    let pipes = (child.stdout.take().expect("stdout"), child.stdin.take().expect("stdin"));
    let can = ClientCapabilities::builder().enable_tasks().build();
    let us = InitializeRequestParams::new(can, Implementation::new("test", "1"));
    (serve_client_with_lifecycle(us, pipes, lifecycle).await.expect("a handshake"), child)
}

fn newer() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

pub async fn every_operation_and_every_active_workflow_is_a_tool_and_nothing_else_is() {
    let world = World::with_workflows().await;
    world.operation("set_workflow_state", r#"{"workflow_name":"bare","state":"archived"}"#).await.expect("it is archived");
    let workflows = BTreeSet::from(["ask", "echo", "fail", "slow"].map(str::to_owned));
    let of_server = |server: &str| -> BTreeSet<String> {
        let own = OPERATIONS.iter().filter(|operation| operation.mcp == Surface::At(names_as_static(server)));
        own.map(|operation| operation.name.to_owned()).collect()
    };
    for lifecycle in [ClientLifecycleMode::Initialize, newer()] {
        let (mut seen_at_all, mut usual) = (BTreeSet::new(), BTreeSet::new());
        for server in serve::names() {
            let (client, _child) = typed(&world, Some(server), lifecycle.clone()).await;
            let tools = client.peer().list_all_tools().await.expect("a list");
            let seen: BTreeSet<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
            assert_eq!(seen.len(), tools.len(), "no name comes twice");
            let mut expected = of_server(server);
            if [serve::WORKFLOWS, serve::GATEWAY].contains(&server) {
                expected.extend(workflows.clone());
            }
            assert_eq!(seen, expected, "{server}");
            for operation in OPERATIONS.iter().filter(|operation| seen.contains(operation.name)) {
                let tool = tools.iter().find(|tool| tool.name == operation.name).expect("it is there");
                assert_eq!(serde_json::Value::Object((*tool.input_schema).clone()), operation.input_schema());
                let output = tool.output_schema.as_ref().map(|schema| serde_json::Value::Object((**schema).clone()));
                assert_eq!(output, Some(operation.output_schema()), "{}", operation.name);
            }
            if serve::Which::usual().has(server) {
                usual.extend(seen.clone());
            }
            seen_at_all.extend(seen);
        }
        // The other way: what has a place has a tool.
        for operation in OPERATIONS {
            assert_eq!(seen_at_all.contains(operation.name), matches!(operation.mcp, Surface::At(_)), "{}", operation.name);
        }
        let (client, _child) = typed(&world, None, lifecycle).await;
        let tools = client.peer().list_all_tools().await.expect("a list");
        let together: BTreeSet<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
        assert_eq!(together, usual);
    }
}

fn names_as_static(server: &str) -> &'static str {
    serve::names().into_iter().find(|name| *name == server).expect("a server")
}

pub async fn annotations_follow_from_what_is_known() {
    let world = World::with_workflows().await;
    let mut client = world.client(Over::Stdio, Era::Older).await;
    let list = client.ask("tools/list", "{}").await;
    let hints = |name: &str| json::to_canonical_string(tool(&list, name).get("annotations").expect("annotations"));
    assert_eq!(hints("list_workflows"), r#"{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"readOnlyHint":true}"#);
    assert_eq!(hints("cancel_run"), r#"{"destructiveHint":true,"idempotentHint":true,"openWorldHint":false,"readOnlyHint":false}"#);
    assert_eq!(hints("invoke_workflow"), r#"{"destructiveHint":true,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false}"#);
    // It only calls a tool that reads.
    assert_eq!(hints("echo"), r#"{"destructiveHint":false,"idempotentHint":true,"openWorldHint":true,"readOnlyHint":true}"#);
    // It calls none.
    assert_eq!(hints("bare"), r#"{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"readOnlyHint":true}"#);
    // It writes, and asks a person: what it takes away is not known.
    assert_eq!(hints("slow"), r#"{"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false}"#);
    assert_eq!(hints("ask"), r#"{"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false}"#);
    let echo = tool(&list, "echo");
    assert_eq!(echo.get("description"), Some(&Value::from("Does echo.")));
    assert_eq!(
        echo.get("inputSchema"),
        Some(&value(r#"{"type":"object","properties":{"n":{}},"required":["n"],"additionalProperties":false}"#))
    );
    assert_eq!(echo.get("outputSchema"), Some(&value(r#"{"type":"object","properties":{"n":{}},"additionalProperties":false}"#)));
    // Its output is whatever it is given; and what asks a person may end without its output.
    assert_eq!(tool(&list, "bare").get("outputSchema"), None);
    assert_eq!(tool(&list, "ask").get("outputSchema"), None);
}

/// The runtime's own client, over both transports: what one workflow gives is what another gets.
pub async fn a_workflow_can_call_a_workflow_through_the_server_with_its_digits() {
    let world = World::with_workflows().await;
    let program = std::env::current_exe().expect("a program").display().to_string();
    let env = BTreeMap::from([("LTC_TEST_BE".to_owned(), "stdio".to_owned())]);
    let args = vec![world.address(), "mcp-workflows".to_owned()];
    let served = crate::client::Served::listening(&[&world.address(), "127.0.0.1:0"]).await;
    let url = format!("http://127.0.0.1:{}/mcp/mcp-workflows", served.port);
    let ways = [
        Endpoint::Stdio { command: program, args, env, cwd: None, hidden: BTreeSet::new() },
        Endpoint::Http { url, headers: BTreeMap::new(), sse: false },
    ];
    for endpoint in ways {
        let connector = Connector { log: Arc::new(Stderr), limits: Limits::default() };
        let upstream = connector.connect("us", &endpoint).await.expect("a connection");
        assert!(upstream.tools().await.expect("tools").iter().any(|tool| tool.name == "echo"));
        let given = value(r#"{"n":[123456789012345678901234567890,1.10,1e400,{"b":1,"a":2}]}"#);
        let arguments = given.as_object().expect("an object").clone();
        let call =
            ToolCall { tool: "echo".into(), arguments, step: ltc_workflow::advance::StepKey("s".into()), run: "r".into(), hearing: None };
        let result = upstream.call(&call).await.expect("an answer");
        assert_eq!(json::to_string(&result.decode().expect("no error")), json::to_string(&given));
        upstream.close().await;
    }
}

pub async fn a_typed_client_of_the_newer_era_gets_a_task_and_polls_it() {
    let world = World::with_workflows().await;
    let (client, _child) = typed(&world, Some("mcp-workflows"), newer()).await;
    let arguments = serde_json::json!({"millis": 2500}).as_object().cloned();
    let mut params = CallToolRequestParams::new("slow");
    params.arguments = arguments;
    let CallToolResponse::Task(created) = client.peer().call_tool_once(params).await.expect("an answer") else { panic!("no task") };
    let id = created.task.task_id.clone();
    assert!(world.run(&id).await.is_some(), "the task is the run");
    world.until(&id, ltc_runtime::store::Status::Done).await;
    let got = client.peer().get_task(rmcp::model::GetTaskParams::new(id)).await.expect("it is there");
    let rmcp::model::TaskPayload::Completed { result } = &got.task.payload else { panic!("{got:?}") };
    assert_eq!(result["structuredContent"], serde_json::json!({"slept": 2500}));
}

pub async fn many_tools_come_in_pages() {
    let world = World::new().await;
    for n in 0..130 {
        world.deploy(&format!("w-{n:03}"), "{}", "  - id: a\n    set: { x: 1 }\n", "{ a: 1 }").await;
    }
    for (over, era) in crate::world::WAYS {
        let mut client = world.client(over, era).await;
        let first = client.ask("tools/list", "{}").await;
        let cursor = at(&first, "/result/nextCursor").as_str().expect("there is more").to_owned();
        let second = client.ask("tools/list", &format!(r#"{{"cursor":{}}}"#, json::quote(&cursor))).await;
        assert!(at(&second, "/result/nextCursor").is_null());
        let mut seen = names(&first);
        seen.extend(names(&second));
        let workflows: Vec<String> = (0..130).map(|n| format!("w-{n:03}")).collect();
        assert_eq!(seen.iter().filter(|name| name.starts_with("w-")).cloned().collect::<Vec<_>>(), workflows);
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
        let wrong = client.ask("tools/list", r#"{"cursor":"nonsense"}"#).await;
        assert_eq!(at(&wrong, "/error/code"), Value::from(-32602_i64), "{}", json::to_string(&wrong));
    }
}
