//! One value, in all frames that use it: as a reference, as parts, or as itself.

use super::candidates::Candidate;
use super::evidence::OTHER_SCOPE;
use super::pick::ONLY_ITEM;
use super::{Explainer, Finding, Origin, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::index::scalar_text;
use ltc_workflow::Value;
use ltc_workflow::expr::{BinaryOp, Expr, Function};
use ltc_workflow::template::Template;
use smol_str::SmolStr;

/// How many of the values that were found last may come again in another shape.
const MOST_RECENT: usize = 24;
/// A reference that explains no more than this beyond its cost, in bits, may be chance: without a name that agrees it is asked about.
const THIN: f64 = 3.0;
/// Two candidates closer than this, in bits, are both reported.
const CLOSE: f64 = 6.0;

/// How a list or an object is told by its parts.
type ByParts<'a> = fn(&mut Explainer<'a>, &Spot, &[Use]) -> Option<Template>;

impl<'a> Explainer<'a> {
    /// The template that gives the value in every frame. `None` where the values differ and have no source.
    pub(super) fn template(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        if let Some(told) = self.as_hints_say(spot, uses) {
            return Some(told);
        }
        if let Some(secret) = self.as_secret(spot, uses) {
            return Some(Template::Expr(secret));
        }
        if let Some(template) = self.with_secrets(spot, uses) {
            return Some(template);
        }
        let mut references = self.references(spot, uses);
        // Which line of a text it was says nothing of what stands in it: the key in front of it does.
        if uses.iter().all(|u| u.value.as_str().is_some_and(super::parts::starts_with_a_key)) {
            references.retain(|c| c.guesses.iter().all(|g| g.starts_with(ONLY_ITEM)));
        }
        // A word that the tool's schema lists was chosen from that list, wherever else it stands.
        if uses.iter().all(|u| self.is_listed(spot, &u.value, uses)) {
            references.retain(|c| c.source == crate::index::Source::Input);
        } else if uses.iter().all(|u| self.is_schema_word(spot, &u.value, uses)) {
            // The schema's default is what everyone writes who has nothing else to say.
            references.retain(|c| c.source == crate::index::Source::Input || c.agreement != crate::names::Agreement::None);
        }
        if let Some(best) = references.first() {
            let expr = best.expr.clone();
            if let Expr::Literal(value) = &expr {
                self.find(spot, Origin::Constant(value.clone()), "the same as before, with no source".to_owned(), Vec::new());
                return Some(Template::Literal(value.clone()));
            }
            self.note_reference(spot, uses, &references);
            return Some(Template::Expr(expr));
        }
        if uses.len() > 1
            && let Some(expr) = self.coalesced(spot, uses)
        {
            self.find(spot, Origin::Reference(expr.clone()), "each way that the runs went gives its own".to_owned(), Vec::new());
            return Some(Template::Expr(expr));
        }
        let composite: Option<ByParts<'a>> = match &uses.first()?.value {
            Value::Object(_) if uses.iter().all(|u| matches!(u.value, Value::Object(_))) => Some(Self::object),
            Value::Array(_) if uses.iter().all(|u| matches!(u.value, Value::Array(_))) => Some(Self::array),
            _ => None,
        };
        if let Some(template) = composite.and_then(|_| self.merged(spot, uses)) {
            return Some(template);
        }
        if let Some(expr) = self.keyed(spot, uses) {
            self.find(spot, Origin::Reference(expr.clone()), "an entry for each item of a list".to_owned(), Vec::new());
            return Some(Template::Expr(expr));
        }
        if let Some(parts) = composite {
            return self.parts_or_whole(spot, uses, parts);
        }
        if uses.iter().all(|u| matches!(u.value, Value::String(_)))
            && let Some(template) = self.derived(spot, uses, true).or_else(|| self.compose(spot, uses))
        {
            return Some(template);
        }
        if let Some(expr) = self.counted(spot, uses) {
            self.find(spot, Origin::Reference(expr.clone()), "the number of items".to_owned(), Vec::new());
            return Some(Template::Expr(expr));
        }
        if let Some(expr) = self.summed(spot, uses) {
            self.find(spot, Origin::Reference(expr.clone()), "the sum of a field of the items".to_owned(), Vec::new());
            return Some(Template::Expr(expr));
        }
        self.successor(spot, uses).or_else(|| self.derived(spot, uses, false)).or_else(|| self.literal(spot, uses))
    }

    /// A list or an object by its parts; but an argument that the model wrote as a whole is one input, not one for each text in it.
    fn parts_or_whole(&mut self, spot: &Spot, uses: &[Use], parts: fn(&mut Self, &Spot, &[Use]) -> Option<Template>) -> Option<Template> {
        let marks = (self.findings.len(), self.diagnostics.len());
        let made = parts(self, spot, uses);
        if spot.node.is_none() || spot.path.len() != 1 {
            return made;
        }
        let found = self.findings.get(marks.0..).unwrap_or_default();
        let refers = |o: &Origin| match o {
            Origin::Reference(_) | Origin::Text(_) | Origin::Secret(_) => true,
            Origin::Constant(_) | Origin::Input(_) => false,
        };
        let written = found.iter().filter(|f| matches!(f.origin, Origin::Input(_))).count();
        if made.is_some() && (written == 0 || found.iter().any(|f| refers(&f.origin))) {
            return made;
        }
        self.findings.truncate(marks.0);
        self.diagnostics.truncate(marks.1);
        self.written_whole(spot, uses)
    }

    pub(super) fn object(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let mut keys: Vec<SmolStr> = Vec::new();
        for key in uses.iter().filter_map(|u| u.value.as_object()).flat_map(|o| o.keys()) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        // Lists first: a number beside one may be how many items it has.
        let is_list = |key: &SmolStr| uses.first().and_then(|u| u.value.get(key)).is_some_and(|v| matches!(v, Value::Array(_)));
        let (lists, others): (Vec<SmolStr>, Vec<SmolStr>) = keys.iter().cloned().partition(is_list);
        let mut entries = Vec::new();
        for key in lists.into_iter().chain(others) {
            let template = self.entry(&spot.at(key.clone()), &key, uses)?;
            entries.push((key, template));
        }
        entries.sort_by_key(|(key, _)| keys.iter().position(|k| k == key));
        Some(Template::Object(entries))
    }

    /// An entry of an object: it may be missing in some frames.
    fn entry(&mut self, spot: &Spot, key: &str, uses: &[Use]) -> Option<Template> {
        let part = |u: &Use| Some(Use { value: u.value.get(key)?.clone(), ..u.clone() });
        let there: Vec<Use> = uses.iter().filter_map(part).collect();
        let missing: Vec<&Use> = uses.iter().filter(|u| u.value.get(key).is_none()).collect();
        if missing.is_empty() {
            return self.template(spot, &there).or_else(|| self.with_first(spot, &there));
        }
        for candidate in self.references(spot, &there) {
            let expr = candidate.expr.clone().binary(BinaryOp::Coalesce, Expr::Omit);
            if missing.iter().all(|u| self.leaves_out(&expr, u.frame)) && self.gives(&expr, &there) {
                self.note_reference(spot, &there, &[candidate]);
                return Some(Template::Expr(expr));
            }
        }
        self.optional_input(spot, &there, &missing)
    }

    /// In a loop whose first round starts from a constant: what the round before said, else that constant.
    fn with_first(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let (first, later): (Vec<&Use>, Vec<&Use>) = uses.iter().partition(|u| self.tree.frame(u.frame).is_some_and(|f| f.round == 0));
        let start = first.first()?.value.clone();
        if later.is_empty() || first.iter().any(|u| u.value != start) || matches!(start, Value::Array(_) | Value::Object(_)) {
            return None;
        }
        let later: Vec<Use> = later.into_iter().cloned().collect();
        let first: Vec<Use> = first.into_iter().cloned().collect();
        let begins = self.references(spot, &first).into_iter().next().map_or(Expr::Literal(start), |c| c.expr);
        for candidate in self.references(spot, &later) {
            let expr = candidate.expr.clone().binary(BinaryOp::Coalesce, begins.clone());
            if self.gives(&expr, uses) {
                self.note_reference(spot, &later, &[candidate]);
                return Some(Template::Expr(expr));
            }
        }
        None
    }

    /// An object whose keys are data: an entry for each item of a list.
    fn keyed(&mut self, spot: &Spot, uses: &[Use]) -> Option<Expr> {
        let mut rows = Vec::new();
        for used in uses {
            let object = used.value.as_object()?;
            if !object.keys().all(|key| crate::index::may_be_data(key)) {
                return None;
            }
            let entry = |(key, value): (&SmolStr, &Value)| {
                Value::Object([("key", Value::String(key.clone())), ("value", value.clone())].into_iter().collect())
            };
            // Keys have no order of their own: they stand in that of the list which they come from.
            let index = self.indexes.get(self.tree.run(used.frame))?;
            let place = |key: &SmolStr| index.places(key).iter().find(|p| p.span.is_none()).map(|p| (p.source, p.path.clone()));
            let mut entries: Vec<(&SmolStr, &Value)> = object.iter().collect();
            entries.sort_by_key(|(key, _)| place(key));
            rows.push(Use { value: entries.into_iter().map(entry).collect(), ..used.clone() });
        }
        if !rows.iter().any(|row| row.value.as_array().is_some_and(|items| items.len() > 1)) {
            return None;
        }
        let marks = (self.findings.len(), self.diagnostics.len());
        let expr = self.list_of(spot, &rows).map(|list| list.apply(Function::FromEntries)).filter(|expr| self.gives(expr, uses));
        if expr.is_none() {
            self.findings.truncate(marks.0);
            self.diagnostics.truncate(marks.1);
        }
        expr
    }

    fn array(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        if let Some(expr) = self.list(spot, uses) {
            return Some(Template::Expr(expr));
        }
        if let Some(template) = self.appended(spot, uses) {
            return Some(template);
        }
        let length = uses.first()?.value.as_array()?.len();
        if uses.iter().any(|u| u.value.as_array().map(<[Value]>::len) != Some(length)) {
            return self.literal(spot, uses);
        }
        let mut items = Vec::new();
        for at in 0..length {
            let item: Vec<Use> = uses.iter().filter_map(|u| Some(Use { value: u.value.at(at)?.clone(), ..u.clone() })).collect();
            items.push(self.template(&spot.at(format!("[{at}]")), &item)?);
        }
        Some(Template::Array(items))
    }

    /// Remembers what a value was taken for, and reports what else it could have been.
    pub(super) fn note_reference(&mut self, spot: &Spot, uses: &[Use], ranked: &[Candidate]) {
        let Some((best, rest)) = ranked.split_first() else { return };
        if let Some(used) = uses.first() {
            self.know(spot, &used.value, best.expr.clone());
        }
        let close: Vec<&Candidate> =
            rest.iter().filter(|c| best.score - c.score < CLOSE && !c.echo && !matches!(c.expr, Expr::Literal(_))).take(4).collect();
        let losers = close.iter().map(|c| (c.expr.clone(), format!("{:.0} bits behind", (best.score - c.score).max(0.0)))).collect();
        let evidence = self.evidence_text(best, uses);
        self.find(spot, Origin::Reference(best.expr.clone()), evidence, losers);
        let rivals: Vec<&&Candidate> = close.iter().filter(|c| c.source != best.source && best.score - c.score < 2.0).collect();
        let whole_result = spot.node.is_none() && is_whole_result(&best.expr);
        if !rivals.is_empty()
            && !whole_result
            && !best.pinned
            && best.source != crate::index::Source::Input
            && best.agreement <= rivals.iter().map(|c| c.agreement).max().unwrap_or(best.agreement)
        {
            let place = self.place_of(spot);
            let others = rivals.iter().map(|c| c.expr.to_string()).collect::<Vec<_>>();
            let exprs: Vec<Expr> = rivals.iter().map(|c| c.expr.clone()).chain([best.expr.clone()]).collect();
            self.tell(spot.node, several_origins(place, &best.expr, others), exprs);
        }
        if self.may_be_chance(spot, best) {
            let place = self.place_of(spot);
            self.tell(spot.node, equal_by_chance(place, &best.expr), [best.expr.clone()]);
        }
        for guess in &best.guesses {
            let place = self.place_of(spot);
            let exprs: Vec<Expr> = close.iter().map(|c| c.expr.clone()).chain([best.expr.clone()]).collect();
            let confirmed = self.runs_of(uses) > 1;
            self.tell(spot.node, picked_by_order(place, &best.expr, guess, close.iter().map(|c| c.expr.to_string()), confirmed), exprs);
        }
    }

    /// Whether a reference rests on nothing but a value that says little. What was guessed on the way is asked about anyway.
    fn may_be_chance(&self, spot: &Spot, best: &Candidate) -> bool {
        spot.node.is_some()
            && best.is_of_a_result()
            && best.agreement == crate::names::Agreement::None
            && best.score < THIN
            && !best.pinned
            && best.guesses.is_empty()
    }

    /// Remembers what a text was taken for: where it is used again, it is the same.
    pub(super) fn know(&mut self, spot: &Spot, value: &Value, expr: Expr) {
        crate::rewrite::each(&expr, &mut |part| {
            if matches!(part, Expr::Pick { .. } | Expr::Index(..) | Expr::Over { .. } | Expr::Call(Function::First | Function::Last, _)) {
                self.picked.insert(part.to_string());
            }
        });
        let Some(text) = scalar_text(value) else { return };
        let known = self.known.entry(SmolStr::new(text)).or_default();
        let entry = (spot.body, without_coercion(expr));
        if !known.contains(&entry) {
            if !matches!(entry.1, Expr::Literal(_)) {
                self.recent.push_back(entry.1.clone());
                if self.recent.len() > MOST_RECENT {
                    self.recent.pop_front();
                }
            }
            known.push(entry);
        }
    }

    fn evidence_text(&self, best: &Candidate, uses: &[Use]) -> String {
        let mut parts = vec![match uses.len() {
            1 => format!("equal, {:.0} bits", self.evidence(uses)),
            n => format!("equal in {n} calls, {:.0} bits", self.evidence(uses)),
        }];
        match best.agreement {
            crate::names::Agreement::Strong => parts.push("the names agree".to_owned()),
            crate::names::Agreement::Weak => parts.push("the names are akin".to_owned()),
            crate::names::Agreement::None => {}
        }
        parts.extend(best.guesses.iter().cloned());
        parts.join("; ")
    }

    pub(super) fn find(&mut self, spot: &Spot, origin: Origin, evidence: String, losers: Vec<(Expr, String)>) {
        self.findings.push(Finding { node: spot.node, argument: spot.path_text(), origin, evidence, losers });
    }

    /// In how many runs there is such a use.
    pub(super) fn runs_of(&self, uses: &[Use]) -> usize {
        uses.iter().map(|u| self.tree.run(u.frame)).collect::<std::collections::BTreeSet<_>>().len()
    }

    /// The first recorded call of a node.
    fn first_act(&self, node: crate::tree::NodeId) -> Option<&crate::script::Act> {
        match &self.tree.node(node)?.kind {
            crate::tree::NodeKind::Call { calls, .. } => {
                let (frame, call) = calls.iter().next()?;
                self.scripts.get(self.tree.run(*frame))?.calls.get(*call)
            }
            crate::tree::NodeKind::Loop { body, .. } => self.first_act(*self.tree.body(*body)?.nodes.first()?),
            crate::tree::NodeKind::List { .. } => None,
        }
    }

    /// The place of a spot, for messages.
    pub(super) fn place_of(&self, spot: &Spot) -> String {
        let what = spot.path_text();
        match &spot.node {
            None if what.is_empty() => "output".to_owned(),
            None => format!("output {what}"),
            Some(node) => {
                let call = self.first_act(*node);
                let call = call.map(crate::script::Act::place).unwrap_or_default();
                if what.is_empty() { call } else { format!("{call}, argument {what}") }
            }
        }
    }
}

/// Whether an expression is all that a step gives.
fn is_whole_result(expr: &Expr) -> bool {
    matches!(expr, Expr::Key(base, _) if **base == Expr::name("steps"))
}

/// The expression under a coercion: another use may need another one.
fn without_coercion(expr: Expr) -> Expr {
    match expr {
        Expr::Call(Function::ToString | Function::ToNumber, mut arguments) if arguments.len() == 1 => arguments.pop().unwrap_or(Expr::Omit),
        other => other,
    }
}

pub(super) fn several_origins(place: String, taken: &Expr, others: Vec<String>) -> Diagnostic {
    Diagnostic::new(Severity::Question, "several-origins", place, format!("the value stands in several places; `{taken}` was taken"))
        .candidates(others)
        .help("the hint `prefer` names the result field to take; a second recording with other values decides by itself")
}

fn equal_by_chance(place: String, taken: &Expr) -> Diagnostic {
    Diagnostic::new(
        Severity::Question,
        "equal-by-chance",
        place,
        format!("`{taken}` was taken because it is equal, but the value says little and no name agrees: it may be chance"),
    )
    .help("the hint `constants` says that the value never changes, `prefer` that the result field is the one; a second recording decides by itself")
}

pub(super) fn picked_by_order(
    place: String,
    taken: &Expr,
    guess: &str,
    others: impl Iterator<Item = String>,
    confirmed: bool,
) -> Diagnostic {
    if guess.starts_with(OTHER_SCOPE) {
        return Diagnostic::new(Severity::Question, "other-scope", place, format!("`{taken}` was taken, but {guess}"))
            .candidates(others)
            .help("the hint `constants` says that the value never changes");
    }
    let severity = if guess == ONLY_ITEM || confirmed { Severity::Note } else { Severity::Question };
    Diagnostic::new(severity, "picked-from-list", place, format!("`{taken}`: {guess}"))
        .candidates(others)
        .help("a second recording in which the list looks different decides by itself")
}
