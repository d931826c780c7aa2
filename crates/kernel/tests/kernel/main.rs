//! Cells in real kernels, real notebooks, and variables that come back.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[cfg(target_os = "linux")]
mod cell_time;
mod hanging_cells;
mod interpreters;
mod kernels;
mod notebooks;
mod python;
mod rehydrations;
mod session;
