//! Values that are small computations of what is in scope: the other state of a switch, a sum, a part of a text, a day a week later.
//!
//! Before: a call in a loop whose argument differs from round to round, and stands nowhere. After: the one expression over the loop's
//! item, the steps before it and the inputs that gives it in all rounds. That it does so for several different values is the evidence.

mod hops;
mod numbers;
mod texts;

use super::candidates::{Candidate, depth};
use super::evidence::distinct;
use super::separate::features;
use super::{Explainer, Spot, Use};
use crate::index::{PathStep, Source};
use crate::names::{self, Agreement};
use crate::tree::{NodeId, item_name, step_name};
use ltc_workflow::Value;
use ltc_workflow::expr::Expr;
use ltc_workflow::template::Template;
use smol_str::SmolStr;

/// What it costs to name a place.
const COST_OF_A_PLACE: f64 = 9.0;
/// What it costs more that a result only gives back what its call was told.
const COST_OF_AN_ECHO: f64 = 4.0;
/// What it costs that a boolean is turned around.
const COST_OF_NOT: f64 = 1.0;
/// The most uses in which expressions are looked for; all others must bear them out.
const MOST_SAMPLES: usize = 6;
/// The most facts that are looked at.
const MOST_FACTS: usize = 120;
/// The steps before a use that are looked at, nearest first.
const MOST_STEPS: usize = 24;
/// What varies within a run can be no constant: an explanation may cost so much more than the values say.
const SLACK_WITHIN_A_RUN: f64 = 6.0;
/// What differs between runs alone may be an input, and what is the same in the output a constant: an explanation must be worth so much.
const LEAST_BETWEEN_RUNS: f64 = 2.0;
/// What is so few bits behind is as good.
const AS_GOOD: f64 = 0.5;
/// The most expressions that are told to be as good.
const MOST_RIVALS: usize = 4;
/// What one value alone must be worth.
const LEAST_ALONE: f64 = 10.0;

/// Something that is known where a value is used.
struct Fact {
    expr: Expr,
    /// The keys on the way to it.
    keys: Vec<SmolStr>,
    source: Source,
    echo: bool,
    depth: usize,
    /// What the picks on the way cost.
    hops: f64,
    /// Its value in each of the sampled uses.
    values: Vec<Value>,
}

/// An expression that may give the value.
struct Made {
    expr: Expr,
    /// What it takes to tell it, beside the places.
    cost: f64,
    /// How well the names of what it is made of agree with the use.
    agreement: Agreement,
    source: Source,
    echo: bool,
    /// What it is made of.
    of: Vec<Expr>,
}

impl Made {
    /// An expression that is made of one fact.
    fn of(fact: &Fact, expr: Expr, cost: f64, words: &[String]) -> Made {
        let echo = if fact.echo { COST_OF_AN_ECHO } else { 0.0 };
        let way: Vec<PathStep> = fact.keys.iter().take(fact.depth).cloned().map(PathStep::Key).collect();
        Made {
            expr,
            cost: cost + echo + fact.hops + depth(&way),
            agreement: fact.agreement(words),
            source: fact.source,
            echo: fact.echo,
            of: vec![fact.expr.clone()],
        }
    }
}

impl Fact {
    fn agreement(&self, words: &[String]) -> Agreement {
        let keys: Vec<&str> = self.keys.iter().map(SmolStr::as_str).collect();
        names::agreement(words, &keys)
    }
}

impl Explainer<'_> {
    /// The computation that gives the value in every frame; only `sure` ones before a text is taken apart.
    pub(super) fn derived(&mut self, spot: &Spot, uses: &[Use], sure: bool) -> Option<Template> {
        let (ranked, of): (Vec<Candidate>, Vec<Vec<Expr>>) = self.derivations(spot, uses, sure).into_iter().unzip();
        let best = ranked.first()?;
        self.note_reference(spot, uses, &ranked);
        // Other fields of the same result that do as well: the values cannot tell which was meant.
        let as_good = |c: &Candidate| c.source == best.source && c.agreement == best.agreement && best.score - c.score < AS_GOOD;
        let rivals = ranked.iter().zip(&of).skip(1).filter(|(c, made_of)| as_good(c) && Some(*made_of) != of.first());
        let others: Vec<Expr> = rivals.map(|(c, _)| c.expr.clone()).take(MOST_RIVALS).collect();
        if !others.is_empty() {
            let told = super::value::several_origins(self.place_of(spot), &best.expr, others.iter().map(ToString::to_string).collect());
            self.tell(spot.node, told, others.into_iter().chain([best.expr.clone()]));
        }
        Some(Template::Expr(best.expr.clone()))
    }

    fn derivations(&self, spot: &Spot, uses: &[Use], sure: bool) -> Vec<(Candidate, Vec<Expr>)> {
        let several = distinct(uses) > 1;
        let Some(first) = uses.first() else { return Vec::new() };
        // One value alone is looked for where it says much: as a number of the output, or where it stands percent-encoded.
        let alone = match &first.value {
            Value::Number(_) => spot.node.is_none(),
            Value::String(text) => sure && texts::may_be_encoded(text) && !self.is_listed(spot, &first.value, uses),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        if !several && !alone {
            return Vec::new();
        }
        let sample = sample(uses);
        let words = spot.words();
        let all = |is: fn(&Value) -> bool| uses.iter().all(|u| is(&u.value));
        let (made, worth, least) = if all(|v| matches!(v, Value::Bool(_))) {
            // Each frame says one bit.
            (self.switched(&self.facts(spot, &sample), &words), count(uses.len().min(24)), 0.0)
        } else if all(|v| matches!(v, Value::Number(_))) {
            let facts = self.facts(spot, &sample);
            let mut made = numbers::computed(&facts, &sample, &words);
            made.extend(hops::plain(&facts, &words));
            made.extend(self.cut(&facts, &sample, &words, false));
            (made, self.evidence(uses), self.least(spot, uses))
        } else if all(|v| matches!(v, Value::String(_))) {
            let facts = self.facts(spot, &sample);
            let mut made = self.cut(&facts, &sample, &words, sure);
            if several {
                made.extend(texts::days_later(&facts, &sample, &words));
                made.extend(hops::plain(&facts, &words));
                made.extend(texts::shaped(&facts, &words).into_iter().filter(|_| !sure));
            }
            (made, self.evidence_of_sameness(uses), self.least(spot, uses))
        } else {
            return Vec::new();
        };
        let mut found: Vec<(Candidate, Vec<Expr>)> = Vec::new();
        for made in made {
            let score = worth + made.agreement.bits() - COST_OF_A_PLACE - made.cost;
            if score >= least
                && !found.iter().any(|(c, _)| c.expr == made.expr)
                && self.gives(&made.expr, &sample)
                && self.gives(&made.expr, uses)
            {
                let Made { expr, agreement, source, echo, of, .. } = made;
                found.push((Candidate { expr, score, source, echo, agreement, pinned: false, guesses: Vec::new() }, of));
            }
        }
        found.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        found
    }

    fn least(&self, spot: &Spot, uses: &[Use]) -> f64 {
        if self.varies_within_a_run(uses) {
            -SLACK_WITHIN_A_RUN
        } else if distinct(uses) > 1 || spot.node.is_none() {
            LEAST_BETWEEN_RUNS
        } else {
            LEAST_ALONE
        }
    }

    /// A boolean that another one is, or is the opposite of.
    fn switched(&self, facts: &[Fact], words: &[String]) -> Vec<Made> {
        let booleans = facts.iter().filter(|f| f.values.iter().all(|v| matches!(v, Value::Bool(_))));
        let both = |fact: &Fact| {
            [Made::of(fact, fact.expr.clone(), 0.0, words), Made::of(fact, Expr::Not(Box::new(fact.expr.clone())), COST_OF_NOT, words)]
        };
        booleans.flat_map(both).collect()
    }

    /// What is known in every one of the uses: fields of the items of the loops around them, of the steps before them, and the inputs.
    fn facts(&self, spot: &Spot, uses: &[Use]) -> Vec<Fact> {
        let mut found = Vec::new();
        let Some(first) = uses.first() else { return found };
        for round in self.tree.chain(first.frame) {
            if let Some(of) = self.tree.frame(round).filter(|f| f.item.is_some()).and_then(|f| f.of) {
                let values = |u: &Use| self.value_in(&Expr::name(item_name(of)), u.frame);
                add(&mut found, &Expr::name(item_name(of)), Source::Call(of.0), &[], uses.iter().map(values).collect(), &[]);
            }
        }
        for node in self.steps_before(spot) {
            let Some(acts) = uses.iter().map(|u| self.seen(node, u)).collect::<Option<Vec<_>>>() else { continue };
            let tool: Vec<SmolStr> = acts.first().map(|act| act.tool.clone()).into_iter().collect();
            let values = acts.iter().map(|act| Some(act.value.clone())).collect();
            let told: Vec<Vec<&Value>> = acts.iter().map(|act| act.arguments.iter().map(|(_, v)| v).collect()).collect();
            add(&mut found, &Expr::step(step_name(node)), Source::Call(node.0), &tool, values, &told);
        }
        let inputs = uses.iter().map(|u| self.input(self.tree.run(u.frame)).map(Value::Object)).collect();
        add(&mut found, &Expr::name("inputs"), Source::Input, &[], inputs, &[]);
        found.truncate(MOST_FACTS);
        hops::add(&mut found);
        found
    }

    /// The calls before a spot, in its body and in those around it, nearest first.
    pub(super) fn steps_before(&self, spot: &Spot) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut at = spot.clone();
        for body in self.bodies_around(spot.body) {
            at.body = body;
            found.extend(self.nodes_before(&at).into_iter().filter(|node| !self.is_loop(*node)));
            at.node = self.tree.body(body).and_then(|b| b.of);
        }
        found.truncate(MOST_STEPS);
        found
    }

    /// The call of a node that a use could see the result of.
    fn seen(&self, node: NodeId, used: &Use) -> Option<&crate::script::Act> {
        let act = self.tree.chain(used.frame).into_iter().find_map(|frame| self.tree.call(self.scripts, node, frame))?;
        let user = self.scripts.get(self.tree.run(used.frame))?.calls.get(used.call);
        user.is_none_or(|user| user.could_see(act)).then_some(act)
    }
}

/// Adds what is in a value, where it is there in every use.
fn add(found: &mut Vec<Fact>, base: &Expr, source: Source, above: &[SmolStr], values: Vec<Option<Value>>, told: &[Vec<&Value>]) {
    let mut own = Vec::new();
    for feature in features(base, &values) {
        let Some(values) = feature.values.into_iter().collect::<Option<Vec<Value>>>() else { continue };
        let echo = !told.is_empty() && told.iter().zip(&values).all(|(told, value)| told.contains(&value));
        let keys = above.iter().chain([&feature.key].into_iter().filter(|k| !k.is_empty())).cloned().collect();
        own.push(Fact { expr: feature.expr, keys, source, echo, depth: feature.depth, hops: 0.0, values });
    }
    found.extend(own);
}

/// A few uses with different values.
fn sample(uses: &[Use]) -> Vec<Use> {
    let mut found: Vec<Use> = Vec::new();
    for used in uses {
        if found.len() < MOST_SAMPLES && !found.iter().any(|known| known.value == used.value) {
            found.push(used.clone());
        }
    }
    found
}

fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::MAX, f64::from)
}
