//! Facts about stops that need no client, by tables.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod ledger_model;
mod replayed_turns;
mod repository_files;
#[allow(dead_code, reason = "the tests of the gate need more of it")]
#[path = "../../../gate/tests/gate/turns.rs"]
mod turns;
mod what_changed;
