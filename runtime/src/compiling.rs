//! The compiler, as the operations see it: a trait, since the runtime is below whoever knows both. Without one, what needs it is refused.

use ltc_workflow::{Object, Value, Workflow};
use schemars::JsonSchema;
use serde::Serialize;

/// Makes workflows of recordings. Its functions are pure and take their time: they are called on threads that may be busy.
pub trait Compiler: Send + Sync {
    /// The recordings in a text of any known format, each as `ltc.trace/1`, and what is worth knowing about the reading of it.
    ///
    /// # Errors
    /// Why it is no recording.
    fn read(&self, text: &str, format: Option<&str>) -> Result<(Vec<Value>, Vec<Finding>), Vec<Finding>>;

    /// What is wrong with the hints for one server; `place` is where they stand, as a JSON Pointer, and each finding says its place below that.
    fn hints(&self, hints: &Value, place: &str) -> Vec<Finding>;

    /// The workflow of recordings of one task, each an `ltc.trace/1`.
    fn compile(&self, task: &Task) -> Compiled;

    /// Where each argument comes from, what was dropped and why, and what is open.
    fn explain(&self, task: &Task) -> Explained;

    /// Whether a workflow does in the recorded world, and in others, what it should.
    fn verify(&self, workflow: &Workflow, task: &Task) -> Verified;
}

/// What is compiled, explained or verified against.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// The recordings, each an `ltc.trace/1`.
    pub traces: Vec<Value>,
    /// Hints by server; where a server has some here, those of the recordings count no more.
    pub hints: Object,
    /// The workflow's name; it follows from the task where there is none.
    pub name: Option<String>,
    /// Whether a run that ended in the middle counts up to there.
    pub partial: bool,
}

/// A workflow that was compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// The workflow, unless something made it impossible.
    pub workflow: Option<Workflow>,
    /// Guesses, doubts and mistakes, most severe first.
    pub findings: Vec<Finding>,
    /// Whether it does what was recorded.
    pub verified: Verified,
}

/// What the compiler found out about recordings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// For machines.
    pub explanation: Value,
    /// The same for people.
    pub text: String,
    /// Guesses, doubts and mistakes, most severe first.
    pub findings: Vec<Finding>,
}

/// Whether a workflow does what was recorded, and what would have been recorded in another world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verified {
    /// Whether nothing is wrong in any world that was tried.
    pub verified: bool,
    /// The recorded runs.
    pub recorded: Tally,
    /// The counterfactual worlds that could be made.
    pub counterfactual: Tally,
    /// The counterfactual worlds that could not be made.
    pub not_tried: Vec<NotTried>,
    /// What went wrong.
    #[serde(rename = "diagnostics")]
    pub findings: Vec<Finding>,
}

/// How many worlds there were, and in how many of them the workflow did what it should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// In how many it did.
    pub passed: usize,
    /// How many there were.
    pub tried: usize,
}

/// A world that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotTried {
    /// Which.
    pub world: String,
    /// Why not.
    pub why: String,
}

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// A kebab-case code.
    pub code: &'static str,
    /// Where: a call, an argument, a line; empty where it is about the whole.
    pub place: String,
    /// What is the case, in one sentence.
    pub message: String,
    /// What else it could have been.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// There is no workflow.
    Error,
    /// A guess that may be wrong.
    Question,
    /// Worth a look.
    Warning,
    /// Good to know.
    Note,
}

impl Compiled {
    /// How many guesses are open.
    pub fn questions(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Question).count()
    }

    /// The workflow, where nothing speaks against keeping it.
    pub fn usable(&self) -> Option<&Workflow> {
        let is_wrong = self.findings.iter().any(|finding| finding.severity == Severity::Error);
        self.workflow.as_ref().filter(|_| !is_wrong)
    }
}
