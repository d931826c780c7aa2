//! The program as people and clients run it: exit code, stdout and stderr of real processes.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod check;
mod demo;
mod doctor;
mod explain;
mod hook;
mod init;
mod log;
mod policy;
mod program;
mod session;
mod snapshot;
mod status;
mod timeline;
mod trust;
mod uninstall;
mod workplace;
