//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

mod python_literal;
pub mod rehydration;
