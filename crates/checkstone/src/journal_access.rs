//! The journal for commands of people: opened without creating it where a command only looks, and with a hint for
//! everything that can be wrong with it.

use std::path::{Path, PathBuf};

use gate::policy::Policy;
use journal::switch::SwitchError;
use journal::{Journal, JournalError, OpenFor};
use rustix::fs::{Access, access};
use stop::policy_files::PolicyTexts;
use stop::trust::{self, Standing};

use crate::environment;
use crate::error::{CommandError, ErrorKind};

pub(crate) fn state_directory() -> Result<PathBuf, CommandError> {
    environment::state_directory().ok_or_else(|| {
        CommandError::environment(
            "no place for the journal: neither `HOME` nor `CHECKSTONE_STATE_DIR` is set",
        )
        .hint("set `CHECKSTONE_STATE_DIR` to a folder of your own")
    })
}

/// `None` if nothing was ever recorded.
pub(crate) fn open_existing(state: &Path) -> Result<Option<Journal>, CommandError> {
    if !Journal::exists(state) {
        return Ok(None);
    }
    open_or_create(state).map(Some)
}

pub(crate) fn open_or_create(state: &Path) -> Result<Journal, CommandError> {
    Ok(Journal::open(state, OpenFor::Command)?)
}

/// How the repository's own policy file stands with the user.
pub(crate) fn standing(
    journal: Option<&mut Journal>,
    texts: &PolicyTexts,
    policy: &Policy,
) -> Result<Standing, CommandError> {
    let trust = match journal {
        Some(journal) => journal.read(|reader| trust::of_file(reader, texts))?,
        None => journal::Trust::Unknown,
    };
    Ok(Standing::new(trust, texts, policy))
}

pub(crate) fn unknown_verdict(id: i64) -> CommandError {
    CommandError::not_found(format!("there is no verdict {id}"))
        .hint("`checkstone explain --list` lists recent ones; old ones are pruned")
}

/// What to do where the state directory cannot be written.
pub(crate) const MAKE_WRITABLE: &str =
    "make the state directory writable, or choose another with `CHECKSTONE_STATE_DIR`";

/// Whether the state directory may be written, or made where it is not there yet, as far as that can be seen without doing it.
pub(crate) fn is_writable(state: &Path) -> bool {
    let nearest = state.ancestors().find(|folder| folder.exists());
    nearest
        .is_some_and(|folder| folder.is_dir() && access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok())
}

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        use ErrorKind::{Environment, Failed, Refused};
        use JournalError as E;
        let (kind, hint) = match &error {
            E::Corrupt { path, .. } | E::NotAJournal { path } | E::NotAFile { path } => {
                let path = path.display();
                let hint = format!(
                    "agents are not held until then: move all of `{path}*` away, and the next hook starts a new journal"
                );
                return Self::of(Environment, &error).hint(hint);
            }
            E::NewerSchema { .. } => (Environment, "update checkstone to the version that wrote it"),
            E::ReadOnly { .. } | E::Create { .. } => (Environment, MAKE_WRITABLE),
            E::Busy { .. } => (Refused, "try again in a moment"),
            E::DiskFull { .. } => (Failed, "free some disk space"),
            E::Query { .. } | E::SetAside { .. } => (Failed, ""),
        };
        Self::of(kind, &error).hint(hint)
    }
}

impl From<SwitchError> for CommandError {
    fn from(error: SwitchError) -> Self {
        match error {
            SwitchError::TooLong { .. } => Self::of(ErrorKind::Usage, &error),
            _ => Self::of(ErrorKind::Environment, &error).hint(MAKE_WRITABLE),
        }
    }
}
