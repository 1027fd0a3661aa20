//! Files in and out: `-` is stdin, and what is written appears whole or not at all.

use ltc_compiler::diagnostics::{Diagnostic, Severity};
use std::io::{Read, Write};
use std::path::Path;

/// The largest file that is read.
const LARGEST: u64 = 1024 * 1024 * 1024;

/// The bytes of the file `path`, or of stdin for `-`.
///
/// # Errors
/// `cannot-read`, with the reason.
pub fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let refused =
        |why: &str| Diagnostic::new(Severity::Error, "cannot-read", path.display().to_string(), format!("the file cannot be read: {why}"));
    let mut bytes = Vec::new();
    let count = if path == Path::new("-") {
        std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    match count {
        Ok(count) if u64::try_from(count).is_ok_and(|count| count <= LARGEST) => Ok(bytes),
        Ok(_) => Err(refused("it is larger than 1 GiB")),
        Err(error) => Err(refused(&error.to_string())),
    }
}

/// The bytes that an argument stands for: itself, `@` and the name of a file, or `-` for stdin; and what messages call where they come from, `itself` where
/// they are the argument.
///
/// # Errors
/// `cannot-read`, with the reason.
pub fn given(itself: &str, argument: &str) -> Result<(String, Vec<u8>), Diagnostic> {
    let path = argument.strip_prefix('@').or((argument == "-").then_some(argument));
    match path.map(Path::new) {
        Some(path) => Ok((name(path), read(path)?)),
        None => Ok((itself.to_owned(), argument.as_bytes().to_vec())),
    }
}

/// The name by which messages call `path`.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() }
}

/// Writes `text` to `path`: into a file beside it first, which then takes its place. What is no file (`/dev/null`, a pipe) is written into.
///
/// # Errors
/// `cannot-write`, with the reason; the old file is still there.
pub fn write(path: &Path, text: &str) -> Result<(), Diagnostic> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = || {
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
        }
        let mut file = tempfile::Builder::new().prefix(".ltc-").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        give_permissions(file.path(), path)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    match whole() {
        Ok(()) => Ok(()),
        Err(error) => {
            let message = format!("the file cannot be written: {error}");
            Err(Diagnostic::new(Severity::Error, "cannot-write", path.display().to_string(), message))
        }
    }
}

/// A new file may be read by whom other new files may be read; a file that is replaced keeps its permissions.
fn give_permissions(new: &Path, old: &Path) -> std::io::Result<()> {
    match std::fs::metadata(old) {
        Ok(metadata) => std::fs::set_permissions(new, metadata.permissions()),
        Err(_) => readable(new),
    }
}

#[cfg(unix)]
fn readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("w.yaml");
        write(&path, "one").expect("it is written");
        write(&path, "two").expect("it is written");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "two");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
        let refused = write(&folder.path().join("no/w.yaml"), "x").expect_err("there is no such folder");
        assert_eq!(refused.code, "cannot-write");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let refused = read(Path::new("no/such/file")).expect_err("there is no such file");
        assert_eq!((refused.code, refused.place.as_str()), ("cannot-read", "no/such/file"));
    }
}
