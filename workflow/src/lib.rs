//! The workflow language: values, expressions, the document, and what it means.

pub mod advance;
pub mod document;
pub mod expr;
pub mod json;
pub mod outcome;
pub mod template;
pub mod value;

pub use document::Workflow;
pub use value::{Number, Object, Value};
