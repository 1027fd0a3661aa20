//! Runs workflows.
//!
//! | file | what it is |
//! |---|---|
//! | `run` | a run from its request to its end; what is wrong is found before step one |
//! | `engine` | the loop: ask `advance` what comes next, do it, note how it ended |
//! | `durable` | the seam `Durable::perform` |
//! | `journal` | the seam, implemented: what happened is noted, written down, and never done again |
//! | `store` | where runs, workflows and questions to people are kept: a trait, in SQLite and PostgreSQL |
//! | `definition`, `drive` | what a run was begun with; runs from a store, brought to their next rest |
//! | `triage`, `solutions` | questions whose answer may come with a recording, and what is tried before a person is asked again |
//! | `alive` | whether the process behind a lease is gone |
//! | `perform` | the world of a run |
//! | `service` | every operation of the product, once: what MCP tools and commands are projections of |
//! | `compiling` | the compiler, as the operations see it: a trait |
//! | `stdio` | what a server over stdin and stdout consists of, and one whose tools are the workflows of a program |
//! | `offered` | workflows as tools: what is known of them before they run |
//! | `documentation` | the documents that a program carries, and a search over them |
//! | `serve` | the operations as MCP servers, over stdio and HTTP |
//! | `native` | workflows that are Rust: what crates link that the compiler writes |
//! | `presets` | well-known servers |
//! | `adapter` | the way to MCP servers, behind one trait that who embeds the runtime may implement |
//! | `pool`, `upstream` | our own way: connections to MCP servers; the protocol library stays inside `upstream`, `stdio` and `serve` |
//! | `relay` | a client and its servers, message by message; what an observer sees of it |
//! | `record` | a recording of the calls that pass a relay |
//! | `preflight`, `input`, `expected`, `secrets`, `servers`, `environment` | what a run needs, checked |

pub mod adapter;
pub mod alive;
pub mod approximate;
pub mod clock;
#[cfg(feature = "serve")]
pub mod compiling;
pub mod definition;
#[cfg(feature = "serve")]
pub mod documentation;
pub mod drive;
pub mod durable;
pub mod engine;
pub mod environment;
pub mod expected;
pub mod input;
pub mod journal;
pub mod native;
pub mod observe;
#[cfg(feature = "stdio")]
pub mod offered;
pub mod perform;
pub(crate) mod pipes;
pub mod pool;
pub mod preflight;
pub mod presets;
pub mod problem;
pub mod record;
pub mod relay;
pub mod run;
pub mod secrets;
#[cfg(feature = "serve")]
pub mod serve;
pub mod servers;
#[cfg(feature = "serve")]
pub mod service;
pub mod solutions;
#[cfg(feature = "stdio")]
pub(crate) mod stdio;
pub mod store;
pub mod text;
pub mod triage;
pub mod upstream;
