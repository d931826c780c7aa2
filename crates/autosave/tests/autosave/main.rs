//! The pieces that autosave is made of, with real files. Each module is one group of facts.

// The lints' exception for tests ends at functions marked as tests; helpers of tests may fail just as loudly.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod build_state;
mod buildguide;
mod context;
mod facts;
mod mode;
mod notes;
mod secrets;
mod stop_words;
