//! `argument-schema`: arguments that the tool's schema refuses.
//!
//! Only what is plain from the document is judged: which arguments are there, and what is literal. What an expression gives is known when it
//! runs, and a schema that says "one of several" is left to the server.

use super::{Lint, Report, at};
use crate::diagnostics::Severity;
use ltc_workflow::document::StepKind;
use ltc_workflow::template::Template;
use ltc_workflow::{Number, Value, json};
use smol_str::SmolStr;

pub(super) const LINT: Lint = Lint {
    code: "argument-schema",
    severity: Severity::Error,
    what: "It reports arguments that are missing, unknown, or of another type or value than the input schema of the tool allows.",
    why: "A server that checks its arguments refuses the call.",
    example: "steps:\n  - { id: put, call: s/put, with: { name: a, size: big } }\n",
    better: "steps:\n  - { id: put, call: s/put, with: { name: a, size: 12 } }\n",
    check: |context, report| {
        context.each_call(&mut |call, _| {
            let StepKind::Call { with, .. } = &call.step.kind else { return };
            let Some(schema) = context.tool(call.server, call.tool).and_then(|tool| tool.input_schema.as_ref()) else { return };
            let mut check = Check { place: at(call.step), report };
            check.entries(with, schema, &mut String::new());
        });
    },
};

struct Check<'r> {
    place: String,
    report: &'r mut Report,
}

/// Keywords by which a schema is one of several.
const CHOICES: [&str; 6] = ["$ref", "anyOf", "oneOf", "allOf", "if", "not"];

impl Check<'_> {
    fn template(&mut self, template: &Template, schema: &Value, path: &mut String) {
        if CHOICES.iter().any(|key| schema.get(key).is_some()) {
            return;
        }
        match template {
            Template::Literal(value) => self.literal(value, schema, path),
            Template::Text(_) => self.is_of_type("string", None, schema, path),
            Template::Expr(_) => {}
            Template::Array(items) => {
                self.is_of_type("array", None, schema, path);
                if let Some(inner) = schema.get("items") {
                    items
                        .iter()
                        .enumerate()
                        .for_each(|(i, item)| self.inside(path, &i.to_string(), |check, path| check.template(item, inner, path)));
                }
            }
            Template::Object(entries) => {
                self.is_of_type("object", None, schema, path);
                self.entries(entries, schema, path);
            }
        }
    }

    fn inside(&mut self, path: &mut String, key: &str, visit: impl FnOnce(&mut Self, &mut String)) {
        let length = path.len();
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        visit(self, path);
        path.truncate(length);
    }

    fn entries(&mut self, entries: &[(SmolStr, Template)], schema: &Value, path: &mut String) {
        if CHOICES.iter().any(|key| schema.get(key).is_some()) {
            return;
        }
        let properties = schema.get("properties");
        let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
        for key in required.iter().filter_map(Value::as_str) {
            if !entries.iter().any(|(k, _)| k == key) {
                self.inside(path, key, |check, path| check.add(path, "is missing, but the tool requires it".to_owned()));
            }
        }
        let is_closed =
            schema.get("additionalProperties").and_then(Value::as_bool) == Some(false) && schema.get("patternProperties").is_none();
        for (key, item) in entries {
            match properties.and_then(|p| p.get(key)) {
                Some(inner) => self.inside(path, key, |check, path| check.template(item, inner, path)),
                None if is_closed => self.inside(path, key, |check, path| check.add(path, "is not an argument of the tool".to_owned())),
                None => {}
            }
        }
    }

    fn literal(&mut self, value: &Value, schema: &Value, path: &str) {
        self.is_of_type(value.type_name(), Some(value), schema, path);
        if let Some(words) = schema.get("enum").and_then(Value::as_array)
            && !words.is_empty()
            && !words.contains(value)
        {
            let words: Vec<String> = words.iter().take(8).map(json::to_string).collect();
            self.add(path, format!("is {}, but the tool takes one of {}", json::to_string(value), words.join(", ")));
        }
    }

    fn is_of_type(&mut self, is: &str, value: Option<&Value>, schema: &Value, path: &str) {
        let allowed: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => return,
        };
        let is_whole = value.and_then(Value::as_number).is_some_and(is_whole);
        let fits = |allowed: &&str| *allowed == is || (*allowed == "number" && is == "integer") || (*allowed == "integer" && is_whole);
        if !allowed.iter().any(fits) {
            self.add(path, format!("is of the type {is}, but the tool takes {}", allowed.join(" or ")));
        }
    }

    fn add(&mut self, path: &str, message: String) {
        self.report.add(format!("{}, argument {path}", self.place), message, "see the input schema of the tool");
    }
}

/// `1.0` and `1e2` are whole numbers too.
fn is_whole(number: &Number) -> bool {
    number.is_integer() || number.as_f64().fract() == 0.0
}
