//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

mod artifact_path;
pub mod checkpoint;
mod folder;
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
mod store;
pub mod supervisor;

pub use artifact_path::PathError;
pub use folder::FolderError;
pub use store::StoreError;
