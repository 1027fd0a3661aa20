//! A trace, read: each call with the value that its tool gave and what calling it does to the world.
//!
//! Before: a [`Trace`], with failures, refusals and looks around. After: the calls that did the job. A failed call goes, and so does one
//! that a person refused or a hint ignores; a write that succeeded never goes, however often it was made. The outcome decides what failed,
//! never the words in it.

use crate::diagnostics::{Diagnostic, Severity, call_place};
use crate::hints::Hints;
use crate::identifiers::server_name;
use crate::order;
use crate::rewrite;
use crate::trace::{Call, Outcome, Server, Tool, Trace};
use ltc_workflow::document::ToolEffect;
use ltc_workflow::expr::{BinaryOp, Expr, eval};
use ltc_workflow::{Object, Value};
use smol_str::SmolStr;
use std::collections::{BTreeMap, BTreeSet};

/// One run, as its calls that count.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What the run was given.
    pub input: Object,
    /// Whether the recording says what the run was given.
    pub has_input: bool,
    /// What the agent was asked.
    pub task: Option<SmolStr>,
    /// The calls that did the job, in order.
    pub calls: Vec<Act>,
    /// What the run returned; the last call's value where the recording does not say.
    pub output: Option<Value>,
    /// Whether the recording says what the run returned.
    pub has_output: bool,
    /// When the recording began, in nanoseconds since 1970.
    pub clock: Option<i128>,
    /// The servers that it knows.
    pub servers: Vec<Server>,
}

impl Script {
    /// What a person told the compiler about a server.
    pub fn hints(&self, server: &str) -> Option<&Hints> {
        self.servers.iter().find(|s| s.name == server).map(|s| &s.hints)
    }

    /// The script without the reads that are not among these calls. Whatever may change something stays, so that nobody who looks at the
    /// script can miss a write.
    #[must_use]
    pub fn only(&self, calls: &BTreeSet<usize>) -> Script {
        let kept = self.calls.iter().enumerate().filter(|(at, act)| calls.contains(at) || act.effect != ToolEffect::Read || act.keep);
        Script { calls: kept.map(|(_, act)| act.clone()).collect(), ..self.clone() }
    }

    /// The schema of an argument of a tool.
    pub fn argument_schema(&self, server: &str, name: &str, argument: &str) -> Option<&Value> {
        let server = self.servers.iter().find(|s| s.name == server)?;
        tool(server, name)?.input_schema.as_ref()?.get("properties")?.get(argument)
    }
}

/// A call that counts.
#[derive(Clone, Debug)]
pub struct Act {
    /// Its id in the recording.
    pub id: SmolStr,
    /// The server's name.
    pub server: SmolStr,
    /// The tool's name.
    pub tool: SmolStr,
    /// The arguments.
    pub arguments: Object,
    /// The value of the result.
    pub value: Value,
    /// What calling it does.
    pub effect: ToolEffect,
    /// Whether an annotation or a hint says so; an unknown effect counts as a write.
    pub effect_is_known: bool,
    /// Whether a hint keeps it.
    pub keep: bool,
    /// The message of parallel calls that it belongs to.
    pub turn: Option<u32>,
    /// When it started and ended.
    pub times: Option<(i128, i128)>,
}

impl Act {
    /// Whether the result of `earlier` was there when this call was made.
    pub fn could_see(&self, earlier: &Act) -> bool {
        if self.turn.is_some() && self.turn == earlier.turn {
            return false;
        }
        match (self.times, earlier.times) {
            (Some((started, _)), Some((_, ended))) => ended <= started,
            _ => true,
        }
    }

    /// Where it is, for messages.
    pub fn place(&self) -> String {
        call_place(&self.id, &self.server, &self.tool)
    }
}

/// What the compiler knows of a run: its inputs, with those that it made, and the values of its secrets.
#[derive(Clone, Default)]
pub struct Given {
    /// The inputs by name.
    pub input: Object,
    /// The secrets by name.
    pub secrets: BTreeMap<SmolStr, SmolStr>,
}

/// An object with its keys in one order: how a recording orders them means nothing.
fn in_order(object: &Object) -> Object {
    object.sorted().into_iter().map(|(key, value)| (key.clone(), order::value(value))).collect()
}

/// The server of that name in a trace.
pub fn server<'t>(trace: &'t Trace, name: &str) -> Option<&'t Server> {
    trace.servers.iter().find(|s| s.name == name)
}

/// The tool of that name on a server.
pub fn tool<'t>(server: &'t Server, name: &str) -> Option<&'t Tool> {
    server.tools.iter().find(|t| t.name == name)
}

/// What calling a tool does, and whether that is known: a hint decides, then the annotations; without either it counts as a write.
pub fn effect(server: Option<&Server>, name: &str) -> (ToolEffect, bool) {
    let Some(server) = server else { return (ToolEffect::Write, false) };
    if let Some(effect) = server.hints.effects.get(name) {
        return (*effect, true);
    }
    match tool(server, name) {
        Some(tool) if tool.read_only == Some(true) => (ToolEffect::Read, true),
        Some(tool) if tool.idempotent == Some(true) => (ToolEffect::Idempotent, true),
        Some(tool) if tool.read_only == Some(false) => (ToolEffect::Write, true),
        Some(_) | None => (ToolEffect::Write, false),
    }
}

/// The calls of `trace` that did the job. With `partial`, a run that ended in the middle counts up to there.
pub fn read(trace: &Trace, partial: bool, diagnostics: &mut Vec<Diagnostic>) -> Script {
    let mut calls = Vec::new();
    let names = server_names(trace);
    for (at, call) in trace.calls.iter().enumerate() {
        let server = server(trace, &call.server);
        if server.is_some_and(|s| s.hints.ignore.contains(&call.tool)) {
            diagnostics.push(ignored(call));
            continue;
        }
        match &call.outcome {
            Outcome::Result(body) => {
                let value = body.decode();
                match server.and_then(|s| s.hints.error_when.get(&call.tool)) {
                    Some(test) if is_failure(test, &value) => diagnostics.push(failed(call, correction(trace, at))),
                    Some(_) | None => calls.push(act(call, server, value)),
                }
            }
            Outcome::ToolError(_) | Outcome::RpcError { .. } => diagnostics.push(failed(call, correction(trace, at))),
            Outcome::Refused => diagnostics.push(refused(call)),
            Outcome::Missing => diagnostics.push(ended_early(call, partial)),
        }
    }
    let renamed = |name: &SmolStr| names.get(name).cloned().unwrap_or_else(|| name.clone());
    for act in &mut calls {
        act.server = renamed(&act.server);
    }
    let output = trace.output.as_ref().map(order::value).or_else(|| calls.last().map(|c: &Act| c.value.clone()));
    Script {
        input: trace.input.as_ref().map(in_order).unwrap_or_default(),
        has_input: trace.input.is_some(),
        task: trace.task.as_deref().map(SmolStr::new),
        clock: trace.calls.iter().filter_map(|c| c.started_at).min(),
        calls,
        output,
        has_output: trace.output.is_some(),
        servers: trace.servers.iter().map(|s| Server { name: renamed(&s.name), ..s.clone() }).collect(),
    }
}

fn act(call: &Call, server: Option<&Server>, value: Value) -> Act {
    let (effect, effect_is_known) = effect(server, &call.tool);
    Act {
        id: call.id.clone(),
        server: call.server.clone(),
        tool: call.tool.clone(),
        arguments: in_order(&call.arguments),
        value,
        effect,
        effect_is_known,
        keep: server.is_some_and(|s| s.hints.keep.contains(&call.tool)),
        turn: call.turn,
        times: call.started_at.zip(call.ended_at),
    }
}

/// Whether a result that is no error is one all the same, as the hint `error_when` tells: names are fields of the result.
fn is_failure(test: &Expr, value: &Value) -> bool {
    let fields = of_result(test.clone());
    let scope: Object = [("result", value.clone())].into_iter().collect();
    eval::test(&fields, &scope, &mut eval::Budget::default()).unwrap_or(false)
}

/// A hint's test, whose names are fields of a result, as one about `result`. A field that is missing counts as null.
pub fn of_result(test: Expr) -> Expr {
    rewrite::map(test, &mut |part| match part {
        Expr::Name(name) => Expr::name("result").key(name).binary(BinaryOp::Coalesce, Expr::Literal(Value::Null)),
        other => other,
    })
}

/// The servers' names as a document has them; of two that become the same one, the later gets a number.
fn server_names(trace: &Trace) -> BTreeMap<SmolStr, SmolStr> {
    let recorded: BTreeSet<&SmolStr> = trace.servers.iter().map(|s| &s.name).chain(trace.calls.iter().map(|c| &c.server)).collect();
    let mut names = BTreeMap::new();
    let mut used: BTreeSet<SmolStr> = BTreeSet::new();
    for name in recorded {
        let safe = server_name(name);
        let numbered = |n: usize| if n == 1 { safe.clone() } else { SmolStr::new(format!("{safe}_{n}")) };
        let free = (1..).map(numbered).find(|name| !used.contains(name)).unwrap_or_default();
        used.insert(free.clone());
        names.insert(name.clone(), free);
    }
    names
}

/// A later call of the same tool that succeeded.
fn correction(trace: &Trace, at: usize) -> Option<&Call> {
    let failed = trace.calls.get(at)?;
    let later = trace.calls.iter().skip(at + 1);
    later.filter(|c| c.server == failed.server && c.tool == failed.tool).find(|c| matches!(c.outcome, Outcome::Result(_)))
}

fn place(call: &Call) -> String {
    call_place(&call.id, &call.server, &call.tool)
}

fn ignored(call: &Call) -> Diagnostic {
    Diagnostic::new(Severity::Note, "ignored-call", place(call), "left out, as the hint `ignore` says")
}

fn refused(call: &Call) -> Diagnostic {
    Diagnostic::new(Severity::Note, "refused-call", place(call), "left out: a person refused it")
}

fn failed(call: &Call, correction: Option<&Call>) -> Diagnostic {
    match correction {
        Some(later) => Diagnostic::new(
            Severity::Note,
            "corrected-call",
            place(call),
            format!("left out: it failed, and call {} corrected it", later.id),
        ),
        None => {
            Diagnostic::new(Severity::Warning, "failed-call", place(call), "left out: it failed, and no later call of the tool succeeded")
                .help("if the failure mattered to what the agent did next, the workflow does not know it")
        }
    }
}

fn ended_early(call: &Call, partial: bool) -> Diagnostic {
    let severity = if partial { Severity::Warning } else { Severity::Error };
    let diagnostic = Diagnostic::new(severity, "unfinished-run", place(call), "the recording ends before this call did");
    if partial { diagnostic } else { diagnostic.help("`--partial` compiles the run up to there") }
}
