//! One step: an effect with its key, tried again as the step says.

use super::context::{Context, millis};
use super::stop::Stop;
use ltc_workflow::advance::{Effect, Failure, StepKey, failed_result};
use ltc_workflow::document::{self, DEFAULT_PRIORITY};
use ltc_workflow::native::{FromValue, ToValue};
use ltc_workflow::{Number, Object, Value};
use smol_str::{SmolStr, format_smolstr};
use std::time::Duration;

/// The arguments of a tool, which know what the tool is.
pub trait Tool: ToValue {
    /// The server's name in the workflow.
    const SERVER: &'static str;
    /// The tool's name.
    const TOOL: &'static str;
    /// What the tool answers.
    type Answer: FromValue;
}

/// A question to a person.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Who is asked.
    pub role: &'static str,
    /// What is asked.
    pub message: String,
    /// The JSON Schema of the answer.
    pub form: Option<Value>,
    /// What is shown beside the message.
    pub data: Option<Value>,
    /// From 1, urgent, to 4; 3 where it is not said.
    pub priority: Option<u8>,
    /// Whether a workflow that was made of earlier answers is tried before a person is asked.
    pub triage: bool,
}

/// A step, before it is done.
pub struct Step<'c> {
    context: &'c Context,
    id: &'c str,
    timeout: Option<document::Duration>,
    retry: Option<document::Retry>,
}

impl<'c> Step<'c> {
    pub(super) fn new(context: &'c Context, id: &'c str) -> Step<'c> {
        Step { context, id, timeout: None, retry: None }
    }

    /// It fails with `timeout` after so long.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Step<'c> {
        Step { timeout: Some(millis(timeout)), ..self }
    }

    /// There are so many attempts in all, the second `backoff` after the first, each further pause `factor` times as long.
    #[must_use]
    pub fn retry(self, attempts: u32, backoff: Duration, factor: Number) -> Step<'c> {
        Step { retry: Some(document::Retry { attempts, backoff: millis(backoff), factor }), ..self }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// The failure of the last attempt, or of the arguments.
    pub async fn call<T: Tool>(self, arguments: impl Fn() -> Result<T, Failure>) -> Result<T::Answer, Stop> {
        self.call_unless(arguments, |_| Ok(false)).await
    }

    /// Calls a tool whose result may be a failure: it is where `failed` says so.
    ///
    /// # Errors
    /// As [`Step::call`]; `failed-result`.
    pub async fn call_unless<T: Tool>(
        self,
        arguments: impl Fn() -> Result<T, Failure>,
        failed: impl Fn(&T::Answer) -> Result<bool, Failure>,
    ) -> Result<T::Answer, Stop> {
        let timeout = self.timeout;
        let call = || {
            let arguments = fields(&arguments()?);
            Ok(Effect::Call { server: SmolStr::new_static(T::SERVER), tool: SmolStr::new_static(T::TOOL), arguments, timeout })
        };
        let judge = |value: Value| {
            let answer = T::Answer::from_value(&value).map_err(|mismatch| mismatched(T::TOOL, &mismatch.to_string()))?;
            if failed(&answer)? { Err(Stop::of_effect(failed_result("fail_when", &value))) } else { Ok(answer) }
        };
        self.attempts(call, judge).await
    }

    /// Asks a person.
    ///
    /// # Errors
    /// The failure of the last attempt, or of the question.
    pub async fn ask(self, question: impl Fn() -> Result<Question, Failure>) -> Result<Value, Stop> {
        let timeout = self.timeout;
        let ask = || {
            let Question { role, message, form, data, priority, triage } = question()?;
            let priority = priority.unwrap_or(DEFAULT_PRIORITY);
            Ok(Effect::Escalate { role: role.into(), message, form, data, priority, triage, timeout })
        };
        self.attempts(ask, Ok).await
    }

    /// Runs another workflow.
    ///
    /// # Errors
    /// The failure of the last attempt, or of the input.
    pub async fn run(self, workflow: &'static str, input: impl Fn() -> Result<Value, Failure>) -> Result<Value, Stop> {
        let timeout = self.timeout;
        let run = || Ok(Effect::Run { workflow: workflow.into(), input: fields(&input()?), timeout });
        self.attempts(run, Ok).await
    }

    /// Goes through a loop, and where one of its steps fails, through the whole loop again.
    ///
    /// # Errors
    /// The failure of the last attempt.
    pub async fn retry_loop<T, F: Future<Output = Result<T, Stop>>>(self, attempt: impl Fn(Context) -> F) -> Result<T, Stop> {
        self.tried(|key, _| attempt(self.context.of_loop(key))).await
    }

    /// Goes through branches, and where one of their steps fails, through all of them again.
    ///
    /// # Errors
    /// The failure of the last attempt.
    pub async fn retry_branches<T, F: Future<Output = Result<T, Stop>>>(self, attempt: impl Fn(Context) -> F) -> Result<T, Stop> {
        self.tried(|key, is_first| attempt(self.context.of_branches(key, is_first))).await
    }

    async fn attempts<T>(self, make: impl Fn() -> Result<Effect, Failure>, judge: impl Fn(Value) -> Result<T, Stop>) -> Result<T, Stop> {
        let (make, judge, context) = (&make, &judge, self.context);
        self.tried(|key, _| async move { context.effect(StepKey(key), make).await.and_then(judge) }).await
    }

    /// What the first attempt gives that does not fail; each is told its key, and whether it is the first.
    async fn tried<T, F: Future<Output = Result<T, Stop>>>(&self, attempt: impl Fn(SmolStr, bool) -> F) -> Result<T, Stop> {
        let base = self.context.key(self.id);
        let mut key = base.0.clone();
        let mut pause = self.retry.as_ref().map(document::Retry::first_pause).unwrap_or_default();
        let mut number = 1_u32;
        loop {
            let ended = attempt(key, number == 1).await;
            let Err(stop) = ended else { return ended };
            let stop = stop.named(|| base.clone());
            let again = self.retry.as_ref().filter(|retry| stop.may_be_tried_again() && number < retry.attempts);
            let Some(retry) = again else { return Err(stop) };
            number += 1;
            key = format_smolstr!("{base}@{number}");
            self.context.pause(&key, pause).await.map_err(|stop| stop.named(|| base.clone()))?;
            pause = retry.next_pause(pause);
        }
    }
}

/// The fields of what is written as an object.
fn fields(value: &(impl ToValue + ?Sized)) -> Object {
    match value.to_value() {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Object::default(),
    }
}

fn mismatched(tool: &str, why: &str) -> Failure {
    let message = format!("the result of {tool} is not what its schema promised when the crate was written: {why}");
    Failure { code: "result-mismatch".into(), message, step: None }
}
