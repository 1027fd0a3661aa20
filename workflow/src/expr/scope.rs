//! Where the names of an expression get their values.

use crate::value::{Object, Value};

/// Where the names of an expression get their values.
pub trait Scope {
    /// The value of `inputs`, `run`, `loop`, `error`, `result`, or of a loop's variable.
    fn name(&self, name: &str) -> Option<Value>;

    /// The value of a member of a group; `None` where it is missing.
    fn member(&self, group: Group, key: &str) -> Option<Value>;
}

/// Names that are no values themselves: only their members are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// `steps.<id>`
    Steps,
    /// `previous.<id>`
    Previous,
    /// `secrets.<NAME>`
    Secrets,
}

impl Group {
    /// The group that `name` names.
    pub fn named(name: &str) -> Option<Group> {
        match name {
            "steps" => Some(Group::Steps),
            "previous" => Some(Group::Previous),
            "secrets" => Some(Group::Secrets),
            _ => None,
        }
    }

    /// Its name in expressions.
    pub fn name(self) -> &'static str {
        match self {
            Group::Steps => "steps",
            Group::Previous => "previous",
            Group::Secrets => "secrets",
        }
    }
}

/// An object is a scope: its keys are the names, and the entries under `steps`, `previous` and `secrets` are the members.
impl Scope for Object {
    fn name(&self, name: &str) -> Option<Value> {
        self.get(name).filter(|_| Group::named(name).is_none()).cloned()
    }

    fn member(&self, group: Group, key: &str) -> Option<Value> {
        self.get(group.name())?.get(key).cloned()
    }
}
