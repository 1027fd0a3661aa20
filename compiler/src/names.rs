//! Whether the name of an argument and the way to a value mean the same thing.

pub use ltc_workflow::words::{singular, words, words_as_they_are};

/// How well two names go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// They have nothing in common.
    None,
    /// They share a word, or one says what the other is a kind of (`user` and `users[0].id`).
    Weak,
    /// They say the same (`issue_key` and `issue.key`).
    Strong,
}

impl Agreement {
    /// What the agreement is worth as evidence, in bits.
    pub fn bits(self) -> f64 {
        match self {
            Agreement::None => 0.0,
            Agreement::Weak => 3.0,
            Agreement::Strong => 8.0,
        }
    }
}

/// Words that say that a value names something, not what.
const GENERIC: &[&str] =
    &["id", "key", "ref", "name", "number", "no", "uuid", "url", "value", "path", "code", "href", "uri", "slug", "handle"];

/// Last words of names of moments, `starts_at` and `due_on`: what they name is a time, whatever its name.
const TIMES: &[&str] = &["at", "on", "date", "day", "time", "when"];

/// How well the name of a use goes with the keys on the way to a value, outermost first.
pub fn agreement(used_as: &[String], keys: &[&str]) -> Agreement {
    let Some(last) = keys.last() else { return Agreement::None };
    let source = words(last);
    if used_as.is_empty() || source.is_empty() {
        return Agreement::None;
    }
    if used_as == source {
        return Agreement::Strong;
    }
    let parent: Vec<String> = keys.iter().rev().skip(1).take(1).flat_map(|k| words(k)).collect();
    let full: Vec<String> = parent.iter().chain(&source).cloned().collect();
    let covers = |whole: &[String], part: &[String]| part.iter().all(|w| whole.contains(w));
    let specific = |words: &[String]| words.iter().any(|w| !GENERIC.contains(&w.as_str()));
    if covers(&full, used_as) && used_as.last() == source.last() && specific(used_as) {
        return Agreement::Strong;
    }
    if covers(used_as, &source) && (specific(&source) || used_as.last() == source.last()) {
        return if specific(&source) && used_as.last() == source.last() { Agreement::Strong } else { Agreement::Weak };
    }
    if parent.iter().any(|w| used_as.contains(w)) || source.iter().any(|w| specific(std::slice::from_ref(w)) && used_as.contains(w)) {
        return Agreement::Weak;
    }
    let says_when = |words: &[String]| words.last().is_some_and(|w| TIMES.contains(&w.as_str()));
    if says_when(used_as) && says_when(&source) { Agreement::Weak } else { Agreement::None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(used_as: &str, keys: &[&str], expected: Agreement) {
        assert_eq!(agreement(&words(used_as), keys), expected, "{used_as} from {keys:?}");
    }

    #[test]
    fn names_agree_by_their_words() {
        check("region", &["host", "region"], Agreement::Strong);
        check("issue_key", &["issue", "key"], Agreement::Strong);
        check("issueKey", &["issue_key"], Agreement::Strong);
        check("user", &["users", "id"], Agreement::Weak);
        check("ticket", &["stale", "id"], Agreement::None);
        check("project_id", &["projects", "id"], Agreement::Strong);
        check("quantity", &["count"], Agreement::None);
        check("limit", &["page"], Agreement::None);
        check("id", &["id"], Agreement::Strong);
        check("on", &["id"], Agreement::None);
        check("date", &["starts_at"], Agreement::Weak);
        check("since", &["finished"], Agreement::None);
    }
}
