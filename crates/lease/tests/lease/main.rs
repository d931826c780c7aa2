//! Leases as engines use them: real processes, paused and killed.

// Clippy knows test functions, not the functions that they share.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stderr)]

mod contenders;
mod pauses;
mod worker;
