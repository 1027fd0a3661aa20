//! The names that steps and items have while nobody has named them: `__n7__` and `__v7__`. They stand in the expressions of a plan, and
//! must not be mistaken for keys of a recording.

use smol_str::SmolStr;

/// A number of a node in the skeleton of a workflow, `tree::Tree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub usize);

/// The name of a node's step before it gets one for people.
pub fn step_name(node: NodeId) -> SmolStr {
    SmolStr::new(format!("__n{}__", node.0))
}

/// The name of a loop's item before it gets one for people.
pub fn item_name(node: NodeId) -> SmolStr {
    SmolStr::new(format!("__v{}__", node.0))
}

/// The node whose [`step_name`] it is.
pub fn step_named(name: &str) -> Option<NodeId> {
    numbered(name, "__n")
}

/// The node whose [`item_name`] it is.
pub fn item_named(name: &str) -> Option<NodeId> {
    numbered(name, "__v")
}

/// Whether a key of a recording looks like one of our own names. Nothing is looked for behind such a key.
pub fn is_reserved(key: &str) -> bool {
    step_named(key).is_some() || item_named(key).is_some()
}

fn numbered(name: &str, start: &str) -> Option<NodeId> {
    name.strip_prefix(start)?.strip_suffix("__")?.parse().ok().map(NodeId)
}
