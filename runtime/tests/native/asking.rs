//! Questions with `triage: true`, asked by Rust as the YAML asks them: the same question is open, and the same solution is tried before.

use crate::tools::InProcess;
use libtest_mimic::Failed;
use ltc_runtime::clock::Moment;
use ltc_runtime::definition::Bundle;
use ltc_runtime::drive::{Asked, Driver, Left};
use ltc_runtime::engine::Rest;
use ltc_runtime::environment::ProcessEnvironment;
use ltc_runtime::native::{Context, NativeWorkflow, Path, Question, Registry, Stop, ToValue, lang};
use ltc_runtime::observe::Unobserved;
use ltc_runtime::store::{self, Claim, EscalationFilter, Event, NewVersion, RunId, Solution, Store, TraceId, VersionState};
use ltc_workflow::{Value, json, yaml};
use std::collections::BTreeMap;
use std::sync::Arc;

const DOCUMENT: &str = "workflow: asking
version: 1
inputs: { n: { type: number } }
steps:
  - id: ask
    escalate:
      role: operator
      message: \"What is ${{ inputs.n }}?\"
      form: { type: object, properties: { kind: { type: string } }, required: [kind] }
      data: { n: \"${{ inputs.n }}\" }
      priority: 1
      triage: true
output: \"${{ steps.ask.kind }}\"
";

const SOLUTION: &str = "workflow: solve-asking-ask
version: 1
inputs: { n: { type: number } }
steps:
  - id: found
    set: { kind: \"found ${{ inputs.n }}\" }
output: \"${{ steps.found }}\"
";

async fn asking(cx: Context, input: Value) -> Result<Value, Stop> {
    let question = || {
        let kind = lang::object([("kind", lang::object([("type", Value::from("string"))]))]);
        let required = lang::list([Value::from("kind")]);
        Ok(Question {
            role: "operator",
            message: format!("What is {}?", lang::text(input.key("n")?)?),
            form: Some(lang::object([("type", Value::from("object")), ("properties", kind), ("required", required)])),
            data: Some(lang::object([("n", input.key("n")?.clone())])),
            priority: Some(1),
            triage: true,
        })
    };
    let ask = cx.step("ask").ask(question).await?;
    cx.eval("ask", || Ok(ask.key("kind")?.to_value()))
}

/// The run of `asking` in this store, up to its rest.
async fn go(store: &Arc<dyn Store>, is_native: bool) -> Result<Rest, Failed> {
    let driver = Driver::new(store.clone(), Arc::<InProcess>::default(), BTreeMap::new(), Arc::new(ProcessEnvironment));
    let registry = if is_native { Registry::new().add(NativeWorkflow::new(DOCUMENT, asking)) } else { Registry::new() };
    let driver = Arc::new(driver.with_native(registry)?);
    let bundle = Bundle { workflow: yaml::read(DOCUMENT).map_err(|why| format!("{why:?}"))?, library: BTreeMap::new() };
    let input = json::parse(br#"{"n": 9007199254740993001}"#)?;
    let asked = Asked { bundle: &bundle, input: &input, id: Some(RunId("r".into())), limit: None };
    let new = driver.check(asked).await.map_err(|problems| format!("{problems:?}"))?.new_run(None);
    store.create_run(new).await?;
    let Claim::Claimed(record) = driver.claim(&RunId("r".into())).await? else { return Err("the run is there to be taken".into()) };
    match driver.take_up(*record, Arc::new(Unobserved)).await {
        Left::Rested(rest) => Ok(rest),
        left => Err(format!("{left:?}").into()),
    }
}

fn what(events: Vec<Event>) -> Vec<String> {
    events.into_iter().map(|event| format!("{} {:?}", event.key, event.what)).collect()
}

/// Without a solution a person is asked, with one nobody is.
pub async fn a_question_is_the_same() -> Result<(), Failed> {
    for is_solved in [false, true] {
        let mut seen = Vec::new();
        for is_native in [false, true] {
            let folder = tempfile::tempdir()?;
            let store = store::open(&folder.path().join("ltc.db").display().to_string()).await?;
            if is_solved {
                let bundle = Bundle { workflow: yaml::read(SOLUTION).map_err(|why| format!("{why:?}"))?, library: BTreeMap::new() };
                let (name, definition) = (bundle.workflow.name.clone(), bundle.definition());
                let version =
                    NewVersion { name, definition, description: None, state: VersionState::Active, made_of: None, at: Moment::now() };
                store.put_version(version).await?;
                let [workflow, step, solution] = ["asking", "ask", "solve-asking-ask"].map(Into::into);
                store.put_solution(&Solution { workflow, step, solution, trace: TraceId("t".into()), at: Moment::now() }).await?;
            }
            let rest = go(&store, is_native).await?;
            match (is_solved, &rest) {
                (true, Rest::Done(output)) => assert_eq!(output.as_str(), Some("found 9007199254740993001")),
                (false, Rest::Waiting { steps, .. }) => assert_eq!(steps.len(), 1),
                _ => {
                    let events = what(store.events(&RunId("r".into())).await?);
                    return Err(format!("it rests as {rest:?} after {events:?}").into());
                }
            }
            let filter = EscalationFilter { role: None, status: None, run: None, now: Moment::now(), limit: 10 };
            let questions: Vec<_> = store.escalations(filter).await?.into_iter().map(|record| record.question).collect();
            assert_eq!(questions.len(), usize::from(!is_solved));
            assert!(questions.iter().all(|question| question.kind == "triage"), "{questions:?}");
            // Questions have ids of their own, which the journal names.
            let events = if is_solved { what(store.events(&RunId("r".into())).await?) } else { Vec::new() };
            seen.push((rest_without_times(rest), questions, events));
        }
        assert_eq!(seen.first(), seen.last());
    }
    Ok(())
}

fn rest_without_times(rest: Rest) -> Rest {
    match rest {
        Rest::Waiting { steps, .. } => Rest::Waiting { steps, wake_at: None },
        rest => rest,
    }
}
