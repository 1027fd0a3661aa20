//! A workflow run in the world of its recording: each call is answered by the recorded one, and whatever is not as recorded is a breach.
//!
//! A call is answered by the next recorded call of that server and tool with equal arguments that was not made yet. Writes must be made in
//! their recorded order, whichever servers they go to; a read must stand behind the writes that were before it on its server, and before
//! those that were behind it. Only calls that are known to only read may be left out.

use super::differ::{Difference, differences};
use super::recording::{Recording, reads};
use super::secrets::{Learned, is_open};
use crate::identifiers::server_name;
use crate::script::Act;
use ltc_workflow::advance::{Effect, Ended, Failure, Start, StepKey, World, run_in};
use ltc_workflow::{Object, Value, Workflow};
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// How many differences of one call or output are told.
const MOST_DIFFERENCES: usize = 4;

/// How many breaches of one run are kept.
const MOST_BREACHES: usize = 1_000;

/// What a workflow did in the world of a recording.
#[derive(Debug)]
pub struct Replay {
    /// For each effect, in order: the recorded call that answered it.
    pub made: Vec<Made>,
    /// What was not as recorded.
    pub breaches: Vec<Breach>,
    /// Persons were asked under these keys, of which the recording knows nothing; the answer was null.
    pub asked: Vec<StepKey>,
    /// What was found out of secrets.
    pub learned: Learned,
}

/// A call that was made.
#[derive(Debug)]
pub struct Made {
    /// The step.
    pub step: StepKey,
    /// The recorded call that it is, by its index; `None` where there is none.
    pub call: Option<usize>,
    /// The arguments.
    pub arguments: Object,
}

/// Something that is not as recorded.
#[derive(Debug)]
pub enum Breach {
    /// The call has other arguments than the recorded one.
    Differs {
        /// The step.
        step: StepKey,
        /// The recorded call.
        call: usize,
        /// Where.
        differences: Vec<Difference>,
    },
    /// The recording has no such call, or none left.
    NotRecorded {
        /// The step.
        step: StepKey,
        /// What it called.
        tool: String,
        /// With what.
        arguments: Object,
    },
    /// The call was recorded, and is not made.
    Missing {
        /// The recorded call.
        call: usize,
    },
    /// The call is made at another place than recorded.
    Misplaced {
        /// The step.
        step: StepKey,
        /// The recorded call.
        call: usize,
        /// The write on the wrong side of it.
        other: usize,
        /// Whether that write should have been made before.
        should_follow: bool,
    },
    /// The step does what no recording can answer.
    Unanswerable {
        /// The step.
        step: StepKey,
        /// The workflow that it runs.
        workflow: SmolStr,
    },
    /// The run failed.
    Failed(Failure),
    /// The output is not the recorded one.
    Output(Difference),
}

impl Recording<'_> {
    /// Runs `workflow` in the world of the recording. Where reads were recorded several times and fewer are made, those that are made may
    /// be the first or the last of them: whichever fits better counts.
    pub fn replay(&self, workflow: &Workflow, start: &Start, learned: &Learned) -> Replay {
        let first = self.attempt(workflow, start, learned, &BTreeMap::new());
        if first.breaches.is_empty() {
            return first;
        }
        let skip = self.left_out(&first);
        if skip.is_empty() {
            return first;
        }
        let second = self.attempt(workflow, start, learned, &skip);
        if second.breaches.len() < first.breaches.len() { second } else { first }
    }

    /// For each group of equal reads: how many of them were not made.
    fn left_out(&self, replay: &Replay) -> BTreeMap<usize, usize> {
        let made: FxHashSet<usize> = replay.made.iter().filter_map(|m| m.call).collect();
        let mut left: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for (at, (act, place)) in self.script.calls.iter().zip(&self.places).enumerate() {
            if reads(act) {
                let (out, all) = left.entry(place.group).or_default();
                *all += 1;
                *out += usize::from(!made.contains(&at));
            }
        }
        left.into_iter().filter(|(_, (out, all))| *out > 0 && out < all).map(|(group, (out, _))| (group, out)).collect()
    }

    fn attempt(&self, workflow: &Workflow, start: &Start, learned: &Learned, skip: &BTreeMap<usize, usize>) -> Replay {
        let next = (0..self.groups.len()).map(|group| skip.get(&group).copied().unwrap_or(0)).collect();
        let mut world = Recorded {
            recording: self,
            learned: learned.clone(),
            unknown: !start.secrets.is_empty() || start.input.iter().any(|(_, value)| is_open(value)),
            next,
            unused: FxHashMap::default(),
            used: vec![false; self.script.calls.len()],
            last_write: None,
            writes_made: vec![0; self.writes.len()],
            made: Vec::new(),
            breaches: Vec::new(),
            asked: Vec::new(),
        };
        let output = run_in(workflow, start, &mut world);
        world.finish(output)
    }
}

/// The world of a recording, in the middle of a run.
struct Recorded<'r, 's> {
    recording: &'r Recording<'s>,
    learned: Learned,
    unknown: bool,
    /// Per group: the member that answers next.
    next: Vec<usize>,
    /// Per tool: from where on to look for a call that was not made.
    unused: FxHashMap<(SmolStr, SmolStr), usize>,
    used: Vec<bool>,
    last_write: Option<usize>,
    writes_made: Vec<usize>,
    made: Vec<Made>,
    breaches: Vec<Breach>,
    asked: Vec<StepKey>,
}

impl World for Recorded<'_, '_> {
    fn perform(&mut self, key: &StepKey, effect: Effect) -> Ended {
        match effect {
            Effect::Sleep(_) => Ended::Succeeded(Value::Null),
            Effect::Escalate { .. } => {
                if self.asked.len() < MOST_BREACHES {
                    self.asked.push(key.clone());
                }
                Ended::Succeeded(Value::Null)
            }
            Effect::Run { workflow, .. } => {
                self.breach(Breach::Unanswerable { step: key.clone(), workflow });
                Ended::Failed(not_recorded(key))
            }
            Effect::Call { server, tool, arguments, .. } => self.call(key, server, tool, arguments),
        }
    }
}

fn not_recorded(key: &StepKey) -> Failure {
    Failure { code: NOT_RECORDED, message: "the recording has no answer".to_owned(), step: Some(key.clone()) }
}

/// The code of the failure by which a call ends that the recording cannot answer.
const NOT_RECORDED: SmolStr = SmolStr::new_static("not-recorded");

impl Recorded<'_, '_> {
    fn breach(&mut self, breach: Breach) {
        if self.breaches.len() < MOST_BREACHES {
            self.breaches.push(breach);
        }
    }

    fn call(&mut self, key: &StepKey, server: SmolStr, tool: SmolStr, mut arguments: Object) -> Ended {
        if let Some((twin, items)) = self.merged(&server, &tool, &arguments) {
            for item in items {
                if let failed @ Ended::Failed(_) = self.call(key, server.clone(), twin.clone(), item) {
                    return failed;
                }
            }
            return Ended::Succeeded(Value::Null);
        }
        let mut open = false;
        if self.unknown {
            (arguments, open) = self.learned.fill_object(&arguments);
        }
        let exact = if open { self.learn(&server, &tool, &arguments) } else { self.equal(&server, &tool, &arguments) };
        let call = exact.or_else(|| {
            let nearest = self.nearest(&server, &tool)?;
            let expected = Value::Object(self.recording.script.calls.get(nearest)?.arguments.clone());
            let differences = differences(&expected, &Value::Object(arguments.clone()), MOST_DIFFERENCES);
            self.breach(Breach::Differs { step: key.clone(), call: nearest, differences });
            Some(nearest)
        });
        let act = call.and_then(|call| self.recording.script.calls.get(call));
        if act.is_none() {
            self.breach(Breach::NotRecorded { step: key.clone(), tool: format!("{server}/{tool}"), arguments: arguments.clone() });
        }
        self.made.push(Made { step: key.clone(), call, arguments });
        match (call, act) {
            (Some(call), Some(act)) => {
                self.place(key, call, act);
                Ended::Succeeded(act.value.clone())
            }
            _ => Ended::Failed(not_recorded(key)),
        }
    }

    /// A call of a tool that a hint makes the twin of a recorded one, taking the whole list: the recorded calls that it stands for.
    fn merged(&self, server: &str, tool: &str, arguments: &Object) -> Option<(SmolStr, Vec<Object>)> {
        let script = self.recording.script;
        let hints = script.servers.iter().find(|s| server_name(&s.name) == server).map(|s| &s.hints)?;
        let (twin, hint) = hints.batch.iter().find(|(twin, hint)| hint.tool == tool && *twin != tool)?;
        let items = arguments.get(&hint.items)?.as_array()?.iter().map(|item| item.as_object().cloned()).collect::<Option<_>>()?;
        Some((twin.clone(), items))
    }

    /// The next call of the group that was not made: one that stands behind as many writes as were made, if there is one.
    fn equal(&mut self, server: &str, tool: &str, arguments: &Object) -> Option<usize> {
        let group = self.recording.group(server, tool, arguments)?;
        let members = self.recording.groups.get(group)?;
        let mut next = self.next.get(group).copied()?;
        while members.get(next).is_some_and(|call| self.used.get(*call) == Some(&true)) {
            next += 1;
        }
        let first = *members.get(next).or_else(|| self.again(members))?;
        let act = self.recording.script.calls.get(first)?;
        if !reads(act) {
            return Some(first);
        }
        let made = self.recording.places.get(first).and_then(|p| self.writes_made.get(p.server)).copied().unwrap_or(0);
        let behind = |call: &usize| self.recording.places.get(*call).is_some_and(|p| p.writes_before >= made);
        let skipped = members.iter().skip(next).position(behind);
        if let Some(slot) = self.next.get_mut(group) {
            *slot = next + skipped.unwrap_or(0);
        }
        Some(skipped.and_then(|skipped| members.get(next + skipped).copied()).unwrap_or(first))
    }

    /// A tool that hints call fresh is asked more often than recorded, and answers as it did last.
    fn again<'m>(&self, members: &'m [usize]) -> Option<&'m usize> {
        let last = members.last()?;
        let act = self.recording.script.calls.get(*last)?;
        let fresh = self.recording.script.hints(&act.server).is_some_and(|h| h.fresh.contains(&act.tool));
        fresh.then_some(last)
    }

    /// A call that was not made and is equal save for what is not known yet.
    fn learn(&mut self, server: &SmolStr, tool: &SmolStr, arguments: &Object) -> Option<usize> {
        const MOST: usize = 1_000;
        let calls = self.recording.by_tool.get(&(server.clone(), tool.clone()))?;
        let made = Value::Object(arguments.clone());
        let unused = calls.iter().filter(|call| self.used.get(**call) == Some(&false)).take(MOST);
        for call in unused {
            let Some(act) = self.recording.script.calls.get(*call) else { continue };
            if self.learned.matches(&made, &Value::Object(act.arguments.clone())) {
                return Some(*call);
            }
        }
        None
    }

    /// The first call of the tool that was not made.
    fn nearest(&mut self, server: &SmolStr, tool: &SmolStr) -> Option<usize> {
        let key = (server.clone(), tool.clone());
        let calls = self.recording.by_tool.get(&key)?;
        let from = self.unused.entry(key).or_default();
        while calls.get(*from).is_some_and(|call| self.used.get(*call) == Some(&true)) {
            *from += 1;
        }
        calls.get(*from).copied()
    }

    /// Notes that a recorded call was made now, and whether it stands where it should.
    fn place(&mut self, key: &StepKey, call: usize, act: &Act) {
        if let Some(used) = self.used.get_mut(call) {
            *used = true;
        }
        let fresh = self.recording.script.hints(&act.server).is_some_and(|h| h.fresh.contains(&act.tool));
        let Some(place) = self.recording.places.get(call).filter(|_| !fresh) else { return };
        let misplaced = |other, should_follow| Breach::Misplaced { step: key.clone(), call, other, should_follow };
        let writes = self.recording.writes.get(place.server);
        let made = self.writes_made.get(place.server).copied().unwrap_or(0);
        if reads(act) {
            let other = |at: Option<usize>| at.and_then(|at| writes?.get(at).copied());
            if made < place.writes_before {
                let breach = other(place.writes_before.checked_sub(1)).map(|w| misplaced(w, true));
                breach.into_iter().for_each(|breach| self.breach(breach));
            } else if made > place.writes_before {
                let breach = other(Some(place.writes_before)).map(|w| misplaced(w, false));
                breach.into_iter().for_each(|breach| self.breach(breach));
            }
            return;
        }
        if let Some(last) = self.last_write.filter(|last| *last > call) {
            self.breach(misplaced(last, false));
        }
        self.last_write = Some(self.last_write.map_or(call, |last| last.max(call)));
        if let Some(made) = self.writes_made.get_mut(place.server) {
            *made += 1;
        }
    }

    fn finish(mut self, output: Result<Value, Failure>) -> Replay {
        match &output {
            Err(failure) if failure.code == NOT_RECORDED => {}
            Err(failure) => self.breach(Breach::Failed(failure.clone())),
            Ok(_) => {
                for (call, act) in self.recording.script.calls.iter().enumerate() {
                    if self.used.get(call) == Some(&false) && (act.keep || !reads(act)) {
                        self.breach(Breach::Missing { call });
                    }
                }
            }
        }
        if let (Ok(made), Some(expected)) = (&output, self.recording.output) {
            let (made, _) = self.learned.fill(made);
            self.breaches.extend(differences(expected, &made, MOST_DIFFERENCES).into_iter().map(Breach::Output));
        }
        Replay { made: self.made, breaches: self.breaches, asked: self.asked, learned: self.learned }
    }
}
