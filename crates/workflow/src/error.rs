//! What can go wrong with workflow files.

use std::path::PathBuf;

use files::{FileError, LockError};

use crate::name::NameError;

#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("there is no workflow `{name}` in `{}`", directory.display())]
    NotFound { name: String, directory: PathBuf },
    #[error("`{}` leads outside the repository: replace the link with a folder", path.display())]
    Outside { path: PathBuf },
    #[error("Unsupported checkpoint schema version: {found} (expected 1)")]
    UnsupportedVersion { found: String },
    #[error("`{}` is not a workflow file: {problem}", path.display())]
    WrongShape { path: PathBuf, problem: String },
    #[error("{problem}")]
    NotAWorkflow { problem: String },
    /// With the place of the summary.
    #[error("{message} in `{place}`")]
    SummaryTooLong { place: String, message: String },
    #[error("the name of a phase must have 1 to 100 bytes and no control characters, unlike `{name}`")]
    PhaseName { name: String },
    #[error("`{}` was changed by another process in the meantime: read it again", path.display())]
    Changed { path: PathBuf },
    #[error("`{name}` is not complete, and only complete workflows are archived")]
    Unfinished { name: String },
    #[error("the archive `{}` is damaged", path.display())]
    Archive { path: PathBuf },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Lock(#[from] LockError),
}
