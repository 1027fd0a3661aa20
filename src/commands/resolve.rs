//! `ltc resolve`: the questions that runs and agents ask people, and the answers.

use super::{print_list, print_value, text_in};
use crate::exit::Exit;
use crate::files;
use crate::opened::{self, StoreArguments, entries};
use crate::report::Report;
use crate::traces::said;
use clap::Args;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_workflow::{Value, json};

/// List open questions, show one, or answer it
#[derive(Args, Debug)]
pub struct Arguments {
    /// The id of the question; without it, open questions are listed
    #[arg(value_name = "QUESTION")]
    question: Option<String>,
    /// The answer: JSON, @ and the name of a JSON file, or - for stdin
    #[arg(value_name = "JSON|@FILE|-", requires = "question")]
    answer: Option<String>,
    /// Show the question instead of answering it
    #[arg(long, requires = "question", conflicts_with = "answer")]
    show: bool,
    /// Who answers
    #[arg(long, value_name = "NAME", env = "USER", default_value = "someone")]
    by: String,
    /// Only questions to this role
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    #[command(flatten)]
    store: StoreArguments,
}

/// Lists, shows or answers.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let done = match (&arguments.question, &arguments.answer) {
        (None, _) => list(arguments, report),
        (Some(question), None) => {
            let input = entries([("escalation_id", Some(question.as_str().into()))]);
            opened::operate(&arguments.store, "check_resolution", input, report).map(|asked| print_value(&asked, report))
        }
        (Some(question), Some(answer)) => resolve(question, answer, arguments, report),
    };
    done.unwrap_or_else(|exit| exit)
}

fn resolve(question: &str, answer: &str, arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let (_, bytes) = files::given("", answer).map_err(|problem| said(&[problem], Exit::Usage, report))?;
    let payload = json::parse(&bytes).map_err(|error| {
        let problem = Diagnostic::new(Severity::Error, "invalid-answer", "", format!("the answer is no JSON: {error}"));
        said(&[problem.help("a text is written with its quotes: '\"yes\"'")], Exit::Invalid, report)
    })?;
    let input = entries([
        ("escalation_id", Some(question.into())),
        ("resolver_id", Some(arguments.by.as_str().into())),
        ("payload", Some(payload)),
    ]);
    let resolved = opened::operate(&arguments.store, "claim_and_resolve", input, report)?;
    if let Some(run) = resolved.get("run_id").and_then(Value::as_str) {
        report.tell("run-goes-on", &format!("`ltc resume {run}` goes on with the run, or a server that works on this store does"));
    }
    Ok(print_value(&resolved, report))
}

fn list(arguments: &Arguments, report: &Report) -> Result<Exit, Exit> {
    let input = entries([("role", arguments.role.as_deref().map(Value::from)), ("limit", Some(1000_i64.into()))]);
    let work = opened::operate(&arguments.store, "get_available_work", input, report)?;
    let line = |asked: &Value| {
        let text = |field: &str| text_in(asked, field);
        let priority = asked.get("priority").map(json::to_string).unwrap_or_default();
        format!("{priority}  {}  {}  {}: {}", text("created_at"), text("escalation_id"), text("role"), text("message"))
    };
    Ok(print_list(&work, "escalations", ("next", "--after"), line, report))
}
