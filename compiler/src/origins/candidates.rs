//! References that give a value: found in one frame, tried out in all.

use super::closing::{Data, Way, Ways};
use super::evidence::distinct;
use super::pick::ONLY_ITEM;
use super::{Explainer, Spot, Use};
use crate::index::{PathStep, Place, Source, may_be_cut, scalar_text};
use crate::names::{self, Agreement};
use crate::patterns::is_visible;
use crate::weight::bits;
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr, Function};

/// An expression that gives the value in every frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The expression.
    pub expr: Expr,
    /// What it explains beyond what it costs, in bits; below zero it is chance.
    pub score: f64,
    /// Where it starts.
    pub source: Source,
    /// Whether the result only gives back what the call was told.
    pub echo: bool,
    /// How well the names go together.
    pub agreement: Agreement,
    /// Whether a hint says that the newest one counts: a handle, or what is asked for anew each time.
    pub pinned: bool,
    /// What was guessed on the way, for people.
    pub guesses: Vec<String>,
}

impl Candidate {
    /// Whether it takes something out of a result.
    pub(super) fn is_of_a_result(&self) -> bool {
        starts_from_a_result(&self.expr)
    }
}

/// Where references are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// In inputs and results.
    Anywhere,
    /// In inputs, and in what was found before.
    Inputs,
}

/// Words of arguments that count rounds.
const COUNTERS: &[&str] = &["page", "offset", "skip", "start", "from", "index", "position", "rank", "order", "sequence", "number", "no"];
/// What it takes to name any place at all, in bits.
const COST_OF_A_PLACE: f64 = 9.0;
/// The same for an input: there are few, and they are there to be used.
const COST_OF_AN_INPUT: f64 = 5.0;
/// What a result costs more that only gives back what its call was told.
const COST_OF_AN_ECHO: f64 = 4.0;
/// What a place is worth more from which the same value was taken before.
const WORTH_OF_BEING_KNOWN: f64 = 0.5;
/// What a value is worth more whose name a hint prefers.
const WORTH_OF_A_PREFERENCE: f64 = 4.0;

impl Explainer<'_> {
    /// All references that give the value in every frame and explain more than they cost, best first.
    pub(super) fn references(&self, spot: &Spot, uses: &[Use]) -> Vec<Candidate> {
        // A constant output makes no sense: there even a little evidence is taken, and reported.
        // What differs within a run can be no constant: the best explanation there is counts.
        let slack = if self.varies_within_a_run(uses) {
            20.0
        } else if spot.node.is_none() {
            9.0
        } else {
            0.0
        };
        let mut found = self.scored_references(spot, uses, From::Anywhere);
        found.retain(|c| c.score + slack >= 0.0);
        if let Some(newest) = found.iter().filter(|c| c.pinned).max_by_key(|c| c.source).cloned() {
            return vec![newest];
        }
        found.sort_by(|a, b| {
            a.echo
                .cmp(&b.echo)
                .then_with(|| b.score.total_cmp(&a.score))
                .then_with(|| b.agreement.cmp(&a.agreement))
                .then_with(|| by_source(a, b))
        });
        let mut seen: Vec<Expr> = Vec::new();
        found.retain(|c| !seen.contains(&c.expr) && (seen.push(c.expr.clone()), true).1);
        found
    }

    /// All references that give the value in every frame, in no order.
    pub(super) fn scored_references(&self, spot: &Spot, uses: &[Use], from: From) -> Vec<Candidate> {
        self.scored_by_ways(spot, uses, from, &mut Ways::default())
    }

    /// The same for one of several values that are used in one call: the ways to a place are those of all of them.
    pub(super) fn scored_by_ways(&self, spot: &Spot, uses: &[Use], from: From, ways: &mut Ways) -> Vec<Candidate> {
        // Null in one run says where nothing is that another run has.
        let Some(first) = uses.iter().find(|u| !is_trivial(&u.value)).or(uses.first()) else { return Vec::new() };
        if is_trivial(&first.value) {
            return if matches!(first.value, Value::Bool(_)) { self.named_alike(spot, uses) } else { Vec::new() };
        }
        let evidence = self.evidence(uses);
        let mut found = self.counters(spot, uses, evidence);
        found.extend(self.items_in_prose(uses, evidence));
        found.extend(self.known_before(spot, uses, evidence));
        let run = self.tree.run(first.frame);
        let Some((script, index)) = self.scripts.get(run).zip(self.indexes.get(run)) else { return found };
        let places = match scalar_text(&first.value) {
            Some(text) => index.places(text),
            None => index.trees(&first.value),
        };
        let words = spot.words();
        let cut = scalar_text(&first.value).is_some_and(may_be_cut);
        let is_data = |part: &str| self.is_data(run, part);
        let data = Data { is_data: &is_data, given: &|part| self.given_as(run, part) };
        let fits = |p: &&Place| {
            (from == From::Anywhere || p.source == Source::Input) && (p.span.is_none() || cut) && is_visible(script, first.call, p)
        };
        for place in places.iter().filter(fits) {
            let echo = self.is_echo(run, place, &first.value);
            let agreement = names::agreement(&words, &self.names_on_the_way(run, place));
            let preferred = self.is_preferred(run, place);
            let pinned = self.is_pinned(run, place);
            for Way { closed, length, text } in ways.to(self, place, first) {
                if self.is_tautology(&closed.expr, first) {
                    continue;
                }
                let exprs = match (place.span, text) {
                    (None, _) => vec![(closed.expr.clone(), 0.0)],
                    (Some(span), Some(text)) => super::closing::cuts(&closed.expr, text, span, place.source == Source::Input, &data),
                    (Some(_), None) => Vec::new(),
                };
                for (expr, cut) in exprs {
                    let Some(expr) = self.coerced(expr, uses) else { continue };
                    let base = if place.source == Source::Input { COST_OF_AN_INPUT } else { COST_OF_A_PLACE };
                    let cost = base + closed.cost + cut + if echo { COST_OF_AN_ECHO } else { 0.0 } + length;
                    let agreement = labels(&expr).into_iter().fold(agreement, |best, label| best.max(names::agreement(&words, &[label])));
                    // Names say nothing where the item itself was guessed.
                    let guessed = closed.guesses.iter().any(|g| !g.starts_with(ONLY_ITEM));
                    let named = if guessed { 0.0 } else { agreement.bits() };
                    let worth = evidence + named + if preferred { WORTH_OF_A_PREFERENCE } else { 0.0 };
                    let mut guesses = closed.guesses.clone();
                    guesses.extend(self.other_scope(run, place, first, evidence));
                    found.push(Candidate { expr, score: worth - cost, source: place.source, echo, agreement, pinned, guesses });
                    break;
                }
            }
        }
        found
    }

    /// One reference for each way that the runs went: the first that is there. What one way gives must be missing in the others.
    pub(super) fn coalesced(&self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let mut left: Vec<&Use> = uses.iter().collect();
        let mut parts: Vec<Expr> = Vec::new();
        while let Some(first) = left.first().copied() {
            let fits = |expr: &Expr| {
                let safe = expr.clone().binary(BinaryOp::Coalesce, Expr::Literal(Value::Null));
                uses.iter().all(|u| self.value_in(&safe, u.frame).is_some_and(|v| v.is_null() || v == u.value))
            };
            let best = self.references(spot, std::slice::from_ref(first)).into_iter().map(|c| c.expr).find(fits)?;
            left.retain(|u| self.value_in(&best, u.frame).as_ref() != Some(&u.value));
            parts.push(best);
        }
        let expr = parts.into_iter().reduce(|a, b| a.binary(BinaryOp::Coalesce, b))?;
        self.gives(&expr, uses).then_some(expr)
    }

    /// `expr`, with the coercion that makes it give the value in every frame; `None` where nothing does.
    pub(super) fn coerced(&self, expr: Expr, uses: &[Use]) -> Option<Expr> {
        let first = uses.iter().find(|u| !is_trivial(&u.value)).or(uses.first())?;
        let got = self.value_in(&expr, first.frame)?;
        let expr = match (&first.value, &got) {
            (Value::String(_), Value::Number(_)) => expr.apply(Function::ToString),
            (Value::Number(_), Value::String(_)) => expr.apply(Function::ToNumber),
            _ => expr,
        };
        self.gives(&expr, uses).then_some(expr)
    }

    /// Whether `expr` gives the value in every frame.
    pub(super) fn gives(&self, expr: &Expr, uses: &[Use]) -> bool {
        uses.iter().all(|u| self.value_in(expr, u.frame).as_ref() == Some(&u.value))
    }

    /// The item of a loop over parts of a text.
    pub(super) fn items_in_prose(&self, uses: &[Use], evidence: f64) -> Option<Candidate> {
        let first = uses.first()?;
        let in_prose = |frame: &crate::tree::FrameId| {
            let frame = self.tree.frame(*frame)?;
            matches!(frame.item, Some(crate::tree::Item::Value { span: Some(_), .. })).then_some(frame.of?)
        };
        let of = self.tree.chain(first.frame).iter().find_map(in_prose)?;
        let expr = Expr::name(crate::tree::item_name(of));
        let score = evidence - COST_OF_A_PLACE;
        self.gives(&expr, uses).then_some(Candidate {
            expr,
            score,
            source: Source::Input,
            echo: false,
            agreement: Agreement::None,
            pinned: false,
            guesses: Vec::new(),
        })
    }

    /// A value that was explained before in a body around this one is the same value again.
    pub(super) fn known_before(&self, spot: &Spot, uses: &[Use], evidence: f64) -> Vec<Candidate> {
        let Some(first) = uses.first() else { return Vec::new() };
        let Some(text) = scalar_text(&first.value) else { return Vec::new() };
        let around = self.bodies_around(spot.body);
        let known = self.known.get(text).map(Vec::as_slice).unwrap_or_default();
        let usable = known.iter().filter(|(body, _)| around.contains(body)).filter_map(|(_, expr)| self.coerced(expr.clone(), uses));
        // What stands in a result may be equal by chance this time too; an input or a constant was itself made for the value.
        let sameness = self.evidence_of_sameness(uses);
        usable
            .map(|expr| Candidate {
                score: if starts_from_a_result(&expr) { evidence } else { sameness } - COST_OF_A_PLACE + WORTH_OF_BEING_KNOWN,
                expr,
                source: Source::Task,
                echo: false,
                agreement: Agreement::None,
                pinned: false,
                guesses: Vec::new(),
            })
            .collect()
    }

    /// The bodies around a body, itself first.
    pub(super) fn bodies_around(&self, body: crate::tree::BodyId) -> Vec<crate::tree::BodyId> {
        let mut around = vec![body];
        let mut at = body;
        while let Some(outer) = self.tree.body(at).and_then(|b| self.tree.node(b.of?)).map(|n| n.body) {
            around.push(outer);
            at = outer;
        }
        around
    }

    /// A number that grows with the rounds of a loop.
    pub(super) fn counters(&self, spot: &Spot, uses: &[Use], evidence: f64) -> Vec<Candidate> {
        let numbers: Option<Vec<(i64, i64)>> = uses
            .iter()
            .map(|u| {
                let frame = self.tree.frame(u.frame)?;
                let round = i64::try_from(frame.round).ok().filter(|_| frame.of.is_some_and(|n| self.is_loop(n)))?;
                Some((round, u.value.as_number()?.as_i64()?))
            })
            .collect();
        let Some([(r0, v0), (r1, v1), ..]) = numbers.as_deref() else { return Vec::new() };
        // Any two numbers may stand in a recording: where they are too far apart to be counted, they are no count.
        let (Some(rounds), Some(grown)) = (r1.checked_sub(*r0), v1.checked_sub(*v0)) else { return Vec::new() };
        if rounds <= 0 || grown <= 0 || grown % rounds != 0 {
            return Vec::new();
        }
        let step = grown / rounds;
        let Some(start) = step.checked_mul(*r0).and_then(|before| v0.checked_sub(before)) else { return Vec::new() };
        // Two numbers always lie on a line: there the name must say that it counts.
        let counts = spot.words().iter().any(|w| COUNTERS.contains(&w.as_str()));
        let in_order = step == 1 && (0..=1).contains(&start);
        let rounds = numbers.as_ref().map_or(0, Vec::len);
        // Of two, only what counts from its own beginning is a count.
        if rounds < 3 && step != 1 && start != 0 && start != step {
            return Vec::new();
        }
        if !counts
            && !(rounds > 2
                && (in_order || uses.iter().all(|u| self.tree.frame(u.frame).and_then(|f| f.of).is_some_and(|n| self.is_repeat(n)))))
        {
            return Vec::new();
        }
        let index = Expr::name("loop").key("index");
        let grown = if step == 1 { index } else { index.binary(BinaryOp::Multiply, Expr::Literal(step.into())) };
        let expr = if start == 0 { grown } else { grown.binary(BinaryOp::Add, Expr::Literal(start.into())) };
        if !self.gives(&expr, uses) {
            return Vec::new();
        }
        let agreement = names::agreement(&spot.words(), &["page"]);
        // A count that begins somewhere has to say where: a result that gives the number each time is told shorter.
        let begins = if (0..=1).contains(&start) { 0.0 } else { COST_OF_A_PLACE + bits(&start.to_string()) };
        vec![Candidate {
            expr,
            score: evidence.max(6.0) - begins,
            source: Source::Task,
            echo: false,
            agreement,
            pinned: false,
            guesses: Vec::new(),
        }]
    }

    /// A boolean has no information of its own: only an input or a field of the very same name gives one.
    pub(super) fn named_alike(&self, spot: &Spot, uses: &[Use]) -> Vec<Candidate> {
        let (Some(first), Some(key)) = (uses.first(), spot.key()) else { return Vec::new() };
        let expr = Expr::input(key);
        let given = self.input(self.tree.run(first.frame)).is_some_and(|i| i.contains_key(key));
        if given && self.gives(&expr, uses) {
            return vec![Candidate {
                expr,
                score: 4.0,
                source: Source::Input,
                echo: false,
                agreement: Agreement::Strong,
                pinned: false,
                guesses: Vec::new(),
            }];
        }
        if distinct(uses) < 2 && spot.node.is_some() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for node in self.nodes_before(spot) {
            let expr = Expr::step(crate::tree::step_name(node)).key(key);
            if self.gives(&expr, uses) {
                let source = Source::Call(node.0);
                found.push(Candidate {
                    expr,
                    score: 1.0,
                    source,
                    echo: false,
                    agreement: Agreement::Strong,
                    pinned: false,
                    guesses: Vec::new(),
                });
            }
        }
        found
    }

    /// The nodes before a spot in its own body, latest first; for the output all of the workflow's.
    pub(super) fn nodes_before(&self, spot: &Spot) -> Vec<crate::tree::NodeId> {
        let nodes = self.tree.body(spot.body).map(|b| b.nodes.as_slice()).unwrap_or_default();
        let before = nodes.iter().take_while(|n| Some(**n) != spot.node);
        let mut before: Vec<_> = before.copied().collect();
        before.reverse();
        before
    }
}

/// Earlier sources before later ones, but of two results the newer one.
fn by_source(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    match (a.source, b.source) {
        (Source::Call(a), Source::Call(b)) => b.cmp(&a),
        (a, b) => a.cmp(&b),
    }
}

fn is_trivial(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Number(_) => false,
    }
}

/// What the length of a way costs.
pub(super) fn depth(path: &[PathStep]) -> f64 {
    path.iter().map(|_| 0.25).sum()
}

/// Whether an expression takes something out of a result.
fn starts_from_a_result(expr: &Expr) -> bool {
    let mut found = false;
    crate::rewrite::each(expr, &mut |part| found |= *part == Expr::name("steps"));
    found
}

/// The names of a part that is cut out of prose, as people read them there: what stands before it in its line, and the key of it.
fn labels(expr: &Expr) -> Vec<&str> {
    let line = before_cut(expr).and_then(|before| before.rsplit('\n').next());
    line.into_iter().chain(key_of_cut(expr)).collect()
}

fn before_cut(expr: &Expr) -> Option<&str> {
    let Expr::Call(Function::Between, arguments) = expr else { return None };
    let Some(Expr::Literal(Value::String(before))) = arguments.get(1) else { return None };
    Some(before)
}

/// The key before a part that is cut out of prose.
pub(super) fn key_of_cut(expr: &Expr) -> Option<&str> {
    key_before(before_cut(expr)?)
}

/// The key at the end of a text, as in `ref=`, `"id": ` and `<title>`: it says of what comes as much as the name of a field.
pub(super) fn key_before(text: &str) -> Option<&str> {
    let line = text.rsplit('\n').next()?;
    let name = line.trim_end_matches(|c: char| !c.is_alphanumeric());
    let sign = line.get(name.len()..)?;
    let key = name.rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').next()?;
    (sign.contains([':', '=', '>']) && !sign.contains("://") && key.contains(char::is_alphabetic)).then_some(key)
}

/// A text as an expression.
pub(super) fn literal(text: &str) -> Expr {
    Expr::Literal(Value::from(text))
}
