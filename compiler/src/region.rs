//! What a script repeats: its calls as a tree of loops.

use crate::index::{Path, Source};
use crate::script::Script;
use smol_str::SmolStr;

/// A call, or a loop over calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Region {
    /// A call, by its index in the script.
    Call(usize),
    /// A loop.
    Loop(Loop),
}

/// The same calls again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Its number in the script.
    pub id: usize,
    /// Why it repeats.
    pub kind: LoopKind,
    /// The server and the tool of the call that drives it.
    pub tool: (SmolStr, SmolStr),
    /// What happened in each round.
    pub rounds: Vec<Round>,
}

/// Why a loop repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoopKind {
    /// Once for each item of a list.
    Each,
    /// Page by page: what a round asks follows from what the round before answered, or from its number.
    Pages,
    /// The same question until its answer changes.
    Poll,
}

/// One round of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The item that it is about, in an [`LoopKind::Each`].
    pub item: Option<Item>,
    /// What happened.
    pub regions: Vec<Region>,
}

/// The item that a round is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// An item of a list in a value.
    Value {
        /// In which value.
        source: Source,
        /// The way to the item.
        path: Path,
        /// The part of the text there, for an item of a list in prose.
        span: Option<(usize, usize)>,
    },
    /// A round of an earlier loop: its item and what its calls gave.
    Round {
        /// That loop's number.
        of: usize,
        /// The round.
        round: usize,
    },
}

impl Region {
    /// The calls in it, in order.
    pub fn calls(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.each_call(&mut |call| found.push(call));
        found
    }

    /// The first call in it.
    pub fn first_call(&self) -> Option<usize> {
        match self {
            Region::Call(call) => Some(*call),
            Region::Loop(l) => l.rounds.iter().flat_map(|r| &r.regions).find_map(Region::first_call),
        }
    }

    fn each_call(&self, see: &mut dyn FnMut(usize)) {
        match self {
            Region::Call(call) => see(*call),
            Region::Loop(l) => {
                for region in l.rounds.iter().flat_map(|r| &r.regions) {
                    region.each_call(see);
                }
            }
        }
    }
}

/// What a region calls: the tool of a call, or of the call that drives a loop.
pub type Signature = (SmolStr, SmolStr);

/// The signature of a region.
pub fn signature(script: &Script, region: &Region) -> Signature {
    match region {
        Region::Call(call) => script.calls.get(*call).map(|c| (c.server.clone(), c.tool.clone())).unwrap_or_default(),
        Region::Loop(l) => match region.first_call().and_then(|c| script.calls.get(c)) {
            Some(first) => (first.server.clone(), first.tool.clone()),
            None => l.tool.clone(),
        },
    }
}
