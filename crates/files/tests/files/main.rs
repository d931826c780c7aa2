//! The careful file system as other crates use it: real files, real processes, real kills.

// Clippy knows test functions, not the functions that they share.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

mod atomic_files;
mod children;
mod folders;
mod kills;
mod locks;
mod programs;
mod regular_files;
mod worker;
