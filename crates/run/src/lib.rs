//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

pub mod marker;
pub mod supervisor;
