//! Commits, pushes and snapshots with real git. Each module is one group of facts; `sandbox` is the repository they play
//! in, the same as in the tests of `changes`.

// The lints' exception for tests ends at functions marked as tests; helpers of tests may fail just as loudly.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod commits;
mod comparisons;
#[cfg(target_os = "linux")]
mod kills;
mod mirrors;
mod push_states;
mod pushes;
mod restores;
mod retention;
#[path = "../../../changes/tests/changes/sandbox.rs"]
#[allow(dead_code, reason = "some of it is for the tests of `changes` alone")]
mod sandbox;
mod server;
mod snapshot_baselines;
mod snapshot_faults;
mod snapshot_sandbox;
mod snapshots;
mod submodule_snapshots;
