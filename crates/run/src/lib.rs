//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

pub mod checkpoint;
pub mod hash;
mod json;
pub mod kernel;
pub mod layout;
pub mod manifest;
pub mod marker;
pub mod notebook;
pub mod python_environment;
mod python_literal;
pub mod rehydration;
pub mod supervisor;
