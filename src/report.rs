//! Messages for people, and for machines: the one place where a diagnostic becomes text.
//!
//! Results go to stdout, messages to stderr. With `--json` each message is one line of JSON. What others wrote never reaches the terminal with
//! escape sequences in it, and a secret never reaches it at all.

use anstyle::{AnsiColor, Style};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::problem::Problem;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::text;
use ltc_workflow::{Object, Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Where messages go, and how.
#[derive(Clone, Default)]
pub struct Report {
    /// Whether messages are lines of JSON.
    pub json: bool,
    /// Takes secrets out of what is said.
    pub redactor: Redactor,
}

impl Report {
    /// Says `diagnostic` on stderr.
    pub fn say(&self, diagnostic: &Diagnostic) {
        self.to_stderr(&self.render(diagnostic));
    }

    /// Says all of `diagnostics` on stderr.
    pub fn say_all(&self, diagnostics: &[Diagnostic]) {
        diagnostics.iter().for_each(|diagnostic| self.say(diagnostic));
    }

    /// Says `problems`, which are errors.
    pub fn say_problems(&self, problems: Vec<Problem>) {
        problems.into_iter().for_each(|problem| self.say(&from_problem(problem, Severity::Error)));
    }

    /// Says one sentence about what happened; for machines it is a note with this code.
    pub fn tell(&self, code: &'static str, sentence: &str) {
        if self.json {
            return self.say(&Diagnostic::new(Severity::Note, code, "", sentence));
        }
        self.to_stderr(&format!("{}\n", text::lines(&self.redactor.text(sentence))));
    }

    /// `diagnostic` as it is shown, with colours.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let clean = |words: &str| text::lines(&self.redactor.text(words));
        if self.json {
            return format!("{}\n", json::to_string(&self.redactor.value(&to_json(diagnostic))));
        }
        let color = match diagnostic.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Question | Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Blue,
        };
        let (loud, bold, dim) = (Style::new().bold().fg_color(Some(color.into())), Style::new().bold(), Style::new().dimmed());
        let (name, code) = (diagnostic.severity.name(), diagnostic.code);
        let mut out = format!("{loud}{name}[{code}]{loud:#}{bold}: {}{bold:#}\n", indented(&clean(&diagnostic.message)));
        let mut line = |mark: &str, words: &str| {
            // Writing to a text cannot fail.
            let _ = writeln!(out, "  {dim}{mark}{dim:#} {}", indented(&clean(words)));
        };
        if !diagnostic.place.is_empty() {
            line("-->", &text::one_line(&diagnostic.place));
        }
        diagnostic.candidates.iter().for_each(|candidate| line("  or", candidate));
        diagnostic.help.iter().for_each(|help| line("help:", help));
        out
    }

    fn to_stderr(&self, text: &str) {
        // Nobody can be told that stderr is gone.
        let _ = anstream::stderr().write_all(text.as_bytes());
    }
}

/// Further lines stand under the first one, and can be taken for no message of their own.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n      ")
}

/// A problem of the runtime as a diagnostic.
pub fn from_problem(problem: Problem, severity: Severity) -> Diagnostic {
    Diagnostic { severity, code: problem.code, place: problem.place, message: problem.message, candidates: Vec::new(), help: problem.help }
}

/// A diagnostic as JSON.
pub fn to_json(diagnostic: &Diagnostic) -> Value {
    let mut object: Object = [
        ("severity", Value::from(diagnostic.severity.name())),
        ("code", Value::from(diagnostic.code)),
        ("place", Value::from(diagnostic.place.as_str())),
        ("message", Value::from(diagnostic.message.as_str())),
    ]
    .into_iter()
    .collect();
    if !diagnostic.candidates.is_empty() {
        object.insert("candidates", diagnostic.candidates.iter().map(|candidate| Value::from(candidate.as_str())).collect());
    }
    if let Some(help) = &diagnostic.help {
        object.insert("help", Value::from(help.as_str()));
    }
    object.into()
}

/// Writes a result to stdout. A reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// Those of writing.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(report: &Report, diagnostic: &Diagnostic) -> String {
        anstream::adapter::strip_str(&report.render(diagnostic)).to_string()
    }

    #[test]
    fn a_message_says_what_where_what_else_and_what_to_do() {
        let diagnostic = Diagnostic::new(Severity::Question, "two-origins", "call c1 (s/t)", "the id has two origins\nin two calls")
            .candidates(["steps.a.id".to_owned()])
            .help("a hint can decide");
        assert_eq!(
            plain(&Report::default(), &diagnostic),
            "question[two-origins]: the id has two origins\n      in two calls\n  --> call c1 (s/t)\n    or steps.a.id\n  help: a hint can decide\n"
        );
    }

    #[test]
    fn what_others_wrote_is_only_text() {
        let report = Report { json: false, redactor: Redactor::new([("PIN", "4711")]) };
        let diagnostic = Diagnostic::new(Severity::Error, "tool-error", "a\nb", "\u{1b}[2J4711\nerror[fake]: x");
        assert_eq!(plain(&report, &diagnostic), "error[tool-error]: [secret PIN]\n      error[fake]: x\n  --> a ⏎ b\n");
        let report = Report { json: true, ..report };
        assert_eq!(
            report.render(&diagnostic),
            "{\"severity\":\"error\",\"code\":\"tool-error\",\"place\":\"a\\nb\",\"message\":\"\\u001b[2J[secret PIN]\\nerror[fake]: x\"}\n"
        );
    }
}
