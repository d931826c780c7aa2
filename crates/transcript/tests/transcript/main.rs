//! What the real clients write, read right: snapshots of real samples, the cases that broke others, and
//! properties that hold for any bytes.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod bad_input;
mod cases;
mod every_host;
mod host;
mod properties;
mod real_sessions;
mod samples;
mod walks;
mod write;
