//! Values without a source: constants, and inputs with a default. None is given a source that it does not have.

use super::candidates::From;
use super::{Explainer, Origin, Spot, Use};
use crate::diagnostics::{Diagnostic, Severity};
use crate::index::scalar_text;
use crate::names;
use crate::script::Script;
use crate::text::{is_border, is_date, is_free_text, is_opaque};
use crate::weight::bits;
use ltc_workflow::expr::{BinaryOp, Expr};
use ltc_workflow::template::Template;
use ltc_workflow::{Value, json};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// A constant that says less than this, in bits, stands in many results: that is not reported.
const WORTH_A_REPORT: f64 = 7.0;
/// The most results that are told to hold a constant by chance.
const MOST_REPORTED: usize = 3;

impl Explainer<'_> {
    /// What hints say of an argument: always the caller's, or never.
    pub(super) fn as_hints_say(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let (server, _) = spot.tool.as_ref()?;
        let [argument] = spot.path.as_slice() else { return None };
        let script = self.script_of(uses)?;
        let hints = script.hints(server)?;
        let is_input = hints.inputs.contains(argument);
        let is_constant = hints.constants.contains(argument);
        if is_input {
            let names = self.input_names(spot);
            let values = self.by_run(uses)?;
            let input = self.inputs.make(&names, &values, self.of_other_ways(&values));
            self.find(spot, Origin::Input(input.clone()), "the hint `inputs`".to_owned(), Vec::new());
            return Some(Template::Expr(Expr::input(input)));
        }
        let value = &uses.first()?.value;
        if is_constant && uses.iter().all(|u| u.value == *value) {
            let value = value.clone();
            self.find(spot, Origin::Constant(value.clone()), "the hint `constants`".to_owned(), Vec::new());
            return Some(Template::constant(&value));
        }
        None
    }

    pub(super) fn script_of(&self, uses: &[Use]) -> Option<&Script> {
        self.scripts.get(self.tree.run(uses.first()?.frame))
    }

    /// The values of the uses by run; `None` where a run has several.
    fn by_run(&self, uses: &[Use]) -> Option<BTreeMap<usize, Value>> {
        let mut values: BTreeMap<usize, Value> = BTreeMap::new();
        for used in uses {
            match values.get(&self.tree.run(used.frame)) {
                Some(value) if *value != used.value => return None,
                Some(_) => {}
                None => {
                    values.insert(self.tree.run(used.frame), used.value.clone());
                }
            }
        }
        Some(values)
    }

    /// What an input is in runs that did not get to where it is used: nothing.
    fn of_other_ways(&self, values: &BTreeMap<usize, Value>) -> Option<Value> {
        (values.len() < self.scripts.len()).then_some(Value::Null)
    }

    /// Names for an input that an argument becomes: its own, then with the tool's.
    fn input_names(&self, spot: &Spot) -> Vec<SmolStr> {
        let own = names::words_as_they_are(spot.key().unwrap_or("input")).join("_");
        let own = if own.is_empty() { "input".to_owned() } else { own };
        let tool = spot.tool.as_ref().map(|(_, tool)| names::words_as_they_are(tool).join("_")).unwrap_or_else(|| "output".to_owned());
        vec![SmolStr::new(&own), SmolStr::new(format!("{tool}_{own}"))]
    }

    /// A value without a source.
    pub(super) fn literal(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let value = uses.first()?.value.clone();
        if uses.iter().any(|u| u.value != value) {
            return self.varied(spot, uses);
        }
        let made = match (&value, scalar_text(&value)) {
            (Value::String(_) | Value::Number(_), Some(text)) => self.made_of(spot, &value, text, uses),
            _ => Made::Constant(None),
        };
        let place = self.place_of(spot);
        match made {
            Made::Constant(diagnostic) => {
                if let Some(diagnostic) = diagnostic {
                    self.tell(spot.node, diagnostic, []);
                }
                let losers = self.taken_for_chance(spot, uses);
                self.find(spot, Origin::Constant(value.clone()), "the same in every run, with no source".to_owned(), losers);
                if matches!(value, Value::String(_)) {
                    self.know(spot, &value, Expr::Literal(value.clone()));
                }
                Some(Template::constant(&value))
            }
            Made::Input { required, diagnostic, evidence } => {
                let names = self.input_names(spot);
                let values = (0..self.scripts.len()).map(|run| (run, value.clone())).collect();
                let name = self.inputs.make(&names, &values, (!required).then(|| value.clone()));
                self.tell(spot.node, diagnostic(place, &value, &name), []);
                self.find(spot, Origin::Input(name.clone()), evidence.to_owned(), Vec::new());
                let everywhere = Spot { body: crate::tree::BodyId(0), ..spot.clone() };
                self.know(&everywhere, &value, Expr::input(name.clone()));
                Some(Template::Expr(Expr::input(name)))
            }
        }
    }

    /// The results that hold a constant and were taken for chance, as the value says little and no name agrees: they are reported, not used.
    fn taken_for_chance(&mut self, spot: &Spot, uses: &[Use]) -> Vec<(Expr, String)> {
        if spot.node.is_none() || self.evidence(uses) < WORTH_A_REPORT || uses.iter().all(|u| self.is_schema_word(spot, &u.value, uses)) {
            return Vec::new();
        }
        let mut found = self.scored_references(spot, uses, From::Anywhere);
        found.retain(|c| c.is_of_a_result() && !c.echo && c.guesses.is_empty());
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.source.cmp(&a.source)));
        let mut exprs: Vec<Expr> = Vec::new();
        for candidate in found {
            if !exprs.contains(&candidate.expr) && exprs.len() < MOST_REPORTED {
                exprs.push(candidate.expr);
            }
        }
        let place = self.place_of(spot);
        if let Some(value) = uses.first().filter(|_| !exprs.is_empty()).map(|u| &u.value) {
            let told = taken_for_chance(place, value, exprs.iter().map(ToString::to_string));
            self.tell(spot.node, told, exprs.clone());
        }
        exprs.into_iter().map(|expr| (expr, "equal by chance: it says little, and no name agrees".to_owned())).collect()
    }

    /// A list or an object that the model wrote as a whole.
    pub(super) fn written_whole(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let value = uses.first()?.value.clone();
        if uses.iter().any(|u| u.value != value) {
            return self.varied(spot, uses);
        }
        let names = self.input_names(spot);
        let values = (0..self.scripts.len()).map(|run| (run, value.clone())).collect();
        let name = self.inputs.make(&names, &values, Some(value.clone()));
        let place = self.place_of(spot);
        self.tell(spot.node, written_by_the_model(place, &value, &name), []);
        self.find(spot, Origin::Input(name.clone()), "the model wrote it".to_owned(), Vec::new());
        Some(Template::Expr(Expr::input(name)))
    }

    fn made_of(&self, spot: &Spot, value: &Value, text: &str, uses: &[Use]) -> Made {
        let place = self.place_of(spot);
        let is_text = matches!(value, Value::String(_));
        if spot.node.is_none() {
            let big = !is_text || is_free_text(text) || is_opaque(text);
            return Made::Constant(big.then(|| constant_output(place, value)));
        }
        if self.is_schema_word(spot, value, uses) {
            return Made::Constant(None);
        }
        if is_text && is_date(text) && self.is_near_the_clock(text, uses) {
            return Made::Input { required: false, diagnostic: recorded_date, evidence: "a date near the recording's" };
        }
        let asked = self.script_of(uses).is_some_and(|s| !s.has_input && s.task.as_deref().is_some_and(|task| stands_in(task, text)));
        if asked && (is_free_text(text) || says_who_or_what(text)) {
            return Made::Input { required: true, diagnostic: from_the_task, evidence: "a part of the task's text" };
        }
        if is_text && is_free_text(text) {
            return Made::Input { required: false, diagnostic: written_by_the_model, evidence: "a text that the model wrote" };
        }
        if is_text && is_opaque(text) && bits(text) >= 20.0 {
            return Made::Input { required: false, diagnostic: no_source, evidence: "a value without a source" };
        }
        Made::Constant(None)
    }

    /// Whether the tool's schema lists the value as one of its words.
    pub(super) fn is_listed(&self, spot: &Spot, value: &Value, uses: &[Use]) -> bool {
        let Some((server, tool)) = &spot.tool else { return false };
        let schema = self.script_of(uses).zip(spot.key()).and_then(|(script, key)| script.argument_schema(server, tool, key));
        schema.is_some_and(|s| s.get("enum").and_then(Value::as_array).is_some_and(|words| words.contains(value)))
    }

    /// Whether the tool's schema lists the value: an enum word, or the default.
    pub(super) fn is_schema_word(&self, spot: &Spot, value: &Value, uses: &[Use]) -> bool {
        let Some((server, tool)) = &spot.tool else { return false };
        let schema = self.script_of(uses).zip(spot.key()).and_then(|(script, key)| script.argument_schema(server, tool, key));
        schema.is_some_and(|s| self.is_listed(spot, value, uses) || s.get("default") == Some(value) || s.get("const") == Some(value))
    }

    /// Whether a date is within a year and a half of the recording.
    fn is_near_the_clock(&self, text: &str, uses: &[Use]) -> bool {
        const DAYS: i128 = 550;
        let Some(clock) = self.script_of(uses).and_then(|s| s.clock) else { return true };
        let part = |from: usize, to: usize| text.get(from..to).and_then(|t| t.parse::<i128>().ok());
        let (Some(year), Some(month), Some(day)) = (part(0, 4), part(5, 7), part(8, 10)) else { return false };
        let date = (year - 1970) * 365 + (year - 1969) / 4 + month * 30 + day;
        (clock / 86_400_000_000_000 - date).abs() < DAYS
    }

    /// What differs between runs and has no source is an input; what differs between rounds has none that a workflow could know.
    fn varied(&mut self, spot: &Spot, uses: &[Use]) -> Option<Template> {
        let values = self.by_run(uses)?;
        if spot.node.is_none() {
            let place = self.place_of(spot);
            self.tell(spot.node, output_without_source(place), []);
            return Some(Template::Literal(Value::Null));
        }
        let names = self.input_names(spot);
        let name = self.inputs.make(&names, &values, self.of_other_ways(&values));
        let place = self.place_of(spot);
        self.tell(spot.node, varies(place, &name), []);
        self.find(spot, Origin::Input(name.clone()), "differs between the runs, with no source".to_owned(), Vec::new());
        Some(Template::Expr(Expr::input(name)))
    }

    /// An argument that only some runs gave, with no source.
    pub(super) fn optional_input(&mut self, spot: &Spot, there: &[Use], missing: &[&Use]) -> Option<Template> {
        let mut values = self.by_run(there)?;
        if let Some(null) = there.iter().find(|u| u.value.is_null()) {
            // An input that is null says that the argument is left out: it cannot say too that it is there, and null.
            let (sent, left_out) = (self.tree.run(null.frame) + 1, missing.first().map_or(0, |u| self.tree.run(u.frame) + 1));
            let place = self.place_of(spot);
            self.tell(spot.node, null_or_missing(place, sent, left_out), []);
            return None;
        }
        for used in missing {
            if values.insert(self.tree.run(used.frame), Value::Null).is_some() {
                return None;
            }
        }
        let names = self.input_names(spot);
        let name = self.inputs.make(&names, &values, Some(Value::Null));
        self.find(spot, Origin::Input(name.clone()), "given in some runs only, with no source".to_owned(), Vec::new());
        Some(Template::Expr(Expr::input(name).binary(BinaryOp::Coalesce, Expr::Omit)))
    }
}

enum Made {
    Constant(Option<Diagnostic>),
    Input { required: bool, diagnostic: fn(String, &Value, &str) -> Diagnostic, evidence: &'static str },
}

/// Whether `text` stands in the task between words.
fn stands_in(task: &str, text: &str) -> bool {
    !text.is_empty() && task.match_indices(text).any(|(at, _)| is_border(task, at) && is_border(task, at + text.len()))
}

/// Whether a text from the task names something, rather than being one of its words.
fn says_who_or_what(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_lowercase());
    !plain && bits(text) >= 9.0
}

fn shown(value: &Value) -> String {
    let text = json::to_string(value);
    if text.chars().count() <= 60 { text } else { format!("{}…", text.chars().take(60).collect::<String>()) }
}

fn taken_for_chance(place: String, value: &Value, places: impl Iterator<Item = String>) -> Diagnostic {
    Diagnostic::new(
        Severity::Note,
        "taken-for-chance",
        place,
        format!("{} also stands in a result, but says little, and no name agrees: it is a constant", shown(value)),
    )
    .candidates(places)
    .help("the hint `prefer` names the result field to take; a second recording with other values decides by itself")
}

fn constant_output(place: String, value: &Value) -> Diagnostic {
    Diagnostic::new(Severity::Question, "constant-output", place, format!("{} has no source: every run will return it", shown(value)))
}

pub(super) fn output_without_source(place: String) -> Diagnostic {
    Diagnostic::new(
        Severity::Question,
        "output-without-source",
        place,
        "differs between the runs, and nothing that is known explains it: the workflow returns null here",
    )
}

fn recorded_date(place: String, value: &Value, input: &str) -> Diagnostic {
    Diagnostic::new(
        Severity::Question,
        "recorded-date",
        place,
        format!("{} is a date near the recording's; it is the default of the input `{input}`", shown(value)),
    )
    .help("give the input in each run, or write an expression over `run.started_at`")
}

fn from_the_task(place: String, value: &Value, input: &str) -> Diagnostic {
    Diagnostic::new(
        Severity::Note,
        "input-from-task",
        place,
        format!("{} stands in the task's text: it is the input `{input}`", shown(value)),
    )
}

fn written_by_the_model(place: String, value: &Value, input: &str) -> Diagnostic {
    Diagnostic::new(
        Severity::Note,
        "text-without-source",
        place,
        format!("the model wrote {}: it is the default of the input `{input}`", shown(value)),
    )
}

fn no_source(place: String, value: &Value, input: &str) -> Diagnostic {
    Diagnostic::new(
        Severity::Question,
        "value-without-source",
        place,
        format!("{} comes from nowhere in the recording; it is the default of the input `{input}`", shown(value)),
    )
    .help("a result that was cut off may have held it; the hint `constants` says that it never changes")
}

fn null_or_missing(place: String, sent: usize, left_out: usize) -> Diagnostic {
    let message = format!("run {sent} sends null here and run {left_out} leaves it out, and nothing that is known tells the runs apart");
    Diagnostic::new(Severity::Error, "runs-part", place, message).help("compile the runs as separate workflows")
}

fn varies(place: String, input: &str) -> Diagnostic {
    Diagnostic::new(
        Severity::Note,
        "input-from-runs",
        place,
        format!("differs between the runs, with no source: it is the input `{input}`"),
    )
}
