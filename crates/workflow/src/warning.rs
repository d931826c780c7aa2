//! What a person should know about a workflow that was read all the same, in the words that tools of this format use.

use std::fmt;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// HEAD moved since the last save.
    Stale {
        saved: String,
        current: String,
    },
    Corrupt {
        path: PathBuf,
        last_good: bool,
    },
    /// The damaged file was moved here.
    SetAside {
        path: PathBuf,
    },
    /// Another workflow has the usual file name.
    OtherName {
        usual: PathBuf,
        path: PathBuf,
    },
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

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale { saved, current } => write!(
                formatter,
                "Checkpoint is stale (saved at {}, current HEAD is {})",
                short(saved),
                short(current)
            ),
            Self::Corrupt { path, last_good } => {
                write!(formatter, "Checkpoint file exists but is corrupt: {}", path.display())?;
                if *last_good { formatter.write_str("; the last good version is used") } else { Ok(()) }
            }
            Self::SetAside { path } => write!(formatter, "the damaged file is kept as `{}`", path.display()),
            Self::OtherName { usual, path } => write!(
                formatter,
                "`{}` is the file of another workflow, so this one is in `{}`",
                usual.display(),
                path.display()
            ),
        }
    }
}

/// The first seven characters of a commit's id.
pub(crate) fn short(commit: &str) -> &str {
    text::head(commit, 7)
}
