//! Change sets against real git. Each module is one group of facts; `sandbox` is the repository they play in.

// The lints' exception for tests ends at functions marked as tests; helpers of tests may fail just as loudly.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cases;
mod commits;
mod comparisons;
mod failures;
mod history;
mod ignored;
mod kills;
mod pushes;
mod random;
mod repositories;
mod restores;
mod retention;
mod sandbox;
mod scopes;
mod server;
mod snapshot_baselines;
mod snapshot_faults;
mod snapshots;
mod stored;
