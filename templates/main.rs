//! `cargo run` serves the workflow over stdio; `cargo run -- --input JSON` runs it once.

use ltc_runtime::native::Registry;
use std::process::ExitCode;

fn main() -> ExitCode {
    Registry::new().add({{ library }}::workflow()).main()
}
