//! Workflows in real folders and real repositories, by real processes.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod any_file;
mod archive;
mod concurrency;
mod files;
mod handoff;
mod integrations;
mod operations;
mod repository;
mod session_start;
mod ship;
mod tokens;
