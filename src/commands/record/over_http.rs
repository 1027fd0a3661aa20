//! `ltc record --listen`: every client that comes over HTTP has servers and a recording of its own.

use super::files::Files;
use super::{Arguments, Setting, recorded};
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::listening::refused;
use crate::report::Report;
use ltc_runtime::relay::{Begun, Ended, listen};
use ltc_runtime::serve::Listen;
use ltc_runtime::text;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// As much as over stdio.
const LARGEST_MESSAGE: usize = 64 * 1024 * 1024;

/// Relays until somebody ends it. A second interrupt waits for nobody.
pub async fn relaying(
    setting: Setting,
    address: SocketAddr,
    arguments: &Arguments,
    mut interrupts: Interrupts,
    report: &Report,
) -> Result<Exit, Exit> {
    let door = Listen { largest_body: LARGEST_MESSAGE, ..arguments.door.at(address, report)? };
    let files = Files::new(arguments.output.as_deref(), report)?;
    let of_sessions = report.clone();
    let begin = move || begun(&setting, &files, &of_sessions);
    let (ending, ended) = tokio::sync::oneshot::channel::<()>();
    let end = async {
        // Where nobody can ask for an end any more, that is one too.
        let _ = ended.await;
    };
    let (address, serving) = listen(door, Arc::new(begin), end).await.map_err(|why| refused(why, Exit::Failed, report))?;
    report.tell("listening", &format!("http://{address}/mcp"));
    let mut serving = Box::pin(serving);
    tokio::select! {
        () = &mut serving => return Ok(Exit::Done),
        () = interrupts.next() => drop(ending),
    }
    tokio::select! {
        () = serving => Ok(Exit::Done),
        () = interrupts.next() => Ok(Exit::Interrupted),
    }
}

/// One more session.
fn begun(setting: &Setting, files: &Files, report: &Report) -> std::io::Result<Begun> {
    let (path, sink) = files.fresh()?;
    let (relay, recorder) = setting.relay(sink)?;
    report.tell("recording", &format!("a client has come: recording into {}", path.display()));
    let report = report.clone();
    let ended = move |ended: &std::io::Result<Ended>| {
        match ended {
            Ok(Ended::Left) => {}
            Ok(Ended::ServerGone(words)) => report.tell("server-died", &text::one_line(words)),
            Err(error) => report.tell("connect-failed", &format!("the server cannot be started: {error}")),
        }
        match recorder.calls() {
            0 => empty(&path, &report),
            calls => report.tell("recorded", &recorded(calls, &path)),
        }
    };
    Ok(Begun { relay, ended: Box::new(ended) })
}

/// A session without a call leaves no file: many clients only look around.
fn empty(path: &Path, report: &Report) {
    match std::fs::remove_file(path) {
        Ok(()) => report.tell("recorded", "a client has left without a call, and without a recording"),
        Err(error) => report.tell("recorded", &format!("{} holds no call, and cannot be removed: {error}", path.display())),
    }
}
