//! Questions whose answer may come with a recording of how it was found: what they carry, what the answer looks like, and what the solution is called.

use crate::approximate::{Inexact, to_serde};
use crate::journal::Offer;
use crate::store::{Event, Question, RunId, What};
use crate::text;
use ltc_workflow::advance::{Failure, StepKey};
use ltc_workflow::{Object, Value, digest};
use smol_str::SmolStr;

/// The kind of such questions. Only a run asks one.
pub const KIND: &str = "triage";

/// How many events of a journal a question carries: the newest.
const MOST_EVENTS: usize = 200;

/// What a question carries beside its journal.
pub(crate) struct Carried<'c> {
    /// The workflow that asks.
    pub workflow: &'c SmolStr,
    /// The step of it that asks; empty where the whole failed.
    pub step: &'c str,
    /// The input of what is to be done.
    pub input: &'c Object,
    /// The tools that are there, by server.
    pub tools: Value,
    /// What was tried before, and how it failed.
    pub tried: Option<(Offer, Failure)>,
    /// What would be tried if nothing could be done twice by that.
    pub offered: Option<Offer>,
}

/// An answer, and what comes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triaged {
    /// What the step gets.
    pub answer: Value,
    /// The recording of how it was found.
    pub trace: Option<SmolStr>,
    /// Whether the workflow that comes of it is to be the active one.
    pub activate: bool,
}

impl Triaged {
    /// Reads an answer that fits the form.
    pub fn read(payload: &Value) -> Triaged {
        Triaged {
            answer: payload.get("answer").cloned().unwrap_or_default(),
            trace: payload.get("trace_id").and_then(Value::as_str).map(SmolStr::new),
            activate: payload.get("activate") == Some(&Value::Bool(true)),
        }
    }
}

/// What a question was about, as [`question`] wrote it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The workflow.
    pub workflow: SmolStr,
    /// The step; empty where the whole failed.
    pub step: SmolStr,
    /// The input of what was to be done.
    pub input: Object,
}

impl Place {
    /// Reads it.
    pub fn of(question: &Question) -> Option<Place> {
        let data = question.data.as_ref().filter(|_| question.kind == KIND)?;
        let text = |name: &str| data.get(name).and_then(Value::as_str).map(SmolStr::new);
        Some(Place { workflow: text("workflow")?, step: text("step")?, input: data.get("input")?.as_object()?.clone() })
    }

    /// What the workflow is called that solves it: `solve-<workflow>-<step>`, where that is short and names one place only; else with letters at its end that do.
    pub fn solution_name(&self) -> SmolStr {
        let Place { workflow, step, input: _ } = self;
        let is_plain = |text: &str, also: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || also.contains(c));
        let is_own = if step.is_empty() { is_plain(workflow, "") } else { is_plain(workflow, "-") && is_plain(step, "") };
        let name = format!("solve-{workflow}{}{step}", if step.is_empty() { "" } else { "-" }).replace('_', "-");
        if is_own && name.len() <= LONGEST_NAME {
            return name.into();
        }
        let digest = digest::of_bytes(format!("{workflow}\0{step}").as_bytes());
        // Letters only: digits would be words of their own in a name.
        let letters = digest
            .bytes()
            .rev()
            .take(OWN_LETTERS)
            .map(|digit| char::from(if digit.is_ascii_digit() { digit - b'0' + b'g' } else { digit }));
        let (short, own): (String, String) = (name.chars().take(LONGEST_NAME - OWN_LETTERS - 1).collect(), letters.collect());
        format!("{}-{own}", short.trim_end_matches('-')).into()
    }
}

/// How long the compiler lets the name of a workflow be.
const LONGEST_NAME: usize = 40;

/// How many letters tell two names apart that would be one.
const OWN_LETTERS: usize = 8;

/// The step of a key, without the loops around it and the attempt.
pub(crate) fn step_of(key: &StepKey) -> &str {
    let own = key.0.rsplit([':', '/']).next().unwrap_or_default();
    own.split(['@', '[']).next().unwrap_or_default()
}

/// `asked` with all that whoever works on it needs; the answer may come with a recording.
pub(crate) fn question(asked: Question, carried: Carried<'_>, run: &RunId, events: &[Event]) -> Question {
    let Carried { workflow, step, input, tools, tried, offered } = carried;
    let mut message = asked.message;
    if let Some((Offer { name, version }, failure)) = &tried {
        let said = text::one_line(&failure.message);
        message.push_str(&format!("\n\nThe workflow {name} (version {version}) was tried first, and failed with {}: {said}", failure.code));
    }
    if let Some(Offer { name, version }) = &offered {
        message.push_str(&format!(
            "\n\nThe workflow {name} (version {version}) solved such a failure before and takes this input. It is not run by itself, since this run has called tools that write: \
             look what of that it would do again."
        ));
    }
    let data = [
        ("run_id", Some(Value::String(run.0.clone()))),
        ("workflow", Some(Value::String(workflow.clone()))),
        ("step", Some(Value::from(step))),
        ("input", Some(Value::Object(input.clone()))),
        ("data", asked.data.filter(|data| data.as_object() != Some(input))),
        ("events", Some(newest(events))),
        ("tools", Some(tools)),
        ("offered", offered.map(|offer| offer.to_json())),
        ("tried", tried.map(|(offer, failure)| tried_of(&offer, &failure))),
    ];
    Question {
        kind: KIND.into(),
        message,
        form: Some(form(asked.form)),
        data: Some(data.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()),
        ..asked
    }
}

/// The newest of a journal.
fn newest(events: &[Event]) -> Value {
    let from = events.len().saturating_sub(MOST_EVENTS);
    events.get(from..).unwrap_or_default().iter().map(shown).collect()
}

/// A question about a call of a run, with the run, its input, its journal and the tools that are there.
pub(crate) fn with_run(
    question: Question,
    run: &RunId,
    workflow: &SmolStr,
    input: &Object,
    tools: Option<Value>,
    events: &[Event],
) -> Question {
    let more = [
        ("run_id", Some(Value::String(run.0.clone()))),
        ("workflow", Some(Value::String(workflow.clone()))),
        ("input", Some(Value::Object(input.clone()))),
        ("events", Some(newest(events))),
        ("tools", tools),
    ];
    let mut data = question.data.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, value) in more {
        if let Some(value) = value {
            data.insert(key, value);
        }
    }
    Question { data: Some(data.into()), ..question }
}

/// What is asked about a run that failed.
pub(crate) fn about_failure(workflow: &str, failure: &Failure) -> Question {
    let at = failure.step.as_ref().map(|step| format!(" at step {step}")).unwrap_or_default();
    Question {
        role: "operator".into(),
        kind: KIND.into(),
        subkind: "failed-run".into(),
        priority: 2,
        message: format!("A run of the workflow {workflow} failed{at} with {}: {}", failure.code, text::one_line(&failure.message)),
        data: None,
        form: None,
    }
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    entries.into_iter().collect::<Object>().into()
}

fn tried_of(offer: &Offer, failure: &Failure) -> Value {
    object([
        ("workflow", Value::String(offer.name.clone())),
        ("version", Value::from(i64::from(offer.version))),
        ("failure", shown_failure(failure)),
    ])
}

fn shown_failure(failure: &Failure) -> Value {
    let step = failure.step.as_ref().map(|step| Value::String(step.0.clone()));
    let entries =
        [("code", Some(Value::String(failure.code.clone()))), ("message", Some(Value::string(failure.message.as_str()))), ("step", step)];
    entries.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Object>().into()
}

/// An event, as `get_run` shows it.
fn shown(event: &Event) -> Value {
    let (word, more) = match &event.what {
        What::Started => ("started", None),
        What::Succeeded(value) => ("succeeded", Some(("value", value.clone()))),
        What::Failed(failure) => ("failed", Some(("failure", shown_failure(failure)))),
        What::SleepUntil(until) => ("sleep-until", Some(("until", Value::string(until.to_string())))),
        What::Escalated(id) => ("escalated", Some(("until", Value::String(id.0.clone())))),
        What::Again => ("again", None),
        What::Cancelled => ("cancelled", None),
    };
    let entries = [("at", Value::string(event.at.to_string())), ("step", Value::String(event.key.0.clone())), ("event", Value::from(word))];
    entries.into_iter().chain(more).collect::<Object>().into()
}

/// The form of an answer that may come with a recording; `answer` is what was asked for.
fn form(answer: Option<Value>) -> Value {
    let describe = |kind: &str, words: &str| object([("type", Value::from(kind)), ("description", Value::from(words))]);
    let properties = object([
        ("answer", answer.unwrap_or_else(|| Value::Object(Object::default()))),
        ("trace_id", describe("string", "The recording of how the answer was found: a workflow is made of it, and tried the next time.")),
        ("activate", describe("boolean", "Whether that workflow is to be the active one of its name, and not only deployed.")),
    ]);
    object([
        ("type", Value::from("object")),
        ("required", Value::array(vec![Value::from("answer")])),
        ("properties", properties),
        ("additionalProperties", Value::from(false)),
    ])
}

/// Whether a workflow's output is an answer to what was asked.
pub(crate) fn answers(form: Option<&Value>, output: &Value) -> Result<(), String> {
    let Some(validator) = form.and_then(|form| jsonschema::validator_for(&to_serde(form, Inexact::Nearest)).ok()) else { return Ok(()) };
    let output = to_serde(output, Inexact::Nearest);
    let wrong: Vec<String> = validator.iter_errors(&output).map(|error| text::one_line(&error.to_string())).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("its output is no answer to the question: {}", wrong.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    #[test]
    fn the_step_of_a_key_is_its_last_id() {
        for (key, step) in [("ask", "ask"), ("each[2]/ask@3", "ask"), ("sub:each[0]/ask", "ask"), ("a[1]/b[2]/c", "c"), ("", "")] {
            assert_eq!(step_of(&StepKey(key.into())), step, "{key}");
        }
    }

    #[test]
    fn two_places_have_two_names_that_the_compiler_keeps() {
        let name =
            |workflow: &str, step: &str| Place { workflow: workflow.into(), step: step.into(), input: Object::default() }.solution_name();
        assert_eq!(
            (name("w", "ask"), name("label-issues", "ask"), name("w", "")),
            ("solve-w-ask".into(), "solve-label-issues-ask".into(), "solve-w".into())
        );
        let long = "a".repeat(60);
        let places = [
            ("a-b", "c"),
            ("a", "b-c"),
            ("a", "b_c"),
            ("a_b", "c"),
            ("a-b-c", ""),
            ("a_b_c", ""),
            (&long, "ask"),
            (&long, "aske"),
            ("w", &long),
        ];
        let names: std::collections::BTreeSet<SmolStr> = places.iter().map(|(workflow, step)| name(workflow, step)).collect();
        assert_eq!(names.len(), places.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= 40 && !name.ends_with('-') && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        }
    }

    #[test]
    fn what_a_question_carries_is_read_back_and_its_form_takes_a_recording() {
        let value = |text: &str| json::parse(text.as_bytes()).expect("JSON in a test");
        let input = value(r#"{"n":12345678901234567890123}"#).as_object().expect("an object").clone();
        let asked = Question {
            form: Some(value(r#"{"type":"integer"}"#)),
            ..about_failure("w", &Failure { code: "c".into(), message: "m".into(), step: None })
        };
        let carried = Carried { workflow: &"w".into(), step: "ask", input: &input, tools: Value::Null, tried: None, offered: None };
        let question = question(asked, carried, &RunId("r".into()), &[]);
        let place = Place::of(&question).expect("a place");
        assert_eq!((place.solution_name().as_str(), &place.input), ("solve-w-ask", &input));
        let form = question.form.expect("a form");
        for (payload, fits) in [
            (r#"{"answer":7}"#, true),
            (r#"{"answer":7,"trace_id":"t","activate":true}"#, true),
            (r#"{"answer":"7"}"#, false),
            (r#"{"trace_id":"t"}"#, false),
            ("7", false),
        ] {
            assert_eq!(answers(Some(&form), &value(payload)).is_ok(), fits, "{payload}");
        }
        // A question of another kind is none of ours, whatever it carries.
        assert_eq!(
            Place::of(&Question {
                kind: "mcp".into(),
                data: question.data,
                form: None,
                ..about_failure("w", &Failure { code: "c".into(), message: "m".into(), step: None })
            }),
            None
        );
    }
}
