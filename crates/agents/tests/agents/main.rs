//! What the real clients send, read right; what they are told, in their own schema; any bytes survived.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod abilities;
mod bad_input;
mod decisions;
mod mcp_entry;
mod pane;
mod properties;
mod recorded;
mod samples;
mod settings;
mod status_line;
mod tmux;
mod transcripts;
