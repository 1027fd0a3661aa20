//! The workflow language: values, expressions, the document, and what it means.
#![doc = include_str!("../README.md")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::as_conversions)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests may look outside"))]

pub mod advance;
pub mod digest;
pub mod document;
pub mod expr;
pub mod hidden;
pub mod json;
pub mod native;
pub mod nearest;
pub mod outcome;
pub mod schema;
pub mod secret;
pub mod template;
pub mod value;
pub mod words;
pub mod yaml;

pub use document::Workflow;
pub use value::{Number, Object, Value};

/// The documentation of the language, in Markdown.
pub const DOCUMENTATION: &str = include_str!("../README.md");

#[cfg(test)]
mod tests {
    use crate::expr::{Function, OverFunction};

    #[test]
    fn the_readme_lists_the_functions_of_the_code() {
        let plain = Function::ALL.iter().map(|f| {
            let arguments: Vec<&str> = ["a", "b", "c"].into_iter().take(f.arity()).collect();
            format!("| `{}({})` | {} |\n", f.name(), arguments.join(", "), f.doc())
        });
        let over = OverFunction::ALL.iter().map(|f| format!("| `{}(list, item, …)` | {} |\n", f.name(), f.doc()));
        let table: String = plain.chain(over).collect();
        let (_, rest) = crate::DOCUMENTATION.split_once("| function | what it gives |\n|---|---|\n").unwrap();
        assert_eq!(rest.split_once("<!-- end -->").unwrap().0, table);
    }
}
