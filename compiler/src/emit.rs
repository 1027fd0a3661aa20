//! A workflow as a Rust crate that does what its YAML does.
//!
//! Before: a workflow, what was recorded of its servers, and where its values come from. After: the files of a crate. Rust is made of tokens
//! by `quote` and laid out by prettyplease; files that are mostly prose are templates, into which only names go that are safe everywhere.
//! A value is only ever a literal token.
//!
//! | file | what it makes |
//! |---|---|
//! | `names` | identifiers |
//! | `types`, `declare` | types from JSON Schemas, and their Rust |
//! | `code`, `expr`, `lenient`, `literals`, `fill` | expressions and templates, with the types of what they give |
//! | `scope` | which variables a function sees |
//! | `steps`, `flow` | one function a step, and what calls it |
//! | `loops`, `branches` | the functions of loops and branches |
//! | `modules`, `notes` | the files of Rust, and what is said about a step |
//! | `words` | documentation |
//! | `layout` | tokens as text |
//! | `project` | the files around the Rust |

mod branches;
mod code;
mod declare;
mod expr;
mod fill;
mod flow;
mod layout;
mod lenient;
mod literals;
mod loops;
mod modules;
mod names;
mod notes;
mod project;
mod scope;
mod steps;
mod types;
mod words;

pub use project::{headed, is_untouched};

use crate::trace::Server;
use ltc_workflow::{Object, Value, Workflow};
use smol_str::SmolStr;
use std::collections::BTreeMap;

/// What a crate is made of.
#[derive(Debug)]
pub struct Source<'s> {
    /// The workflow.
    pub workflow: &'s Workflow,
    /// The workflow as it is written, which becomes a file of the crate.
    pub document: &'s str,
    /// The servers, as they were recorded.
    pub servers: &'s [Server],
    /// Arguments and results that were recorded: of this tool of this server of the workflow.
    pub calls: &'s [Recorded],
    /// For each step, where it comes from.
    pub origins: &'s BTreeMap<SmolStr, StepOrigin>,
    /// What the crate proves itself against: runs with their inputs, steps and outputs.
    pub recording: &'s Value,
    /// The folder of `ltc-runtime`, where the crate does not take it from the registry.
    pub runtime_path: Option<&'s str>,
}

/// A recorded call that succeeded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The server's name in the workflow.
    pub server: SmolStr,
    /// The tool.
    pub tool: SmolStr,
    /// The arguments.
    pub arguments: Object,
    /// The value of the result.
    pub result: Value,
}

/// Where a step comes from.
#[derive(Clone, Debug, Default)]
pub struct StepOrigin {
    /// The recorded calls that it is.
    pub calls: Vec<SmolStr>,
    /// Its arguments, each with where it comes from.
    pub arguments: Vec<(String, String)>,
}

/// A file of a crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Where it lies in the crate.
    pub path: &'static str,
    /// What it says.
    pub text: String,
}

/// The files of the crate that `source` becomes, each without its [`headed`] line.
///
/// # Errors
/// What the emitter did wrong: a file that is no Rust.
pub fn files(source: &Source<'_>) -> Result<Vec<File>, String> {
    let written = flow::write(source);
    let rust = [("src/lib.rs", written.lib), ("src/steps.rs", written.steps), ("src/tools.rs", written.tools)];
    let mut files = project::files(source)?;
    for (path, module) in rust {
        if !module.items.is_empty() {
            files.push(File { path, text: layout::file(&module).map_err(|why| format!("{path}: {why}"))? });
        }
    }
    files.sort_by(|a, b| a.path.cmp(b.path));
    Ok(files)
}
