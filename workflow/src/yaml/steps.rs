//! Steps, from their nodes. Names become visible in the order in which they do when the workflow runs.

use super::names::visible_ids;
use super::parts::{Fields, Reader};
use super::tree::{Node, shorten};
use crate::document::{Case, Catch, Duration, Retry, Step, StepKind};
use crate::expr::Expr;
use crate::expr::parse::is_variable;
use crate::value::{Number, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

const KINDS: &[&str] = &["call", "for", "repeat", "switch", "parallel", "escalate", "wait", "set", "run"];
const KNOWN: &[&str] = &[
    "id",
    "note",
    "when",
    "call",
    "for",
    "repeat",
    "switch",
    "parallel",
    "escalate",
    "wait",
    "set",
    "run",
    "with",
    "steps",
    "fail_when",
    "retry",
    "timeout",
    "catch",
];

/// The lines of the step ids so far.
pub(super) type Seen = BTreeMap<SmolStr, usize>;

impl Reader<'_> {
    pub(super) fn steps(&mut self, node: &Node, seen: &mut Seen) -> Vec<Step> {
        let steps = self.list(node, "`steps`");
        steps.iter().filter_map(|step| self.step(step, seen)).collect()
    }

    fn step(&mut self, node: &Node, seen: &mut Seen) -> Option<Step> {
        let fields = self.fields(node, "a step", KNOWN)?;
        let id = self.required(&fields, "id", "a step").and_then(|n| self.identifier(n, "a step"));
        if let (Some(id), Some(at)) = (&id, fields.get("id")) {
            if let Some(line) = seen.get(id) {
                self.problem("duplicate-id", at.place, format!("the step `{id}` is there already, at line {line}"), None);
            }
            seen.entry(id.clone()).or_insert(at.place.line);
        }
        let note = fields.get("note").and_then(|n| self.text(n, "`note`")).map(String::from);
        let when = fields.get("when").map(|n| self.expression(n, "`when`"));
        let kind = self.kind(&fields, seen);
        let fail_when = fields.get("fail_when").map(|n| self.fail_when(n));
        let retry = fields.get("retry").map(|n| self.retry(n));
        let timeout = fields.get("timeout").map(|n| self.timeout(n, &fields));
        let catch = fields.get("catch").map(|n| self.catch(n, seen));
        // It is visible to the steps behind it even if something is wrong with it: one mistake is reported once.
        self.names.steps.extend(id.clone());
        Some(Step {
            id: id?,
            note,
            when: whole(when)?,
            kind: kind?,
            fail_when: whole(fail_when)?,
            retry: whole(retry)?,
            timeout: whole(timeout)?,
            catch: whole(catch)?,
        })
    }

    fn kind(&mut self, fields: &Fields, seen: &mut Seen) -> Option<StepKind> {
        let there: Vec<&str> = KINDS.iter().copied().filter(|k| fields.entry(k).is_some()).collect();
        let Some(kind) = there.first().copied() else {
            let help = Some(format!("one of {}", KINDS.join(", ")));
            self.problem("no-kind", fields.place, "the step does not say what it does", help);
            return None;
        };
        if let [_, .., last] = there.as_slice() {
            let place = fields.entry(last).map_or(fields.place, |e| e.place);
            self.problem("several-kinds", place, format!("a step does one thing, not {}", there.join(" and ")), None);
        }
        let node = fields.get(kind)?;
        for (key, kinds) in [("with", &["call", "run"][..]), ("steps", &["for", "repeat"]), ("fail_when", &["call"])] {
            if let Some(entry) = fields.entry(key).filter(|_| !kinds.contains(&kind)) {
                let message = format!("`{key}` stands beside `{}`, not beside `{kind}`", kinds.join("` or `"));
                self.problem("unknown-key", entry.place, message, None);
            }
        }
        match kind {
            "call" => self.call(node, fields),
            "run" => {
                let with = fields.get("with").map(|n| self.arguments(n, "`with`")).unwrap_or_default();
                Some(StepKind::Run { workflow: self.identifier(node, "a workflow")?, with })
            }
            "for" => self.for_each(node, fields, seen),
            "repeat" => self.repeat(node, fields, seen),
            "switch" => self.switch(node, seen),
            "parallel" => self.parallel(node, seen),
            "escalate" => self.escalate(node),
            "wait" => Some(StepKind::Wait { duration: self.duration(node, "`wait`")? }),
            _ => Some(StepKind::Set { values: self.arguments(node, "`set`") }),
        }
    }

    fn call(&mut self, node: &Node, fields: &Fields) -> Option<StepKind> {
        let with = fields.get("with").map(|n| self.arguments(n, "`with`")).unwrap_or_default();
        let text = self.text(node, "`call`")?;
        match text.split_once('/') {
            Some((server, tool)) if is_server(server) && !tool.is_empty() => {
                Some(StepKind::Call { server: SmolStr::new(server), tool: SmolStr::new(tool), with })
            }
            _ => {
                let help = Some("it is written `server/tool`; a server's name is made of letters, digits, `_`, `-` and `.`".to_string());
                self.problem("bad-name", node.place, format!("`{}` names no tool of a server", shorten(&text)), help);
                None
            }
        }
    }

    fn for_each(&mut self, node: &Node, fields: &Fields, seen: &mut Seen) -> Option<StepKind> {
        let inner = self.fields(node, "`for`", &["each", "in", "where", "at_once", "gather"]);
        let list = inner.as_ref().and_then(|f| self.required(f, "in", "`for`")).and_then(|n| self.expression(n, "`in`"));
        let each = inner.as_ref().and_then(|f| self.required(f, "each", "`for`")).and_then(|n| self.variable(n));
        let at_once = inner.as_ref().and_then(|f| f.get("at_once")).map(|n| self.integer(n, "`at_once`", 1, 1000));
        let outside = self.names.steps.len();
        self.names.variables.extend(each.clone());
        self.names.loops += 1;
        let test = inner.as_ref().and_then(|f| f.get("where")).map(|n| self.expression(n, "`where`"));
        let steps = self.required(fields, "steps", "a step with `for`").map(|n| self.steps(n, seen));
        let gather = inner.as_ref().and_then(|f| f.get("gather")).map(|n| self.template(n));
        self.names.loops -= 1;
        self.names.variables.truncate(self.names.variables.len() - usize::from(each.is_some()));
        self.names.steps.split_off(outside);
        let at_once = at_once.unwrap_or(Some(1))?;
        Some(StepKind::For { each: each?, list: list?, test: whole(test)?, at_once, gather: whole(gather)?, steps: steps? })
    }

    fn variable(&mut self, node: &Node) -> Option<SmolStr> {
        let name = self.text(node, "`each`")?;
        if is_variable(&name) && !self.names.variables.contains(&name) {
            return Some(name);
        }
        let help =
            "it is made of letters, digits and `_`, starts with no digit, and is no word of the language and no other loop's variable";
        self.problem("bad-name", node.place, format!("`{}` cannot be the name of an item", shorten(&name)), Some(help.to_string()));
        None
    }

    fn repeat(&mut self, node: &Node, fields: &Fields, seen: &mut Seen) -> Option<StepKind> {
        let inner = self.fields(node, "`repeat`", &["until", "every", "at_most", "gather"]);
        let every = inner.as_ref().and_then(|f| f.get("every")).map(|n| self.duration(n, "`every`"));
        let at_most = inner.as_ref().and_then(|f| f.get("at_most")).map(|n| self.integer(n, "`at_most`", 1, i64::from(u32::MAX)));
        let (outside, previous) = (self.names.steps.len(), self.names.previous.len());
        self.names.previous.extend(fields.get("steps").map(visible_ids).unwrap_or_default());
        self.names.loops += 1;
        self.names.repeats += 1;
        let steps = self.required(fields, "steps", "a step with `repeat`").map(|n| self.steps(n, seen));
        let until = inner.as_ref().and_then(|f| self.required(f, "until", "`repeat`")).and_then(|n| self.expression(n, "`until`"));
        let gather = inner.as_ref().and_then(|f| f.get("gather")).map(|n| self.template(n));
        self.names.loops -= 1;
        self.names.repeats -= 1;
        self.names.steps.split_off(outside);
        self.names.previous.truncate(previous);
        Some(StepKind::Repeat { until: until?, every: whole(every)?, at_most: whole(at_most)?, gather: whole(gather)?, steps: steps? })
    }

    /// The steps of a branch, which see those before it and not each other's; what became visible in it is taken away, and given.
    fn branch(&mut self, fields: &Fields, what: &str, seen: &mut Seen) -> (Option<Vec<Step>>, Vec<SmolStr>) {
        let outside = self.names.steps.len();
        let steps = self.required(fields, "steps", what).map(|n| self.steps(n, seen));
        (steps, self.names.steps.split_off(outside))
    }

    fn switch(&mut self, node: &Node, seen: &mut Seen) -> Option<StepKind> {
        let items = self.list(node, "`switch`");
        let (mut cases, mut visible) = (Vec::new(), Vec::new());
        for (at, item) in items.iter().enumerate() {
            let Some(fields) = self.fields(item, "a case of `switch`", &["when", "steps"]) else { continue };
            let when = fields.get("when").map(|n| self.expression(n, "`when`"));
            if when.is_none() && at + 1 < items.len() {
                self.problem("missing-key", fields.place, "only the last case of a `switch` may be without `when`", None);
            }
            let (steps, inside) = self.branch(&fields, "a case of `switch`", seen);
            visible.extend(inside);
            cases.push(whole(when).zip(steps).map(|(when, steps)| Case { when, steps }));
        }
        self.names.steps.extend(visible);
        Some(StepKind::Switch { cases: cases.into_iter().collect::<Option<_>>()? })
    }

    fn parallel(&mut self, node: &Node, seen: &mut Seen) -> Option<StepKind> {
        let (mut branches, mut visible) = (Vec::new(), Vec::new());
        for item in self.list(node, "`parallel`") {
            let Some(fields) = self.fields(item, "a branch of `parallel`", &["steps"]) else { continue };
            let (steps, inside) = self.branch(&fields, "a branch of `parallel`", seen);
            visible.extend(inside);
            branches.push(steps);
        }
        self.names.steps.extend(visible);
        Some(StepKind::Parallel { branches: branches.into_iter().collect::<Option<_>>()? })
    }

    fn escalate(&mut self, node: &Node) -> Option<StepKind> {
        let fields = self.fields(node, "`escalate`", &["role", "message", "form", "data", "priority", "triage"])?;
        let role = self.required(&fields, "role", "`escalate`").and_then(|n| self.text(n, "`role`"));
        let message = self.required(&fields, "message", "`escalate`").and_then(|n| {
            self.text(n, "`message`")?;
            self.template(n)
        });
        let data = fields.get("data").map(|n| self.template(n));
        let priority = fields.get("priority").map(|n| self.integer(n, "`priority`", 1, 4));
        let triage = fields.get("triage").map(|n| self.flag(n, "`triage`"));
        let form = fields.get("form").map(Node::value);
        let (data, priority, triage) = (whole(data)?, whole(priority)?, whole(triage)?.unwrap_or(false));
        Some(StepKind::Escalate { role: role?, message: message?, form, data, priority, triage })
    }

    /// It sees the result of its call, and not the step's value, which is there only behind the step.
    fn fail_when(&mut self, node: &Node) -> Option<Expr> {
        self.names.result = true;
        let test = self.expression(node, "`fail_when`");
        self.names.result = false;
        test
    }

    fn retry(&mut self, node: &Node) -> Option<Retry> {
        let fields = self.fields(node, "`retry`", &["attempts", "backoff", "factor"])?;
        let attempts = self.required(&fields, "attempts", "`retry`").and_then(|n| self.integer(n, "`attempts`", 1, 1000));
        let backoff = fields.get("backoff").map_or(Some(Duration { millis: 1000 }), |n| self.duration(n, "`backoff`"));
        let factor = fields.get("factor").map_or(Some(Number::from(2_i64)), |n| match n.value() {
            Value::Number(number) if !number.as_str().starts_with('-') => Some(number),
            _ => {
                self.problem("wrong-type", n.place, "`factor` is a number that is not negative", None);
                None
            }
        });
        Some(Retry { attempts: attempts?, backoff: backoff?, factor: factor? })
    }

    fn timeout(&mut self, node: &Node, fields: &Fields) -> Option<Duration> {
        if !["call", "escalate", "run"].iter().any(|kind| fields.entry(kind).is_some()) {
            let help = Some("put it on the steps inside".to_string());
            self.problem("unknown-key", node.place, "`timeout` stands beside `call`, `escalate` or `run`", help);
        }
        self.duration(node, "`timeout`")
    }

    fn catch(&mut self, node: &Node, seen: &mut Seen) -> Option<Catch> {
        let fields = self.fields(node, "`catch`", &["when", "steps"])?;
        self.names.catches += 1;
        let when = fields.get("when").map(|n| self.expression(n, "`when`"));
        let steps = self.required(&fields, "steps", "`catch`").map(|n| self.steps(n, seen));
        self.names.catches -= 1;
        Some(Catch { when: whole(when)?, steps: steps? })
    }
}

/// What was left out is fine; what was there and wrong is not.
fn whole<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    part.map_or(Some(None), |part| part.map(Some))
}

/// Whether `text` can name a server.
pub(super) fn is_server(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}
