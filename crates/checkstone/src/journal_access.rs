//! The journal for commands of people: opened without creating it where a command only looks, and with a hint for
//! everything that can be wrong with it.

use std::path::{Path, PathBuf};

use journal::{Journal, JournalError, OpenFor};

use crate::environment;
use crate::error::CommandError;

pub(crate) fn state_directory() -> Result<PathBuf, CommandError> {
    environment::state_directory().ok_or_else(|| {
        CommandError::new(
            "there is no place for the journal: neither `HOME` nor `CHECKSTONE_STATE_DIR` is set",
        )
        .hint("set `CHECKSTONE_STATE_DIR` to a folder of your own")
    })
}

/// `None` where nothing was ever recorded.
pub(crate) fn open_existing(state: &Path) -> Result<Option<Journal>, CommandError> {
    if !Journal::exists(state) {
        return Ok(None);
    }
    open_or_create(state).map(Some)
}

pub(crate) fn open_or_create(state: &Path) -> Result<Journal, CommandError> {
    Journal::open(state, OpenFor::Command).map_err(|error| explained(&error))
}

pub(crate) fn explained(error: &JournalError) -> CommandError {
    let told = CommandError::of(error);
    match error {
        JournalError::Corrupt { path, .. }
        | JournalError::NotAJournal { path }
        | JournalError::NotAFile { path } => told.hint(format!(
            "agents are not held meanwhile; move `{}*` away, all of them, and the next hook begins a new journal",
            path.display()
        )),
        JournalError::NewerSchema { .. } => told.hint("update checkstone to the version that wrote it"),
        JournalError::Busy { .. } => told.hint("try again in a moment"),
        JournalError::ReadOnly { .. } | JournalError::Create { .. } => told.hint(
            "make the state directory writable for you, or name another one with `CHECKSTONE_STATE_DIR`",
        ),
        JournalError::DiskFull { .. } => told.hint("make room on the disk"),
        JournalError::Query { .. } | JournalError::SetAside { .. } => told,
    }
}
