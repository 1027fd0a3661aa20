//! What is shown while something goes on: a line that moves on a terminal, plain lines where messages are for machines, and what servers say.

use crate::report::Report;
use indicatif::{ProgressBar, ProgressStyle};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::observe::{Log, Observer};
use ltc_runtime::secrets::Redactor;
use ltc_runtime::text;
use ltc_workflow::advance::{Effect, Ended, StepKey};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

/// The progress of one run.
pub struct Progress {
    json: bool,
    redactor: RwLock<Redactor>,
    bar: Option<ProgressBar>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    under_way: BTreeSet<StepKey>,
    ended: usize,
}

impl Progress {
    /// A progress that is drawn where stderr is a terminal.
    pub fn new(report: Report) -> Progress {
        let is_drawn = !report.json && std::io::stderr().is_terminal();
        Progress { bar: is_drawn.then(bar), ..Progress::in_lines(report) }
    }

    /// A progress without a line that moves.
    pub fn in_lines(report: Report) -> Progress {
        let Report { json, redactor } = report;
        Progress { json, redactor: RwLock::new(redactor), bar: None, seen: Mutex::default() }
    }

    /// The way to say something without any secret that is known by now.
    pub fn report(&self) -> Report {
        Report { json: self.json, redactor: self.redactor.read().unwrap_or_else(PoisonError::into_inner).clone() }
    }

    /// Takes the moving line away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Says something above the moving line.
    pub fn say(&self, diagnostic: &Diagnostic) {
        self.above(|| self.report().say(diagnostic));
    }

    fn above(&self, say: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    fn draw(&self, seen: &Seen) {
        let Some(bar) = &self.bar else { return };
        let steps: Vec<&str> = seen.under_way.iter().map(|key| key.0.as_str()).take(3).collect();
        let more =
            if seen.under_way.len() > steps.len() { format!(" and {} more", seen.under_way.len() - steps.len()) } else { String::new() };
        bar.set_message(text::one_line(&format!("{} steps done; {}{more}", seen.ended, steps.join(", "))));
    }
}

/// Does `work`; on a terminal a line moves where that takes longer than a second.
pub fn busy<T>(report: &Report, what: &'static str, work: impl FnOnce() -> T) -> T {
    if report.json || !std::io::stderr().is_terminal() {
        return work();
    }
    let (done, waits) = mpsc::channel::<()>();
    let shown = std::thread::spawn(move || {
        if waits.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            let bar = bar().with_message(what);
            // It ends with the sender.
            let _ = waits.recv();
            bar.finish_and_clear();
        }
    });
    let result = work();
    drop(done);
    // The line has to be gone before anything else is written; where drawing it failed, it is.
    let _ = shown.join();
    result
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

impl Observer for Progress {
    fn started(&self, key: &StepKey, effect: &Effect) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.under_way.insert(key.clone());
        self.draw(&seen);
        if self.json {
            let what = match effect {
                Effect::Call { server, tool, .. } => format!("calls {server}/{tool}"),
                Effect::Sleep(duration) => format!("waits {} ms", duration.millis),
                Effect::Escalate { role, .. } => format!("asks {role}"),
                Effect::Run { workflow, .. } => format!("runs {workflow}"),
            };
            self.report().say(&Diagnostic::new(Severity::Note, "step-started", key.to_string(), what));
        }
    }

    fn ended(&self, key: &StepKey, ended: &Ended) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.under_way.remove(key);
        seen.ended += 1;
        self.draw(&seen);
        if self.json {
            let how = match ended {
                Ended::Succeeded(_) => "succeeded".to_owned(),
                Ended::Failed(failure) => format!("failed: {}: {}", failure.code, failure.message),
            };
            self.report().say(&Diagnostic::new(Severity::Note, "step-ended", key.to_string(), how));
        }
    }
}

impl Log for Progress {
    fn learn(&self, secrets: &Redactor) {
        let mut known = self.redactor.write().unwrap_or_else(PoisonError::into_inner);
        *known = known.and(secrets);
    }

    fn server_said(&self, server: &str, line: &str) {
        if self.json {
            return self.report().say(&Diagnostic::new(Severity::Note, "server-said", format!("server {server}"), line));
        }
        self.above(|| self.report().tell("server-said", &text::one_line(&format!("[{server}] {line}"))));
    }

    fn redact(&self, text: &str) -> String {
        self.report().redactor.text(text)
    }
}
