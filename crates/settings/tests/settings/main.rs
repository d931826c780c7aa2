//! Documents, and tables of keys.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod documents;
mod tables;
