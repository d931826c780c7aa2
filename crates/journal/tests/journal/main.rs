//! The journal as other crates use it: real files, real processes, real kills.

// Clippy knows test functions, not the functions that they share.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

mod autosaves;
mod bounds;
mod concurrency;
mod damage;
mod holds;
mod kills;
mod ledger;
mod log_lines;
mod records;
mod support;
mod switches;
mod versions;
mod worker;
