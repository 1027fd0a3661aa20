//! Names of tools as agents see them → server and tool. MCP has no common spelling: clients put the server in front, each in its own way.

use crate::trace::DEFAULT_SERVER;
use smol_str::{SmolStr, format_smolstr};
use std::collections::BTreeSet;

/// The server and the tool that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The server, or [`DEFAULT_SERVER`].
    pub server: SmolStr,
    /// The tool.
    pub tool: SmolStr,
    /// Whether the name could be split in another way.
    pub unsure: bool,
}

impl Name {
    /// A tool of a server that the recording names.
    pub fn of(server: &str, tool: &str) -> Name {
        Name { server: server.into(), tool: tool.into(), unsure: false }
    }

    fn unsure(server: &str, tool: &str) -> Name {
        Name { unsure: true, ..Name::of(server, tool) }
    }

    /// A tool that belongs to no server.
    pub fn plain(tool: &str) -> Name {
        Name::of(DEFAULT_SERVER, tool)
    }
}

/// Splits `mcp__server__tool` and `server__tool`, which are sure enough, `mcp_server_tool` and `mcp-server-tool`, which are not, and all
/// that fit one of the `known` servers. A name with no server in it is a tool of [`DEFAULT_SERVER`].
pub(crate) fn split(name: &str, known: &BTreeSet<SmolStr>) -> Name {
    let inner = name.strip_prefix("mcp__").or_else(|| name.strip_prefix("mcp_")).or_else(|| name.strip_prefix("mcp-")).unwrap_or(name);
    if let Some(found) = split_by_known(inner, known) {
        return found;
    }
    let split_at = |text: &str, mark: &str| match text.split_once(mark) {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() && !server.ends_with('_') => Some(Name::of(server, tool)),
        _ => None,
    };
    if let Some(rest) = name.strip_prefix("mcp__") {
        return split_at(rest, "__").unwrap_or_else(|| Name::plain(name));
    }
    for (prefix, mark) in [("mcp_", "_"), ("mcp-", "-")] {
        if let Some(found) = name.strip_prefix(prefix).and_then(|rest| split_at(rest, "__").or_else(|| split_at(rest, mark))) {
            return Name::unsure(&found.server, &found.tool);
        }
    }
    split_at(name, "__").unwrap_or_else(|| Name::plain(name))
}

/// The longest of the `known` servers that `name` begins with, and the rest behind the separator. Clients write every letter of a server's
/// name that an identifier cannot have as `_`.
pub(crate) fn split_by_known(name: &str, known: &BTreeSet<SmolStr>) -> Option<Name> {
    const SEPARATORS: [&str; 6] = ["__", "_", "-", ".", "/", ":"];
    let mut found: Option<Name> = None;
    for server in known.iter().filter(|s| !s.is_empty() && s.as_str() != DEFAULT_SERVER) {
        if found.as_ref().is_some_and(|f| f.server.len() >= server.len()) {
            continue;
        }
        let rest = name.strip_prefix(server.as_str()).or_else(|| name.strip_prefix(identifier(server).as_str()));
        let tool = rest.and_then(|rest| SEPARATORS.iter().find_map(|s| rest.strip_prefix(s))).filter(|tool| !tool.is_empty());
        if let Some(tool) = tool {
            found = Some(Name::of(server, tool));
        }
    }
    found
}

/// The name with `_` in place of all but letters, digits, `_` and `-`.
pub(crate) fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

/// The first of `stem` with a number behind it that is not taken; `number` is the last one that was.
pub(crate) fn free_id(stem: &str, number: &mut u32, taken: impl Fn(&str) -> bool) -> SmolStr {
    loop {
        *number = number.saturating_add(1);
        let candidate = format_smolstr!("{stem}{number}");
        if *number == u32::MAX || !taken(&candidate) {
            return candidate;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splits(name: &str, known: &[&str]) -> (String, String, bool) {
        let name = split(name, &known.iter().map(SmolStr::new).collect());
        (name.server.to_string(), name.tool.to_string(), name.unsure)
    }

    fn sure(server: &str, tool: &str) -> (String, String, bool) {
        (server.to_owned(), tool.to_owned(), false)
    }

    #[test]
    fn the_spellings_of_clients() {
        assert_eq!(splits("mcp__depot__find_part", &[]), sure("depot", "find_part"));
        assert_eq!(splits("mcp__plugin_kit_depot__find_part", &[]), sure("plugin_kit_depot", "find_part"));
        assert_eq!(splits("depot__find__part", &[]), sure("depot", "find__part"));
        assert_eq!(splits("mcp_depot_find_part", &[]), ("depot".into(), "find_part".into(), true));
        assert_eq!(splits("Bash", &[]), sure("tools", "Bash"));
        assert_eq!(splits("__init__", &[]), sure("tools", "__init__"));
        assert_eq!(splits("mcp__", &[]), sure("tools", "mcp__"));
        assert_eq!(splits("depot-find", &[]), sure("tools", "depot-find"));
        assert_eq!(splits("", &[]), sure("tools", ""));
    }

    #[test]
    fn known_servers_decide() {
        assert_eq!(splits("mcp__a__b__c", &["a__b", "a"]), sure("a__b", "c"));
        assert_eq!(splits("mcp_big_depot_find_part", &["big_depot"]), sure("big_depot", "find_part"));
        assert_eq!(splits("big-depot-find", &["big", "big-depot"]), sure("big-depot", "find"));
        assert_eq!(splits("mcp__my_depot__find", &["my depot"]), sure("my depot", "find"));
    }
}
