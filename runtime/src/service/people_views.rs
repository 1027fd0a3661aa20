//! What the operations on questions to people take and give.

use super::learn::Learned;
use super::people::validator;
use super::refusal::Code;
use super::{Exact, Refusal};
use crate::store::{EscalationRecord, EscalationStatus, Question};
use crate::triage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The inputs of the two ways to ask; serde's `flatten` would round numbers in `data`.
macro_rules! asking {
    ($(#[$about:meta])* $name:ident { $($(#[$more:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Who is asked: a role, like `reviewer`.
            pub role: String,
            /// What is asked.
            pub message: String,
            /// What is shown beside the message: any JSON.
            #[serde(default)]
            pub data: Option<Exact>,
            /// A word for the kind of question.
            #[serde(default = "mcp", rename = "type")]
            pub kind: String,
            /// A word that divides the kind.
            #[serde(default = "tool_call")]
            pub subtype: String,
            /// From 1, urgent, to 4.
            #[serde(default = "normal")]
            #[schemars(range(min = 1, max = 4))]
            pub priority: u8,
            /// The JSON Schema of the answer, where it has one.
            #[serde(default)]
            #[schemars(extend("type" = ["object", "boolean", "null"]))]
            pub form: Option<Exact>,
            $($(#[$more])* pub $field: $kind,)*
        }

        impl $name {
            pub(super) fn question(&self) -> Result<Question, Refusal> {
                if !(1..=4).contains(&self.priority) {
                    return Err(Refusal::new(Code::Invalid, "`priority` is a number from 1 (urgent) to 4"));
                }
                if let Some(Exact(form)) = &self.form {
                    validator(form)?;
                }
                // What is learned from an answer to such a question is run without anybody looking.
                if self.kind == triage::KIND {
                    return Err(Refusal::new(Code::Invalid, format!("questions of the type `{}` are asked by runs only", triage::KIND)));
                }
                Ok(Question {
                    role: self.role.as_str().into(),
                    kind: self.kind.as_str().into(),
                    subkind: self.subtype.as_str().into(),
                    priority: self.priority,
                    message: self.message.clone(),
                    data: self.data.clone().map(|data| data.0),
                    form: self.form.clone().map(|form| form.0),
                })
            }
        }
    };
}

asking! {
    /// What `escalate_to_human` takes.
    Escalate {}
}

asking! {
    /// What `escalate_and_wait` takes.
    EscalateAndWait {
        /// How many seconds to wait at most, 300 where it is left out.
        #[serde(default)]
        #[schemars(range(min = 1, max = 86400))]
        timeout_seconds: Option<u64>,
    }
}

fn mcp() -> String {
    "mcp".to_owned()
}

fn tool_call() -> String {
    "tool_call".to_owned()
}

fn normal() -> u8 {
    2
}

/// What `check_resolution` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckResolution {
    /// The id of the question.
    pub escalation_id: String,
}

/// What `get_available_work` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetAvailableWork {
    /// Only questions to this role.
    #[serde(default)]
    pub role: Option<String>,
    /// How many at most, 10 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
}

/// What `get_available_work` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AvailableWork {
    /// How many questions are in the list.
    pub count: usize,
    /// The questions.
    pub escalations: Vec<EscalationView>,
}

/// What `claim_and_resolve` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimAndResolve {
    /// The id of the question.
    pub escalation_id: String,
    /// Who answers.
    pub resolver_id: String,
    /// The answer: any JSON that fits the question's form.
    pub payload: Exact,
}

/// What `claim_escalation` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimEscalation {
    /// The id of the question.
    pub escalation_id: String,
    /// Who works on it.
    pub resolver_id: String,
    /// After how many minutes the claim runs out, 30 where it is left out. Claiming again prolongs it.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1440))]
    pub minutes: Option<u64>,
}

/// A question, and its answer where it has one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EscalationView {
    /// Its id.
    pub escalation_id: String,
    /// How it stands.
    pub status: Standing,
    /// Who is asked.
    pub role: String,
    /// A word for the kind of question.
    #[serde(rename = "type")]
    pub kind: String,
    /// A word that divides the kind.
    pub subtype: String,
    /// From 1, urgent, to 4.
    pub priority: u8,
    /// What is asked.
    pub message: String,
    /// What is shown beside the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Exact>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<Exact>,
    /// The run that waits for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The step that waits for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// When it was asked.
    pub created_at: String,
    /// When nobody needs the answer any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// When it was answered or closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<String>,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver_id: Option<String>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Exact>,
    /// The recording of what this connection does to answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Where the answer came with a recording: what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
}

/// How a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nobody works on it.
    Pending,
    /// Somebody works on it.
    Claimed,
    /// It is answered.
    Resolved,
    /// Nobody needs the answer any more.
    Closed,
}

impl From<EscalationStatus> for Standing {
    fn from(status: EscalationStatus) -> Standing {
        match status {
            EscalationStatus::Pending => Standing::Pending,
            EscalationStatus::Claimed => Standing::Claimed,
            EscalationStatus::Resolved => Standing::Resolved,
            EscalationStatus::Closed => Standing::Closed,
        }
    }
}

impl From<EscalationRecord> for EscalationView {
    fn from(record: EscalationRecord) -> EscalationView {
        let EscalationRecord { id, asked_by, question, status, created_at, deadline, claim, ended_at, resolved_by, answer } = record;
        let (run, step) = asked_by.unzip();
        EscalationView {
            escalation_id: id.0.into(),
            status: status.into(),
            role: question.role.into(),
            kind: question.kind.into(),
            subtype: question.subkind.into(),
            priority: question.priority,
            message: question.message,
            data: question.data.map(Exact),
            form: question.form.map(Exact),
            run_id: run.map(|run| run.0.into()),
            step: step.map(|step| step.0.into()),
            created_at: created_at.to_string(),
            deadline: deadline.map(|deadline| deadline.to_string()),
            claimed_by: claim.map(|(by, _)| by.into()),
            resolved_at: ended_at.map(|at| at.to_string()),
            resolver_id: resolved_by.map(Into::into),
            payload: answer.map(Exact),
            trace_id: None,
            learned: None,
        }
    }
}
