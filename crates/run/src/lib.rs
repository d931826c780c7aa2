//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

pub mod checkpoint;
pub mod hash;
pub mod layout;
pub mod manifest;
pub mod notebook;
mod python_literal;
pub mod rehydration;
