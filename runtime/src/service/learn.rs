//! A question that was answered with a recording: the recording is compiled, verified, deployed where nothing is open, and tried the next time.

use super::compile::{given, is_beyond_doubt};
use super::workflows::VersionView;
use super::{Refusal, Service};
use crate::clock::Moment;
use crate::compiling::{Finding, Task};
use crate::store::{EscalationId, MadeOf, Solution, TraceAbout, TraceId, VersionState};
use crate::triage::{Place, Triaged};
use ltc_workflow::Value;
use schemars::JsonSchema;
use serde::Serialize;

/// What became of a recording that came with an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Learned {
    /// The recording.
    pub trace_id: String,
    /// The version that was made of it: deployed or active where it is tried from now on, else a draft; none where nothing came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionView>,
    /// Whether it is tried from now on, before a person is asked.
    pub is_tried: bool,
    /// What is open or wrong, most severe first.
    pub diagnostics: Vec<Finding>,
}

impl Service {
    /// Compiles the recording `trace` of how `answer` was found; where nothing is open, what comes of it is the solution of that place from now on.
    pub(super) async fn learn(&self, asked: &EscalationId, place: &Place, trace: TraceId, answer: &Triaged) -> Result<Learned, Refusal> {
        let store = self.driver.store();
        let record = store.trace(&trace).await?.ok_or_else(|| Refusal::not_found("recording", &trace.0))?;
        let input = record.about.input.is_none().then(|| place.input.clone());
        let about = TraceAbout { task: None, workflow: Some(place.workflow.clone()), escalation: Some(asked.clone()), input };
        // One that has ended says what it says.
        store.note_trace(&trace, &about, Moment::now()).await?;
        let mut task = Task { name: Some(place.solution_name().into()), ..self.task(std::slice::from_ref(&trace)).await? };
        for document in &mut task.traces {
            given(document, "input", Some(Value::Object(place.input.clone())));
            given(document, "output", Some(answer.answer.clone()));
        }
        let compiled = self.busy(move |compiler| compiler.compile(&task)).await?;
        let is_tried = is_beyond_doubt(&compiled);
        let state = match (is_tried, answer.activate) {
            (true, true) => VersionState::Active,
            (true, false) => VersionState::Deployed,
            (false, _) => VersionState::Draft,
        };
        let mut version = None;
        if let Some(workflow) = compiled.usable() {
            let made_of = MadeOf { traces: vec![trace.clone()], hints: None };
            let kept = self.keep(workflow, made_of, state).await?;
            if is_tried {
                let solution = Solution {
                    workflow: place.workflow.clone(),
                    step: place.step.clone(),
                    solution: kept.name.clone(),
                    trace: trace.clone(),
                    at: Moment::now(),
                };
                store.put_solution(&solution).await?;
            }
            version = Some(kept.into());
        }
        Ok(Learned { trace_id: trace.0.into(), version, is_tried, diagnostics: compiled.findings })
    }
}
