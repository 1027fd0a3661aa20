//! A written crate on disk: none of its files is overwritten that somebody edited.

use crate::{compiler, files, written};
use ltc_compiler::diagnostics::{Diagnostic, Severity};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The files as `cargo fmt` in `folder` would leave them, with their marks. Where there is no `rustfmt`, the compiler's own layout stays.
pub fn laid_out(folder: &Path, texts: Vec<(&'static str, String)>, document: &str) -> (Vec<(&'static str, String)>, Vec<Diagnostic>) {
    let mut problem = None;
    let laid_out = texts.into_iter().map(|(name, text)| {
        let text = match (name.ends_with(".rs"), &problem) {
            (true, None) => formatted(folder, &text).unwrap_or_else(|why| {
                let message = format!("the crate has the compiler's own layout, as rustfmt did not give it another one: {why}");
                problem = Some(Diagnostic::new(Severity::Note, "not-formatted", "", message).help("`cargo fmt` lays it out"));
                text
            }),
            _ => text,
        };
        (name, compiler::headed(name, &text, document))
    });
    (laid_out.collect(), problem.into_iter().collect())
}

/// `text` as rustfmt lays it out where the crate will lie: whose configuration counts is the folder's.
fn formatted(folder: &Path, text: &str) -> Result<String, String> {
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
        .current_dir(there)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut stdin) = rustfmt.stdin.take() {
        // rustfmt reads all of it before it writes.
        stdin.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
    }
    let output = rustfmt.wait_with_output().map_err(|error| error.to_string())?;
    match (output.status.success(), String::from_utf8(output.stdout)) {
        (true, Ok(text)) if !text.is_empty() => Ok(text),
        _ => Err(format!("it ended with {}", output.status)),
    }
}

/// Writes `texts` into `folder`; with `force` also over files that were edited.
///
/// # Errors
/// The files that were edited, none of which is touched then; or why one cannot be written.
pub fn write(folder: &Path, texts: &[(&'static str, String)], force: bool) -> Result<(), Vec<Diagnostic>> {
    let edited: Vec<Diagnostic> =
        if force { Vec::new() } else { texts.iter().filter_map(|(name, text)| edited(&folder.join(name), text)).collect() };
    if !edited.is_empty() {
        return Err(edited);
    }
    for (name, text) in texts {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| {
            let message = format!("the folder cannot be made: {error}");
            vec![Diagnostic::new(Severity::Error, "cannot-write", parent.display().to_string(), message)]
        })?;
        files::write(&path, text).map_err(|problem| vec![problem])?;
    }
    Ok(())
}

fn edited(path: &Path, text: &str) -> Option<Diagnostic> {
    if !path.exists() {
        return None;
    }
    let there = match files::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(problem) => return Some(problem),
    };
    if there == text || compiler::is_untouched(&there).unwrap_or_else(|| written::is_untouched(&there)) {
        return None;
    }
    let message = "the file was edited since it was written, or was not written by `ltc compile`";
    Some(Diagnostic::new(Severity::Error, "edited", path.display().to_string(), message).help("--force overwrites it"))
}

/// A folder as a crate in another one names it.
///
/// # Errors
/// Why there is none.
pub fn absolute(path: &Path) -> Result<String, Diagnostic> {
    let refused = |why: String| Diagnostic::new(Severity::Error, "cannot-read", path.display().to_string(), why);
    let whole = path.canonicalize().map_err(|error| refused(format!("the folder cannot be found: {error}")))?;
    whole.into_os_string().into_string().map_err(|_| refused("the name of the folder is no text".to_owned()))
}
