//! The words that a name is made of: `issueKeys`, `issue_keys` and `issue-keys` are the same two.

/// The words of a name, in lower case and singular: `issueKeys` is `issue key`.
pub fn words(name: &str) -> Vec<String> {
    words_as_they_are(name).into_iter().map(|w| singular(&w)).collect()
}

/// The words of a name, in lower case: `issueKeys` is `issue keys`.
pub fn words_as_they_are(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before_lower = false;
    for c in name.chars() {
        let starts = c.is_uppercase() && before_lower;
        if (!c.is_alphanumeric() || starts) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before_lower = c.is_lowercase() || c.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// `categories` is `category`, `boxes` is `box`, `pages` is `page`; `status` and `address` stay.
pub fn singular(word: &str) -> String {
    let ends = |suffix: &str| word.len() > suffix.len() + 1 && word.ends_with(suffix);
    let without = |n: usize| word.get(..word.len().saturating_sub(n)).unwrap_or_default().to_owned();
    if ends("ies") {
        return without(3) + "y";
    }
    if ["sses", "xes", "ches", "shes"].iter().any(|s| ends(s)) {
        return without(2);
    }
    if ends("s") && !["ss", "us", "is", "as"].iter().any(|s| word.ends_with(s)) {
        return without(1);
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_undone() {
        for (plural, one) in
            [("pages", "page"), ("categories", "category"), ("boxes", "box"), ("status", "status"), ("addresses", "address")]
        {
            assert_eq!(singular(plural), one);
        }
    }
}
