//! Names that are safe everywhere: in a document, a path, a shell. Whatever a recording calls a thing, nothing else comes out of here.

use crate::names::words_as_they_are;
use smol_str::SmolStr;

/// A name that is safe everywhere: `[a-z0-9_-]`, not empty, at most 40 long, beginning with a letter or digit.
pub fn identifier(text: &str) -> String {
    let mut name = String::new();
    for c in words_as_they_are(text).join("_").chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || (c == '_' && !name.is_empty()) {
            name.push(c);
        }
        if name.len() >= 40 {
            break;
        }
    }
    let name = name.trim_matches('_').to_owned();
    if name.is_empty() { "step".to_owned() } else { name }
}

/// A server's name as the document has it: `[A-Za-z0-9_.-]`.
pub fn server_name(name: &str) -> SmolStr {
    let safe: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' }).take(60).collect();
    let safe = safe.trim_start_matches(['.', '-']).to_owned();
    SmolStr::new(if safe.is_empty() { "server".to_owned() } else { safe })
}
