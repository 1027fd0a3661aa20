//! Words of a text, as a search compares them: lower case, without endings that change nothing, and without words that are in every sentence.

/// Words that say nothing about what is looked for.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "i", "if", "in", "is", "it", "its", "me",
    "my", "of", "on", "or", "so", "that", "the", "there", "this", "to", "was", "what", "when", "where", "which", "who", "why", "will",
    "with", "you",
];

/// The words of `text`, in their order.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).filter(|word| !EMPTY.contains(&word.as_str())).map(|word| stem(&word).to_owned())
}

/// A word without its ending: `recorded`, `recording` and `records` are `record`. Not all of English, and the same for a question and for its answer.
fn stem(word: &str) -> &str {
    let mut stem = word;
    for ending in ["ings", "ing", "ied", "ies", "ed", "es", "s"] {
        let Some(short) = stem.strip_suffix(ending) else { continue };
        if short.chars().count() >= 3 && !(ending == "s" && short.ends_with('s')) {
            stem = short;
        }
        break;
    }
    if stem.chars().count() > 3 {
        stem = stem.strip_suffix(['e', 'y']).unwrap_or(stem);
    }
    // `stopped` is `stop`, and `call` is what is left of `called`.
    let mut last = stem.chars().rev();
    match (last.next(), last.next()) {
        (Some(one), Some(other)) if one == other && one.is_alphabetic() => &stem[..stem.len() - one.len_utf8()],
        (_, _) => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_word_and_others_are_not() {
        for alike in [
            &["record", "records", "recorded", "recording", "recordings"][..],
            &["resume", "resumes", "resumed", "resuming"],
            &["stop", "stops", "stopped", "stopping"],
            &["call", "calls", "called", "calling"],
            &["crash", "crashes", "crashed"],
            &["address", "addresses"],
            &["retry", "retries", "retried"],
            &["server", "servers"],
        ] {
            let stems: Vec<&str> = alike.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
        assert_ne!(stem("server"), stem("serve"));
        assert_eq!((stem("is"), stem("übung"), stem("é")), ("is", "übung", "é"));
    }

    #[test]
    fn words_are_cut_at_whatever_is_no_letter_or_digit() {
        let seen: Vec<String> = words("The `list_runs` of --token-file, at 127.0.0.1!").collect();
        assert_eq!(seen, ["list", "run", "token", "fil", "127", "0", "0", "1"]);
    }
}
