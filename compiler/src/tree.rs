//! The skeleton of a workflow: bodies of nodes, and every recorded execution of each body as a frame.
//!
//! All runs and all rounds of loops are laid over each other: a node is a point of the program, and its frames are the times that the
//! point was reached. A rule about a point must hold in all of its frames.

use crate::index::{Path, Source};
pub use crate::placeholders::{NodeId, is_reserved, item_name, item_named, step_name, step_named};
use crate::region::LoopKind;
use crate::script::{Act, Script};
use ltc_workflow::{Object, Value};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// A number of a frame in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub usize);

/// A number of a body in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub usize);

/// One execution of a body.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The run, by its index.
    pub run: usize,
    /// The frame that it is in; `None` for a whole run.
    pub parent: Option<FrameId>,
    /// The loop that it is a round of.
    pub of: Option<NodeId>,
    /// Which round.
    pub round: usize,
    /// The item that the round is about.
    pub item: Option<Item>,
}

/// The item that a round is about.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    Frame(FrameId),
}

/// A point of the program.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The body that it is in.
    pub body: BodyId,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A call.
    Call {
        /// The server's name.
        server: SmolStr,
        /// The tool's name.
        tool: SmolStr,
        /// In each frame that reached it: the call in the run's script.
        calls: BTreeMap<FrameId, usize>,
    },
    /// A loop.
    Loop {
        /// Why it repeats.
        kind: LoopKind,
        /// What it repeats.
        body: BodyId,
        /// In each frame that reached it: the frames of its rounds.
        rounds: BTreeMap<FrameId, Vec<FrameId>>,
    },
    /// A list inside an expression; its frames are the items.
    List {
        /// In each frame that reached it: the frames of its items.
        rounds: BTreeMap<FrameId, Vec<FrameId>>,
    },
}

/// Nodes in order, and the frames that ran them.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The nodes.
    pub nodes: Vec<NodeId>,
    /// The frames.
    pub frames: Vec<FrameId>,
    /// The loop or list whose body it is; `None` for the workflow's.
    pub of: Option<NodeId>,
}

/// The skeleton of a workflow.
#[derive(Debug, Default)]
pub struct Tree {
    /// All frames.
    pub frames: Vec<Frame>,
    /// All nodes.
    pub nodes: Vec<Node>,
    /// All bodies; the first one is the workflow's.
    pub bodies: Vec<Body>,
    /// For a call of a run: the node and the frame in which it was made.
    pub homes: FxHashMap<(usize, usize), (NodeId, FrameId)>,
    first_calls: BTreeMap<FrameId, usize>,
    /// For a loop of a run, by its number there: the frames of its rounds.
    pub loops: FxHashMap<(usize, usize), Vec<FrameId>>,
}

impl Tree {
    /// The frame of that number.
    pub fn frame(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get(id.0)
    }

    /// The node of that number.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    /// The body of that number.
    pub fn body(&self, id: BodyId) -> Option<&Body> {
        self.bodies.get(id.0)
    }

    /// A new frame.
    pub fn add_frame(&mut self, frame: Frame) -> FrameId {
        self.frames.push(frame);
        FrameId(self.frames.len() - 1)
    }

    /// A new node.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    /// A frame, the one that it is in, and so on to the whole run.
    pub fn chain(&self, frame: FrameId) -> Vec<FrameId> {
        let mut chain = vec![frame];
        let mut at = frame;
        while let Some(parent) = self.frame(at).and_then(|f| f.parent) {
            chain.push(parent);
            at = parent;
        }
        chain
    }

    /// The first call that was made in a frame or in a frame in it.
    pub fn first_call(&self, frame: FrameId) -> Option<usize> {
        self.first_calls.get(&frame).copied()
    }

    /// Notes that a call of a run was made at a node, in a frame.
    pub fn add_call(&mut self, call: usize, node: NodeId, frame: FrameId) {
        self.homes.insert((self.run(frame), call), (node, frame));
        for frame in self.chain(frame) {
            let first = self.first_calls.entry(frame).or_insert(call);
            *first = call.min(*first);
        }
    }

    /// The calls of a run that were made at these nodes.
    pub fn calls_at(&self, nodes: &BTreeSet<NodeId>, run: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for node in nodes {
            if let Some(NodeKind::Call { calls, .. }) = self.node(*node).map(|n| &n.kind) {
                found.extend(calls.iter().filter(|(frame, _)| self.run(**frame) == run).map(|(_, call)| *call));
            }
        }
        found
    }

    /// The run of a frame.
    pub fn run(&self, frame: FrameId) -> usize {
        self.frame(frame).map_or(0, |f| f.run)
    }

    /// The rounds of a loop in a frame, if it got there.
    pub fn rounds(&self, node: NodeId, frame: FrameId) -> Option<&[FrameId]> {
        match &self.node(node)?.kind {
            NodeKind::Loop { rounds, .. } | NodeKind::List { rounds } => rounds.get(&frame).map(Vec::as_slice),
            NodeKind::Call { .. } => None,
        }
    }

    /// The call of a node in a frame, if it was made there.
    pub fn call<'s>(&self, scripts: &'s [Script], node: NodeId, frame: FrameId) -> Option<&'s Act> {
        match &self.node(node)?.kind {
            NodeKind::Call { calls, .. } => scripts.get(self.run(frame))?.calls.get(*calls.get(&frame)?),
            NodeKind::Loop { .. } | NodeKind::List { .. } => None,
        }
    }

    /// The value of a step in a frame: a call's result; a poll's last answer; for other loops the list of its rounds.
    pub fn value(&self, scripts: &[Script], node: NodeId, frame: FrameId) -> Option<Value> {
        match &self.node(node)?.kind {
            NodeKind::Call { .. } => self.call(scripts, node, frame).map(|act| act.value.clone()),
            NodeKind::Loop { kind: LoopKind::Poll, body, rounds } => {
                let last = self.body(*body)?.nodes.last()?;
                self.value(scripts, *last, *rounds.get(&frame)?.last()?)
            }
            NodeKind::Loop { rounds, .. } => Some(rounds.get(&frame)?.iter().map(|round| self.record(scripts, *round)).collect()),
            NodeKind::List { .. } => None,
        }
    }

    /// All that is known of a round: its item under the loop's [`item_name`], and the value of each of its steps under [`step_name`].
    pub fn record(&self, scripts: &[Script], round: FrameId) -> Value {
        let mut record = Object::default();
        let Some(frame) = self.frame(round) else { return Value::Null };
        let Some(of) = frame.of else { return Value::Null };
        if let Some(item) = self.item(scripts, round) {
            record.insert(item_name(of), item);
        }
        if let Some(NodeKind::Loop { body, .. }) = self.node(of).map(|n| &n.kind) {
            for node in self.body(*body).map(|b| b.nodes.as_slice()).unwrap_or_default() {
                if let Some(value) = self.value(scripts, *node, round) {
                    record.insert(step_name(*node), value);
                }
            }
        }
        record.into()
    }

    /// The item that a round is about.
    pub fn item(&self, scripts: &[Script], round: FrameId) -> Option<Value> {
        let frame = self.frame(round)?;
        match frame.item.as_ref()? {
            Item::Frame(round) => Some(self.record(scripts, *round)),
            Item::Value { source, path, span } => {
                let script = scripts.get(frame.run)?;
                let root = match source {
                    Source::Input => Value::Object(script.input.clone()),
                    Source::Task => Value::from(script.task.as_deref()?),
                    Source::Call(call) => script.calls.get(*call)?.value.clone(),
                };
                let value = crate::index::follow(&root, path)?;
                match (span, &value) {
                    (Some((start, end)), Value::String(text)) => text.get(*start..*end).map(Value::from),
                    (Some(_), _) => None,
                    (None, _) => Some(value),
                }
            }
        }
    }
}
