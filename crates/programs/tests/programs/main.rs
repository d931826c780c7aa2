//! Facts about commands and their output, by tables.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod command_facts;
mod repository_runs;
mod repository_ways;
mod shell_hostile;
mod shell_intents;
mod shell_outputs;
mod shell_patterns;
mod shell_truth;
mod task_spellings;
