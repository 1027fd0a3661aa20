//! The JSON Schema of the workflow document, for editors and for people.
//!
//! It says what the shape of a document is. Names, expressions and what is visible where are checked by [`crate::yaml::read`] alone.

/// The schema, in JSON Schema 2020-12.
pub const WORKFLOW: &str = include_str!("../schema/workflow.schema.json");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{self, laws::workflow};
    use crate::{json, value::Value};
    use proptest::prelude::*;

    fn validator() -> jsonschema::Validator {
        let schema: serde_json::Value = serde_json::from_str(WORKFLOW).unwrap();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        jsonschema::draft202012::new(&schema).unwrap()
    }

    /// Numbers past what serde_json reads become 0: the schema says nothing of them.
    fn plain(value: &Value) -> serde_json::Value {
        match value {
            Value::Number(n) => serde_json::from_str(n.as_str()).unwrap_or(serde_json::Value::from(0)),
            Value::Array(items) => items.iter().map(plain).collect(),
            Value::Object(object) => object.iter().map(|(k, v)| (k.to_string(), plain(v))).collect(),
            Value::Null | Value::Bool(_) | Value::String(_) => serde_json::from_str(&json::to_string(value)).unwrap(),
        }
    }

    fn document(text: &str) -> serde_json::Value {
        plain(&yaml::read_value(text).unwrap().0)
    }

    #[test]
    fn printed_documents_fit_the_schema() {
        let validator = validator();
        proptest!(|(workflow in workflow())| {
            let text = yaml::print(&workflow);
            let errors: Vec<String> = validator.iter_errors(&document(&text)).map(|e| format!("{}: {e}", e.instance_path())).collect();
            prop_assert!(errors.is_empty(), "{:?}\n{}", errors, text);
        });
    }

    #[test]
    fn what_the_reader_refuses_for_its_shape_the_schema_refuses() {
        let validator = validator();
        let step = |step: &str| format!("workflow: w\nsteps:\n  - {{ id: a, {step} }}\n");
        let bad = [
            "steps: []\n".to_string(),
            "workflow: W\nsteps: []\n".to_string(),
            "workflow: w\nversion: 0\nsteps: []\n".to_string(),
            "workflow: w\nsteps: []\noutputs: 1\n".to_string(),
            "workflow: w\nsteps: []\ntriage: often\n".to_string(),
            "workflow: w\nsteps: []\ninputs: { a: string }\n".to_string(),
            "workflow: w\nsteps: []\nsecrets: [A-B]\n".to_string(),
            "workflow: w\nsteps: []\nservers: { g: { command: x, url: y } }\n".to_string(),
            "workflow: w\nsteps: []\nservers: { g: { command: x, headers: {} } }\n".to_string(),
            "workflow: w\nsteps: []\nservers: { g: { url: x, type: stdio } }\n".to_string(),
            "workflow: w\nsteps: []\nservers: { g: { effects: { t: reads } } }\n".to_string(),
            "workflow: w\nsteps: []\nservers: { g: { args: [x] } }\n".to_string(),
            "workflow: w\nsteps: [{ wait: 1s }]\n".to_string(),
            step("note: x"),
            step("wait: 1s, set: {}"),
            step("wait: 5 minutes"),
            step("wait: ''"),
            step("call: g"),
            step("wait: 1s, with: {}"),
            step("wait: 1s, steps: []"),
            step("wait: 1s, timeout: 1s"),
            step("run: w, fail_when: true"),
            step("call: s/t, fail_when: []"),
            step("for: { each: x, in: y }"),
            step("for: { each: x, in: y, at_once: 0 }, steps: []"),
            step("repeat: { at_most: 1 }, steps: []"),
            step("escalate: { role: r, message: m, priority: 5 }"),
            step("escalate: { role: r, message: m, triage: 1 }"),
            step("wait: 1s, retry: { attempts: 0 }"),
            step("wait: 1s, catch: {}"),
        ];
        for text in bad {
            assert!(yaml::read(&text).is_err(), "{text}");
            assert!(!validator.is_valid(&document(&text)), "{text}");
        }
    }
}
