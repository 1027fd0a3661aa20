//! The workflow language: values, expressions, the document, and what it means.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::as_conversions)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

pub mod advance;
pub mod digest;
pub mod document;
pub mod expr;
pub mod json;
pub mod nearest;
pub mod outcome;
pub mod template;
pub mod value;
pub mod yaml;

pub use document::Workflow;
pub use value::{Number, Object, Value};
