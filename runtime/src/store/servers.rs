//! MCP servers in the registry: what is said of them, and how they were last found.

use crate::clock::Moment;
use ltc_workflow::Value;
use ltc_workflow::document::Transport;
use smol_str::SmolStr;
use std::collections::BTreeSet;

/// The name of a server in the registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(pub SmolStr);

/// How a server was last found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerStatus {
    /// Nobody has tried it yet, as it is described now.
    Registered,
    /// It answered, and its tools are known.
    Connected,
    /// It could not be reached.
    Error,
    /// It answered once, and somebody let go of it.
    Disconnected,
}

/// What is said of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name.
    pub name: ServerName,
    /// What it is for.
    pub description: Option<String>,
    /// How it is reached; each `${VARIABLE}` is still to be filled in.
    pub transport: Transport,
    /// Whether it is connected to before anybody asks for it.
    pub auto_connect: bool,
    /// Words that it is found by.
    pub tags: BTreeSet<SmolStr>,
    /// What the compiler is told about its tools.
    pub compile_hints: Option<Value>,
    /// Whatever else somebody wants to keep with it.
    pub metadata: Option<Value>,
}

/// A server, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRecord {
    /// What is said of it.
    pub entry: ServerEntry,
    /// How it was last found.
    pub status: ServerStatus,
    /// Its tools, as it last listed them: the entries of `tools/list`.
    pub tools: Option<Value>,
    /// Why it could not be reached, where that is how it was last found.
    pub last_error: Option<String>,
    /// When it last answered.
    pub last_connected_at: Option<Moment>,
    /// Grows with each change of what is said of it.
    pub revision: u64,
    /// When it was added.
    pub created_at: Moment,
    /// When what is said of it last changed.
    pub updated_at: Moment,
}

/// What is changed of what is said of a server; `None` leaves a part as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerChange {
    /// What it is for.
    pub description: Option<Option<String>>,
    /// How it is reached. Another way makes it `Registered` again, with no tools known.
    pub transport: Option<Transport>,
    /// Whether it is connected to before anybody asks for it.
    pub auto_connect: Option<bool>,
    /// Words that it is found by.
    pub tags: Option<BTreeSet<SmolStr>>,
    /// What the compiler is told about its tools.
    pub compile_hints: Option<Option<Value>>,
    /// Whatever else somebody wants to keep with it.
    pub metadata: Option<Option<Value>>,
}

/// How a server was found just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It answered, and has these tools.
    Connected {
        /// The entries of `tools/list`.
        tools: Value,
    },
    /// It could not be reached.
    Failed(String),
    /// Somebody let go of it. Its tools stay known; one that nobody has tried stays `Registered`.
    Disconnected,
}

/// How many of the tags that are asked for a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tagged {
    /// At least one.
    Any(BTreeSet<SmolStr>),
    /// Each.
    All(BTreeSet<SmolStr>),
}

/// Which servers are wanted, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFilter {
    /// Only those that were last found so.
    pub status: Option<ServerStatus>,
    /// Only those that are, or are not, connected to before anybody asks.
    pub auto_connect: Option<bool>,
    /// Only those with these tags; no tag at all asks for nothing.
    pub tagged: Option<Tagged>,
    /// How many of the first ones are left out.
    pub offset: u32,
    /// How many at most.
    pub limit: u32,
}
