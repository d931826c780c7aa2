//! Runs in real folders, by real processes.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod kernels;
mod notebooks;
mod python;
mod rehydrations;
