//! The documentation of the product: listed, searched, read.

use super::refusal::Code;
use super::{Caller, Refusal, Service, exact};
use crate::documentation::{Document, Documentation, Found, Section};
use crate::text;
use ltc_workflow::Value;
use ltc_workflow::nearest::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How many sections a search gives where nobody says.
const FOUND: u32 = 5;

/// How many characters of a passage are shown.
const EXCERPT: usize = 600;

/// What `list_docs` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDocs {}

/// What `list_docs` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocList {
    /// The documents.
    pub documents: Vec<DocSummary>,
}

/// A document in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocSummary {
    /// What it is called.
    pub document: String,
    /// What it is about.
    pub about: String,
    /// Its sections, in their order.
    pub sections: Vec<DocSection>,
}

/// A section in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocSection {
    /// What it is called, for `read_doc`.
    pub section: String,
    /// Its heading.
    pub heading: String,
    /// How deep it is: 1 is the whole document.
    pub level: usize,
}

/// What `search_docs` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchDocs {
    /// What is looked for: a question, or a few words.
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// Only in this document.
    #[serde(default)]
    pub document: Option<String>,
    /// How many sections at most, 5 where it is left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 50))]
    pub limit: Option<u32>,
}

/// What `search_docs` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocsFound {
    /// The sections that say most about it, best first.
    pub results: Vec<DocFound>,
}

/// A section that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocFound {
    /// The document.
    pub document: String,
    /// The section, for `read_doc`.
    pub section: String,
    /// Its heading, behind those above it.
    pub heading: String,
    /// The passage that says most about it.
    pub excerpt: String,
}

/// What `read_doc` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadDoc {
    /// The document.
    pub document: String,
    /// The section, as `list_docs` and `search_docs` call it, or its heading; the whole document where it is left out.
    #[serde(default)]
    pub section: Option<String>,
}

/// What `read_doc` gives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DocText {
    /// The document.
    pub document: String,
    /// The section, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Its text with the sections below it, in Markdown.
    pub text: String,
}

impl From<&Section> for DocSection {
    fn from(section: &Section) -> DocSection {
        DocSection { section: section.name.clone(), heading: section.heading.clone(), level: section.level }
    }
}

impl From<Found<'_>> for DocFound {
    fn from(found: Found<'_>) -> DocFound {
        let headings: Vec<&str> = found.section.above.iter().chain([&found.section.heading]).map(String::as_str).collect();
        let mut excerpt: String = found.passage.chars().take(EXCERPT).collect();
        if excerpt.len() < found.passage.len() {
            excerpt.push('…');
        }
        DocFound { document: found.document.name.to_owned(), section: found.section.name.clone(), heading: headings.join(" › "), excerpt }
    }
}

/// Does an operation on documents where there is no service: they lie in no store.
///
/// # Errors
/// As the operation.
pub fn look_up(documentation: &Documentation, operation: &str, input: &Value) -> Result<Value, Refusal> {
    let invalid = |why| Refusal::new(Code::Invalid, why);
    let shown = match operation {
        "list_docs" => exact::write(&listed(documentation)),
        "search_docs" => exact::write(&searched(documentation, &exact::read(input).map_err(invalid)?)?),
        "read_doc" => exact::write(&read_in(documentation, exact::read(input).map_err(invalid)?)?),
        other => return Err(Refusal::not_found("operation on documents", other)),
    };
    shown.map_err(|why| Refusal::new(Code::Broken, why))
}

pub(super) async fn list(service: Arc<Service>, _: ListDocs, _: Caller) -> Result<DocList, Refusal> {
    Ok(listed(service.documentation()))
}

pub(super) async fn search(service: Arc<Service>, asked: SearchDocs, _: Caller) -> Result<DocsFound, Refusal> {
    searched(service.documentation(), &asked)
}

pub(super) async fn read(service: Arc<Service>, asked: ReadDoc, _: Caller) -> Result<DocText, Refusal> {
    read_in(service.documentation(), asked)
}

/// A document with its sections.
fn named<'d>(documentation: &'d Documentation, name: &str) -> Result<(&'d Document, &'d [Section]), Refusal> {
    documentation.document(name).ok_or_else(|| {
        let known: Vec<&str> = documentation.documents().iter().map(|(document, _)| document.name).collect();
        let mut refusal = Refusal::not_found("document", name);
        refusal.message.push_str(&format!("; there are {}", known.join(", ")));
        refusal
    })
}

fn listed(documentation: &Documentation) -> DocList {
    let summary = |(document, sections): &(Document, Vec<Section>)| DocSummary {
        document: document.name.to_owned(),
        about: document.about.to_owned(),
        sections: sections.iter().map(DocSection::from).collect(),
    };
    DocList { documents: documentation.documents().iter().map(summary).collect() }
}

fn searched(documentation: &Documentation, asked: &SearchDocs) -> Result<DocsFound, Refusal> {
    if let Some(name) = &asked.document {
        named(documentation, name)?;
    }
    let limit = usize::try_from(asked.limit.unwrap_or(FOUND)).unwrap_or(usize::MAX);
    let found = documentation.search(&asked.query, asked.document.as_deref(), limit);
    Ok(DocsFound { results: found.into_iter().map(DocFound::from).collect() })
}

fn read_in(documentation: &Documentation, asked: ReadDoc) -> Result<DocText, Refusal> {
    let (document, sections) = named(documentation, &asked.document)?;
    let Some(wanted) = asked.section else {
        return Ok(DocText { document: asked.document, section: None, text: document.text.to_owned() });
    };
    let is_it = |section: &&Section| section.name == wanted || section.heading.eq_ignore_ascii_case(&wanted);
    let Some(section) = sections.iter().find(is_it) else {
        let mut refusal = Refusal::not_found(&format!("section in the document {}", document.name), &wanted);
        if let Some(near) = nearest(&wanted, sections.iter().map(|section| section.name.as_str())) {
            refusal.message.push_str(&format!("; perhaps `{}` is meant", text::one_line(near)));
        }
        return Err(refusal);
    };
    let text = section.whole(document.text).to_owned();
    Ok(DocText { document: asked.document, section: Some(section.name.clone()), text })
}
