//! Where recordings go: behind what was recorded in a file, or into files of their own. None is ever written over.

use crate::exit::Exit;
use crate::report::Report;
use crate::traces::said;
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use ltc_runtime::environment::ProcessEnvironment;
use ltc_runtime::record::{FileSink, Unusable};
use ltc_runtime::{clock, store};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The file of the one session that there is. One that another process records into is left to it.
pub fn for_one(output: Option<&Path>, report: &Report) -> Result<(PathBuf, FileSink), Exit> {
    let path = match output {
        Some(path) => path.to_owned(),
        None => folder_of_recordings(report)?.join(fresh_name()),
    };
    let opened = match FileSink::open(&path) {
        Err(Unusable::Taken) => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let beside = path.with_file_name(format!("{stem}-{}.jsonl", clock::unique_name()));
            FileSink::open(&beside).map(|sink| (beside, sink))
        }
        opened => opened.map(|sink| (path.clone(), sink)),
    };
    opened.map_err(|error| match error {
        Unusable::Taken => unusable(&path, "another process records into it", report),
        Unusable::Other => unusable(&path, "it is there, and no recording of `ltc record`", report),
        Unusable::Io(error) => unusable(&path, &error.to_string(), report),
    })
}

/// The files of many sessions.
pub enum Files {
    /// In this folder, under names that nothing else has.
    In(PathBuf),
    /// Beside this path: its name, then a number.
    Beside { path: PathBuf, last: AtomicU64 },
}

impl Files {
    /// Where they go.
    ///
    /// # Errors
    /// Where nothing can be written there.
    pub fn new(output: Option<&Path>, report: &Report) -> Result<Files, Exit> {
        let Some(path) = output else { return folder_of_recordings(report).map(Files::In) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Said now, and not to the first client.
        match folder.metadata() {
            Ok(found) if found.is_dir() && path.file_name().is_some() => {
                Ok(Files::Beside { path: path.to_owned(), last: AtomicU64::new(0) })
            }
            Ok(_) => Err(unusable(path, "no file can be there", report)),
            Err(error) => Err(unusable(folder, &error.to_string(), report)),
        }
    }

    /// A new file.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn fresh(&self) -> std::io::Result<(PathBuf, FileSink)> {
        loop {
            let path = match self {
                Files::In(folder) => folder.join(fresh_name()),
                Files::Beside { path, last } => numbered(path, last.fetch_add(1, Ordering::Relaxed) + 1),
            };
            match FileSink::create(&path) {
                // It is that of another session, of today or of yesterday.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => return made.map(|sink| (path, sink)),
            }
        }
    }
}

/// `desk.jsonl` → `desk-1.jsonl`
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name: OsString = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn fresh_name() -> String {
    format!("{}.jsonl", clock::unique_name())
}

fn folder_of_recordings(report: &Report) -> Result<PathBuf, Exit> {
    let home = store::default_path(&ProcessEnvironment).map_err(|error| unusable(Path::new("LTC_HOME"), &error.to_string(), report))?;
    let folder = home.with_file_name("recordings");
    std::fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error.to_string(), report))?;
    Ok(folder)
}

/// Says that a recording cannot be written.
pub fn unusable(path: &Path, why: &str, report: &Report) -> Exit {
    let message = format!("the recording cannot be written: {why}");
    said(&[Diagnostic::new(Severity::Error, "cannot-write", path.display().to_string(), message)], Exit::Failed, report)
}
