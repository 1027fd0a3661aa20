//! The Rust of some cases beside them, to be read as code: `expect/lib.rs`, `expect/steps.rs` and `expect/tools.rs` are what is written today.
//!
//! A case that has `expect/lib.rs` is compared, so an empty file of that name is how one is added.

use ltc_compiler::emit::File;
use std::fs;
use std::path::Path;

const FILES: [&str; 3] = ["lib.rs", "steps.rs", "tools.rs"];

/// Whether the Rust of this folder is compared.
pub fn is_shown(folder: &Path) -> bool {
    folder.join("expect/lib.rs").is_file()
}

/// Compares `files` with those beside the recording, or writes them there where `INSTA_UPDATE=always` asks for all snapshots.
pub fn compare(folder: &Path, files: &[File]) -> Result<(), String> {
    let is_rewritten = std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always");
    let mut differences = String::new();
    for name in FILES {
        let path = folder.join("expect").join(name);
        // A crate without steps has no file for them.
        let now = files.iter().find(|file| file.path == format!("src/{name}")).map(|file| file.text.as_str()).unwrap_or_default();
        if is_rewritten {
            fs::write(&path, now).map_err(|error| format!("{}: {error}", path.display()))?;
            continue;
        }
        let before = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        differences += &first_difference(name, &before, now).unwrap_or_default();
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(format!("\n{differences}INSTA_UPDATE=always cargo test -p ltc-compiler --test cases rewrites them; the diff is the review"))
}

/// The first line in which two texts differ, as each has it.
fn first_difference(name: &str, before: &str, now: &str) -> Option<String> {
    if before == now {
        return None;
    }
    let (mut old, mut new) = (before.split('\n'), now.split('\n'));
    let mut line = 1;
    loop {
        match (old.next(), new.next()) {
            (Some(old), Some(new)) if old == new => line += 1,
            (old, new) => {
                let shown = |line: Option<&str>| line.map_or_else(|| "nothing".to_owned(), |line| format!("{line:?}"));
                return Some(format!("expect/{name}, line {line}: {} is kept, {} is written\n", shown(old), shown(new)));
            }
        }
    }
}
