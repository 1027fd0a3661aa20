//! What is secret, as far as one can see: by the name of an argument, by the shape of a known token; and what stands in a recording for a
//! secret whose value was left out.

use crate::words::{words, words_as_they_are};
use smol_str::SmolStr;

/// Whether `text` may be cut at `at`: not in the middle of a word or number.
pub fn is_border(text: &str, at: usize) -> bool {
    let (Some(before), Some(after)) = (text.get(..at), text.get(at..)) else { return false };
    match (before.chars().next_back(), after.chars().next()) {
        (Some(a), Some(b)) => !(a.is_alphanumeric() && b.is_alphanumeric()),
        (None, _) | (_, None) => true,
    }
}

/// Words in the name of an argument whose value is a secret.
const SECRET_WORDS: &[&str] = &["password", "passwd", "passphrase", "secret", "apikey", "credential", "authorization"];
/// Pairs of words that say the same.
const SECRET_PAIRS: &[(&str, &str)] =
    &[("api", "key"), ("access", "token"), ("auth", "token"), ("private", "key"), ("client", "secret"), ("bearer", "token")];
/// How known tokens begin.
const SECRET_PREFIXES: &[&str] =
    &["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA", "AIza", "ya29.", "eyJhbGciOi", "Bearer "];

/// How many characters a token has behind its beginning at least.
const LEAST_BEHIND: usize = 12;

/// Whether the name of an argument or an input says that its value is a secret.
pub fn looks_secret(name: &str) -> bool {
    let words = words(name);
    let has = |word: &str| words.iter().any(|w| w == word);
    SECRET_WORDS.iter().any(|w| has(w))
        || SECRET_PAIRS.iter().any(|(a, b)| words.windows(2).any(|w| matches!(w, [x, y] if x == a && y == b)))
}

/// Whether a text has the shape of a token that is known to be secret.
pub fn has_secret_shape(text: &str) -> bool {
    SECRET_PREFIXES.iter().any(|prefix| text.starts_with(prefix) && text.len() >= prefix.len() + LEAST_BEHIND)
}

/// Whether a token stands somewhere in `text`, behind its beginning or a character that no token has.
pub fn holds_token(text: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "-_.+/=".contains(c);
    SECRET_PREFIXES.iter().any(|prefix| {
        text.match_indices(prefix).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let behind = text.get(at + prefix.len()..).unwrap_or_default();
            let length = behind.chars().take_while(|c| is_inside(*c)).count();
            before.is_none_or(|c| !c.is_alphanumeric()) && length >= LEAST_BEHIND
        })
    })
}

/// Names of parameters in a URL or a header line whose value is a secret.
const SECRET_PARAMETERS: &[&str] =
    &["api_key", "apikey", "api-key", "access_token", "auth_token", "token", "password", "passwd", "secret", "client_secret", "key"];

/// The parts of a longer text that are secrets: known tokens, values of parameters such as `api_key=`, and stand-ins.
pub fn secret_parts(text: &str) -> Vec<(usize, usize, SmolStr)> {
    let is_end = |c: char| c.is_whitespace() || "&\"'<>`,;)]}".contains(c);
    let end_of = |from: usize| text.get(from..).and_then(|t| t.find(is_end)).map_or(text.len(), |at| from + at);
    let mut found: Vec<(usize, usize, SmolStr)> = Vec::new();
    // What is so short holds none of them, and most texts are.
    let known = if text.len() > LEAST_BEHIND { SECRET_PREFIXES } else { &[] };
    for prefix in known {
        for (at, _) in text.match_indices(prefix) {
            let start = if prefix.ends_with(' ') { at + prefix.len() } else { at };
            let end = end_of(start);
            if is_border(text, at) && end - at >= prefix.len() + LEAST_BEHIND {
                found.push((start, end, SmolStr::new("token")));
            }
        }
    }
    for (at, _) in text.match_indices('=') {
        let before = text.get(..at).unwrap_or_default();
        let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).next().unwrap_or_default();
        let lead = before.get(..before.len() - name.len()).and_then(|b| b.chars().next_back());
        let end = end_of(at + 1);
        if matches!(lead, Some('?' | '&')) && SECRET_PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) && end > at + 1 {
            found.push((at + 1, end, SmolStr::new(name)));
        }
    }
    let held = stand_ins(text);
    found.retain(|(start, end, _)| held.iter().all(|(from, to, _)| end <= from || start >= to));
    found.extend(held.into_iter().map(|(from, to, name)| (from, to, SmolStr::new(name))));
    found.sort();
    found.dedup_by(|b, a| b.0 < a.1);
    found
}

/// How a stand-in begins and ends: `[secret DESK_PASSWORD]`.
const OPEN: &str = "[secret ";
const CLOSE: char = ']';

/// What stands for the secret `name` where its value is left out.
pub fn stand_in(name: &str) -> String {
    format!("{OPEN}{name}{CLOSE}")
}

/// The secret that all of `text` stands for.
pub fn stood_for(text: &str) -> Option<&str> {
    text.strip_prefix(OPEN)?.strip_suffix(CLOSE).filter(|name| is_secret_name(name))
}

/// The stand-ins in `text`: where each begins and ends, and the name of its secret.
pub fn stand_ins(text: &str) -> Vec<(usize, usize, &str)> {
    let at = text.match_indices(OPEN).filter_map(|(at, _)| {
        let (name, _) = text.get(at + OPEN.len()..)?.split_once(CLOSE)?;
        is_secret_name(name).then(|| (at, at + OPEN.len() + name.len() + CLOSE.len_utf8(), name))
    });
    at.collect()
}

/// Whether `name` is one that [`secret_name`] makes: that of a variable of the environment.
fn is_secret_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// `PORTAL_PASSWORD` for the argument `password` of the server `portal`.
pub fn secret_name(server: &str, key: &str) -> SmolStr {
    let words = words_as_they_are(server).into_iter().chain(words_as_they_are(key));
    let name = words.map(|w| w.to_uppercase()).collect::<Vec<_>>().join("_");
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { SmolStr::new(name) } else { SmolStr::new(format!("SECRET_{name}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_is_found_whole_and_alone() {
        let text = "k=1&api_key=[secret DESK_API_KEY] [secret no] [secret A_2][secret";
        let found: Vec<&str> = stand_ins(text).into_iter().map(|(_, _, name)| name).collect();
        assert_eq!(found, ["DESK_API_KEY", "A_2"]);
        let parts: Vec<&str> = secret_parts(text).into_iter().filter_map(|(start, end, _)| text.get(start..end)).collect();
        assert_eq!(parts, ["[secret DESK_API_KEY]", "[secret A_2]"]);
        let in_url = "https://h/?api_key=[secret H_KEY]&page=2";
        let parts: Vec<&str> = secret_parts(in_url).into_iter().filter_map(|(start, end, _)| in_url.get(start..end)).collect();
        assert_eq!(parts, ["[secret H_KEY]"]);
    }

    #[test]
    fn a_stand_in_names_what_it_stands_for() {
        let name = secret_name("my-desk", "apiKey");
        assert_eq!(name, "MY_DESK_API_KEY");
        assert_eq!(stood_for(&stand_in(&name)), Some("MY_DESK_API_KEY"));
        for text in ["[secret A] ", "[secret a]", "[secret ]", "[secret A]]", "secret A"] {
            assert_eq!(stood_for(text), None, "{text}");
        }
        assert_eq!(stood_for(&stand_in(&secret_name("42", "password"))), Some("SECRET_42_PASSWORD"));
    }

    #[test]
    fn a_token_is_found_wherever_it_stands_alone() {
        for text in ["ghp_0123456789abcdef", "token=ghp_0123456789abcdef;", "Bearer abcdefghijkl", "${X:-sk-0123456789abcdef}"] {
            assert!(holds_token(text), "{text}");
        }
        for text in
            ["ghp_short", "Bearer ${GITHUB_TOKEN}", "desk-0123456789abcdef", "risk-assessment-of-2026", "sk-${KEY_OF_THE_SERVICE}", ""]
        {
            assert!(!holds_token(text), "{text}");
        }
    }
}
