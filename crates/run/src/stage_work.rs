//! The work of a stage, as a program or as a cell, and what is known when it is done.

use std::ffi::OsString;

use checkpoint::manifest::{NotebookReference, PythonEnvironment};
use serde::{Deserialize, Serialize};
use supervise::{Command, Controls, Ending, Isolation, Limits, Observed, SpawnError, Supervised, WatchError};

use crate::SessionError;
use crate::attempt::Job;
use crate::plan::Stage;

/// What a checkpoint after a Python stage says of the session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SessionState {
    pub(crate) notebook: NotebookReference,
    pub(crate) environment: PythonEnvironment,
    pub(crate) execution_count: u64,
}

/// Where the session that a stage needs can be had.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(not(feature = "python"), expect(dead_code, reason = "without a kernel there is no session"))]
pub(crate) enum SessionSource {
    /// The kernel has it.
    Kernel,
    /// A valid checkpoint holds it.
    Checkpoint,
    /// There are valid checkpoints, and none of them holds it.
    OtherCheckpoint,
    NoCheckpoint,
}

/// How a stage ended, the exception that its cell raised, if it did, and what the session was then: the next stage may
/// have it already when this one is accepted.
pub(crate) struct StageEnded {
    pub(crate) ending: Ending,
    pub(crate) raised: Option<String>,
    pub(crate) state: Option<SessionState>,
}

/// Why the work could not be begun, or not be watched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecuteError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error(transparent)]
    Python(#[from] SessionError),
}

/// A program in a process tree of its own, to its end.
pub(crate) fn command(
    command: &Command,
    isolation: Isolation,
    limits: &Limits,
    controls: &Controls,
    observe: &mut dyn FnMut(Observed),
) -> Result<Ending, ExecuteError> {
    Ok(Supervised::spawn(command, isolation)?.watch(limits, controls, observe)?)
}

/// A stage that is to run as a cell of the run's kernel.
#[cfg_attr(not(feature = "python"), expect(dead_code, reason = "without a kernel nobody asks"))]
pub(crate) struct CellJob<'a> {
    pub(crate) job: &'a Job,
    pub(crate) stage: &'a Stage,
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) limits: &'a Limits,
    /// What a person should know.
    pub(crate) warn: &'a dyn Fn(String),
}
