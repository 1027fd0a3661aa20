//! Where each value came from.
//!
//! Before: a skeleton of nodes with every frame that reached them. After: for each argument, list, test and output one template that
//! gives the recorded value in every frame. Candidates are made from one frame and tried out in all others by the language's own
//! evaluation, so what is accepted here means the same when it runs.
//!
//! A reference is taken only where it explains more than it costs: the value's own information, plus what agreeing names say, must
//! exceed what it takes to name the place. A small number or an enum word never makes an edge alone.

mod aligned;
mod anchors;
mod branches;
mod candidates;
mod closing;
mod compose;
mod derived;
mod evidence;
mod inputs;
mod json_text;
mod lists;
mod literals;
mod loops;
mod numbers;
mod parts;
mod pick;
mod put_back;
mod rounds;
pub mod scope;
mod secrets;
mod separate;
mod shaped;
mod subset;
mod successor;
mod value;

use crate::diagnostics::{Diagnostic, Severity};
use crate::index::Index;
use crate::names;
use crate::plan::{Finding, Origin, Plan, Point, Presence, Told};
use crate::script::Script;
use crate::secrecy::Secrets;
use crate::tree::{BodyId, FrameId, NodeId, Tree};
pub use inputs::Inputs;
use ltc_workflow::expr::{BinaryOp, Expr};
use ltc_workflow::template::{Piece, Template};
use ltc_workflow::{Object, Value};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// A point of the program at which a value is used.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The node; `None` for the output.
    pub node: Option<NodeId>,
    /// The body that it is in.
    pub body: BodyId,
    /// The server and the tool, where it is an argument.
    pub tool: Option<(SmolStr, SmolStr)>,
    /// The way to it: keys and positions.
    pub path: Vec<SmolStr>,
}

impl Spot {
    /// The words of the nearest key.
    pub fn words(&self) -> Vec<String> {
        self.key().map(names::words).unwrap_or_default()
    }

    /// The nearest key.
    pub fn key(&self) -> Option<&str> {
        self.path.iter().rev().map(SmolStr::as_str).find(|k| !k.starts_with('['))
    }

    /// The spot one step further in.
    #[must_use]
    pub fn at(&self, step: impl Into<SmolStr>) -> Spot {
        let mut spot = self.clone();
        spot.path.push(step.into());
        spot
    }

    /// The way to it as text: `to[0].email`.
    pub fn path_text(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            if !text.is_empty() && !step.starts_with('[') {
                text.push('.');
            }
            text.push_str(step);
        }
        text
    }
}

/// One recorded use of a value.
#[derive(Clone, Debug)]
pub struct Use {
    /// The frame.
    pub frame: FrameId,
    /// The call whose argument it is, or the number of calls for the output.
    pub call: usize,
    /// The value.
    pub value: Value,
}

/// What is being found out.
pub struct Explainer<'a> {
    scripts: &'a [Script],
    indexes: &'a [Index],
    tree: Tree,
    inputs: Inputs,
    /// Per run: the texts and numbers that it was given, with the expressions that give them.
    given: Vec<FxHashMap<SmolStr, Expr>>,
    secrets: Secrets,
    points: BTreeMap<NodeId, Point>,
    presence: BTreeMap<NodeId, Presence>,
    findings: Vec<Finding>,
    diagnostics: Vec<Told>,
    banned: BTreeSet<(usize, usize)>,
    /// What was taken for a text before, and in which body: a value that is used again is the same value.
    known: BTreeMap<SmolStr, Vec<(BodyId, Expr)>>,
    /// The latest of what was taken, newest last.
    recent: std::collections::VecDeque<Expr>,
    /// The picks that were taken, as text.
    picked: BTreeSet<String>,
    /// Calls with an argument that nothing explains.
    unexplained_calls: Vec<(NodeId, String)>,
    switches: usize,
    /// How many lists lie on the way that is looked for, beside the one at its end.
    hops: std::cell::Cell<usize>,
}

/// Finds out where everything in `tree` comes from.
pub fn explain(scripts: &[Script], indexes: &[Index], tree: Tree) -> Plan {
    let mut explainer = Explainer {
        scripts,
        indexes,
        tree,
        inputs: Inputs::given(scripts),
        given: scripts.iter().map(|s| inputs::leaves(&s.input)).collect(),
        secrets: Secrets::default(),
        points: BTreeMap::new(),
        presence: BTreeMap::new(),
        findings: Vec::new(),
        diagnostics: Vec::new(),
        banned: BTreeSet::new(),
        known: BTreeMap::new(),
        recent: std::collections::VecDeque::new(),
        picked: BTreeSet::new(),
        unexplained_calls: Vec::new(),
        switches: 0,
        hops: std::cell::Cell::new(0),
    };
    explainer.body(BodyId(0));
    let output = explainer.output();
    for (node, place) in std::mem::take(&mut explainer.unexplained_calls) {
        let has_reason = |told: &Told| told.node == Some(node) && told.diagnostic.severity == Severity::Error;
        if explainer.diagnostics.iter().any(has_reason) {
            continue;
        }
        explainer.tell(Some(node), without_origin(place), []);
    }
    Plan {
        tree: explainer.tree,
        points: explainer.points,
        presence: explainer.presence,
        output,
        inputs: explainer.inputs.schemas(),
        given: explainer.inputs.given_values(),
        secrets: explainer.secrets,
        findings: explainer.findings,
        banned: explainer.banned,
        diagnostics: explainer.diagnostics,
    }
}

fn without_origin(place: String) -> Diagnostic {
    Diagnostic::new(
        Severity::Error,
        "argument-without-origin",
        place,
        "an argument differs from round to round, and nothing that is known gives it",
    )
}

impl Explainer<'_> {
    /// What a run was given, with the inputs that were made so far.
    pub fn input(&self, run: usize) -> Option<Object> {
        self.inputs.of(run).cloned()
    }

    /// Reports a doubt, with the expressions that its message tells.
    fn tell(&mut self, node: Option<NodeId>, diagnostic: Diagnostic, exprs: impl IntoIterator<Item = Expr>) {
        let exprs = exprs.into_iter().map(|e| (e.clone(), e)).collect();
        self.diagnostics.push(Told { node, diagnostic, exprs });
    }

    fn output(&mut self) -> Option<Template> {
        let runs = self.tree.body(BodyId(0)).map(|b| b.frames.clone()).unwrap_or_default();
        let (with, without): (Vec<FrameId>, Vec<FrameId>) =
            runs.into_iter().partition(|frame| self.scripts.get(self.tree.run(*frame)).is_some_and(|s| s.output.is_some()));
        let output = self.output_of(with)?;
        Some(without.into_iter().fold(output, |output, frame| self.safe_in("output", output, frame)))
    }

    /// What gives nothing instead of failing in a run that went another way, and returned nothing that is known.
    fn safe_in(&mut self, place: &str, output: Template, frame: FrameId) -> Template {
        if self.template_in(&output, frame).is_some() {
            return output;
        }
        let or = |expr: Expr, value: Value| expr.binary(BinaryOp::Coalesce, Expr::Literal(value));
        let safe = match output {
            Template::Expr(expr) => Template::Expr(or(expr, Value::Null)),
            Template::Object(entries) => Template::Object(
                entries
                    .into_iter()
                    .map(|(key, t)| {
                        let t = self.safe_in(&format!("{place} {key}"), t, frame);
                        (key, t)
                    })
                    .collect(),
            ),
            Template::Array(items) => Template::Array(items.into_iter().map(|t| self.safe_in(place, t, frame)).collect()),
            Template::Text(pieces) => Template::Text(
                pieces
                    .into_iter()
                    .map(|piece| match piece {
                        Piece::Expr(expr) => Piece::Expr(or(expr, Value::from(""))),
                        Piece::Text(_) => piece,
                    })
                    .collect(),
            ),
            Template::Literal(_) => output,
        };
        if self.template_in(&safe, frame).is_some() {
            return safe;
        }
        self.tell(None, literals::output_without_source(place.to_owned()), []);
        Template::Literal(Value::Null)
    }

    fn output_of(&mut self, runs: Vec<FrameId>) -> Option<Template> {
        let uses: Vec<Use> = runs
            .into_iter()
            .filter_map(|frame| {
                let script = self.scripts.get(self.tree.run(frame))?;
                Some(Use { frame, call: script.calls.len(), value: script.output.clone()? })
            })
            .collect();
        if uses.is_empty() {
            return None;
        }
        let spot = Spot { node: None, body: BodyId(0), tool: None, path: Vec::new() };
        if self.scripts.iter().all(|s| !s.has_output)
            && let Some(last) = self.tree.body(BodyId(0)).and_then(|b| b.nodes.last())
        {
            let whole = Expr::step(crate::tree::step_name(*last));
            if self.gives(&whole, &uses) {
                self.find(
                    &spot,
                    Origin::Reference(whole.clone()),
                    "the recording names no output: the last step's result".to_owned(),
                    Vec::new(),
                );
                return Some(Template::Expr(whole));
            }
        }
        self.template(&spot, &uses)
    }
}
