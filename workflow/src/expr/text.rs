//! Functions on texts: taking apart, cutting out, and encoding.

use super::budget::Budget;
use super::eval::fail;
use crate::advance::Failure;
use crate::value::Value;

pub(super) fn split(text: &str, separator: &str, budget: &mut Budget) -> Result<Value, Failure> {
    not_empty("split", "separator", separator)?;
    budget.spend(text.matches(separator).count())?;
    Ok(text.split(separator).map(Value::from).collect())
}

/// The part after the first `before`, up to the next `after`.
pub(super) fn between(text: &str, before: &str, after: &str) -> Result<Value, Failure> {
    let none = |which: &str| fail("no-such-text", format!("the text that `between` looks for as `{which}` is not there"));
    let rest = if before.is_empty() { text } else { text.split_once(before).ok_or_else(|| none("before"))?.1 };
    let part = if after.is_empty() { rest } else { rest.split_once(after).ok_or_else(|| none("after"))?.0 };
    Ok(Value::from(part))
}

/// Every part between `before` and `after`; the search goes on behind the `after`.
pub(super) fn all_between(text: &str, before: &str, after: &str, budget: &mut Budget) -> Result<Value, Failure> {
    not_empty("all_between", "text before", before)?;
    not_empty("all_between", "text after", after)?;
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((part, behind)) = rest.split_once(before).and_then(|(_, tail)| tail.split_once(after)) {
        budget.spend(1)?;
        parts.push(Value::from(part));
        rest = behind;
    }
    Ok(Value::array(parts))
}

pub(super) fn replace(text: &str, from: &str, to: &str, budget: &mut Budget) -> Result<Value, Failure> {
    not_empty("replace", "text to replace", from)?;
    let more = text.matches(from).count().saturating_mul(to.len());
    budget.spend_text(text.len().saturating_add(more))?;
    Ok(Value::string(text.replace(from, to)))
}

fn not_empty(function: &str, what: &str, text: &str) -> Result<(), Failure> {
    if text.is_empty() { Err(fail("empty-text", format!("the {what} of `{function}` is empty"))) } else { Ok(()) }
}

/// Lower case, one `-` between runs of letters and digits, none at the ends.
pub(super) fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

/// Everything but `A-Z a-z 0-9 - _ . ~` as `%XX` of its UTF-8 bytes.
pub(super) fn url_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

pub(super) fn url_decode(text: &str) -> Result<Value, Failure> {
    let wrong = || fail("not-encoded", "the text is not percent-encoded: `%` without two hexadecimal digits, or bytes that are no UTF-8");
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16)).ok_or_else(wrong);
            let decoded = digit()? * 16 + digit()?;
            out.push(u8::try_from(decoded).map_err(|_| wrong())?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).map(Value::string).map_err(|_| wrong())
}
