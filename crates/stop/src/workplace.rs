//! Where the agent works, and what the policy files there say.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use changes::Repository;

use crate::policy_files::{FILE_NAME, FoundTexts, PolicyTexts};

#[derive(Clone, Debug, Default)]
pub struct Workplace {
    pub repository: Option<Repository>,
    /// The folder that the policy is of: the repository's, or one with a policy of the user's own.
    pub root: Option<PathBuf>,
    pub found: FoundTexts,
}

impl Workplace {
    /// `user_file` is the user's own configuration.
    pub fn find(cwd: &Path, user_file: Option<&Path>) -> Self {
        let repository = match Repository::discover(cwd) {
            // The shell went into `.git`, or into what looks like a bare repository: the work is done in the tree around it.
            Err(changes::Error::NoWorkTree { .. }) => tree_around(cwd),
            found => found.ok(),
        };
        let root = match &repository {
            Some(repository) => Some(repository.root.clone()),
            None => policy_folder(cwd),
        };
        let found = root.as_deref().map(|root| FoundTexts::read(root, user_file)).unwrap_or_default();
        Self { repository, root, found }
    }

    /// The root of the repository, where the agent works in one.
    pub fn repository_root(&self) -> Option<&Path> {
        self.repository.as_ref().map(|repository| repository.root.as_path())
    }

    /// Whether the gate is switched off here.
    pub fn is_switched_off(&self) -> bool {
        self.found.policy.as_ref().is_some_and(PolicyTexts::is_switched_off)
    }
}

fn tree_around(cwd: &Path) -> Option<Repository> {
    let real = fs_err::canonicalize(cwd).ok()?;
    real.ancestors().find_map(|folder| Repository::discover(folder).ok())
}

/// Where there is no repository, a policy may still lie in the folder or above it. Only the user's own: anybody could
/// put one into a folder such as `/tmp`.
fn policy_folder(cwd: &Path) -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let is_policy = |file: PathBuf| file.metadata().is_ok_and(|file| file.is_file() && file.uid() == user);
    cwd.ancestors().find(|folder| is_policy(folder.join(FILE_NAME))).map(Path::to_owned)
}
