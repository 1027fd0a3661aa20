//! A workflow with all that it runs, as one text: what a run was begun with is what it goes on with, whatever is deployed meanwhile.
//!
//! The text is JSON with sorted keys: the name of the workflow, and the documents of it and of those that it leads to, by name.

use crate::preflight;
use crate::problem::Problem;
use crate::store::{Definition, DefinitionId};
use ltc_workflow::template::Template;
use ltc_workflow::{Object, Value, Workflow, digest, json, yaml};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// A workflow and all that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The workflow.
    pub workflow: Workflow,
    /// Those that it runs, and that those run.
    pub library: BTreeMap<SmolStr, Workflow>,
}

impl Bundle {
    /// The text that is kept.
    pub fn definition(&self) -> Definition {
        let document = |workflow: &Workflow| (workflow.name.clone(), Value::from(yaml::print(workflow).as_str()));
        let needed = self.needed();
        let others = self.library.values().filter(|other| needed.contains(&other.name) && other.name != self.workflow.name);
        let documents: Object = [&self.workflow].into_iter().chain(others).map(document).collect();
        let whole: Object =
            [("workflow", Value::String(self.workflow.name.clone())), ("documents", Value::Object(documents))].into_iter().collect();
        let text = json::to_canonical_string(&Value::Object(whole));
        Definition { id: DefinitionId(digest::of_bytes(text.as_bytes())), text }
    }

    fn needed(&self) -> Vec<SmolStr> {
        let mut needed: Vec<SmolStr> = vec![self.workflow.name.clone()];
        let mut at = 0;
        while let Some(name) = needed.get(at).cloned() {
            at += 1;
            let workflow = if name == self.workflow.name { Some(&self.workflow) } else { self.library.get(&name) };
            let more = workflow.map(preflight::runs).unwrap_or_default();
            let new: Vec<SmolStr> = more.into_iter().filter(|name| !needed.contains(name)).collect();
            needed.extend(new);
        }
        needed
    }

    /// Reads what was kept.
    ///
    /// # Errors
    /// `bad-definition`, where another version of the program wrote what this one cannot read.
    pub fn read(definition: &Definition) -> Result<Bundle, Problem> {
        let bad = |why: String| Problem::new("bad-definition", format!("definition {}", definition.id.0), why);
        let whole = json::parse(definition.text.as_bytes()).map_err(|error| bad(error.to_string()))?;
        let name = whole.get("workflow").and_then(Value::as_str).ok_or_else(|| bad("it names no workflow".to_owned()))?;
        let documents = whole.get("documents").and_then(Value::as_object).ok_or_else(|| bad("it has no documents".to_owned()))?;
        let mut library = BTreeMap::new();
        for (name, text) in documents.iter() {
            let text = text.as_str().ok_or_else(|| bad(format!("the document {name} is no text")))?;
            let workflow = yaml::read(text).map_err(|errors| {
                let said: Vec<String> = errors.iter().map(ToString::to_string).collect();
                bad(format!("the document {name} cannot be read: {}", said.join("; ")))
            })?;
            library.insert(name.clone(), workflow);
        }
        let workflow = library.remove(name).ok_or_else(|| bad(format!("it has no document {name}")))?;
        Ok(Bundle { workflow, library })
    }
}

/// What is known about the output of a workflow before it runs: an object that stands in the document has these keys and no others. What an
/// expression gives is not known, and where it gives nothing, its key is left out.
pub(crate) fn output_schema(workflow: &Workflow) -> Option<Value> {
    match workflow.output.as_ref()? {
        template @ Template::Object(_) => Some(schema(template)),
        Template::Literal(_) | Template::Expr(_) | Template::Text(_) | Template::Array(_) => None,
    }
}

fn schema(template: &Template) -> Value {
    let of_type = |name: &str| Object::from_iter([("type", Value::from(name))]);
    let known = match template {
        Template::Expr(_) => Object::default(),
        Template::Literal(Value::Null) => of_type("null"),
        Template::Literal(Value::Bool(_)) => of_type("boolean"),
        Template::Literal(Value::Number(_)) => of_type("number"),
        Template::Literal(Value::String(_)) | Template::Text(_) => of_type("string"),
        Template::Literal(Value::Array(_)) | Template::Array(_) => of_type("array"),
        Template::Literal(Value::Object(_)) => of_type("object"),
        Template::Object(entries) => {
            let mut known = of_type("object");
            let properties: Object = entries.iter().map(|(key, value)| (key.clone(), schema(value))).collect();
            let sure = entries.iter().filter(|(_, value)| !matches!(value, Template::Expr(_)));
            let required: Vec<Value> = sure.map(|(key, _)| Value::String(key.clone())).collect();
            known.insert("properties", properties.into());
            if !required.is_empty() {
                known.insert("required", Value::array(required));
            }
            known.insert("additionalProperties", Value::from(false));
            known
        }
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(name: &str, runs: &str) -> Workflow {
        yaml::read(&format!("workflow: {name}\nversion: 1\nsteps:\n  - id: a\n    {runs}\n")).expect("a workflow in a test")
    }

    #[test]
    fn what_was_kept_is_what_comes_back_and_nothing_else_is_kept() {
        let library = [("b", "run: c"), ("c", "run: b"), ("unused", "wait: 1s")].map(|(name, runs)| (name.into(), workflow(name, runs)));
        let bundle = Bundle { workflow: workflow("a", "run: b"), library: library.into() };
        let definition = bundle.definition();
        let read = Bundle::read(&definition).expect("it reads");
        assert_eq!(read.workflow, bundle.workflow);
        assert_eq!(read.library.keys().collect::<Vec<_>>(), ["b", "c"]);
        assert_eq!(read.definition(), definition);
    }

    #[test]
    fn a_text_that_is_none_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"workflow":"a","documents":{}}"#,
            r#"{"workflow":"a","documents":{"a":7}}"#,
            r#"{"workflow":"a","documents":{"a":"x: ["}}"#,
        ] {
            let definition = Definition { id: DefinitionId("d".into()), text: text.to_owned() };
            assert_eq!(Bundle::read(&definition).expect_err(text).code, "bad-definition");
        }
    }
}
