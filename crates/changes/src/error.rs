//! What can go wrong between us and git. The hook passes on every one of them; the variants are there so that
//! it can say why, and so that `no repository` can be told from a broken one.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no program `{program}`")]
    NoGit { program: String },
    #[error("`{}` is not inside a git repository", directory.display())]
    NotARepository { directory: PathBuf },
    #[error("`{}` belongs to a bare repository: it has no working tree", directory.display())]
    NoWorkTree { directory: PathBuf },
    #[error("the working tree of `{}` is configured to be elsewhere (`core.worktree`)", directory.display())]
    WorkTreeElsewhere { directory: PathBuf },
    /// Git's own protection: the repository belongs to another user and is not in `safe.directory`.
    #[error(
        "git does not trust the owner of `{directory}`; if you do: `git config --global --add safe.directory '{directory}'`",
        directory = .directory.display()
    )]
    Refused { directory: PathBuf },
    /// Only asked of `git diff HEAD`, which has no answer before the first commit.
    #[error("`{}` has no commit yet", directory.display())]
    NoCommit { directory: PathBuf },
    /// Only asked before a push: the user's own config says that it would be wrong.
    #[error("{setting} in your git config, so nothing is pushed")]
    NotPushed { setting: String },
    #[error("cannot start `{command}`: {source}")]
    Start { command: String, source: io::Error },
    #[error("cannot read from `{command}`: {source}")]
    Read { command: String, source: io::Error },
    /// With the first line that git wrote to stderr.
    #[error("`{command}` failed: {reason}")]
    Failed { command: String, reason: String },
    #[error("`{command}` took longer than {}", text::duration_in_words(*limit))]
    TimedOut { command: String, limit: Duration },
    #[error("`{command}` wrote more than {limit} bytes")]
    TooMuch { command: String, limit: usize },
    #[error("cannot understand what `{command}` wrote: {record}")]
    NotUnderstood { command: String, record: String },
}
