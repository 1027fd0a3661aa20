//! The `ltc` command.

fn main() {}
