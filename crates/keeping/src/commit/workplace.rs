//! Our own folder inside the repository's git folder: a note of what is about to happen to the user's index, and for
//! each run a folder of its own with the private index and the message. A lock that the kernel gives back keeps two runs
//! apart, so that whatever lies there at the beginning of a run was left by one that is dead.
//!
//! A run that was killed may have left a git process or a hook that still works. What it writes lies in the folder of
//! its run, where nobody looks any more and which the next run removes; and the one process that moves the branch has the
//! lock too, so that the next run begins after it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use change_set::BytePath;
use changes::{GitProgram, Repository};
use files::{Folder, Links, Lock, LockError, Sharing, TemporaryFile, atomic_file, regular_file};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{CommitError, index};
use crate::acting::ActingGit;
use crate::difference::{Difference, Version};
use crate::working_tree::io_error;

const FOLDER: &str = "checkstone";
const LOCK: &str = "commit.lock";
const NOTE: &str = "commit.json";
/// The folder of a run begins with this.
const RUN: &str = "run-";
/// Millions of files are not committed in one go.
const LARGEST_NOTE: u64 = 1 << 30;
pub(super) const PRIVATE_INDEX: &str = "index";
pub(super) const NEXT_INDEX: &str = "next-index";
pub(super) const HOOK_OUTPUT: &str = "hook-output";
pub(super) const MESSAGE: &str = "COMMIT_EDITMSG";

#[derive(Debug)]
pub(super) struct Workplace {
    pub(super) repository: Repository,
    pub(super) git: ActingGit,
    folder: Folder,
    run: TempDir,
    lock: Lock,
}

/// What is about to happen to entries of the user's index.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PendingNote {
    commit: String,
    entries: Vec<PendingEntry>,
}

/// `(mode, id)`, or nothing where the index does not have it.
#[derive(Debug, Serialize, Deserialize)]
struct PendingEntry {
    path: BytePath,
    old: Option<(String, String)>,
    new: Option<(String, String)>,
}

impl PendingNote {
    pub(super) fn new(commit: &str, changed: &[Difference], staged: &BTreeMap<BytePath, Version>) -> Self {
        let pair = |entry: &Version| (entry.mode.clone(), entry.id.clone());
        let entry = |change: &Difference| PendingEntry {
            path: change.path.clone(),
            old: staged.get(&change.path).map(pair),
            new: change.new.as_ref().map(pair),
        };
        Self { commit: commit.to_owned(), entries: changed.iter().map(entry).collect() }
    }

    /// The entries as they shall be, of those that are as they were.
    pub(super) fn lost(&self, now: &BTreeMap<BytePath, Version>) -> Vec<(BytePath, Option<Version>)> {
        let is_lost = |entry: &&PendingEntry| {
            entry.old != entry.new && now.get(&entry.path) == unpair(&entry.old).as_ref()
        };
        let lost = self.entries.iter().filter(is_lost);
        lost.map(|entry| (entry.path.clone(), unpair(&entry.new))).collect()
    }

    /// The entries as they shall be.
    pub(super) fn forth(&self) -> Vec<(BytePath, Option<Version>)> {
        self.entries.iter().map(|entry| (entry.path.clone(), unpair(&entry.new))).collect()
    }
}

fn unpair(pair: &Option<(String, String)>) -> Option<Version> {
    pair.as_ref().map(|(mode, id)| Version { mode: mode.clone(), id: id.clone() })
}

/// Whoever may write in the git folder may write in ours: the repository may belong to a group (`core.sharedRepository`).
fn share(git_dir: &Path, folder: &Folder, lock: &File) -> io::Result<()> {
    let mode = git_dir.metadata()?.mode() & 0o7777;
    folder.as_file().set_permissions(Permissions::from_mode(mode))?;
    lock.set_permissions(Permissions::from_mode(mode & 0o666))
}

/// Of this working tree, inside the git folder: what we keep there is on the disk of the repository, and no file of the
/// user's.
pub fn folder(repository: &Repository) -> PathBuf {
    repository.git_dir.join(FOLDER)
}

impl Workplace {
    pub(super) fn exists(repository: &Repository) -> bool {
        folder(repository).join(LOCK).exists()
    }

    pub(super) fn open(
        repository: &Repository,
        program: &GitProgram,
        limit: Duration,
    ) -> Result<Self, CommitError> {
        let path = folder(repository);
        let unusable = |source: io::Error| CommitError::Folder { path: path.clone(), source };
        let folder = Folder::open(&repository.git_dir).and_then(|git_dir| git_dir.folder_made(FOLDER));
        let folder = folder.map_err(|error| unusable(io_error(error)))?;
        let lock = Lock::acquire_in(&folder, LOCK, Sharing::Alone, limit).map_err(|error| match error {
            LockError::Busy { .. } => CommitError::Busy,
            LockError::Open(error) => unusable(io_error(error)),
            LockError::Lock { source, .. } => unusable(source),
        })?;
        // Only the owner can, and has done so where it is somebody else.
        let _ = share(&repository.git_dir, &folder, lock.file());
        let run = tempfile::Builder::new().prefix(RUN).tempdir_in(&path).map_err(unusable)?;
        let git = ActingGit::new(program, &repository.root);
        Ok(Self { repository: repository.clone(), git, folder, run, lock })
    }

    /// A file of this run.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.run.path().join(name)
    }

    fn note_file(&self) -> PathBuf {
        self.folder.path().join(NOTE)
    }

    /// The lock once more, for a process that shall keep it as long as it lives.
    pub(super) fn shared_lock(&self) -> Result<File, CommitError> {
        let unusable = |source| CommitError::Folder { path: self.folder.path().join(LOCK), source };
        self.lock.file().try_clone().map_err(unusable)
    }

    pub(super) fn index(&self) -> PathBuf {
        self.repository.git_dir.join("index")
    }

    pub(super) fn index_lock(&self) -> PathBuf {
        self.repository.git_dir.join("index.lock")
    }

    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), CommitError> {
        let path = self.file(name);
        fs_err::write(&path, content).map_err(|source| CommitError::Folder { path, source })
    }

    pub(super) fn remove(&self, name: &str) {
        let _ = fs_err::remove_file(self.file(name));
    }

    /// Writes down what is about to happen; it is on the disk before it happens.
    pub(super) fn note(&self, pending: &PendingNote) -> Result<(), CommitError> {
        let unusable = |source: io::Error| CommitError::Folder { path: self.note_file(), source };
        let text = serde_json::to_vec(pending).map_err(|error| unusable(error.into()))?;
        atomic_file::write_in(&self.folder, OsStr::new(NOTE), &text, 0o666)
            .map_err(|error| unusable(io_error(error)))
    }

    pub(super) fn forget(&self) {
        let _ = self.folder.remove_file(NOTE);
    }

    /// Removes the folders of dead runs, and a note that one had begun. A folder into which an orphan writes in this
    /// moment may stay until the next time.
    fn clear(&self) {
        for (name, _) in self.folder.entries().unwrap_or_default() {
            let path = self.folder.path().join(&name);
            let is_run = name.starts_with(RUN) && path != self.run.path();
            if is_run {
                self.unlock_index(&path.join(NEXT_INDEX));
            }
            if is_run || TemporaryFile::is_left_of(&name, NOTE) {
                let _ = self.folder.remove_all(&name);
            }
        }
    }

    /// Puts right what a dead run has left.
    pub(super) fn recover(&self, limit: Duration) -> Result<(), CommitError> {
        self.clear();
        let pending = match regular_file::read(&self.note_file(), Links::Refuse, LARGEST_NOTE) {
            Err(error) if error.is_not_found() => return Ok(()),
            Err(_) => None,
            Ok(text) => serde_json::from_slice::<PendingNote>(&text).ok(),
        };
        // A note is there whole or not at all; one that says something else is not from us.
        let Some(pending) = pending else {
            self.forget();
            return Ok(());
        };
        let back = self.to_take_back(&pending)?;
        if !back.is_empty() {
            index::exchange(self, &back, limit)?;
            let again = self.committed_meanwhile(&pending)?;
            if !again.is_empty() {
                index::exchange(self, &again, limit)?;
            }
        }
        self.forget();
        Ok(())
    }

    /// A lock that is the same file as the next index of a dead run was made by that run.
    fn unlock_index(&self, next_index: &Path) {
        let identity = |path: &Path| path.symlink_metadata().map(|found| (found.dev(), found.ino())).ok();
        let ours = identity(next_index);
        if ours.is_some() && ours == identity(&self.index_lock()) {
            let _ = fs_err::remove_file(self.index_lock());
        }
    }

    /// Entries that are still as we put them, and that no commit has.
    fn to_take_back(&self, pending: &PendingNote) -> Result<Vec<(BytePath, Option<Version>)>, CommitError> {
        let arrived = self.git.end(&["merge-base", "--is-ancestor", &pending.commit, "HEAD"], b"")?;
        if arrived.status.success() {
            return Ok(Vec::new());
        }
        let paths: Vec<BytePath> = pending.entries.iter().map(|entry| entry.path.clone()).collect();
        let now = index::entries(&self.git, &paths)?;
        let head = index::in_head(&self.git, &paths)?;
        let mut back = Vec::new();
        for entry in &pending.entries {
            let new = unpair(&entry.new);
            if now.get(&entry.path) == new.as_ref() && head.get(&entry.path) != new.as_ref() {
                back.push((entry.path.clone(), unpair(&entry.old)));
            }
        }
        Ok(back)
    }

    /// Somebody's commit that had read our entries may arrive while they are taken back; without them in the index the
    /// next commit would undo that one's.
    fn committed_meanwhile(
        &self,
        pending: &PendingNote,
    ) -> Result<Vec<(BytePath, Option<Version>)>, CommitError> {
        let paths: Vec<BytePath> = pending.entries.iter().map(|entry| entry.path.clone()).collect();
        let head = index::in_head(&self.git, &paths)?;
        let mut lost = pending.lost(&index::entries(&self.git, &paths)?);
        lost.retain(|(path, new)| head.get(path) == new.as_ref());
        Ok(lost)
    }
}
