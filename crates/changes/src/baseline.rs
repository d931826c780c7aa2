//! The state of a repository when a prompt was submitted: what the stop compares with, kept in the journal in
//! between.

use std::path::Path;

use change_set::BytePath;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::reflog;
use crate::repository::Repository;
use crate::state::{Disk, FileState, ObjectFormat, nanoseconds_of};
use crate::status::{EntryKind, Status, StatusEntry};

/// The layout of `Baseline`. Another number means another layout, which is then not used.
pub const BASELINE_VERSION: u32 = 1;

/// More dirty files than this are not remembered one by one: a baseline is stored at every prompt.
const MOST_FILES: usize = 4096;

/// HEAD, and every file that was not as HEAD has it, when the turn began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub version: u32,
    /// Nanoseconds since 1970, by the clock that file times come from.
    pub taken_ns: i64,
    pub root: BytePath,
    /// Tells apart the worktrees of one repository.
    pub git_dir: BytePath,
    /// `None` before the first commit.
    pub head: Option<String>,
    /// `None` if HEAD is detached.
    pub branch: Option<String>,
    pub object_format: ObjectFormat,
    /// The size of HEAD's log, which shows how HEAD moved since.
    pub reflog_size: Option<u64>,
    /// False where there were too many dirty files to remember them all.
    pub complete: bool,
    /// Sorted by path; ignored files are never among them.
    pub files: Vec<KnownFile>,
}

/// A dirty or untracked file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownFile {
    pub path: BytePath,
    #[serde(flatten)]
    pub state: FileState,
    /// The blob id in the index, where that differs from HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<String>,
}

impl Baseline {
    pub(crate) fn new(
        repository: &Repository,
        status: Status,
        reflog_size: Option<u64>,
        now_ns: i64,
    ) -> Self {
        let object_format = object_format(repository, &status);
        let mut disk = Disk::new(&repository.root, object_format);
        let complete = status.entries.len() <= MOST_FILES;
        let mut files = Vec::with_capacity(status.entries.len().min(MOST_FILES));
        // Git lists tracked files first: those are the ones to keep.
        for entry in status.entries.into_iter().take(MOST_FILES) {
            if let Some(old_path) = &entry.renamed_from {
                files.push(KnownFile { path: old_path.clone(), state: disk.state(old_path), staged: None });
            }
            files.push(known(&mut disk, entry));
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        // A path that was removed from the index and is still on disk is listed twice.
        files.dedup_by(|one, other| one.path == other.path);
        Self {
            version: BASELINE_VERSION,
            taken_ns: now_ns,
            root: BytePath::from(repository.root.as_path()),
            git_dir: BytePath::from(repository.git_dir.as_path()),
            head: status.head,
            branch: status.branch,
            object_format,
            reflog_size,
            complete,
            files,
        }
    }

    /// What can be told afterwards of a repository that nobody looked at when the turn began: where HEAD was. What was dirty
    /// then is not known.
    pub(crate) fn afterwards(repository: &Repository, status: &Status, began: Timestamp) -> Self {
        let then = reflog::at(&repository.git_dir, began.as_second());
        let (head, reflog_size) = match then {
            Some(then) => (then.commit, Some(then.log_size)),
            None => (status.head.clone(), reflog::size(&repository.git_dir)),
        };
        Self {
            version: BASELINE_VERSION,
            taken_ns: nanoseconds_of(began),
            root: BytePath::from(repository.root.as_path()),
            git_dir: BytePath::from(repository.git_dir.as_path()),
            head,
            branch: status.branch.clone(),
            object_format: object_format(repository, status),
            reflog_size,
            complete: false,
            files: Vec::new(),
        }
    }

    /// Whether it was taken in this working tree.
    pub fn is_of(&self, repository: &Repository) -> bool {
        Path::new(self.git_dir.as_path()) == repository.git_dir
    }

    pub(crate) fn file(&self, path: &BytePath) -> Option<&KnownFile> {
        let at = self.files.binary_search_by(|known| known.path.cmp(path)).ok()?;
        self.files.get(at)
    }

    /// Why this baseline says nothing about `repository`.
    pub(crate) fn unusable_for(&self, repository: &Repository) -> Option<String> {
        if self.version != BASELINE_VERSION {
            return Some(format!("the baseline has version {}, not {BASELINE_VERSION}", self.version));
        }
        if !self.is_of(repository) {
            return Some(format!("the turn began in another repository, `{}`", self.root));
        }
        None
    }
}

fn known(disk: &mut Disk<'_>, entry: StatusEntry) -> KnownFile {
    let mut state = disk.state(&entry.path);
    if let (FileState::Repository { dirt, .. }, Some(inside)) = (&mut state, &entry.submodule) {
        *dirt = inside.digest.clone();
    }
    let staged = (entry.kind == EntryKind::Tracked && entry.is_staged()).then_some(entry.index_id);
    KnownFile { path: entry.path, state, staged }
}

/// Any id tells; a repository without one is asked for its config.
pub(crate) fn object_format(repository: &Repository, status: &Status) -> ObjectFormat {
    let id = status.head.as_ref().or_else(|| {
        let ids = status.entries.iter().map(|entry| &entry.index_id);
        ids.into_iter().find(|id| !id.is_empty())
    });
    if let Some(id) = id {
        return ObjectFormat::of_id(id);
    }
    repository.object_format()
}
