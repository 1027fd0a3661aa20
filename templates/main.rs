//! `cargo run` serves the workflow over stdio; `cargo run -- --input JSON` runs it once.

use std::process::ExitCode;

fn main() -> ExitCode {
    ltc_runtime::native::main([{{ library }}::workflow()])
}
