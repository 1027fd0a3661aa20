//! How a text is spelled: plain, in double quotes, or as a literal block.
//!
//! Plain only where every reader of YAML 1.1 and 1.2 takes it for that text; as a block only where no editor and no reader can change it, and
//! people see all that it holds. What is hidden is an escape in double quotes: the file is what people review.

use crate::hidden::is_hidden;

/// Words that some reader takes for something else than a text.
const WORDS: &[&str] = &["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];

/// Whether `text` can stand as it is, in `{…}` or outside.
pub(super) fn is_plain(text: &str, in_flow: bool) -> bool {
    let Some(first) = text.chars().next() else { return false };
    if first.is_ascii_digit() {
        return is_length_of_time(text);
    }
    if !(first.is_alphabetic() || first == '_' || first == '/') || text.ends_with([' ', ':']) {
        return false;
    }
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let fine = match c {
            c if " _-./()+=@%&*!;'<>^~".contains(c) => true,
            ':' => !in_flow && chars.peek().is_some_and(|next| !next.is_whitespace()),
            ',' | '?' => !in_flow,
            c => c.is_alphanumeric() && !is_hidden(c),
        };
        if !fine {
            return false;
        }
    }
    !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// `5s`, `1m30s`: starts with a digit, and is a text everywhere.
fn is_length_of_time(text: &str) -> bool {
    crate::document::Duration::parse(text).is_some()
}

/// `text` as a scalar on one line.
pub(super) fn spell(text: &str, in_flow: bool) -> String {
    if is_plain(text, in_flow) { text.to_string() } else { quote(text) }
}

/// `text` in double quotes, escaped as in JSON; characters past the first plane by `\U`.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) && u32::from(c) > 0xFFFF => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c if is_hidden(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What stands behind the key of a literal block (`|`, `|-`, `|+`), where `text` can be one.
pub(super) fn block_indicator(text: &str) -> Option<&'static str> {
    let safe_char = |c: char| c == '\n' || !is_hidden(c);
    let several = text.trim_end_matches('\n').contains('\n') || text.ends_with('\n');
    if !several || text.starts_with(['\n', ' ']) || !text.chars().all(safe_char) || text.split('\n').any(|line| line.ends_with(' ')) {
        return None;
    }
    Some(match text.len() - text.trim_end_matches('\n').len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    })
}
