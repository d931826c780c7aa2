//! What a person should know about a workflow that was read all the same, in the words that tools of this format use.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    #[error("Checkpoint is stale (saved at {}, current HEAD is {})", short(saved), short(current))]
    Stale { saved: String, current: String },
    #[error(
        "Checkpoint file exists but is corrupt: {}{}",
        path.display(),
        if *last_good { "; the last good version is used" } else { "" }
    )]
    Corrupt { path: PathBuf, last_good: bool },
    #[error("the damaged file is kept as `{}`", path.display())]
    SetAside { path: PathBuf },
    #[error("`{}` is the file of another workflow, so this one is in `{}`", usual.display(), path.display())]
    OtherName { usual: PathBuf, path: PathBuf },
}

impl Warning {
    /// HEAD moved since the last save.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }

    /// The file itself could not be read.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Corrupt { .. })
    }
}

/// The first seven characters of a commit's id.
pub(crate) fn short(commit: &str) -> &str {
    text::head(commit, 7)
}
