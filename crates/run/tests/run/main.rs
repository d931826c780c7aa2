//! Runs as the library makes them: real files, real processes.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod cell_time;
mod checkpoint;
mod engine;
mod hanging_cells;
mod hostile;
mod interpreters;
mod kernels;
mod lost_supervisor;
mod manifest;
mod markers;
mod notebooks;
mod plan;
mod processes;
mod python;
mod python_aborts;
mod python_messages;
mod python_runs;
mod record;
mod rehydrations;
mod report;
mod restore_faults;
mod supervised;
mod trees;
