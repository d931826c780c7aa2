//! Notes beside commits and trees, to which is only ever added: lines of one side and of the other, never one instead of
//! the other. So two machines that note something about the same commit both keep it, in whatever order they push.
//!
//! `git notes` moves its ref without looking whether somebody else moved it meanwhile. Ours therefore wait for each other,
//! by a lock in the git folder that all worktrees share.

use std::time::Duration;

use changes::{Error, GitProgram, Repository};
use files::{FileError, Folder, Lock, LockError, Sharing};

use crate::acting::ActingGit;

const FOLDER: &str = "checkstone";
const LOCK: &str = "notes.lock";
const LOCK_LIMIT: Duration = Duration::from_secs(30);

/// Who a note is from if git knows no name, as on a machine that only runs jobs.
const NOBODY: (&str, &str) = ("checkstone", "checkstone@localhost");

/// A ref below `refs/notes/`.
#[derive(Clone, Copy, Debug)]
pub struct NotesRef<'a> {
    pub repository: &'a Repository,
    pub program: &'a GitProgram,
    pub name: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    #[error("another process has been writing notes for {} s", LOCK_LIMIT.as_secs())]
    Busy,
    #[error(transparent)]
    Lock(#[from] FileError),
    #[error(transparent)]
    Git(#[from] Error),
}

impl NotesRef<'_> {
    /// Adds a line to the note of each object.
    pub fn append(self, objects: &[&str], line: &str) -> Result<(), NotesError> {
        let _lock = self.lock()?;
        let git = self.git();
        for object in objects {
            git.run(&["notes", &self.option(), "append", "--file=-", object], line.as_bytes())?;
        }
        Ok(())
    }

    /// Brings the notes of another commit together with ours: of a note that both have, the lines of both.
    pub(crate) fn merge(self, theirs: &str) -> Result<(), NotesError> {
        let _lock = self.lock()?;
        let arguments = ["notes", &self.option(), "merge", "--quiet", "--strategy=cat_sort_uniq", theirs];
        self.git().run(&arguments, b"")?;
        Ok(())
    }

    /// The commit that the notes are at; `None` if there are none.
    pub fn tip(self) -> Result<Option<String>, Error> {
        let expression = format!("{}^{{commit}}", self.name);
        self.plain_git().line_or_none(&["rev-parse", "--verify", "--quiet", "--end-of-options", &expression])
    }

    fn option(self) -> String {
        format!("--ref={}", self.name)
    }

    fn plain_git(self) -> ActingGit {
        ActingGit::new(self.program, &self.repository.root)
    }

    fn git(self) -> ActingGit {
        let git = self.plain_git();
        if git.run(&["var", "GIT_COMMITTER_IDENT"], b"").is_ok() {
            return git;
        }
        ["AUTHOR", "COMMITTER"].into_iter().fold(git, |git, role| {
            git.with(&format!("GIT_{role}_NAME"), NOBODY.0).with(&format!("GIT_{role}_EMAIL"), NOBODY.1)
        })
    }

    fn lock(self) -> Result<Lock, NotesError> {
        let folder = Folder::open(&self.repository.common_dir)?.folder_made(FOLDER)?;
        Lock::acquire_in(&folder, LOCK, Sharing::Alone, LOCK_LIMIT).map_err(|error| match error {
            LockError::Busy { .. } => NotesError::Busy,
            LockError::Open(error) => NotesError::Lock(error),
            LockError::Lock { path, source } => {
                NotesError::Lock(FileError::Failed { doing: "lock", path, source })
            }
        })
    }
}
