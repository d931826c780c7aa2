//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

pub mod checkpoint;
pub mod hash;
pub mod layout;
pub mod manifest;
pub mod marker;
pub mod supervisor;

pub mod drift;
pub mod event;
mod executor;
pub mod fingerprint;
pub mod plan;
pub mod record;
pub mod report;
pub mod state;
