//! The interpreter: walks a workflow from its start, and waits at each effect for its end.
//!
//! It is lazy: arguments are evaluated only for an effect whose end is not known. It always ends: expressions have budgets, and the
//! number of steps that are looked at in one walk is bounded.

use super::asking::Asking;
use super::at_once::Part;
use super::evaluate::{Evaluator, Left, failed_result, not_reached};
use super::frame::{Frame, StepValues, loop_name};
use super::{Effect, Ended, Failure, Start, StepKey};
use crate::document::{Case, Catch, DEFAULT_PRIORITY, Duration, Retry, Step, StepKind, Workflow};
use crate::expr::Expr;
use crate::expr::eval::{fail, with_article};
use crate::expr::print::print_short;
use crate::template::Template;
use crate::value::{Object, Value};
use smol_str::{SmolStr, format_smolstr};
use std::sync::Arc;

/// A failure, and whether an effect failed or the workflow itself did. Only the former is tried again.
pub(super) struct Fault {
    failure: Failure,
    of_effect: bool,
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        Fault { failure, of_effect: false }
    }
}

/// A step's value is `None` where it is missing.
type Walked<T = Option<Value>> = Result<T, Fault>;

/// How many of the iterations or branches that may go on at once do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As many as may.
    AtOnce,
    /// One: effects are asked for one after the other, in the order of the document.
    InTurn,
}

pub(super) struct Walk<'w> {
    pub(super) evaluator: Evaluator<'w>,
    asking: Arc<Asking<'w>>,
    pace: Pace,
}

impl<'w> Walk<'w> {
    pub(super) fn new(start: &'w Start, asking: Arc<Asking<'w>>, pace: Pace) -> Walk<'w> {
        Walk { evaluator: Evaluator::new(start), asking, pace }
    }

    /// The output of the whole workflow.
    pub(super) async fn workflow(&self, workflow: &Workflow) -> Result<Value, Failure> {
        let mut frame = Frame::outermost();
        self.steps(&workflow.steps, "", &mut frame).await.map_err(|fault| fault.failure)?;
        let output = workflow.output.as_ref().map(|output| self.evaluator.template(output, &frame)).transpose()?;
        Ok(output.flatten().unwrap_or_default())
    }

    /// One step after the other; gives the value of the last.
    fn steps<'a>(&'a self, steps: &'a [Step], prefix: &'a str, frame: &'a mut Frame<'_>) -> Part<'a, Option<Value>> {
        Box::pin(async move {
            let mut last = None;
            for step in steps {
                last = self.step(step, prefix, frame).await?;
                if let Some(value) = &last {
                    frame.steps.insert(step.id.clone(), value.clone());
                }
            }
            Ok(last)
        })
    }

    async fn step(&self, step: &Step, prefix: &str, frame: &mut Frame<'_>) -> Walked {
        self.evaluator.visit()?;
        let key = format_smolstr!("{prefix}{}", step.id);
        let named = |mut fault: Fault| {
            fault.failure.step.get_or_insert_with(|| StepKey(key.clone()));
            fault
        };
        if let Some(when) = &step.when
            && !self.evaluator.test(when, frame).map_err(|f| named(f.into()))?
        {
            return Ok(None);
        }
        match (self.attempts(step, prefix, &key, frame).await.map_err(named), &step.catch) {
            (Err(fault), Some(catch)) => self.catch(catch, fault, prefix, frame).await.map_err(named),
            (walked, _) => walked,
        }
    }

    /// The step's kind, tried again as `retry` says.
    async fn attempts(&self, step: &Step, prefix: &str, key: &SmolStr, frame: &mut Frame<'_>) -> Walked {
        let mut attempt_key = key.clone();
        // Steps inside a branch stand beside the step that branches; in a further attempt of it they stand below that attempt.
        let mut branch_prefix = SmolStr::new(prefix);
        let mut pause = step.retry.as_ref().map(Retry::first_pause).unwrap_or_default();
        let mut attempt = 1_u32;
        loop {
            let fault = match self.kind(step, &attempt_key, &branch_prefix, frame).await {
                Err(fault) if fault.of_effect => fault,
                walked => return walked,
            };
            let Some(retry) = step.retry.as_ref().filter(|r| attempt < r.attempts) else { return Err(fault) };
            attempt += 1;
            self.evaluator.visit()?;
            attempt_key = format_smolstr!("{key}@{attempt}");
            branch_prefix = format_smolstr!("{attempt_key}/");
            self.pause(&attempt_key, pause).await?;
            pause = retry.next_pause(pause);
        }
    }

    async fn catch(&self, catch: &Catch, fault: Fault, prefix: &str, frame: &mut Frame<'_>) -> Walked {
        let failure = &fault.failure;
        let mut entries = vec![
            (SmolStr::new_static("code"), Value::String(failure.code.clone())),
            (SmolStr::new_static("message"), Value::from(failure.message.as_str())),
        ];
        entries.extend(failure.step.as_ref().map(|s| (SmolStr::new_static("step"), Value::String(s.0.clone()))));
        let error = (SmolStr::new_static("error"), Value::Object(Object::from_entries(entries)));
        let mut inner = frame.inside(vec![error]);
        let caught = catch.when.as_ref().map_or(Ok(true), |when| self.evaluator.test(when, &inner))?;
        if !caught {
            return Err(fault);
        }
        let value = self.steps(&catch.steps, prefix, &mut inner).await?;
        let mut values = inner.steps;
        frame.steps.append(&mut values);
        Ok(value)
    }

    async fn kind(&self, step: &Step, key: &SmolStr, branch_prefix: &str, frame: &mut Frame<'_>) -> Walked {
        match &step.kind {
            StepKind::Call { server, tool, with } => {
                let called = self.effect(key, frame, |evaluator, frame| {
                    let (server, tool, arguments) = (server.clone(), tool.clone(), evaluator.arguments(with, frame)?);
                    Ok(Effect::Call { server, tool, arguments, timeout: step.timeout })
                });
                match (&step.fail_when, called.await?) {
                    (Some(test), Some(result)) => self.judged(test, result, frame),
                    (_, called) => Ok(called),
                }
            }
            StepKind::Run { workflow, with } => {
                let run = self.effect(key, frame, |evaluator, frame| {
                    let (workflow, input) = (workflow.clone(), evaluator.arguments(with, frame)?);
                    Ok(Effect::Run { workflow, input, timeout: step.timeout })
                });
                run.await
            }
            StepKind::Escalate { role, message, form, data, priority, triage } => {
                let asked = self.effect(key, frame, |evaluator, frame| {
                    Ok(Effect::Escalate {
                        role: role.clone(),
                        message: evaluator.message(message, frame)?,
                        form: form.clone(),
                        data: data.as_ref().map(|d| evaluator.template(d, frame)).transpose()?.flatten(),
                        priority: priority.unwrap_or(DEFAULT_PRIORITY),
                        triage: *triage,
                        timeout: step.timeout,
                    })
                });
                asked.await
            }
            StepKind::Wait { duration } => self.effect(key, frame, |_, _| Ok(Effect::Sleep(*duration))).await,
            StepKind::Set { values } => Ok(Some(Value::Object(self.evaluator.arguments(values, frame)?))),
            StepKind::For { each, list, test, at_once, gather, steps } => {
                let body = Loop { key, test: test.as_ref(), gather: gather.as_ref(), steps };
                self.for_each(&body, each, list, *at_once, frame).await
            }
            StepKind::Repeat { until, every, at_most, gather, steps } => {
                let body = Loop { key, test: Some(until), gather: gather.as_ref(), steps };
                self.repeat(&body, *every, *at_most, frame).await
            }
            StepKind::Switch { cases } => self.switch(cases, branch_prefix, frame).await,
            StepKind::Parallel { branches } => self.parallel(branches, branch_prefix, frame).await,
        }
    }

    /// The result of a call, unless it is a failure that the server reports inside of a success.
    fn judged(&self, test: &Expr, result: Value, frame: &Frame<'_>) -> Walked {
        let inner = frame.inside(vec![(SmolStr::new_static("result"), result.clone())]);
        if !self.evaluator.test(test, &inner)? {
            return Ok(Some(result));
        }
        Err(Fault { failure: failed_result(&print_short(test), &result), of_effect: true })
    }

    async fn for_each(&self, body: &Loop<'_>, each: &SmolStr, list: &Expr, at_once: u32, frame: &mut Frame<'_>) -> Walked {
        let items = match self.evaluator.expression(list, frame)? {
            Some(Value::Array(items)) => items,
            other => {
                let found = other.map_or("omitted".to_string(), |v| with_article(v.type_name()));
                return Err(fail("wrong-type", format!("`{}` is {found}, no list", print_short(list))).into());
            }
        };
        let (outer, items): (&Frame, &[Value]) = (frame, &items);
        let iteration = |index: usize| -> Part<'_, Option<Value>> {
            Box::pin(async move {
                let Some(item) = items.get(index) else { return Ok(None) };
                let mut inner = outer.inside(vec![(each.clone(), item.clone()), loop_name(index)]);
                self.iteration(body, index, &mut inner).await
            })
        };
        let gathered = self.at_once(items.len(), self.most(at_once), iteration).await?;
        Ok(Some(body.gather.map_or(Value::Null, |_| Value::array(gathered.into_iter().flatten().collect()))))
    }

    /// How many that may go on at once do.
    fn most(&self, at_once: u32) -> usize {
        match self.pace {
            Pace::AtOnce => usize::try_from(at_once.max(1)).unwrap_or(usize::MAX),
            Pace::InTurn => 1,
        }
    }

    /// One item of a `for`: what is gathered of it, if anything.
    async fn iteration(&self, body: &Loop<'_>, index: usize, inner: &mut Frame<'_>) -> Walked {
        self.evaluator.visit()?;
        if let Some(test) = body.test
            && !self.evaluator.test(test, inner)?
        {
            return Ok(None);
        }
        self.steps(body.steps, &format!("{}[{index}]/", body.key), inner).await?;
        Ok(self.gather(body, inner)?)
    }

    async fn repeat(&self, body: &Loop<'_>, every: Option<Duration>, at_most: Option<u32>, frame: &mut Frame<'_>) -> Walked {
        let (mut gathered, mut previous, mut round) = (Vec::new(), StepValues::new(), 0_u32);
        loop {
            self.evaluator.visit()?;
            if at_most.is_some_and(|most| round >= most) {
                return Err(not_reached(round, &body.test.map(print_short).unwrap_or_default()).into());
            }
            let round_key = format_smolstr!("{}[{round}]", body.key);
            if round > 0 {
                self.pause(&round_key, every.unwrap_or_default()).await?;
            }
            let index = usize::try_from(round).unwrap_or(usize::MAX);
            let mut inner = frame.inside(vec![loop_name(index)]).after(&previous);
            let last = self.steps(body.steps, &format!("{round_key}/"), &mut inner).await?;
            gathered.extend(self.gather(body, &inner)?);
            if body.test.map_or(Ok(true), |until| self.evaluator.test(until, &inner))? {
                return Ok(if body.gather.is_some() { Some(Value::array(gathered)) } else { last });
            }
            previous = inner.steps;
            round = round.saturating_add(1);
        }
    }

    async fn switch(&self, cases: &[Case], prefix: &str, frame: &mut Frame<'_>) -> Walked {
        for case in cases {
            if case.when.as_ref().map_or(Ok(true), |when| self.evaluator.test(when, frame))? {
                let mut inner = frame.inside(Vec::new());
                let value = self.steps(&case.steps, prefix, &mut inner).await?;
                let mut values = inner.steps;
                frame.steps.append(&mut values);
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// Branches do not see each other; what is behind the step sees all of them.
    async fn parallel(&self, branches: &[Vec<Step>], prefix: &str, frame: &mut Frame<'_>) -> Walked {
        let outer: &Frame<'_> = frame;
        let branch = |index: usize| -> Part<'_, StepValues> {
            Box::pin(async move {
                let mut inner = outer.inside(Vec::new());
                self.steps(branches.get(index).map_or(&[], Vec::as_slice), prefix, &mut inner).await?;
                Ok(inner.steps)
            })
        };
        for mut values in self.at_once(branches.len(), self.most(u32::MAX), branch).await? {
            frame.steps.append(&mut values);
        }
        Ok(Some(Value::Null))
    }

    fn gather(&self, body: &Loop<'_>, frame: &Frame<'_>) -> Result<Option<Value>, Failure> {
        body.gather.map_or(Ok(None), |gather| self.evaluator.template(gather, frame))
    }

    /// The timer before an attempt or a round.
    async fn pause(&self, key: &SmolStr, duration: Duration) -> Walked<()> {
        if duration.millis == 0 {
            return Ok(());
        }
        value(self.asking.answer(StepKey(format_smolstr!("{key}@wait")), || Ok(Effect::Sleep(duration))).await?).map(drop)
    }

    async fn effect(
        &self,
        key: &SmolStr,
        frame: &Frame<'_>,
        make: impl FnOnce(&Evaluator<'_>, &Frame<'_>) -> Result<Effect, Failure>,
    ) -> Walked {
        let before = self.evaluator.left();
        let mut used = Left::default();
        let make = || {
            let effect = make(&self.evaluator, frame);
            used = before.without(self.evaluator.left());
            effect
        };
        let ended = self.asking.answer(StepKey(key.clone()), make).await?;
        if self.pace == Pace::AtOnce {
            // A walk that began now would not make it, and both are to have the same left.
            self.evaluator.give_back(used);
        }
        value(ended).map(Some)
    }
}

fn value(ended: Ended) -> Walked<Value> {
    match ended {
        Ended::Succeeded(value) => Ok(value),
        Ended::Failed(failure) => Err(Fault { failure, of_effect: true }),
    }
}

/// What `for` and `repeat` have in common.
struct Loop<'l> {
    key: &'l SmolStr,
    test: Option<&'l Expr>,
    gather: Option<&'l Template>,
    steps: &'l [Step],
}
