//! What is said about the function of a step: what it does, which recorded calls it is, and where its arguments come from.

use super::StepOrigin;
use super::flow::Writer;
use super::words::{code, words};
use ltc_workflow::document::{Step, StepKind};
use smol_str::SmolStr;

/// How many recorded calls are named.
const MOST_CALLS: usize = 4;

impl Writer<'_, '_> {
    /// What is said about the function of a step.
    pub(super) fn documentation(&self, step: &Step) -> Vec<String> {
        let id = code(&step.id);
        let mut lines = Vec::new();
        let origin = self.source.origins.get(&step.id);
        let calls = |origin: &StepOrigin| {
            let named = |call: &SmolStr| match call.rsplit_once(" of run ") {
                Some((call, run)) => format!("{} of run {}", code(call), words(run)),
                None => code(call),
            };
            let shown: Vec<String> = origin.calls.iter().take(MOST_CALLS).map(named).collect();
            let more = origin.calls.len().saturating_sub(MOST_CALLS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let noun = if origin.calls.len() == 1 { "call" } else { "calls" };
            if shown.is_empty() { String::new() } else { format!(", from the recorded {noun} {}{more}", shown.join(", ")) }
        };
        lines.push(match &step.kind {
            StepKind::Call { server, tool, .. } => {
                let from = origin.map(calls).unwrap_or_default();
                format!("{id}: {}{from}.", code(&format!("{server}/{tool}")))
            }
            StepKind::For { each, list, test, at_once, .. } => {
                let test = test.as_ref().map(|test| format!(" where {}", code(&test.to_string()))).unwrap_or_default();
                let at_once = if *at_once > 1 { format!(", {at_once} at once") } else { String::new() };
                format!("{id}: for each {} of {}{test}{at_once}.", code(each), code(&list.to_string()))
            }
            StepKind::Repeat { until, .. } => format!("{id}: again and again until {}.", code(&until.to_string())),
            StepKind::Switch { .. } => format!("{id}: the first case that is true."),
            StepKind::Parallel { .. } => format!("{id}: branches that do not see each other, all at once."),
            StepKind::Escalate { role, .. } => format!("{id}: asks {}.", code(role)),
            StepKind::Wait { .. } => format!("{id}: waits."),
            StepKind::Set { .. } => format!("{id}: names values."),
            StepKind::Run { workflow, .. } => format!("{id}: runs the workflow {}.", code(workflow)),
        });
        if let Some(note) = step.note.as_deref().map(words).filter(|note| !note.is_empty()) {
            lines.extend([String::new(), note]);
        }
        let arguments = origin.map(|origin| origin.arguments.as_slice()).unwrap_or_default();
        if !arguments.is_empty() {
            lines.push(String::new());
        }
        for (argument, from) in arguments {
            let argument = if argument.is_empty() { "all of it".to_owned() } else { code(argument) };
            lines.push(format!("- {argument}: {}", code(from)));
        }
        lines
    }
}
