//! Staged runs: a plan of bounded stages, each supervised, checkpointed when it ends or hangs, and resumable.

mod attempt;
mod attempt_artifacts;
pub mod control;
#[cfg(feature = "postgres")]
pub mod database_hold;
mod earlier_runs;
pub mod end_of_output;
pub mod engine;
pub mod event;
pub mod exchange;
pub mod executor;
pub mod fingerprint;
pub mod graph;
pub mod hold;
mod input_content;
pub mod job_file;
mod jobs_left;
mod marker_limit;
pub mod needs;
mod next_in_session;
#[cfg(not(feature = "python"))]
mod no_python_session;
pub mod outlook;
pub mod output;
pub mod plan;
pub mod planted_fault;
pub mod project_code;
pub mod pruning;
mod publish;
#[cfg(feature = "python")]
mod python_session;
pub mod record;
pub mod report;
pub mod runs;
mod secret_values;
mod session_order;
mod stage_checkpoint;
pub mod stage_execution;
mod stage_now;
mod stage_parts;
mod stage_work;
pub mod state;
pub mod storage_settings;
pub mod surroundings;
mod turns;

#[cfg(not(feature = "python"))]
use no_python_session::{NoPythonSession as PythonSession, NoSessionError as SessionError, REHYDRATE};
#[cfg(not(feature = "python"))]
pub use no_python_session::{append_checkpoint_cell, last_executed_cell};
#[cfg(feature = "python")]
use python_session::{PythonSession, REHYDRATE, SessionError};
#[cfg(feature = "python")]
pub use python_session::{append_checkpoint_cell, last_executed_cell};
