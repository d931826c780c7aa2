//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

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
#[cfg(feature = "python")]
mod python_session;
#[cfg(not(feature = "python"))]
#[path = "no_python_session.rs"]
mod python_session;
pub mod record;
pub mod report;
pub mod runs;
pub mod state;
