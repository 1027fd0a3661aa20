//! A child process that is a server: how it is started, what it says on stderr, and how it ends.
//!
//! The child leads a process group of its own, so that a server started by a launcher ends with it, and a Ctrl-C in the terminal reaches us
//! alone: we end the servers after the calls. When we are killed, the child's stdin closes.

use super::lines::Lines;
use crate::observe::Log;
use crate::servers::Endpoint;
use crate::text;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use std::collections::VecDeque;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

/// The longest line of stderr that is kept whole.
const LONGEST_LINE: usize = 8 * 1024;
/// How many lines of stderr are told when the server dies.
const LAST_LINES: usize = 10;
/// How long a server may take to end after its stdin closed, and again after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long we wait for the last words of a server that died.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What is known about a child when it is gone.
#[derive(Debug, Default)]
pub struct Remains {
    status: Option<ExitStatus>,
    lines: VecDeque<String>,
}

impl Remains {
    /// One sentence about the end, and the last lines of stderr.
    pub fn describe(&self) -> String {
        let mut text = match self.status {
            Some(status) => format!("the server ended ({status})"),
            None => "the server closed its output".to_owned(),
        };
        if !self.lines.is_empty() {
            text.push_str("; its last words:");
            for line in &self.lines {
                text.push_str("\n  ");
                text.push_str(line);
            }
        }
        text
    }
}

/// A server's process.
pub struct Child {
    process: Box<dyn ChildWrapper>,
    stderr: Option<JoinHandle<()>>,
    remains: Arc<Mutex<Remains>>,
    has_ended: bool,
}

impl Drop for Child {
    /// A connection that is dropped without being closed (a run that is interrupted) takes the whole group with it.
    fn drop(&mut self) {
        if !self.has_ended {
            // It may have ended by itself.
            let _ = self.process.start_kill();
        }
    }
}

/// A process that was started, with the pipes that messages go through.
pub struct Started {
    /// The process.
    pub child: Child,
    /// Its stdin.
    pub input: ChildStdin,
    /// Its stdout.
    pub output: ChildStdout,
}

/// Starts the server.
///
/// # Errors
/// Where the program cannot be started.
pub fn start(server: &str, endpoint: &Endpoint, log: Arc<dyn Log>) -> std::io::Result<Started> {
    let Endpoint::Stdio { command, args, env, cwd, hidden } = endpoint else {
        return Err(std::io::Error::other("this server is no child process"));
    };
    let mut wrap = CommandWrap::with_new(command, |child| {
        for name in hidden {
            child.env_remove(name);
        }
        child.args(args).envs(env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = cwd {
            child.current_dir(cwd);
        }
    });
    wrap.wrap(KillOnDrop);
    #[cfg(unix)]
    wrap.wrap(ProcessGroup::leader());
    let mut process = wrap.spawn()?;
    let closed = || std::io::Error::other("the server has no stdin, stdout or stderr");
    let input = process.stdin().take().ok_or_else(closed)?;
    let output = process.stdout().take().ok_or_else(closed)?;
    let errors = process.stderr().take().ok_or_else(closed)?;
    let remains = Arc::new(Mutex::new(Remains::default()));
    let stderr = tokio::spawn(follow(Lines::new(errors, LONGEST_LINE), server.to_owned(), log, remains.clone()));
    Ok(Started { child: Child { process, stderr: Some(stderr), remains, has_ended: false }, input, output })
}

impl Child {
    /// What it leaves behind.
    pub fn remains(&self) -> Arc<Mutex<Remains>> {
        self.remains.clone()
    }

    /// Waits for the end of a child that closed its stdout, and for its last words.
    pub async fn bury(&mut self) {
        let status = tokio::time::timeout(LAST_WORDS, self.process.wait()).await;
        if let Some(mut stderr) = self.stderr.take()
            && tokio::time::timeout(LAST_WORDS, &mut stderr).await.is_err()
        {
            stderr.abort();
        }
        if let Ok(Ok(status)) = status {
            self.remains.lock().unwrap_or_else(PoisonError::into_inner).status = Some(status);
        }
    }

    /// Ends it; its stdin is closed already. It is given time to go by itself, then asked, then killed.
    pub async fn end(&mut self) -> std::io::Result<()> {
        if tokio::time::timeout(GRACE, self.process.wait()).await.is_err() {
            #[cfg(unix)]
            let asked = self.process.signal(SIGTERM).is_ok();
            #[cfg(not(unix))]
            let asked = false;
            if !asked || tokio::time::timeout(GRACE, self.process.wait()).await.is_err() {
                Box::into_pin(self.process.kill()).await?;
            }
        }
        self.has_ended = true;
        Ok(())
    }
}

async fn follow<R: AsyncRead + Unpin>(mut lines: Lines<R>, server: String, log: Arc<dyn Log>, remains: Arc<Mutex<Remains>>) {
    while let Some(line) = lines.next().await {
        // Secrets first: in a line that is cut short, or cleaned, half of one would not be found.
        let line = text::one_line(&log.redact(&String::from_utf8_lossy(line.bytes())));
        if line.is_empty() {
            continue;
        }
        {
            let mut remains = remains.lock().unwrap_or_else(PoisonError::into_inner);
            if remains.lines.len() == LAST_LINES {
                remains.lines.pop_front();
            }
            remains.lines.push_back(line.clone());
        }
        log.server_said(&server, &line);
    }
}

/// The number that POSIX gives it.
#[cfg(unix)]
const SIGTERM: i32 = 15;
