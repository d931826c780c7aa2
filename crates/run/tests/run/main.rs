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
mod expansion;
mod other_runs;
mod permissions;
mod plan;
#[cfg(feature = "python")]
#[path = "../../../kernel/tests/kernel/python.rs"]
mod python;
#[cfg(all(feature = "python", target_os = "linux"))]
mod python_aborts;
#[cfg(feature = "python")]
mod python_messages;
#[cfg(feature = "python")]
mod python_results;
#[cfg(feature = "python")]
mod python_runs;
mod record;
mod report;
mod retries;
#[cfg(not(feature = "python"))]
mod without_python;
