//! What the operations of the compiler take and give.

use super::workflows::{State, VersionView};
use super::{Exact, Refusal};
use crate::compiling::{Finding, Verified};
use crate::problem::Problem;
use crate::service::refusal::Code;
use ltc_workflow::{Object, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `add_trace` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTrace {
    /// The recording: a document of the format `ltc.trace/1`, or a text in any known format.
    pub recording: Exact,
    /// The format of the text; it is found by looking at it where this is left out.
    #[serde(default)]
    pub format: Option<String>,
    /// An id for it, so that adding twice keeps it once; it is given one where this is left out, or where the text holds several runs.
    #[serde(default)]
    pub trace_id: Option<String>,
    /// What the agent was asked, where the recording does not say.
    #[serde(default)]
    pub task: Option<String>,
    /// The structured input of what was done, where the recording does not say.
    #[serde(default)]
    #[schemars(extend("type" = ["object", "null"]))]
    pub input: Option<Exact>,
    /// The workflow that it may become, or that it stands in for.
    #[serde(default)]
    pub workflow_name: Option<String>,
    /// The question to people that it answers; without an input, it has what that question carries.
    #[serde(default)]
    pub escalation_id: Option<String>,
}

/// What `add_trace` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddedTraces {
    /// The ids of the recordings.
    pub trace_ids: Vec<String>,
    /// What is worth knowing about the reading of them.
    pub diagnostics: Vec<Finding>,
}

/// What `compile_traces` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompileTraces {
    /// The recordings, of one task.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub trace_ids: Vec<String>,
    /// The workflow's name; it follows from the task where this is left out.
    #[serde(default)]
    pub workflow_name: Option<String>,
    /// Hints by server, over those of the recordings and the registry, key by key; `null` takes one away.
    #[serde(default)]
    #[schemars(extend("type" = ["object", "null"], "additionalProperties" = { "type": "object" }))]
    pub hints: Option<Exact>,
    /// Whether a run that ended in the middle is compiled up to there.
    #[serde(default)]
    pub partial: bool,
    /// Whether to look only, and keep no draft.
    #[serde(default)]
    pub dry_run: bool,
}

/// What `recompile_workflow` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecompileWorkflow {
    /// The workflow's name.
    pub workflow_name: String,
    /// The version to go on from; the newest that was compiled where it is left out.
    #[serde(default)]
    pub version: Option<u32>,
    /// Recordings beside those that it was made of.
    #[serde(default)]
    pub trace_ids: Vec<String>,
    /// Recordings that are left out from now on.
    #[serde(default)]
    pub without_trace_ids: Vec<String>,
    /// Edits of its hints: by server, key by key; `null` takes one away.
    #[serde(default)]
    #[schemars(extend("type" = ["object", "null"], "additionalProperties" = { "type": "object" }))]
    pub hints: Option<Exact>,
    /// Whether a run that ended in the middle is compiled up to there.
    #[serde(default)]
    pub partial: bool,
    /// Whether to look only, and keep no draft.
    #[serde(default)]
    pub dry_run: bool,
}

/// A workflow that was compiled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CompiledView {
    /// Its name.
    pub workflow_name: String,
    /// The version that is kept of it; none where that was not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionView>,
    /// Its document, in YAML.
    pub document: String,
    /// The JSON Schema of its input.
    pub input_schema: Exact,
    /// How many guesses are open: `diagnostics` says which.
    pub questions: usize,
    /// Whether it does what was recorded, and what would have been recorded in another world.
    pub verdict: Verified,
    /// Guesses and doubts, most severe first.
    pub diagnostics: Vec<Finding>,
}

/// What `explain_traces` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainTraces {
    /// The recordings, of one task.
    #[schemars(length(min = 1), inner(length(min = 1)))]
    pub trace_ids: Vec<String>,
    /// Whether a run that ended in the middle counts up to there.
    #[serde(default)]
    pub partial: bool,
}

/// What `explain_traces` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explanation {
    /// Where each argument comes from, for machines.
    pub explanation: Exact,
    /// The same for people.
    pub text: String,
    /// Guesses, doubts and mistakes, most severe first.
    pub diagnostics: Vec<Finding>,
}

/// What `verify_workflow` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyWorkflow {
    /// The workflow's name.
    pub workflow_name: String,
    /// The version; the active one where it is left out.
    #[serde(default)]
    pub version: Option<u32>,
    /// A document in YAML that is verified instead of a version that is kept.
    #[serde(default)]
    pub document: Option<String>,
    /// The recordings; those that the version was made of where there are none here.
    #[serde(default)]
    pub trace_ids: Vec<String>,
    /// Whether a run that ended in the middle counts up to there.
    #[serde(default)]
    pub partial: bool,
}

/// What `list_workflow_versions` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListWorkflowVersions {
    /// The workflow's name.
    pub workflow_name: String,
    /// Only versions that stand so.
    #[serde(default)]
    pub state: Option<State>,
}

/// What `list_workflow_versions` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionList {
    /// The versions, the newest first.
    pub versions: Vec<VersionView>,
}

/// What `diff_workflow_versions` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiffWorkflowVersions {
    /// The workflow's name.
    pub workflow_name: String,
    /// The older version.
    pub from: u32,
    /// The newer version; the newest where it is left out.
    #[serde(default)]
    pub to: Option<u32>,
}

/// What `diff_workflow_versions` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Difference {
    /// The older version.
    pub from: u32,
    /// The newer version.
    pub to: u32,
    /// A unified diff of the two documents; empty where they are the same.
    pub diff: String,
}

/// Edits of hints: an object of servers, each with an object.
pub(super) fn edits(given: Option<Exact>) -> Result<Object, Refusal> {
    let wrong = |place: String, found: &Value| {
        let message = format!("an object is expected, not a value of type {}", found.type_name());
        Refusal::because(Code::Invalid, vec![Problem::new("bad-hints", place, message)])
    };
    let Some(Exact(given)) = given else { return Ok(Object::default()) };
    let servers = given.as_object().ok_or_else(|| wrong("/hints".to_owned(), &given))?;
    match servers.iter().find(|(_, edits)| edits.as_object().is_none()) {
        Some((server, other)) => Err(wrong(format!("/hints/{}", escaped(server)), other)),
        None => Ok(servers.clone()),
    }
}

/// A key as part of a JSON Pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// `over` laid over `base`, server by server and key by key; null takes away.
pub(super) fn edited(mut base: Object, over: &Object) -> Object {
    for (server, edits) in over.iter() {
        let mut hints = base.get(server).and_then(Value::as_object).cloned().unwrap_or_default();
        for (key, value) in edits.as_object().into_iter().flat_map(Object::iter) {
            match value {
                Value::Null => drop(hints.remove(key)),
                value => hints.insert(key.clone(), value.clone()),
            }
        }
        base.insert(server.clone(), Value::Object(hints));
    }
    base
}

#[cfg(test)]
mod tests {
    use super::*;
    use ltc_workflow::json;

    #[test]
    fn edits_reach_one_key_of_one_server() {
        let value = |text: &str| json::parse(text.as_bytes()).expect("JSON in a test");
        let base = value(r#"{"a":{"inputs":["x"],"keep":["k"]},"b":{"note":"n"}}"#);
        let base = base.as_object().expect("an object").clone();
        let over = value(r#"{"a":{"keep":null,"inputs":["y"]},"c":{"ignore":["z"]}}"#);
        let edited = |over| edits(over).map(|over| Value::Object(edited(base.clone(), &over)));
        let expected = value(r#"{"a":{"inputs":["y"]},"b":{"note":"n"},"c":{"ignore":["z"]}}"#);
        assert_eq!(edited(Some(Exact(over))), Ok(expected));
        assert_eq!(edited(None), Ok(Value::Object(base.clone())));
        for (bad, place) in [("[]", "/hints"), ("{\"a/b\":1}", "/hints/a~1b"), ("7", "/hints")] {
            let refused = edited(Some(Exact(value(bad)))).expect_err(bad);
            assert_eq!(refused.problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>(), [place]);
        }
    }
}
