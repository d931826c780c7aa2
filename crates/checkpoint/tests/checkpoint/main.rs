//! Checkpoints as the library makes them, on a real disk.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod checkpoints;
mod file_hashes;
mod hostile;
mod manifest;
mod permissions;
mod restore_faults;
