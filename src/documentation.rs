//! The documents that the command carries. Each stands in the crate that it is about, so that a packaged crate has it too.

use ltc_runtime::documentation::{Document, Documentation, LANGUAGE, RUNTIME};

/// Those that the runtime does not know by itself.
pub fn documents() -> Vec<Document> {
    vec![
        Document {
            name: "guide",
            about: "What ltc is, and how it is used: compiling, recording, running, servers, serving, the cycle, CI, limits.",
            text: include_str!("../README.md"),
        },
        Document {
            name: "compiler",
            about: "How recordings become workflows: stages, what is guessed and how it is weighed, written Rust, limits.",
            text: ltc_compiler::DOCUMENTATION,
        },
        Document {
            name: "changelog",
            about: "What changed for people who use ltc, version by version.",
            text: include_str!("../CHANGELOG.md"),
        },
    ]
}

/// All of them.
pub fn all() -> Documentation {
    Documentation::new(documents().into_iter().chain([LANGUAGE, RUNTIME]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What people ask, and where the answer stands; more than one place may have it.
    const QUESTIONS: &[(&str, &[&str])] = &[
        ("resume a run after a crash", &["guide#running", "runtime#the-durability-contract"]),
        ("record a server", &["guide#recording"]),
        ("token for another address", &["guide#serving"]),
        ("what happens when a call was interrupted", &["guide#running", "runtime#the-durability-contract", "runtime#what-holds"]),
        ("exit code", &["guide#running"]),
        ("how do I loop over a list", &["language#steps"]),
        ("ask a person", &["language#steps", "guide#the-cycle", "guide#running"]),
        ("retry with backoff", &["language#steps"]),
        ("which functions can an expression use", &["language#expressions"]),
        ("compile hints for pages", &["guide#how-it-decides", "compiler#what-is-guessed-and-how-it-is-weighed"]),
        ("two candidates for a value", &["guide#how-it-decides", "compiler#what-is-guessed-and-how-it-is-weighed"]),
        ("postgres store", &["guide#running", "runtime#what-holds", "runtime#what-was-decided"]),
        ("secrets in recordings", &["guide#recording", "compiler#what-never-happens"]),
        ("add a preset", &["runtime#how-to-add"]),
        ("claude desktop configuration", &["guide#serving"]),
        ("register an MCP server", &["guide#servers"]),
        ("emit rust crate", &["guide#as-rust", "compiler#rust", "changelog#added"]),
        ("limits of the compiler", &["compiler#known-limits", "guide#limits"]),
        ("mermaid diagram", &["guide#what-comes-out", "changelog#added"]),
        ("LangSmith", &["guide#recordings-that-it-reads"]),
    ];

    #[test]
    fn questions_find_the_section_with_the_answer_among_the_first_three() {
        let all = all();
        let mut missed = Vec::new();
        for (question, places) in QUESTIONS {
            let found = all.search(question, None, 3);
            let found: Vec<String> = found.iter().map(|found| format!("{}#{}", found.document.name, found.section.name)).collect();
            for place in *places {
                let (document, section) = place.split_once('#').expect("a document and a section");
                let (_, sections) = all.document(document).unwrap_or_else(|| panic!("no {document}"));
                assert!(sections.iter().any(|known| known.name == section), "there is no {place}");
            }
            if !found.iter().any(|found| places.contains(&found.as_str())) {
                missed.push(format!("{question}: {found:?}"));
            }
        }
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn every_document_says_what_it_is_and_begins_with_its_title() {
        for (document, sections) in all().documents() {
            assert!(document.about.ends_with('.'), "{}", document.name);
            assert!(document.text.starts_with("# "), "{}", document.name);
            assert_eq!(sections.iter().filter(|section| section.level == 1).count(), 1, "{} is one document", document.name);
        }
    }
}
