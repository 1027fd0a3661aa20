//! Runs workflows.
//!
//! | file | what it is |
//! |---|---|
//! | `run` | a run from its request to its end; what is wrong is found before step one |
//! | `engine` | the loop: ask `advance` what comes next, do it, note how it ended |
//! | `durable` | the seam `Durable::perform`, and the journal in memory |
//! | `perform` | effects, done |
//! | `pool`, `upstream` | connections to MCP servers; the protocol library stays inside `upstream` |
//! | `preflight`, `input`, `expected`, `secrets`, `servers`, `environment` | what a run needs, checked |

pub mod approximate;
pub mod clock;
pub mod durable;
pub mod engine;
pub mod environment;
pub mod expected;
pub mod input;
pub mod observe;
pub mod perform;
pub mod pool;
pub mod preflight;
pub mod problem;
pub mod run;
pub mod secrets;
pub mod servers;
pub mod store;
pub mod text;
pub mod upstream;
