//! The repository that a command is about: the one of the current folder, or of the folder that was named.

use std::path::PathBuf;

use changes::Repository;

use crate::error::{CommandError, ErrorKind};

#[derive(Debug, clap::Args)]
pub(crate) struct RepositoryArgument {
    /// A folder in the repository; by default the current one
    #[arg(long, value_name = "FOLDER")]
    repo: Option<PathBuf>,
}

impl RepositoryArgument {
    /// The folder itself, absolute and resolved.
    pub(crate) fn folder(&self) -> Result<PathBuf, CommandError> {
        let Some(folder) = &self.repo else {
            return current_folder();
        };
        if !folder.is_dir() {
            return Err(CommandError::not_found(format!("`{}` is not a folder", folder.display()))
                .hint("`--repo` takes a folder in a git repository"));
        }
        Ok(fs_err::canonicalize(folder)?)
    }

    pub(crate) fn is_given(&self) -> bool {
        self.repo.is_some()
    }

    pub(crate) fn find(&self) -> Result<Repository, CommandError> {
        find(&self.folder()?)
    }
}

pub(crate) fn current_folder() -> Result<PathBuf, CommandError> {
    std::env::current_dir().map_err(|error| {
        CommandError::not_found(format!("cannot find the current folder: {error}"))
            .hint("change to an existing folder, or name one with `--repo`")
    })
}

/// The repository of a folder.
pub(crate) fn find(folder: &std::path::Path) -> Result<Repository, CommandError> {
    Ok(Repository::discover(folder)?)
}

impl From<changes::Error> for CommandError {
    fn from(error: changes::Error) -> Self {
        use changes::Error as E;
        let (kind, hint) = match &error {
            E::NoGit { .. } => (ErrorKind::Environment, "install git, or add its folder to `PATH`"),
            E::NotARepository { .. } => {
                (ErrorKind::NotFound, "change to a git repository, or name a folder in one with `--repo`")
            }
            E::NoWorkTree { .. } | E::WorkTreeElsewhere { .. } | E::Refused { .. } | E::NotPushed { .. } => {
                (ErrorKind::Refused, "")
            }
            _ => (ErrorKind::Failed, ""),
        };
        Self::of(kind, &error).hint(hint)
    }
}
