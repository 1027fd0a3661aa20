//! `ltc docs`: the documentation that the command carries: listed, searched, read.

use super::{print_list, printed, text_in};
use crate::documentation;
use crate::exit::Exit;
use crate::opened::{entries, refused};
use crate::report::Report;
use clap::{Args, Subcommand};
use ltc_runtime::service;
use ltc_workflow::{Object, Value};

/// List the documentation, search it, or read some of it
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Find the sections that say most about something
    Search {
        /// What is looked for: a question, or a few words
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,
        /// Only in this document
        #[arg(long = "in", value_name = "DOCUMENT")]
        document: Option<String>,
        /// How many sections at most
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
        limit: Option<u32>,
    },
    /// Print a document or a section of it, in Markdown
    Read {
        /// The document
        #[arg(value_name = "DOCUMENT")]
        document: String,
        /// The section, as the list or a search calls it
        #[arg(value_name = "SECTION")]
        section: Option<String>,
    },
}

/// Lists, searches or reads.
pub fn run(arguments: &Arguments, report: &Report) -> Exit {
    let said = |text: &Option<String>| text.as_deref().map(Value::from);
    // The documents are in the program: no store is opened for them.
    let look_up = |operation: &str, input: Object| {
        service::look_up(&documentation::all(), operation, &Value::Object(input)).map_err(|refusal| refused(refusal, report))
    };
    let done = match &arguments.action {
        None => look_up("list_docs", Object::default()).map(|list| print_list(&list, "documents", NO_NEXT, document, report)),
        Some(Action::Search { words, document, limit }) => {
            let limit = limit.map(|limit| i64::from(limit).into());
            let input = entries([("query", Some(words.join(" ").as_str().into())), ("document", said(document)), ("limit", limit)]);
            look_up("search_docs", input).map(|list| print_list(&list, "results", NO_NEXT, found, report))
        }
        Some(Action::Read { document, section }) => {
            let input = entries([("document", Some(document.as_str().into())), ("section", said(section))]);
            look_up("read_doc", input).map(|doc| printed(doc.get("text").and_then(Value::as_str).unwrap_or_default(), Exit::Done, report))
        }
    };
    done.unwrap_or_else(|exit| exit)
}

/// These lists have no pages.
const NO_NEXT: (&str, &str) = ("next", "");

fn document(entry: &Value) -> String {
    let sections = entry.get("sections").and_then(Value::as_array).unwrap_or_default();
    let sections = sections.iter().map(|section| format!("\n  {:28}  {}", text_in(section, "section"), text_in(section, "heading")));
    format!("{}  {}{}", text_in(entry, "document"), text_in(entry, "about"), sections.collect::<String>())
}

fn found(entry: &Value) -> String {
    let text = |field: &str| text_in(entry, field);
    format!("{} {}  {}\n  {}", text("document"), text("section"), text("heading"), text("excerpt"))
}
