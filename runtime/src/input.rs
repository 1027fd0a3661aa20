//! The input of a run against the inputs of its workflow: defaults filled in, everything else as it was given.

use crate::approximate::{Inexact, to_serde};
use crate::problem::Problem;
use crate::text;
use ltc_workflow::nearest::nearest;
use ltc_workflow::{Object, Value, Workflow};

/// `input` with the defaults of `workflow`.
///
/// # Errors
/// Everything that is wrong, each with its JSON Pointer.
pub fn check(workflow: &Workflow, input: &Value) -> Result<Object, Vec<Problem>> {
    let Some(given) = input.as_object() else {
        return Err(vec![Problem::new("invalid-input", "", format!("the input is an object, not a value of type {}", input.type_name()))]);
    };
    let mut problems = Vec::new();
    for key in given.keys().filter(|key| !workflow.inputs.contains_key(key)) {
        problems.push(unknown(workflow, key));
    }
    let mut filled = Object::default();
    for (name, schema) in workflow.inputs.iter() {
        match (given.get(name), schema.get("default")) {
            (Some(value), _) => {
                problems.extend(violations(name, schema, value));
                filled.insert(name.clone(), value.clone());
            }
            (None, Some(default)) => filled.insert(name.clone(), default.clone()),
            (None, None) => {
                let described = schema.get("description").and_then(Value::as_str).map(text::one_line);
                let problem = Problem::new("missing-input", pointer(name), format!("the input `{name}` is missing, and it has no default"));
                problems.push(match described {
                    Some(words) if !words.is_empty() => problem.help(format!("{name}: {words}")),
                    _ => problem,
                });
            }
        }
    }
    if problems.is_empty() { Ok(filled) } else { Err(problems) }
}

fn unknown(workflow: &Workflow, key: &str) -> Problem {
    let names: Vec<&str> = workflow.inputs.keys().map(|name| name.as_str()).collect();
    let help = match (nearest(key, names.iter().copied()), names.is_empty()) {
        (Some(near), _) => format!("perhaps `{near}` is meant"),
        (None, true) => "the workflow takes no inputs".to_owned(),
        (None, false) => format!("the inputs are {}", names.join(", ")),
    };
    Problem::new("unknown-input", pointer(key), format!("the workflow has no input `{}`", text::one_line(key))).help(help)
}

fn violations(name: &str, schema: &Value, value: &Value) -> Vec<Problem> {
    let validator = match jsonschema::validator_for(&to_serde(schema, Inexact::Nearest)) {
        Ok(validator) => validator,
        Err(error) => {
            let why = text::one_line(&error.to_string());
            return vec![Problem::new("invalid-schema", format!("inputs.{name}"), format!("the schema of the input is none: {why}"))];
        }
    };
    let value = to_serde(value, Inexact::Nearest);
    let violation = |error: jsonschema::ValidationError<'_>| {
        let place = format!("{}{}", pointer(name), error.instance_path());
        Problem::new("invalid-input", place, text::one_line(&error.to_string()))
    };
    validator.iter_errors(&value).map(violation).collect()
}

/// The JSON Pointer of a key of the input.
fn pointer(key: &str) -> String {
    format!("/{}", text::one_line(key).replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    fn workflow(inputs: &str) -> Workflow {
        let inputs = json::parse(inputs.as_bytes()).expect("valid JSON in a test");
        Workflow { inputs: inputs.as_object().expect("an object").clone(), ..Workflow::new("w") }
    }

    const INPUTS: &str = r#"{"repo":{"type":"string","description":"owner/name"},"days":{"type":"integer","default":30},
        "pages":{"type":"array","items":{"type":"object","required":["id"]},"default":[]}}"#;

    fn checked(input: &str) -> Result<String, Vec<(&'static str, String)>> {
        check(&workflow(INPUTS), &json::parse(input.as_bytes()).expect("valid JSON in a test"))
            .map(|input| json::to_string(&Value::Object(input)))
            .map_err(|problems| problems.into_iter().map(|problem| (problem.code, problem.place)).collect())
    }

    #[test]
    fn defaults_are_filled_in_and_the_rest_stays() {
        assert_eq!(checked(r#"{"repo":"a/b"}"#), Ok(r#"{"repo":"a/b","days":30,"pages":[]}"#.to_owned()));
        assert_eq!(
            checked(r#"{"days":123456789012345678901234567890,"repo":""}"#),
            Ok(r#"{"repo":"","days":123456789012345678901234567890,"pages":[]}"#.to_owned())
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said_with_its_pointer() {
        assert_eq!(
            checked(r#"{"rpeo":"a/b","days":"30","pages":[{"id":1},{}]}"#),
            Err(vec![
                ("unknown-input", "/rpeo".to_owned()),
                ("missing-input", "/repo".to_owned()),
                ("invalid-input", "/days".to_owned()),
                ("invalid-input", "/pages/1".to_owned()),
            ])
        );
        assert_eq!(checked("[]"), Err(vec![("invalid-input", String::new())]));
    }
}
