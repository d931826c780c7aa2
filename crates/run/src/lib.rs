//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

mod artifact_path;
pub mod checkpoint;
mod folder;
pub mod hash;
pub mod layout;
pub mod manifest;
mod parallel;
mod store;

pub use artifact_path::PathError;
pub use folder::FolderError;
pub use store::StoreError;
