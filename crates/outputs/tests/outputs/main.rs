//! The tests of the crate, in one binary.

mod summaries;
