//! The change set as plain data: what the gate judges and what the journal keeps.

use serde::{Deserialize, Serialize};

use crate::byte_path::BytePath;

/// The files that a turn changed, and how that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeSet {
    pub scope: Scope,
    /// The turn's own work, sorted by path.
    pub files: Vec<ChangedFile>,
    /// Files that differ from the turn's beginning because HEAD went to commits that were not made in this
    /// turn: a pull, a checkout, a reset, a rebase onto others' work. Only known with a baseline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrived: Vec<ChangedFile>,
    /// The commit at the stop; `None` before the first one.
    pub head: Option<String>,
    /// `None` if HEAD is detached. A name that is no UTF-8 has replacement characters.
    pub branch: Option<String>,
    pub root: BytePath,
    /// Why a baseline that was given could not be used; `scope` then names the fall-back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_unusable: Option<String>,
}

/// Where a change set comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Compared with the state at the prompt.
    TurnBaseline,
    /// Dirty and untracked files that the transcript shows as touched.
    Touched,
    /// Everything that is dirty.
    Worktree,
    /// What the timeline edited, without asking a repository.
    Transcript,
}

impl Scope {
    pub const ALL: [Self; 4] = [Self::TurnBaseline, Self::Touched, Self::Worktree, Self::Transcript];

    /// As it is written in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::TurnBaseline => "turn-baseline",
            Self::Touched => "touched",
            Self::Worktree => "worktree",
            Self::Transcript => "transcript",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Relative to the root of the repository.
    pub path: BytePath,
    #[serde(flatten)]
    pub change: Change,
    /// All that applies, never empty: a file may be committed in the turn and edited again.
    pub how: Vec<How>,
    /// When the file was last written, in nanoseconds since 1970; `None` if there is no such file now.
    pub modified_ns: Option<i64>,
}

/// What became of a file. With a baseline: against the turn's beginning. Without one: against HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    Added,
    Modified,
    Deleted,
    /// As git sees it: a file that was moved without git's knowing is deleted there and added here. The old
    /// path has no entry of its own.
    Renamed {
        from: BytePath,
    },
    /// The content is equal; the executable bit is not.
    Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// In a commit that was made in this turn and that HEAD has.
    Committed,
    /// In a commit that was made in this turn on a branch that HEAD has left again. The working tree need not
    /// show it.
    CommittedElsewhere,
    Staged,
    Unstaged,
    Untracked,
    /// A merge, rebase or the like left it with conflicts.
    Unmerged,
    /// Git shows nothing: the file was dirty or untracked when the turn began, and is now as HEAD has it, gone
    /// or ignored.
    NoLongerDirty,
    /// In `ChangeSet::arrived` only: in a commit that was not made in this turn.
    Arrived,
}
