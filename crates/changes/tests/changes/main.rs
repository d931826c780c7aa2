//! Change sets against real git. Each module is one group of facts; `sandbox` is the repository they play in.

// The lints' exception for tests ends at functions marked as tests; helpers of tests may fail just as loudly.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod cases;
mod failures;
mod history;
mod ignored;
mod random;
mod repositories;
mod sandbox;
mod scopes;
mod stored;
