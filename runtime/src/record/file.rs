//! A recording in a file of JSON lines: one write for all records that came together, so that what was written is whole whenever this process is killed.
//!
//! A file may hold several recordings, one after the other. What is written survives the end of this process, however that comes; it is not forced
//! to the disk, so it may not survive that of the machine.

use super::Sink;
use crate::clock::unique_name;
use ltc_workflow::{Value, json};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How every file begins that is a recording.
const HEAD: &[u8] = br#"{"format":"ltc.trace/1","#;

/// So much room is kept for lines.
const AT_ONCE: usize = 64 * 1024;

/// Why a file cannot be recorded into.
#[derive(Debug)]
pub enum Unusable {
    /// Another process records into it.
    Taken,
    /// It is something else.
    Other,
    /// It cannot be read or written.
    Io(std::io::Error),
}

impl From<std::io::Error> for Unusable {
    fn from(error: std::io::Error) -> Unusable {
        Unusable::Io(error)
    }
}

/// The file.
pub struct FileSink {
    path: PathBuf,
    file: File,
    /// Where this recording begins in it.
    start: u64,
    /// Lines that are not written yet.
    lines: String,
}

impl FileSink {
    /// Opens the file at `path`, behind what is recorded there already.
    ///
    /// # Errors
    /// Where it is in use, something else than a recording, or cannot be written.
    pub fn open(path: &Path) -> Result<FileSink, Unusable> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        for_us_alone(&mut options);
        let mut file = options.open(path)?;
        locked(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if !bytes.is_empty() && !bytes.starts_with(HEAD) {
            return Err(Unusable::Other);
        }
        // A line that its writer did not finish says nothing, and would spoil the next one.
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let start = u64::try_from(end).unwrap_or(u64::MAX);
        if end < bytes.len() {
            file.set_len(start)?;
        }
        Ok(FileSink { path: path.to_owned(), file, start, lines: String::new() })
    }
}

impl FileSink {
    /// A new file at `path`.
    ///
    /// # Errors
    /// Where there is something already (`AlreadyExists`), or nothing can be written.
    pub fn create(path: &Path) -> std::io::Result<FileSink> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        for_us_alone(&mut options);
        let file = options.open(path)?;
        // Nobody else knows of it yet, and a file system without locks has to do without.
        let _ = file.try_lock();
        Ok(FileSink { path: path.to_owned(), file, start: 0, lines: String::new() })
    }
}

/// What was recorded is for nobody else's eyes.
#[cfg(unix)]
fn for_us_alone(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn for_us_alone(_options: &mut OpenOptions) {}

fn locked(file: &File) -> Result<(), Unusable> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Unusable::Taken),
        // A file system without locks has to do without.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

impl Sink for FileSink {
    fn append(&mut self, record: &Value) -> std::io::Result<()> {
        self.lines.push_str(&json::to_string(record));
        self.lines.push('\n');
        Ok(())
    }

    fn settle(&mut self) -> std::io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all(self.lines.as_bytes());
        self.lines.clear();
        self.lines.shrink_to(AT_ONCE);
        written
    }

    fn rewrite(&mut self, change: &dyn Fn(&Value) -> Value) -> std::io::Result<()> {
        self.settle()?;
        let mut before = vec![0; usize::try_from(self.start).map_err(std::io::Error::other)?];
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_exact(&mut before)?;
        let mut lines = Vec::new();
        self.file.read_to_end(&mut lines)?;
        let mut changed = before;
        let mut is_changed = false;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let record = json::parse(line.trim_ascii_end()).map_err(std::io::Error::other)?;
            let new = change(&record);
            is_changed |= new != record;
            changed.extend_from_slice(json::to_string(&new).as_bytes());
            changed.push(b'\n');
        }
        if !is_changed {
            return Ok(());
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let beside = folder.join(format!(".ltc-{}", unique_name()));
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true);
        for_us_alone(&mut options);
        let whole = || {
            let mut file = options.open(&beside)?;
            file.write_all(&changed)?;
            // The lock goes with the file. One that cannot be had leaves the file as safe as it was without.
            let _ = file.try_lock();
            std::fs::rename(&beside, &self.path)?;
            Ok(file)
        };
        let file = whole().inspect_err(|_: &std::io::Error| {
            // It may not be there at all.
            let _ = std::fs::remove_file(&beside);
        })?;
        self.file = file;
        Ok(())
    }
}
