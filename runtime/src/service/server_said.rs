//! How a server is said to be reached: by what an operation takes, and by an entry of a `.mcp.json`; and how it is shown.

use super::refusal::Code;
use super::server_views::{AddMcpServer, McpServerStatus, McpServerSummary, McpServerView, UpdateMcpServer};
use super::{Exact, Refusal, exact};
use crate::problem::Problem;
use crate::servers::{transport_kind, write_transport};
use crate::store::{ServerRecord, ServerStatus};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// How a server is said to be reached.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) transport: Option<String>,
    pub(super) command: Option<String>,
    pub(super) args: Option<Vec<String>>,
    pub(super) env: Option<BTreeMap<String, String>>,
    pub(super) cwd: Option<String>,
    pub(super) url: Option<String>,
    pub(super) headers: Option<BTreeMap<String, String>>,
}

impl Spoken {
    /// The same as an entry of a `.mcp.json`.
    pub(super) fn entry(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        let map =
            |map: &BTreeMap<String, String>| map.iter().map(|(key, text)| (key.as_str(), Value::from(text.as_str()))).collect::<Object>();
        let fields = [
            ("type", text(&self.transport)),
            ("command", text(&self.command)),
            ("args", self.args.as_ref().map(|args| args.iter().map(|arg| Value::from(arg.as_str())).collect())),
            ("env", self.env.as_ref().map(map).map(Value::from)),
            ("cwd", text(&self.cwd)),
            ("url", text(&self.url)),
            ("headers", self.headers.as_ref().map(map).map(Value::from)),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()
    }
}

/// What an entry of a `.mcp.json` may say that is of use here; other programs' own words (`disabled`, `alwaysAllow` …) are left out.
const OF_ENTRY: [&str; 13] = [
    "description",
    "transport",
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "auto_connect",
    "tags",
    "compile_hints",
    "metadata",
];

impl AddMcpServer {
    /// The server of an entry of a `.mcp.json`.
    pub(super) fn of_entry(name: &SmolStr, entry: &Value) -> Result<AddMcpServer, Refusal> {
        let wrong = |why: String| Refusal::because(Code::Invalid, vec![Problem::new("bad-servers", "/", why)]);
        let Some(entry) = entry.as_object() else {
            return Err(wrong(format!("a server is an object, not a value of type {}", entry.type_name())));
        };
        let known = entry.iter().filter(|(key, value)| OF_ENTRY.contains(&key.as_str()) && !value.is_null());
        let mut input: Object = known.map(|(key, value)| (key.clone(), value.clone())).collect();
        input.insert("name", Value::String(name.clone()));
        exact::read(&input.into()).map_err(wrong)
    }

    /// The change that makes a server that is there this one.
    pub(super) fn into_update(self) -> UpdateMcpServer {
        UpdateMcpServer {
            server_name: self.name,
            description: Some(self.description),
            transport: self.transport,
            command: self.command,
            args: self.args,
            env: self.env,
            cwd: self.cwd,
            url: self.url,
            headers: self.headers,
            auto_connect: Some(self.auto_connect),
            tags: Some(self.tags),
            compile_hints: Some(self.compile_hints),
            metadata: Some(self.metadata),
        }
    }
}

impl From<ServerRecord> for McpServerSummary {
    fn from(record: ServerRecord) -> McpServerSummary {
        let tool_count = record.tools.as_ref().and_then(Value::as_array).map(<[Value]>::len);
        McpServerSummary {
            name: record.entry.name.0.into(),
            description: record.entry.description,
            transport: transport_kind(&record.entry.transport).to_owned(),
            auto_connect: record.entry.auto_connect,
            tags: record.entry.tags.into_iter().map(Into::into).collect(),
            status: record.status.into(),
            tool_count,
            last_error: record.last_error,
            last_connected_at: record.last_connected_at.map(|at| at.to_string()),
        }
    }
}

impl From<ServerRecord> for McpServerView {
    fn from(record: ServerRecord) -> McpServerView {
        let entry = record.entry;
        McpServerView {
            name: entry.name.0.into(),
            description: entry.description,
            transport: transport_kind(&entry.transport).to_owned(),
            configuration: Exact(Value::Object(write_transport(&entry.transport))),
            auto_connect: entry.auto_connect,
            tags: entry.tags.into_iter().map(Into::into).collect(),
            compile_hints: entry.compile_hints.map(Exact),
            metadata: entry.metadata.map(Exact),
            status: record.status.into(),
            tools: record.tools.map(Exact),
            last_error: record.last_error,
            last_connected_at: record.last_connected_at.map(|at| at.to_string()),
            created_at: record.created_at.to_string(),
            updated_at: record.updated_at.to_string(),
        }
    }
}

impl From<ServerStatus> for McpServerStatus {
    fn from(status: ServerStatus) -> McpServerStatus {
        match status {
            ServerStatus::Registered => McpServerStatus::Registered,
            ServerStatus::Connected => McpServerStatus::Connected,
            ServerStatus::Error => McpServerStatus::Error,
            ServerStatus::Disconnected => McpServerStatus::Disconnected,
        }
    }
}

impl From<McpServerStatus> for ServerStatus {
    fn from(status: McpServerStatus) -> ServerStatus {
        match status {
            McpServerStatus::Registered => ServerStatus::Registered,
            McpServerStatus::Connected => ServerStatus::Connected,
            McpServerStatus::Error => ServerStatus::Error,
            McpServerStatus::Disconnected => ServerStatus::Disconnected,
        }
    }
}
