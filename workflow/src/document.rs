//! The workflow document: what a file says, before it means anything.

mod duration;
mod input;

use crate::expr::{Expr, times};
use crate::template::Template;
use crate::value::{Number, Object, Value};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// A workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    /// Comment lines at the top of the file, without `#`.
    pub header: Vec<String>,
    /// Its name: `[a-z0-9][a-z0-9_-]*`.
    pub name: SmolStr,
    /// Its version, from 1.
    pub version: u32,
    /// What it does, for people and agents.
    pub description: Option<String>,
    /// Whether a run of it that fails asks a person, who may show how it is done.
    pub triage: bool,
    /// The inputs by name, each a JSON Schema; an input is required unless its schema has a `default`.
    pub inputs: Object,
    /// Names of the secrets that it needs, read from the environment when it runs.
    pub secrets: Vec<SmolStr>,
    /// The MCP servers that it calls.
    pub servers: Vec<(SmolStr, Server)>,
    /// What it does, in order.
    pub steps: Vec<Step>,
    /// What it returns; nothing where it is missing.
    pub output: Option<Template>,
}

impl Workflow {
    /// A workflow of this name, of version 1, that does nothing yet.
    pub fn new(name: impl Into<SmolStr>) -> Workflow {
        Workflow {
            header: Vec::new(),
            name: name.into(),
            version: 1,
            description: None,
            triage: false,
            inputs: Object::default(),
            secrets: Vec::new(),
            servers: Vec::new(),
            steps: Vec::new(),
            output: None,
        }
    }
}

/// An MCP server, as a workflow knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// How it is reached; `None` where that comes from outside (`--servers`, the registry).
    pub transport: Option<Transport>,
    /// For each tool that is called, the digest of its schemas at compile time: `sha256:…`.
    pub tools: BTreeMap<SmolStr, SmolStr>,
    /// For each tool that is called, what calling it does, where that is known.
    pub effects: BTreeMap<SmolStr, ToolEffect>,
}

/// How a server is reached: the two shapes of `.mcp.json`. `${VAR}` in any text is the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks over stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it.
        env: BTreeMap<String, String>,
        /// The folder that it runs in.
        cwd: Option<String>,
    },
    /// A URL that speaks streamable HTTP, or SSE.
    Http {
        /// The URL.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// Whether it is a server of the old SSE transport (`type: sse`).
        sse: bool,
    },
}

/// What calling a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolEffect {
    /// Nothing: it can be left out or made again.
    Read,
    /// Something, and doing it again changes nothing more.
    Idempotent,
    /// Something, each time.
    Write,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name, unique in the workflow: `[a-z0-9][a-z0-9_-]*`.
    pub id: SmolStr,
    /// A word for people: where the step comes from.
    pub note: Option<String>,
    /// It is skipped (its value is missing) where this is not true.
    pub when: Option<Expr>,
    /// What it does.
    pub kind: StepKind,
    /// On `call`: a call that succeeded is a failure where this is true of its result, which the expression sees as `result`.
    pub fail_when: Option<Expr>,
    /// How often a failure is tried again.
    pub retry: Option<Retry>,
    /// After how long it fails: on `call`, `escalate` and `run`.
    pub timeout: Option<Duration>,
    /// What is done where it fails in the end.
    pub catch: Option<Catch>,
}

impl Step {
    /// A step of this kind and nothing more.
    pub fn new(id: impl Into<SmolStr>, kind: StepKind) -> Step {
        Step { id: id.into(), note: None, when: None, kind, fail_when: None, retry: None, timeout: None, catch: None }
    }
}

/// The kinds of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A tool call; its value is the decoded result.
    Call {
        /// The server's name.
        server: SmolStr,
        /// The tool's name, as the server has it: any text.
        tool: SmolStr,
        /// The arguments.
        with: Vec<(SmolStr, Template)>,
    },
    /// The steps once for each item of a list; its value is the list of what `gather` gives, else null.
    For {
        /// The name of the item.
        each: SmolStr,
        /// The list.
        list: Expr,
        /// Only items for which this is true.
        test: Option<Expr>,
        /// How many iterations may be under way at once.
        at_once: u32,
        /// What is kept of each iteration.
        gather: Option<Template>,
        /// The body.
        steps: Vec<Step>,
    },
    /// The steps again and again; its value is the list of what `gather` gives, else that of the last step in the last round.
    /// In the body, `previous.<step>` is a step's value in the round before (missing in the first), and `loop.index` counts from 0.
    Repeat {
        /// It ends after the round in which this is true.
        until: Expr,
        /// How long it waits between two rounds.
        every: Option<Duration>,
        /// It fails where this many rounds did not end it.
        at_most: Option<u32>,
        /// What is kept of each round.
        gather: Option<Template>,
        /// The body.
        steps: Vec<Step>,
    },
    /// The first case that is true; its value is that of the case's last step, and missing where no case is true.
    Switch {
        /// The cases; one without a test is the last, and always true.
        cases: Vec<Case>,
    },
    /// Branches that run at once and do not see each other; its value is null.
    Parallel {
        /// Each branch's steps.
        branches: Vec<Vec<Step>>,
    },
    /// A question to a person; its value is the answer.
    Escalate {
        /// Who is asked.
        role: SmolStr,
        /// What is asked.
        message: Template,
        /// The JSON Schema of the answer.
        form: Option<Value>,
        /// What is shown beside the message.
        data: Option<Template>,
        /// From 1, urgent, to 4.
        priority: Option<u8>,
        /// Whether the answer may come with a recording of how it was found, which is compiled, and tried before a person is asked again.
        triage: bool,
    },
    /// A pause.
    Wait {
        /// How long.
        duration: Duration,
    },
    /// Named values; its value is the object of them.
    Set {
        /// Names and values.
        values: Vec<(SmolStr, Template)>,
    },
    /// Another workflow; its value is that one's output.
    Run {
        /// Its name.
        workflow: SmolStr,
        /// Its input.
        with: Vec<(SmolStr, Template)>,
    },
}

/// A case of a `switch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// When it is taken; `None` is "else".
    pub when: Option<Expr>,
    /// What it does.
    pub steps: Vec<Step>,
}

/// How often a failure is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many attempts there are in all, from 1.
    pub attempts: u32,
    /// How long it waits after the first failure.
    pub backoff: Duration,
    /// By what each further wait is longer.
    pub factor: Number,
}

/// The longest pause between two attempts.
const LONGEST_PAUSE: u64 = 7 * 24 * 60 * 60 * 1000;

impl Retry {
    /// The pause after the first failure.
    pub fn first_pause(&self) -> Duration {
        Duration { millis: self.backoff.millis.min(LONGEST_PAUSE) }
    }

    /// The pause after the one that is over.
    pub fn next_pause(&self, over: Duration) -> Duration {
        Duration { millis: times(over.millis, &self.factor).min(LONGEST_PAUSE) }
    }
}

/// The priority of a question that says none.
pub const DEFAULT_PRIORITY: u8 = 2;

/// What is done where a step fails in the end. The steps see `error.code` and `error.message`; the step's value is that of the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catch {
    /// Only failures for which this is true.
    pub when: Option<Expr>,
    /// What is done.
    pub steps: Vec<Step>,
}

/// A length of time in milliseconds, written `250ms`, `2s`, `1m30s`, `1h`, `2d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Duration {
    /// Milliseconds.
    pub millis: u64,
}
