//! Messages for people, and for machines: the one place where a diagnostic becomes text.
//!
//! Results go to stdout, messages to stderr. With `--json` each message is one line of JSON. What others wrote never reaches the terminal with
//! escape sequences in it, or with characters that are not seen, and a secret never reaches it at all.

use anstyle::{AnsiColor, Style};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::problem::Problem;
use ltc_runtime::secrets::Redactor;
use ltc_runtime::text;
use ltc_workflow::hidden::{is_hidden, revealed_but};
use ltc_workflow::{Object, Value, json};
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

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
        self.to_stderr(&format!("{}\n", self.clean(sentence)));
    }

    /// Says what was done, and facts about it in lines of their own; for machines it is one note with this code.
    pub fn summary(&self, code: &'static str, done: &str, facts: &[(&str, String)]) {
        if self.json {
            let facts: Vec<String> = facts.iter().map(|(name, fact)| format!("{name}: {fact}")).collect();
            return self.say(&Diagnostic::new(Severity::Note, code, "", format!("{done}; {}", facts.join("; "))));
        }
        let (loud, dim) = (Style::new().bold().fg_color(Some(AnsiColor::Green.into())), Style::new().dimmed());
        let mut out = format!("{loud}{}{loud:#}\n", self.clean(done));
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, fact) in facts {
            // Writing to a text cannot fail.
            let _ = writeln!(out, "  {dim}{name:width$}{dim:#}  {}", text::one_line(&self.clean(fact)));
        }
        self.to_stderr(&out);
    }

    /// `words` without secrets, and without anything that a terminal acts on: escape sequences go, other unseen characters are told.
    pub fn clean(&self, words: &str) -> String {
        text::lines(&revealed_but(&self.redactor.text(words), char::is_control))
    }

    /// `diagnostic` as it is shown, with colours.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        if self.json {
            return format!("{}\n", escaped(&json::to_string(&self.redactor.value(&to_json(diagnostic)))));
        }
        let color = match diagnostic.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Question | Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Blue,
        };
        let (loud, bold, dim) = (Style::new().bold().fg_color(Some(color.into())), Style::new().bold(), Style::new().dimmed());
        let (name, code) = (diagnostic.severity.name(), diagnostic.code);
        let mut out = format!("{loud}{name}[{code}]{loud:#}{bold}: {}{bold:#}\n", indented(&self.clean(&diagnostic.message)));
        let mut line = |mark: &str, words: &str| {
            // Writing to a text cannot fail.
            let _ = writeln!(out, "  {dim}{mark}{dim:#} {}", indented(words));
        };
        if !diagnostic.place.is_empty() {
            line("-->", &text::one_line(&self.clean(&diagnostic.place)));
        }
        diagnostic.candidates.iter().for_each(|candidate| line("  or", &self.clean(candidate)));
        diagnostic.help.iter().for_each(|help| line("help:", &self.clean(help)));
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

/// Writes a result to stdout, byte for byte; on a terminal, unseen characters are written as escapes. A reader that has seen enough (`| head`)
/// is no error.
///
/// # Errors
/// Those of writing.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        return enough(out.write_all(escaped(text).as_bytes()).and_then(|()| out.flush()));
    }
    enough(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes words to stdout that are clean already and have colours, without the colours where stdout wants none.
///
/// # Errors
/// Those of writing.
pub fn print_styled(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    enough(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn enough(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// `text` with its unseen characters as `\uXXXX`. JSON has them inside of strings only, and stays the same value.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' && c != '\t' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a text cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
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

    #[test]
    fn nothing_in_a_message_moves_the_cursor_or_is_unseen() {
        // All that is hidden, in each part of a message; a letter behind each, so that no escape sequence swallows the rest.
        let hostile: String = (char::MIN..=char::MAX).filter(|c| is_hidden(*c)).flat_map(|c| [c, 'm', '\\', '\n']).collect();
        let diagnostic = Diagnostic::new(Severity::Warning, "w", hostile.as_str(), hostile.as_str())
            .candidates([hostile.clone()])
            .help(hostile.as_str());
        let is_bad = |c: char| is_hidden(c) && c != '\n';
        let report = Report::default();
        assert!(!plain(&report, &diagnostic).contains(is_bad));
        let machine = Report { json: true, ..Report::default() };
        assert!(!machine.render(&diagnostic).contains(is_bad));
        assert_eq!(json::parse(machine.render(&diagnostic).as_bytes()), Ok(to_json(&diagnostic)));
        // What is unseen and no control character is told: a name that only looks like another one is recognized.
        assert_eq!(report.clean("pay\u{202e}eno \u{e0041}\u{1b}[31mred\u{1b}[0m\rover\tx"), "pay\\u{202e}eno \\u{e0041}red\nover x");
    }

    #[test]
    fn a_secret_is_taken_out_before_anything_else_is_done_to_a_text() {
        let report = Report { json: false, redactor: Redactor::new([("PIN", "4711"), ("KEY", "begin\nsecret\u{a0}\u{1b}[1mkey")]) };
        let place = format!("{}4711", "x".repeat(1998));
        assert!(!plain(&report, &Diagnostic::new(Severity::Error, "e", place, "m")).contains("47"));
        assert_eq!(report.clean("the key is begin\nsecret\u{a0}\u{1b}[1mkey."), "the key is [secret KEY].");
    }
}
