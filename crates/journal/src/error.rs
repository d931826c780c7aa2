//! What can go wrong with the journal, sorted by what a caller can do about it. On the hook path every one of
//! these means: let the agent stop, and say so in the log.

use std::io;
use std::path::{Path, PathBuf};

use files::FileError;
use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("`{}` has been in use by another process for too long", path.display())]
    Busy { path: PathBuf },
    #[error("`{}` was written by a newer version (format {found}, this one reads up to {supported})", path.display())]
    NewerSchema { path: PathBuf, found: u32, supported: u32 },
    #[error("`{}` is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    #[error("`{}` belongs to another program", path.display())]
    NotAJournal { path: PathBuf },
    #[error("`{}` is not a regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("`{}` cannot be written", path.display())]
    ReadOnly { path: PathBuf },
    #[error("no space left to write `{}`", path.display())]
    DiskFull { path: PathBuf },
    #[error(transparent)]
    Create(FileError),
    #[error("cannot {doing} in `{}`", path.display())]
    Query { path: PathBuf, doing: &'static str, source: rusqlite::Error },
    #[error("cannot move `{}` to `{}`", from.display(), to.display())]
    SetAside { from: PathBuf, to: PathBuf, source: io::Error },
}

impl JournalError {
    /// Sorts an error of SQLite; `doing` says what was attempted, for the kinds that have no name of their own.
    pub(crate) fn sorted(path: &Path, doing: &'static str, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            // A lock protocol error is a race of many processes that open and close at once: also busy.
            Some(
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Busy { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { path, detail: source.to_string() }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { path },
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            _ => Self::Query { path, doing, source },
        }
    }
}
