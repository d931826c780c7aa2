//! Runs as the library makes them: real files, real processes.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod engine;
mod plan;
#[path = "../../../kernel/tests/kernel/python.rs"]
mod python;
mod python_aborts;
mod python_messages;
mod python_runs;
mod record;
mod report;
