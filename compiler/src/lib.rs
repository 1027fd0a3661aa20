//! Traces in, workflow out.

pub mod diagnostics;
pub mod hints;
pub mod trace;
