//! Workflows as tools: what is known of them before they run.

use crate::definition::{Bundle, output_schema};
use crate::{perform, preflight};
use ltc_workflow::document::ToolEffect;
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;

/// A workflow, as a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The workflow's name.
    pub name: SmolStr,
    /// What it does.
    pub description: Option<String>,
    /// The JSON Schema of its input.
    pub input_schema: Value,
    /// The JSON Schema of its output, where one can be told from the document and every run that does not fail ends with such an output.
    pub output_schema: Option<Value>,
    /// The most that a tool which it calls may do.
    pub effect: ToolEffect,
    /// Whether it may ask a person.
    pub asks: bool,
    /// Whether it calls any tool.
    pub calls: bool,
}

impl Offered {
    /// What is known of a workflow and those that it runs.
    pub fn of(bundle: &Bundle) -> Offered {
        let all = || [&bundle.workflow].into_iter().chain(bundle.library.values());
        let known = perform::effects(all());
        let called = all().flat_map(preflight::calls).flat_map(|(server, tools)| {
            let key = move |tool| (server.clone(), tool);
            tools.into_iter().map(key)
        });
        let effects: Vec<ToolEffect> = called.map(|tool| known.get(&tool).copied().unwrap_or(ToolEffect::Write)).collect();
        let asks = all().any(preflight::asks);
        Offered {
            name: bundle.workflow.name.clone(),
            description: bundle.workflow.description.clone(),
            input_schema: input_schema(&bundle.workflow),
            output_schema: if asks { None } else { output_schema(&bundle.workflow) },
            effect: effects.iter().copied().max().unwrap_or(ToolEffect::Read),
            asks,
            calls: !effects.is_empty(),
        }
    }
}

/// The JSON Schema of the whole input of a workflow.
pub fn input_schema(workflow: &Workflow) -> Value {
    let required: Vec<Value> =
        workflow.inputs.iter().filter(|(_, schema)| schema.get("default").is_none()).map(|(name, _)| Value::String(name.clone())).collect();
    let mut schema: Object =
        [("type", Value::from("object")), ("properties", Value::Object(workflow.inputs.clone()))].into_iter().collect();
    if !required.is_empty() {
        schema.insert("required", Value::array(required));
    }
    schema.insert("additionalProperties", Value::from(false));
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::{json, yaml};

    fn offered(rest: &str) -> Offered {
        let effects = "servers:\n  s:\n    effects: { look: read, put: idempotent }\n";
        let workflow = yaml::read(&format!("workflow: w\nversion: 1\n{effects}steps:\n{rest}")).expect("a workflow in a test");
        Offered::of(&Bundle { workflow, library: Default::default() })
    }

    #[test]
    fn it_does_the_most_that_one_of_its_tools_does() {
        let calling = |tool: &str| offered(&format!("  - id: a\n    call: s/look\n  - id: b\n    call: s/{tool}\n"));
        assert_eq!(calling("look").effect, ToolEffect::Read);
        assert_eq!(calling("put").effect, ToolEffect::Idempotent);
        assert_eq!(calling("unheard_of").effect, ToolEffect::Write);
        assert!(!offered("  - id: a\n    wait: 1s\n").calls);
    }

    #[test]
    fn an_output_is_promised_only_where_the_document_shows_it() {
        let wait = "  - id: a\n    wait: 1s\n";
        let schema = |output: &str| offered(&format!("{wait}output: {output}\n")).output_schema.map(|schema| json::to_string(&schema));
        assert_eq!(offered(wait).output_schema, None);
        assert_eq!(schema("\"${{ steps.a }}\""), None);
        assert_eq!(schema("[1]"), None);
        let expected = r#"{"type":"object","properties":{"n":{},"t":{"type":"string"},"c":{"type":"number"}},"required":["t","c"],"additionalProperties":false}"#;
        assert_eq!(schema("{ n: \"${{ steps.a }}\", t: \"at ${{ run.id }}\", c: 7 }").as_deref(), Some(expected));
    }

    #[test]
    fn what_may_wait_for_a_person_promises_no_output() {
        let asking = offered("  - id: a\n    escalate: { role: r, message: m }\noutput: { n: 1 }\n");
        assert!(asking.asks);
        assert_eq!(asking.output_schema, None);
    }
}
