//! Who may use whom: the language uses nothing of ours, the compiler and the runtime use the language and not each other, and the library that
//! speaks MCP stays behind the runtime's border. Read from the sources, so that a shortcut shows at once.

use std::path::{Path, PathBuf};

/// All Rust files under `folder`, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a source file is text")
}

/// The lines of code in `text`, without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"))
}

#[test]
fn crates_use_only_those_below_them() {
    for (folder, forbidden) in [
        ("workflow/src", &["ltc_compiler", "ltc_runtime", "tokio", "std::fs", "std::net", "std::process"][..]),
        ("compiler/src", &["ltc_runtime", "tokio", "std::fs", "std::net", "std::process"]),
        ("runtime/src", &["ltc_compiler"]),
    ] {
        let files = sources(&root().join(folder));
        assert!(!files.is_empty(), "{folder} has sources");
        for file in files {
            let text = text(&file);
            // Unit tests may look outside.
            let is_test = file.components().any(|part| ["tests", "tests.rs", "laws.rs"].iter().any(|name| part.as_os_str() == *name));
            let own = text.split("#[cfg(test)]").next().unwrap_or_default();
            for line in code(if is_test { "" } else { own }) {
                for name in forbidden {
                    assert!(!line.contains(name), "{} uses {name}: {line}", file.display());
                }
            }
        }
    }
}

#[test]
fn crates_depend_only_on_those_below_them() {
    for (folder, forbidden) in
        [("workflow", &["ltc-compiler", "ltc-runtime"][..]), ("compiler", &["ltc-runtime"]), ("runtime", &["ltc-compiler"])]
    {
        let text = text(&root().join(folder).join("Cargo.toml"));
        for name in forbidden {
            assert!(!text.contains(name), "{folder} depends on {name}");
        }
    }
}

#[test]
fn the_protocol_library_stays_behind_its_border() {
    let borders = ["upstream", "serve", "stdio"].map(|border| root().join("runtime/src").join(border));
    let borders: Vec<PathBuf> = borders.into_iter().flat_map(|border| [border.with_extension("rs"), border]).collect();
    let is_inside = |file: &Path| borders.iter().any(|border| file.starts_with(border));
    let mut inside = 0;
    for file in ["src", "runtime/src", "compiler/src", "workflow/src"].iter().flat_map(|folder| sources(&root().join(folder))) {
        let text = text(&file);
        let uses = code(&text).any(|line| line.contains("rmcp::"));
        inside += usize::from(uses && is_inside(&file));
        assert!(!uses || is_inside(&file), "{} uses rmcp", file.display());
    }
    assert!(inside > 0, "the border has an inside");
}

#[test]
fn every_file_says_first_what_it_is_for() {
    for file in
        ["src", "runtime/src", "compiler/src", "workflow/src", "tests", "fixtures"].iter().flat_map(|folder| sources(&root().join(folder)))
    {
        let text = text(&file);
        assert!(text.starts_with("//! "), "{} does not open with what it is for", file.display());
        assert!(text.ends_with('\n'), "{} does not end with a line break", file.display());
    }
}

#[test]
fn every_version_stands_once_and_says_what_it_is_for() {
    let manifest = text(&root().join("Cargo.toml"));
    let table = manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).expect("the table of versions");
    let entries: Vec<&str> = table.lines().filter(|line| line.contains('=') && !line.starts_with("ltc-")).collect();
    assert!(entries.len() > 5);
    for entry in entries {
        assert!(entry.contains(" # "), "no word about what this is for: {entry}");
    }
    for folder in ["workflow", "compiler", "runtime"] {
        let manifest = text(&root().join(folder).join("Cargo.toml"));
        let dependencies = manifest.split("dependencies]").skip(1).flat_map(|table| table.split("\n[").next().unwrap_or_default().lines());
        for line in dependencies.filter(|line| line.contains('=')) {
            assert!(line.contains("workspace = true"), "{folder} names a version of its own: {line}");
        }
    }
}
