//! Clients over HTTP: the protocol library's client sees what it would see without anybody in between.

#![expect(deprecated, reason = "what the newer protocol does without is still what clients do")]

use crate::conversation::{calls, records};
use crate::listening::{Listening, recorder};
use crate::support::{Folder, fixture_server};
use ltc_workflow::json;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientRequest, CreateMessageRequestParams, CreateMessageResult,
    GetPromptRequestParams, Implementation, InitializeRequestParams, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, SamplingMessage,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, PeerRequestOptions, RequestContext, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// A client that answers questions, and tells what else it hears.
#[derive(Clone)]
struct Host {
    heard: Arc<Mutex<mpsc::UnboundedSender<String>>>,
}

impl Host {
    fn tell(&self, what: String) {
        // The test may have heard enough.
        let _ = self.heard.lock().expect("nobody panicked").send(what);
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> InitializeRequestParams {
        let can = ClientCapabilities::builder().enable_sampling().build();
        InitializeRequestParams::new(can, Implementation::new("test", "1"))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.tell(format!("asked for {} tokens", params.max_tokens));
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("by hand"), "nobody".to_owned()))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.tell(format!("progress {}", params.progress));
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.tell("tools changed".to_owned());
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _context: NotificationContext<RoleClient>) {
        self.tell(params.data.to_string());
    }
}

struct Client {
    service: RunningService<RoleClient, Host>,
    heard: mpsc::UnboundedReceiver<String>,
}

impl Client {
    async fn new(url: &str, lifecycle: ClientLifecycleMode) -> Client {
        // Another test may have been here before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (sender, heard) = mpsc::unbounded_channel();
        let host = Host { heard: Arc::new(Mutex::new(sender)) };
        let transport = StreamableHttpClientTransport::from_uri(url);
        let service = serve_client_with_lifecycle(host, transport, lifecycle).await.expect("a handshake");
        Client { service, heard }
    }

    async fn hears(&mut self) -> String {
        tokio::time::timeout(Duration::from_secs(20), self.heard.recv()).await.expect("in time").expect("something")
    }

    async fn call(&self, tool: &str) -> String {
        let params = CallToolRequestParams::new(tool.to_owned());
        let result = self.service.peer().call_tool(params).await.expect("a result");
        serde_json::to_string(&result.content).expect("JSON")
    }

    /// All that the server has to offer, as JSON.
    async fn offers(&self) -> String {
        let peer = self.service.peer();
        let tools = peer.list_all_tools().await.expect("tools");
        let prompts = peer.list_all_prompts().await.expect("prompts");
        let resources = peer.list_all_resources().await.expect("resources");
        let templates = peer.list_all_resource_templates().await.expect("templates");
        let uri = resources.first().expect("a resource").uri.clone();
        let read = peer.read_resource(ReadResourceRequestParams::new(uri)).await.expect("it can be read");
        let name = prompts.first().expect("a prompt").name.clone();
        let prompt = peer.get_prompt(GetPromptRequestParams::new(name)).await.expect("it is there");
        serde_json::to_string(&serde_json::json!([tools, prompts, resources, templates, read, prompt])).expect("JSON")
    }
}

fn newer() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn offered_directly(name: &str) -> String {
    let mut command = tokio::process::Command::new(fixture_server());
    command.args(["lively", name]).env("LIVELY_PLAIN", "1").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().expect("it can be started");
    let pipes = (child.stdout.take().expect("stdout"), child.stdin.take().expect("stdin"));
    let (sender, heard) = mpsc::unbounded_channel();
    let host = Host { heard: Arc::new(Mutex::new(sender)) };
    let service = serve_client_with_lifecycle(host, pipes, ClientLifecycleMode::Initialize).await.expect("a handshake");
    Client { service, heard }.offers().await
}

#[tokio::test]
async fn a_client_over_http_sees_what_it_would_see_directly() {
    let listening = Listening::lively(&[("LIVELY_PLAIN", "1")]);
    let mut client = Client::new(&listening.url(), ClientLifecycleMode::Initialize).await;
    assert_eq!(client.offers().await, offered_directly("a").await);

    assert!(client.call("say").await.contains("a says"));
    // A question to the client, in the middle of a call.
    let answer = client.call("ask").await;
    assert!(answer.contains("by hand"), "{answer}");
    assert_eq!(client.hears().await, "asked for 10 tokens");
    assert!(client.call("count").await.contains("counted"));
    for step in 1..=3 {
        assert_eq!(client.hears().await, format!("progress {step}"));
    }
    assert!(client.call("change").await.contains("changed"));
    assert_eq!(client.hears().await, "tools changed");

    let slow = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("slow")));
    let handle = client.service.peer().send_cancellable_request(slow, PeerRequestOptions::no_options()).await.expect("it is sent");
    let id = serde_json::to_string(&handle.id).expect("JSON");
    assert_eq!(client.hears().await, "progress 0", "the server works on it");
    handle.cancel(None).await.expect("it is cancelled");
    assert_eq!(client.hears().await, format!("\"cancelled {id}\""));

    let recorded = records(&listening.file(1), 5);
    assert_eq!(calls(&recorded), ["lively-a/say", "lively-a/ask", "lively-a/count", "lively-a/change", "lively-a/slow"]);
    assert!(json::to_string(recorded.last().expect("a call")).contains("gave the call up"), "{recorded:?}");
    client.service.cancel().await.expect("it ends");
}

#[tokio::test]
async fn several_servers_are_one_over_http_too() {
    let folder = Folder::new();
    let command = json::quote(&fixture_server().display().to_string());
    let entry = |name: &str| format!(r#""{name}":{{"command":{command},"args":["lively","{name}"],"env":{{"LIVELY_PLAIN":"1"}}}}"#);
    let servers = folder.file("mcp.json", &format!(r#"{{"mcpServers":{{{},{}}}}}"#, entry("a"), entry("b")));
    let mut command = recorder(&folder);
    let listening = Listening::start(command.arg("--servers").arg(servers), folder);
    let mut client = Client::new(&listening.url(), ClientLifecycleMode::Initialize).await;
    let tools = client.service.peer().list_all_tools().await.expect("tools");
    assert_eq!(tools.len(), 12);
    let answer = client.call("b__ask").await;
    assert!(answer.contains("by hand"), "{answer}");
    assert_eq!(client.hears().await, "asked for 10 tokens");
    assert!(client.call("a__count").await.contains("counted"));
    for step in 1..=3 {
        assert_eq!(client.hears().await, format!("progress {step}"));
    }
    assert_eq!(calls(&records(&listening.file(1), 2)), ["b/ask", "a/count"]);
}

#[tokio::test]
async fn clients_of_the_newer_protocol_are_recorded_one_after_the_other() {
    let listening = Listening::lively(&[("LIVELY_PLAIN", "1"), ("LIVELY_MODERN", "1")]);
    for number in 1..=2 {
        let mut client = Client::new(&listening.url(), newer()).await;
        assert!(client.call("say").await.contains("a says"));
        assert!(client.call("count").await.contains("counted"));
        assert_eq!(client.hears().await, "progress 1");
        assert_eq!(calls(&records(&listening.file(number), 2)), ["lively-a/say", "lively-a/count"]);
        client.service.cancel().await.expect("it ends");
    }
}
