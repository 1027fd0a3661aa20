//! The input of a run: defaults filled in, unknown and missing names refused. Types are checked by the runtime, against the schemas.

use super::Workflow;
use crate::advance::Failure;
use crate::expr::eval::fail;
use crate::nearest::nearest;
use crate::value::Object;
use smol_str::SmolStr;

impl Workflow {
    /// `input` with the defaults of the inputs that it leaves out, in the order of the workflow.
    ///
    /// # Errors
    /// `unknown-input` or `missing-input`, naming each and the nearest known name.
    pub fn fill_defaults(&self, input: &Object) -> Result<Object, Failure> {
        let known = || self.inputs.keys().map(SmolStr::as_str);
        let unknown: Vec<String> =
            input.keys().filter(|k| !self.inputs.contains_key(k)).map(|k| describe(k, nearest(k, known()))).collect();
        if !unknown.is_empty() {
            let names: Vec<&str> = known().collect();
            let takes = if names.is_empty() { "no input".to_string() } else { names.join(", ") };
            return Err(fail("unknown-input", format!("unknown input {}; the workflow takes {takes}", unknown.join(", "))));
        }
        let (mut filled, mut missing) = (Vec::with_capacity(self.inputs.len()), Vec::new());
        for (name, schema) in self.inputs.iter() {
            match input.get(name).or_else(|| schema.get("default")) {
                Some(value) => filled.push((name.clone(), value.clone())),
                None => missing.push(match schema.get("description").and_then(|d| d.as_str()) {
                    Some(description) => format!("`{name}` ({description})"),
                    None => format!("`{name}`"),
                }),
            }
        }
        if missing.is_empty() {
            Ok(Object::from_entries(filled))
        } else {
            Err(fail("missing-input", format!("missing input {}", missing.join(", "))))
        }
    }
}

fn describe(name: &str, near: Option<&str>) -> String {
    near.map_or_else(|| format!("`{name}`"), |near| format!("`{name}` (the nearest known one is `{near}`)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::value::Value;

    fn workflow(inputs: &str) -> Workflow {
        let inputs = json::parse(inputs.as_bytes()).unwrap().as_object().unwrap().clone();
        Workflow { inputs, ..Workflow::new("w") }
    }

    #[test]
    fn defaults_are_filled_in_and_names_are_checked() {
        let workflow =
            workflow(r#"{"repo": {"type": "string", "description": "owner/name"}, "days": {"default": 30}, "note": {"default": null}}"#);
        let filled = workflow.fill_defaults(&Object::from_iter([("repo", Value::from("a/b"))])).unwrap();
        assert_eq!(json::to_string(&filled.into()), r#"{"repo":"a/b","days":30,"note":null}"#);
        let unknown = workflow.fill_defaults(&Object::from_iter([("rep", Value::Null), ("x", Value::Null)])).unwrap_err();
        assert_eq!(unknown.code, "unknown-input");
        assert_eq!(unknown.message, "unknown input `rep` (the nearest known one is `repo`), `x`; the workflow takes repo, days, note");
        assert_eq!(workflow.fill_defaults(&Object::default()).unwrap_err().message, "missing input `repo` (owner/name)");
    }
}
