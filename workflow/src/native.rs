//! What the language means, as functions with types: for Rust that the compiler writes.
//!
//! A workflow as a Rust crate does what its YAML does because both come down to the same code: [`lang`] calls the functions by which the
//! interpreter evaluates expressions, [`Path`] and [`Find`] take keys and items out of values as `.key`, `[0]` and the left side of `??` do.
//! The failures have the interpreter's codes; their words name the value and not the text of an expression, which Rust does not have.
//!
//! What differs: an expression has the interpreter's limit of work for each function, not for the whole.

pub mod lang;
mod path;
mod typed;

pub use path::{Find, Path};
pub use typed::{Fields, FromValue, Mismatch, Nullable, Record, ToValue};
