//! The calls of a recording, for lookups: which are equal, which belong to a tool, and where each stands among the writes.

use super::hashes;
use crate::identifiers::server_name;
use crate::script::{Act, Script};
use ltc_workflow::document::ToolEffect;
use ltc_workflow::{Object, Value};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

/// The calls of a script, for lookups. Built once, read by any number of replays.
pub struct Recording<'s> {
    /// The script.
    pub script: &'s Script,
    /// What the run must return, where that is recorded.
    pub output: Option<&'s Value>,
    /// Calls that are equal, in their order.
    pub groups: Vec<Vec<usize>>,
    by_hash: FxHashMap<u64, Vec<usize>>,
    /// The calls of a tool, in their order.
    pub by_tool: FxHashMap<(SmolStr, SmolStr), Vec<usize>>,
    /// Where each call stands.
    pub places: Vec<Place>,
    /// Per server: its writes, in order.
    pub writes: Vec<Vec<usize>>,
}

/// Where a call stands among the writes.
pub struct Place {
    /// Its group.
    pub group: usize,
    /// Its server, by number.
    pub server: usize,
    /// How many writes on its server stand before it.
    pub writes_before: usize,
}

/// Whether a call is known to only read.
pub fn reads(act: &Act) -> bool {
    act.effect_is_known && act.effect == ToolEffect::Read
}

impl<'s> Recording<'s> {
    /// The calls of `script`, and the output that must come out.
    pub fn new(script: &'s Script, output: Option<&'s Value>) -> Recording<'s> {
        let mut recording = Recording {
            script,
            output,
            groups: Vec::new(),
            by_hash: FxHashMap::default(),
            by_tool: FxHashMap::default(),
            places: Vec::new(),
            writes: Vec::new(),
        };
        let mut servers: FxHashMap<SmolStr, (usize, SmolStr)> = FxHashMap::default();
        let mut numbers: FxHashMap<SmolStr, usize> = FxHashMap::default();
        for (at, act) in script.calls.iter().enumerate() {
            let (server, name) = match servers.get(&act.server) {
                Some(known) => known.clone(),
                None => {
                    let name = server_name(&act.server);
                    let fresh = numbers.len();
                    let number = *numbers.entry(name.clone()).or_insert(fresh);
                    servers.insert(act.server.clone(), (number, name.clone()));
                    (number, name)
                }
            };
            recording.writes.resize_with(numbers.len(), Vec::new);
            recording.add(at, act, server, name);
        }
        recording
    }

    fn add(&mut self, at: usize, act: &Act, server: usize, name: SmolStr) {
        let hash = hashes::of_call(&name, &act.tool, &act.arguments);
        let known = self.by_hash.entry(hash).or_default();
        let group = known.iter().copied().find(|group| {
            let other = self.groups.get(*group).and_then(|g| self.script.calls.get(*g.first()?));
            other.is_some_and(|o| server_name(&o.server) == name && o.tool == act.tool && o.arguments == act.arguments)
        });
        let group = group.unwrap_or_else(|| {
            self.groups.push(Vec::new());
            known.push(self.groups.len() - 1);
            self.groups.len() - 1
        });
        if let Some(group) = self.groups.get_mut(group) {
            group.push(at);
        }
        self.by_tool.entry((name, act.tool.clone())).or_default().push(at);
        let writes = self.writes.get_mut(server);
        self.places.push(Place { group, server, writes_before: writes.as_ref().map_or(0, |w| w.len()) });
        if let Some(writes) = writes.filter(|_| !reads(act)) {
            writes.push(at);
        }
    }

    /// The group of calls like this one.
    pub fn group(&self, server: &str, tool: &str, arguments: &Object) -> Option<usize> {
        let found = self.by_hash.get(&hashes::of_call(server, tool, arguments))?;
        found.iter().copied().find(|group| {
            let other = self.groups.get(*group).and_then(|g| self.script.calls.get(*g.first()?));
            other.is_some_and(|o| server_name(&o.server) == server && o.tool == tool && o.arguments == *arguments)
        })
    }
}
