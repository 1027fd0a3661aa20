//! One meaning: driving a run step by step, with ends in any order, is running it at once in the world; and going on with it is beginning it again from its history.

use super::*;
use crate::document::{Case, Catch, Retry, Step, StepKind};
use crate::expr::Expr;
use crate::expr::parse::parse;
use crate::json;
use crate::template::Template;
use crate::value::Number;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeSet;

const IDS: usize = 12;

/// An expression of this shape with a step's id in it; any id, as a step that is not visible is missing.
fn over_steps(shapes: &'static [&'static str]) -> impl Strategy<Value = Expr> {
    (proptest::sample::select(shapes), 0..IDS).prop_map(|(shape, id)| parse(&shape.replace('@', &id.to_string())).unwrap())
}

fn test() -> impl Strategy<Value = Expr> {
    over_steps(&["(steps.s@.n ?? 0) < 3", "(previous.s@.n ?? 9) > 1", "(steps.s@.n ?? 1) == 1", "loop.index == 1", "item == 1 or true"])
}

fn hole() -> impl Strategy<Value = Template> {
    over_steps(&["steps.s@ ?? 'none'", "steps.s@.n ?? omit", "previous.s@ ?? omit", "loop.index ?? 7", "error.code ?? omit", "steps.s@.n"])
        .prop_map(Template::Expr)
}

fn list() -> impl Strategy<Value = Expr> {
    over_steps(&["[1, 2, 3]", "steps.s@.items ?? [0, 1]", "[]"])
}

fn kind(depth: u32) -> BoxedStrategy<StepKind> {
    let with = || vec(hole(), 0..3).prop_map(|holes| holes.into_iter().enumerate().map(|(at, t)| (format!("a{at}").into(), t)).collect());
    let flat = prop_oneof![
        6 => with().prop_map(|with| StepKind::Call { server: "s".into(), tool: "t".into(), with }),
        1 => with().prop_map(|values| StepKind::Set { values }),
        1 => with().prop_map(|with| StepKind::Run { workflow: "w".into(), with }),
        1 => Just(StepKind::Wait { duration: Duration { millis: 5 } }),
        1 => hole().prop_map(|data| StepKind::Escalate {
            role: "r".into(),
            message: Template::Literal(Value::from("m")),
            form: None,
            data: Some(data),
            priority: None,
            triage: false,
        }),
    ];
    if depth == 0 {
        return flat.boxed();
    }
    let body = || steps(depth - 1);
    let each = (list(), option::of(test()), 1..4_u32, option::of(hole()), body())
        .prop_map(|(list, test, at_once, gather, steps)| StepKind::For { each: "item".into(), list, test, at_once, gather, steps });
    let repeat = (test(), option::of(Just(Duration { millis: 9 })), 1..4_u32, option::of(hole()), body())
        .prop_map(|(until, every, most, gather, steps)| StepKind::Repeat { until, every, at_most: Some(most), gather, steps });
    let switch = (vec((test(), body()), 0..3), option::of(body())).prop_map(|(cases, last)| {
        let mut cases: Vec<Case> = cases.into_iter().map(|(when, steps)| Case { when: Some(when), steps }).collect();
        cases.extend(last.map(|steps| Case { when: None, steps }));
        StepKind::Switch { cases }
    });
    let parallel = vec(body(), 0..4).prop_map(|branches| StepKind::Parallel { branches });
    prop_oneof![2 => flat, 2 => each, 1 => repeat, 1 => switch, 2 => parallel].boxed()
}

fn steps(depth: u32) -> BoxedStrategy<Vec<Step>> {
    let retry =
        (1..4_u32, 0..3_u64).prop_map(|(attempts, millis)| Retry { attempts, backoff: Duration { millis }, factor: Number::from(2_i64) });
    let inner = if depth == 0 { Just(Vec::new()).boxed() } else { steps(depth - 1) };
    let catch =
        (option::of(over_steps(&["error.code == 'boom'", "(steps.s@.n ?? 0) < 3"])), inner).prop_map(|(when, steps)| Catch { when, steps });
    let fail_when = over_steps(&["result.n == 1", "result.n == (steps.s@.n ?? 2)", "result.none == 1"]);
    let step = (
        option::weighted(0.2, test()),
        kind(depth),
        option::weighted(0.3, fail_when),
        option::weighted(0.3, retry),
        option::weighted(0.3, catch),
    );
    let step = step.prop_map(|(when, kind, fail_when, retry, catch)| {
        let fail_when = fail_when.filter(|_| matches!(kind, StepKind::Call { .. }));
        Step { when, fail_when, retry, catch, ..Step::new("", kind) }
    });
    vec(step, 1..4).boxed()
}

fn name_steps(steps: &mut [Step], next: &mut usize) {
    for step in steps {
        step.id = format!("s{next}").into();
        *next += 1;
        match &mut step.kind {
            StepKind::For { steps, .. } | StepKind::Repeat { steps, .. } => name_steps(steps, next),
            StepKind::Switch { cases } => cases.iter_mut().for_each(|c| name_steps(&mut c.steps, next)),
            StepKind::Parallel { branches } => branches.iter_mut().for_each(|b| name_steps(b, next)),
            StepKind::Call { .. } | StepKind::Escalate { .. } | StepKind::Wait { .. } | StepKind::Set { .. } | StepKind::Run { .. } => {}
        }
        if let Some(catch) = &mut step.catch {
            name_steps(&mut catch.steps, next);
        }
    }
}

fn workflow() -> impl Strategy<Value = Workflow> {
    (steps(2), option::of(hole())).prop_map(|(mut steps, output)| {
        name_steps(&mut steps, &mut 0);
        Workflow { steps, output, ..Workflow::new("w") }
    })
}

/// A number that follows from a seed and a text.
fn mix(seed: u64, text: &str) -> u64 {
    text.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3).rotate_left(17))
}

/// How the effect under a key ends in the world of a seed: one in `failing` fails.
fn end(seed: u64, failing: u64, key: &StepKey) -> Ended {
    let n = mix(seed, &key.0);
    if failing > 0 && n.is_multiple_of(failing) {
        let code = if n.is_multiple_of(2) { "boom" } else { "bang" };
        return Ended::Failed(Failure { code: code.into(), message: key.0.to_string(), step: None });
    }
    let items: String = (0..n % 4).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    Ended::Succeeded(json::parse(format!(r#"{{"n": {}, "items": [{items}]}}"#, n % 5).as_bytes()).unwrap())
}

struct Fake {
    seed: u64,
    failing: u64,
    performed: BTreeMap<StepKey, Effect>,
}

impl World for Fake {
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended {
        assert_eq!(self.performed.insert(key.clone(), effect), None, "{key} came twice");
        end(self.seed, self.failing, key)
    }
}

type Run = Result<Value, Failure>;

/// Drives a run from `history` on; `order` decides which of the effects end next, and how many at a time. Gives the ends in their order.
fn drive(
    workflow: &Workflow,
    seed: u64,
    failing: u64,
    mut order: u64,
    mut history: Vec<(StepKey, Ended)>,
    asked: &mut BTreeMap<StepKey, Effect>,
) -> (Run, Vec<(StepKey, Ended)>) {
    let start = Start::default();
    let mut known: BTreeMap<StepKey, Ended> = history.iter().cloned().collect();
    let recorded = known.clone();
    let mut progress = Progress::new(workflow, &start, &recorded);
    // What was begun and has not ended, also what nobody asks for any more.
    let mut begun = BTreeSet::new();
    loop {
        let (next, mut again) = (progress.next_effects(), Progress::new(workflow, &start, &known));
        let effects = match (next, again.next_effects()) {
            (Next::Done(value), begun_again) => {
                assert_eq!(begun_again, Next::Done(value.clone()));
                return (Ok(value), history);
            }
            (Next::Failed(failure), begun_again) => {
                assert_eq!(begun_again, Next::Failed(failure.clone()));
                return (Err(failure), history);
            }
            (Next::Do(new), Next::Do(effects)) => {
                for (key, effect) in new {
                    assert!(effects.contains(&(key.clone(), effect)), "{key} is not asked for by a walk from the start");
                    assert!(begun.insert(key.clone()), "{key} is asked for a second time");
                }
                effects
            }
            (next, begun_again) => panic!("{next:?} is not {begun_again:?}"),
        };
        assert_eq!(progress.stand(), again.stand(), "what is waited for, and what is left of the budget");
        drop(again);
        assert!(!effects.is_empty(), "a run that waits for nothing");
        let keys: BTreeSet<&StepKey> = effects.iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), effects.len(), "a key is there twice");
        for (key, effect) in &effects {
            assert!(!known.contains_key(key), "{key} has ended");
            assert!(begun.contains(key), "{key} was never begun");
            assert_eq!(asked.entry(key.clone()).or_insert_with(|| effect.clone()), effect, "{key} changed");
        }
        for _ in 0..=order % 3 {
            order = mix(order, "next");
            let Some(key) = begun.iter().nth(usize::try_from(order % 1000).unwrap() % begun.len().max(1)).cloned() else { break };
            begun.remove(&key);
            let ended = end(seed, failing, &key);
            history.push((key.clone(), ended.clone()));
            known.insert(key.clone(), ended.clone());
            progress.end(&key, ended);
        }
    }
}

proptest! {
    #[test]
    fn step_by_step_is_at_once(workflow in workflow(), seed in any::<u64>(), failing in prop_oneof![Just(0_u64), 3..12_u64], orders in any::<[u64; 3]>()) {
        let mut world = Fake { seed, failing, performed: BTreeMap::new() };
        let whole = run_in(&workflow, &Start::default(), &mut world);
        let [first, second, cut] = orders;

        let mut asked = BTreeMap::new();
        let (driven, ends) = drive(&workflow, seed, failing, first, Vec::new(), &mut asked);
        prop_assert_eq!(&driven, &whole);
        for (key, effect) in &world.performed {
            prop_assert_eq!(asked.get(key), Some(effect), "{}", key);
        }
        // Where nothing fails, nothing is given up: all that is asked for ends, and is what the world performs.
        let may_give_up = failing > 0 || whole.is_err() || format!("{workflow:?}").contains("catch: Some");
        if !may_give_up {
            prop_assert_eq!(&asked, &world.performed);
            prop_assert_eq!(ends.len(), asked.len());
        }

        let kept = usize::try_from(cut % 1000).unwrap() % (ends.len() + 1);
        let (resumed, _) = drive(&workflow, seed, failing, second, ends.into_iter().take(kept).collect(), &mut asked);
        prop_assert_eq!(&resumed, &whole);
    }
}
