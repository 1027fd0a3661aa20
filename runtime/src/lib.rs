//! Runs workflows.
