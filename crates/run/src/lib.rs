//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

mod artifact_path;
mod attempt;
pub mod checkpoint;
pub mod control;
pub mod drift;
pub mod engine;
pub mod event;
mod executor;
pub mod fingerprint;
pub mod hash;
mod json;
mod keeping;
pub mod kernel;
pub mod layout;
pub mod manifest;
pub mod marker;
pub mod notebook;
pub mod output;
mod parallel;
pub mod plan;
mod publish;
pub mod python_environment;
mod python_literal;
mod python_session;
pub mod record;
pub mod rehydration;
pub mod report;
pub mod runs;
pub mod state;
mod store;
pub mod supervisor;

pub use artifact_path::PathError;
pub use store::StoreError;
