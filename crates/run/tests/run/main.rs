//! Runs as the library makes them: real files, real processes.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod checkpoint;
mod engine;
mod hostile;
mod kernels;
mod lost_supervisor;
mod manifest;
mod markers;
mod notebooks;
mod plan;
mod processes;
mod python;
mod python_runs;
mod record;
mod rehydrations;
mod report;
mod restore_faults;
mod supervised;
mod trees;
