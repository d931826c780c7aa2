//! What must hold for any bytes, one module for each thing that reads them.

pub mod marker;
pub mod payload;
pub mod policy;
pub mod transcripts;

/// The sources of `crates/run` that read bytes from outside. As a dependency the crate would bring SQLite, sockets and an
/// asynchronous runtime into every build of these targets.
#[path = "../../crates/run/src"]
pub mod run {
    pub mod marker;
}
