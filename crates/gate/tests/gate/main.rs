//! Facts about the gate, by tables.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod policy_errors;
mod policy_paths;
mod policy_presets;
mod runner_summary;
mod shell_hostile;
mod shell_intents;
mod shell_patterns;
mod shell_truth;
