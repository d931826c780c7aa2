//! The repository that a command is about: the one of the current folder, or of the folder that was named.

use std::path::PathBuf;

use changes::Repository;

use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct RepositoryArgument {
    /// A folder in the repository; the current one where it is not given
    #[arg(long, value_name = "FOLDER")]
    repo: Option<PathBuf>,
}

impl RepositoryArgument {
    /// The folder itself, absolute and resolved.
    pub(crate) fn folder(&self) -> Result<PathBuf, CommandError> {
        let Some(folder) = &self.repo else {
            return std::env::current_dir().map_err(|error| {
                CommandError::new(format!("the current folder cannot be found: {error}"))
                    .hint("go to a folder that exists, or name one with `--repo`")
            });
        };
        if !folder.is_dir() {
            return Err(CommandError::new(format!("`{}` is not a folder", folder.display()))
                .hint("`--repo` takes a folder in a git repository"));
        }
        fs_err::canonicalize(folder).map_err(|error| CommandError::of(&error))
    }

    pub(crate) fn find(&self) -> Result<Repository, CommandError> {
        find(&self.folder()?)
    }
}

/// The repository of a folder.
pub(crate) fn find(folder: &std::path::Path) -> Result<Repository, CommandError> {
    Repository::discover(folder).map_err(|error| {
        let told = CommandError::of(&error);
        match error {
            changes::Error::NotARepository { .. } => {
                told.hint("go to a git repository, or name a folder in one with `--repo`")
            }
            _ => told,
        }
    })
}
