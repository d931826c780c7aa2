//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

mod artifact_path;
pub mod checkpoint;
mod folder;
pub mod hash;
pub mod layout;
pub mod manifest;
mod parallel;
mod store;

pub mod marker;
pub mod supervisor;

mod attempt;
pub mod control;
pub mod drift;
pub mod engine;
pub mod event;
mod executor;
pub mod fingerprint;
mod keeping;
pub mod output;
pub mod plan;
mod publish;
pub mod record;
pub mod report;
pub mod runs;
pub mod state;

pub use artifact_path::PathError;
pub use folder::FolderError;
pub use store::StoreError;
