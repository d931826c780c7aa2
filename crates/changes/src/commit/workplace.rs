//! Our own folder inside the repository's git folder: the private index, the message, and a note of what is about to
//! happen to the user's index. A lock that the kernel gives back keeps two runs apart, so that whatever lies there at
//! the beginning of a run was left by one that is dead.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{CommitError, index};
use crate::acting::Acting;
use crate::added::{Differing, Entry};
use crate::git::Settings;
use crate::path::BytePath;
use crate::repository::Repository;

const FOLDER: &str = "checkstone";
const LOCK: &str = "commit.lock";
const NOTE: &str = "commit.json";
const NEW_NOTE: &str = "commit.json.new";
pub(super) const PRIVATE_INDEX: &str = "commit.index";
pub(super) const NEXT_INDEX: &str = "commit.next-index";
pub(super) const HOOK_OUTPUT: &str = "hook-output";
pub(super) const MESSAGE: &str = "COMMIT_EDITMSG";

#[derive(Debug)]
pub(super) struct Workplace {
    pub(super) repository: Repository,
    pub(super) git: Acting,
    folder: PathBuf,
    _lock: File,
}

/// What is about to happen to entries of the user's index.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pending {
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

impl Pending {
    pub(super) fn new(commit: &str, changed: &[Differing], staged: &BTreeMap<BytePath, Entry>) -> Self {
        let pair = |entry: &Entry| (entry.mode.clone(), entry.id.clone());
        let entry = |change: &Differing| PendingEntry {
            path: change.path.clone(),
            old: staged.get(&change.path).map(pair),
            new: change.new.as_ref().map(pair),
        };
        Self { commit: commit.to_owned(), entries: changed.iter().map(entry).collect() }
    }

    /// The entries as they shall be.
    pub(super) fn forth(&self) -> Vec<(BytePath, Option<Entry>)> {
        self.entries.iter().map(|entry| (entry.path.clone(), unpair(&entry.new))).collect()
    }
}

fn unpair(pair: &Option<(String, String)>) -> Option<Entry> {
    pair.as_ref().map(|(mode, id)| Entry { mode: mode.clone(), id: id.clone() })
}

impl Workplace {
    pub(super) fn exists(repository: &Repository) -> bool {
        repository.git_dir.join(FOLDER).join(LOCK).exists()
    }

    pub(super) fn open(
        repository: &Repository,
        settings: &Settings,
        limit: Duration,
    ) -> Result<Self, CommitError> {
        let folder = repository.git_dir.join(FOLDER);
        let unusable = |source| CommitError::Folder { path: folder.clone(), source };
        fs_err::create_dir_all(&folder).map_err(unusable)?;
        let mut options = fs_err::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let lock = options.open(folder.join(LOCK)).map_err(unusable)?.into_file();
        let deadline = Instant::now() + limit;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(unusable(source)),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(CommitError::Busy),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        let git = Acting::new(settings, &repository.root);
        Ok(Self { repository: repository.clone(), git, folder, _lock: lock })
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
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
    pub(super) fn note(&self, pending: &Pending) -> Result<(), CommitError> {
        let unusable = |source: io::Error| CommitError::Folder { path: self.file(NOTE), source };
        let text = serde_json::to_vec(pending).map_err(|error| unusable(error.into()))?;
        let new = self.file(NEW_NOTE);
        let mut file = fs_err::File::create(&new).map_err(unusable)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(unusable)?;
        fs_err::rename(&new, self.file(NOTE)).map_err(unusable)?;
        Ok(())
    }

    pub(super) fn forget(&self) {
        self.remove(NOTE);
    }

    /// Everything but the lock and the note.
    fn clear(&self) {
        const LOCKS: [&str; 2] = ["commit.index.lock", "commit.next-index.lock"];
        for name in [PRIVATE_INDEX, NEXT_INDEX, NEW_NOTE, MESSAGE, HOOK_OUTPUT].iter().chain(&LOCKS) {
            self.remove(name);
        }
    }

    /// Puts right what a dead run has left.
    pub(super) fn recover(&self, limit: Duration) -> Result<(), CommitError> {
        self.unlock_index();
        self.clear();
        let Ok(text) = fs_err::read(self.file(NOTE)) else { return Ok(()) };
        // A note is there whole or not at all; one that says something else is not from us.
        let Ok(pending) = serde_json::from_slice::<Pending>(&text) else {
            self.forget();
            return Ok(());
        };
        let back = self.to_take_back(&pending)?;
        if !back.is_empty() {
            index::exchange(self, &back, limit)?;
        }
        self.forget();
        Ok(())
    }

    /// A lock that is the same file as our next index was made by us, and we are not at work.
    fn unlock_index(&self) {
        let identity = |path: PathBuf| path.symlink_metadata().map(|found| (found.dev(), found.ino())).ok();
        let ours = identity(self.file(NEXT_INDEX));
        if ours.is_some() && ours == identity(self.index_lock()) {
            let _ = fs_err::remove_file(self.index_lock());
        }
    }

    /// Entries that are still as we put them, and that no commit has.
    fn to_take_back(&self, pending: &Pending) -> Result<Vec<(BytePath, Option<Entry>)>, CommitError> {
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
}

impl Drop for Workplace {
    fn drop(&mut self) {
        self.clear();
    }
}
