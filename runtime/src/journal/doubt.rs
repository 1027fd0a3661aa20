//! A call of which nobody knows whether it was made: what a person is asked, and what the answer means.

use super::Call;
use crate::store::{Question, What};
use crate::upstream::failure;
use ltc_workflow::advance::{Failure, StepKey};
use ltc_workflow::{Object, Value, json};

/// The kind of such questions.
pub const KIND: &str = "in-doubt";

const FORM: &str = r#"{
  "type": "object",
  "required": ["outcome"],
  "additionalProperties": false,
  "properties": {
    "outcome": {
      "enum": ["done", "again", "give-up"],
      "description": "done: the call was made, and `result` is what it gave. again: it was not made, or may be made twice. give-up: the step fails."
    },
    "result": { "description": "With done: the value of the step, null where it is left out." },
    "reason": { "type": "string", "description": "With give-up: why." }
  }
}"#;

/// What is asked about the call of `key`.
pub(super) fn question(key: &StepKey, call: Call<'_>) -> Question {
    let Call { server, tool, arguments, timeout: _, hearing: _ } = call;
    let data: Object = [
        ("step", Value::String(key.0.clone())),
        ("server", Value::String(server.clone())),
        ("tool", Value::String(tool.clone())),
        ("arguments", Value::Object(arguments.clone())),
    ]
    .into_iter()
    .collect();
    Question {
        role: "operator".into(),
        kind: KIND.into(),
        subkind: "tool_call".into(),
        priority: 1,
        message: format!(
            "The run stopped while step {key} called {server}/{tool}. Look whether the call was made: it is neither read-only nor idempotent, and is not made a second time unasked."
        ),
        data: Some(Value::Object(data)),
        form: json::parse(FORM.as_bytes()).ok(),
    }
}

/// What a person says about a step in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was done, with this value.
    Done(Value),
    /// It is to be done (again).
    Again,
    /// It fails.
    GiveUp(Failure),
}

impl Verdict {
    /// What is appended to the journal.
    pub fn event(self) -> What {
        match self {
            Verdict::Done(value) => What::Succeeded(value),
            Verdict::Again => What::Again,
            Verdict::GiveUp(failure) => What::Failed(failure),
        }
    }
}

/// Reads the answer to such a question; `None` where it is none.
pub fn verdict(step: &StepKey, answer: &Value) -> Option<Verdict> {
    match answer.get("outcome").and_then(Value::as_str)? {
        "done" => Some(Verdict::Done(answer.get("result").cloned().unwrap_or_default())),
        "again" => Some(Verdict::Again),
        "give-up" => {
            let reason = answer.get("reason").and_then(Value::as_str).unwrap_or("a person gave the step up");
            Some(Verdict::GiveUp(Failure { step: Some(step.clone()), ..failure("given-up", reason) }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_json_and_knows_what_the_verdict_knows() {
        let form = json::parse(FORM.as_bytes()).expect("the form is JSON");
        let outcomes = form.get("properties").and_then(|p| p.get("outcome")).and_then(|o| o.get("enum")).and_then(Value::as_array);
        let step = StepKey("s".into());
        for outcome in outcomes.expect("the outcomes are listed") {
            let answer = Value::Object([("outcome", outcome.clone())].into_iter().collect());
            assert!(verdict(&step, &answer).is_some(), "{outcome:?}");
        }
        assert_eq!(verdict(&step, &Value::from("done")), None);
    }
}
