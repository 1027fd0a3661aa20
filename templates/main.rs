//! `cargo run -- --input JSON` runs the workflow once; `cargo run --features serve` serves it over stdio.

use std::process::ExitCode;

fn main() -> ExitCode {
    ltc_runtime::native::main([{{ library }}::workflow()])
}
