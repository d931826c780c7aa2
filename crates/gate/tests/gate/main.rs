//! Facts about the gate, by tables.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod corpus;
mod edited;
mod explanations;
mod held_out;
mod hidden_status;
mod hygiene_and_drift;
mod ledger;
mod matching;
mod own_code;
mod policy_errors;
mod policy_paths;
mod policy_presets;
mod policy_reference;
mod real_sessions;
mod replay;
mod required_actions;
mod right_runs;
mod same_content;
mod silence;
mod teleclaude;
mod turns;
mod unresolved_errors;
mod user_file;
