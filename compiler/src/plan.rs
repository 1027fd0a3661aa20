//! The plan: what each point of the program does, when it is reached, and where every value comes from.

use crate::diagnostics::Diagnostic;
use crate::script::{Given, Script};
use crate::secrecy::Secrets;
use crate::tree::{NodeId, NodeKind, Tree};
use ltc_workflow::document::Duration;
use ltc_workflow::expr::Expr;
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// What was found out.
#[derive(Debug, Default)]
pub struct Plan {
    /// The skeleton.
    pub tree: Tree,
    /// What each node does.
    pub points: BTreeMap<NodeId, Point>,
    /// When a node is reached, where it is not always.
    pub presence: BTreeMap<NodeId, Presence>,
    /// What the workflow returns.
    pub output: Option<Template>,
    /// The inputs by name, as JSON Schemas.
    pub inputs: Object,
    /// Per run: what the inputs were.
    pub given: Vec<Object>,
    /// Names of secrets, and per run what they were.
    pub secrets: Secrets,
    /// Where each argument comes from.
    pub findings: Vec<Finding>,
    /// Loops that turned out to be none, by run and first call: they must be taken for straight code.
    pub banned: BTreeSet<(usize, usize)>,
    /// Guesses and doubts.
    pub diagnostics: Vec<Told>,
}

/// A diagnostic about a node, with the expressions that it tells.
#[derive(Clone, Debug)]
pub struct Told {
    /// The node; `None` for the output and the whole.
    pub node: Option<NodeId>,
    /// The diagnostic, in which the expressions stand as they were when it was made.
    pub diagnostic: Diagnostic,
    /// Each expression, as it was and as it is.
    pub exprs: Vec<(Expr, Expr)>,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub enum Point {
    /// A call with these arguments.
    Call(Vec<(SmolStr, Template)>),
    /// Once for each item.
    Each {
        /// The list.
        list: Expr,
        /// Only these items.
        test: Option<Expr>,
    },
    /// Again until this is true.
    Repeat {
        /// When it ends.
        until: Expr,
        /// The pause.
        every: Option<Duration>,
        /// The most rounds.
        at_most: u32,
    },
}

/// When a node is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Presence {
    /// Where this is true.
    When(Expr),
    /// In this case of a switch; the nodes of one switch share its number.
    Case {
        /// The switch.
        switch: usize,
        /// The test of the case.
        when: Expr,
    },
}

/// Where a value comes from, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The node, or `None` for the output.
    pub node: Option<NodeId>,
    /// Which argument, as a path.
    pub argument: String,
    /// What was taken.
    pub origin: Origin,
    /// Why, in a few words.
    pub evidence: String,
    /// What else explains the value, with why it lost.
    pub losers: Vec<(Expr, String)>,
}

/// What a value was taken for.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A reference.
    Reference(Expr),
    /// A text with references in it.
    Text(Template),
    /// The same each time.
    Constant(Value),
    /// An input that was made for it.
    Input(SmolStr),
    /// A secret.
    Secret(SmolStr),
}

impl Plan {
    /// Whether it is known of all of these nodes what they do: else there is a gap where a step should be, and an error that says why.
    pub fn is_whole(&self, alive: &BTreeSet<NodeId>) -> bool {
        let does = |node: &NodeId| match self.tree.node(*node).map(|n| &n.kind) {
            Some(NodeKind::Call { .. } | NodeKind::Loop { .. }) => self.points.contains_key(node),
            Some(NodeKind::List { .. }) | None => true,
        };
        alive.iter().all(does)
    }

    /// The scripts with only the calls of nodes that are alive: what the workflow must make.
    pub fn made(&self, scripts: &[Script], alive: &BTreeSet<NodeId>) -> Vec<Script> {
        scripts.iter().enumerate().map(|(run, script)| script.only(&self.tree.calls_at(alive, run))).collect()
    }

    /// What each run was given, with its secrets.
    pub fn runs(&self, given: &[Object]) -> Vec<Given> {
        given.iter().enumerate().map(|(run, input)| Given { input: input.clone(), secrets: self.secrets.of(run) }).collect()
    }
}
