//! Laws of the journal, for random workflows: a run that is cut off anywhere and taken up again ends as it does in one go, never does again what has
//! ended, asks before it does a write twice, and gives no secret to its store.

#[path = "journal/memory.rs"]
mod memory;
#[path = "journal/world.rs"]
mod world;

use ltc_runtime::durable::{Interrupted, Stop};
use ltc_runtime::engine::{self, Rest};
use ltc_runtime::journal::{self, Journal, Kept};
use ltc_runtime::observe::Unobserved;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::store::{Event, RunId, RunRest, StoreError, What, WorkerId};
use ltc_workflow::advance::Start;
use ltc_workflow::{Value, Workflow, json, yaml};
use memory::{Cut, Memory};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::watch;
use world::Scripted;

const SECRET: &str = "hunter-2-of-4711";
const NUMBER: &str = "86753090001";

/// A step of a random workflow.
#[derive(Clone, Debug)]
enum Node {
    Read,
    Put,
    Write,
    Flaky,
    Caught,
    Wait,
    Ask,
    Child,
    Each(u32, Vec<Node>),
    Branches(Vec<Vec<Node>>),
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    use Node::*;
    let leaf = prop_oneof![
        3 => Just(Read), 2 => Just(Put), 4 => Just(Write), 1 => Just(Flaky), 1 => Just(Caught), 1 => Just(Wait), 1 => Just(Ask), 1 => Just(Child),
    ];
    let node = leaf.prop_recursive(2, 10, 3, |inner| {
        let steps = || proptest::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (1..4_u32, steps()).prop_map(|(at_once, steps)| Each(at_once, steps)),
            proptest::collection::vec(steps(), 2..4).prop_map(Branches),
        ]
    });
    proptest::collection::vec(node, 1..5)
}

/// Writes the steps as JSON, which is YAML. The newest read that can be seen goes into the arguments of what comes after it.
struct Printer {
    count: usize,
    ids: Vec<String>,
}

impl Printer {
    fn steps(&mut self, nodes: &[Node], seen: Option<usize>) -> String {
        let mut seen = seen;
        let steps: Vec<String> = nodes.iter().map(|node| self.step(node, &mut seen)).collect();
        format!("[{}]", steps.join(","))
    }

    fn step(&mut self, node: &Node, seen: &mut Option<usize>) -> String {
        self.count += 1;
        let number = self.count;
        let id = format!(r#""id":"s{number}""#);
        let tick = seen.map_or_else(|| "none".to_owned(), |read| format!("${{{{ steps.s{read}.tick }}}}"));
        let with = format!(r#""with":{{"name":"{number}","tick":"{tick}","key":"${{{{ secrets.KEY }}}}"}}"#);
        let mut out = |value: &str| self.ids.push(format!("${{{{ {value} ?? null }}}}"));
        match node {
            Node::Read => {
                *seen = Some(number);
                format!(r#"{{{id},"call":"s/read",{with}}}"#)
            }
            Node::Put => format!(r#"{{{id},"call":"s/put",{with}}}"#),
            Node::Write => {
                out(&format!("steps.s{number}.name"));
                format!(r#"{{{id},"call":"s/write",{with}}}"#)
            }
            Node::Flaky => format!(r#"{{{id},"call":"s/flaky",{with},"retry":{{"attempts":3,"backoff":"3ms"}}}}"#),
            Node::Caught => {
                let inner = format!(r#"{{"id":"c{number}","call":"s/write",{with}}}"#);
                format!(r#"{{{id},"call":"s/fail",{with},"catch":{{"steps":[{inner}]}}}}"#)
            }
            Node::Wait => format!(r#"{{{id},"wait":"4ms"}}"#),
            Node::Ask => {
                out(&format!("steps.s{number}"));
                format!(r#"{{{id},"escalate":{{"role":"r","message":"${{{{ secrets.KEY }}}}?"}}}}"#)
            }
            Node::Child => {
                out(&format!("steps.s{number}"));
                format!(r#"{{{id},"run":"child","with":{{"name":"{number}"}}}}"#)
            }
            Node::Each(at_once, nodes) => {
                // What is in a loop is not seen behind it.
                let outer = self.ids.len();
                let steps = self.steps(nodes, *seen);
                self.ids.truncate(outer);
                format!(r#"{{{id},"for":{{"each":"n{number}","in":"${{{{ [1, 2, 3] }}}}","at_once":{at_once}}},"steps":{steps}}}"#)
            }
            Node::Branches(branches) => {
                let branches: Vec<String> = branches.iter().map(|nodes| format!(r#"{{"steps":{}}}"#, self.steps(nodes, *seen))).collect();
                format!(r#"{{{id},"parallel":[{}]}}"#, branches.join(","))
            }
        }
    }
}

fn read(text: &str) -> Workflow {
    yaml::read(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn workflow(nodes: &[Node]) -> Workflow {
    let mut printer = Printer { count: 0, ids: Vec::new() };
    let steps = printer.steps(nodes, None);
    let output: Vec<String> = printer.ids.iter().map(|id| json::quote(id)).collect();
    let head = r#""workflow":"w","version":1,"secrets":["KEY"],"servers":{"s":{}}"#;
    read(&format!(r#"{{{head},"steps":{steps},"output":[{}]}}"#, output.join(",")))
}

fn child() -> Workflow {
    read(
        r#"{"workflow":"child","version":1,"inputs":{"name":{}},"servers":{"s":{}},"steps":[
            {"id":"one","call":"s/write","with":{"name":"one"}},
            {"id":"two","parallel":[{"steps":[{"id":"x","call":"s/read"}]},{"steps":[{"id":"y","call":"s/write","with":{"name":"y"}}]}]}
        ],"output":"${{ [inputs.name, steps.one.name, steps.y.name] }}"}"#,
    )
}

fn start() -> Start {
    Start { secrets: [("KEY".into(), SECRET.into()), ("NUMBER".into(), NUMBER.into())].into_iter().collect(), ..Start::default() }
}

fn redactor() -> Redactor {
    Redactor::new([("KEY", SECRET), ("NUMBER", NUMBER)])
}

/// A run, what it acts on, and where it is kept.
struct Trial {
    workflow: Workflow,
    store: Arc<Memory>,
    world: Arc<Scripted>,
}

impl Trial {
    fn new(workflow: Workflow, pause: u64) -> Trial {
        let cut = Cut::default();
        let store = Arc::new(Memory::new(cut.clone(), pause));
        Trial { workflow, world: Arc::new(Scripted::new(child(), cut, store.clone())), store }
    }

    fn journal(&self) -> Journal {
        let kept = Kept::new(self.store.clone(), RunId("r".into()), WorkerId("w".into()), redactor());
        Journal::kept(kept, self.store.journal(), self.world.clone(), Arc::new(Unobserved), watch::channel(None).1)
    }

    /// Runs until it rests or is cut off at the nth of the points at which something happens; `None` where it was cut off.
    async fn go(&self, cut_at: Option<usize>) -> Option<Rest> {
        self.store.cut.set(cut_at);
        let journal = self.journal();
        let start = start();
        let going = async {
            let rest = engine::run(&self.workflow, &start, &journal, &Unobserved).await;
            let kept = match &rest {
                Rest::Done(output) => RunRest::Done(output.clone()),
                Rest::Failed(failure) => RunRest::Failed(failure.clone()),
                Rest::Waiting { wake_at, steps: _ } => RunRest::Waiting { wake_at: *wake_at },
                Rest::Interrupted(interrupted) => panic!("{interrupted:?}"),
            };
            journal.rest(kept).await.expect("it is written");
            rest
        };
        tokio::select! {
            biased;
            () = self.store.cut.reached() => None,
            rest = going => Some(rest),
        }
    }

    /// Answers all that is asked, as somebody does who looks what was done.
    fn answer(&self) {
        for (key, is_in_doubt) in self.store.questions() {
            let answer = match (is_in_doubt, self.world.done(&key)) {
                (false, _) => Value::from("yes"),
                (true, Some(value)) => Value::Object([("outcome", Value::from("done")), ("result", value)].into_iter().collect()),
                (true, None) => Value::Object([("outcome", Value::from("again"))].into_iter().collect()),
            };
            let verdict = if is_in_doubt { journal::verdict(&key, &answer) } else { None };
            if verdict == Some(journal::Verdict::Again) {
                self.world.may_repeat(&key);
            }
            self.store.answer(&key, verdict.map_or(What::Succeeded(answer), journal::Verdict::event));
        }
    }

    /// To the end, with these cuts on the way.
    async fn end(&self, cuts: &[usize]) -> Rest {
        let mut cuts = cuts.iter();
        for _ in 0..100 {
            match self.go(cuts.next().copied()).await {
                Some(Rest::Waiting { .. }) => self.answer(),
                Some(rest) => return rest,
                None => self.world.has_been_cut(&ends(&self.store.journal())),
            }
        }
        panic!("it never ends");
    }

    fn check(&self) {
        let wrong = self.world.wrong();
        assert!(wrong.is_empty(), "{wrong:?}");
        let ends: Vec<_> = ends(&self.store.journal());
        let unique: BTreeSet<_> = ends.iter().collect();
        assert_eq!(unique.len(), ends.len(), "a step ended twice");
        for key in self.world.called() {
            assert!(unique.contains(&key), "the end of {key} is not in the journal");
        }
        let given = self.store.given();
        assert!(!given.contains(SECRET) && !given.contains(NUMBER), "{given}");
    }
}

fn ends(events: &[Event]) -> Vec<String> {
    let is_end = |event: &&Event| matches!(event.what, What::Succeeded(_) | What::Failed(_));
    events.iter().filter(is_end).map(|event| event.key.0.to_string()).collect()
}

fn now(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_that_is_cut_off_anywhere_ends_as_in_one_go(nodes in nodes(), cuts in proptest::collection::vec(0..1000_usize, 1..5), pause in 0..4_u64) {
        now(async {
            let workflow = workflow(&nodes);
            let whole = Trial::new(workflow.clone(), pause);
            let rest = whole.end(&[]).await;
            prop_assert_done(&rest);
            whole.check();
            let points = whole.store.cut.points();
            // One long cut, then others in what is left.
            let cuts: Vec<usize> = cuts.iter().map(|part| part * points / 1000).collect();
            let cut = Trial::new(workflow, pause);
            assert_eq!(cut.end(&cuts).await, rest);
            cut.check();
        });
    }
}

fn prop_assert_done(rest: &Rest) {
    assert!(matches!(rest, Rest::Done(_)), "{rest:?}");
}

fn cases() -> u32 {
    if std::env::var_os("LTC_SLOW").is_some() { 4000 } else { 60 }
}

/// Every point of one workflow that has everything in it.
#[test]
fn a_cut_at_every_single_point_loses_nothing() {
    use Node::*;
    let nodes =
        [Read, Branches(vec![vec![Write, Put, Ask], vec![Child, Write], vec![Flaky, Wait]]), Each(2, vec![Read, Put, Write]), Caught];
    now(async {
        let workflow = workflow(&nodes);
        let whole = Trial::new(workflow.clone(), 2);
        let rest = whole.end(&[]).await;
        whole.check();
        let points = whole.store.cut.points();
        assert!(points > 60, "{points}");
        for point in 0..points {
            let cut = Trial::new(workflow.clone(), 2);
            assert_eq!(cut.end(&[point]).await, rest, "cut at {point}");
            cut.check();
        }
    });
}

#[test]
fn a_step_costs_one_commit_and_the_last_end_goes_with_the_rest() {
    now(async {
        for (node, commits) in [(Node::Write, 10 + 1), (Node::Read, 1 + 10), (Node::Put, 10)] {
            let trial = Trial::new(workflow(&vec![node.clone(); 10]), 0);
            prop_assert_done(&trial.end(&[]).await);
            let made = trial.store.commits();
            assert!(made <= commits, "{node:?}: {made} commits");
        }
    });
}

#[test]
fn an_end_is_kept_also_where_the_next_one_comes_while_it_is_written() {
    now(async {
        let trial = Trial::new(workflow(&[Node::Each(1, vec![Node::Each(2, vec![Node::Put])])]), 1);
        prop_assert_done(&trial.end(&[]).await);
        trial.check();
    });
}

#[test]
fn a_store_that_is_away_for_a_while_holds_a_run_up_and_nothing_else() {
    now(async {
        for is_made in [false, true] {
            for at in 0..12 {
                let trial = Trial::new(
                    workflow(&[Node::Write, Node::Branches(vec![vec![Node::Write], vec![Node::Put, Node::Write]]), Node::Ask, Node::Write]),
                    1,
                );
                trial.store.fail(at, 3, is_made);
                prop_assert_done(&trial.end(&[]).await);
                trial.check();
            }
        }
    });
}

#[test]
fn a_store_that_stays_away_ends_the_run_before_the_next_write() {
    now(async {
        let trial = Trial::new(workflow(&vec![Node::Write; 4]), 0);
        trial.store.fail(2, usize::MAX, false);
        let (stop, stopped) = watch::channel(None);
        let kept = Kept::new(trial.store.clone(), RunId("r".into()), WorkerId("w".into()), redactor());
        let journal = Journal::kept(kept, Vec::new(), trial.world.clone(), Arc::new(Unobserved), stopped);
        let going = async {
            let rest = engine::run(&trial.workflow, &start(), &journal, &Unobserved).await;
            assert!(matches!(&rest, Rest::Interrupted(Interrupted::Store(StoreError::Unavailable(_)))), "{rest:?}");
        };
        let asked = async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            stop.send(Some(Stop::Shutdown)).expect("the journal listens");
        };
        tokio::join!(going, asked);
        assert_eq!(trial.world.called().len(), 2, "the third was not recorded, and not made");
    });
}

/// Keeps the names of tools and their effects in one place.
fn effects() -> BTreeMap<&'static str, ltc_workflow::document::ToolEffect> {
    use ltc_workflow::document::ToolEffect::{Idempotent, Read, Write};
    [("read", Read), ("put", Idempotent), ("write", Write), ("flaky", Write), ("fail", Write)].into_iter().collect()
}
