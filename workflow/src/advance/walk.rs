//! The interpreter: walks a workflow from its start, asks for the end of each effect, and stops where there is none yet.
//!
//! It is lazy: arguments are evaluated only for an effect whose end is not known. It always ends: expressions have budgets, and the
//! number of steps that are looked at in one walk is bounded.

use super::evaluate::{Evaluator, failed_result, not_reached};
use super::frame::{Frame, Roots, StepValues, loop_name};
use super::{Effect, Ended, Failure, Start, StepKey};
use crate::document::{Case, Catch, DEFAULT_PRIORITY, Duration, Retry, Step, StepKind, Workflow};
use crate::expr::Expr;
use crate::expr::eval::{fail, with_article};
use crate::expr::print::print_short;
use crate::template::Template;
use crate::value::{Object, Value};
use smol_str::{SmolStr, format_smolstr};

/// How effects are answered.
pub(super) trait Answers {
    /// How the effect under `key` ended; `None` where it has not. `effect` makes the effect, where that is needed.
    fn answer(&mut self, key: StepKey, effect: &mut dyn FnMut() -> Result<Effect, Failure>) -> Result<Option<Ended>, Failure>;
}

/// How far a part of the walk came.
pub(super) enum Flow<T> {
    Done(T),
    /// It waits for an effect.
    Pending,
}

/// A failure, and whether an effect failed or the workflow itself did. Only the former is tried again.
struct Fault {
    failure: Failure,
    of_effect: bool,
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        Fault { failure, of_effect: false }
    }
}

/// A step's value is `None` where it is missing.
type Walked<T = Option<Value>> = Result<Flow<T>, Fault>;

/// How many steps, rounds and items one walk looks at.
const MOST_VISITS: u64 = 2_000_000;
/// How much work the expressions of one walk do together.
const MOST_WORK: u64 = 2_000_000_000;

pub(super) struct Walk<'w> {
    roots: Roots<'w>,
    answers: &'w mut dyn Answers,
    visits: u64,
    work: u64,
}

impl<'w> Walk<'w> {
    pub(super) fn new(start: &'w Start, answers: &'w mut dyn Answers) -> Walk<'w> {
        Walk { roots: Roots::new(start), answers, visits: MOST_VISITS, work: MOST_WORK }
    }

    /// The output of the whole workflow.
    pub(super) fn workflow(&mut self, workflow: &Workflow) -> Result<Flow<Value>, Failure> {
        let mut frame = Frame::outermost();
        match self.steps(&workflow.steps, "", &mut frame).map_err(|f| f.failure)? {
            Flow::Pending => Ok(Flow::Pending),
            Flow::Done(_) => {
                let output = workflow.output.as_ref().map(|output| self.template(output, &frame)).transpose()?;
                Ok(Flow::Done(output.flatten().unwrap_or_default()))
            }
        }
    }

    /// One step after the other; gives the value of the last.
    fn steps(&mut self, steps: &[Step], prefix: &str, frame: &mut Frame) -> Walked {
        let mut last = None;
        for step in steps {
            match self.step(step, prefix, frame)? {
                Flow::Pending => return Ok(Flow::Pending),
                Flow::Done(value) => {
                    if let Some(value) = &value {
                        frame.steps.insert(step.id.clone(), value.clone());
                    }
                    last = value;
                }
            }
        }
        Ok(Flow::Done(last))
    }

    fn step(&mut self, step: &Step, prefix: &str, frame: &mut Frame) -> Walked {
        self.visit()?;
        let key = format_smolstr!("{prefix}{}", step.id);
        let named = |mut fault: Fault| {
            fault.failure.step.get_or_insert_with(|| StepKey(key.clone()));
            fault
        };
        if let Some(when) = &step.when
            && !self.test(when, frame).map_err(|f| named(f.into()))?
        {
            return Ok(Flow::Done(None));
        }
        match (self.attempts(step, prefix, &key, frame).map_err(named), &step.catch) {
            (Err(fault), Some(catch)) => self.catch(catch, fault, prefix, frame).map_err(named),
            (walked, _) => walked,
        }
    }

    /// The step's kind, tried again as `retry` says.
    fn attempts(&mut self, step: &Step, prefix: &str, key: &SmolStr, frame: &mut Frame) -> Walked {
        let mut attempt_key = key.clone();
        // Steps inside a branch stand beside the step that branches; in a further attempt of it they stand below that attempt.
        let mut branch_prefix = SmolStr::new(prefix);
        let mut pause = step.retry.as_ref().map(Retry::first_pause).unwrap_or_default();
        let mut attempt = 1_u32;
        loop {
            let fault = match self.kind(step, &attempt_key, &branch_prefix, frame) {
                Err(fault) if fault.of_effect => fault,
                walked => return walked,
            };
            let Some(retry) = step.retry.as_ref().filter(|r| attempt < r.attempts) else { return Err(fault) };
            attempt += 1;
            self.visit()?;
            attempt_key = format_smolstr!("{key}@{attempt}");
            branch_prefix = format_smolstr!("{attempt_key}/");
            if let Flow::Pending = self.pause(&attempt_key, pause)? {
                return Ok(Flow::Pending);
            }
            pause = retry.next_pause(pause);
        }
    }

    fn catch(&mut self, catch: &Catch, fault: Fault, prefix: &str, frame: &mut Frame) -> Walked {
        let failure = &fault.failure;
        let mut entries = vec![
            (SmolStr::new_static("code"), Value::String(failure.code.clone())),
            (SmolStr::new_static("message"), Value::from(failure.message.as_str())),
        ];
        entries.extend(failure.step.as_ref().map(|s| (SmolStr::new_static("step"), Value::String(s.0.clone()))));
        let error = (SmolStr::new_static("error"), Value::Object(Object::from_entries(entries)));
        let mut inner = frame.inside(vec![error]);
        let caught = catch.when.as_ref().map_or(Ok(true), |when| self.test(when, &inner))?;
        if !caught {
            return Err(fault);
        }
        let walked = self.steps(&catch.steps, prefix, &mut inner)?;
        let values = inner.steps;
        Ok(keep(walked, values, frame))
    }

    fn kind(&mut self, step: &Step, key: &SmolStr, branch_prefix: &str, frame: &mut Frame) -> Walked {
        match &step.kind {
            StepKind::Call { server, tool, with } => {
                let called = self.effect(key, frame, |walk, frame| {
                    let (server, tool, arguments) = (server.clone(), tool.clone(), walk.arguments(with, frame)?);
                    Ok(Effect::Call { server, tool, arguments, timeout: step.timeout })
                })?;
                match (&step.fail_when, called) {
                    (Some(test), Flow::Done(Some(result))) => self.judged(test, result, frame),
                    (_, called) => Ok(called),
                }
            }
            StepKind::Run { workflow, with } => self.effect(key, frame, |walk, frame| {
                let (workflow, input) = (workflow.clone(), walk.arguments(with, frame)?);
                Ok(Effect::Run { workflow, input, timeout: step.timeout })
            }),
            StepKind::Escalate { role, message, form, data, priority, triage } => self.effect(key, frame, |walk, frame| {
                Ok(Effect::Escalate {
                    role: role.clone(),
                    message: walk.message(message, frame)?,
                    form: form.clone(),
                    data: data.as_ref().map(|d| walk.template(d, frame)).transpose()?.flatten(),
                    priority: priority.unwrap_or(DEFAULT_PRIORITY),
                    triage: *triage,
                    timeout: step.timeout,
                })
            }),
            StepKind::Wait { duration } => self.effect(key, frame, |_, _| Ok(Effect::Sleep(*duration))),
            StepKind::Set { values } => Ok(Flow::Done(Some(Value::Object(self.arguments(values, frame)?)))),
            StepKind::For { each, list, test, at_once, gather, steps } => {
                let body = Loop { key, test: test.as_ref(), gather: gather.as_ref(), steps };
                self.for_each(&body, each, list, *at_once, frame)
            }
            StepKind::Repeat { until, every, at_most, gather, steps } => {
                let body = Loop { key, test: Some(until), gather: gather.as_ref(), steps };
                self.repeat(&body, *every, *at_most, frame)
            }
            StepKind::Switch { cases } => self.switch(cases, branch_prefix, frame),
            StepKind::Parallel { branches } => self.parallel(branches, branch_prefix, frame),
        }
    }

    /// The result of a call, unless it is a failure that the server reports inside of a success.
    fn judged(&mut self, test: &Expr, result: Value, frame: &Frame) -> Walked {
        let inner = frame.inside(vec![(SmolStr::new_static("result"), result.clone())]);
        if !self.test(test, &inner)? {
            return Ok(Flow::Done(Some(result)));
        }
        Err(Fault { failure: failed_result(&print_short(test), &result), of_effect: true })
    }

    fn for_each(&mut self, body: &Loop, each: &SmolStr, list: &Expr, at_once: u32, frame: &mut Frame) -> Walked {
        let items = match self.expression(list, frame)? {
            Some(Value::Array(items)) => items,
            other => {
                let found = other.map_or("omitted".to_string(), |v| with_article(v.type_name()));
                return Err(fail("wrong-type", format!("`{}` is {found}, no list", print_short(list))).into());
            }
        };
        let (mut gathered, mut pending) = (Vec::new(), 0_u32);
        for (index, item) in items.iter().enumerate() {
            let mut inner = frame.inside(vec![(each.clone(), item.clone()), loop_name(index)]);
            match self.iteration(body, index, &mut inner) {
                Ok(Flow::Done(value)) => gathered.extend(value),
                Ok(Flow::Pending) => pending += 1,
                // Those before it may still fail, and the first failure in the list's order is the loop's.
                Err(_) if pending > 0 => return Ok(Flow::Pending),
                Err(fault) => return Err(fault),
            }
            if pending >= at_once.max(1) {
                break;
            }
        }
        match (pending, body.gather) {
            (0, Some(_)) => Ok(Flow::Done(Some(Value::array(gathered)))),
            (0, None) => Ok(Flow::Done(Some(Value::Null))),
            (_, _) => Ok(Flow::Pending),
        }
    }

    /// One item of a `for`: what is gathered of it, if anything.
    fn iteration(&mut self, body: &Loop, index: usize, inner: &mut Frame) -> Walked {
        self.visit()?;
        if let Some(test) = body.test
            && !self.test(test, inner)?
        {
            return Ok(Flow::Done(None));
        }
        match self.steps(body.steps, &format!("{}[{index}]/", body.key), inner)? {
            Flow::Pending => Ok(Flow::Pending),
            Flow::Done(_) => Ok(Flow::Done(self.gather(body, inner)?)),
        }
    }

    fn repeat(&mut self, body: &Loop, every: Option<Duration>, at_most: Option<u32>, frame: &mut Frame) -> Walked {
        let (mut gathered, mut previous, mut round) = (Vec::new(), StepValues::new(), 0_u32);
        loop {
            self.visit()?;
            if at_most.is_some_and(|most| round >= most) {
                return Err(not_reached(round, &body.test.map(print_short).unwrap_or_default()).into());
            }
            let round_key = format_smolstr!("{}[{round}]", body.key);
            if round > 0
                && let Flow::Pending = self.pause(&round_key, every.unwrap_or_default())?
            {
                return Ok(Flow::Pending);
            }
            let index = usize::try_from(round).unwrap_or(usize::MAX);
            let mut inner = frame.inside(vec![loop_name(index)]).after(&previous);
            let Flow::Done(last) = self.steps(body.steps, &format!("{round_key}/"), &mut inner)? else { return Ok(Flow::Pending) };
            gathered.extend(self.gather(body, &inner)?);
            if body.test.map_or(Ok(true), |until| self.test(until, &inner))? {
                return Ok(Flow::Done(if body.gather.is_some() { Some(Value::array(gathered)) } else { last }));
            }
            previous = inner.steps;
            round = round.saturating_add(1);
        }
    }

    fn switch(&mut self, cases: &[Case], prefix: &str, frame: &mut Frame) -> Walked {
        for case in cases {
            if case.when.as_ref().map_or(Ok(true), |when| self.test(when, frame))? {
                let mut inner = frame.inside(Vec::new());
                let walked = self.steps(&case.steps, prefix, &mut inner)?;
                let values = inner.steps;
                return Ok(keep(walked, values, frame));
            }
        }
        Ok(Flow::Done(None))
    }

    /// Branches do not see each other; what is behind the step sees all of them.
    fn parallel(&mut self, branches: &[Vec<Step>], prefix: &str, frame: &mut Frame) -> Walked {
        let (mut values, mut pending) = (StepValues::new(), false);
        for branch in branches {
            let mut inner = frame.inside(Vec::new());
            match self.steps(branch, prefix, &mut inner) {
                Ok(Flow::Done(_)) => values.append(&mut inner.steps),
                Ok(Flow::Pending) => pending = true,
                // As in `for`: the first failure in the document's order is the step's.
                Err(_) if pending => return Ok(Flow::Pending),
                Err(fault) => return Err(fault),
            }
        }
        let walked = if pending { Flow::Pending } else { Flow::Done(Some(Value::Null)) };
        Ok(keep(walked, values, frame))
    }

    fn gather(&mut self, body: &Loop, frame: &Frame) -> Result<Option<Value>, Failure> {
        body.gather.map_or(Ok(None), |gather| self.template(gather, frame))
    }

    /// The timer before an attempt or a round.
    fn pause(&mut self, key: &SmolStr, duration: Duration) -> Walked<()> {
        if duration.millis == 0 {
            return Ok(Flow::Done(()));
        }
        let key = StepKey(format_smolstr!("{key}@wait"));
        match self.answers.answer(key, &mut || Ok(Effect::Sleep(duration)))? {
            None => Ok(Flow::Pending),
            Some(Ended::Succeeded(_)) => Ok(Flow::Done(())),
            Some(Ended::Failed(failure)) => Err(Fault { failure, of_effect: true }),
        }
    }

    fn effect(&mut self, key: &SmolStr, frame: &Frame, make: impl Fn(&mut Evaluator, &Frame) -> Result<Effect, Failure>) -> Walked {
        // Not `self.evaluator()`, which would borrow the answers too.
        let mut evaluator = Evaluator { roots: &self.roots, work: &mut self.work };
        match self.answers.answer(StepKey(key.clone()), &mut || make(&mut evaluator, frame))? {
            None => Ok(Flow::Pending),
            Some(Ended::Succeeded(value)) => Ok(Flow::Done(Some(value))),
            Some(Ended::Failed(failure)) => Err(Fault { failure, of_effect: true }),
        }
    }

    fn visit(&mut self) -> Result<(), Failure> {
        match self.visits.checked_sub(1) {
            Some(left) => self.visits = left,
            None => return Err(fail("too-much-work", format!("the run looks at more than {MOST_VISITS} steps"))),
        }
        Ok(())
    }

    fn evaluator(&mut self) -> Evaluator<'_> {
        Evaluator { roots: &self.roots, work: &mut self.work }
    }

    fn template(&mut self, template: &Template, frame: &Frame) -> Result<Option<Value>, Failure> {
        self.evaluator().template(template, frame)
    }

    fn arguments(&mut self, entries: &[(SmolStr, Template)], frame: &Frame) -> Result<Object, Failure> {
        self.evaluator().arguments(entries, frame)
    }

    fn expression(&mut self, expr: &Expr, frame: &Frame) -> Result<Option<Value>, Failure> {
        self.evaluator().expression(expr, frame)
    }

    fn test(&mut self, expr: &Expr, frame: &Frame) -> Result<bool, Failure> {
        self.evaluator().test(expr, frame)
    }
}

/// What `for` and `repeat` have in common.
struct Loop<'l> {
    key: &'l SmolStr,
    test: Option<&'l Expr>,
    gather: Option<&'l Template>,
    steps: &'l [Step],
}

/// Takes the values of a branch's steps over where the branch is done.
fn keep<T>(walked: Flow<T>, mut values: StepValues, frame: &mut Frame) -> Flow<T> {
    if let Flow::Done(_) = walked {
        frame.steps.append(&mut values);
    }
    walked
}
