//! The documentation that a program carries: documents in Markdown, cut by their headings, and a search over them.
//!
//! Each crate carries its own README, so that a packaged crate has it too; whoever knows several crates gives the documents of all of them to the operations. The
//! search is small and gives the same answer everywhere: passages (a paragraph, an entry of a list, a row of a table, a block of code) are ranked with BM25, the words of
//! the headings above them count too, and the best passage of a section stands for it.

mod markdown;
mod words;

pub use markdown::Section;

use markdown::Passage;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use words::words;

/// A document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// What it is called: one word.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its text, in Markdown.
    pub text: &'static str,
}

/// The language of workflows.
pub const LANGUAGE: Document = Document {
    name: "language",
    about: "The workflow language: documents, steps, expressions, and what a run is.",
    text: ltc_workflow::DOCUMENTATION,
};

/// This crate.
pub const RUNTIME: Document = Document {
    name: "runtime",
    about: "How workflows run and are served: what is promised about a crash, what was decided and why, MCP, REST, tasks.",
    text: include_str!("../README.md"),
};

/// Documents, and the search over them.
#[derive(Debug, Default)]
pub struct Documentation {
    documents: Vec<(Document, Vec<Section>)>,
    index: OnceLock<Index>,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<'d> {
    /// The document.
    pub document: &'d Document,
    /// The section.
    pub section: &'d Section,
    /// The passage.
    pub passage: &'d str,
}

/// The passages of all documents, by the words in them.
#[derive(Debug, Default)]
struct Index {
    passages: Vec<Indexed>,
    /// In how many passages a word is.
    with: BTreeMap<String, usize>,
    /// How many words a passage has, on the average.
    usual: f64,
}

#[derive(Debug)]
struct Indexed {
    document: usize,
    section: usize,
    passage: Passage,
    /// How often each word is there; one of a heading counts more.
    words: BTreeMap<String, f64>,
    length: f64,
}

/// How much a word of the passage's own heading counts, and one of a heading above that or of the document.
const OF_HEADING: f64 = 3.0;
const OF_ABOVE: f64 = 1.0;

/// The two numbers of BM25: how soon a word that is there often enough counts no more, and how much the length of a passage matters.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.6;

impl Documentation {
    /// These documents; of two of one name the first counts.
    pub fn new(documents: impl IntoIterator<Item = Document>) -> Documentation {
        let mut seen = BTreeSet::new();
        let documents = documents.into_iter().filter(|document| seen.insert(document.name));
        let documents = documents.map(|document| (document, markdown::sections(document.text)));
        Documentation { documents: documents.collect(), index: OnceLock::new() }
    }

    /// The documents with their sections, in order.
    pub fn documents(&self) -> &[(Document, Vec<Section>)] {
        &self.documents
    }

    /// The document of this name, with its sections.
    pub fn document(&self, name: &str) -> Option<(&Document, &[Section])> {
        self.documents.iter().find(|(document, _)| document.name == name).map(|(document, sections)| (document, sections.as_slice()))
    }

    /// The sections that say most about `query`, best first, each with its best passage; of one document only, where that is named.
    pub fn search(&self, query: &str, document: Option<&str>, limit: usize) -> Vec<Found<'_>> {
        let index = self.index.get_or_init(|| self.indexed());
        let wanted: BTreeSet<String> = words(query).collect();
        let mut best: BTreeMap<(usize, usize), (f64, usize)> = BTreeMap::new();
        for (place, indexed) in index.passages.iter().enumerate() {
            let is_of = self.documents.get(indexed.document).is_some_and(|(of, _)| document.is_none_or(|name| name == of.name));
            let score = if is_of { index.score(indexed, &wanted) } else { 0.0 };
            let so_far = best.get(&(indexed.document, indexed.section)).map_or(0.0, |(score, _)| *score);
            if score > so_far {
                best.insert((indexed.document, indexed.section), (score, place));
            }
        }
        let mut found: Vec<(f64, usize)> = best.into_values().collect();
        // What scores the same comes in the order of the documents.
        found.sort_by(|(one, at), (other, behind)| other.total_cmp(one).then(at.cmp(behind)));
        let found = found.into_iter().take(limit).filter_map(|(_, place)| index.passages.get(place));
        found
            .filter_map(|indexed| {
                let (document, sections) = self.documents.get(indexed.document)?;
                Some(Found { document, section: sections.get(indexed.section)?, passage: &indexed.passage.text })
            })
            .collect()
    }

    fn indexed(&self) -> Index {
        let mut index = Index::default();
        for (at_document, (document, sections)) in self.documents.iter().enumerate() {
            for (at_section, section) in sections.iter().enumerate() {
                for passage in markdown::passages(section.own(document.text)) {
                    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
                    let mut count = |text: &str, weight: f64| words(text).for_each(|word| *counts.entry(word).or_default() += weight);
                    count(&passage.text, 1.0);
                    count(&section.heading, OF_HEADING);
                    section.above.iter().for_each(|heading| count(heading, OF_ABOVE));
                    count(document.name, OF_ABOVE);
                    counts.keys().for_each(|word| *index.with.entry(word.clone()).or_default() += 1);
                    let length = words(&passage.text).count() as f64;
                    index.passages.push(Indexed { document: at_document, section: at_section, passage, words: counts, length });
                }
            }
        }
        let all: f64 = index.passages.iter().map(|indexed| indexed.length).sum();
        index.usual = (all / index.passages.len().max(1) as f64).max(1.0);
        index
    }
}

impl Index {
    /// How much a passage says about the wanted words: BM25, times the part of the words that it has, since one that has them all is meant.
    fn score(&self, indexed: &Indexed, wanted: &BTreeSet<String>) -> f64 {
        let (mut score, mut has) = (0.0, 0);
        for word in wanted {
            let Some(times) = indexed.words.get(word) else { continue };
            let (all, with) = (self.passages.len() as f64, self.with.get(word).copied().unwrap_or_default() as f64);
            let rarity = ((all - with + 0.5) / (with + 0.5) + 1.0).ln();
            let length = 1.0 - LENGTH + LENGTH * indexed.length / self.usual;
            score += rarity * times * (SATURATION + 1.0) / (times + SATURATION * length);
            has += 1;
        }
        if has == 0 { 0.0 } else { score * f64::from(has) / wanted.len() as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Title\n\nAbout apples.\n\n## Pears\n\n- A pear is green.\n- Another one is\n  yellow, with apples beside it.\n\n```sh\n# no heading\npears --all\n```\n\n### Deep\n\nNothing but plums.\n";

    fn one() -> Documentation {
        Documentation::new([Document { name: "fruit", about: "Fruit.", text: TEXT }])
    }

    #[test]
    fn the_best_passage_of_each_section_is_found_and_nothing_else() {
        let documentation = one();
        let found = |query: &str| -> Vec<(String, String)> {
            let found = documentation.search(query, None, 10).into_iter();
            found.map(|found| (found.section.heading.clone(), found.passage.to_owned())).collect()
        };
        let pair = |heading: &str, passage: &str| (heading.to_owned(), passage.to_owned());
        assert_eq!(
            found("yellow apple"),
            [pair("Pears", "- Another one is yellow, with apples beside it."), pair("Title", "About apples.")]
        );
        assert_eq!(found("PLUM"), [pair("Deep", "Nothing but plums.")]);
        assert_eq!(found("bananas"), []);
        assert_eq!(found(""), []);
        assert_eq!(documentation.search("apples", None, 1).len(), 1);
        assert_eq!(documentation.search("apples", Some("other"), 9), []);
    }

    #[test]
    fn the_own_documents_have_sections_and_are_found() {
        let documentation = Documentation::new([LANGUAGE, RUNTIME, LANGUAGE]);
        assert_eq!(documentation.documents().len(), 2);
        for (document, sections) in documentation.documents() {
            assert!(sections.len() > 3, "{}", document.name);
        }
        let found = documentation.search("a step has an end in the journal is never done again", None, 1);
        assert_eq!((found[0].document.name, found[0].section.heading.as_str()), ("runtime", "The durability contract"));
    }
}
