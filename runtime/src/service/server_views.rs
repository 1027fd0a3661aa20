//! What the operations on MCP servers take and give.

use super::Exact;
use super::refusal::Place;
use super::server_said::Spoken;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// How a server was last found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpServerStatus {
    /// Nobody has tried it yet, as it is described now.
    Registered,
    /// It answered, and its tools are known.
    Connected,
    /// It could not be reached.
    Error,
    /// It answered once, and somebody let go of it.
    Disconnected,
}

/// How many of several tags a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TagMatch {
    /// At least one.
    Any,
    /// Each.
    All,
}

/// What `list_mcp_servers` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMcpServers {
    /// Only servers that were last found so.
    #[serde(default)]
    pub status: Option<McpServerStatus>,
    /// Only servers that are, or are not, connected to before anybody asks.
    #[serde(default)]
    pub auto_connect: Option<bool>,
    /// Only servers with these tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whether any of the tags is enough, or all are wanted; `any` where it is left out.
    #[serde(default)]
    pub tag_match: Option<TagMatch>,
    /// How many at most, 100 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// How many of the first ones are left out.
    #[serde(default)]
    pub offset: Option<u32>,
}

/// What `list_mcp_servers` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerList {
    /// The servers, by name.
    pub servers: Vec<McpServerSummary>,
    /// Where there are more: what `offset` of the next page is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u32>,
}

/// A server in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerSummary {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it is reached: `stdio`, `http` or `sse`.
    pub transport: String,
    /// Whether it is connected to before anybody asks.
    pub auto_connect: bool,
    /// Words that it is found by.
    pub tags: Vec<String>,
    /// How it was last found.
    pub status: McpServerStatus,
    /// How many tools it has, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_count: Option<usize>,
    /// Why it could not be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it last answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_connected_at: Option<String>,
}

/// A server.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpServerView {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it is reached: `stdio`, `http` or `sse`.
    pub transport: String,
    /// Its entry in a `.mcp.json`; each `${VARIABLE}` is still to be filled in.
    pub configuration: Exact,
    /// Whether it is connected to before anybody asks.
    pub auto_connect: bool,
    /// Words that it is found by.
    pub tags: Vec<String>,
    /// What the compiler is told about its tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compile_hints: Option<Exact>,
    /// Whatever else is kept with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Exact>,
    /// How it was last found.
    pub status: McpServerStatus,
    /// Its tools, as it last listed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Exact>,
    /// Why it could not be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it last answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_connected_at: Option<String>,
    /// When it was added.
    pub created_at: String,
    /// When what is said of it last changed.
    pub updated_at: String,
}

/// What `get_mcp_server` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMcpServer {
    /// The server's name.
    pub server_name: String,
}

/// The inputs of what says how a server is reached; with serde's `flatten` there would be no `deny_unknown_fields`, and numbers in `metadata` would be rounded.
macro_rules! reached {
    ($(#[$about:meta])* $name:ident { $($(#[$before:meta])* $first:ident: $first_kind:ty,)* } { $($(#[$more:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$before])* pub $first: $first_kind,)*
            /// How it is reached: `stdio`, `http` or `sse`. It follows from `command` or `url` where it is left out; only `sse` has to be said.
            #[serde(default, alias = "type")]
            #[schemars(extend("enum" = ["stdio", "http", "streamable-http", "sse", null]))]
            pub transport: Option<String>,
            /// The program that is started.
            #[serde(default)]
            pub command: Option<String>,
            /// Its arguments.
            #[serde(default)]
            pub args: Option<Vec<String>>,
            /// Variables that are set for it; `${VARIABLE}` is the environment, and no value may be a secret itself.
            #[serde(default)]
            pub env: Option<BTreeMap<String, String>>,
            /// The folder that it runs in.
            #[serde(default)]
            pub cwd: Option<String>,
            /// The URL that it listens at.
            #[serde(default)]
            pub url: Option<String>,
            /// Headers of every request; `${VARIABLE}` is the environment, and no value may be a secret itself.
            #[serde(default)]
            pub headers: Option<BTreeMap<String, String>>,
            $($(#[$more])* pub $field: $kind,)*
        }

        impl $name {
            /// How the server is said to be reached.
            pub(super) fn spoken(&self) -> Spoken {
                Spoken {
                    transport: self.transport.clone(),
                    command: self.command.clone(),
                    args: self.args.clone(),
                    env: self.env.clone(),
                    cwd: self.cwd.clone(),
                    url: self.url.clone(),
                    headers: self.headers.clone(),
                }
            }
        }
    };
}

reached! {
    /// What `add_mcp_server` takes.
    AddMcpServer {
        /// Its name: letters, digits, `-`, `_` and `.`.
        #[schemars(regex(pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"))]
        name: String,
        /// What it is for.
        #[serde(default)]
        description: Option<String>,
    } {
        /// Whether it is connected to before anybody asks.
        #[serde(default)]
        auto_connect: bool,
        /// Words that it is found by.
        #[serde(default)]
        tags: Vec<String>,
        /// What the compiler is told about its tools: `ltc schema hints`.
        #[serde(default)]
        #[schemars(extend("type" = ["object", "string", "null"]))]
        compile_hints: Option<Exact>,
        /// Whatever else is to be kept with it.
        #[serde(default)]
        metadata: Option<Exact>,
    }
}

reached! {
    /// What `update_mcp_server` takes. What is left out stays as it is, and `null` takes away; where one part of the way to it is given, the whole way is.
    UpdateMcpServer {
        /// The server's name.
        server_name: String,
        /// What it is for.
        #[serde(default, deserialize_with = "given")]
        description: Option<Option<String>>,
    } {
        /// Whether it is connected to before anybody asks.
        #[serde(default)]
        auto_connect: Option<bool>,
        /// Words that it is found by, in place of those that it has.
        #[serde(default)]
        tags: Option<Vec<String>>,
        /// What the compiler is told about its tools.
        #[serde(default, deserialize_with = "given")]
        #[schemars(extend("type" = ["object", "string", "null"]))]
        compile_hints: Option<Option<Exact>>,
        /// Whatever else is to be kept with it.
        #[serde(default, deserialize_with = "given")]
        metadata: Option<Option<Exact>>,
    }
}

/// What is there, also where it is `null`.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// What `remove_mcp_server` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveMcpServer {
    /// The server's name.
    pub server_name: String,
}

/// What `remove_mcp_server` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Removed {
    /// The name that is free again.
    pub name: String,
}

/// What `connect_mcp_server` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectMcpServer {
    /// The server's name.
    pub server_name: String,
}

/// What `disconnect_mcp_server` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisconnectMcpServer {
    /// The server's name.
    pub server_name: String,
}

/// What `list_mcp_tools` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMcpTools {
    /// The server's name.
    pub server_name: String,
    /// Whether the server is asked again although its tools are known.
    #[serde(default)]
    pub refresh: bool,
}

/// What `list_mcp_tools` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpToolList {
    /// The server's name.
    pub server_name: String,
    /// The tools: their entries in `tools/list`.
    pub tools: Vec<Exact>,
}

/// What `call_mcp_tool` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallMcpTool {
    /// The server's name.
    pub server_name: String,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments: an object.
    #[serde(default)]
    #[schemars(extend("type" = ["object", "null"]))]
    pub arguments: Option<Exact>,
    /// After how many seconds nobody waits for the answer any more.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub timeout_seconds: Option<u64>,
    /// The recording that the call goes into: the one that `claim_escalation` gave. Over a connection it goes there by itself.
    #[serde(default)]
    pub trace_id: Option<String>,
}

/// What `call_mcp_tool` gives: what the tool answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct McpToolResult {
    /// The blocks of its answer.
    pub content: Vec<Exact>,
    /// Its answer as a value, where it gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Exact>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
}

/// What `import_mcp_servers` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportMcpServers {
    /// A document like `.mcp.json`. Beside what reaches it, a server may have `description`, `tags`, `auto_connect`, `compile_hints` and `metadata`.
    #[schemars(extend("type" = "object"))]
    pub document: Exact,
    /// Whether servers that are there already become those of the document; else they stay and are refused.
    #[serde(default)]
    pub replace: bool,
}

/// What `import_mcp_servers` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Imported {
    /// Servers that were added.
    pub added: Vec<String>,
    /// Servers that were there already and are those of the document now.
    pub updated: Vec<String>,
    /// Servers of the document that were not taken.
    pub refused: Vec<RefusedServer>,
}

/// A server that was not taken.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusedServer {
    /// Its name.
    pub name: String,
    /// Why not.
    pub why: String,
    /// All that is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Place>,
}
