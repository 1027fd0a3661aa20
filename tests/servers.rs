//! MCP servers in the registry: the command, the operations behind it, runs that find their servers there, and the presets.

#[path = "servers/command.rs"]
mod command;
#[path = "servers/embedded.rs"]
mod embedded;
#[path = "servers/operations.rs"]
mod operations;
#[path = "servers/presets.rs"]
mod presets;
mod support;
