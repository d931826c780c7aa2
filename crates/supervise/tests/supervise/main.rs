//! Process trees under supervision: real processes, ended in every way that they end.

// Who is alive is read of `/proc`.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod lost_supervisor;
mod markers;
mod processes;
mod supervised;
mod trees;
