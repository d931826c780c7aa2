//! Snapshots: the whole working tree as a commit under a private ref, `refs/checkstone/snapshots/<worktree>/<id>`.
//!
//! No index is used, not even a private one: `git status` tells how the tree differs from HEAD, what differs is read
//! here, byte for byte, and `git fast-import` puts it on top of HEAD's tree. So a snapshot costs one look at the tree
//! and what has changed, and nothing of the user's is written: no index, lock, branch, stash, reflog or config.
//!
//! Contents are kept as they lie on disk, before any filter or line-ending conversion (see `converted`), so that what
//! is brought back is the same to the byte. What is changed inside of a submodule is a snapshot in the submodule's own
//! repository, under the same id. Files over a limit are left out and named: one of them must not cost all others.

mod as_baseline;
mod collect;
mod compare;
mod converted;
mod create;
mod ignore_rules;
mod index_bytes;
mod leftovers;
mod listing;
mod mirror;
mod object_copy;
mod own_packs;
mod prune;
mod restore;
mod scratch;
mod stream;
mod submodule_snapshot;
mod timed_output;

use std::io;
use std::path::PathBuf;

use change_set::BytePath;
use changes::git::Git;
use changes::{Error, GitProgram, Repository};
use serde::{Deserialize, Serialize};
use text::hexadecimal;

pub use compare::{Comparison, Patch, Side};
pub use create::{LeftOut, NewSnapshot};
pub use listing::WhichWorktrees;
pub use mirror::{AbandonedMirror, Mirror, abandoned_mirrors};
pub use prune::{PrunableReasons, Retention};
pub use restore::{RestoreCaller, RestoreReport, Skipped};
pub use submodule_snapshot::SubmoduleSnapshot;

const REFS: &str = "refs/checkstone/snapshots";

/// A file of more bytes is left out unless the user says otherwise.
pub const LARGEST_FILE: u64 = 50_000_000;

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error(transparent)]
    Git(#[from] Error),
    #[error("cannot prepare the snapshot in `{folder}`: {source}", folder = .folder.display())]
    Spool { folder: PathBuf, source: io::Error },
    #[error("the snapshot is taken, but may not be on disk yet: `{folder}`: {source}", folder = .folder.display())]
    NotOnDisk { folder: PathBuf, source: io::Error },
    #[error("cannot compare in `{folder}`: {source}", folder = .folder.display())]
    Scratch { folder: PathBuf, source: io::Error },
    #[error("cannot open the working tree `{root}`: {source}", root = .root.display())]
    Root { root: PathBuf, source: io::Error },
    #[error("there is no snapshot `{id}`")]
    Unknown { id: String },
    #[error("`{id}` matches {count} snapshots")]
    Ambiguous { id: String, count: usize },
    #[error("there is no restore to undo")]
    NothingToUndo,
    #[error("`{path}` is not a path in the repository")]
    Outside { path: BytePath },
    #[error("cannot remove the snapshot `{id}`: {source}")]
    Forget { id: String, source: io::Error },
    #[error("cannot use the mirror `{folder}`: {source}", folder = .folder.display())]
    Mirror { folder: PathBuf, source: io::Error },
    #[error("there is no mirror of `{root}`", root = .root.display())]
    NoMirror { root: PathBuf },
    #[error("there is no submodule at `{path}`, or its git folder is elsewhere")]
    NoSubmodule { path: BytePath },
    #[error("its git folder is outside this repository")]
    SubmoduleElsewhere { path: BytePath },
    #[error("neither the snapshot nor the working tree has `{path}`")]
    NoSuchPath { path: BytePath },
}

/// An agent session, by its client and the client's own id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionName {
    pub agent: String,
    pub id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SnapshotReason {
    Asked,
    /// A turn of an agent began at this time, in nanoseconds since 1970.
    TurnStart {
        began_ns: i64,
    },
    /// An autosave was about to be made.
    Autosave,
    /// A restore of `restored` was about to begin: this is what an undo goes back to. No paths means all of them.
    BeforeRestore {
        restored: String,
        paths: Vec<BytePath>,
    },
}

impl SnapshotReason {
    /// Nobody asked for it, and nothing else depends on it.
    pub(crate) fn is_automatic(&self) -> bool {
        matches!(self, Self::TurnStart { .. } | Self::Autosave)
    }
}

/// One snapshot, as its ref and its commit tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    pub id: String,
    pub commit: String,
    /// Which working tree of the repository: `main`, or the name of a linked one.
    pub worktree: String,
    pub message: String,
    /// The commit that HEAD was at; `None` before the first one.
    pub head: Option<String>,
    #[serde(flatten)]
    pub facts: SnapshotFacts,
}

/// What is kept about a snapshot in its commit message, beside the person's own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotFacts {
    /// Nanoseconds since 1970.
    pub taken_ns: i64,
    pub reason: SnapshotReason,
    pub session: Option<SessionName>,
    pub turn: Option<String>,
    /// How many files are not as HEAD has them.
    pub files: u64,
    /// The bytes of those that were read.
    pub bytes: u64,
    /// What could not be saved. A restore leaves it alone.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// Of a snapshot that is taken beside the agent: what had already been written after the turn began, or after the
    /// stop, and is in the snapshot as it was then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<BytePath>,
    /// Submodules that had changes of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submodules: Vec<SubmoduleSnapshot>,
    /// Of the files that were read, those with other permissions than git would give them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<FileMode>,
    /// Taken in a submodule, with a snapshot of the repository around it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inner: bool,
}

/// What a file allows to whom, of which git keeps the executable bit only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMode {
    pub path: BytePath,
    pub mode: u32,
}

/// The snapshots of one working tree.
#[derive(Debug)]
pub struct Snapshots {
    repository: Repository,
    git: Git,
    program: GitProgram,
    largest_file: u64,
    mirror: Option<Mirror>,
    /// What is taken goes with a snapshot of the repository around this one.
    is_inner: bool,
}

impl Snapshots {
    pub fn of(repository: Repository, program: &GitProgram) -> Result<Self, SnapshotError> {
        let git = Git::of(&repository, program)?;
        let (program, largest_file) = (program.clone(), LARGEST_FILE);
        Ok(Self { repository, git, program, largest_file, mirror: None, is_inner: false })
    }

    /// Files of more bytes are left out.
    pub fn with_largest_file(self, largest_file: u64) -> Self {
        Self { largest_file, ..self }
    }

    /// What is taken goes into the mirror too.
    pub fn with_mirror(self, mirror: Mirror) -> Self {
        Self { mirror: Some(mirror), ..self }
    }

    /// `main`, or the name that git gave the linked worktree.
    pub fn worktree(&self) -> String {
        if self.repository.git_dir == self.repository.common_dir {
            return "main".to_owned();
        }
        let name = self.repository.git_dir.file_name().unwrap_or_default().as_encoded_bytes();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if name.iter().all(is_plain) {
            format!("linked-{}", String::from_utf8_lossy(name))
        } else {
            format!("linked-x{}", hexadecimal(name))
        }
    }

    fn ref_name(&self, id: &str) -> String {
        format!("{REFS}/{}/{id}", self.worktree())
    }
}
