//! A world that is made of a recording: the same call gets the recorded answer, any other call fails.
//!
//! Before: a workflow, a recording of the same task, its input. After: what a run of the workflow in that recording's world did
//! differently from the recording. Nothing is forgiven: each recorded call is made once, none is added, the output is the recorded one,
//! and calls whose order means something come in the recorded order.

use ltc_compiler::trace::{Call, Outcome, Trace};
use ltc_compiler::{identifiers, script};
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey, World, run_in};
use ltc_workflow::document::ToolEffect;
use ltc_workflow::{Object, Value, Workflow, json};
use std::collections::BTreeSet;

/// The calls of a recording that succeeded, and which of them were made so far.
struct Recorded<'t> {
    trace: &'t Trace,
    calls: Vec<(usize, &'t Call, Value)>,
    /// Indices of recorded calls, in the order in which they were made.
    made: Vec<usize>,
}

impl<'t> Recorded<'t> {
    fn new(trace: &'t Trace, left_out: &BTreeSet<String>) -> Recorded<'t> {
        let there = trace.calls.iter().enumerate().filter(|(_, call)| !left_out.contains(call.id.as_str()));
        let succeeded = there.filter_map(|(at, call)| match &call.outcome {
            Outcome::Result(body) => Some((at, call, body.decode())),
            Outcome::ToolError(_) | Outcome::RpcError { .. } | Outcome::Refused | Outcome::Missing => None,
        });
        Recorded { trace, calls: succeeded.collect(), made: Vec::new() }
    }

    /// Identical calls get their answers in the order of the recording.
    fn answer(&mut self, server: &str, tool: &str, arguments: &Object) -> Option<Value> {
        let made = &self.made;
        let fits = |call: &Call| identifiers::server_name(&call.server) == server && call.tool == tool && call.arguments == *arguments;
        let (at, _, value) = self.calls.iter().find(|(at, call, _)| !made.contains(at) && fits(call))?;
        let (at, value) = (*at, value.clone());
        self.made.push(at);
        Some(value)
    }

    /// A call that was never recorded, beside the recorded calls of the same tool.
    fn unknown(&self, server: &str, tool: &str, arguments: &Object) -> String {
        let asked = json::to_string(&Value::Object(arguments.clone()));
        let alike = self
            .calls
            .iter()
            .filter(|(at, call, _)| identifiers::server_name(&call.server) == server && call.tool == tool && !self.made.contains(at));
        let alike: Vec<String> = alike.map(|(_, call, _)| json::to_string(&Value::Object(call.arguments.clone()))).collect();
        let open = if alike.is_empty() { "no call of it is left".to_owned() } else { format!("still open: {}", alike.join(" | ")) };
        format!("{server}/{tool} {asked} was not recorded; {open}")
    }
}

impl World for Recorded<'_> {
    fn perform(&mut self, _key: &StepKey, effect: Effect) -> Ended {
        let failed = |message: String| Ended::Failed(Failure { code: "not-recorded".into(), message, step: None });
        match effect {
            Effect::Call { server, tool, arguments, timeout: _ } => match self.answer(&server, &tool, &arguments) {
                Some(value) => Ended::Succeeded(value),
                None => failed(self.unknown(&server, &tool, &arguments)),
            },
            Effect::Sleep(_) => Ended::Succeeded(Value::Null),
            Effect::Escalate { role, .. } => failed(format!("{role} was asked, and nobody in the recording was")),
            Effect::Run { workflow, .. } => failed(format!("the workflow {workflow} was run, and none in the recording was")),
        }
    }
}

/// What a run of `workflow` in the world of `trace` does differently from it. `left_out` are the ids of calls that must not be made.
pub fn differences(workflow: &Workflow, trace: &Trace, start: &Start, left_out: &BTreeSet<String>) -> Vec<String> {
    let mut world = Recorded::new(trace, left_out);
    let result = run_in(workflow, start, &mut world);
    let mut found = Vec::new();
    match (&result, recorded_output(trace)) {
        (Err(failure), _) => {
            let step = failure.step.as_ref().map(|step| format!(" at {step}")).unwrap_or_default();
            found.push(format!("the run failed{step}: {} [{}]", failure.message, failure.code));
        }
        (Ok(value), Some(wanted)) if *value != wanted => {
            found.push(format!("the output is {} and should be {}", json::to_string(value), json::to_string(&wanted)));
        }
        (Ok(_), _) => {}
    }
    for (at, call, _) in &world.calls {
        let made = world.made.contains(at);
        if !made && result.is_ok() {
            found.push(format!(
                "call {} was not made: {}/{} {}",
                call.id,
                call.server,
                call.tool,
                json::to_string(&call.arguments.clone().into())
            ));
        }
    }
    found.extend(disorder(&world));
    found
}

/// What the recording says that the run returned; the last result where it does not say.
fn recorded_output(trace: &Trace) -> Option<Value> {
    trace.output.clone().or_else(|| Recorded::new(trace, &BTreeSet::new()).calls.last().map(|(_, _, value)| value.clone()))
}

/// Pairs of calls that changed places: two writes, or a read and a write on one server.
fn disorder(world: &Recorded<'_>) -> Vec<String> {
    let effect = |call: &Call| script::effect(script::server(world.trace, &call.server), &call.tool).0;
    let mut found = Vec::new();
    for (place, later) in world.made.iter().enumerate() {
        for earlier in world.made.iter().skip(place + 1).filter(|earlier| *earlier < later) {
            let (Some(a), Some(b)) = (world.trace.calls.get(*earlier), world.trace.calls.get(*later)) else { continue };
            let reads = [a, b].iter().filter(|call| effect(call) == ToolEffect::Read).count();
            if reads == 0 || (reads == 1 && a.server == b.server) {
                found.push(format!("call {} ({}) was made before call {} ({})", b.id, b.tool, a.id, a.tool));
            }
        }
    }
    found
}
